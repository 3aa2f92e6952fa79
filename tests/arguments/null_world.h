/* One handle of every kind that a program can open, for calls with one argument missing, and for calls
 * in a child process. */
#ifndef MCDS_TESTS_ARGUMENTS_NULL_WORLD_H
#define MCDS_TESTS_ARGUMENTS_NULL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "mcds.h"
#include "mcds/backend.h"
#include "mcds/sim.h"
#include "support/no_database.h"

#define EACH_STRUCTURE(X)                                                                      \
    X(counter)                                                                                 \
    X(semaphore)                                                                               \
    X(once)                                                                                    \
    X(queue)                                                                                   \
    X(ids) X(lock) X(visitors) X(online) X(set) X(table) X(array) X(list) X(log) X(cache)

struct world {
    mcds_store *store, *made_store;
    mcds_pipeline *pipeline, *made_pipeline;
    mcds_views *views, *made_views;
    mcds_limit *limit, *made_limit;
    mcds_sim *sim, *made_sim;
    mcds_sim_client *client, *made_client;
#define MEMBER(name) mcds_##name *name, *made_##name;
    EACH_STRUCTURE(MEMBER)
#undef MEMBER
    char path[64]; /* of no file */
};

/* The call lacked an argument, and its sentence says which call of what. */
void assert_missing(int result, const char *noun, const char *verb);
void begin(struct world *world);
/* End a child after a call with this result. */
_Noreturn void end_child(int result);
/* The result was MCDS_INVALID, and the cause that its parent has opened the handle. */
void assert_refused_as_forked(pid_t child);
/* Close it, and what a call has opened. */
void end(struct world *world);
void no_program(void *context, mcds_sim_client *client, const mcds_completion *done);

#endif
