/* The memcached home: which server a key lives on, and lanes with a link to each server.
 *
 * Placement is strict: a key belongs to one server, and while that one is away the key is
 * unavailable and nothing else. Nothing is ejected, because a second place would be a second
 * truth. */
#include "store/memcached.h"

#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/homes.h"

#define LOOK_NS (10 * NS_PER_MS)
#define CONNECT_MS_DEFAULT 250
#define CONNECT_MS_MAX 60000

static int set_options(struct mcds__memcached *home, const struct mcds_uri *uri)
{
    static const char *const known[] = {
        "protocol", "connect_timeout", "connections", "placement", "hash", NULL};
    const char *protocol = mcds_uri_option(uri, "protocol");
    uint64_t connect_ms, connections;
    if (!mcds__uri_knows(uri, known) ||
        !mcds__uri_number(uri, "connect_timeout", 1, CONNECT_MS_MAX, CONNECT_MS_DEFAULT,
                          &connect_ms) ||
        !mcds__uri_number(uri, "connections", 1, MCDS__CONNECTIONS_MAX, 1, &connections))
        return MCDS_INVALID;
    home->connections = (uint32_t)connections;
    home->connect_timeout_ns = (int64_t)connect_ms * NS_PER_MS;
    home->protocol = PROTOCOL_AUTO;
    if (protocol == NULL || strcmp(protocol, "auto") == 0)
        return MCDS_OK;
    if (strcmp(protocol, "meta") == 0)
        home->protocol = PROTOCOL_META;
    else if (strcmp(protocol, "classic") == 0)
        home->protocol = PROTOCOL_CLASSIC;
    else
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: protocol=%.40s must be auto, meta or classic",
                             protocol);
    return MCDS_OK;
}

/* Which rule of libmemcached's decides where keys live. */
static int parse_placement(const struct mcds_uri *uri, enum mcds__ketama_rule *rule,
                           enum mcds__ketama_hash *hash)
{
    static const struct {
        const char *name;
        enum mcds__ketama_rule rule;
    } rules[] = {
        {"ketama_weighted", MCDS__KETAMA_WEIGHTED},
        {"ketama", MCDS__KETAMA_PLAIN},
        {"modula", MCDS__KETAMA_MODULA},
    };
    const char *rule_name = mcds_uri_option(uri, "placement");
    const char *hash_name = mcds_uri_option(uri, "hash");
    size_t found = 0;
    while (rule_name != NULL && found < 3 && strcmp(rules[found].name, rule_name) != 0)
        found++;
    if (found == 3)
        return mcds__fail_at(
            MCDS_INVALID, BAD_URI, NULL,
            "store URI: placement=%.40s must be ketama_weighted, ketama or modula", rule_name);
    *rule = rules[found].rule;
    *hash = MCDS__HASH_ONE_AT_A_TIME;
    if (hash_name != NULL && *rule == MCDS__KETAMA_WEIGHTED)
        return mcds__fail_at(
            MCDS_INVALID, BAD_URI, NULL,
            "store URI: hash= goes with placement=ketama and placement=modula");
    if (hash_name != NULL && strcmp(hash_name, "md5") == 0)
        *hash = MCDS__HASH_MD5;
    else if (hash_name != NULL && strcmp(hash_name, "one_at_a_time") != 0)
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: hash=%.40s must be one_at_a_time or md5", hash_name);
    return MCDS_OK;
}

static int place_servers(struct mcds__memcached *home, const struct mcds_uri *uri)
{
    enum mcds__ketama_rule rule = MCDS__KETAMA_WEIGHTED;
    enum mcds__ketama_hash hash = MCDS__HASH_MD5;
    int result = parse_placement(uri, &rule, &hash);
    if (result != MCDS_OK)
        return result;
    struct mcds__ketama_server placed[MCDS__SERVERS_MAX];
    for (uint32_t i = 0; i < home->server_count; i++) {
        const struct mcds__server *server = &home->servers[i];
        placed[i] = (struct mcds__ketama_server){
            .host = server->address.host,
            .port = server->address.port,
            .weight = server->weight,
            .is_unix = server->address.is_unix,
        };
    }
    home->ketama = mcds__ketama_open(home->env, rule, hash, placed, home->server_count);
    return home->ketama != NULL ? MCDS_OK : mcds__fail_memory("store", NULL, NULL);
}

static void memcached_close(void *state)
{
    struct mcds__memcached *home = state;
    mcds__ketama_close(home->env, home->ketama);
    (void)pthread_mutex_destroy(&home->mutex);
    mcds__free(home->env, home);
}

static int memcached_open(const struct mcds_uri *uri, const mcds_env *env, void **home_out)
{
    size_t room = sizeof(struct mcds__memcached) +
                  MCDS__SERVERS_MAX * sizeof(struct mcds__server);
    struct mcds__memcached *home = mcds__allocate_zero(env, room);
    if (home == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    home->env = env;
    int result = set_options(home, uri);
    if (result == MCDS_OK)
        result = mcds__memcached_parse_servers(mcds_uri_place(uri), home->servers,
                                               MCDS__SERVERS_MAX, &home->server_count);
    if (result == MCDS_OK)
        result = place_servers(home, uri);
    if (result == MCDS_OK && pthread_mutex_init(&home->mutex, NULL) != 0)
        result = mcds__fail_at(MCDS_NO_MEMORY, NO_MEMORY, NULL, "store: no mutex available");
    if (result != MCDS_OK) {
        mcds__ketama_close(env, home->ketama);
        mcds__free(env, home);
        return result;
    }
    mcds__memcached_note_abilities(home);
    *home_out = home;
    return MCDS_OK;
}

/* What all of the reached servers can do. */
static void restrict_to(mcds_capabilities *can, const mcds_capabilities *other)
{
    can->create_on_increment = can->create_on_increment && other->create_on_increment;
    can->create_on_append = can->create_on_append && other->create_on_append;
    can->compare_and_delete = can->compare_and_delete && other->compare_and_delete;
    can->compare_and_set = can->compare_and_set && other->compare_and_set;
    can->cas_on_store = can->cas_on_store && other->cas_on_store;
    can->value_suppressed = can->value_suppressed && other->value_suppressed;
    can->ttl_readable = can->ttl_readable && other->ttl_readable;
    can->ordered_batch = can->ordered_batch && other->ordered_batch;
    can->evicts = can->evicts || other->evicts;
    can->expires = can->expires && other->expires;
    if (other->value_max < can->value_max)
        can->value_max = other->value_max;
}

/* The mutex is held, or nobody else is there yet. */
static mcds_capabilities common_abilities(const struct mcds__memcached *home)
{
    mcds_capabilities can = mcds__memcached_careful();
    bool any = false;
    for (uint32_t i = 0; i < home->server_count; i++) {
        const struct mcds__server *server = &home->servers[i];
        if (server->reached && any)
            restrict_to(&can, &server->can);
        else if (server->reached)
            can = server->can;
        any = any || server->reached;
    }
    can.places = home->server_count;
    return can;
}

/* Two that differ in what lies between their members are kept twice, which does no harm. */
void mcds__memcached_note_abilities(struct mcds__memcached *home)
{
    const mcds_capabilities can = common_abilities(home);
    uint32_t at = 0;
    while (at < home->ability_count && memcmp(&home->abilities[at], &can, sizeof can) != 0)
        at++;
    if (at == home->ability_count && at < MCDS__ABILITIES_MAX)
        home->abilities[home->ability_count++] = can;
    atomic_store_explicit(&home->can, at < MCDS__ABILITIES_MAX ? &home->abilities[at] : NULL,
                          memory_order_release);
}

static void memcached_capabilities(void *state, mcds_capabilities *out)
{
    struct mcds__memcached *home = state;
    const mcds_capabilities *can = atomic_load_explicit(&home->can, memory_order_acquire);
    if (can != NULL) {
        *out = *can;
        return;
    }
    (void)pthread_mutex_lock(&home->mutex);
    *out = common_abilities(home);
    (void)pthread_mutex_unlock(&home->mutex);
}

static int memcached_lane_open(void *state, void **lane_out)
{
    struct mcds__memcached *home = state;
    uint32_t link_count = home->server_count * home->connections;
    struct mcds__lane_of_memcached *lane = mcds__allocate_zero(
        home->env, sizeof *lane + link_count * sizeof lane->links[0]);
    if (lane == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    lane->home = home;
    lane->deadline_ns = INT64_MAX;
    lane->done_end = &lane->done;
    lane->watcher = -1;
    lane->link_count = link_count;
    for (uint32_t i = 0; i < link_count; i++) {
        lane->links[i].lane = lane;
        lane->links[i].server = &home->servers[i / home->connections];
        mcds__connection_init(&lane->links[i].connection, home->env);
    }
    *lane_out = lane;
    return MCDS_OK;
}

static void memcached_lane_close(void *state)
{
    struct mcds__lane_of_memcached *lane = state;
    struct mcds__memcached *home = lane->home;
    for (uint32_t i = 0; i < lane->link_count; i++) {
        mcds__link_close(&lane->links[i]);
        mcds__free(home->env, lane->links[i].slots);
    }
    mcds__connection_watcher_close(lane->watcher);
    mcds__free(home->env, lane);
}

static bool memcached_lane_holds(void *state, uint64_t connection)
{
    const struct mcds__lane_of_memcached *lane = state;
    for (uint32_t i = 0; i < lane->link_count; i++)
        if (lane->links[i].state == LINK_READY && lane->links[i].serial == connection)
            return true;
    return false;
}

/* Requests of one route take the same connection, so they stay in order. */
static struct mcds__link *link_of(struct mcds__lane_of_memcached *lane,
                                  const mcds_request *request)
{
    const struct mcds__memcached *home = lane->home;
    if (lane->link_count == 1)
        return &lane->links[0];
    mcds_bytes route = request->route.length > 0 ? request->route : request->key;
    uint32_t server = mcds__ketama_find(home->ketama, route);
    uint32_t link = (server + request->copy) % home->server_count * home->connections;
    if (home->connections > 1)
        link += (uint32_t)(mcds__hash(0, route) % home->connections);
    return &lane->links[link];
}

/* Whether what is sent at once is carried out in order, as far as is known. */
static bool is_ordered(struct mcds__link *link)
{
    struct mcds__memcached *home = link->lane->home;
    if (link->state == LINK_READY)
        return link->probe_can.ordered_batch;
    (void)pthread_mutex_lock(&home->mutex);
    bool ordered = link->server->can.ordered_batch;
    (void)pthread_mutex_unlock(&home->mutex);
    return ordered;
}

/* One that is not ordered decides: all servers of the batch are asked the same way. */
static bool is_batch_ordered(struct mcds__lane_of_memcached *lane, const mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if ((i == 0 || batch->requests[i].copy != batch->requests[i - 1].copy) &&
            !is_ordered(link_of(lane, &batch->requests[i])))
            return false;
    return true;
}

static void enqueue_batch(struct mcds__lane_of_memcached *lane, mcds_batch *batch)
{
    batch->serial = MCDS__AT_ONCE;
    if (batch->count > 1 && !batch->independent && !is_batch_ordered(lane, batch))
        batch->serial = MCDS__ONE_BY_ONE;
    lane->pending++;
    if (batch->deadline_ns < lane->deadline_ns)
        lane->deadline_ns = batch->deadline_ns;
    uint32_t count = batch->serial == MCDS__ONE_BY_ONE ? 1 : batch->count;
    for (uint32_t i = 0; i < count; i++)
        mcds__link_enqueue(link_of(lane, &batch->requests[i]), batch, i);
}

/* Whether requests wait for nothing but a push. */
static bool can_push(const struct mcds__link *link)
{
    return link->count > 0 && link->encoded == 0 &&
           (link->state == LINK_DOWN || link->state == LINK_READY);
}

/* A request that is refused at once puts the next one of its batch into the queue of any link, also of
 * one that has been pushed already, so this is repeated until no link has more to send. */
static void push_all(struct mcds__lane_of_memcached *lane)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < lane->link_count; i++)
            if (lane->links[i].encoded < lane->links[i].count)
                mcds__link_push(&lane->links[i]);
        for (uint32_t i = 0; i < lane->link_count; i++)
            again = again || can_push(&lane->links[i]);
    }
}

static void memcached_submit(void *state, mcds_batch *first)
{
    struct mcds__lane_of_memcached *lane = state;
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        enqueue_batch(lane, batch);
    }
    push_all(lane);
}

void mcds__lane_ask(struct mcds__lane_of_memcached *lane, uint32_t server, mcds_batch *batch)
{
    batch->serial = MCDS__AT_ONCE;
    lane->pending++;
    lane->deadline_ns = batch->deadline_ns;
    struct mcds__link *link = &lane->links[server * lane->home->connections];
    for (uint32_t i = 0; i < batch->count; i++)
        mcds__link_enqueue(link, batch, i);
    mcds__link_push(link);
}

static bool is_answered_for_good(const mcds_request *request)
{
    return request->reply.outcome != MCDS_OUT_UNKNOWN &&
           request->reply.outcome != MCDS_OUT_UNSENT &&
           request->reply.outcome != MCDS_OUT_PROTOCOL;
}

/* The reply to a request before this one, to the same server, that went unanswered, so that
 * their order can no longer be kept; NULL: there is none. */
static const mcds_reply *find_loss(struct mcds__lane_of_memcached *lane,
                                   const mcds_batch *batch, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++)
        if (!is_answered_for_good(&batch->requests[i]) &&
            link_of(lane, &batch->requests[i]) == link_of(lane, &batch->requests[index]))
            return &batch->requests[i].reply;
    return NULL;
}

/* Send the next request of a batch that goes one by one. False: none is left. */
static bool send_next(struct mcds__lane_of_memcached *lane, mcds_batch *batch)
{
    while (batch->answered < batch->count) {
        mcds_request *request = &batch->requests[batch->answered];
        const mcds_reply *loss = find_loss(lane, batch, batch->answered);
        if (loss == NULL) {
            mcds__link_enqueue(link_of(lane, request), batch, batch->answered);
            return true;
        }
        request->reply.outcome = loss->outcome == MCDS_OUT_PROTOCOL ? MCDS_OUT_PROTOCOL
                                                                    : MCDS_OUT_UNSENT;
        request->reply.detail = loss->detail;
        request->reply.peer = loss->peer;
        batch->answered++;
    }
    return false;
}

void mcds__lane_answered(struct mcds__lane_of_memcached *lane, mcds_batch *batch)
{
    batch->answered++;
    if (batch->serial == MCDS__CHECK)
        return;
    if (batch->serial == MCDS__ONE_BY_ONE && send_next(lane, batch))
        return;
    if (batch->answered < batch->count)
        return;
    lane->pending--;
    batch->next = NULL;
    *lane->done_end = batch;
    lane->done_end = &batch->next;
}

/* Answer what is late, and find out when the next will be. A late batch that goes one by one puts
 * its next request into the queue of any link, until all have been answered. */
static void expire(struct mcds__lane_of_memcached *lane, int64_t now_ns)
{
    do {
        lane->deadline_ns = INT64_MAX;
        for (uint32_t i = 0; i < lane->link_count; i++)
            mcds__link_expire(&lane->links[i], now_ns);
        for (uint32_t i = 0; i < lane->link_count; i++) {
            int64_t link_ns = mcds__link_deadline(&lane->links[i]);
            if (link_ns < lane->deadline_ns)
                lane->deadline_ns = link_ns;
        }
    } while (lane->deadline_ns <= now_ns);
}

/* Wait for the busy links, at most until until_ns, and let them go on. */
static void wait_and_go_on(struct mcds__lane_of_memcached *lane, int64_t now_ns,
                           int64_t until_ns)
{
    struct mcds__connection *connections[MCDS__WAIT_MAX];
    struct mcds__link *links[MCDS__WAIT_MAX];
    uint8_t ready[MCDS__WAIT_MAX];
    uint32_t count = 0;
    push_all(lane); /* a link that has lost its connection may have more to send */
    if (lane->done != NULL)
        return;
    for (uint32_t i = 0; i < lane->link_count; i++) {
        struct mcds__link *link = &lane->links[i];
        if (!mcds__link_is_busy(link))
            continue;
        if (link->state != LINK_READY && link->deadline_ns < until_ns)
            until_ns = link->deadline_ns;
        connections[count] = &link->connection;
        links[count++] = link;
    }
    mcds__connection_wait(connections, count, until_ns - now_ns, ready);
    for (uint32_t i = 0; i < count; i++)
        mcds__link_go_on(links[i], ready[i]);
    push_all(lane);
}

static mcds_batch *memcached_collect(void *state, int64_t until_ns)
{
    struct mcds__lane_of_memcached *lane = state;
    bool looked = false;
    while (lane->done == NULL && lane->pending > 0) {
        int64_t now_ns = mcds__monotonic_ns(lane->home->env);
        if (looked && now_ns >= until_ns)
            break;
        if (now_ns >= lane->deadline_ns)
            expire(lane, now_ns);
        if (lane->done != NULL)
            break;
        int64_t wait_ns = until_ns < lane->deadline_ns ? until_ns : lane->deadline_ns;
        wait_and_go_on(lane, now_ns, wait_ns > now_ns ? wait_ns : now_ns);
        looked = true;
    }
    mcds_batch *list = lane->done;
    lane->done = NULL;
    lane->done_end = &lane->done;
    return list;
}

static int memcached_watch(void *state, int64_t *wake_ns_out)
{
    struct mcds__lane_of_memcached *lane = state;
    push_all(lane);
    if (lane->watcher < 0)
        lane->watcher = mcds__connection_watcher();
    bool is_watched = true;
    *wake_ns_out = lane->done != NULL ? 0 : lane->deadline_ns;
    for (uint32_t i = 0; i < lane->link_count; i++) {
        struct mcds__link *link = &lane->links[i];
        bool busy = mcds__link_is_busy(link);
        if (busy && link->state != LINK_READY && link->deadline_ns < *wake_ns_out)
            *wake_ns_out = link->deadline_ns;
        is_watched = mcds__connection_watch(&link->connection, lane->watcher, busy) &&
                     is_watched;
    }
    if (!is_watched) { /* then by looking now and then */
        int64_t look_ns = mcds__monotonic_ns(lane->home->env) + LOOK_NS;
        *wake_ns_out = look_ns < *wake_ns_out ? look_ns : *wake_ns_out;
    }
    return lane->watcher;
}

const mcds_home mcds__home_memcached = {
    .version = MCDS_HOME_VERSION,
    .scheme = "memcached",
    .open = memcached_open,
    .close = memcached_close,
    .capabilities = memcached_capabilities,
    .lane_open = memcached_lane_open,
    .lane_close = memcached_lane_close,
    .lane_holds = memcached_lane_holds,
    .submit = memcached_submit,
    .collect = memcached_collect,
    .watch = memcached_watch,
    .keys = mcds__memcached_keys,
    .inspect = mcds__memcached_inspect,
};
