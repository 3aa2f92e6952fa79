/* This thread's last error, as members. Only error.c makes a sentence from them. */
#ifndef MCDS_BASE_ERROR_H
#define MCDS_BASE_ERROR_H

#include "base/key.h"
#include "base/number.h"
#include "base/reason.h"

#define MCDS__SENTENCE_MAX 1280
#define MCDS__REASON_MAX 450

/* Copy a text into a sentence, with what a terminal would act on, and bytes that are no UTF-8, as
 * \xHH. A longer text is cut. Returns the length. Its output stays the same if shown again. */
size_t mcds__show(char *out, size_t capacity, const char *text);

/* Record a failure and return its result. `why` is a cause without MCDS_CAUSE_; the arguments
 * after it are members of mcds_error. All texts are copied, `reason` as mcds__show does.
 *
 *     return mcds__fail(MCDS_INVALID, OUT_OF_RANGE, .noun = "counter", .name = name,
 *                       .option = "stripes", .wanted_max = STRIPES_MAX, .found_number = stripes);
 *
 * Where they are left out, `wanted` and `found` are made from the numbers, and `reason` from
 * the cause. A failure to open a handle has no verb. */
#define mcds__fail(code, why, ...) mcds__fail_with(MCDS__ERROR(code, why, __VA_ARGS__))
#define MCDS__ERROR(code, why, ...)                                                            \
    &(const mcds_error)                                                                        \
    {                                                                                          \
        .result = (code), .cause = MCDS_CAUSE_##why, __VA_ARGS__                               \
    }
int mcds__fail_with(const mcds_error *error);

/* Set the error with a reason: MCDS__WHY(...). */
#define mcds__fail_why(code, why, ...)                                                         \
    mcds__fail_for((why), &(const mcds_error){.result = (code), __VA_ARGS__})
int mcds__fail_for(const mcds_reason *why, const mcds_error *error);

/* Set the error with a reason that only one place can describe: a file, its owner, its mode. */
int mcds__fail_saying(const mcds_error *error, const char *format, ...) MCDS_PRINTF(2, 3);

/* mcds__fail_saying for a store; `place` is the server or file, or NULL. */
#define mcds__fail_at(code, why, place, ...)                                                   \
    mcds__fail_saying(MCDS__ERROR(code, why, .noun = "store", .peer = (place)), __VA_ARGS__)

/* mcds__fail_saying for a URI: `part` is the option concerned, or "uri", `given` its text, and `allowed`
 * the texts that it may have. */
#define mcds__fail_uri(part, given, allowed, ...)                                              \
    mcds__fail_saying(MCDS__ERROR(MCDS_INVALID, BAD_URI, .noun = "store", .option = (part),    \
                                  .wanted = (allowed), .found = (given)),                      \
                      __VA_ARGS__)

/* mcds__fail_saying with the errno of a system call, if `code` is one and not a code of LMDB. */
#define mcds__fail_file(result_of, why, place, code, ...)                                      \
    mcds__fail_saying(MCDS__ERROR(result_of, why, .os_error = (code) > 0 ? (code) : 0,         \
                                  .noun = "store", .peer = (place)),                           \
                      __VA_ARGS__)

/* Set the error with the usual cause and words of its result. */
int mcds__fail_plain(const mcds_error *error);

/* The error of this thread, saved while calls that may fail replace it. */
struct mcds__failure {
    mcds_error error;
    char sentence[MCDS__SENTENCE_MAX];
    char reason[MCDS__REASON_MAX];
    char noun[32];
    char verb[32];
    char option[32];
    char wanted[160];
    char found[160];
    char peer[512];
    char key[MCDS__KEY_MAX + 1];
    char name[MCDS__NAME_GIVEN_MAX + 1];
};
void mcds__failure_save(struct mcds__failure *out);
void mcds__failure_restore(const struct mcds__failure *failure);

/* The value that was given, where it may exceed `found_number`. */
#define MCDS__FOUND(number)                                                                    \
    .found_number = mcds__clamped(number),                                                     \
    .found = mcds__write_u64((number), (char[MCDS__U64_DIGITS + 1]){""})

static inline int64_t mcds__clamped(uint64_t number)
{
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

static inline const char *mcds__write_u64(uint64_t number, char out[MCDS__U64_DIGITS + 1])
{
    out[mcds__format_u64(number, out)] = '\0';
    return out;
}

/* A number from a caller, which must be 0 or from min to max, and the cause of its refusal. */
struct mcds__given {
    mcds_cause cause; /* MCDS_CAUSE_OUT_OF_RANGE, or MCDS_CAUSE_UNKNOWN_VALUE of flags */
    const char *option;
    uint64_t number;
    uint64_t min;
    uint64_t max;
};
/* Refuses the first wrong number of a list. `name` and `verb` may be NULL. */
int mcds__check_given(const char *noun, const char *name, const char *verb,
                      const struct mcds__given *list, size_t count);

/* A call that lacks an argument: "counter: add: needs a counter". */
#define mcds__fail_missing(thing, call, needs)                                                 \
    mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = (thing), .verb = (call),                \
               .wanted = (needs), .option = NULL)
/* "NOUN 'NAME': VERB: out of memory"; name and verb may be NULL. */
#define mcds__fail_memory(thing, named, call)                                                  \
    mcds__fail(MCDS_NO_MEMORY, NO_MEMORY, .noun = (thing), .name = (named), .verb = (call),    \
               .reason = "out of memory")

#endif
