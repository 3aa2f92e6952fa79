/* Causes that lie in what is stored, in its limits, and in what other users do with it. */
#include <string.h>

#include "base/frame.h"
#include "causes/causes.h"

static int add_with_other_stripes(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    open_memory(world);
    options.stripes = 4;
    mcds_counter *made = counter_of(world->store, &options);
    MUST_DO(mcds_counter_add(made, 1, NULL));
    options.stripes = 8;
    mcds_counter *counter = counter_of(world->store, &options);
    int result = mcds_counter_add(counter, 1, NULL);
    mcds_counter_close(made);
    mcds_counter_close(counter);
    return result;
}

static int share_memory_otherwise(struct world *world)
{
    mcds_store *other;
    open_uri(world, "memory:mine?bytes=1000000");
    return mcds_open("memory:mine?bytes=2000000", NULL, &other);
}

static int share_memory_with_another_env(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *other;
    open_uri(world, "memory:mine");
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    return mcds_open("memory:mine", &options, &other);
}

static int drop_a_striped_counter_as_a_plain_one(struct world *world)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    open_memory(world);
    options.stripes = 4;
    mcds_counter *made = counter_of(world->store, &options);
    MUST_DO(mcds_counter_add(made, 1, NULL));
    mcds_counter *counter = counter_of(world->store, NULL);
    int result = mcds_counter_drop(counter);
    mcds_counter_close(made);
    mcds_counter_close(counter);
    return result;
}

static int count_what_is_no_number(struct world *world)
{
    int64_t value;
    mcds_table *table;
    open_memory(world);
    MUST_DO(mcds_table_open(world->store, "t", NULL, &table));
    MUST_DO(mcds_table_put(table, mcds_text("k"), mcds_text("word"), 0));
    int result = mcds_table_incr(table, mcds_text("k"), 1, &value);
    mcds_table_close(table);
    return result;
}

/* Answer each GET with this value. */
static bool show(struct world *world, mcds_request *request, mcds_bytes value)
{
    mcds_buffer *values = world->backend.batch->values;
    if (request->command != MCDS_GET || values == NULL)
        return false;
    request->reply.outcome = MCDS_OUT_OK;
    request->reply.value_at = values->length;
    request->reply.value_length = value.length;
    request->reply.peer = "server-1:11211";
    MUST(mcds_buffer_append(values, value.data, value.length));
    return true;
}

static bool show_foreign(void *context, mcds_request *request)
{
    return show(context, request, mcds_text("not of mcds"));
}

static bool show_newer(void *context, mcds_request *request)
{
    uint8_t frame[MCDS__FRAME_OVERHEAD + 32] = {0};
    size_t length = mcds__frame_seal(frame, 'R', 2, request->key, 32);
    return show(context, request, (mcds_bytes){frame, length});
}

static int set_array(struct world *world)
{
    mcds_bytes element = mcds_text("e");
    mcds_array *array;
    MUST_DO(mcds_array_open(world->store, "a", NULL, &array));
    int result = mcds_array_set(array, &element, 1);
    mcds_array_close(array);
    return result;
}

static int set_over_a_foreign_value(struct world *world)
{
    open_hooked(world, show_foreign);
    return set_array(world);
}

static int set_over_a_newer_value(struct world *world)
{
    open_hooked(world, show_newer);
    return set_array(world);
}

static mcds_counter *strict_counter(mcds_store *store)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_STRICT;
    return counter_of(store, &options);
}

/* Another handle drops the counter between two additions of this one, and may add again. */
static int use_after_a_drop(struct world *world, bool makes_again)
{
    open_memory(world);
    mcds_counter *counter = strict_counter(world->store);
    mcds_counter *other = strict_counter(world->store);
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    MUST_DO(mcds_counter_add(counter, 1, NULL));
    MUST_DO(mcds_counter_drop(other));
    fake_env_advance_ms(&world->fake, 60000);
    if (makes_again)
        MUST_DO(mcds_counter_add(other, 1, NULL));
    int result = mcds_counter_get(counter, &value);
    mcds_counter_close(counter);
    mcds_counter_close(other);
    return result;
}

static int get_after_a_drop(struct world *world)
{
    return use_after_a_drop(world, false);
}

static int get_after_a_drop_and_an_addition(struct world *world)
{
    return use_after_a_drop(world, true);
}

static int leave_the_range(struct world *world)
{
    int result = MCDS_OK;
    open_memory(world);
    mcds_counter *counter = counter_of(world->store, NULL);
    for (int i = 0; i < 3 && result == MCDS_OK; i++)
        result = mcds_counter_add(counter, MCDS_COUNTER_MAX - 1, NULL);
    mcds_counter_close(counter);
    return result;
}

static int push_more_than_64_mb(struct world *world)
{
    static char bytes[(64 << 20) + 1];
    mcds_bytes element = {bytes, sizeof bytes};
    mcds_array *array;
    open_memory(world);
    MUST_DO(mcds_array_open(world->store, "a", NULL, &array));
    int result = mcds_array_set(array, &element, 1);
    mcds_array_close(array);
    return result;
}

/* A minute passes at the append. */
static bool delay(void *context, mcds_request *request)
{
    struct world *world = context;
    if (request->command == MCDS_APPEND)
        fake_env_advance_ms(&world->fake, 60000);
    return false;
}

static int put_for_a_minute(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_log *log;
    fake_env_init(&world->fake, 7);
    options.env = &world->fake.env;
    options.timeout_ms = 3600000;
    MUST_DO(hooked_backend_open(&world->backend, &options, &world->store));
    MUST_DO(mcds_log_open(world->store, "l", NULL, &log));
    MUST_DO(mcds_log_put(log, 0, mcds_text("e")));
    world->backend.hook = delay;
    world->backend.context = world;
    int result = mcds_log_put(log, 0, mcds_text("e"));
    mcds_log_close(log);
    return result;
}

/* A lock was used while the clock was a day ahead. */
static int drop_a_lock_of_the_future(struct world *world)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    open_memory(world);
    int64_t wall_ns = world->fake.wall_ns;
    MUST_DO(mcds_lock_open(world->store, "k", NULL, &lock));
    world->fake.wall_ns = wall_ns + INT64_C(86400000000000);
    MUST_DO(mcds_lock_try_acquire(lock, &lease));
    MUST_DO(mcds_lock_release(lock, &lease));
    world->fake.wall_ns = wall_ns;
    int result = mcds_lock_drop(lock);
    mcds_lock_close(lock);
    return result;
}

static int drop_what_is_held(struct world *world)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    open_memory(world);
    MUST_DO(mcds_lock_open(world->store, "k", NULL, &lock));
    MUST_DO(mcds_lock_try_acquire(lock, &lease));
    int result = mcds_lock_drop(lock);
    mcds_lock_close(lock);
    return result;
}

/* Others change each key between the read and the compare-and-set. */
static bool be_late(void *context, mcds_request *request)
{
    (void)context;
    request->reply.outcome = MCDS_OUT_EXISTS;
    return request->command == MCDS_CAS;
}

static int set_what_others_change(struct world *world)
{
    open_hooked(world, NULL);
    MUST_DO(set_array(world));
    world->backend.hook = be_late;
    return set_array(world);
}

static int renew_after_the_end(struct world *world)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    open_memory(world);
    MUST_DO(mcds_lock_open(world->store, "k", NULL, &lock));
    MUST_DO(mcds_lock_try_acquire(lock, &lease));
    fake_env_advance_ms(&world->fake, 3600000);
    int result = mcds_lock_renew(lock, &lease);
    mcds_lock_close(lock);
    return result;
}

static mcds_limit *limit_of(struct world *world, mcds_limit_form form)
{
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.form = form;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){1, 3600000, 0};
    open_memory(world);
    MUST_DO(mcds_limit_open(world->store, "l", &options, &limit));
    return limit;
}

static int take_more_than_a_rate_has(struct world *world)
{
    mcds_limit *limit = limit_of(world, MCDS_LIMIT_BUCKET);
    MUST_DO(mcds_limit_take(limit, mcds_text("a"), 1, 0, NULL));
    int result = mcds_limit_take(limit, mcds_text("a"), 1, 0, NULL);
    mcds_limit_close(limit);
    return result;
}

static int drop_windows(struct world *world)
{
    mcds_limit *limit = limit_of(world, MCDS_LIMIT_WINDOW);
    int result = mcds_limit_drop(limit);
    mcds_limit_close(limit);
    return result;
}

static const struct row rows[] = {
    {take_more_than_a_rate_has,
     {.result = MCDS_BUSY,
      .cause = MCDS_CAUSE_LIMITED,
      .noun = "limit",
      .name = "l",
      .verb = "take"},
     "limit 'l': take: the rate limit is reached"},
    {drop_windows,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_UNSUPPORTED,
      .noun = "limit",
      .name = "l",
      .verb = "drop"},
     "limit 'l': drop: a limit of windows has no give, scan or drop: its slots expire by "
     "themselves"},
    {drop_what_is_held,
     {.result = MCDS_BUSY,
      .cause = MCDS_CAUSE_HELD,
      .noun = "lock",
      .name = "k",
      .verb = "drop"},
     "lock 'k': drop: it is held; drop it after its holder has released it"},
    {set_what_others_change,
     {.result = MCDS_BUSY,
      .cause = MCDS_CAUSE_CONTENDED,
      .noun = "array",
      .name = "a",
      .verb = "set"},
     "array 'a': set: others change it all the time"},
    {add_with_other_stripes,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "counter",
      .name = "x",
      .verb = "add",
      .option = "stripes",
      .wanted = "8",
      .found = "4",
      .wanted_min = 8,
      .wanted_max = 8,
      .found_number = 4},
     "counter 'x': add: it was made with stripes 4, not 8; open it the same way"},
    {share_memory_otherwise,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "store",
      .option = "bytes",
      .wanted = "2000000",
      .found = "1000000",
      .wanted_min = 2000000,
      .wanted_max = 2000000,
      .found_number = 1000000,
      .peer = "memory:mine"},
     "store: memory:mine: it is open in this process with strict=0 bytes=1000000; open it with "
     "the same options"},
    {share_memory_with_another_env,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_OPTION_DIFFERS,
      .noun = "store",
      .option = "env",
      .wanted = "this mcds_env",
      .found = "another mcds_env",
      .peer = "memory:mine"},
     "store: memory:mine: it is open in this process with another mcds_env; open it with the "
     "same"},
    {drop_a_striped_counter_as_a_plain_one,
     {.result = MCDS_CORRUPT,
      .cause = MCDS_CAUSE_FORM_DIFFERS,
      .noun = "counter",
      .name = "x",
      .verb = "drop"},
     "counter 'x': drop: this counter was made EXACT or with stripes; open it the same way"},
    {count_what_is_no_number,
     {.result = MCDS_CORRUPT,
      .cause = MCDS_CAUSE_NOT_A_NUMBER,
      .noun = "table",
      .name = "t",
      .verb = "incr"},
     "table 't': incr: the value is not a number"},
    {set_over_a_foreign_value,
     {.result = MCDS_CORRUPT,
      .cause = MCDS_CAUSE_FOREIGN,
      .noun = "array",
      .name = "a",
      .verb = "set",
      .peer = "server-1:11211",
      .key = "mcds:a1:a"},
     "array 'a': set: server-1:11211, key mcds:a1:a: its key holds something that mcds did not "
     "write"},
    {set_over_a_newer_value,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_NEWER,
      .noun = "array",
      .name = "a",
      .verb = "set",
      .peer = "server-1:11211",
      .key = "mcds:a1:a"},
     "array 'a': set: server-1:11211, key mcds:a1:a: it was made by a newer version of mcds: "
     "upgrade this program"},
    {get_after_a_drop,
     {.result = MCDS_LOST,
      .cause = MCDS_CAUSE_GONE,
      .noun = "counter",
      .name = "x",
      .verb = "get"},
     "counter 'x': get: the counter that this handle has used is gone; open it "
     "again to accept that"},
    {get_after_a_drop_and_an_addition,
     {.result = MCDS_LOST,
      .cause = MCDS_CAUSE_MADE_AGAIN,
      .noun = "counter",
      .name = "x",
      .verb = "get"},
     "counter 'x': get: the counter was lost and made again; open it again to "
     "accept that"},
    {leave_the_range,
     {.result = MCDS_OVERFLOW,
      .cause = MCDS_CAUSE_OVERFLOW,
      .noun = "counter",
      .name = "x",
      .verb = "add"},
     "counter 'x': add: the number leaves its range"},
    {push_more_than_64_mb,
     {.result = MCDS_TOO_BIG,
      .cause = MCDS_CAUSE_TOO_BIG,
      .noun = "array",
      .name = "a",
      .verb = "set",
      .option = "elements",
      .wanted = "64 MB",
      .wanted_max = 67108864},
     "array 'a': set: the elements have more than 64 MB"},
    {put_for_a_minute,
     {.result = MCDS_AMBIGUOUS,
      .cause = MCDS_CAUSE_TOO_LATE,
      .noun = "log",
      .name = "l",
      .verb = "put"},
     "log 'l': put: it is in the log, but so late that cursors may have passed it"},
    {drop_a_lock_of_the_future,
     {.result = MCDS_INVALID,
      .cause = MCDS_CAUSE_CLOCK,
      .noun = "lock",
      .name = "k",
      .verb = "drop"},
     "lock 'k': drop: its fence is far ahead of this machine's clock, and the next one would "
     "be smaller; drop it where the clock is right, or later"},
    {renew_after_the_end,
     {.result = MCDS_EXPIRED,
      .cause = MCDS_CAUSE_LEASE_OVER,
      .noun = "lock",
      .name = "k",
      .verb = "renew"},
     "lock 'k': renew: the deadline of the lease has passed"},
};

const struct table causes_of_what_is_stored = {rows, sizeof rows / sizeof rows[0]};
