/* This thread's last error: its members and its sentence. */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a name, and of a server or file, in the sentence. */
#define NAME_SHOWN 200
#define PEER_SHOWN 300

static_assert(NAME_SHOWN + PEER_SHOWN + MCDS__KEY_MAX + MCDS__REASON_MAX <
                  MCDS__SENTENCE_MAX - 72,
              "noun and verb fit, too");

static _Thread_local struct mcds__failure texts;

/* Its texts are in `texts`, or constants. */
static _Thread_local mcds_error last = {
    .size = sizeof last,
    .noun = "",
    .name = "",
    .verb = "",
    .option = "",
    .wanted = "",
    .found = "",
    .peer = "",
    .reason = "",
    .key = "",
};

void mcds__failure_save(struct mcds__failure *out)
{
    *out = texts;
    out->error = last;
}

void mcds__failure_restore(const struct mcds__failure *failure)
{
    texts = *failure;
    last = failure->error;
}

const char *mcds_errmsg(void)
{
    return texts.sentence;
}

const mcds_error *mcds_last_error(void)
{
    return &last;
}

const char *mcds_cause_name(int cause)
{
    switch (cause) {
#define CAUSE_NAME(name, code, text)                                                           \
    case code:                                                                                 \
        return #name;
        MCDS_CAUSE_MAP(CAUSE_NAME)
#undef CAUSE_NAME
    default:
        return "?";
    }
}

static const char *text_of(mcds_cause cause)
{
    switch (cause) {
#define CAUSE_TEXT(name, code, text)                                                           \
    case name:                                                                                 \
        return text;
        MCDS_CAUSE_MAP(CAUSE_TEXT)
#undef CAUSE_TEXT
    }
    return "";
}

/* Truncates. `text` may be NULL, or the present contents of `out`. */
static const char *copy(char *out, size_t capacity, const char *text)
{
    size_t length = text != NULL ? strnlen(text, capacity - 1) : 0;
    if (length > 0)
        memmove(out, text, length);
    out[length] = '\0';
    return out;
}

/* Length of the character that a terminal shows as it is; 0: a control character, one that changes
 * the direction of text or ends a line, or no UTF-8. */
static size_t plain_length(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *at = (const uint8_t *)text;
    uint32_t point = at[0];
    size_t length = point < 0x80 ? 1 : point < 0xe0 ? 2 : point < 0xf0 ? 3 : 4;
    if (length == 1)
        return point >= 0x20 && point != 0x7f;
    if (point < 0xc2 || point > 0xf4)
        return 0;
    point &= 0x7fu >> length;
    for (size_t i = 1; i < length; i++) { /* the final NUL ends it */
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    bool is_plain = point >= least[length] && point >= 0xa0 && point <= 0x10ffff &&
                    (point < 0xd800 || point > 0xdfff) && point != 0x061c &&
                    (point < 0x200e || point > 0x200f) && (point < 0x2028 || point > 0x202e) &&
                    (point < 0x2066 || point > 0x2069);
    return is_plain ? length : 0;
}

size_t mcds__show(char *out, size_t capacity, const char *text)
{
    size_t length = 0;
    assert(capacity > 0);
    while (*text != '\0') {
        char hidden[sizeof "\\xHH"];
        size_t taken = plain_length(text);
        const char *shown = taken > 0 ? text : hidden;
        size_t grows = taken > 0 ? taken : sizeof hidden - 1;
        if (length + grows >= capacity)
            break;
        if (taken == 0)
            (void)snprintf(hidden, sizeof hidden, "\\x%02x", (unsigned)(uint8_t)*text);
        memcpy(out + length, shown, grows);
        length += grows;
        text += taken > 0 ? taken : 1;
    }
    out[length] = '\0';
    return length;
}

/* Copy the members that are set. */
static void error_take(const mcds_error *error)
{
    mcds_error taken = *error;
    taken.size = sizeof taken;
    taken.noun = copy(texts.noun, sizeof texts.noun, error->noun);
    taken.name = copy(texts.name, sizeof texts.name, error->name);
    taken.verb = copy(texts.verb, sizeof texts.verb, error->verb);
    taken.option = copy(texts.option, sizeof texts.option, error->option);
    taken.wanted = copy(texts.wanted, sizeof texts.wanted, error->wanted);
    taken.found = copy(texts.found, sizeof texts.found, error->found);
    taken.peer = copy(texts.peer, sizeof texts.peer, error->peer);
    taken.key = copy(texts.key, sizeof texts.key, error->key);
    last = taken;
}

static void error_write_number(char out[sizeof texts.found], int64_t number)
{
    (void)snprintf(out, sizeof texts.found, "%lld", (long long)number);
}

/* Format `wanted` and `found` from the numbers, for causes that have numbers. */
static void write_numbers(void)
{
    bool is_range = last.cause == MCDS_CAUSE_OUT_OF_RANGE ||
                    last.cause == MCDS_CAUSE_UNKNOWN_VALUE ||
                    last.cause == MCDS_CAUSE_CALLBACK_FAILED;
    bool is_pair = last.cause == MCDS_CAUSE_OPTION_DIFFERS;
    bool is_length = last.cause == MCDS_CAUSE_TOO_LONG || last.cause == MCDS_CAUSE_TOO_BIG ||
                     last.cause == MCDS_CAUSE_FEW_SERVERS ||
                     last.cause == MCDS_CAUSE_STRUCT_SIZE ||
                     last.cause == MCDS_CAUSE_UNSUPPORTED || last.cause == MCDS_CAUSE_CLOCK;
    if (last.found[0] == '\0' && (is_range || is_pair || (is_length && last.found_number > 0)))
        error_write_number(texts.found, last.found_number);
    if (is_pair)
        last.wanted_min = last.wanted_max;
    if (last.wanted[0] != '\0')
        return;
    if (last.cause == MCDS_CAUSE_ARGUMENT_MISSING && last.option[0] != '\0')
        (void)snprintf(texts.wanted, sizeof texts.wanted, "the %s", last.option);
    else if (is_range && last.wanted_min < last.wanted_max)
        (void)snprintf(texts.wanted, sizeof texts.wanted, "%lld to %lld",
                       (long long)last.wanted_min, (long long)last.wanted_max);
    else if (is_pair || ((is_length || is_range) && last.wanted_max > 0))
        error_write_number(texts.wanted, last.wanted_max);
}

/* The clause for a cause that the members describe completely. */
static void write_reason(char *out, size_t capacity)
{
    last.reason = out;
    switch (last.cause) {
    case MCDS_CAUSE_ARGUMENT_MISSING:
        (void)snprintf(out, capacity, "needs %s", last.wanted);
        break;
    case MCDS_CAUSE_EMPTY:
        (void)snprintf(out, capacity, "the %s is empty", last.option);
        break;
    case MCDS_CAUSE_TOO_LONG:
    case MCDS_CAUSE_TOO_BIG:
        if (last.found[0] == '\0')
            (void)snprintf(out, capacity, "the %s is longer than %s bytes", last.option,
                           last.wanted);
        else
            (void)snprintf(out, capacity, "the %s has %s bytes; at most %s", last.option,
                           last.found, last.wanted);
        break;
    case MCDS_CAUSE_OUT_OF_RANGE:
        (void)snprintf(out, capacity, "%s must be %s, not %s", last.option, last.wanted,
                       last.found);
        break;
    case MCDS_CAUSE_FEW_SERVERS:
        (void)snprintf(out, capacity, "%s copies need as many servers; this store has %s",
                       last.found, last.wanted);
        break;
    case MCDS_CAUSE_UNKNOWN_VALUE:
        (void)snprintf(out, capacity, "unknown %s %s; this version knows %s", last.option,
                       last.found, last.wanted);
        break;
    default:
        last.reason = text_of(last.cause);
    }
}

/* noun 'name': verb: peer, key K: reason */
static void write_sentence(const char *reason)
{
    const char *colon = last.noun[0] != '\0' ? ": " : ""; /* mcds_fail has a reason alone */
    char name[NAME_SHOWN + 1], peer[PEER_SHOWN + 1], key[MCDS__KEY_MAX + 1];
    (void)mcds__show(name, sizeof name, last.name);
    (void)mcds__show(peer, sizeof peer, last.peer);
    (void)mcds__show(key, sizeof key, last.key);
    (void)mcds__show(texts.reason, sizeof texts.reason, reason);
    const char *before_key = key[0] == '\0' ? "" : peer[0] != '\0' ? ", key " : ": key ";
    (void)snprintf(texts.sentence, sizeof texts.sentence, "%s%s%s%s%s%s%s%s%s%s%s%s", last.noun,
                   name[0] != '\0' ? " '" : "", name, name[0] != '\0' ? "'" : "",
                   last.verb[0] != '\0' ? ": " : "", last.verb, peer[0] != '\0' ? ": " : "",
                   peer, before_key, key, colon, texts.reason);
    last.reason = texts.reason;
}

int mcds__fail_with(const mcds_error *error)
{
    char reason[MCDS__SENTENCE_MAX];
    error_take(error);
    write_numbers();
    if (last.reason == NULL)
        write_reason(reason, sizeof reason);
    assert(last.reason != NULL);
    write_sentence(last.reason);
    return error->result;
}

/* If `min` > 1, the allowed numbers are 0 and `min` to `max`. */
static void write_given(char *out, size_t capacity, uint64_t min, uint64_t max)
{
    if (min <= 1)
        (void)snprintf(out, capacity, "0 to %llu", (unsigned long long)max);
    else if (min == max)
        (void)snprintf(out, capacity, "0 or %llu", (unsigned long long)max);
    else
        (void)snprintf(out, capacity, "0 or %llu to %llu", (unsigned long long)min,
                       (unsigned long long)max);
}

int mcds__check_given(const char *noun, const char *name, const char *verb,
                      const struct mcds__given *list, size_t count)
{
    for (const struct mcds__given *given = list; given < list + count; given++) {
        assert(given->min <= given->max && given->max <= INT64_MAX);
        if (given->number == 0 || (given->number >= given->min && given->number <= given->max))
            continue;
        char wanted[sizeof texts.wanted] = "";
        if (given->cause == MCDS_CAUSE_OUT_OF_RANGE)
            write_given(wanted, sizeof wanted, given->min, given->max);
        return mcds__fail_with(&(const mcds_error){.result = MCDS_INVALID,
                                                   .cause = given->cause,
                                                   .noun = noun,
                                                   .name = name,
                                                   .verb = verb,
                                                   .option = given->option,
                                                   .wanted = wanted,
                                                   .wanted_min = (int64_t)given->min,
                                                   .wanted_max = (int64_t)given->max,
                                                   MCDS__FOUND(given->number)});
    }
    return MCDS_OK;
}

/* Whether a request was not sent because there was no connection. */
static bool is_unconnected(mcds_cause cause)
{
    return cause == MCDS_CAUSE_CONNECTION_REFUSED || cause == MCDS_CAUSE_NO_SOCKET_FILE ||
           cause == MCDS_CAUSE_NO_ROUTE || cause == MCDS_CAUSE_HOST_SILENT ||
           cause == MCDS_CAUSE_UNKNOWN_HOST;
}

int mcds__fail_for(const mcds_reason *why, const mcds_error *error)
{
    mcds_error failed = *error;
    char reason[MCDS__SENTENCE_MAX];
    failed.cause = why->cause;
    failed.os_error = why->os_error;
    failed.reason = why->text;
    if (why->option != NULL) {
        failed.option = why->option;
        failed.found_number = why->found;
    } else if (why->cause == MCDS_CAUSE_OPTION_DIFFERS) {
        bool may_be_resized = why == MCDS__WHY(PERMITS_DIFFER);
        (void)snprintf(reason, sizeof reason, "it %s %s %lld, not %lld; %s",
                       may_be_resized ? "has" : "was made with", failed.option,
                       (long long)failed.found_number, (long long)failed.wanted_max, why->text);
        failed.reason = reason;
    } else if (failed.result == MCDS_AMBIGUOUS && is_unconnected(why->cause)) {
        /* An earlier request was sent, which is why the change is in doubt. */
        (void)snprintf(reason, sizeof reason,
                       "the reply was lost, and a new connection fails: %s", why->text);
        failed.reason = reason;
    } else if (why->cause == MCDS_CAUSE_CALLBACK_FAILED && failed.found_number != 0) {
        (void)snprintf(reason, sizeof reason, "%s: it returned %lld", why->text,
                       (long long)failed.found_number);
        failed.reason = reason;
    } else if (why->cause == MCDS_CAUSE_CLOCK && failed.found_number != 0) {
        (void)snprintf(reason, sizeof reason,
                       "%s; the difference is %lld ms, and at most %lld ms is accepted",
                       why->text, (long long)failed.found_number, (long long)failed.wanted_max);
        failed.reason = reason;
    }
    return mcds__fail_with(&failed);
}

int mcds__fail_saying(const mcds_error *error, const char *format, ...)
{
    mcds_error failed = *error;
    char reason[MCDS__SENTENCE_MAX]; /* an argument may be the sentence before this one */
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    failed.reason = reason;
    return mcds__fail_with(&failed);
}

/* The usual cause of a result that has none. */
static mcds_cause error_cause_of(int result)
{
    static const struct {
        int result;
        mcds_cause cause;
    } list[] = {
        {MCDS_BUSY, MCDS_CAUSE_CONTENDED},
        {MCDS_AMBIGUOUS, MCDS_CAUSE_REPLY_LOST},
        {MCDS_LOST, MCDS_CAUSE_GONE},
        {MCDS_TIMEOUT, MCDS_CAUSE_TIMEOUT},
        {MCDS_UNAVAILABLE, MCDS_CAUSE_UNREACHABLE},
        {MCDS_EXPIRED, MCDS_CAUSE_LEASE_OVER},
        {MCDS_TOO_BIG, MCDS_CAUSE_TOO_BIG},
        {MCDS_NO_MEMORY, MCDS_CAUSE_NO_MEMORY},
        {MCDS_FULL, MCDS_CAUSE_STORE_FULL},
        {MCDS_CORRUPT, MCDS_CAUSE_FOREIGN},
        {MCDS_UNSUPPORTED, MCDS_CAUSE_UNSUPPORTED},
        {MCDS_PROTOCOL, MCDS_CAUSE_NOT_MEMCACHED},
        {MCDS_OVERFLOW, MCDS_CAUSE_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++)
        if (list[i].result == result)
            return list[i].cause;
    return MCDS_CAUSE_OTHER;
}

int mcds__fail_plain(const mcds_error *error)
{
    mcds_error failed = *error;
    failed.cause = error_cause_of(error->result);
    switch (error->result) {
    case MCDS_BUSY:
    case MCDS_AMBIGUOUS: /* the result says what is in doubt */
        failed.reason = text_of(failed.cause);
        break;
    case MCDS_IO:
        failed.reason = "the store refused, and gave no reason";
        break;
    default:
        failed.reason = mcds_strerror(error->result);
    }
    return mcds__fail_with(&failed);
}

int mcds_fail(int code, const char *format, ...)
{
    char sentence[MCDS__SENTENCE_MAX] = "";
    va_list arguments;
    va_start(arguments, format);
    if (format != NULL)
        (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return mcds__fail_saying(&(const mcds_error){.result = code, .cause = error_cause_of(code)},
                             "%s", sentence);
}
