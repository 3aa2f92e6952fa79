/* The simulated network, in the place of a backend: every client has a session, every session a
 * connection to each server.
 *
 *   submit --copy--> message --arrive--> server (request by request) --reply--> collect
 *
 * A batch becomes one message for each server that has one of its requests. */
#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "sim/message.h"

#define LATE_MS_DEFAULT 60000

static void plan(struct mcds__sim_message *message, int64_t at_ns,
                 void (*happen)(mcds_sim *sim, void *subject, uint64_t number), uint64_t number)
{
    if (mcds__sim_plan(message->sim, at_ns, happen, message, number))
        message->plans++;
}

/* A planned event of this message has happened. */
static void unplan(struct mcds__sim_message *message)
{
    assert(message->plans > 0);
    message->plans--;
    if (message->plans == 0 && message->batch == NULL)
        mcds__sim_message_free(message);
}

static uint32_t sent_count(const struct mcds__sim_message *message)
{
    uint32_t next = message->arrived + 1;
    if (!message->sim->options.unordered || next > message->count)
        return message->count;
    return next;
}

static void give_up(mcds_sim *sim, void *subject, uint64_t number)
{
    struct mcds__sim_message *message = subject;
    (void)number;
    if (message->batch != NULL) {
        uint32_t answered = 0;
        if (!message->silent && message->arrived > 0)
            answered = (uint32_t)mcds__sim_random(sim, message->arrived);
        mcds__sim_message_hand_back(message, answered, sent_count(message));
    }
    unplan(message);
}

/* Break the connection to this server: all its messages end for their sender. */
static void break_connection(struct mcds__sim_session *session, uint32_t server,
                             uint64_t connection)
{
    mcds_sim *sim = session->client->sim;
    if (session->links[server].connection == connection)
        session->links[server].connection = ++sim->connections;
    for (struct mcds__sim_message *m = sim->messages; m != NULL; m = m->all_next) {
        if (m->session != session || m->connection != connection || m->broken)
            continue;
        m->broken = true;
        plan(m, sim->now_ns + mcds__sim_delay_ns(session->client), give_up, 0);
    }
}

static void break_connections(mcds_sim *sim, uint32_t server)
{
    for (uint32_t i = 0; i < sim->client_count; i++)
        for (struct mcds__sim_session *session = sim->clients[i]->sessions; session != NULL;
             session = session->next)
            break_connection(session, server, session->links[server].connection);
}

void mcds__sim_restart(mcds_sim *sim, uint32_t server)
{
    mcds__sim_server_restart(sim, server);
    break_connections(sim, server);
}

static void deadline(mcds_sim *sim, void *subject, uint64_t number)
{
    struct mcds__sim_message *message = subject;
    (void)sim;
    (void)number;
    if (message->batch != NULL) {
        mcds__sim_message_hand_back(message, 0, sent_count(message));
        if (!message->broken)
            break_connection(message->session, message->server, message->connection);
    }
    unplan(message);
}

static void reply(mcds_sim *sim, void *subject, uint64_t number)
{
    struct mcds__sim_message *message = subject;
    (void)sim;
    (void)number;
    if (message->batch != NULL && !message->broken && !message->silent)
        mcds__sim_message_hand_back(message, message->count, message->count);
    unplan(message);
}

static bool reads_key(const mcds_request *request, mcds_bytes key)
{
    return request->command == MCDS_GET && request->reply.outcome == MCDS_OUT_OK &&
           request->key.length == key.length &&
           memcmp(request->key.data, key.data, key.length) == 0;
}

/* The read of this item whose reply another connection is about to get; NULL: there is none. */
static mcds_request *find_reader(const struct mcds__sim_message *message, mcds_bytes key)
{
    for (struct mcds__sim_message *m = message->sim->messages; m != NULL; m = m->all_next) {
        if (m->session == message->session || m->server != message->server ||
            m->batch == NULL || m->broken || m->arrived == 0)
            continue;
        mcds_request *read = &m->requests[m->arrived - 1];
        if (reads_key(read, key) &&
            read->reply.cas.unique == mcds__sim_token_of(message->sim, m->server, key))
            return read;
    }
    return NULL;
}

/* memcached increments an item that it is sending in a new item, and writes the CAS token of the
 * new item into the old one: the reader gets the old number with the new token. */
static void network_serve(struct mcds__sim_message *message, uint32_t i, const char *what)
{
    assert(i < message->count);
    mcds_sim *sim = message->sim;
    mcds_request *request = &message->requests[i];
    mcds_request *read = NULL;
    uint64_t faults = sim->counts.faults;
    if (request->command == MCDS_INCR || request->command == MCDS_DECR)
        read = find_reader(message, request->key);
    if (request->cas.connection != 0 && request->cas.connection != MCDS_ANY_CONNECTION &&
        request->cas.connection != message->connection)
        request->reply.outcome = MCDS_OUT_EXISTS;
    else if (mcds__sim_serve(sim, message->server, request, &message->values))
        break_connections(sim, message->server);
    if (read != NULL && request->reply.outcome == MCDS_OUT_OK && faults == sim->counts.faults &&
        mcds__sim_fault(sim, sim->race_ppm)) {
        read->reply.cas.unique = mcds__sim_token_of(sim, message->server, request->key);
        mcds_sim_note(sim, NULL, "the old number is sent with the new token");
    }
    mcds__sim_count_request(message->session->client);
    mcds__sim_note_request(message->session->client, message->server, request, what);
}

/* The rest of a broken connection's bytes reach the server, unless it has restarted. */
static void arrive_late(mcds_sim *sim, void *subject, uint64_t number)
{
    struct mcds__sim_message *message = subject;
    const struct mcds__sim_server *server = &sim->servers[message->server];
    for (uint32_t i = (uint32_t)number; i < message->late_end; i++)
        if (message->incarnation == server->incarnation)
            network_serve(message, i, " (late)");
    unplan(message);
}

static void arrive(mcds_sim *sim, void *subject, uint64_t number);

static void plan_next(struct mcds__sim_message *message, uint32_t i)
{
    mcds_sim *sim = message->sim;
    mcds_sim_client *client = message->session->client;
    int64_t gap_ns = (int64_t)mcds__sim_random(sim, 20) * 1000;
    if (sim->options.unordered)
        gap_ns = mcds__sim_delay_ns(client) + mcds__sim_delay_ns(client);
    else if (mcds__sim_random(sim, 8) == 0)
        gap_ns += mcds__sim_delay_ns(client);
    plan(message, sim->now_ns + gap_ns, arrive, i);
}

static enum mcds__sim_fate fate_of(struct mcds__sim_message *message, uint32_t i,
                                   int64_t *late_ns_out)
{
    mcds_sim *sim = message->sim;
    const mcds_sim_options *options = &sim->options;
    const struct mcds__sim_script *script = message->session->client->script;
    if (script != NULL)
        return script->arrives(script->context, &message->requests[i], late_ns_out);
    const uint32_t rates[] = {options->cut_before_ppm, options->cut_after_ppm,
                              options->late_ppm};
    switch (mcds__sim_one_fault(sim, rates, 3)) {
    case 0:
        return MCDS__SIM_CUT_BEFORE;
    case 1:
        return MCDS__SIM_CUT_AFTER;
    case 2:
        break;
    default:
        return MCDS__SIM_PASS;
    }
    uint32_t most_ms = options->late_ms_max > 0 ? options->late_ms_max : LATE_MS_DEFAULT;
    message->late_end = i + 1; /* one by one: the requests after this one have not been sent */
    if (!options->unordered)
        message->late_end += (uint32_t)mcds__sim_random(sim, message->count - i);
    *late_ns_out = (int64_t)mcds__sim_random(sim, most_ms) * NS_PER_MS;
    return MCDS__SIM_LATE;
}

/* Whether the network injects a fault at request `i` instead of delivering it, and which. */
static bool disturb(struct mcds__sim_message *message, uint32_t i)
{
    mcds_sim *sim = message->sim;
    int64_t late_ns = 0;
    message->late_end = i + 1;
    switch (fate_of(message, i, &late_ns)) {
    case MCDS__SIM_PASS:
        return false;
    case MCDS__SIM_CUT_BEFORE:
        sim->counts.cut_before++;
        mcds_sim_note(sim, message->session->client, "the connection breaks before %s",
                      mcds__sim_command_name(message->requests[i].command));
        break;
    case MCDS__SIM_CUT_AFTER:
        sim->counts.cut_after++;
        network_serve(message, i, " (reply lost)");
        break;
    case MCDS__SIM_LATE:
        sim->counts.late++;
        plan(message, sim->now_ns + late_ns, arrive_late, i);
        break;
    }
    break_connection(message->session, message->server, message->connection);
    return true;
}

/* Whether the message waits at a server that executes nothing. What waits there is executed later,
 * even if its sender has given up meanwhile. */
static bool is_held_back(struct mcds__sim_message *message, uint32_t i)
{
    int64_t until_ns = message->sim->servers[message->server].held_until_ns;
    if (message->sim->calm || until_ns <= message->sim->now_ns ||
        (message->broken && !message->held))
        return false;
    message->held = true;
    message->late_end = sent_count(message);
    plan(message, until_ns, message->broken ? arrive_late : arrive, i);
    return true;
}

/* With several servers, the scheduler that chooses each fault does so at the first request of a
 * message whose requests have no order. */
static bool is_chosen_at(const struct mcds__sim_message *message, uint32_t i)
{
    const mcds_sim *sim = message->sim;
    return sim->options.scheduler != MCDS_SIM_CHOICES || sim->server_count == 1 ||
           !message->independent || i == 0;
}

static void arrive(mcds_sim *sim, void *subject, uint64_t number)
{
    struct mcds__sim_message *message = subject;
    uint32_t i = (uint32_t)number;
    assert(message->broken || (i == message->arrived && i < message->count));
    if (is_held_back(message, i)) {
        unplan(message);
        return;
    }
    sim->passes = !is_chosen_at(message, i);
    if (message->broken && message->held) {
        message->held = false;
        plan(message, sim->now_ns, arrive_late, i);
    } else if (!message->broken && !disturb(message, i)) {
        if (mcds__sim_fault(sim, sim->options.silent_ppm)) {
            sim->counts.silent++;
            message->silent = true;
        }
        network_serve(message, i, message->silent ? " (no reply)" : "");
        message->arrived = i + 1;
        if (i + 1 < message->count)
            plan_next(message, i + 1);
        else
            plan(message, sim->now_ns + mcds__sim_delay_ns(message->session->client), reply, 0);
    }
    sim->passes = false;
    unplan(message);
}

static void network_refuse(struct mcds__sim_session *session, mcds_batch *batch,
                           const struct mcds__sim_part *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        mcds_reply *reply = &batch->requests[part->index[i]].reply;
        reply->outcome = MCDS_OUT_UNSENT;
        reply->detail = MCDS__WHY(CONNECTION_REFUSED);
        reply->peer = "server";
    }
    mcds__sim_batch_answered(session, batch, part->count);
}

static bool is_reachable(struct mcds__sim_session *session, const mcds_batch *batch,
                         uint32_t server)
{
    mcds_sim *sim = session->client->sim;
    const struct mcds__sim_script *script = session->client->script;
    if (script != NULL)
        return script->leaves(script->context, batch);
    return (sim->calm || sim->servers[server].down_until_ns <= sim->now_ns) &&
           !mcds__sim_fault(sim, sim->options.cut_before_ppm / 4);
}

static void send_part(struct mcds__sim_session *session, mcds_batch *batch,
                      const struct mcds__sim_part *part)
{
    mcds_sim *sim = session->client->sim;
    struct mcds__sim_link *link = &session->links[part->server];
    struct mcds__sim_message *message = NULL;
    bool reachable = is_reachable(session, batch, part->server);
    sim->counts.refused += !reachable;
    if (reachable)
        message = mcds__sim_message_copy(session, batch, part);
    if (message == NULL) {
        network_refuse(session, batch, part);
        return;
    }
    message->all_next = sim->messages;
    if (sim->messages != NULL)
        sim->messages->all_previous = message;
    sim->messages = message;
    int64_t at_ns = sim->now_ns + mcds__sim_delay_ns(session->client);
    if (at_ns <= link->last_arrival_ns)
        at_ns = link->last_arrival_ns + 1;
    assert(at_ns > link->last_arrival_ns);
    link->last_arrival_ns = at_ns;
    plan(message, at_ns, arrive, 0);
    int64_t deadline_ns = batch->deadline_ns - session->client->monotonic_start_ns;
    plan(message, deadline_ns > sim->now_ns ? deadline_ns : sim->now_ns, deadline, 0);
}

static void send_batch(struct mcds__sim_session *session, mcds_batch *batch)
{
    mcds_sim *sim = session->client->sim;
    uint32_t count = batch->count;
    batch->answered = 0;
    for (uint32_t server = 0; server < sim->server_count; server++) {
        struct mcds__sim_part part = {.server = server};
        for (uint32_t i = 0; i < count; i++)
            if (mcds__sim_server_of(sim, &batch->requests[i]) == server)
                part.index[part.count++] = i;
        assert(part.count <= count);
        if (part.count > 0)
            send_part(session, batch, &part);
    }
}

static void network_submit(void *state, mcds_batch *first)
{
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        send_batch(state, batch);
    }
}

static mcds_batch *network_collect(void *state, int64_t until_ns)
{
    struct mcds__sim_session *session = state;
    mcds_sim *sim = session->client->sim;
    int64_t until_true_ns = until_ns;
    if (until_ns != INT64_MAX)
        until_true_ns = until_ns - session->client->monotonic_start_ns;
    /* Of several events at that moment, the last may be the awaited one. */
    while (session->done == NULL &&
           (sim->now_ns < until_true_ns || mcds__sim_is_due(sim, until_true_ns)))
        if (!mcds__sim_advance(sim, until_true_ns))
            break;
    mcds_batch *list = session->done;
    session->done = NULL;
    session->done_end = &session->done;
    return list;
}

static int network_session_open(void *backend, void **session_out)
{
    mcds_sim_client *client = backend;
    struct mcds__sim_session *session = mcds__allocate_zero(mcds_env_system(), sizeof *session);
    if (session == NULL)
        return mcds__fail_memory("simulation", NULL, NULL);
    session->client = client;
    for (uint32_t i = 0; i < client->sim->server_count; i++)
        session->links[i].connection = ++client->sim->connections;
    session->done_end = &session->done;
    session->next = client->sessions;
    client->sessions = session;
    *session_out = session;
    return MCDS_OK;
}

/* Whether an event belongs to a message of this session. */
static bool is_of_session(const struct mcds__sim_event *event, const void *session)
{
    bool ours = event->happen == arrive || event->happen == arrive_late ||
                event->happen == reply || event->happen == give_up || event->happen == deadline;
    return ours && ((const struct mcds__sim_message *)event->subject)->session == session;
}

/* Free the messages of a session that closes. */
static void forget_session(mcds_sim *sim, const struct mcds__sim_session *session)
{
    mcds__sim_cancel(sim, is_of_session, session);
    for (struct mcds__sim_message *m = sim->messages, *next; m != NULL; m = next) {
        next = m->all_next;
        if (m->session == session)
            mcds__sim_message_free(m);
    }
}

static void network_session_close(void *state)
{
    struct mcds__sim_session *session = state;
    struct mcds__sim_session **link = &session->client->sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    forget_session(session->client->sim, session);
    mcds__free(mcds_env_system(), session);
}

static bool network_session_holds(void *state, uint64_t connection)
{
    const struct mcds__sim_session *session = state;
    for (uint32_t i = 0; i < session->client->sim->server_count; i++)
        if (session->links[i].connection == connection)
            return true;
    return false;
}

const mcds_backend mcds__backend_sim = {
    .size = sizeof(mcds_backend),
    .version = MCDS_BACKEND_VERSION,
    .scheme = "sim",
    .capabilities = mcds__sim_capabilities,
    .session_open = network_session_open,
    .session_close = network_session_close,
    .session_holds = network_session_holds,
    .submit = network_submit,
    .collect = network_collect,
    .features = mcds__sim_features,
};
