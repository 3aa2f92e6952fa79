/* Log: a cursor as text.
 *
 * The text is 4:NS:NAME:STORE:FLAGS:POLLED:FROM:LIFE:CHUNK, for each chunk
 * :SEGMENT.SIZE.INCARNATION, and a checksum (base/hash/text_sum.h). NS and NAME are as in the keys of the
 * log, empty before the first use; the others are decimal numbers. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/hash/text_sum.h"
#include "base/number.h"
#include "structures/log/log.h"

#define FORM 4
#define CHUNKS_HUGE (UINT64_C(1) << 40)
#define SIZE_HUGE (UINT64_C(1) << 27)
/* In `flags`: from_ms is the time of the first call, which found no log. */
#define CURSOR_WAITS UINT32_C(0x200)

static char *log_cursor_put(char *at, char before, uint64_t number)
{
    if (before != '\0')
        *at++ = before;
    return at + mcds__format_u64(number, at);
}

static char *put_text(char *at, char before, mcds_bytes text)
{
    *at++ = before;
    if (text.length > 0)
        memcpy(at, text.data, text.length);
    return at + text.length;
}

/* The namespace and the encoded name: NS:NAME, without the tag between them. */
static void write_log(const mcds_log *log, char out[MCDS_LOG_CURSOR_LOG])
{
    mcds_bytes key = mcds__key_bytes(&log->generation.key);
    size_t ns_length = strlen(mcds__store_ns(log->handle.store));
    const char *name = (const char *)key.data + ns_length + sizeof ":" MCDS__TAG_LOG;
    size_t name_length = key.length - ns_length - sizeof ":" MCDS__TAG_LOG;
    assert(name_length > 0 && name_length < key.length);
    static_assert(MCDS__NS_MAX + 1 + MCDS__NAME_MAX < MCDS_LOG_CURSOR_LOG, "room for both");
    memcpy(out, key.data, ns_length);
    char *end = put_text(out + ns_length, ':', (mcds_bytes){name, name_length});
    assert(end < out + MCDS_LOG_CURSOR_LOG);
    *end = '\0';
}

static int fail_other_log(const mcds_log_cursor *cursor, const mcds_log *log)
{
    mcds_bytes both = mcds_text(cursor->log);
    char ns[MCDS__KEY_MAX + 1];
    char name[MCDS__KEY_MAX + 1];
    size_t at = 0;
    if (!mcds__key_next_part(both, &at, ns) || !mcds__key_next_part(both, &at, name))
        ns[0] = name[0] = '\0';
    bool same_ns = strcmp(ns, mcds__store_ns(log->handle.store)) == 0;
    const mcds_error error = {
        .result = MCDS_INVALID,
        .cause = MCDS_CAUSE_BAD_CURSOR,
        .noun = "log",
        .name = log->handle.name,
        .verb = "tail",
        .found = name,
    };
    return mcds__fail_saying(&error, "the cursor belongs to log '%s'%s%s%s; begin a new cursor",
                             name, same_ns ? "" : " of namespace '", same_ns ? "" : ns,
                             same_ns ? "" : "'");
}

/* Whether calls, or a load of a text, can have written these fields. */
static bool is_possible_cursor(const mcds_log_cursor *cursor)
{
    if (cursor->count > MCDS_LOG_CURSOR_CHUNKS || cursor->chunk > CHUNKS_HUGE ||
        cursor->from_ms < 0 || cursor->polled_ms < 0 ||
        memchr(cursor->log, '\0', sizeof cursor->log) == NULL)
        return false;
    for (uint32_t i = 0; i < cursor->count; i++)
        if (cursor->at[i].segment > CHUNKS_HUGE || cursor->at[i].size > SIZE_HUGE)
            return false;
    return true;
}

int mcds__log_cursor_check(const mcds_log_cursor *cursor, const mcds_log *log)
{
    char own[MCDS_LOG_CURSOR_LOG];
    if (!is_possible_cursor(cursor))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(CURSOR_NOT_BEGUN), .noun = "log",
                              .name = log->handle.name, .verb = "tail");
    write_log(log, own);
    if (cursor->log[0] == '\0' || strcmp(cursor->log, own) == 0)
        return MCDS_OK;
    return fail_other_log(cursor, log);
}

bool mcds__log_cursor_is_foreign(const mcds_log_cursor *cursor, const mcds_log *log)
{
    return cursor->store != 0 && cursor->store != mcds__store_place(log->handle.store);
}

void mcds__log_cursor_own(mcds_log_cursor *cursor, const mcds_log *log)
{
    write_log(log, cursor->log);
    cursor->store = mcds__store_place(log->handle.store);
}

void mcds_log_cursor_save(const mcds_log_cursor *cursor, char text_out[MCDS_LOG_CURSOR_TEXT])
{
    if (text_out != NULL)
        text_out[0] = '\0';
    if (cursor == NULL || text_out == NULL)
        return;
    size_t length = strnlen(cursor->log, sizeof cursor->log);
    char *at = log_cursor_put(text_out, '\0', FORM);
    at = put_text(at, ':', length > 0 ? (mcds_bytes){cursor->log, length} : mcds_text(":"));
    at = log_cursor_put(at, ':', cursor->store);
    at = log_cursor_put(at, ':', cursor->flags);
    at = log_cursor_put(at, ':', (uint64_t)cursor->polled_ms);
    at = log_cursor_put(at, ':', (uint64_t)cursor->from_ms);
    at = log_cursor_put(at, ':', cursor->life);
    at = log_cursor_put(at, ':', cursor->chunk);
    for (uint32_t i = 0; i < cursor->count && i < MCDS_LOG_CURSOR_CHUNKS; i++) {
        at = log_cursor_put(at, ':', cursor->at[i].segment);
        at = log_cursor_put(at, '.', cursor->at[i].size);
        at = log_cursor_put(at, '.', cursor->at[i].incarnation);
    }
    assert(at + MCDS__TEXT_SUM < text_out + MCDS_LOG_CURSOR_TEXT);
    mcds__text_seal(text_out, (size_t)(at - text_out));
}

/* Reads a number that ends at one of the characters of `end`. */
static bool log_cursor_take(const char **at, const char *ends, uint64_t max, uint64_t *out)
{
    size_t length = strcspn(*at, ends);
    if (!mcds__parse_u64(*at, length, out) || *out > max)
        return false;
    *at += length;
    return true;
}

/* The namespace and the name of the log, which are both empty before the first use. */
static bool take_log(const char **at, char out[MCDS_LOG_CURSOR_LOG])
{
    size_t ns_length = strcspn(*at, ":");
    size_t length = ns_length + 1;
    if (ns_length > MCDS__NS_MAX || (*at)[ns_length] != ':')
        return false;
    length += strcspn(*at + length, ":");
    size_t name_length = length - ns_length - 1;
    if (name_length > MCDS__NAME_MAX || (name_length == 0 && ns_length > 0) ||
        !mcds__key_is_legal((mcds_bytes){*at, length}))
        return false;
    if (name_length > 0)
        memcpy(out, *at, length);
    *at += length;
    return true;
}

/* Reads the fields before the chunks. */
static bool take_head(const char **at, mcds_log_cursor *cursor)
{
    uint64_t form;
    uint64_t store;
    uint64_t flags;
    uint64_t polled_ms;
    uint64_t from_ms;
    uint64_t life;
    if (!log_cursor_take(at, ":", FORM, &form) || form != FORM || *(*at)++ != ':' ||
        !take_log(at, cursor->log) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":", UINT32_MAX, &store) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":", UINT32_MAX, &flags) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":", INT64_MAX, &polled_ms) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":", INT64_MAX, &from_ms) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":", UINT32_MAX, &life) || *(*at)++ != ':' ||
        !log_cursor_take(at, ":.", CHUNKS_HUGE, &cursor->chunk))
        return false;
    cursor->store = (uint32_t)store;
    cursor->flags = (uint32_t)flags;
    cursor->polled_ms = (int64_t)polled_ms;
    cursor->from_ms = (int64_t)from_ms;
    cursor->life = (uint32_t)life;
    return true;
}

/* Reads the fields of the next chunk. */
static bool take_chunk(const char **at, mcds_log_cursor *cursor)
{
    uint64_t size;
    uint64_t incarnation;
    const uint32_t i = cursor->count;
    if (i == MCDS_LOG_CURSOR_CHUNKS || *(*at)++ != ':' ||
        !log_cursor_take(at, ".", CHUNKS_HUGE, &cursor->at[i].segment) || *(*at)++ != '.' ||
        !log_cursor_take(at, ".", SIZE_HUGE, &size) || *(*at)++ != '.' ||
        !log_cursor_take(at, ":.", UINT32_MAX, &incarnation))
        return false;
    cursor->at[i].size = (uint32_t)size;
    cursor->at[i].incarnation = (uint32_t)incarnation;
    cursor->count++;
    return true;
}

int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text)
{
    mcds_log_cursor loaded = MCDS_LOG_CURSOR_INIT;
    const char *at = text;
    size_t length = 0;
    if (cursor == NULL || text == NULL)
        return mcds__fail_missing("log", "cursor_load", "a cursor and a text");
    bool fine = mcds__text_unseal(text, &length) && take_head(&at, &loaded);
    while (fine && at != text + length)
        fine = take_chunk(&at, &loaded);
    if (!fine)
        return mcds__fail(MCDS_INVALID, BAD_CURSOR, .noun = "log", .verb = "cursor_load",
                          .found = text,
                          .reason = "the text is not a cursor, or a part of it is missing or "
                                    "changed; begin a new cursor");
    *cursor = loaded;
    return MCDS_OK;
}

uint64_t mcds__log_cursor_stream(const mcds_log_cursor *cursor, uint32_t i)
{
    assert(i < MCDS_LOG_CURSOR_CHUNKS);
    return mcds__log_stream(mcds__log_cursor_stem(cursor), cursor->chunk + i);
}

void mcds__log_cursor_wait(mcds_log_cursor *cursor, int64_t now_ms)
{
    cursor->from_ms = now_ms;
    cursor->flags |= CURSOR_WAITS;
}

void mcds__log_cursor_begin(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms)
{
    assert(cursor->count == 0);
    uint64_t oldest = mcds__log_oldest(log, now_ms);
    uint64_t newest = mcds__log_newest(log, now_ms);
    bool waits = (cursor->flags & CURSOR_WAITS) != 0;
    bool is_new = waits || cursor->from_ms == 0; /* all events that were put since this time */
    int64_t since_ms = waits ? cursor->from_ms : now_ms;
    uint64_t from = is_new ? mcds__log_live(log, since_ms) - mcds__log_reach(&log->settings)
                           : mcds__log_chunk(log, cursor->from_ms);
    if (waits)
        cursor->from_ms = 1;
    from = from < oldest ? oldest : from;
    cursor->chunk = from < newest ? from : newest;
    cursor->flags = 0;
    cursor->polled_ms = now_ms;
    mcds__log_cursor_stretch(cursor, log, now_ms);
    assert(cursor->chunk <= newest && cursor->count > 0);
}

void mcds__log_cursor_stretch(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms)
{
    uint64_t last = mcds__log_newest(log, now_ms) + mcds__log_reach(&log->settings);
    while (cursor->count < MCDS_LOG_CURSOR_CHUNKS && cursor->chunk + cursor->count <= last) {
        cursor->at[cursor->count].segment = 0;
        cursor->at[cursor->count].size = 0;
        cursor->at[cursor->count++].incarnation = 0;
    }
}

bool mcds__log_cursor_pass_expired(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms)
{
    uint64_t unexpired = mcds__log_unexpired(log, now_ms);
    uint64_t end = cursor->chunk + cursor->count;
    uint64_t begun = mcds__log_newest(log, cursor->polled_ms) + 1;
    if (cursor->polled_ms != 0 && begun < end)
        end = begun;
    if (end > unexpired)
        return false;
    cursor->chunk = unexpired;
    cursor->count = 0;
    cursor->flags = 0;
    return true;
}

bool mcds__log_cursor_return(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms)
{
    uint64_t live = mcds__log_live(log, now_ms);
    uint64_t reach = mcds__log_reach(&log->settings);
    if (cursor->polled_ms - now_ms <= (int64_t)(reach * log->settings.chunk_ms) ||
        cursor->chunk <= live)
        return false;
    cursor->from_ms = 0;
    cursor->count = 0;
    mcds__log_cursor_begin(cursor, log, now_ms);
    return true;
}

bool mcds__log_cursor_shift(mcds_log_cursor *cursor, const mcds_log *log, int64_t now_ms)
{
    uint64_t live = mcds__log_live(log, now_ms);
    uint64_t reach = mcds__log_reach(&log->settings);
    uint32_t passed = 0;
    uint32_t finished = 0;
    while (passed < cursor->count && cursor->chunk + passed + reach < live)
        passed++;
    assert(passed <= cursor->count);
    bool was_full = cursor->chunk + cursor->count <= mcds__log_newest(log, now_ms);
    memmove(cursor->at, cursor->at + passed, (cursor->count - passed) * sizeof cursor->at[0]);
    cursor->count -= passed;
    cursor->chunk += passed;
    while (finished < cursor->count && cursor->chunk + finished < live)
        finished++;
    assert(finished <= reach && finished <= MCDS__LOG_CURSOR_FINISHED);
    uint32_t counted = cursor->flags / mcds__log_cursor_counted(0) >> passed;
    cursor->flags &= mcds__log_cursor_counted(0) - 1 - MCDS__LOG_CURSOR_FINISHED;
    cursor->flags |= finished | counted * mcds__log_cursor_counted(0);
    return was_full && passed > 0;
}

void mcds__log_cursor_move(mcds_log_cursor *cursor, uint32_t i, uint64_t segment, size_t size,
                           uint32_t incarnation)
{
    assert(i < MCDS_LOG_CURSOR_CHUNKS);
    if (cursor->at[i].segment != segment)
        cursor->flags &= ~mcds__log_cursor_counted(i);
    cursor->at[i].segment = segment;
    cursor->at[i].size = (uint32_t)size;
    cursor->at[i].incarnation = incarnation;
}

void mcds__log_cursor_begin_life(mcds_log_cursor *cursor, uint32_t life)
{
    cursor->life = life;
    cursor->flags = 0;
    memset(cursor->at, 0, sizeof cursor->at);
}
