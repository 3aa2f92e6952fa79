/* The structs of programs that were compiled with an older or a newer header. */
#include "base/sized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds/backend.h"
#include "mcds/sim.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define TAIL 64
#define ROOM_MAX 2048
#define GUARD 0xa5

/* The caller's struct, and the bytes after it, which no call may change. */
union capacity {
    uint64_t aligned;
    uint8_t bytes[ROOM_MAX];
};

static mcds_store *open_memory(void)
{
    mcds_store *store = NULL;
    assert_int_equal(mcds_open("memory:", NULL, &store), MCDS_OK);
    return store;
}

static int open_with(const mcds_options *options)
{
    mcds_store *store = NULL;
    int result = mcds_open("memory:", options, &store);
    mcds_close(store);
    return result;
}

static int with_env(void *given)
{
    mcds_options options = {.size = sizeof options, .env = given};
    return open_with(&options);
}

static int with_options(void *given)
{
    return open_with(given);
}

#define OPENS(function, type)                                                                  \
    static int function(void *given)                                                           \
    {                                                                                          \
        mcds_store *store = open_memory();                                                     \
        type *handle = NULL;                                                                   \
        int result = type##_open(store, "x", given, &handle);                                  \
        type##_close(handle);                                                                  \
        mcds_close(store);                                                                     \
        return result;                                                                         \
    }
OPENS(with_counter_options, mcds_counter)
OPENS(with_lock_options, mcds_lock)
OPENS(with_semaphore_options, mcds_semaphore)
OPENS(with_cache_options, mcds_cache)
OPENS(with_limit_options, mcds_limit)
OPENS(with_ids_options, mcds_ids)
OPENS(with_once_options, mcds_once)
OPENS(with_queue_options, mcds_queue)
OPENS(with_visitors_options, mcds_visitors)
OPENS(with_online_options, mcds_online)
OPENS(with_set_options, mcds_set)
OPENS(with_table_options, mcds_table)
OPENS(with_array_options, mcds_array)
OPENS(with_list_options, mcds_list)
OPENS(with_log_options, mcds_log)
OPENS(with_views_options, mcds_views)

static int with_queue_counts(void *given)
{
    mcds_store *store = open_memory();
    mcds_queue *queue = NULL;
    assert_int_equal(mcds_queue_open(store, "x", NULL, &queue), MCDS_OK);
    assert_int_equal(mcds_queue_push(queue, mcds_text("a"), 0), MCDS_OK);
    int result = mcds_queue_count(queue, given);
    mcds_queue_close(queue);
    mcds_close(store);
    return result;
}

static int with_pipeline_options(void *given)
{
    mcds_store *store = open_memory();
    mcds_pipeline *pipeline = NULL;
    int result = mcds_pipeline_open(store, given, &pipeline);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    return result;
}

static int with_sim_options(void *given)
{
    mcds_sim *sim = NULL;
    int result = mcds_sim_open(given, &sim);
    mcds_sim_close(sim);
    return result;
}

static void backend_close(void *backend)
{
    (void)backend;
}

static int with_backend(void *given)
{
    static int state;
    mcds_store *store = NULL;
    int result = mcds_open_backend(given, &state, NULL, &store);
    mcds_close(store);
    return result;
}

static void fill_backend(void *given)
{
    mcds_backend *backend = given;
    backend->version = MCDS_BACKEND_VERSION;
    backend->close = backend_close;
}

static void fill_views(void *given)
{
    mcds_views_options *options = given;
    options->load = load_nothing;
    options->save = save_nothing;
}

static int fetch(const mcds_log_range *range, mcds_log_info *info_out)
{
    mcds_store *store = open_memory();
    mcds_log *log = NULL;
    assert_int_equal(mcds_log_open(store, "x", NULL, &log), MCDS_OK);
    assert_int_equal(mcds_log_put(log, 0, mcds_text("event")), MCDS_OK);
    int result = mcds_log_scan(log, range, pass_event, NULL, info_out);
    mcds_log_close(log);
    mcds_close(store);
    return result;
}

static int with_log_range(void *given)
{
    return fetch(given, NULL);
}

static int with_log_info(void *given)
{
    return fetch(NULL, given);
}

static int with_wait(void *given)
{
    mcds_store *store = open_memory();
    mcds_pipeline *pipeline = NULL;
    assert_int_equal(mcds_pipeline_open(store, NULL, &pipeline), MCDS_OK);
    mcds_pipeline_prepare(pipeline, given);
    mcds_pipeline_close(pipeline);
    mcds_close(store);
    return MCDS_OK;
}

static int with_sim_counts(void *given)
{
    mcds_sim *sim = NULL;
    assert_int_equal(mcds_sim_open(NULL, &sim), MCDS_OK);
    mcds_sim_count(sim, given);
    mcds_sim_close(sim);
    return MCDS_OK;
}

static int with_counter_value(void *given)
{
    mcds_store *store = open_memory();
    mcds_counter *counter = NULL;
    assert_int_equal(mcds_counter_open(store, "x", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 7, NULL), MCDS_OK);
    int result = mcds_counter_get(counter, given);
    mcds_counter_close(counter);
    mcds_close(store);
    return result;
}

static int with_lock_holder(void *given)
{
    mcds_store *store = open_memory();
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    assert_int_equal(mcds_lock_open(store, "x", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    int result = mcds_lock_get_holder(lock, given);
    mcds_lock_close(lock);
    mcds_close(store);
    return result;
}

static int with_visitors_value(void *given)
{
    mcds_store *store = open_memory();
    mcds_visitors *visitors = NULL;
    assert_int_equal(mcds_visitors_open(store, "x", NULL, &visitors), MCDS_OK);
    assert_int_equal(mcds_visitors_hit(visitors, "v", 0), MCDS_OK);
    int result = mcds_visitors_get(visitors, 0, given);
    mcds_visitors_close(visitors);
    mcds_close(store);
    return result;
}

static int with_online_value(void *given)
{
    mcds_store *store = open_memory();
    mcds_online *online = NULL;
    assert_int_equal(mcds_online_open(store, "x", NULL, &online), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "v", 0), MCDS_OK);
    int result = mcds_online_get(online, 0, given);
    mcds_online_close(online);
    mcds_close(store);
    return result;
}

static int with_limit_value(void *given)
{
    mcds_store *store = open_memory();
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    mcds_limit *limit = NULL;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){1, 1000, 0};
    assert_int_equal(mcds_limit_open(store, "x", &options, &limit), MCDS_OK);
    int result = mcds_limit_take(limit, mcds_text("a"), 1, 0, given);
    mcds_limit_close(limit);
    mcds_close(store);
    return result;
}

static int with_once_value(void *given)
{
    mcds_store *store = open_memory();
    mcds_once *once = NULL;
    mcds_value value = MCDS_VALUE_INIT;
    assert_int_equal(mcds_once_open(store, "x", NULL, &once), MCDS_OK);
    assert_int_equal(mcds_once_settle(once, mcds_text("a"), 1, mcds_text("b")), MCDS_OK);
    int result = mcds_once_get(once, mcds_text("a"), given, &value);
    mcds_value_free(&value);
    mcds_once_close(once);
    mcds_close(store);
    return result;
}

/* Each struct that has a size has a row. */
static const struct row {
    size_t size_in_0_1;        /* where pointers have 8 bytes; no later version changes it */
    int (*call)(void *given);  /* a call that is given the struct */
    void (*fill)(void *given); /* sets the members that must not be 0 */
    bool is_output;
    bool is_silent; /* the call returns no result */
} rows[MCDS__SIZED_COUNT] = {
    [MCDS__SIZED_mcds_env] = {56, .call = with_env},
    [MCDS__SIZED_mcds_options] = {32, .call = with_options},
    [MCDS__SIZED_mcds_pipeline_options] = {16, .call = with_pipeline_options},
    [MCDS__SIZED_mcds_wait] = {24, .call = with_wait, .is_output = true, .is_silent = true},
    [MCDS__SIZED_mcds_counter_options] = {32, .call = with_counter_options},
    [MCDS__SIZED_mcds_counter_value] = {32, .call = with_counter_value, .is_output = true},
    [MCDS__SIZED_mcds_lock_options] = {24, .call = with_lock_options},
    [MCDS__SIZED_mcds_cache_options] = {48, .call = with_cache_options},
    [MCDS__SIZED_mcds_lock_holder] = {248, .call = with_lock_holder, .is_output = true},
    [MCDS__SIZED_mcds_visitors_options] = {24, .call = with_visitors_options},
    [MCDS__SIZED_mcds_visitors_value] = {48, .call = with_visitors_value, .is_output = true},
    [MCDS__SIZED_mcds_online_options] = {24, .call = with_online_options},
    [MCDS__SIZED_mcds_online_value] = {48, .call = with_online_value, .is_output = true},
    [MCDS__SIZED_mcds_set_options] = {16, .call = with_set_options},
    [MCDS__SIZED_mcds_table_options] = {8, .call = with_table_options},
    [MCDS__SIZED_mcds_semaphore_options] = {24, .call = with_semaphore_options},
    [MCDS__SIZED_mcds_limit_options] = {120, .call = with_limit_options},
    [MCDS__SIZED_mcds_limit_value] = {40, .call = with_limit_value, .is_output = true},
    [MCDS__SIZED_mcds_once_options] = {24, .call = with_once_options},
    [MCDS__SIZED_mcds_once_value] = {32, .call = with_once_value, .is_output = true},
    [MCDS__SIZED_mcds_ids_options] = {16, .call = with_ids_options},
    [MCDS__SIZED_mcds_queue_options] = {24, .call = with_queue_options},
    [MCDS__SIZED_mcds_queue_counts] = {40, .call = with_queue_counts, .is_output = true},
    [MCDS__SIZED_mcds_views_options] = {48, .call = with_views_options, .fill = fill_views},
    [MCDS__SIZED_mcds_array_options] = {8, .call = with_array_options},
    [MCDS__SIZED_mcds_list_options] = {8, .call = with_list_options},
    [MCDS__SIZED_mcds_log_options] = {40, .call = with_log_options},
    [MCDS__SIZED_mcds_log_info] = {32, .call = with_log_info, .is_output = true},
    [MCDS__SIZED_mcds_log_range] = {40, .call = with_log_range},
    [MCDS__SIZED_mcds_backend] = {144, .call = with_backend, .fill = fill_backend},
    [MCDS__SIZED_mcds_sim_options] = {104, .call = with_sim_options},
    [MCDS__SIZED_mcds_sim_counts] = {96, .call = with_sim_counts, .is_output = true,
                                     .is_silent = true},
};

/* Calls with a struct of `size` bytes: the first `zeros` are 0, those from there to `end` are not. */
static int call(int which, union capacity *capacity, size_t size, size_t zeros, size_t end)
{
    const struct row *row = &rows[which];
    memset(capacity->bytes, GUARD, sizeof capacity->bytes);
    memset(capacity->bytes, 0, zeros);
    if (row->fill != NULL)
        row->fill(capacity->bytes);
    memcpy(capacity->bytes, &size, sizeof size);
    int result = row->call(capacity->bytes);
    for (size_t i = end; i < sizeof capacity->bytes; i++)
        if (capacity->bytes[i] != GUARD)
            fail_msg("%s: byte %zu has changed", mcds__sized_layouts[which].name, i);
    return result;
}

static void check_zeros(const union capacity *capacity, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        assert_int_equal(capacity->bytes[i], 0);
}

static void every_struct_has_a_row(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        if (rows[i].call == NULL)
            fail_msg("%s has no row", mcds__sized_layouts[i].name);
        assert_in_range(mcds__sized_layouts[i].known, 1, mcds__sized_layouts[i].size);
        assert_in_range(mcds__sized_layouts[i].first, 1, mcds__sized_layouts[i].size);
    }
}

static bool is_same(const union capacity *a, const union capacity *b, size_t from, size_t to)
{
    return to <= from || memcmp(a->bytes + from, b->bytes + from, to - from) == 0;
}

/* Size 0 means the members of version 0.1, also in later versions. */
static void size_0_means_the_members_of_version_0_1(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[i];
        size_t in_0_1 = UINTPTR_MAX > UINT32_MAX ? rows[i].size_in_0_1 : layout->first;
        size_t common = in_0_1 < layout->known ? in_0_1 : layout->known;
        union capacity given, ours, out;
        memset(given.bytes, 0, sizeof given.bytes);
        memset(given.bytes + sizeof(size_t), 0x3c, common - sizeof(size_t));
        memset(ours.bytes, GUARD, sizeof ours.bytes);
        memset(out.bytes, GUARD, sizeof out.bytes);
        memset(out.bytes, 0, sizeof(size_t));
        assert_int_equal(mcds__sized_read((enum mcds__sized)i, &given, &ours), MCDS_OK);
        mcds__sized_write((enum mcds__sized)i, &out, &given);
        if (layout->first != in_0_1 || !is_same(&ours, &given, sizeof(size_t), layout->size) ||
            !is_same(&out, &given, 0, in_0_1) || out.bytes[in_0_1] != GUARD)
            fail_msg("%s: size 0 means %zu bytes, and version 0.1 has %zu", layout->name,
                     layout->first, in_0_1);
        if (MCDS_VERSION_MAJOR == 0 && MCDS_VERSION_MINOR == 1 && layout->size != in_0_1 &&
            UINTPTR_MAX > UINT32_MAX)
            fail_msg("%s has %zu bytes, and %zu in its row", layout->name, layout->size,
                     in_0_1);
    }
}

/* The last members of four structs that begin as {0} are read and written. */
static void options_and_outputs_of_size_0_are_whole(void **state)
{
    (void)state;
    mcds_store *store = open_memory();
    mcds_queue_options made = {0}, of_queue = {0};
    of_queue.stripes = 3;
    mcds_queue *queue = NULL;
    assert_int_equal(mcds_queue_open(store, "q", &of_queue, &queue), MCDS_OK);
    assert_int_equal(mcds_queue_push(queue, mcds_text("job"), 0), MCDS_OK);
    assert_int_equal(mcds_queue_made_with(store, "q", &made), MCDS_OK);
    assert_int_equal(made.stripes, 3);
    mcds_queue_close(queue);
    mcds_limit_options of_limit = {0};
    mcds_limit *limit = NULL;
    of_limit.rate_count = 1;
    of_limit.rates[0] = (mcds_rate){1, 1000, 0};
    of_limit.remember_ms = 99999;
    assert_int_equal(mcds_limit_open(store, "l", &of_limit, &limit), MCDS_INVALID);
    assert_string_equal(mcds_last_error()->option, "remember_ms");
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = {0};
    mcds_lock *lock = NULL;
    assert_int_equal(mcds_lock_open(store, "k", NULL, &lock), MCDS_OK);
    assert_int_equal(mcds_lock_try_acquire_shared(lock, &lease), MCDS_OK);
    assert_int_equal(mcds_lock_get_holder(lock, &holder), MCDS_OK);
    assert_int_equal(holder.shared, 1);
    assert_true(holder.tenure != 0);
    mcds_lock_close(lock);
    mcds_counter_options of_counter = {0};
    mcds_counter_value value = {0};
    mcds_counter *counter = NULL;
    of_counter.ttl_ms = 60000;
    assert_int_equal(mcds_counter_open(store, "c", &of_counter, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    assert_int_equal(mcds_counter_get(counter, &value), MCDS_OK);
    assert_true(value.ttl_ms > 0);
    mcds_counter_close(counter);
    mcds_close(store);
}

static void this_versions_size_and_0_are_taken(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[i];
        union capacity capacity;
        assert_int_equal(call(i, &capacity, layout->size, layout->size, layout->size), MCDS_OK);
        assert_int_equal(call(i, &capacity, 0, layout->first, layout->first), MCDS_OK);
        size_t size;
        memcpy(&size, capacity.bytes, sizeof size);
        assert_int_equal(size, 0);
    }
}

/* Each struct lacks its last member: an option has its default, an output is not written. */
static void an_older_struct_is_taken(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[i];
        size_t size = layout->known > 2 * sizeof(size_t)
                          ? (layout->known - sizeof(size_t)) & ~(sizeof(size_t) - 1)
                          : sizeof(size_t);
        union capacity capacity;
        assert_int_equal(call(i, &capacity, size, size, size), MCDS_OK);
    }
}

static void a_newer_struct_is_taken_where_its_tail_is_zero(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        size_t size = mcds__sized_layouts[i].size + TAIL;
        union capacity capacity;
        assert_int_equal(call(i, &capacity, size, size, size), MCDS_OK);
        check_zeros(&capacity, size - TAIL, size);
    }
}

/* This version refuses options that it does not know, and clears outputs that it does not know. */
static void a_newer_struct_with_more_is_refused_or_cleared(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[i];
        size_t size = layout->size + TAIL;
        char sentence[200];
        union capacity capacity;
        int result = call(i, &capacity, size, layout->size, size);
        if (rows[i].is_output) {
            assert_int_equal(result, MCDS_OK);
            check_zeros(&capacity, layout->size, size);
            continue;
        }
        snprintf(sentence, sizeof sentence,
                 "%s: made for a newer version: a member beyond byte %zu is set", layout->name,
                 layout->known);
        assert_int_equal(result, MCDS_INVALID);
        assert_string_equal(mcds_last_error()->reason, sentence);
    }
}

/* The bytes that are reserved in this version are a member in a later one. */
static void a_reserved_member_must_be_zero(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * MCDS__SIZED_COUNT; i++) {
        const int which = i / 2;
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
        size_t size = i % 2 == 0 ? layout->size : 0;
        size_t end = size > 0 ? size : layout->first;
        size_t known = layout->known < end ? layout->known : end;
        union capacity capacity;
        int result = call(which, &capacity, size, known, end);
        if (known < end && !rows[which].is_output)
            assert_int_equal(result, MCDS_INVALID);
        else
            assert_int_equal(result, MCDS_OK);
        if (rows[which].is_output)
            check_zeros(&capacity, known, end);
    }
}

/* The struct was not initialized. */
static void an_impossible_size_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < MCDS__SIZED_COUNT; i++) {
        const struct mcds__sized_layout *layout = &mcds__sized_layouts[i];
        const size_t sizes[] = {1, sizeof(size_t) - 1,
                                layout->size + MCDS__SIZED_GROWTH_MAX + 1, SIZE_MAX};
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            char words[200];
            union capacity capacity;
            int result = call(i, &capacity, sizes[k], layout->size, layout->size);
            check_zeros(&capacity, sizeof(size_t), rows[i].is_output ? layout->size : 0);
            if (rows[i].is_silent)
                continue;
            snprintf(words, sizeof words, "%s: its size is %zu; set it to sizeof(%s), %zu in",
                     layout->name, sizes[k], layout->name, layout->size);
            assert_int_equal(result, MCDS_INVALID);
            assert_memory_equal(mcds_last_error()->reason, words, strlen(words));
        }
    }
}

/* The options with which a structure was made are an output. */
static void made_with_fills_what_fits(void **state)
{
    (void)state;
    mcds_store *store = open_memory();
    mcds_online_options options = {.size = sizeof options, .buckets = 7, .width_ms = 2000};
    mcds_online *online = NULL;
    union capacity capacity;
    assert_int_equal(mcds_online_open(store, "x", &options, &online), MCDS_OK);
    assert_int_equal(mcds_online_beat(online, "v", 0), MCDS_OK);
    mcds_online_close(online);
    memset(capacity.bytes, GUARD, sizeof capacity.bytes);
    size_t size = offsetof(mcds_online_options, width_ms);
    memcpy(capacity.bytes, &size, sizeof size);
    assert_int_equal(mcds_online_made_with(store, "x", (mcds_online_options *)&capacity),
                     MCDS_OK);
    assert_int_equal(((mcds_online_options *)&capacity)->buckets, 7);
    assert_int_equal(capacity.bytes[size], GUARD);
    size = sizeof options + TAIL;
    memcpy(capacity.bytes, &size, sizeof size);
    assert_int_equal(mcds_online_made_with(store, "x", (mcds_online_options *)&capacity),
                     MCDS_OK);
    assert_int_equal(((mcds_online_options *)&capacity)->width_ms, 2000);
    check_zeros(&capacity, offsetof(mcds_online_options, reserved), size);
    assert_int_equal(capacity.bytes[size], GUARD);
    size = 1;
    memcpy(capacity.bytes, &size, sizeof size);
    assert_int_equal(mcds_online_made_with(store, "x", (mcds_online_options *)&capacity),
                     MCDS_INVALID);
    mcds_close(store);
}

static int64_t fixed_wall_ns(void *self)
{
    return *(int64_t *)self;
}

/* The store copies the environment. The system's functions replace those that it lacks. */
static void an_environment_may_have_one_function(void **state)
{
    (void)state;
    int64_t now_ns = INT64_C(1600000000000000000);
    mcds_env env = {.size = sizeof env, .self = &now_ns, .wall_ns = fixed_wall_ns};
    mcds_options options = {.size = sizeof options, .env = &env};
    mcds_value value = MCDS_VALUE_INIT;
    mcds_store *store = NULL;
    mcds_counter *counter = NULL;
    mcds_table *table = NULL;
    assert_int_equal(mcds_open("memory:", &options, &store), MCDS_OK);
    memset(&env, GUARD, sizeof env);
    assert_int_equal(mcds_counter_open(store, "x", NULL, &counter), MCDS_OK);
    assert_int_equal(mcds_counter_add(counter, 1, NULL), MCDS_OK);
    mcds_counter_value counted = MCDS_COUNTER_VALUE_INIT;
    assert_int_equal(mcds_counter_get(counter, &counted), MCDS_OK);
    assert_int_equal(counted.since_s, 1600000000);
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    assert_int_equal(mcds_table_put(table, mcds_text("k"), mcds_text("v"), 0), MCDS_OK);
    assert_int_equal(mcds_table_get(table, mcds_text("k"), &value), MCDS_OK);
    mcds_table_close(table);
    mcds_counter_close(counter);
    mcds_close(store);
    mcds_value_free(&value); /* after its store */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_struct_has_a_row),
        cmocka_unit_test(size_0_means_the_members_of_version_0_1),
        cmocka_unit_test(options_and_outputs_of_size_0_are_whole),
        cmocka_unit_test(this_versions_size_and_0_are_taken),
        cmocka_unit_test(an_older_struct_is_taken),
        cmocka_unit_test(a_newer_struct_is_taken_where_its_tail_is_zero),
        cmocka_unit_test(a_newer_struct_with_more_is_refused_or_cleared),
        cmocka_unit_test(a_reserved_member_must_be_zero),
        cmocka_unit_test(an_impossible_size_is_refused),
        cmocka_unit_test(made_with_fills_what_fits),
        cmocka_unit_test(an_environment_may_have_one_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
