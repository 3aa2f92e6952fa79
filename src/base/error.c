/* This thread's last error: its members and its sentence. */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_SHOWN 200 /* bytes of a name in the sentence */

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
                    last.cause == MCDS_CAUSE_UNKNOWN_VALUE;
    bool is_pair = last.cause == MCDS_CAUSE_OPTION_DIFFERS;
    bool is_length = last.cause == MCDS_CAUSE_TOO_LONG || last.cause == MCDS_CAUSE_TOO_BIG ||
                     last.cause == MCDS_CAUSE_FEW_SERVERS ||
                     last.cause == MCDS_CAUSE_STRUCT_SIZE ||
                     last.cause == MCDS_CAUSE_UNSUPPORTED;
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
    else if (is_pair || (is_length && last.wanted_max > 0))
        error_write_number(texts.wanted, last.wanted_max);
}

/* The clause for a cause that the members describe completely. */
static void write_reason(void)
{
    char *out = texts.reason;
    size_t capacity = sizeof texts.reason;
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

/* noun 'name': verb: peer: reason */
static void write_sentence(void)
{
    const char *colon = last.noun[0] != '\0' ? ": " : ""; /* mcds_fail has a reason alone */
    int length = snprintf(texts.sentence, sizeof texts.sentence, "%s%s%.*s%s%s%s%s%s%s%s",
                          last.noun, last.name[0] != '\0' ? " '" : "", NAME_SHOWN, last.name,
                          last.name[0] != '\0' ? "'" : "", last.verb[0] != '\0' ? ": " : "",
                          last.verb, last.peer[0] != '\0' ? ": " : "", last.peer, colon,
                          last.reason);
    if (length < 0) /* a longer one is cut */
        texts.sentence[0] = '\0';
}

int mcds__fail_with(const mcds_error *error)
{
    error_take(error);
    write_numbers();
    if (last.reason == NULL)
        write_reason();
    assert(last.reason != NULL);
    write_sentence();
    return error->result;
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
        (void)snprintf(reason, sizeof reason, "it was made with %s %lld, not %lld; %s",
                       failed.option, (long long)failed.found_number,
                       (long long)failed.wanted_max, why->text);
        failed.reason = copy(texts.reason, sizeof texts.reason, reason);
    }
    return mcds__fail_with(&failed);
}

int mcds__fail_saying(const mcds_error *error, const char *format, ...)
{
    char reason[MCDS__SENTENCE_MAX]; /* an argument may be the sentence before this one */
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    error_take(error);
    write_numbers();
    last.reason = copy(texts.reason, sizeof texts.reason, reason);
    write_sentence();
    return error->result;
}

/* The usual cause of a result that has none. */
static mcds_cause error_cause_of(int result)
{
    switch (result) {
    case MCDS_BUSY:
        return MCDS_CAUSE_CONTENDED;
    case MCDS_AMBIGUOUS:
        return MCDS_CAUSE_REPLY_LOST;
    case MCDS_LOST:
        return MCDS_CAUSE_GONE;
    case MCDS_TIMEOUT:
        return MCDS_CAUSE_TIMEOUT;
    case MCDS_UNAVAILABLE:
        return MCDS_CAUSE_UNREACHABLE;
    case MCDS_EXPIRED:
        return MCDS_CAUSE_LEASE_OVER;
    case MCDS_TOO_BIG:
        return MCDS_CAUSE_TOO_BIG;
    case MCDS_NO_MEMORY:
        return MCDS_CAUSE_NO_MEMORY;
    case MCDS_FULL:
        return MCDS_CAUSE_STORE_FULL;
    case MCDS_CORRUPT:
        return MCDS_CAUSE_FOREIGN;
    case MCDS_UNSUPPORTED:
        return MCDS_CAUSE_UNSUPPORTED;
    case MCDS_PROTOCOL:
        return MCDS_CAUSE_NOT_MEMCACHED;
    case MCDS_OVERFLOW:
        return MCDS_CAUSE_OVERFLOW;
    default:
        return MCDS_CAUSE_OTHER;
    }
}

int mcds__fail_plain(const mcds_error *error)
{
    mcds_error failed = *error;
    failed.cause = error_cause_of(error->result);
    failed.reason = error->result == MCDS_BUSY ? text_of(failed.cause)
                                               : mcds_strerror(error->result);
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
