/* Opens one handle of every kind that a program can open. */
#include "arguments/null_world.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void no_program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    (void)context;
    (void)client;
    (void)done;
}

void assert_missing(int result, const char *noun, const char *verb)
{
    const mcds_error *error = mcds_last_error();
    assert_int_equal(result, MCDS_INVALID);
    assert_int_equal(error->result, MCDS_INVALID);
    assert_string_equal(mcds_cause_name((int)error->cause), "MCDS_CAUSE_ARGUMENT_MISSING");
    assert_string_equal(error->noun, noun);
    assert_string_equal(error->verb, verb);
    assert_string_not_equal(error->wanted, "");
}

_Noreturn void end_child(int result)
{
    const mcds_error *error = mcds_last_error();
    bool is_refused = result == MCDS_INVALID && error->result == MCDS_INVALID &&
                      error->cause == MCDS_CAUSE_FORKED;
    if (!is_refused)
        (void)fprintf(stderr, "%s, not MCDS_INVALID: %s\n", mcds_result_name(result),
                      mcds_errmsg());
    _exit(is_refused ? 0 : 1);
}

void assert_refused_as_forked(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void begin(struct world *world)
{
    mcds_views_options views = views_without_database();
    memset(world, 0, sizeof *world);
    (void)snprintf(world->path, sizeof world->path, "/nonexistent/%ld", (long)getpid());
    assert_int_equal(mcds_open("memory:", NULL, &world->store), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(world->store, NULL, &world->pipeline), MCDS_OK);
    assert_int_equal(mcds_views_open(world->store, "n", &views, &world->views), MCDS_OK);
    mcds_limit_options limit = MCDS_LIMIT_OPTIONS_INIT;
    limit.rate_count = 1;
    limit.rates[0] = (mcds_rate){1, 1000, 0};
    assert_int_equal(mcds_limit_open(world->store, "n", &limit, &world->limit), MCDS_OK);
    assert_int_equal(mcds_sim_open(NULL, &world->sim), MCDS_OK);
    assert_int_equal(mcds_sim_client_add(world->sim, no_program, NULL, &world->client),
                     MCDS_OK);
#define OPEN(name)                                                                             \
    assert_int_equal(mcds_##name##_open(world->store, "n", NULL, &world->name), MCDS_OK);
    EACH_STRUCTURE(OPEN)
#undef OPEN
}

void end(struct world *world)
{
    mcds_pipeline_close(world->pipeline);
    mcds_pipeline_close(world->made_pipeline);
    mcds_views_close(world->views);
    mcds_views_close(world->made_views);
    mcds_limit_close(world->limit);
    mcds_limit_close(world->made_limit);
#define CLOSE(name)                                                                            \
    mcds_##name##_close(world->name);                                                          \
    mcds_##name##_close(world->made_##name);
    EACH_STRUCTURE(CLOSE)
#undef CLOSE
    mcds_close(world->store);
    mcds_close(world->made_store);
    mcds_sim_close(world->sim);
    mcds_sim_close(world->made_sim);
}
