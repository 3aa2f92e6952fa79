/* A relay that changes bytes of the values in replies. A call that has changed something, and cannot
 * read what became of it, is AMBIGUOUS; every other failure has changed nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"
#include "support/no_database.h"

#define NONE UINT32_MAX
#define REQUESTS_MAX 60 /* of one call, with its repetitions */
#define BYTES 2         /* in a value, where a byte is changed */
#define VALUE_MAX 16384 /* of the store, so that values have several keys */
#define LARGE 9000
/* Sizes of the structure before the call; some maps of these sizes are rewritten or split by it. */
static const uint32_t sizes[] = {0, 1, 9, 17, 20, 60};

struct world {
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    void *handle;
    bool is_armed;
    bool is_garbled;
    uint32_t values; /* replies with a value since the call began */
    uint32_t writes;
    uint32_t garbles; /* the number of the reply whose value is changed */
    uint32_t byte;
    uint32_t cuts; /* the number of the change whose reply is lost, or NONE */
    uint64_t sum;  /* of what a scan has seen */
};

static bool relay(void *context, mcds_request *request)
{
    struct world *world = context;
    if (!world->is_armed)
        return false;
    mcds_batch one = *world->backend.batch;
    mcds__backend_memory.submit(world->backend.inner, &one);
    if (request->command != MCDS_GET && world->writes++ == world->cuts) {
        request->reply = (mcds_reply){.outcome = MCDS_OUT_UNKNOWN};
    }
    bool has_value = request->command == MCDS_GET && request->reply.outcome == MCDS_OUT_OK &&
                     (request->options & MCDS_NO_VALUE) == 0 && request->reply.value_length > 0;
    if (has_value && world->values++ == world->garbles) {
        size_t at = (request->reply.value_length - 1) * world->byte / (BYTES - 1);
        world->backend.batch->values->data[request->reply.value_at + at] ^= 0x40;
        world->is_garbled = true;
    }
    return true;
}

static void note(struct world *world, mcds_bytes bytes, uint64_t weight)
{
    const uint8_t *byte = bytes.data;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes.length; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
    world->sum += (hash | 1) * weight;
}

static bool see(void *context, mcds_bytes value)
{
    note(context, value, 1);
    return true;
}

static bool see_counted(void *context, mcds_bytes value, uint64_t count)
{
    note(context, value, count);
    return true;
}

static bool see_row(void *context, mcds_bytes key, mcds_bytes value)
{
    note(context, key, 1);
    note(context, value, 3);
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    note(context, event->event, 1);
    return true;
}

static mcds_bytes element(uint32_t number)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "a somewhat long element %u", (unsigned)number);
    return mcds_text(text);
}

static mcds_bytes large(void)
{
    static char text[LARGE];
    memset(text, 'x', sizeof text);
    return (mcds_bytes){text, sizeof text};
}

/* One structure and one of its verbs. */
struct subject {
    const char *of;
    const char *verb;
    int (*open)(struct world *world);
    void (*close)(struct world *world);
    int (*put)(struct world *world, uint32_t number); /* before the call */
    int (*call)(struct world *world);
    int (*read)(struct world *world); /* adds what there is to `sum` */
    bool is_once;                     /* there is no second call */
};

static bool changed;

#define OPENS(kind, of, options)                                                               \
    static int open_##of(struct world *world)                                                  \
    {                                                                                          \
        mcds_##kind *kind = NULL;                                                              \
        int result = mcds_##kind##_open(world->store, "x", options, &kind);                    \
        world->handle = kind;                                                                  \
        return result;                                                                         \
    }
#define CLOSES(kind)                                                                           \
    static void close_##kind(struct world *world)                                              \
    {                                                                                          \
        mcds_##kind##_close(world->handle);                                                    \
        world->handle = NULL;                                                                  \
    }
#define CALLS(name, ...)                                                                       \
    static int name(struct world *world)                                                       \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }
#define PUTS(name, ...)                                                                        \
    static int name(struct world *world, uint32_t number)                                      \
    {                                                                                          \
        return __VA_ARGS__;                                                                    \
    }

static const mcds_set_options list_form = {.size = sizeof list_form, .form = MCDS_SET_LIST};
OPENS(set, set, NULL)
OPENS(set, list_of_set, &list_form)
CLOSES(set)
PUTS(put_in_set, mcds_set_add(world->handle, element(number), NULL))
CALLS(read_set, mcds_set_scan(world->handle, see_counted, world))
CALLS(set_add, mcds_set_add(world->handle, mcds_text("more"), NULL))
CALLS(set_add_asking, mcds_set_add(world->handle, mcds_text("more"), &changed))
CALLS(set_remove, mcds_set_remove(world->handle, element(0), &changed))
CALLS(set_drop, mcds_set_drop(world->handle))

OPENS(table, table, NULL)
CLOSES(table)
PUTS(put_in_table, mcds_table_put(world->handle, element(number), mcds_text("1"), 0))
static int read_table(struct world *world)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return mcds_table_scan(world->handle, &cursor, 0, see_row, world);
}
CALLS(table_put, mcds_table_put(world->handle, element(0), mcds_text("2"), 0))
CALLS(table_put_large,
      mcds_table_put(world->handle, element(0), (mcds_bytes){large().data, 4000}, 0))
CALLS(table_if_absent,
      mcds_table_put_if_absent(world->handle, mcds_text("more"), mcds_text("2"), 0))
CALLS(table_compare,
      mcds_table_compare_and_set(world->handle, element(0), mcds_text("1"), mcds_text("2"), 0))
CALLS(table_incr, mcds_table_incr(world->handle, element(0), 1, NULL))
CALLS(table_remove, mcds_table_remove(world->handle, element(0), &changed))
CALLS(table_drop, mcds_table_drop(world->handle))

OPENS(array, array, NULL)
CLOSES(array)
static int put_in_array(struct world *world, uint32_t number)
{
    mcds_bytes bytes = number % 8 == 5 ? large() : element(number);
    return mcds_array_change(world->handle, &bytes, 1, NULL, 0);
}
CALLS(read_array, mcds_array_scan(world->handle, see, world))
static int array_change_large(struct world *world)
{
    mcds_bytes add = large(), remove = element(0);
    return mcds_array_change(world->handle, &add, 1, &remove, 1);
}
static int array_change(struct world *world)
{
    mcds_bytes add = mcds_text("more");
    return mcds_array_change(world->handle, &add, 1, NULL, 0);
}
static int array_set(struct world *world)
{
    mcds_bytes add = mcds_text("more");
    return mcds_array_set(world->handle, &add, 1);
}
CALLS(array_drop, mcds_array_drop(world->handle))

OPENS(list, list, NULL)
CLOSES(list)
PUTS(put_in_list,
     mcds_list_push(world->handle, number % 8 == 7 ? (mcds_bytes){large().data, 5000 + number}
                                                   : element(number)))
CALLS(read_list, mcds_list_scan(world->handle, 0, 0, see, world))
CALLS(list_push, mcds_list_push(world->handle, mcds_text("more")))
CALLS(list_push_large, mcds_list_push(world->handle, large()))
CALLS(list_clear, mcds_list_clear(world->handle))
CALLS(list_drop, mcds_list_drop(world->handle))

static const mcds_log_options short_log = {
    .size = sizeof short_log, .retention_ms = 3600000, .chunk_ms = 60000};
OPENS(log, log, &short_log)
CLOSES(log)
PUTS(put_in_log, mcds_log_put(world->handle, 0,
                              number % 8 == 7 ? (mcds_bytes){large().data, 5000 + number}
                                              : element(number)))
CALLS(read_log, mcds_log_scan(world->handle, NULL, see_event, world, NULL))
CALLS(log_put, mcds_log_put(world->handle, 0, mcds_text("more")))
CALLS(log_put_large, mcds_log_put(world->handle, 0, large()))
CALLS(log_drop, mcds_log_drop(world->handle))

static const mcds_counter_options striped_form = {.size = sizeof striped_form, .stripes = 4};
static const mcds_counter_options strict_form = {
    .size = sizeof strict_form, .flags = MCDS_COUNTER_STRICT | MCDS_COUNTER_SIGNED};
static const mcds_counter_options exact_form = {.size = sizeof exact_form,
                                                .flags = MCDS_COUNTER_EXACT,
                                                .flush_ms = MCDS_COUNTER_FLUSH_EACH};
OPENS(counter, counter, NULL)
OPENS(counter, striped, &striped_form)
OPENS(counter, strict, &strict_form)
OPENS(counter, exact, &exact_form)
CLOSES(counter)
PUTS(put_in_counter, mcds_counter_add(world->handle, 1 + number, NULL))
static int read_counter(struct world *world)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int result = mcds_counter_get(world->handle, &value);
    world->sum += (uint64_t)value.value;
    return result;
}
CALLS(counter_add, mcds_counter_add(world->handle, 1, NULL))
static int counter_subtract(struct world *world)
{
    return mcds_counter_add(world->handle, -1, NULL);
}
static int counter_take(struct world *world)
{
    int64_t taken;
    return mcds_counter_take(world->handle, &taken);
}
CALLS(counter_drop, mcds_counter_drop(world->handle))

static const char *visitor(uint32_t number)
{
    static char text[16];
    (void)snprintf(text, sizeof text, "v%u", (unsigned)number);
    return text;
}

static const mcds_visitors_options known = {
    .size = sizeof known, .period_ms = 60000, .members = MCDS_MEMBERS_EXACT};
static const mcds_visitors_options guessed = {
    .size = sizeof guessed, .period_ms = 60000, .members = MCDS_MEMBERS_ESTIMATED};
static const mcds_visitors_options counted = {.size = sizeof counted, .period_ms = 60000};
OPENS(visitors, visitors, &counted)
OPENS(visitors, known, &known)
OPENS(visitors, guessed, &guessed)
CLOSES(visitors)
PUTS(put_in_visitors, mcds_visitors_hit(world->handle, visitor(number), 0))
static int read_visitors(struct world *world)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    int result = mcds_visitors_get(world->handle, 0, &value);
    world->sum += value.current;
    return result;
}
CALLS(visitors_hit, mcds_visitors_hit(world->handle, "more", 0))
CALLS(visitors_hit_nobody, mcds_visitors_hit(world->handle, NULL, 0))
CALLS(visitors_drop, mcds_visitors_drop(world->handle, 0))

static const mcds_online_options online_known = {.size = sizeof online_known,
                                                 .members = MCDS_MEMBERS_EXACT};
OPENS(online, online, NULL)
OPENS(online, online_known, &online_known)
CLOSES(online)
PUTS(put_in_online, mcds_online_beat(world->handle, visitor(number), 0))
static int read_online(struct world *world)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    int result = mcds_online_get(world->handle, 0, &value);
    world->sum += value.current;
    return result;
}
CALLS(online_beat, mcds_online_beat(world->handle, "more", 0))
CALLS(online_drop, mcds_online_drop(world->handle, 0))

static const mcds_views_options minutes = {
    .size = sizeof minutes, .load = load_nothing, .save = save_nothing};
OPENS(views, views, &minutes)
CLOSES(views)
PUTS(put_in_views, mcds_views_hit(world->handle, visitor(number), 1))
static int read_views(struct world *world)
{
    int64_t count = 0;
    int result = mcds_views_get(world->handle, "v0", &count);
    world->sum += (uint64_t)count;
    return result;
}
CALLS(views_hit, mcds_views_hit(world->handle, "v0", 2))
CALLS(views_drop, mcds_views_drop(world->handle))

OPENS(lock, lock, NULL)
CLOSES(lock)
static mcds_lease lease;
static int put_in_lock(struct world *world, uint32_t number)
{
    (void)number;
    lease = (mcds_lease)MCDS_LEASE_INIT;
    int result = mcds_lock_try_acquire(world->handle, &lease);
    return result == MCDS_OK ? mcds_lock_release(world->handle, &lease) : result;
}
static int hold_lock(struct world *world, uint32_t number)
{
    if (number > 0)
        return MCDS_OK;
    lease = (mcds_lease)MCDS_LEASE_INIT;
    int result = mcds_lock_try_acquire(world->handle, &lease);
    fake_env_advance_ms(&world->fake, 2000);
    return result;
}
static int read_lock(struct world *world)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    int result = mcds_lock_get_holder(world->handle, &holder);
    world->sum += result == MCDS_OK;
    return result;
}
/* The time that is left to it. */
static int read_lease(struct world *world)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    int result = mcds_lock_get_holder(world->handle, &holder);
    world->sum += result == MCDS_OK ? (uint64_t)holder.remaining_ms : 0;
    return result;
}
static int lock_acquire(struct world *world)
{
    lease = (mcds_lease)MCDS_LEASE_INIT;
    return mcds_lock_try_acquire(world->handle, &lease);
}
CALLS(lock_release, mcds_lock_release(world->handle, &lease))
CALLS(lock_renew, mcds_lock_renew(world->handle, &lease))
CALLS(lock_break, mcds_lock_break(world->handle))
CALLS(lock_drop, mcds_lock_drop(world->handle))

#define OF(kind, of, verb)                                                                     \
    {                                                                                          \
#of, #verb, open_##of, close_##kind, put_in_##kind, verb, read_##kind, false           \
    }
static const struct subject subjects[] = {
    OF(set, set, set_add),
    OF(set, set, set_add_asking),
    OF(set, set, set_remove),
    OF(set, set, set_drop),
    OF(set, list_of_set, set_add_asking),
    OF(table, table, table_put),
    OF(table, table, table_put_large),
    OF(table, table, table_if_absent),
    OF(table, table, table_compare),
    OF(table, table, table_incr),
    OF(table, table, table_remove),
    OF(table, table, table_drop),
    OF(array, array, array_change),
    OF(array, array, array_change_large),
    OF(array, array, array_set),
    OF(array, array, array_drop),
    OF(list, list, list_push),
    OF(list, list, list_push_large),
    OF(list, list, list_clear),
    OF(list, list, list_drop),
    OF(log, log, log_put),
    OF(log, log, log_put_large),
    OF(log, log, log_drop),
    OF(counter, counter, counter_add),
    OF(counter, counter, counter_take),
    OF(counter, counter, counter_drop),
    OF(counter, striped, counter_add),
    OF(counter, striped, counter_take),
    OF(counter, striped, counter_drop),
    OF(counter, strict, counter_add),
    OF(counter, strict, counter_subtract),
    OF(counter, strict, counter_take),
    OF(counter, exact, counter_add),
    OF(counter, exact, counter_drop),
    OF(visitors, visitors, visitors_hit),
    OF(visitors, visitors, visitors_hit_nobody),
    OF(visitors, visitors, visitors_drop),
    OF(visitors, known, visitors_hit),
    OF(visitors, known, visitors_drop),
    OF(visitors, guessed, visitors_hit),
    OF(visitors, guessed, visitors_drop),
    OF(online, online, online_beat),
    OF(online, online, online_drop),
    OF(online, online_known, online_beat),
    OF(views, views, views_hit),
    OF(views, views, views_drop),
    OF(lock, lock, lock_acquire),
    {"lock", "release", open_lock, close_lock, hold_lock, lock_release, read_lock, true},
    {"lock", "renew", open_lock, close_lock, hold_lock, lock_renew, read_lease, true},
    {"lock", "break", open_lock, close_lock, hold_lock, lock_break, read_lock, false},
    {"lock", "drop", open_lock, close_lock, put_in_lock, lock_drop, read_lock, false},
};

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    world->cuts = world->garbles = NONE;
    fake_env_init(&world->fake, 3);
    options.env = &world->fake.env;
    options.timeout_ms = 200;
    assert_int_equal(hooked_backend_open(&world->backend, &options, &world->store), MCDS_OK);
    world->backend.hook = relay;
    world->backend.context = world;
    world->backend.value_max = VALUE_MAX;
}

/* What a new handle reads: nothing where there is no structure. */
static uint64_t look(struct world *world, const struct subject *subject)
{
    world->sum = 0;
    assert_int_equal(subject->open(world), MCDS_OK);
    int result = subject->read(world);
    subject->close(world);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        fail_msg("%s, %s: a reader gets %s", subject->of, subject->verb, mcds_errmsg());
    return world->sum;
}

struct play {
    int result;
    int again; /* of the same call after a failure, with another handle */
    uint64_t before;
    uint64_t after;
};

static struct play play(struct world *world, const struct subject *subject, uint32_t count,
                        bool is_warm)
{
    struct play played;
    assert_int_equal(subject->open(world), MCDS_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_in_range(subject->put(world, i), MCDS_OK, MCDS_EXISTS);
    if (!is_warm) {
        subject->close(world);
        assert_int_equal(subject->open(world), MCDS_OK);
    }
    void *handle = world->handle;
    played.before = look(world, subject);
    world->handle = handle;
    world->is_armed = true;
    played.result = subject->call(world);
    world->is_armed = false;
    subject->close(world);
    played.after = look(world, subject);
    played.again = played.result;
    if (played.result < 0 && played.result != MCDS_AMBIGUOUS && !subject->is_once) {
        assert_int_equal(subject->open(world), MCDS_OK);
        played.again = subject->call(world);
        subject->close(world);
    }
    return played;
}

/* The result is that of the call without faults, and the structure is as after it; or it is
 * AMBIGUOUS; or the structure is as before, and the next call succeeds. */
static void judge(const struct world *world, const struct subject *subject, uint32_t count,
                  bool is_warm, const struct play *clean, const struct play *played)
{
    bool is_done = played->after == clean->after;
    bool is_undone = played->after == played->before;
    bool has_failed = played->result < 0 || played->result == MCDS_BUSY;
    bool has_ended = subject->is_once || played->again == clean->result;
    if (played->result == MCDS_AMBIGUOUS || (played->result == clean->result && is_done) ||
        (has_failed && is_undone && has_ended))
        return;
    fail_msg("%s, %s, size %u%s: value %u, byte %u, lost reply %d: %s instead of %s, then %s, "
             "and %s",
             subject->of, subject->verb, (unsigned)count, is_warm ? ", same handle" : "",
             (unsigned)world->garbles, (unsigned)world->byte, (int)world->cuts,
             mcds_result_name(played->result), mcds_result_name(clean->result),
             mcds_result_name(played->again),
             is_done     ? "done"
             : is_undone ? "not done"
                         : "done in part");
}

static void try_at(const struct subject *subject, uint32_t count, bool is_warm,
                   const struct play *clean, uint32_t cuts)
{
    static struct world world;
    bool is_garbled = true;
    for (uint32_t at = 0; is_garbled && at < REQUESTS_MAX; at++)
        for (uint32_t byte = 0; is_garbled && byte < BYTES; byte++) {
            begin(&world);
            world.garbles = at;
            world.byte = byte;
            world.cuts = cuts;
            struct play played = play(&world, subject, count, is_warm);
            is_garbled = world.is_garbled;
            if (is_garbled)
                judge(&world, subject, count, is_warm, clean, &played);
            mcds_close(world.store);
            assert_int_equal(world.fake.blocks, 0);
        }
}

static void try_subject(const struct subject *subject, uint32_t count, bool is_warm)
{
    static struct world world;
    begin(&world);
    struct play clean = play(&world, subject, count, is_warm);
    uint32_t writes = world.writes;
    mcds_close(world.store);
    try_at(subject, count, is_warm, &clean, NONE);
    for (uint32_t cut = 0; cut < writes && cut < 4; cut++)
        try_at(subject, count, is_warm, &clean, cut);
}

static void a_failure_has_changed_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            try_subject(&subjects[i], sizes[j], false);
            try_subject(&subjects[i], sizes[j], true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_has_changed_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
