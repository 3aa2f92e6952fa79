/* One player for each structure and form: it opens a handle and starts operations on it. */
#ifndef MCDS_TESTS_FIELD_CLOSING_H
#define MCDS_TESTS_FIELD_CLOSING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcds.h"

#define CHECK_OK(call) assert_int_equal(MCDS_OK, (call))

struct player {
    const char *name;
    void *(*open)(mcds_store *store);
    /* Start one operation of each kind. */
    void (*start)(void *handle, mcds_pipeline *pipeline);
    void (*close)(void *handle);
};

extern const struct player closing_players[];
extern const unsigned closing_player_count;

/* Whether a completed operation of a player may have this result: one of them drops what the
 * others change. */
static inline int closing_is_answer(int result)
{
    return result >= 0 || result == MCDS_UNSUPPORTED || result == MCDS_EXPIRED ||
           result == MCDS_LOST || result == MCDS_AMBIGUOUS || result == MCDS_TIMEOUT;
}

#endif
