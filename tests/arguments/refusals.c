/* Failures of calls with bad arguments and options: for each call the cause, the subject and
 * the allowed values. The reason does not repeat the names before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "mcds/sim.h"

struct parts {
    int result;
    mcds_cause cause;
    const char *noun, *name, *verb, *option, *wanted, *found, *peer;
};

static char many_bytes[1100];

static void assert_absent(const char *reason, const char *part, const char *before,
                          const char *after)
{
    char words[600];
    if (part[0] == '\0')
        return;
    (void)snprintf(words, sizeof words, "%s%s%s", before, part, after);
    if (strstr(reason, words) != NULL)
        fail_msg("'%s' repeats '%s'", reason, words);
}

static void check(const char *call, int result, const struct parts *parts)
{
    const mcds_error *error = mcds_last_error();
    print_message("  %s: %s\n", call, mcds_errmsg());
    assert_int_equal(result, parts->result);
    assert_int_equal(error->result, parts->result);
    assert_string_equal(mcds_cause_name((int)error->cause), mcds_cause_name((int)parts->cause));
    assert_string_equal(error->noun, parts->noun);
    assert_string_equal(error->name, parts->name);
    assert_string_equal(error->verb, parts->verb);
    assert_string_equal(error->option, parts->option);
    assert_string_equal(error->wanted, parts->wanted);
    assert_string_equal(error->found, parts->found);
    assert_string_equal(error->peer, parts->peer);
    assert_string_not_equal(error->reason, "");
    assert_absent(error->reason, error->noun, "", ":");
    assert_absent(error->reason, error->noun, "", " '");
    assert_absent(error->reason, error->name, "'", "'");
    assert_absent(error->reason, error->verb, "", ":");
    assert_absent(error->reason, error->peer, "", "");
    assert_non_null(strstr(mcds_errmsg(), error->reason));
}

/* CALL is refused: the cause without its prefix; noun, name, verb; option, wanted, found. */
#define REFUSED_BY(call, code, why, fixture, ...)                                              \
    check(#call, call, &(const struct parts){code, MCDS_CAUSE_##why, __VA_ARGS__, fixture})
#define REFUSED(call, why, ...) REFUSED_BY(call, MCDS_INVALID, why, "", __VA_ARGS__)

static mcds_store *store;

static int set_up(void **state)
{
    (void)state;
    memset(many_bytes, 'x', 1025);
    return mcds_open("memory:", NULL, &store);
}

static int tear_down(void **state)
{
    (void)state;
    mcds_close(store);
    return 0;
}

static void stores(void **state)
{
    (void)state;
    mcds_store *made = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    options.timeout_ms = 3600001;
    REFUSED(mcds_open("memory:", &options, &made), OUT_OF_RANGE, "store", "", "", "timeout_ms",
            "0 to 3600000", "3600001");
    options.timeout_ms = 0;
    options.ns = "a b";
    REFUSED(mcds_open("memory:", &options, &made), BAD_BYTE, "store", "", "", "ns",
            "a-z A-Z 0-9 _ - .", "a b");
    options.ns = "123456789012345678901234567890123";
    REFUSED(mcds_open("memory:", &options, &made), TOO_LONG, "store", "", "", "ns", "32", "33");
    options.ns = NULL;
    options.size = 1;
    char size[24];
    (void)snprintf(size, sizeof size, "%zu", sizeof options);
    REFUSED(mcds_open("memory:", &options, &made), STRUCT_SIZE, "store", "", "", "size", size,
            "1");
    REFUSED(mcds_open("nonsense", NULL, &made), BAD_URI, "store", "", "", "uri",
            "memory:, lmdb: or memcached://", "nonsense");
    REFUSED(mcds_open("x:", NULL, &made), BAD_URI, "store", "", "", "uri",
            "memory:, lmdb: or memcached://", "x");
    REFUSED(mcds_open("memory:?x=1", NULL, &made), BAD_URI, "store", "", "", "x",
            "strict, bytes, ns, timeout", "1");
    REFUSED(mcds_open("memory:?bytes=x", NULL, &made), BAD_URI, "store", "", "", "bytes",
            "65536 to 18446744073709551615", "x");
    REFUSED_BY(mcds_open("memcached://127.0.0.1:99999", NULL, &made), MCDS_INVALID, BAD_URI,
               "127.0.0.1:99999", "store", "", "", "uri", "", "127.0.0.1:99999");
    REFUSED_BY(mcds_open("lmdb:/etc/passwd", NULL, &made), MCDS_IO, WRONG_FILE, "/etc/passwd",
               "store", "", "", "", "", "");
    REFUSED_BY(mcds_open("lmdb:/nonexistent/x", NULL, &made), MCDS_IO, NO_DIRECTORY,
               "/nonexistent/x", "store", "", "", "", "", "");
    assert_int_equal(mcds_last_error()->os_error, 2);
    REFUSED_BY(mcds_open("lmdb:/tmp", NULL, &made), MCDS_IO, WRONG_FILE, "/tmp", "store", "",
               "", "", "", "");
    REFUSED_BY(mcds_backup(store, "/tmp/x"), MCDS_UNSUPPORTED, UNSUPPORTED, "", "store", "",
               "backup", "", "", "");
}

static void pipelines(void **state)
{
    (void)state;
    mcds_store *other;
    mcds_pipeline *pipeline = NULL;
    mcds_counter *counter;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = 65537;
    REFUSED(mcds_pipeline_open(store, &options, &pipeline), OUT_OF_RANGE, "pipeline", "", "",
            "depth", "0 to 65536", "65537");
    REFUSED(mcds_pipeline_end_wait(NULL, 1), ARGUMENT_MISSING, "pipeline", "", "end_wait", "",
            "a pipeline", "");
    assert_int_equal(mcds_open("memory:", NULL, &other), MCDS_OK);
    assert_int_equal(mcds_pipeline_open(other, NULL, &pipeline), MCDS_OK);
    assert_int_equal(mcds_counter_open(store, "c", NULL, &counter), MCDS_OK);
    REFUSED(mcds_counter_add_start(counter, 1, NULL, pipeline, 0), OTHER_STORE, "counter", "c",
            "add", "", "", "");
    mcds_counter_close(counter);
    mcds_log *log;
    mcds_online *online;
    mcds_visitors *visitors;
    assert_int_equal(mcds_log_open(store, "l", NULL, &log), MCDS_OK);
    assert_int_equal(mcds_online_open(store, "o", NULL, &online), MCDS_OK);
    assert_int_equal(mcds_visitors_open(store, "v", NULL, &visitors), MCDS_OK);
    REFUSED(mcds_log_put_start(log, 0, mcds_text("x"), pipeline, 0), OTHER_STORE, "log", "l",
            "put", "", "", "");
    REFUSED(mcds_online_beat_start(online, "ann", 0, pipeline, 0), OTHER_STORE, "online", "o",
            "beat", "", "", "");
    REFUSED(mcds_visitors_hit_start(visitors, "ann", 0, pipeline, 0), OTHER_STORE, "visitors",
            "v", "hit", "", "", "");
    mcds_log_close(log);
    mcds_online_close(online);
    mcds_visitors_close(visitors);
    mcds_pipeline_close(pipeline);
    mcds_close(other);
}

static void counters(void **state)
{
    (void)state;
    mcds_counter *counter;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    int64_t value;
    REFUSED(mcds_counter_open(store, "", NULL, &counter), EMPTY, "counter", "", "", "name", "",
            "");
    options.stripes = 33;
    REFUSED(mcds_counter_open(store, "c", &options, &counter), OUT_OF_RANGE, "counter", "c", "",
            "stripes", "0 to 32", "33");
    options.stripes = 0;
    options.ttl_ms = UINT64_MAX;
    REFUSED(mcds_counter_open(store, "c", &options, &counter), OUT_OF_RANGE, "counter", "c", "",
            "ttl_ms", "0 to 31622400000", "18446744073709551615");
    options.ttl_ms = 0;
    options.flags = 8;
    REFUSED(mcds_counter_open(store, "c", &options, &counter), UNKNOWN_VALUE, "counter", "c",
            "", "flags", "0 to 7", "8");
    options.flags = MCDS_COUNTER_EXACT;
    options.stripes = 2;
    REFUSED(mcds_counter_open(store, "c", &options, &counter), CONFLICT, "counter", "c", "",
            "flags", "", "");
    assert_int_equal(mcds_counter_open(store, "c", NULL, &counter), MCDS_OK);
    REFUSED(mcds_counter_add(counter, -1, NULL), CONFLICT, "counter", "c", "add", "delta", "",
            "");
    REFUSED(mcds_counter_add(counter, MCDS_COUNTER_MAX, NULL), OUT_OF_RANGE, "counter", "c",
            "add", "delta", "-2305843009213693951 to 2305843009213693951",
            "2305843009213693952");
    REFUSED(mcds_counter_take(counter, NULL), ARGUMENT_MISSING, "counter", "", "take", "",
            "a counter and a place for the value", "");
    REFUSED(mcds_counter_drop(NULL), ARGUMENT_MISSING, "counter", "", "drop", "", "a counter",
            "");
    REFUSED(mcds_counter_made_with(store, "c", NULL), ARGUMENT_MISSING, "counter", "", "open",
            "", "a store, a name and a place for the options", "");
    mcds_counter_close(counter);
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.stripes = 2;
    assert_int_equal(mcds_counter_open(store, "c", &options, &counter), MCDS_OK);
    REFUSED(mcds_counter_add(counter, 1, &value), CONFLICT, "counter", "c", "add", "stripes",
            "", "");
    mcds_counter_close(counter);
}

static void locks(void **state)
{
    (void)state;
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    options.lease_ms = 49;
    REFUSED(mcds_lock_open(store, "k", &options, &lock), OUT_OF_RANGE, "lock", "k", "",
            "lease_ms", "0 or 50 to 86400000", "49");
    options.lease_ms = 0;
    options.label = many_bytes;
    REFUSED(mcds_lock_open(store, "k", &options, &lock), TOO_LONG, "lock", "k", "", "label",
            "200", "");
    assert_int_equal(mcds_lock_open(store, "k", NULL, &lock), MCDS_OK);
    REFUSED(mcds_lock_renew(lock, &lease), BAD_LEASE, "lock", "k", "renew", "", "", "");
    mcds_lock_close(lock);
}

/* A lease as text, in the wrong hands. */
static void lease_texts(void **state)
{
    (void)state;
    mcds_lock *lock;
    mcds_lock *imported = NULL;
    mcds_store *other;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_options options = MCDS_OPTIONS_INIT;
    char text[MCDS_LEASE_TEXT];
    assert_int_equal(mcds_lock_open(store, "k", NULL, &lock), MCDS_OK);
    REFUSED(mcds_lock_export(lock, &lease, text), BAD_LEASE, "lock", "k", "export", "", "", "");
    assert_int_equal(mcds_lock_try_acquire(lock, &lease), MCDS_OK);
    assert_int_equal(mcds_lock_export(lock, &lease, text), MCDS_OK);
    REFUSED(mcds_lock_import(store, "k", "hello", &imported, &lease), BAD_LEASE, "lock", "k",
            "import", "", "", "");
    REFUSED(mcds_lock_import(store, "", text, &imported, &lease), EMPTY, "lock", "", "import",
            "name", "", "");
    REFUSED(mcds_lock_import(store, "another", text, &imported, &lease), BAD_LEASE, "lock",
            "another", "import", "", "", "k");
    options.ns = "other";
    assert_int_equal(mcds_open("memory:", &options, &other), MCDS_OK);
    REFUSED(mcds_lock_import(other, "k", text, &imported, &lease), BAD_LEASE, "lock", "k",
            "import", "", "", "k");
    assert_non_null(strstr(mcds_errmsg(), "in namespace 'mcds'"));
    mcds_close(other);
    assert_int_equal(mcds_open("memcached://127.0.0.1:1", NULL, &other), MCDS_OK);
    REFUSED(mcds_lock_import(other, "k", text, &imported, &lease), BAD_LEASE, "lock", "k",
            "import", "", "", "");
    assert_non_null(strstr(mcds_errmsg(), "another store"));
    mcds_close(other);
    assert_null(imported);
    assert_int_equal(mcds_lock_release(lock, &lease), MCDS_OK);
    mcds_lock_close(lock);
}

static void visits(void **state)
{
    (void)state;
    mcds_visitors *visitors;
    mcds_online *online;
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online_options = MCDS_ONLINE_OPTIONS_INIT;
    assert_int_equal(mcds_visitors_open(store, "v", NULL, &visitors), MCDS_OK);
    REFUSED(mcds_visitors_hit(visitors, "", 0), EMPTY, "visitors", "v", "hit", "visitor", "",
            "");
    REFUSED(mcds_visitors_hit(visitors, many_bytes, 0), TOO_LONG, "visitors", "v", "hit",
            "visitor", "1024", "");
    mcds_visitors_close(visitors);
    options.members = MCDS_MEMBERS_EXACT;
    assert_int_equal(mcds_visitors_open(store, "v", &options, &visitors), MCDS_OK);
    REFUSED(mcds_visitors_hit(visitors, NULL, 0), ARGUMENT_MISSING, "visitors", "v", "hit",
            "visitor", "a visitor, because its members are kept", "");
    mcds_visitors_close(visitors);
    options.members = 3;
    REFUSED(mcds_visitors_open(store, "v", &options, &visitors), UNKNOWN_VALUE, "visitors", "v",
            "", "members", "0 to 2", "3");
    options.members = 0;
    options.period_ms = UINT64_MAX;
    REFUSED(mcds_visitors_open(store, "v", &options, &visitors), OUT_OF_RANGE, "visitors", "v",
            "", "period_ms", "0 or 1000 to 31622400000", "18446744073709551615");
    assert_int_equal(mcds_online_open(store, "o", NULL, &online), MCDS_OK);
    REFUSED(mcds_online_beat(online, "", 0), EMPTY, "online", "o", "beat", "visitor", "", "");
    REFUSED(mcds_online_beat(online, NULL, 0), ARGUMENT_MISSING, "online", "o", "beat",
            "visitor", "the visitor", "");
    REFUSED(mcds_online_beat(online, many_bytes, 0), TOO_LONG, "online", "o", "beat", "visitor",
            "1024", "");
    mcds_online_close(online);
    online_options.buckets = 33;
    REFUSED(mcds_online_open(store, "o", &online_options, &online), OUT_OF_RANGE, "online", "o",
            "", "buckets", "0 to 32", "33");
}

static void elements(void **state)
{
    (void)state;
    mcds_set *set;
    mcds_table *table;
    mcds_array *array;
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    const mcds_bytes nothing = {NULL, 7};
    const mcds_bytes large = {many_bytes, 1025};
    options.form = (mcds_set_form)7;
    REFUSED(mcds_set_open(store, "s", &options, &set), UNKNOWN_VALUE, "set", "s", "", "form",
            "0 to 2", "7");
    assert_int_equal(mcds_set_open(store, "s", NULL, &set), MCDS_OK);
    REFUSED(mcds_set_add(set, mcds_text(""), NULL), EMPTY, "set", "s", "add", "element", "",
            "");
    REFUSED(mcds_set_add(set, nothing, NULL), ARGUMENT_MISSING, "set", "s", "add", "element",
            "the element", "");
    REFUSED(mcds_set_add(set, large, NULL), TOO_LONG, "set", "s", "add", "element", "1024",
            "1025");
    mcds_set_close(set);
    assert_int_equal(mcds_table_open(store, "t", NULL, &table), MCDS_OK);
    REFUSED(mcds_table_put(table, large, mcds_text("v"), 0), TOO_LONG, "table", "t", "put",
            "key", "1024", "1025");
    REFUSED(mcds_table_put(table, mcds_text("k"), nothing, 0), ARGUMENT_MISSING, "table", "t",
            "put", "value", "the value", "");
    REFUSED(mcds_table_put(table, mcds_text("k"), mcds_text("v"), UINT64_MAX), OUT_OF_RANGE,
            "table", "t", "put", "ttl_ms", "0 to 31622400000", "18446744073709551615");
    mcds_table_close(table);
    assert_int_equal(mcds_array_open(store, "a", NULL, &array), MCDS_OK);
    REFUSED(mcds_array_set(array, NULL, 3), ARGUMENT_MISSING, "array", "a", "set", "elements",
            "the elements", "");
    REFUSED(mcds_array_set(array, &nothing, 1), ARGUMENT_MISSING, "array", "a", "set",
            "element", "the element", "");
    mcds_array_close(array);
}

static void lists_and_logs(void **state)
{
    (void)state;
    mcds_list *list;
    mcds_log *log;
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log_cursor cursor;
    const mcds_bytes nothing = {NULL, 7};
    assert_int_equal(mcds_list_open(store, "l", NULL, &list), MCDS_OK);
    REFUSED(mcds_list_push(list, nothing), ARGUMENT_MISSING, "list", "l", "push", "value",
            "the value", "");
    mcds_list_close(list);
    options.retention_ms = UINT64_MAX;
    REFUSED(mcds_log_open(store, "g", &options, &log), OUT_OF_RANGE, "log", "g", "",
            "retention_ms", "0 or 1000 to 31622400000", "18446744073709551615");
    options.retention_ms = 1000000;
    options.chunk_ms = 1000;
    options.late_ms = 900000;
    REFUSED(mcds_log_open(store, "g", &options, &log), OUT_OF_RANGE, "log", "g", "", "chunk_ms",
            "72693 to 86400000", "1000");
    assert_int_equal(mcds_log_open(store, "g", NULL, &log), MCDS_OK);
    REFUSED(mcds_log_put(log, 0, nothing), ARGUMENT_MISSING, "log", "g", "put", "event",
            "the event", "");
    REFUSED(mcds_log_cursor_load(&cursor, "hello"), BAD_CURSOR, "log", "", "cursor_load", "",
            "", "hello");
    mcds_log_close(log);
}

static uint32_t choose_none(void *context, uint32_t count)
{
    (void)context;
    (void)count;
    return 0;
}

static void simulations(void **state)
{
    (void)state;
    mcds_sim *sim = NULL;
    mcds_sim_options options = MCDS_SIM_OPTIONS_INIT;
    options.scheduler = 77;
    REFUSED(mcds_sim_open(&options, &sim), UNKNOWN_VALUE, "simulation", "", "", "scheduler",
            "0 to 2", "77");
    options.scheduler = MCDS_SIM_CHOICES;
    REFUSED(mcds_sim_open(&options, &sim), ARGUMENT_MISSING, "simulation", "", "", "choose",
            "options.choose with MCDS_SIM_CHOICES", "");
    options.choose = choose_none;
    options.changes = 9;
    REFUSED(mcds_sim_open(&options, &sim), OUT_OF_RANGE, "simulation", "", "", "changes",
            "0 to 8", "9");
    options.changes = 8;
    options.cut_after_ppm = 1000001;
    REFUSED(mcds_sim_open(&options, &sim), OUT_OF_RANGE, "simulation", "", "", "cut_after_ppm",
            "0 to 1000000", "1000001");
    options.cut_after_ppm = 1000000;
    assert_int_equal(mcds_sim_open(&options, &sim), MCDS_OK);
    mcds_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores),      cmocka_unit_test(pipelines),
        cmocka_unit_test(counters),    cmocka_unit_test(locks),
        cmocka_unit_test(lease_texts), cmocka_unit_test(visits),
        cmocka_unit_test(elements),    cmocka_unit_test(lists_and_logs),
        cmocka_unit_test(simulations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
