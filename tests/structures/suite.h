/* One backend under test, with two stores on the same data, and short ways to call the structures
 * and to check what they answer. Every case runs by waiting calls, through a pipeline of its
 * own, and through one in which other operations are under way. */
#ifndef MCDS_TESTS_STRUCTURES_SUITE_H
#define MCDS_TESTS_STRUCTURES_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "store/store.h"
#include "structures/structure.h"
#include "support/fake_env.h"
#include "support/fixture.h"

/* 2023-11-14 22:13:20 UTC, where the fake wall clock begins; a whole number of seconds. */
#define T0_MS INT64_C(1700000000000)

/* How a case calls. */
enum mode { WAITING, PIPED, CROWDED };

struct suite {
    struct fixture *fixture;
    struct fake_env fake; /* with the real monotonic clock when the backend has its own */
    bool own_clock;
    bool skips_sleep; /* a sleep only moves our clock, for waits that need no server */
    mcds_store *store;
    mcds_store *other; /* the same data through another handle */
    mcds_capabilities can;
    enum mode mode;
    mcds_pipeline *pipeline;       /* for calls on `store`; NULL: waiting calls */
    mcds_pipeline *other_pipeline; /* for calls on `other` */
    mcds_counter *crowd;           /* what the other operations of a crowd are about */
    mcds_counter *other_crowd;
    uint64_t tag;
    uint32_t case_serial;
    uint32_t name_serial;
    char names[32][48];
};

struct suite_case {
    const char *name;
    void (*function)(struct suite *suite);
    enum mode last; /* of the ways to run it */
    bool waits; /* for the clock of the store: it runs beside the others if that is not ours */
};
#define CASE(function)                                                                         \
    {                                                                                          \
#function, function, CROWDED, false                                                    \
    }
#define CASE_ONCE(function)                                                                    \
    {                                                                                          \
#function, function, WAITING, false                                                    \
    }
#define CASE_TWICE(function)                                                                   \
    {                                                                                          \
#function, function, PIPED, false                                                      \
    }
#define CASE_WAITS(function)                                                                   \
    {                                                                                          \
#function, function, CROWDED, true                                                     \
    }
#define CASE_WAITS_ONCE(function)                                                              \
    {                                                                                          \
#function, function, WAITING, true                                                     \
    }

/* What a program runs: each of them defines one. */
struct suite_cases {
    const struct suite_case *cases;
    size_t count;
};
extern const struct suite_cases suite_cases;

/* A name that no other case uses. Good until 31 more have been asked for. */
const char *fresh_name(struct suite *suite, const char *word);

/* Skip the case, and print why. */
void skip_because(const char *reason);
/* Whether the case can be asked: prints and skips it when `result` is UNSUPPORTED. */
void skip_if_unsupported(int result);

/* Let time pass: at once when it is the test's, else by sleeping. */
void pass_ms(struct suite *suite, int64_t ms);
/* Move the wall clock of both stores alone. */
void shift_wall_ms(struct suite *suite, int64_t ms);
int64_t wall_ms(const struct suite *suite);

/* The operation that was started with mcds_X_start, to its end. */
int finish_started(struct suite *suite, mcds_pipeline *pipeline, int started);
/* Other operations around the next one, when that is the mode. */
void gather_crowd(struct suite *suite, mcds_pipeline *pipeline);
void check_result(int result, int expected, const char *file, int line);
/* The sentence on the last failure must hold this word. */
void check_sentence(const char *word, const char *file, int line);

/* Call verb(...), or verb_start(...) and wait for its end, as the mode says. */
#define CALL_IN(suite, pipeline, verb, ...)                                                    \
    ((pipeline) == NULL ? verb(__VA_ARGS__)                                                    \
                        : (gather_crowd(suite, pipeline),                                      \
                           finish_started(suite, pipeline,                                     \
                                          verb##_start(__VA_ARGS__, pipeline, (suite)->tag))))
#define CALL(suite, verb, ...) CALL_IN(suite, (suite)->pipeline, verb, __VA_ARGS__)
#define CHECK(expected, suite, verb, ...)                                                      \
    check_result(CALL(suite, verb, __VA_ARGS__), expected, __FILE__, __LINE__)
/* The same on a handle of suite->other. */
#define CHECK_OTHER(expected, suite, verb, ...)                                                \
    check_result(CALL_IN(suite, (suite)->other_pipeline, verb, __VA_ARGS__), expected,         \
                 __FILE__, __LINE__)
#define CHECK_RESULT(expected, result) check_result(result, expected, __FILE__, __LINE__)
#define CHECK_SENTENCE(word) check_sentence(word, __FILE__, __LINE__)

/* The key of a structure, read and written without the engine. `number` is a suffix, or -1 for none. */
struct raw_key {
    struct mcds__key key;
    struct mcds__key route; /* what decides the server */
};
struct raw_key raw_key(const struct suite *suite, const char *tag, const char *name,
                       int64_t number);
/* Its key with one more number at the end. */
/* Where a structure on a map keeps what it has at first; its root must be there. */
struct raw_key raw_first(struct suite *suite, const struct raw_key *root);
/* Where a log keeps the events of a chunk; its root must be there. */
struct raw_key raw_chunk(struct suite *suite, const char *name, uint64_t chunk_ms,
                         int64_t at_ms);
void raw_add_number(struct raw_key *key, uint64_t number);
/* The fence of a lock, on the server of its lease. */
struct raw_key raw_fence(const struct suite *suite, const char *name);
mcds_outcome raw_set(struct suite *suite, const struct raw_key *key, const char *value);
mcds_outcome raw_set_bytes(struct suite *suite, const struct raw_key *key, mcds_bytes value);
/* The same with client flags. */
mcds_outcome raw_set_flags(struct suite *suite, const struct raw_key *key, mcds_bytes value,
                           uint32_t flags);
mcds_outcome raw_append(struct suite *suite, const struct raw_key *key, mcds_bytes value);
mcds_outcome raw_delete(struct suite *suite, const struct raw_key *key);
/* The client flags of a key that is there. */
uint32_t raw_flags(struct suite *suite, const struct raw_key *key);
/* Its value and the length; false when there is none. */
bool raw_read(struct suite *suite, const struct raw_key *key, uint8_t *out, size_t capacity,
              size_t *length_out);
/* Its value as a C string, without the blanks that pad a number; false when there is none. */
bool raw_get(struct suite *suite, const struct raw_key *key, char *out, size_t capacity);

/* Two doubles that may differ by rounding. */
#define CHECK_NEAR(value, expected) check_near(value, expected, __FILE__, __LINE__)
void check_near(double value, double expected, const char *file, int line);

/* Names that an encoder gets wrong most easily, all different. */
#define HARD_NAMES 20
const char *hard_name(uint32_t i);

#endif
