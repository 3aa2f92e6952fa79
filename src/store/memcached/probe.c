/* Probes the peer of a new connection: finds out by its behaviour what it is and can do.
 *
 *   MEANING   mg KEY k Oq | version    meta if the key and the opaque return; a peer that
 *                                      closes the connection is assumed to be a proxy
 *   LOGIN     set KEY 0 0 N | U P      where the answer is that a password is needed; then again
 *   PROXY     version                  on a second connection: classic, one by one
 *   CREATES   ms KEY MA N..            meta servers only: whether appending creates
 *   NUMBERS   ms KEY E.. | mg KEY c  the same: whether a client can set a CAS number; a server
 *                                      without CAS shows 0
 *   GETS      gets KEY                 whether compare-and-set exists
 *   SETTINGS  stats settings           what the server reports about itself; one without settings
 *                                      may be several servers, some full: the protocol is then
 *                                      `careful` */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "base/reason.h"
#include "store/memcached/memcached.h"

#define PROBE_KEY "mcds-probe"
#define FIRST_QUESTION "mg " PROBE_KEY " k Oq\r\nversion\r\n"
/* An item that expires soon, and its CAS number. */
#define NUMBER "9223372036854775808"
#define NUMBER_QUESTION                                                                        \
    "ms " PROBE_KEY "-cas 1 T3 E" NUMBER "\r\nx\r\nmg " PROBE_KEY "-cas c k\r\n"
/* The most bytes that an item needs besides its value. */
#define ITEM_OVERHEAD 512
#define NO_MEMORY MCDS__WHY(NO_MEMORY_FOR_CONNECTION)

enum { MEANING_FIRST, LOGIN, MEANING_VERSION, PROXY, CREATES, NUMBERS, GETS, SETTINGS };

static bool memcached_probe_ask(struct mcds__connection *connection, const char *text)
{
    if (mcds_buffer_append(&connection->socket.out, text, strlen(text)))
        return true;
    connection->socket.trouble = NO_MEMORY;
    return false;
}

bool mcds__probe_begin(struct mcds__connection *connection)
{
    assert(connection->state == CONNECTION_PROBING);
    connection->wire = &mcds__wire_classic;
    connection->probe_can = mcds__memcached_careful();
    connection->probe_settings_told = false;
    connection->probe_item_max = 0;
    connection->probe_evicts = false;
    connection->probe_logged_in = false;
    connection->has_numbers = false;
    connection->needed = 0;
    connection->probe_stage = connection->probe_is_proxy ? PROXY : MEANING_FIRST;
    return memcached_probe_ask(connection,
                               connection->probe_is_proxy ? "version\r\n" : FIRST_QUESTION);
}

bool mcds__probe_hung_up(struct mcds__connection *connection)
{
    struct mcds__socket *sock = &connection->socket;
    assert(connection->state == CONNECTION_PROBING);
    if (sock->trouble != MCDS__WHY(CONNECTION_CLOSED) || sock->in.length > 0)
        return false;
    if (connection->probe_stage != MEANING_FIRST) {
        if (connection->probe_stage == PROXY) /* at the first command, like the one before */
            sock->trouble = sock->tls != NULL ? MCDS__WHY(TLS_CLOSED) : MCDS__WHY(TEXT_CLOSED);
        return false;
    }
    connection->probe_is_proxy = true;
    return true;
}

const mcds_reason *mcds__probe_silence(const struct mcds__connection *connection)
{
    assert(connection->state == CONNECTION_PROBING);
    return connection->probe_stage == PROXY ? MCDS__WHY(TEXT_UNANSWERED)
                                            : MCDS__WHY(NOT_ANSWERING);
}

static enum mcds__parse memcached_probe_refuse(struct mcds__connection *connection,
                                               const mcds_reason *trouble)
{
    connection->socket.trouble = trouble;
    return PARSE_BROKEN;
}

/* Fail for a reason that waiting cannot mend: the peer is not what the URI means. */
static enum mcds__parse refuse_for_good(struct mcds__connection *connection,
                                        const mcds_reason *trouble)
{
    connection->refusal = MCDS_OUT_PROTOCOL;
    return memcached_probe_refuse(connection, trouble);
}

static bool begins(const struct mcds__socket *sock, const char *text, size_t length)
{
    return sock->in.length >= length && memcmp(sock->in.data, text, length) == 0;
}

/* Identify another kind of server by its first bytes. */
static const mcds_reason *name_other(const struct mcds__socket *sock)
{
    static const struct {
        const char *text;
        size_t length;
        const mcds_reason *trouble;
    } kinds[] = {
        {"HTTP/", 5, MCDS__WHY(HTTP_SERVER)},
        /* An answer without a status line, as in HTTP/0.9. */
        {"<!DOCTYPE ", 10, MCDS__WHY(HTTP_SERVER)},
        {"<html", 5, MCDS__WHY(HTTP_SERVER)},
        {"-ERR ", 5, MCDS__WHY(REDIS_SERVER)},
        {"-NOAUTH ", 8, MCDS__WHY(REDIS_SERVER)},
        {"-DENIED ", 8, MCDS__WHY(REDIS_SERVER)},
        {"SSH-", 4, MCDS__WHY(SSH_SERVER)},
        {"\x15\x03", 2, MCDS__WHY(TLS_SERVER)},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (begins(sock, kinds[i].text, kinds[i].length))
            return kinds[i].trouble;
    return NULL;
}

static enum mcds__parse refuse_other(struct mcds__connection *connection)
{
    const mcds_reason *trouble = name_other(&connection->socket);
    return refuse_for_good(connection, trouble != NULL ? trouble : MCDS__WHY(NOT_MEMCACHED));
}

/* Derive the capabilities. The settings of a proxy say nothing about its servers. */
static void conclude(struct mcds__connection *connection)
{
    mcds_capabilities *can = &connection->probe_can;
    bool meta = connection->wire == &mcds__wire_meta;
    bool is_known = connection->probe_settings_told && !connection->probe_is_proxy;
    bool is_careful = !is_known || !connection->probe_evicts;
    if (meta && is_careful)
        connection->wire = &mcds__wire_careful;
    can->create_on_increment = meta;
    can->value_suppressed = meta;
    can->ttl_readable = meta;
    can->cas_on_store = meta && !is_careful && can->compare_and_set;
    can->create_on_append = meta && !is_careful && connection->probe_creates_on_append;
    can->ordered_batch = is_known;
    connection->has_numbers = can->cas_on_store && connection->has_numbers;
    connection->reads_several = meta && is_known;
    connection->probe_item_max = is_known ? connection->probe_item_max : 0;
    connection->value_max = can->value_max;
    assert(connection->value_max > 0 && (!can->cas_on_store || can->compare_and_set));
}

/* Publish the capabilities. */
static enum mcds__parse memcached_probe_finish(struct mcds__connection *connection)
{
    assert(connection->state == CONNECTION_PROBING);
    struct mcds__memcached *backend = connection->session->backend;
    struct mcds__server *server = connection->server;
    conclude(connection);
    (void)pthread_mutex_lock(&backend->mutex);
    server->reached = true;
    server->can = connection->probe_can;
    server->has_numbers = connection->has_numbers;
    server->has_logged_in = connection->probe_logged_in;
    mcds__memcached_note_abilities(backend);
    server->retry_at_ns = 0;
    server->pause_ns = 0;
    server->trouble = NULL;
    (void)pthread_mutex_unlock(&backend->mutex);
    return PARSE_DONE;
}

static bool is_plain_error(const char *line, size_t length)
{
    return mcds__wire_is(line, length, "ERROR") ||
           mcds__wire_begins(line, length, "CLIENT_ERROR") || mcds__wire_is(line, length, "EN");
}

/* The server wants a password. */
static enum mcds__parse log_in(struct mcds__connection *connection)
{
    const char *path = connection->session->backend->auth_file;
    if (path == NULL)
        return refuse_for_good(connection, MCDS__WHY(PASSWORD));
    connection->probe_stage = LOGIN;
    return mcds__login_append(&connection->socket, path) ? PARSE_MORE : PARSE_BROKEN;
}

/* Handle a line after the login. The probe begins again where it was accepted. */
static enum mcds__parse take_login(struct mcds__connection *connection, const char *line,
                                   size_t length)
{
    const mcds_reason *trouble;
    assert(connection->probe_stage == LOGIN && !connection->probe_logged_in);
    enum mcds__parse parse = mcds__login_answer(line, length, &trouble);
    if (parse == PARSE_BROKEN)
        return refuse_for_good(connection, trouble);
    if (parse == PARSE_MORE)
        return PARSE_MORE;
    connection->probe_logged_in = true;
    connection->probe_stage = MEANING_FIRST;
    return memcached_probe_ask(connection, FIRST_QUESTION) ? PARSE_MORE : PARSE_BROKEN;
}

/* Handle the answer to the first mg. */
static enum mcds__parse take_meaning(struct mcds__connection *connection, const char *line,
                                     size_t length)
{
    assert(connection->probe_stage == MEANING_FIRST);
    bool meta = mcds__wire_is(line, length, "EN k" PROBE_KEY " Oq") ||
                mcds__wire_is(line, length, "HD k" PROBE_KEY " Oq");
    if (mcds__wire_begins(line, length, "ERROR Too many open connections"))
        return memcached_probe_refuse(connection, MCDS__WHY(SERVER_CONNECTIONS));
    if (mcds__login_is_asked(line, length))
        return connection->probe_logged_in
                   ? refuse_for_good(connection, MCDS__WHY(PASSWORD_WRONG))
                   : log_in(connection);
    bool answers_for_others = mcds__wire_begins(line, length, "SERVER_ERROR");
    connection->probe_is_proxy = answers_for_others;
    if (!meta && !answers_for_others && !is_plain_error(line, length))
        return refuse_other(connection);
    if (!meta && connection->session->backend->protocol == PROTOCOL_META)
        return refuse_for_good(connection, MCDS__WHY(NO_META));
    if (meta && connection->session->backend->protocol != PROTOCOL_CLASSIC)
        connection->wire = &mcds__wire_meta;
    connection->probe_stage = MEANING_VERSION;
    return PARSE_MORE;
}

/* A proxy asks one of its servers for the version. If that one is down, the others may work. A
 * real server, recognized by its version line, is asked what it can do. */
static enum mcds__parse take_version(struct mcds__connection *connection, const char *line,
                                     size_t length)
{
    assert(connection->probe_stage == MEANING_VERSION || connection->probe_stage == PROXY);
    if (is_plain_error(line, length))
        return PARSE_MORE; /* some old servers answer the unknown mg in two lines */
    bool errs = mcds__wire_begins(line, length, "SERVER_ERROR");
    if (!errs && !mcds__wire_begins(line, length, "VERSION "))
        return refuse_other(connection);
    bool named_otherwise = errs || line[8] < '0' || line[8] > '9';
    if (connection->probe_is_proxy || named_otherwise) {
        connection->probe_is_proxy = true;
        return memcached_probe_finish(connection);
    }
    bool meta = connection->wire == &mcds__wire_meta;
    connection->probe_stage = meta ? CREATES : GETS;
    if ((meta && !memcached_probe_ask(connection,
                                      "ms " PROBE_KEY " 1 MA N3\r\nx\r\n" NUMBER_QUESTION)) ||
        !memcached_probe_ask(connection, "gets " PROBE_KEY "-gets\r\nstats settings\r\n"))
        return PARSE_BROKEN;
    return PARSE_MORE;
}

enum setting { ITEM_SIZE_MAX, CAS_ENABLED, EVICTIONS, PROXY_ENABLED, SETTING_COUNT };

static void take_setting(struct mcds__connection *connection, enum setting setting,
                         const char *value, size_t length)
{
    mcds_capabilities *can = &connection->probe_can;
    uint64_t number;
    switch (setting) {
    case ITEM_SIZE_MAX:
        if (!mcds__parse_u64(value, length, &number) || number <= 2 * ITEM_OVERHEAD)
            return;
        can->value_max = number - ITEM_OVERHEAD;
        connection->probe_item_max = number;
        return;
    case CAS_ENABLED:
        if (mcds__wire_is(value, length, "no"))
            can->compare_and_set = can->compare_and_delete = false;
        return;
    case EVICTIONS:
        connection->probe_evicts = mcds__wire_is(value, length, "on");
        can->evicts = !mcds__wire_is(value, length, "off");
        return;
    default: /* memcached's own proxy, which asks several servers at once */
        if (mcds__wire_is(value, length, "yes"))
            connection->probe_is_proxy = true;
    }
}

/* A line after "STAT ". */
static void take_settings(struct mcds__connection *connection, const char *line, size_t length)
{
    static const char *const names[SETTING_COUNT] = {"item_size_max ", "cas_enabled ",
                                                     "evictions ", "proxy_enabled "};
    assert(connection->probe_stage == SETTINGS);
    connection->probe_settings_told = true;
    for (int i = 0; i < SETTING_COUNT; i++) {
        size_t known = strlen(names[i]);
        if (length >= known && memcmp(line, names[i], known) == 0)
            take_setting(connection, (enum setting)i, line + known, length - known);
    }
}

/* A server without gets has no CAS and, if it is MemcacheDB, no expiry. */
static void take_abilities_of_old(struct mcds__connection *connection)
{
    connection->wire = &mcds__wire_plain;
    connection->probe_can.compare_and_set = false;
    connection->probe_can.compare_and_delete = false;
    connection->probe_can.expires = false;
}

/* The lines of a value, if there is one, also end with END. */
static void take_gets(struct mcds__connection *connection, const char *line, size_t length)
{
    assert(connection->probe_stage == GETS);
    bool is_error = is_plain_error(line, length);
    if (is_error)
        take_abilities_of_old(connection);
    if (is_error || mcds__wire_is(line, length, "END") ||
        mcds__wire_begins(line, length, "SERVER_ERROR"))
        connection->probe_stage = SETTINGS;
}

/* The answers to ms and to mg. */
static void take_number(struct mcds__connection *connection, const char *line, size_t length)
{
    assert(connection->probe_stage == NUMBERS);
    if (mcds__wire_is(line, length, "HD c" NUMBER " k" PROBE_KEY "-cas"))
        connection->has_numbers = true;
    if (mcds__wire_begins(line, length, "EN") || mcds__wire_begins(line, length, "HD c"))
        connection->probe_stage = GETS;
}

static enum mcds__parse take_abilities(struct mcds__connection *connection, const char *line,
                                       size_t length)
{
    assert(connection->probe_stage >= CREATES && connection->probe_stage <= SETTINGS);
    if (connection->probe_stage == CREATES) {
        connection->probe_creates_on_append = mcds__wire_begins(line, length, "HD");
        connection->probe_stage = NUMBERS;
        return PARSE_MORE;
    }
    if (connection->probe_stage == NUMBERS) {
        take_number(connection, line, length);
        return PARSE_MORE;
    }
    if (connection->probe_stage == GETS) {
        take_gets(connection, line, length);
        return PARSE_MORE;
    }
    if (!mcds__wire_begins(line, length, "STAT "))
        return memcached_probe_finish(connection);
    take_settings(connection, line + strlen("STAT "), length - strlen("STAT "));
    return PARSE_MORE;
}

static enum mcds__parse take_line(struct mcds__connection *connection, const char *line,
                                  size_t length)
{
    switch (connection->probe_stage) {
    case MEANING_FIRST:
        return take_meaning(connection, line, length);
    case LOGIN:
        return take_login(connection, line, length);
    case MEANING_VERSION:
    case PROXY:
        return take_version(connection, line, length);
    default:
        return take_abilities(connection, line, length);
    }
}

enum mcds__parse mcds__probe_go_on(struct mcds__connection *connection)
{
    struct mcds__socket *sock = &connection->socket;
    while (sock->in_taken < sock->in.length) {
        const char *line = (const char *)sock->in.data + sock->in_taken;
        size_t length = 0;
        size_t consumed = 0;
        enum mcds__parse parse = mcds__wire_line(line, sock->in.length - sock->in_taken,
                                                 &length, &consumed);
        if (parse == PARSE_MORE && sock->in_taken == 0 && name_other(sock) != NULL)
            parse = PARSE_BROKEN; /* a line without an end */
        if (parse == PARSE_MORE)
            return PARSE_MORE;
        if (parse == PARSE_BROKEN)
            return refuse_other(connection);
        sock->in_taken += consumed;
        assert(sock->in_taken <= sock->in.length);
        parse = take_line(connection, line, length);
        if (parse != PARSE_MORE)
            return parse;
    }
    return mcds__socket_send(sock) ? PARSE_MORE : PARSE_BROKEN;
}
