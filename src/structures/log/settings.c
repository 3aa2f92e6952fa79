/* Log: the settings in the root: defaults, limits, and the times derived from them. */
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "structures/log/log.h"

/* Numbers in the root. */
#define COUNT 5
#define DAY_MS UINT64_C(86400000)
#define RETENTION_DEFAULT_MS (7 * DAY_MS)
#define RETENTION_MAX_MS (366 * DAY_MS)
#define RETENTION_MIN_MS UINT64_C(1000)
#define CHUNK_MIN_MS UINT64_C(1000)
#define CHUNK_MAX_MS DAY_MS
#define CHUNKS_DEFAULT 1000
#define CHUNKS_MAX 4096
#define LATE_DEFAULT_MS 60000
#define AHEAD_DEFAULT_MS 5000
/* Time that a cursor allows for different clocks and slow puts. */
#define CLOCKS_MS (2 * (MCDS__LOG_SKEW_MS + MCDS__LOG_SETTLE_MS))
/* Chunks that still take events must fit into a cursor, with one to spare at either end. */
#define LIVE_MAX (MCDS_LOG_CURSOR_CHUNKS - 3)
#define LIVE_DEFAULT 8
/* Allowance for early expiry and for the clocks of servers. */
#define TTL_SLACK_MS 4000

static uint64_t at_least(uint64_t number, uint64_t least)
{
    return number > least ? number : least;
}

/* How long a chunk takes events, in addition to its own length. */
static uint64_t live_ms(const struct mcds__log_settings *settings)
{
    return (uint64_t)settings->late_ms + settings->ahead_ms + CLOCKS_MS;
}

struct mcds__log_settings mcds__log_complete(const struct mcds__log_settings *wanted)
{
    struct mcds__log_settings settings = *wanted;
    if (settings.retention_ms == 0)
        settings.retention_ms = RETENTION_DEFAULT_MS;
    if (settings.late_ms == 0)
        settings.late_ms = settings.retention_ms < LATE_DEFAULT_MS
                               ? (uint32_t)settings.retention_ms
                               : LATE_DEFAULT_MS;
    if (settings.ahead_ms == 0)
        settings.ahead_ms = AHEAD_DEFAULT_MS;
    if (settings.chunk_ms == 0) {
        uint64_t chunk_ms = at_least(settings.retention_ms / CHUNKS_DEFAULT, CHUNK_MIN_MS);
        chunk_ms = at_least(chunk_ms, live_ms(&settings) / LIVE_DEFAULT);
        settings.chunk_ms = chunk_ms < CHUNK_MAX_MS ? chunk_ms : CHUNK_MAX_MS;
    }
    assert(settings.retention_ms > 0 && settings.chunk_ms > 0);
    return settings;
}

static int fail_live(const char *name, const struct mcds__log_settings *settings)
{
    uint64_t least_ms = live_ms(settings) / LIVE_MAX + 1;
    const mcds_error error = {
        .result = MCDS_INVALID,
        .cause = MCDS_CAUSE_OUT_OF_RANGE,
        .noun = "log",
        .name = name,
        .option = "chunk_ms",
        .wanted_min = (int64_t)least_ms,
        .wanted_max = CHUNK_MAX_MS,
        MCDS__FOUND(settings->chunk_ms),
    };
    return mcds__fail_saying(
        &error,
        "late_ms, ahead_ms and %d s for clocks and slow puts span more than %d "
        "chunks; choose chunks of %llu ms or more",
        CLOCKS_MS / 1000, LIVE_MAX, (unsigned long long)least_ms);
}

int mcds__log_check(const char *name, const struct mcds__log_settings *wanted)
{
    struct mcds__log_settings settings = mcds__log_complete(wanted);
    const uint64_t retention_ms = settings.retention_ms;
    const struct mcds__given list[] = {
        {MCDS_CAUSE_UNKNOWN_VALUE, "flags", settings.flags, 0, MCDS_LOG_BY_ARRIVAL},
        {MCDS_CAUSE_OUT_OF_RANGE, "retention_ms", retention_ms, RETENTION_MIN_MS,
         RETENTION_MAX_MS},
        {MCDS_CAUSE_OUT_OF_RANGE, "chunk_ms", settings.chunk_ms, CHUNK_MIN_MS, CHUNK_MAX_MS},
        {MCDS_CAUSE_OUT_OF_RANGE, "late_ms", settings.late_ms, 0, retention_ms},
    };
    int result = mcds__check_given("log", name, NULL, list, sizeof list / sizeof list[0]);
    if (result != MCDS_OK)
        return result;
    const struct mcds__given chunk = {MCDS_CAUSE_OUT_OF_RANGE, "chunk_ms", settings.chunk_ms,
                                      retention_ms / (CHUNKS_MAX + 1) + 1, CHUNK_MAX_MS};
    result = mcds__check_given("log", name, NULL, &chunk, 1);
    if (result != MCDS_OK)
        return result;
    if (live_ms(&settings) / settings.chunk_ms > LIVE_MAX)
        return fail_live(name, &settings);
    return MCDS_OK;
}

uint8_t mcds__log_encode(const struct mcds__log_settings *wanted, uint64_t *out)
{
    struct mcds__log_settings settings = mcds__log_complete(wanted);
    out[0] = settings.flags;
    out[1] = settings.late_ms;
    out[2] = settings.ahead_ms;
    out[3] = settings.retention_ms;
    out[4] = settings.chunk_ms;
    return COUNT;
}

static bool log_settings_decode(const struct mcds__root *root,
                                struct mcds__log_settings *settings)
{
    const uint64_t *in = root->settings;
    if (root->count != COUNT || in[0] > MCDS_LOG_BY_ARRIVAL || in[1] > UINT32_MAX ||
        in[2] > UINT32_MAX)
        return false;
    settings->flags = (uint32_t)in[0];
    settings->late_ms = (uint32_t)in[1];
    settings->ahead_ms = (uint32_t)in[2];
    settings->retention_ms = in[3];
    settings->chunk_ms = in[4];
    return settings->chunk_ms >= CHUNK_MIN_MS && settings->chunk_ms <= CHUNK_MAX_MS &&
           settings->retention_ms >= RETENTION_MIN_MS &&
           settings->retention_ms <= RETENTION_MAX_MS &&
           settings->retention_ms / settings->chunk_ms <= CHUNKS_MAX &&
           live_ms(settings) / settings->chunk_ms <= LIVE_MAX;
}

/* Whether the log has the wanted settings; if not, *difference_out is the first that differs. */
static bool log_settings_fits(const struct mcds__log_settings *wanted,
                              const struct mcds__log_settings *has,
                              struct mcds__difference *difference_out)
{
    const struct mcds__difference rows[] = {
        {"retention_ms", (int64_t)wanted->retention_ms, (int64_t)has->retention_ms},
        {"chunk_ms", (int64_t)wanted->chunk_ms, (int64_t)has->chunk_ms},
        {"late_ms", wanted->late_ms, has->late_ms},
        {"ahead_ms", wanted->ahead_ms, has->ahead_ms},
        {"flags", wanted->flags, has->flags},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].wanted == 0 || rows[i].wanted == rows[i].found)
            continue;
        *difference_out = rows[i];
        return false;
    }
    return true;
}

/* The keys contain the settings, so logs with different settings have different keys. */
static enum mcds__step adopt(struct mcds__log_begin *begin, struct mcds__operation *operation)
{
    assert(operation->result == MCDS_OK);
    mcds_log *log = begin->log;
    struct mcds__log_settings settings;
    struct mcds__difference difference;
    struct mcds__key key;
    if (!log_settings_decode(&begin->root, &settings))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    if (!log_settings_fits(&log->wanted, &settings, &difference))
        return mcds__operation_differ(operation, MCDS__WHY(OPTION_DIFFERS_OR_0), difference);
    (void)pthread_mutex_lock(&log->mutex);
    if (!atomic_load(&log->is_ready)) {
        log->settings = settings;
        mcds__key_begin(&key, mcds__store_ns(log->handle.store), MCDS__TAG_LOG_SEGMENT,
                        log->handle.name);
        mcds__key_add_number(&key, settings.chunk_ms);
        mcds__segments_init(&log->segments, log->handle.store, &key, &log->generation.key,
                            false);
        atomic_store(&log->is_ready, true);
    }
    bool is_fine = settings.chunk_ms == log->settings.chunk_ms;
    if (is_fine)
        mcds__generation_note(&log->generation, begin->root.number, operation->sent_ns,
                              log->settings.retention_ms);
    (void)pthread_mutex_unlock(&log->mutex);
    if (is_fine)
        return mcds__operation_finish(operation, MCDS_OK);
    return mcds__operation_explain(operation, MCDS_LOST, MCDS__WHY(LOG_MADE_AGAIN));
}

void mcds__log_begin(struct mcds__log_begin *begin, mcds_log *log)
{
    begin->log = log;
    begin->is_dropped = begin->judges = begin->is_asked = false;
    mcds__root_begin(&begin->root, &log->generation);
    begin->root.count = mcds__log_encode(&log->wanted, begin->root.settings);
}

enum mcds__step mcds__log_begin_step(struct mcds__log_begin *begin, bool makes,
                                     struct mcds__operation *operation)
{
    enum mcds__step step = MCDS__DONE;
    if (!begin->judges)
        step = makes ? mcds__root_make_step(&begin->root, operation)
                     : mcds__root_read_step(&begin->root, operation);
    if (step != MCDS__DONE || (!begin->judges && operation->result != MCDS_OK))
        return step;
    if (begin->root.is_again)
        step = mcds__log_judge_root(begin, operation);
    return step == MCDS__DONE && operation->result == MCDS_OK ? adopt(begin, operation) : step;
}

uint64_t mcds__log_oldest(const mcds_log *log, int64_t now_ms)
{
    return mcds__log_chunk(log, now_ms - (int64_t)log->settings.retention_ms);
}

/* How long after its end a chunk may take events: late ones, of slow clocks, and slow puts. */
static uint64_t open_ms(const struct mcds__log_settings *settings)
{
    return (uint64_t)settings->late_ms + 2 * MCDS__LOG_SETTLE_MS + MCDS__LOG_SKEW_MS;
}

uint64_t mcds__log_live(const mcds_log *log, int64_t now_ms)
{
    return mcds__log_chunk(log, now_ms - (int64_t)open_ms(&log->settings));
}

uint64_t mcds__log_newest(const mcds_log *log, int64_t now_ms)
{
    int64_t ahead_ms = (int64_t)log->settings.ahead_ms + MCDS__LOG_SKEW_MS;
    /* A cursor of the caller may have any time. */
    return mcds__log_chunk(log, now_ms < INT64_MAX - ahead_ms ? now_ms + ahead_ms : INT64_MAX);
}

uint64_t mcds__log_reach(const struct mcds__log_settings *settings)
{
    /* The chunks that take events, where the first and the last of them have just begun. */
    assert(settings->chunk_ms >= CHUNK_MIN_MS);
    uint64_t taking = live_ms(settings) / settings->chunk_ms + 2;
    assert(taking < MCDS_LOG_CURSOR_CHUNKS);
    return (MCDS_LOG_CURSOR_CHUNKS - taking) / 2;
}

int mcds__log_judge(struct mcds__operation *operation,
                    const struct mcds__log_settings *settings, int64_t filed_ms, int64_t now_ms)
{
    operation->detail = NULL; /* it may have been refused before */
    operation->result = MCDS_OK;
    int64_t late_ms = (int64_t)settings->late_ms, ahead_ms = (int64_t)settings->ahead_ms;
    /* No chunk is before 1970, where a clock that was never set may be. */
    if (filed_ms <= 0 && filed_ms >= now_ms - late_ms)
        (void)mcds__operation_explain(operation, MCDS_TOO_OLD, MCDS__WHY(CLOCK_BEFORE_1970));
    else if (filed_ms < now_ms - late_ms)
        (void)mcds__operation_mistime(operation, MCDS_TOO_OLD, MCDS__WHY(EVENT_BEFORE_LATE),
                                      now_ms - filed_ms, late_ms);
    else if (filed_ms > now_ms + ahead_ms)
        (void)mcds__operation_mistime(operation, MCDS_TOO_FUTURE, MCDS__WHY(EVENT_BEYOND_AHEAD),
                                      filed_ms - now_ms, ahead_ms);
    return operation->result;
}

uint64_t mcds__log_ttl_ms(const struct mcds__log_settings *settings)
{
    /* A key may be made before its chunk begins: ahead_ms, and by a clock that is ahead. */
    return mcds__log_reach(settings) * settings->chunk_ms + settings->ahead_ms +
           MCDS__LOG_SKEW_MS + settings->chunk_ms + open_ms(settings) + settings->retention_ms +
           TTL_SLACK_MS;
}

uint64_t mcds__log_unexpired(const mcds_log *log, int64_t now_ms)
{
    const struct mcds__log_settings *settings = &log->settings;
    return mcds__log_chunk(log, now_ms - (int64_t)(settings->retention_ms + open_ms(settings)));
}
