/* One store under test, with short functions to send requests and to check the answers. */
#ifndef MCDS_TESTS_CONFORMANCE_WORLD_H
#define MCDS_TESTS_CONFORMANCE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "store/cell.h"
#include "store/store.h"
#include "support/fake_env.h"

#define WORLD_KEYS 256

struct world {
    mcds_store *store;
    char uri[1024];
    const mcds_env *env;
    struct fake_env *fake; /* NULL: the clock is the real one */
    mcds_capabilities can;
    mcds_buffer values; /* of the last batch */
    bool short_ways;    /* single GETs are also looked at, and counting is done in cells */
    uint32_t looked;
    uint32_t counted;
    uint32_t case_serial;
    uint32_t keys_used;
    char keys[WORLD_KEYS][MCDS__KEY_MAX + 1];
};

/* `env` is &fake->env, or the system's with fake == NULL. Asks the backend once, so that its
 * capabilities are known. */
void world_open(struct world *world, const char *uri, struct fake_env *fake);
void world_close(struct world *world);
/* The keys of one case are never those of another. */
void world_begin_case(struct world *world);

/* A new key of this case. */
mcds_bytes key(struct world *world, const char *name);
mcds_bytes text(const char *string);

/* Send the requests as one ordered batch and wait. */
void run_batch(struct world *world, mcds_request *requests, uint32_t count);
mcds_outcome run(struct world *world, mcds_request *request);
const char *outcome_name(mcds_outcome outcome);
void check_outcome(mcds_outcome outcome, mcds_outcome expected, const char *file, int line);

/* The request, given as an initialiser, must answer `expected`. */
#define EXPECT(world, expected, ...)                                                           \
    check_outcome(run(world, &(mcds_request){__VA_ARGS__}), expected, __FILE__, __LINE__)

/* What the key holds must be `value`; spaces after it are taken for the padding of a
 * number. */
#define EXPECT_VALUE(world, which, value) check_value(world, which, value, __FILE__, __LINE__)
void check_value(struct world *world, mcds_bytes which, mcds_bytes value, const char *file,
                 int line);
mcds_reply get_reply(struct world *world, mcds_bytes which);

/* Let time pass: at once when it is the test's, else by sleeping. */
void pass_ms(struct world *world, int64_t ms);

/* A case, and the capability without which it cannot be asked. */
struct conformance_case {
    const char *name;
    void (*function)(struct world *world);
    size_t need; /* offset of a bool in mcds_capabilities, or NEEDS_NOTHING */
    const char *need_name;
};
#define NEEDS_NOTHING SIZE_MAX
#define CASE(function)                                                                         \
    {                                                                                          \
#function, function, NEEDS_NOTHING, ""                                                 \
    }
#define CASE_NEEDS(function, capability)                                                       \
    {                                                                                          \
#function, function, offsetof(mcds_capabilities, capability), #capability              \
    }

struct conformance_suite {
    const struct conformance_case *cases;
    size_t count;
};
extern const struct conformance_suite suite_stores;
extern const struct conformance_suite suite_numbers;
extern const struct conformance_suite suite_tokens;
extern const struct conformance_suite suite_expiry;
extern const struct conformance_suite suite_batches;
extern const struct conformance_suite suite_remains;
extern const struct conformance_suite suite_capabilities;

#endif
