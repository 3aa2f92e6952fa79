/* Writes, reads, drops and closes each structure and form for the ledger. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/ledger.h"

#define NAME 40
/* The elements of one array. */
#define ARRAY_LENGTH 20
#define LARGE 40000
#define LEASE_MS 3600000

/* A waiting call, or the same one started with the number as its tag. */
#define ASK(ledger, number, call, ...)                                                         \
    ((ledger)->pipeline == NULL ? call(__VA_ARGS__)                                            \
                                : call##_start(__VA_ARGS__, (ledger)->pipeline, number))

#define TRY(call)                                                                              \
    do {                                                                                       \
        int tried = call;                                                                      \
        if (tried != MCDS_OK)                                                                  \
            return tried;                                                                      \
    } while (0)

static const char *name_of(const char *noun, uint32_t number)
{
    static char names[2][NAME];
    static unsigned turn;
    char *name = names[++turn % 2];
    (void)snprintf(name, NAME, "%s %u", noun, (unsigned)number);
    return name;
}

/* What each change writes: its number, and bytes that make it long, at times very. */
static mcds_bytes value_of(uint32_t number, uint32_t usual)
{
    static char bytes[LARGE];
    memset(bytes, 'v', sizeof bytes);
    (void)snprintf(bytes, sizeof bytes, "%u.", (unsigned)number);
    return (mcds_bytes){bytes, number % 50 == 49 ? LARGE : usual};
}

static mcds_bytes element_of(uint32_t number)
{
    mcds_bytes value = value_of(number, 100);
    value.length = 100 + number % 100;
    return value;
}

/* The number in a text, LEDGER_MAX where there is none that was used. */
static uint32_t number_in(const struct ledger *ledger, mcds_bytes text)
{
    char digits[16] = "";
    memcpy(digits, text.data, text.length < 15 ? text.length : 15);
    char *end;
    unsigned long number = strtoul(digits, &end, 10);
    return end != digits && *end == '.' && number < ledger->count ? (uint32_t)number
                                                                  : LEDGER_MAX;
}

static void see(struct ledger *ledger, mcds_bytes text, mcds_bytes (*made)(uint32_t number))
{
    uint32_t number = number_in(ledger, text);
    if (number == LEDGER_MAX || made(number).length != text.length ||
        memcmp(made(number).data, text.data, text.length) != 0)
        ledger->foreign++;
    else
        ledger->seen[number]++;
}

/* What an answer to a read of one object means: MCDS_OK where it may be so. */
static int read_one(struct ledger *ledger, int result)
{
    ledger->is_lost = ledger->is_lost || result == MCDS_LOST;
    ledger->is_absent = ledger->is_absent || result == MCDS_NOT_FOUND;
    return result == MCDS_LOST || result == MCDS_NOT_FOUND ? MCDS_OK : result;
}

/* The worst of several drops. */
static int worse(int one, int other)
{
    return one < 0 ? one : other;
}

/* Counters: one for each change. */

static int open_nothing(struct ledger *ledger)
{
    (void)ledger;
    return MCDS_OK;
}

static int open_counter(struct ledger *ledger, uint32_t number,
                        const mcds_counter_options *options)
{
    if (ledger->handles[number] != NULL)
        return MCDS_OK;
    mcds_counter *counter = NULL;
    TRY(mcds_counter_open(ledger->store, name_of("c", number), options, &counter));
    ledger->handles[number] = counter;
    return MCDS_OK;
}

static const mcds_counter_options striped = {sizeof striped, 0, 4, 0, 0, 100};
static const mcds_counter_options exact = {sizeof exact, MCDS_COUNTER_EXACT, 0, 0, 0, LEASE_MS};

static int add(struct ledger *ledger, uint32_t number, const mcds_counter_options *options)
{
    TRY(open_counter(ledger, number, options));
    return ASK(ledger, number, mcds_counter_add, ledger->handles[number], 1, NULL);
}

static int read_counters(struct ledger *ledger, const mcds_counter_options *options)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        TRY(open_counter(ledger, i, options));
        int result = mcds_counter_get(ledger->handles[i], &value);
        TRY(read_one(ledger, result));
        ledger->seen[i] = result == MCDS_OK ? (uint32_t)value.value : 0;
    }
    return MCDS_OK;
}

static int write_counter(struct ledger *ledger, uint32_t number)
{
    return add(ledger, number, NULL);
}

static int read_plain(struct ledger *ledger)
{
    return read_counters(ledger, NULL);
}

static int write_striped(struct ledger *ledger, uint32_t number)
{
    return add(ledger, number, &striped);
}

static int read_striped(struct ledger *ledger)
{
    return read_counters(ledger, &striped);
}

/* The handle keeps what it could not bring; only the store's part counts here. */
static int write_exact(struct ledger *ledger, uint32_t number)
{
    TRY(open_counter(ledger, number, &exact));
    TRY(mcds_counter_add(ledger->handles[number], 1, NULL));
    return ASK(ledger, number, mcds_counter_flush, ledger->handles[number]);
}

static int read_exact(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        mcds_counter *counter = NULL;
        mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
        TRY(mcds_counter_open(ledger->store, name_of("c", i), &exact, &counter));
        int result = mcds_counter_get(counter, &value);
        ledger->seen[i] = result == MCDS_OK ? (uint32_t)value.value : 0;
        result = read_one(ledger, result);
        mcds_counter_close(counter);
        TRY(result);
    }
    return MCDS_OK;
}

static int drop_counters(struct ledger *ledger)
{
    int result = MCDS_OK;
    for (uint32_t i = 0; i < ledger->count; i++)
        if (ledger->handles[i] != NULL)
            result = worse(result, mcds_counter_drop(ledger->handles[i]));
    return result;
}

static void close_counters(struct ledger *ledger)
{
    for (uint32_t i = 0; i < LEDGER_MAX; i++)
        mcds_counter_close(ledger->handles[i]);
}

/* Locks: one for each change. Every second one is broken, the others are released and dropped. */

static int open_lock(struct ledger *ledger, uint32_t number)
{
    static const mcds_lock_options options = {sizeof options, LEASE_MS, "who holds it"};
    mcds_lock *lock = NULL;
    if (ledger->handles[number] != NULL)
        return MCDS_OK;
    TRY(mcds_lock_open(ledger->store, name_of("l", number), &options, &lock));
    ledger->handles[number] = lock;
    return MCDS_OK;
}

static int write_lock(struct ledger *ledger, uint32_t number)
{
    TRY(open_lock(ledger, number));
    return ASK(ledger, number, mcds_lock_try_acquire, ledger->handles[number],
               &ledger->leases[number]);
}

static int read_locks(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
        TRY(open_lock(ledger, i));
        int result = mcds_lock_get_holder(ledger->handles[i], &holder);
        TRY(read_one(ledger, result));
        ledger->seen[i] = result == MCDS_OK;
        ledger->foreign += result == MCDS_OK && ledger->results[i] == MCDS_OK &&
                           holder.fence != 0 && holder.fence < ledger->leases[i].fence;
    }
    return MCDS_OK;
}

static int drop_lock(struct ledger *ledger, uint32_t number)
{
    mcds_lock *lock = ledger->handles[number];
    if (lock == NULL)
        return MCDS_OK;
    mcds_lease *lease = &ledger->leases[number];
    bool is_held = ledger->results[number] == MCDS_OK &&
                   mcds_lock_remaining_ms(lock, lease) > 0;
    int result = is_held && number % 2 == 1 ? mcds_lock_release(lock, lease)
                                            : mcds_lock_break(lock);
    if (result == MCDS_LOST) /* the store had lost the lease */
        result = MCDS_OK;
    return result < 0 || number % 2 == 0 ? result : mcds_lock_drop(lock);
}

static int drop_locks(struct ledger *ledger)
{
    int result = MCDS_OK;
    for (uint32_t i = 0; i < ledger->count; i++)
        result = worse(result, drop_lock(ledger, i));
    return result;
}

static void close_locks(struct ledger *ledger)
{
    for (uint32_t i = 0; i < LEDGER_MAX; i++)
        mcds_lock_close(ledger->handles[i]);
}

/* Visitors and online: one of each, and a visitor for each change. */

static int open_visitors(struct ledger *ledger, uint32_t members)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.members = members;
    options.period_ms = UINT64_C(31622400000);
    TRY(mcds_visitors_open(ledger->store, "v", &options, &visitors));
    ledger->handle = visitors;
    return MCDS_OK;
}

static int open_visitors_plain(struct ledger *ledger)
{
    return open_visitors(ledger, MCDS_MEMBERS_NONE);
}

static int open_visitors_exact(struct ledger *ledger)
{
    return open_visitors(ledger, MCDS_MEMBERS_EXACT);
}

static int open_visitors_estimated(struct ledger *ledger)
{
    return open_visitors(ledger, MCDS_MEMBERS_ESTIMATED);
}

static int hit(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_visitors_hit, ledger->handle, name_of("visitor", number),
               ledger->now_ms);
}

static int read_visitors(struct ledger *ledger)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    int result = mcds_visitors_get(ledger->handle, ledger->now_ms, &value);
    ledger->sum = value.current;
    ledger->is_lost = value.reborn;
    return read_one(ledger, result);
}

static int drop_visitors(struct ledger *ledger)
{
    return mcds_visitors_drop(ledger->handle, ledger->now_ms);
}

static void close_visitors(struct ledger *ledger)
{
    mcds_visitors_close(ledger->handle);
}

static int open_online(struct ledger *ledger, uint32_t members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.members = members;
    options.width_ms = 86400000;
    TRY(mcds_online_open(ledger->store, "o", &options, &online));
    ledger->handle = online;
    return MCDS_OK;
}

static int open_online_plain(struct ledger *ledger)
{
    return open_online(ledger, MCDS_MEMBERS_NONE);
}

static int open_online_exact(struct ledger *ledger)
{
    return open_online(ledger, MCDS_MEMBERS_EXACT);
}

static int open_online_estimated(struct ledger *ledger)
{
    return open_online(ledger, MCDS_MEMBERS_ESTIMATED);
}

static int beat(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_online_beat, ledger->handle, name_of("visitor", number),
               ledger->now_ms);
}

static int read_online(struct ledger *ledger)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    int result = mcds_online_get(ledger->handle, ledger->now_ms, &value);
    ledger->sum = value.current;
    ledger->is_lost = value.reborn;
    return read_one(ledger, result);
}

static int drop_online(struct ledger *ledger)
{
    return mcds_online_drop(ledger->handle, ledger->now_ms);
}

static void close_online(struct ledger *ledger)
{
    mcds_online_close(ledger->handle);
}

/* Views: a page for each change; what is saved counts as well. */

static uint32_t number_of_page(const char *page)
{
    return (uint32_t)strtoul(page + strlen("page "), NULL, 10);
}

static int load(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    const struct ledger *ledger = context;
    (void)upto_slot;
    *views_out = ledger->saved[number_of_page(page)];
    return 0;
}

static int save(void *context, const char *page, uint64_t slot, int64_t views)
{
    struct ledger *ledger = context;
    (void)slot; /* the intervals are so long that there is one */
    uint32_t number = number_of_page(page);
    if (number < ledger->count && views > ledger->saved[number])
        ledger->saved[number] = views;
    ledger->foreign += number >= ledger->count;
    return 0;
}

static int open_views(struct ledger *ledger)
{
    mcds_views_options options = {sizeof options, 86400000,       load, save,
                                  ledger,         MCDS_VIEWS_OWN, 0};
    mcds_views *views = NULL;
    TRY(mcds_views_open(ledger->store, "views", &options, &views));
    ledger->handle = views;
    return MCDS_OK;
}

static int view(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_views_hit, ledger->handle, name_of("page", number), 1);
}

static int read_views(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i++) {
        int64_t views = 0;
        TRY(mcds_views_get(ledger->handle, name_of("page", i), &views));
        ledger->seen[i] = (uint32_t)views;
    }
    return MCDS_OK;
}

static int read_saved(struct ledger *ledger)
{
    TRY(read_one(ledger, mcds_views_flush_final(ledger->handle)));
    for (uint32_t i = 0; i < ledger->count; i++)
        ledger->seen[i] = (uint32_t)ledger->saved[i];
    return MCDS_OK;
}

static void close_views(struct ledger *ledger)
{
    mcds_views_close(ledger->handle);
}

/* Sets. */

static int open_set(struct ledger *ledger, mcds_set_form form)
{
    mcds_set_options options = {sizeof options, form, 0};
    mcds_set *set = NULL;
    TRY(mcds_set_open(ledger->store, "s", &options, &set));
    ledger->handle = set;
    return MCDS_OK;
}

static int open_plain_set(struct ledger *ledger)
{
    return open_set(ledger, MCDS_SET_PLAIN);
}

static int open_bag(struct ledger *ledger)
{
    return open_set(ledger, MCDS_SET_BAG);
}

static int open_ordered_set(struct ledger *ledger)
{
    return open_set(ledger, MCDS_SET_LIST);
}

static int write_set(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_set_add, ledger->handle, element_of(number), NULL);
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    for (uint64_t i = 0; i < count && i < 3; i++)
        see(context, element, element_of);
    return true;
}

static int read_set(struct ledger *ledger)
{
    return read_one(ledger, mcds_set_scan(ledger->handle, see_element, ledger));
}

static int drop_set(struct ledger *ledger)
{
    return mcds_set_drop(ledger->handle);
}

static void close_set(struct ledger *ledger)
{
    mcds_set_close(ledger->handle);
}

/* Tables: rows that are put, counted, replaced and removed. */

static int open_table(struct ledger *ledger)
{
    mcds_table *table = NULL;
    TRY(mcds_table_open(ledger->store, "t", NULL, &table));
    ledger->handle = table;
    return MCDS_OK;
}

static int put(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_table_put, ledger->handle, element_of(number),
               mcds_text("a value of some length"), 0);
}

static int put_if_absent(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_table_put_if_absent, ledger->handle, element_of(number),
               mcds_text("a value of some length"), 0);
}

static int incr(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_table_incr, ledger->handle, element_of(number), 1, NULL);
}

static bool see_row(void *context, mcds_bytes key, mcds_bytes value)
{
    struct ledger *ledger = context;
    bool is_put = value.length == strlen("a value of some length");
    bool is_one = value.length == 1 && *(const char *)value.data == '1';
    ledger->foreign += !is_put && !is_one;
    see(ledger, key, element_of);
    return true;
}

static int read_table(struct ledger *ledger)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return read_one(ledger, mcds_table_scan(ledger->handle, &cursor, 0, see_row, ledger));
}

static int drop_table(struct ledger *ledger)
{
    return mcds_table_drop(ledger->handle);
}

static void close_table(struct ledger *ledger)
{
    mcds_table_close(ledger->handle);
}

/* Every second change replaces the row that the one before has put. */
static int replace(struct ledger *ledger, uint32_t number)
{
    mcds_bytes key = element_of(number - number % 2);
    if (number % 2 == 0)
        return ASK(ledger, number, mcds_table_put, ledger->handle, key, mcds_text("1"), 0);
    int result = ASK(ledger, number, mcds_table_compare_and_set, ledger->handle, key,
                     mcds_text("1"), mcds_text("2"), 0);
    return result;
}

static bool see_replaced(void *context, mcds_bytes key, mcds_bytes value)
{
    struct ledger *ledger = context;
    uint32_t number = number_in(ledger, key);
    bool is_second = value.length == 1 && *(const char *)value.data == '2';
    if (is_second && number + 1 < ledger->count)
        ledger->seen[number + 1]++;
    see(ledger, key, element_of);
    return true;
}

static int read_replaced(struct ledger *ledger)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    return read_one(ledger, mcds_table_scan(ledger->handle, &cursor, 0, see_replaced, ledger));
}

/* Arrays: so many changes to each. */

static int open_array(struct ledger *ledger, uint32_t number)
{
    mcds_array *array = NULL;
    uint32_t which = number / ARRAY_LENGTH;
    if (ledger->handles[which] != NULL)
        return MCDS_OK;
    TRY(mcds_array_open(ledger->store, name_of("a", which), NULL, &array));
    ledger->handles[which] = array;
    return MCDS_OK;
}

static int change_array(struct ledger *ledger, uint32_t number)
{
    mcds_bytes element = element_of(number);
    TRY(open_array(ledger, number));
    return ASK(ledger, number, mcds_array_change, ledger->handles[number / ARRAY_LENGTH],
               &element, 1, NULL, 0);
}

static bool see_array_element(void *context, mcds_bytes element)
{
    see(context, element, element_of);
    return true;
}

static int read_arrays(struct ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->count; i += ARRAY_LENGTH) {
        TRY(open_array(ledger, i));
        TRY(read_one(ledger, mcds_array_scan(ledger->handles[i / ARRAY_LENGTH],
                                             see_array_element, ledger)));
    }
    return MCDS_OK;
}

static int drop_arrays(struct ledger *ledger)
{
    int result = MCDS_OK;
    for (uint32_t i = 0; i < LEDGER_MAX; i++)
        if (ledger->handles[i] != NULL)
            result = worse(result, mcds_array_drop(ledger->handles[i]));
    return result;
}

static void close_arrays(struct ledger *ledger)
{
    for (uint32_t i = 0; i < LEDGER_MAX; i++)
        mcds_array_close(ledger->handles[i]);
}

/* Lists and logs, of small values, larger ones, and now and then a very large one. */

static mcds_bytes small_value(uint32_t number)
{
    return value_of(number, 100);
}

static mcds_bytes larger_value(uint32_t number)
{
    return value_of(number, 1000);
}

static int open_list(struct ledger *ledger)
{
    mcds_list *list = NULL;
    TRY(mcds_list_open(ledger->store, "list", NULL, &list));
    ledger->handle = list;
    return MCDS_OK;
}

static int push_small(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_list_push, ledger->handle, small_value(number));
}

static int push_larger(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_list_push, ledger->handle, larger_value(number));
}

static bool see_small(void *context, mcds_bytes value)
{
    see(context, value, small_value);
    return true;
}

static bool see_larger(void *context, mcds_bytes value)
{
    see(context, value, larger_value);
    return true;
}

static int read_small_list(struct ledger *ledger)
{
    return read_one(ledger, mcds_list_scan(ledger->handle, 0, 0, see_small, ledger));
}

static int read_larger_list(struct ledger *ledger)
{
    return read_one(ledger, mcds_list_scan(ledger->handle, 0, 0, see_larger, ledger));
}

static int drop_list(struct ledger *ledger)
{
    return mcds_list_drop(ledger->handle);
}

static void close_list(struct ledger *ledger)
{
    mcds_list_close(ledger->handle);
}

static int open_log(struct ledger *ledger)
{
    mcds_log *log = NULL;
    TRY(mcds_log_open(ledger->store, "log", NULL, &log));
    ledger->handle = log;
    return MCDS_OK;
}

static int put_event(struct ledger *ledger, uint32_t number)
{
    return ASK(ledger, number, mcds_log_put, ledger->handle, 0, larger_value(number));
}

static bool see_event(void *context, const mcds_log_event *event)
{
    see(context, event->event, larger_value);
    return true;
}

static int read_log(struct ledger *ledger)
{
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = mcds_log_scan(ledger->handle, &range, see_event, ledger, &info);
    ledger->is_lost = info.gaps > 0;
    return read_one(ledger, result);
}

static int drop_log(struct ledger *ledger)
{
    return mcds_log_drop(ledger->handle);
}

static void close_log(struct ledger *ledger)
{
    mcds_log_close(ledger->handle);
}

#define EACH SUBJECT_EACH
#define PARTS SUBJECT_PARTS
#define SUM SUBJECT_SUM
#define ESTIMATE SUBJECT_ESTIMATE
const struct subject ledger_subjects[] = {
    {"counter", EACH, open_nothing, write_counter, read_plain, drop_counters, close_counters},
    {"striped counter", EACH, open_nothing, write_striped, read_striped, drop_counters,
     close_counters},
    {"exact counter", EACH, open_nothing, write_exact, read_exact, drop_counters,
     close_counters},
    {"lock", EACH, open_nothing, write_lock, read_locks, drop_locks, close_locks},
    {"visitors", SUM, open_visitors_plain, hit, read_visitors, drop_visitors, close_visitors},
    {"exact visitors", SUM, open_visitors_exact, hit, read_visitors, drop_visitors,
     close_visitors},
    {"estimated visitors", ESTIMATE, open_visitors_estimated, hit, read_visitors, drop_visitors,
     close_visitors},
    {"online", SUM, open_online_plain, beat, read_online, drop_online, close_online},
    {"exact online", SUM, open_online_exact, beat, read_online, drop_online, close_online},
    {"estimated online", ESTIMATE, open_online_estimated, beat, read_online, drop_online,
     close_online},
    {"views", EACH, open_views, view, read_views, NULL, close_views},
    {"saved views", EACH, open_views, view, read_saved, NULL, close_views},
    {"set", EACH, open_plain_set, write_set, read_set, drop_set, close_set},
    {"bag", EACH, open_bag, write_set, read_set, drop_set, close_set},
    {"ordered set", EACH, open_ordered_set, write_set, read_set, drop_set, close_set},
    {"table put", EACH, open_table, put, read_table, drop_table, close_table},
    {"table put_if_absent", EACH, open_table, put_if_absent, read_table, drop_table,
     close_table},
    {"table incr", EACH, open_table, incr, read_table, drop_table, close_table},
    {"table compare_and_set", EACH, open_table, replace, read_replaced, drop_table,
     close_table},
    {"array", EACH, open_nothing, change_array, read_arrays, drop_arrays, close_arrays},
    {"list of small values", PARTS, open_list, push_small, read_small_list, drop_list,
     close_list},
    {"list", PARTS, open_list, push_larger, read_larger_list, drop_list, close_list},
    {"log", PARTS, open_log, put_event, read_log, drop_log, close_log},
};
const unsigned ledger_subject_count = sizeof ledger_subjects / sizeof ledger_subjects[0];
