/* What is at the other end of a new connection, found out by behaviour.
 *
 *   MEANING   mg KEY k Oq | version    meta if the key and the opaque come back; a peer that
 *                                      hangs up on it is taken for a proxy
 *   PROXY     version                  on a second connection: classic, one by one
 *   CREATES   ms KEY MA N..            of a meta server: whether appending creates
 *   GETS      gets KEY                 whether there is compare-and-set at all
 *   SETTINGS  stats settings           what the server says of itself; one that says nothing may
 *                                      be many servers, and full ones: it is asked carefully */
#include <string.h>

#include "base/environment.h"
#include "base/number.h"
#include "base/reason.h"
#include "store/memcached.h"

#define PROBE_KEY "mcds-probe"
#define VALUE_MAX_USUAL (UINT64_C(1048576) - 512)
/* What an item costs over its value, at most. */
#define ITEM_OVERHEAD 512
#define TTL_EARLY_MS 2000
#define NO_MEMORY MCDS__WHY(NO_MEMORY_FOR_CONNECTION)

enum { MEANING_FIRST, MEANING_VERSION, PROXY, CREATES, GETS, SETTINGS };

mcds_capabilities mcds__memcached_careful(void)
{
    return (mcds_capabilities){
        .compare_and_delete = true,
        .compare_and_set = true,
        .evicts = true,
        .expires = true,
        .ttl_unit_ms = 1000,
        .ttl_early_ms = TTL_EARLY_MS,
        .value_max = VALUE_MAX_USUAL,
    };
}

static bool ask(struct mcds__link *link, const char *text)
{
    if (mcds_buffer_append(&link->connection.out, text, strlen(text)))
        return true;
    link->connection.trouble = NO_MEMORY;
    return false;
}

bool mcds__probe_begin(struct mcds__link *link)
{
    link->wire = &mcds__wire_classic;
    link->probe_can = mcds__memcached_careful();
    link->probe_settings_told = false;
    link->probe_item_max = 0;
    link->probe_evicts = false;
    link->needed = 0;
    link->probe_stage = link->probe_is_proxy ? PROXY : MEANING_FIRST;
    return ask(link,
               link->probe_is_proxy ? "version\r\n" : "mg " PROBE_KEY " k Oq\r\nversion\r\n");
}

bool mcds__probe_hung_up(struct mcds__link *link)
{
    if (link->probe_stage != MEANING_FIRST || link->connection.in.length > 0)
        return false;
    link->probe_is_proxy = true;
    return true;
}

static enum mcds__parse refuse(struct mcds__link *link, const mcds_reason *trouble)
{
    link->connection.trouble = trouble;
    return PARSE_BROKEN;
}

/* Nothing that time could mend: what is there is not what the URI means. */
static enum mcds__parse refuse_for_good(struct mcds__link *link, const mcds_reason *trouble)
{
    link->refusal = MCDS_OUT_PROTOCOL;
    return refuse(link, trouble);
}

static bool begins(const struct mcds__connection *connection, const char *text, size_t length)
{
    return connection->in.length >= length && memcmp(connection->in.at, text, length) == 0;
}

/* What its first bytes show it to be. */
static const mcds_reason *name_other(const struct mcds__connection *connection)
{
    static const struct {
        const char *text;
        size_t length;
        const mcds_reason *trouble;
    } kinds[] = {
        {"HTTP/", 5, MCDS__WHY(HTTP_SERVER)},
        /* An answer without a status line, as HTTP/0.9 has it. */
        {"<!DOCTYPE ", 10, MCDS__WHY(HTTP_SERVER)},
        {"<html", 5, MCDS__WHY(HTTP_SERVER)},
        {"-ERR ", 5, MCDS__WHY(REDIS_SERVER)},
        {"-NOAUTH ", 8, MCDS__WHY(REDIS_SERVER)},
        {"-DENIED ", 8, MCDS__WHY(REDIS_SERVER)},
        {"SSH-", 4, MCDS__WHY(SSH_SERVER)},
        {"\x15\x03", 2, MCDS__WHY(TLS_SERVER)},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (begins(connection, kinds[i].text, kinds[i].length))
            return kinds[i].trouble;
    return NULL;
}

static enum mcds__parse refuse_other(struct mcds__link *link)
{
    const mcds_reason *trouble = name_other(&link->connection);
    return refuse_for_good(link, trouble != NULL ? trouble : MCDS__WHY(NOT_MEMCACHED));
}

/* Draw the conclusions. What a proxy says of itself says nothing of its servers. */
static void conclude(struct mcds__link *link)
{
    mcds_capabilities *can = &link->probe_can;
    bool meta = link->wire == &mcds__wire_meta;
    bool is_known = link->probe_settings_told && !link->probe_is_proxy;
    bool is_careful = !is_known || !link->probe_evicts;
    if (meta && is_careful)
        link->wire = &mcds__wire_careful;
    can->create_on_increment = meta;
    can->value_suppressed = meta;
    can->ttl_readable = meta;
    can->cas_on_store = meta && !is_careful && can->compare_and_set;
    can->create_on_append = meta && !is_careful && link->probe_creates_on_append;
    can->ordered_batch = is_known;
    link->probe_item_max = is_known ? link->probe_item_max : 0;
    link->value_max = can->value_max;
}

/* Publish what was found. */
static enum mcds__parse finish(struct mcds__link *link)
{
    struct mcds__memcached *home = link->lane->home;
    struct mcds__server *server = link->server;
    conclude(link);
    (void)pthread_mutex_lock(&home->mutex);
    server->reached = true;
    server->can = link->probe_can;
    mcds__memcached_note_abilities(home);
    server->retry_at_ns = 0;
    server->pause_ns = 0;
    server->trouble = NULL;
    (void)pthread_mutex_unlock(&home->mutex);
    return PARSE_DONE;
}

static bool is_plain_error(const char *line, size_t length)
{
    return mcds__wire_is(line, length, "ERROR") ||
           mcds__wire_begins(line, length, "CLIENT_ERROR") || mcds__wire_is(line, length, "EN");
}

/* The answer to the first mg. */
static enum mcds__parse take_meaning(struct mcds__link *link, const char *line, size_t length)
{
    bool meta = mcds__wire_is(line, length, "EN k" PROBE_KEY " Oq") ||
                mcds__wire_is(line, length, "HD k" PROBE_KEY " Oq");
    if (mcds__wire_begins(line, length, "ERROR Too many open connections"))
        return refuse(link, MCDS__WHY(SERVER_CONNECTIONS));
    if (mcds__wire_begins(line, length, "CLIENT_ERROR unauthenticated"))
        return refuse_for_good(link, MCDS__WHY(PASSWORD));
    bool answers_for_others = mcds__wire_begins(line, length, "SERVER_ERROR");
    link->probe_is_proxy = answers_for_others;
    if (!meta && !answers_for_others && !is_plain_error(line, length))
        return refuse_other(link);
    if (!meta && link->lane->home->protocol == PROTOCOL_META)
        return refuse_for_good(link, MCDS__WHY(NO_META));
    if (meta && link->lane->home->protocol != PROTOCOL_CLASSIC)
        link->wire = &mcds__wire_meta;
    link->probe_stage = MEANING_VERSION;
    return PARSE_MORE;
}

/* A proxy asks one of its servers for the version. That this one is down means nothing for the
 * others. A real server, to judge by its version line, is asked what it can do. */
static enum mcds__parse take_version(struct mcds__link *link, const char *line, size_t length)
{
    if (is_plain_error(line, length))
        return PARSE_MORE; /* some old servers answer the unknown mg in two lines */
    bool errs = mcds__wire_begins(line, length, "SERVER_ERROR");
    if (!errs && !mcds__wire_begins(line, length, "VERSION "))
        return refuse_other(link);
    bool named_otherwise = errs || line[8] < '0' || line[8] > '9';
    if (link->probe_is_proxy || named_otherwise) {
        link->probe_is_proxy = true;
        return finish(link);
    }
    bool meta = link->wire == &mcds__wire_meta;
    link->probe_stage = meta ? CREATES : GETS;
    if ((meta && !ask(link, "ms " PROBE_KEY " 1 MA N3\r\nx\r\n")) ||
        !ask(link, "gets " PROBE_KEY "-gets\r\nstats settings\r\n"))
        return PARSE_BROKEN;
    return PARSE_MORE;
}

/* The rest of the line behind `name`, if it begins so. */
static bool take_setting(const char *line, size_t length, const char *name, const char **value,
                         size_t *value_length)
{
    if (!mcds__wire_begins(line, length, name))
        return false;
    *value = line + strlen(name);
    *value_length = length - strlen(name);
    return true;
}

static void take_settings(struct mcds__link *link, const char *line, size_t length)
{
    const char *value;
    size_t value_length;
    uint64_t number;
    if (take_setting(line, length, "STAT item_size_max ", &value, &value_length) &&
        mcds__parse_u64(value, value_length, &number) && number > 2 * ITEM_OVERHEAD) {
        link->probe_can.value_max = number - ITEM_OVERHEAD;
        link->probe_item_max = number;
    }
    if (take_setting(line, length, "STAT cas_enabled ", &value, &value_length) &&
        mcds__wire_is(value, value_length, "no"))
        link->probe_can.compare_and_set = link->probe_can.compare_and_delete = false;
    if (take_setting(line, length, "STAT evictions ", &value, &value_length)) {
        link->probe_evicts = mcds__wire_is(value, value_length, "on");
        link->probe_can.evicts = !mcds__wire_is(value, value_length, "off");
    }
    /* memcached's own proxy: it asks several servers at once. */
    if (mcds__wire_is(line, length, "STAT proxy_enabled yes"))
        link->probe_is_proxy = true;
    link->probe_settings_told = true;
}

/* A server without gets is older than leases: it keeps neither CAS nor, as MemcacheDB, expiry.
 */
static void take_abilities_of_old(struct mcds__link *link)
{
    link->wire = &mcds__wire_plain;
    link->probe_can.compare_and_set = false;
    link->probe_can.compare_and_delete = false;
    link->probe_can.expires = false;
}

/* The lines of a value, should there be one, end with END as well. */
static void take_gets(struct mcds__link *link, const char *line, size_t length)
{
    bool is_error = is_plain_error(line, length);
    if (is_error)
        take_abilities_of_old(link);
    if (is_error || mcds__wire_is(line, length, "END") ||
        mcds__wire_begins(line, length, "SERVER_ERROR"))
        link->probe_stage = SETTINGS;
}

static enum mcds__parse take_abilities(struct mcds__link *link, const char *line, size_t length)
{
    if (link->probe_stage == CREATES) {
        link->probe_creates_on_append = mcds__wire_begins(line, length, "HD");
        link->probe_stage = GETS;
        return PARSE_MORE;
    }
    if (link->probe_stage == GETS) {
        take_gets(link, line, length);
        return PARSE_MORE;
    }
    if (!mcds__wire_begins(line, length, "STAT "))
        return finish(link);
    take_settings(link, line, length);
    return PARSE_MORE;
}

static enum mcds__parse take_line(struct mcds__link *link, const char *line, size_t length)
{
    switch (link->probe_stage) {
    case MEANING_FIRST:
        return take_meaning(link, line, length);
    case MEANING_VERSION:
    case PROXY:
        return take_version(link, line, length);
    default:
        return take_abilities(link, line, length);
    }
}

enum mcds__parse mcds__probe_go_on(struct mcds__link *link)
{
    struct mcds__connection *connection = &link->connection;
    while (connection->in_taken < connection->in.length) {
        const char *line = (const char *)connection->in.at + connection->in_taken;
        size_t length;
        size_t consumed;
        enum mcds__parse parse = mcds__wire_line(
            line, connection->in.length - connection->in_taken, &length, &consumed);
        if (parse == PARSE_MORE && connection->in_taken == 0 && name_other(connection) != NULL)
            parse = PARSE_BROKEN; /* one that would never end its line */
        if (parse == PARSE_MORE)
            return PARSE_MORE;
        if (parse == PARSE_BROKEN)
            return refuse_other(link);
        connection->in_taken += consumed;
        parse = take_line(link, line, length);
        if (parse != PARSE_MORE)
            return parse;
    }
    return mcds__connection_send(connection) ? PARSE_MORE : PARSE_BROKEN;
}
