/* The structures on a store that answers anything: each call ends, with a result that there is
 * and a sentence where it has failed, hands out only bytes that it has, and leaves no memory
 * behind. */
#include "hostile.h"
#include "target.h"

#include <string.h>

#define CALLS_MAX 4
#define VISITS_MAX 100000

static struct hostile hostile;

/* Bytes handed out are read, so that the sanitizers see where they lie. */
static uint64_t look_at(mcds_bytes bytes)
{
    const uint8_t *at = bytes.data;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes.length; i++)
        sum += at[i];
    return sum;
}

static bool visit_bytes(void *context, mcds_bytes bytes)
{
    uint64_t *visits = context;
    MUST(++*visits < VISITS_MAX && look_at(bytes) <= bytes.length * 255);
    return true;
}

static bool visit_counted(void *context, mcds_bytes bytes, uint64_t count)
{
    MUST(count > 0);
    return visit_bytes(context, bytes);
}

static bool visit_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    MUST(look_at(value) <= value.length * 255);
    return visit_bytes(context, key);
}

static bool visit_event(void *context, const mcds_log_event *event)
{
    return visit_bytes(context, event->event);
}

static void judge(int result)
{
    MUST(strcmp(mcds_result_name(result), "?") != 0);
    if (result < 0)
        MUST(mcds_errmsg()[0] != '\0');
}

static void use_counter(mcds_store *store, struct fuzz_input *input)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    int64_t number;
    uint8_t kind = next_byte(input);
    options.flags = kind & 7u;
    options.stripes = (kind & 8) != 0 ? 3 : 1;
    options.ttl_ms = (kind & 16) != 0 ? 10000 : 0;
    options.copies = (kind & 32) != 0 ? 2 : 1;
    options.flush_ms = (kind & 64) != 0 ? 100 : 0;
    int result = mcds_counter_open(store, "n", &options, &counter);
    judge(result);
    for (int i = 0; result == MCDS_OK && i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        int64_t delta = (int8_t)call;
        number = 0;
        switch (call % 5) {
        case 0:
        case 1:
            judge(mcds_counter_add(counter, delta, &number));
            break;
        case 2:
            judge(mcds_counter_get(counter, &value));
            break;
        case 3:
            judge(mcds_counter_take(counter, &number));
            break;
        default:
            judge((call & 16) != 0 ? mcds_counter_drop(counter) : mcds_counter_flush(counter));
        }
        MUST(number < MCDS_COUNTER_MAX && number > -MCDS_COUNTER_MAX);
    }
    if (result == MCDS_OK)
        mcds_counter_close(counter);
}

static void use_lock(mcds_store *store, struct fuzz_input *input)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock_holder holder = {.size = sizeof(mcds_lock_holder), .label = ""};
    options.lease_ms = 5000;
    options.label = "label";
    judge(mcds_lock_open(store, "n", &options, &lock));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        int result = MCDS_OK;
        switch (call % 6) {
        case 0:
            result = mcds_lock_try_acquire(lock, &lease);
            break;
        case 1:
            result = mcds_lock_acquire(lock, call, &lease);
            break;
        case 2:
            result = mcds_lock_renew(lock, &lease);
            break;
        case 3:
            result = mcds_lock_release(lock, &lease);
            break;
        case 4:
            result = mcds_lock_get_holder(lock, &holder);
            MUST(memchr(holder.label, '\0', sizeof holder.label) != NULL);
            break;
        default:
            result = mcds_lock_break(lock);
        }
        judge(result);
        MUST(mcds_lock_remaining_ms(lock, &lease) <= options.lease_ms);
    }
    mcds_lock_close(lock);
}

static void use_visitors(mcds_store *store, struct fuzz_input *input)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    uint8_t kind = next_byte(input);
    options.period_ms = (kind & 4) != 0 ? 60000 : 0;
    options.members = (kind & 3u) % 3u;
    judge(mcds_visitors_open(store, "n", &options, &visitors));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        if (call % 4 < 2)
            judge(mcds_visitors_hit(visitors, (call & 4) != 0 ? "a" : "b", 0));
        else if (call % 4 == 2)
            judge(mcds_visitors_get(visitors, 0, &value));
        else
            judge(mcds_visitors_drop(visitors, 0));
    }
    mcds_visitors_close(visitors);
}

static void use_online(mcds_store *store, struct fuzz_input *input)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    options.members = next_byte(input) % 3;
    options.buckets = 2;
    judge(mcds_online_open(store, "n", &options, &online));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        if (call % 4 < 2)
            judge(mcds_online_beat(online, (call & 4) != 0 ? "a" : "b", 0));
        else if (call % 4 == 2)
            judge(mcds_online_get(online, 0, &value));
        else
            judge(mcds_online_drop(online, 0));
    }
    mcds_online_close(online);
}

static void use_set(mcds_store *store, struct fuzz_input *input)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set;
    uint64_t visits = 0;
    bool changed;
    options.form = (mcds_set_form)(next_byte(input) % 3);
    judge(mcds_set_open(store, "n", &options, &set));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        mcds_bytes element = mcds_text((call & 64) != 0 ? "a" : "b");
        switch (call % 6) {
        case 0:
        case 1:
            judge(mcds_set_add(set, element, (call & 32) != 0 ? &changed : NULL));
            break;
        case 2:
            judge(mcds_set_remove(set, element, (call & 32) != 0 ? &changed : NULL));
            break;
        case 3:
            judge(mcds_set_has(set, element));
            break;
        case 4:
            judge(mcds_set_scan(set, visit_counted, &visits));
            break;
        default:
            judge(mcds_set_drop(set));
        }
    }
    mcds_set_close(set);
}

static int call_table(mcds_table *table, uint8_t call, mcds_value *value)
{
    mcds_bytes key = mcds_text((call & 64) != 0 ? "a" : "b");
    uint64_t ttl_ms = (call & 32) != 0 ? 5000 : 0;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    uint64_t visits = 0;
    int64_t number;
    bool changed;
    switch (call % 9) {
    case 0:
        return mcds_table_get(table, key, value);
    case 1:
        return mcds_table_has(table, key);
    case 2:
        return mcds_table_put(table, key, mcds_text("12"), ttl_ms);
    case 3:
        return mcds_table_put_if_absent(table, key, mcds_text("12"), ttl_ms);
    case 4:
        return mcds_table_compare_and_set(table, key, mcds_text("12"), mcds_text("x"), ttl_ms);
    case 5:
        return mcds_table_remove(table, key, (call & 32) != 0 ? &changed : NULL);
    case 6:
        return mcds_table_incr(table, key, (int8_t)call, &number);
    case 7:
        return mcds_table_scan(table, &cursor, 0, visit_entry, &visits);
    default:
        return mcds_table_drop(table);
    }
}

static void use_table(mcds_store *store, struct fuzz_input *input)
{
    mcds_value value = MCDS_VALUE_INIT;
    mcds_table *table;
    judge(mcds_table_open(store, "n", NULL, &table));
    for (int i = 0; i < CALLS_MAX; i++)
        judge(call_table(table, next_byte(input), &value));
    MUST(look_at((mcds_bytes){value.data, value.length}) <= value.length * 255);
    mcds_value_free(&value);
    mcds_table_close(table);
}

static void use_array(mcds_store *store, struct fuzz_input *input)
{
    const mcds_bytes elements[] = {mcds_text("a"), mcds_text("bc"), mcds_text("")};
    mcds_array *array;
    uint64_t visits = 0;
    judge(mcds_array_open(store, "n", NULL, &array));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        if (call % 4 == 0)
            judge(mcds_array_scan(array, visit_bytes, &visits));
        else if (call % 4 == 1)
            judge(mcds_array_set(array, elements, (call >> 2) % 4u));
        else if (call % 4 == 2)
            judge(mcds_array_change(array, elements, (call >> 2) % 4u, elements, 1));
        else
            judge(mcds_array_drop(array));
    }
    mcds_array_close(array);
}

static void use_list(mcds_store *store, struct fuzz_input *input)
{
    static const uint8_t large[9000];
    mcds_list *list;
    uint64_t visits = 0;
    judge(mcds_list_open(store, "n", NULL, &list));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        size_t length = (call & 128) != 0 ? sizeof large : 5;
        if (call % 4 < 2)
            judge(mcds_list_push(list, (mcds_bytes){large, length}));
        else if (call % 4 == 2)
            judge(mcds_list_scan(list, (call >> 2) % 3u, 0, visit_bytes, &visits));
        else
            judge((call & 4) != 0 ? mcds_list_clear(list) : mcds_list_drop(list));
    }
    mcds_list_close(list);
}

static void use_log(mcds_store *store, struct fuzz_input *input)
{
    mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    mcds_log *log;
    uint64_t visits = 0;
    uint8_t kind = next_byte(input);
    options.flags = kind & 1u;
    options.retention_ms = (kind & 2) != 0 ? 60000 : 0;
    range.newest_first = (kind & 4) != 0;
    cursor.from_ms = (kind & 8) != 0 ? 1 : 0;
    judge(mcds_log_open(store, "n", &options, &log));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        if (call % 5 < 2)
            judge(mcds_log_put(log, 0, mcds_text("event")));
        else if (call % 5 == 2)
            judge(mcds_log_scan(log, &range, visit_event, &visits, &info));
        else if (call % 5 == 3)
            judge(mcds_log_tail(log, &cursor, visit_event, &visits, &info));
        else
            judge(mcds_log_drop(log));
    }
    mcds_log_close(log);
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    *views_out = (int64_t)(upto_slot % 1000 + strlen(page));
    return next_byte(context) > 240;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    MUST(page[0] != '\0' && views >= 0);
    return (next_byte(context) + slot) % 256 > 240;
}

static void use_views(mcds_store *store, struct fuzz_input *input)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views;
    int64_t number;
    options.load = load;
    options.save = save;
    options.context = input;
    judge(mcds_views_open(store, "n", &options, &views));
    for (int i = 0; i < CALLS_MAX; i++) {
        uint8_t call = next_byte(input);
        number = 0;
        if (call % 3 == 0)
            judge(mcds_views_hit(views, "page", 1 + (call & 15u)));
        else if (call % 3 == 1)
            judge(mcds_views_get(views, "page", &number));
        else
            judge(mcds_views_flush(views));
        MUST(number >= 0);
        if ((call & 128) != 0)
            fake_env_advance_ms(&hostile.fake, 60000);
    }
    mcds_views_close(views);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const uses[])(mcds_store * store, struct fuzz_input * input) = {
        use_counter, use_lock,  use_visitors, use_online, use_set,
        use_table,   use_array, use_list,     use_log,    use_views,
    };
    struct fuzz_input input = {data, size};
    uint8_t chosen = next_byte(&input);
    mcds_store *store = hostile_open(&hostile, &input);
    uses[chosen % (sizeof uses / sizeof uses[0])](store, &input);
    mcds_close(store);
    MUST(hostile.fake.blocks == 0);
    return 0;
}
