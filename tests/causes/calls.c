/* Causes that lie in the call itself: its arguments, the state of its objects, its process. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "causes/causes.h"
#include "support/pass_over.h"

static int add_without_a_counter(struct world *world)
{
    (void)world;
    return mcds_counter_add(NULL, 1, NULL);
}

static int open_without_a_name(struct world *world)
{
    mcds_counter *counter;
    open_memory(world);
    return mcds_counter_open(world->store, "", NULL, &counter);
}

static int open_with_a_long_name(struct world *world)
{
    mcds_counter *counter;
    char name[1026];
    open_memory(world);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    return mcds_counter_open(world->store, name, NULL, &counter);
}

static int open_counter(struct world *world, mcds_counter_options options)
{
    mcds_counter *counter;
    open_memory(world);
    return mcds_counter_open(world->store, "x", &options, &counter);
}

static int open_with_many_stripes(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 1000;
    return open_counter(world, options);
}

static int open_exact_with_stripes(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_EXACT;
    options.stripes = 4;
    return open_counter(world, options);
}

static int open_with_a_strange_size(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.size = 1;
    return open_counter(world, options);
}

static int open_more_copies_than_servers(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_EXACT;
    options.copies = 3;
    return open_counter(world, options);
}

static int open_set_of_no_form(struct world *world)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set;
    options.form = (mcds_set_form)9;
    open_memory(world);
    return mcds_set_open(world->store, "s", &options, &set);
}

static int open_with_a_blank(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    options.ns = "my app";
    return mcds_open("memory:", &options, &world->store);
}

static int open_an_unknown_scheme(struct world *world)
{
    return mcds_open("redis://localhost", NULL, &world->store);
}

static int open_with_an_unknown_option(struct world *world)
{
    return mcds_open("memory:?size=3", NULL, &world->store);
}

static int open_with_a_bad_number(struct world *world)
{
    return mcds_open("memory:?timeout=soon", NULL, &world->store);
}

static int open_with_a_bad_port(struct world *world)
{
    return mcds_open("memcached://a:b:c", NULL, &world->store);
}

static int load_what_is_no_cursor(struct world *world)
{
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    (void)world;
    return mcds_log_cursor_load(&cursor, "yesterday");
}

static int tail_with_the_cursor_of_another(struct world *world)
{
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log *log;
    mcds_log *other;
    open_memory(world);
    MUST_DO(mcds_log_open(world->store, "l", NULL, &log));
    MUST_DO(mcds_log_open(world->store, "m", NULL, &other));
    MUST_DO(mcds_log_put(log, 0, mcds_text("e")));
    MUST_DO(mcds_log_tail(log, &cursor, pass_event, NULL, NULL));
    int result = mcds_log_tail(other, &cursor, pass_event, NULL, NULL);
    mcds_log_close(log);
    mcds_log_close(other);
    return result;
}

static int release_an_empty_lease(struct world *world)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    open_memory(world);
    MUST_DO(mcds_lock_open(world->store, "k", NULL, &lock));
    int result = mcds_lock_release(lock, &lease);
    mcds_lock_close(lock);
    return result;
}

static int start_in_the_pipeline_of_another_store(struct world *world)
{
    mcds_store *other;
    mcds_pipeline *pipeline;
    open_memory(world);
    MUST_DO(mcds_open("memory:", NULL, &other));
    MUST_DO(mcds_pipeline_open(other, NULL, &pipeline));
    mcds_counter *counter = counter_of(world->store, NULL);
    int result = mcds_counter_add_start(counter, 1, NULL, pipeline, 0);
    mcds_counter_close(counter);
    mcds_pipeline_close(pipeline);
    mcds_close(other);
    return result;
}

/* The rest of the row is played in the child. */
static void fork_here(void)
{
    int status;
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0)
        return;
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
    _exit(WEXITSTATUS(status));
}

static int add_after_fork(struct world *world)
{
    open_memory(world);
    mcds_counter *counter = counter_of(world->store, NULL);
    fork_here();
    int result = mcds_counter_add(counter, 1, NULL);
    mcds_counter_close(counter);
    return result;
}

static int back_up_after_fork(struct world *world)
{
    open_file(world, "");
    fork_here();
    return mcds_backup(world->store, "copy");
}

static const struct row rows[] = {
    {add_without_a_counter,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_ARGUMENT_MISSING,
      .noun = "counter",
      .verb = "add",
      .wanted = "a counter"},
     "counter: add: needs a counter"},
    {open_without_a_name,
     {.result = MCDS_INVALID, .cause = MCDS_CAUSE_EMPTY, .noun = "counter", .option = "name"},
     "counter: the name is empty"},
    {open_with_a_long_name,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_TOO_LONG,
      .noun = "counter",
      .name = "n*",
      .option = "name",
      .wanted = "1024",
      .wanted_max = 1024},
     "counter 'n*': the name is longer than 1024 bytes"},
    {open_with_many_stripes,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OUT_OF_RANGE,
      .noun = "counter",
      .name = "x",
      .option = "stripes",
      .wanted = "0 to 32",
      .found = "1000",
      .wanted_max = 32,
      .found_number = 1000},
     "counter 'x': stripes must be 0 to 32, not 1000"},
    {open_set_of_no_form,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_UNKNOWN_VALUE,
      .noun = "set",
      .name = "s",
      .option = "form",
      .wanted = "0 to 2",
      .found = "9",
      .wanted_max = 2,
      .found_number = 9},
     "set 's': unknown form 9; this version knows 0 to 2"},
    {open_exact_with_stripes,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_CONFLICT,
      .noun = "counter",
      .name = "x",
      .option = "flags"},
     "counter 'x': EXACT goes with neither stripes nor a ttl"},
    {open_with_a_blank,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_BYTE,
      .noun = "store",
      .option = "ns",
      .wanted = "a-z A-Z 0-9 _ - .",
      .found = "my app"},
     "store: ns 'my app' has a byte that is none of a-z A-Z 0-9 _ - ."},
    {open_an_unknown_scheme,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_URI,
      .noun = "store",
      .option = "uri",
      .wanted = "memory:, lmdb: or memcached://",
      .found = "redis"},
     "store: there is no 'redis:'; use memory:, lmdb: or memcached://"},
    {open_with_an_unknown_option,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_URI,
      .noun = "store",
      .option = "size",
      .wanted = "strict, bytes, ns, timeout",
      .found = "3"},
     "store: memory: has no option 'size'; it has strict, bytes, ns, timeout"},
    {open_with_a_bad_number,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_URI,
      .noun = "store",
      .option = "timeout",
      .wanted = "1 to 3600000",
      .found = "soon",
      .wanted_min = 1,
      .wanted_max = 3600000},
     "store: the URI's timeout=soon is not a whole number from 1 to 3600000"},
    {open_with_a_bad_port,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_URI,
      .noun = "store",
      .option = "uri",
      .found = "a:b:c",
      .peer = "a:b:c"},
     "store: a:b:c: write an IPv6 address as ?ADDRESS?:PORT"},
    {load_what_is_no_cursor,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_CURSOR,
      .noun = "log",
      .verb = "cursor_load",
      .found = "yesterday"},
     "log: cursor_load: the text is not a cursor, or a part of it is missing or changed; begin "
     "a "
     "new cursor"},
    {tail_with_the_cursor_of_another,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_CURSOR,
      .noun = "log",
      .name = "m",
      .verb = "tail",
      .found = "l"},
     "log 'm': tail: the cursor belongs to log 'l'; begin a new cursor"},
    {release_an_empty_lease,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_BAD_LEASE,
      .noun = "lock",
      .name = "k",
      .verb = "release"},
     "lock 'k': release: this lease holds nothing"},
    {open_with_a_strange_size,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_STRUCT_SIZE,
      .noun = "counter",
      .option = "size",
      .wanted = "32",
      .found = "1",
      .wanted_max = 32,
      .found_number = 1},
     "counter: mcds_counter_options: its size is 1; set it to sizeof(mcds_counter_options), 32 "
     "in this version, or to 0"},
    {start_in_the_pipeline_of_another_store,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OTHER_STORE,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the pipeline belongs to another store; open one on the store of this "
     "handle"},
    {add_after_fork,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_FORKED,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: opened before fork; open the store again in the child"},
    {back_up_after_fork,
     {.result = MCDS_INVALID, .cause = MCDS_CAUSE_FORKED, .noun = "store"},
     "store: opened before fork; open the store again in the child"},
    {open_more_copies_than_servers,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_FEW_SERVERS,
      .noun = "counter",
      .name = "x",
      .option = "copies",
      .wanted = "1",
      .found = "3",
      .wanted_max = 1,
      .found_number = 3},
     "counter 'x': 3 copies need as many servers; this store has 1"},
};

const struct table causes_of_calls = {rows, sizeof rows / sizeof rows[0]};
