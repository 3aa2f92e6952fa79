/* Structures that the store has lost as a whole. A handle that has seen a set, a table or a queue
 * reports that once, whatever it calls first, and then uses what is there. A drop is no loss. */
#include "structures/vanished.h"

#define LARGE 300 /* elements in several keys */
#define HOUR_MS INT64_C(3600000)

bool list_key(void *context, mcds_bytes key)
{
    struct listing *listing = context;
    size_t length = listing->root.length;
    const char *bytes = key.data;
    if (key.length < length || memcmp(bytes, listing->root.bytes, length) != 0 ||
        (key.length > length && bytes[length] != ':'))
        return true;
    assert_true(listing->count < KEYS_MAX);
    memcpy(listing->keys[listing->count].bytes, bytes, key.length);
    listing->keys[listing->count++].length = (uint8_t)key.length;
    return true;
}

void lose(struct suite *suite, const char *tag, const char *name)
{
    static struct listing listing;
    struct raw_key root = raw_key(suite, tag, name, -1);
    listing = (struct listing){.root = root.key};
    mcds_bytes every = {root.key.bytes, strlen(mcds__store_ns(suite->store)) + 1};
    CHECK_RESULT(MCDS_OK, mcds__store_keys(suite->store, every, list_key, &listing));
    assert_true(listing.count > 0);
    for (size_t i = 0; i < listing.count; i++) {
        struct raw_key own = {listing.keys[i], listing.keys[i]};
        struct raw_key beside = {listing.keys[i], root.key};
        mcds_outcome outcome = raw_delete(suite, &own);
        if (outcome == MCDS_OUT_MISS)
            outcome = raw_delete(suite, &beside);
        assert_int_equal(outcome, MCDS_OUT_OK);
    }
}

static bool see_key(void *context, mcds_bytes key)
{
    (void)context;
    (void)key;
    return false;
}

void skip_without_listing(struct suite *suite)
{
    if (mcds__store_keys(suite->store, mcds_text("none:"), see_key, NULL) == MCDS_OK)
        return;
    print_message("skipped: the keys cannot be listed here: %s\n", mcds_errmsg());
    skip();
}

bool see_nothing(void *context, mcds_bytes element, uint64_t count)
{
    (void)element;
    (void)count;
    ++*(uint32_t *)context;
    return true;
}

static mcds_set *open_set(mcds_store *store, const char *name, mcds_set_form form)
{
    mcds_set *set = NULL;
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    options.form = form;
    CHECK_RESULT(MCDS_OK, mcds_set_open(store, name, &options, &set));
    return set;
}

enum set_verb { HAS, SET_SCAN, ADD, ADD_ASKING, SET_REMOVE, REMOVE_ASKING, SET_VERBS };

static int call_set(struct suite *suite, mcds_set *set, enum set_verb verb)
{
    bool changed;
    uint32_t seen = 0;
    mcds_bytes element = mcds_text("a");
    switch (verb) {
    case HAS:
        return CALL(suite, mcds_set_has, set, element);
    case SET_SCAN:
        return CALL(suite, mcds_set_scan, set, see_nothing, &seen);
    case ADD:
        return CALL(suite, mcds_set_add, set, element, NULL);
    case ADD_ASKING:
        return CALL(suite, mcds_set_add, set, element, &changed);
    case SET_REMOVE:
        return CALL(suite, mcds_set_remove, set, element, NULL);
    default:
        return CALL(suite, mcds_set_remove, set, element, &changed);
    }
}

/* What a set that does not exist answers. */
static int of_no_set(enum set_verb verb)
{
    return verb == HAS || verb == SET_SCAN ? MCDS_NOT_FOUND : MCDS_OK;
}

static void fill_set(struct suite *suite, mcds_set *set, uint32_t count)
{
    CHECK(MCDS_OK, suite, mcds_set_add, set, mcds_text("a"), NULL);
    for (uint32_t i = 1; i < count; i++) {
        char element[80];
        (void)snprintf(element, sizeof element, "%070u", i);
        CHECK_RESULT(MCDS_OK, mcds_set_add(set, mcds_text(element), NULL));
    }
}

static void play_set(struct suite *suite, mcds_set_form form, uint32_t count, enum fate fate)
{
    enum set_verb end = count < LARGE ? SET_VERBS : ADD; /* a large one takes time */
    for (enum set_verb verb = HAS; verb < end; verb++) {
        const char *name = fresh_name(suite, "set");
        mcds_set *writer = open_set(suite->store, name, form);
        mcds_set *reader = open_set(suite->store, name, form);
        mcds_set *fresh = open_set(suite->store, name, form);
        fill_set(suite, writer, count);
        CHECK(MCDS_OK, suite, mcds_set_has, reader, mcds_text("a"));
        if (fate == LOST || fate == LOST_AND_MADE_AGAIN)
            lose(suite, MCDS__TAG_SET, name);
        else
            CHECK(MCDS_OK, suite, mcds_set_drop, writer);
        bool is_made_again = fate == LOST_AND_MADE_AGAIN || fate == DROPPED_AND_MADE_AGAIN;
        if (is_made_again)
            CHECK(MCDS_OK, suite, mcds_set_add, fresh, mcds_text("a"), NULL);
        if (fate == LOST || fate == LOST_AND_MADE_AGAIN)
            CHECK_RESULT(MCDS_LOST, call_set(suite, reader, verb));
        CHECK_RESULT(is_made_again ? MCDS_OK : of_no_set(verb), call_set(suite, reader, verb));
        mcds_set_close(fresh);
        mcds_set_close(reader);
        mcds_set_close(writer);
    }
}

static void a_set_that_is_lost_is_reported_once(struct suite *suite)
{
    skip_without_listing(suite);
    play_set(suite, MCDS_SET_PLAIN, 3, LOST);
    play_set(suite, MCDS_SET_BAG, 3, LOST);
    play_set(suite, MCDS_SET_LIST, 3, LOST);
    play_set(suite, MCDS_SET_PLAIN, 3, LOST_AND_MADE_AGAIN);
}

static void a_set_of_many_keys_that_is_lost_is_reported_once(struct suite *suite)
{
    skip_without_listing(suite);
    play_set(suite, MCDS_SET_PLAIN, LARGE, LOST);
}

static void a_set_that_is_dropped_is_not_lost(struct suite *suite)
{
    play_set(suite, MCDS_SET_PLAIN, 3, DROPPED);
    play_set(suite, MCDS_SET_LIST, 3, DROPPED_AND_MADE_AGAIN);
}

static bool see_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)value;
    return see_nothing(context, key, 1);
}

static mcds_table *open_table(mcds_store *store, const char *name)
{
    mcds_table *table = NULL;
    CHECK_RESULT(MCDS_OK, mcds_table_open(store, name, NULL, &table));
    return table;
}

enum table_verb {
    GET,
    TABLE_HAS,
    TABLE_SCAN,
    PUT,
    PUT_IF_ABSENT,
    COMPARE_AND_SET,
    TABLE_REMOVE,
    INCR,
    TABLE_VERBS
};

static int call_table(struct suite *suite, mcds_table *table, enum table_verb verb)
{
    mcds_bytes key = mcds_text("k"), one = mcds_text("1");
    mcds_value value = MCDS_VALUE_INIT;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    bool changed;
    uint32_t seen = 0;
    int result;
    switch (verb) {
    case GET:
        result = CALL(suite, mcds_table_get, table, key, &value);
        mcds_value_free(&value);
        return result;
    case TABLE_HAS:
        return CALL(suite, mcds_table_has, table, key);
    case TABLE_SCAN:
        result = CALL(suite, mcds_table_scan, table, &cursor, 1, see_entry, &seen);
        assert_true(seen == 1 || cursor.done);
        return result;
    case PUT:
        return CALL(suite, mcds_table_put, table, key, one, 0);
    case PUT_IF_ABSENT:
        return CALL(suite, mcds_table_put_if_absent, table, key, one, 0);
    case COMPARE_AND_SET:
        return CALL(suite, mcds_table_compare_and_set, table, key, one, one, 0);
    case TABLE_REMOVE:
        return CALL(suite, mcds_table_remove, table, key, &changed);
    default:
        return CALL(suite, mcds_table_incr, table, key, 1, NULL);
    }
}

/* What a table answers that does not exist, or that has the entry k = 1. */
static int of_table(enum table_verb verb, bool exists)
{
    if (verb == PUT_IF_ABSENT && exists)
        return MCDS_EXISTS;
    bool needs_entry = verb <= TABLE_SCAN || verb == COMPARE_AND_SET;
    return exists || !needs_entry ? MCDS_OK : MCDS_NOT_FOUND;
}

static void play_table(struct suite *suite, enum fate fate)
{
    for (enum table_verb verb = GET; verb < TABLE_VERBS; verb++) {
        const char *name = fresh_name(suite, "table");
        mcds_table *writer = open_table(suite->store, name);
        mcds_table *reader = open_table(suite->store, name);
        mcds_table *fresh = open_table(suite->store, name);
        bool is_made_again = fate == LOST_AND_MADE_AGAIN || fate == DROPPED_AND_MADE_AGAIN;
        CHECK_RESULT(MCDS_OK, call_table(suite, writer, PUT));
        CHECK_RESULT(MCDS_OK, call_table(suite, reader, GET));
        if (fate == LOST || fate == LOST_AND_MADE_AGAIN)
            lose(suite, MCDS__TAG_TABLE, name);
        else
            CHECK(MCDS_OK, suite, mcds_table_drop, writer);
        if (is_made_again)
            CHECK_RESULT(MCDS_OK, call_table(suite, fresh, PUT));
        if (fate == LOST || fate == LOST_AND_MADE_AGAIN)
            CHECK_RESULT(MCDS_LOST, call_table(suite, reader, verb));
        CHECK_RESULT(of_table(verb, is_made_again), call_table(suite, reader, verb));
        mcds_table_close(fresh);
        mcds_table_close(reader);
        mcds_table_close(writer);
    }
}

static void a_table_that_is_lost_is_reported_once(struct suite *suite)
{
    skip_without_listing(suite);
    play_table(suite, LOST);
    play_table(suite, LOST_AND_MADE_AGAIN);
}

static void a_table_that_is_dropped_is_not_lost(struct suite *suite)
{
    play_table(suite, DROPPED);
    play_table(suite, DROPPED_AND_MADE_AGAIN);
}

/* A drop finds nothing to erase, and ends what the handle has seen. */
static void a_drop_after_the_loss_finds_nothing(struct suite *suite)
{
    skip_without_listing(suite);
    const char *name = fresh_name(suite, "table");
    mcds_table *table = open_table(suite->store, name);
    CHECK_RESULT(MCDS_OK, call_table(suite, table, PUT));
    lose(suite, MCDS__TAG_TABLE, name);
    CHECK(MCDS_NOT_FOUND, suite, mcds_table_drop, table);
    CHECK_RESULT(MCDS_NOT_FOUND, call_table(suite, table, GET));
    mcds_table_close(table);
}

/* The mark of a drop is kept for a day; a handle that last saw the table half a day ago does not
 * take its absence for a loss. */
static void a_drop_of_long_ago_is_not_a_loss(struct suite *suite)
{
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    const char *name = fresh_name(suite, "table");
    mcds_table *writer = open_table(suite->store, name);
    mcds_table *reader = open_table(suite->store, name);
    CHECK_RESULT(MCDS_OK, call_table(suite, writer, PUT));
    CHECK_RESULT(MCDS_OK, call_table(suite, reader, GET));
    pass_ms(suite, 11 * HOUR_MS);
    CHECK(MCDS_OK, suite, mcds_table_drop, writer);
    pass_ms(suite, 30 * HOUR_MS);
    CHECK_RESULT(MCDS_NOT_FOUND, call_table(suite, reader, GET));
    CHECK_RESULT(MCDS_OK, call_table(suite, writer, PUT));
    CHECK_RESULT(MCDS_OK, call_table(suite, reader, INCR));
    pass_ms(suite, 11 * HOUR_MS);
    lose(suite, MCDS__TAG_TABLE, name);
    CHECK_RESULT(MCDS_LOST, call_table(suite, reader, GET));
    mcds_table_close(reader);
    mcds_table_close(writer);
}

/* The store forgets every key: each is placed by itself or by the beginning of it. */
static void lose_all(struct suite *suite)
{
    static struct listing listing;
    const char *ns = mcds__store_ns(suite->store);
    listing = (struct listing){.root = {.length = (uint8_t)strlen(ns)}};
    memcpy(listing.root.bytes, ns, strlen(ns));
    char every[MCDS__NS_MAX + 2];
    (void)snprintf(every, sizeof every, "%s:", ns);
    CHECK_RESULT(MCDS_OK, mcds__store_keys(suite->store, mcds_text(every), list_key, &listing));
    for (size_t i = 0; i < listing.count; i++) {
        struct raw_key key = {listing.keys[i], listing.keys[i]};
        while (raw_delete(suite, &key) != MCDS_OUT_OK && key.route.length > 1)
            key.route.length--;
    }
}

static bool see_bytes(void *context, mcds_bytes value)
{
    return see_nothing(context, value, 1);
}

static bool see_event(void *context, const mcds_log_event *event)
{
    return see_nothing(context, event->event, 1);
}

/* The table of docs/guarantees.md: what a handle reads that has seen what is lost. */
static void what_each_structure_answers(struct suite *suite)
{
    skip_without_listing(suite);
    mcds_counter_options forms[3] = {MCDS_COUNTER_OPTIONS_INIT, MCDS_COUNTER_OPTIONS_INIT,
                                     MCDS_COUNTER_OPTIONS_INIT};
    mcds_counter *counters[3];
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_array *array;
    mcds_list *list;
    mcds_log *log;
    mcds_log_info info = {.size = sizeof(mcds_log_info)};
    mcds_bytes one = mcds_text("1");
    uint32_t seen = 0;
    forms[1].flags = MCDS_COUNTER_STRICT;
    forms[2].flags = MCDS_COUNTER_EXACT;
    forms[2].flush_ms = MCDS_COUNTER_FLUSH_EACH;
    for (int i = 0; i < 3; i++) {
        CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, fresh_name(suite, "c"), &forms[i],
                                                &counters[i]));
        CHECK_RESULT(MCDS_OK, mcds_counter_add(counters[i], 5, NULL));
    }
    CHECK_RESULT(MCDS_OK, mcds_array_open(suite->store, fresh_name(suite, "a"), NULL, &array));
    CHECK_RESULT(MCDS_OK, mcds_list_open(suite->store, fresh_name(suite, "l"), NULL, &list));
    CHECK_RESULT(MCDS_OK, mcds_log_open(suite->store, fresh_name(suite, "e"), NULL, &log));
    CHECK_RESULT(MCDS_OK, mcds_array_set(array, &one, 1));
    CHECK_RESULT(MCDS_OK, mcds_list_push(list, one));
    CHECK_RESULT(MCDS_OK, mcds_list_scan(list, 0, 0, see_bytes, &seen));
    CHECK_RESULT(MCDS_OK, mcds_log_put(log, 0, one));
    CHECK_RESULT(MCDS_OK, mcds_log_scan(log, NULL, see_event, &seen, &info));
    lose_all(suite);
    seen = 0;
    for (int again = 0; again < 2; again++) {
        CHECK_RESULT(MCDS_LOST, mcds_counter_get(counters[0], &value));
        CHECK_RESULT(MCDS_LOST, mcds_counter_get(counters[1], &value));
        CHECK_RESULT(MCDS_OK, mcds_counter_get(counters[2], &value));
        assert_int_equal(value.value, 5);
        assert_true(value.reborn);
        int once = again == 0 ? MCDS_LOST : MCDS_NOT_FOUND;
        CHECK_RESULT(once, mcds_array_scan(array, see_bytes, &seen));
        CHECK_RESULT(once, mcds_list_scan(list, 0, 0, see_bytes, &seen));
        info.gaps = 0;
        CHECK_RESULT(MCDS_NOT_FOUND, mcds_log_scan(log, NULL, see_event, &seen, &info));
        assert_true(info.gaps > 0);
    }
    assert_int_equal(seen, 0);
    for (int i = 0; i < 3; i++)
        mcds_counter_close(counters[i]);
    mcds_log_close(log);
    mcds_list_close(list);
    mcds_array_close(array);
}

enum counted { VISITORS_EVER, VISITORS_OF_A_MINUTE, ONLINE, COUNTED };

struct members_case {
    enum counted counted;
    mcds_members members;
    mcds_visitors *visitors;
    mcds_online *online;
};

static void open_members(struct suite *suite, struct members_case *of, const char *name)
{
    mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
    visitors.members = online.members = of->members;
    visitors.period_ms = of->counted == VISITORS_EVER ? 0 : 60000;
    online.width_ms = 60000;
    if (of->counted == ONLINE)
        CHECK_RESULT(MCDS_OK, mcds_online_open(suite->store, name, &online, &of->online));
    else
        CHECK_RESULT(MCDS_OK, mcds_visitors_open(suite->store, name, &visitors, &of->visitors));
}

static void close_members(const struct members_case *of)
{
    if (of->counted == ONLINE)
        mcds_online_close(of->online);
    else
        mcds_visitors_close(of->visitors);
}

static int hit_members(const struct members_case *of, int number, int64_t at_ms)
{
    char name[16];
    (void)snprintf(name, sizeof name, "v%d", number);
    return of->counted == ONLINE ? mcds_online_beat(of->online, name, at_ms)
                                 : mcds_visitors_hit(of->visitors, name, at_ms);
}

static uint64_t get_members(const struct members_case *of, int64_t at_ms, bool *reborn_out)
{
    mcds_visitors_value visitors = MCDS_VISITORS_VALUE_INIT;
    mcds_online_value online = MCDS_ONLINE_VALUE_INIT;
    if (of->counted == ONLINE)
        CHECK_RESULT(MCDS_OK, mcds_online_get(of->online, at_ms, &online));
    else
        CHECK_RESULT(MCDS_OK, mcds_visitors_get(of->visitors, at_ms, &visitors));
    *reborn_out = of->counted == ONLINE ? online.reborn : visitors.reborn;
    return of->counted == ONLINE ? online.current : visitors.current;
}

/* Counts a visitor with this number or one of the next. EXISTS: an estimate has not changed, because the
 * hashes of two visitors agree; the handle knows that of those before the loss. */
static int hit_another(const struct members_case *of, int number, int64_t at_ms)
{
    int result = hit_members(of, number, at_ms);
    for (int i = 1; i < 10 && result == MCDS_EXISTS && of->members == MCDS_MEMBERS_ESTIMATED;
         i++)
        result = hit_members(of, number + i, at_ms);
    return result;
}

/* `other` counts first after the loss, or nobody but the handle itself. Without a period the first
 * call is LOST, as for a set. All that is left is counted, and the handle says that it is not all,
 * until it drops the count; a new handle does not know of it. */
static void play_members(struct suite *suite, const struct members_case *kind, bool by_other)
{
    struct members_case own = *kind, other = *kind;
    const char *name = fresh_name(suite, "members");
    int64_t at_ms = T0_MS;
    bool reborn;
    open_members(suite, &own, name);
    open_members(suite, &other, name);
    for (int i = 0; i < 50; i++)
        assert_true(hit_members(&own, 1000 + i, at_ms) >=
                    0); /* EXISTS: no register was raised */
    assert_true(get_members(&own, at_ms, &reborn) > 40);
    assert_false(reborn);
    lose_all(suite);
    if (by_other)
        CHECK_RESULT(MCDS_OK, hit_members(&other, 1, at_ms));
    if (kind->counted == VISITORS_EVER)
        CHECK_RESULT(MCDS_LOST, hit_another(&own, 2, at_ms));
    CHECK_RESULT(MCDS_OK, hit_another(&own, 2, at_ms));
    CHECK_RESULT(MCDS_OK, hit_another(&own, 1000, at_ms)); /* counted before */
    uint64_t most = by_other ? 3 : 2;
    uint64_t least = kind->members == MCDS_MEMBERS_ESTIMATED ? most - 1
                                                             : most; /* two share a register */
    for (int again = 0; again < 2; again++) {
        assert_in_range(get_members(&own, at_ms, &reborn), least, most);
        assert_true(reborn);
    }
    assert_in_range(get_members(&other, at_ms, &reborn), least, most);
    assert_false(reborn);
    CHECK_RESULT(MCDS_OK, kind->counted == ONLINE ? mcds_online_drop(own.online, at_ms)
                                                  : mcds_visitors_drop(own.visitors, at_ms));
    CHECK_RESULT(MCDS_OK, hit_members(&own, 1000, at_ms));
    assert_int_equal(get_members(&own, at_ms, &reborn), 1);
    assert_false(reborn);
    close_members(&own);
    close_members(&other);
}

static void members_that_are_counted_again_are_reborn(struct suite *suite)
{
    skip_without_listing(suite);
    for (enum counted counted = VISITORS_EVER; counted < COUNTED; counted++)
        for (mcds_members members = MCDS_MEMBERS_EXACT; members <= MCDS_MEMBERS_ESTIMATED;
             members++) {
            struct members_case kind = {counted, members, NULL, NULL};
            play_members(suite, &kind, false);
            play_members(suite, &kind, true);
        }
}

/* The first call of the handle after the loss is a read: it counts what another handle has counted
 * since. */
static void the_first_read_counts_what_others_counted(struct suite *suite)
{
    skip_without_listing(suite);
    for (int number = 0; number < 2 * COUNTED; number++) {
        struct members_case own = {
            (enum counted)(number / 2),
            number % 2 == 0 ? MCDS_MEMBERS_EXACT : MCDS_MEMBERS_ESTIMATED, NULL, NULL};
        struct members_case other = own;
        const char *name = fresh_name(suite, "members");
        bool reborn;
        open_members(suite, &own, name);
        open_members(suite, &other, name);
        CHECK_RESULT(MCDS_OK, hit_members(&own, 1, T0_MS));
        lose_all(suite);
        CHECK_RESULT(MCDS_OK, hit_members(&other, 2, T0_MS));
        for (int again = 0; again < 2; again++) {
            assert_int_equal(get_members(&own, T0_MS, &reborn), 1);
            assert_true(reborn);
        }
        close_members(&own);
        close_members(&other);
    }
}

/* What a handle knows of the registers holds for a second; then it looks whether the store still has
 * them. */
static void an_estimate_that_is_lost_is_counted_again(struct suite *suite)
{
    skip_without_listing(suite);
    for (enum counted counted = VISITORS_EVER; counted < COUNTED && !suite->own_clock;
         counted++) {
        struct members_case own = {counted, MCDS_MEMBERS_ESTIMATED, NULL, NULL};
        open_members(suite, &own, fresh_name(suite, "members"));
        CHECK_RESULT(MCDS_OK, hit_members(&own, 1, T0_MS));
        CHECK_RESULT(MCDS_EXISTS, hit_members(&own, 1, T0_MS));
        pass_ms(suite, 1000);
        lose_all(suite);
        if (counted == VISITORS_EVER)
            CHECK_RESULT(MCDS_LOST, hit_members(&own, 1, T0_MS));
        CHECK_RESULT(MCDS_OK, hit_members(&own, 1, T0_MS));
        CHECK_RESULT(MCDS_EXISTS, hit_members(&own, 1, T0_MS));
        close_members(&own);
    }
}

static int load_none(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views_out = 0;
    return 0;
}

static int save_none(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context;
    (void)page;
    (void)slot;
    (void)views;
    return 0;
}

/* The rest of the table: these report no loss to a caller that holds nothing. */
static void what_is_taken_or_counted_begins_again(struct suite *suite)
{
    skip_without_listing(suite);
    mcds_bytes key = mcds_text("k");
    mcds_limit_options limits = MCDS_LIMIT_OPTIONS_INIT;
    mcds_once_options strict = MCDS_ONCE_OPTIONS_INIT;
    mcds_views_options places = MCDS_VIEWS_OPTIONS_INIT;
    mcds_limit_value left = MCDS_LIMIT_VALUE_INIT;
    mcds_once_value state = MCDS_ONCE_VALUE_INIT;
    mcds_once_run run = MCDS_ONCE_RUN_INIT, done = MCDS_ONCE_RUN_INIT,
                  next = MCDS_ONCE_RUN_INIT;
    mcds_value result = MCDS_VALUE_INIT;
    mcds_limit *limit;
    mcds_once *once;
    mcds_ids *ids;
    mcds_views *views;
    uint64_t first, second;
    int32_t code;
    int64_t count;
    limits.rate_count = 1;
    limits.rates[0] = (mcds_rate){5, 3600000, 0};
    strict.flags = MCDS_ONCE_STRICT;
    places.load = load_none;
    places.save = save_none;
    int opened = mcds_once_open(suite->store, fresh_name(suite, "o"), &strict, &once);
    skip_if_unsupported(opened);
    CHECK_RESULT(MCDS_OK, opened);
    CHECK_RESULT(MCDS_OK,
                 mcds_limit_open(suite->store, fresh_name(suite, "r"), &limits, &limit));
    CHECK_RESULT(MCDS_OK, mcds_ids_open(suite->store, fresh_name(suite, "i"), NULL, &ids));
    CHECK_RESULT(MCDS_OK,
                 mcds_views_open(suite->store, fresh_name(suite, "v"), &places, &views));
    CHECK_RESULT(MCDS_OK, mcds_limit_take(limit, key, 5, 0, &left));
    CHECK_RESULT(MCDS_OK, mcds_once_begin(once, key, key, 0, &run, &result, &code));
    CHECK_RESULT(MCDS_OK, mcds_once_begin(once, mcds_text("d"), key, 0, &done, &result, &code));
    CHECK_RESULT(MCDS_OK, mcds_once_finish(once, &done, 0, key));
    CHECK_RESULT(MCDS_OK, mcds_ids_take(ids, 1, &first));
    CHECK_RESULT(MCDS_OK, mcds_views_hit(views, "/", 7));
    lose_all(suite);
    CHECK_RESULT(MCDS_OK, mcds_limit_get(limit, key, &left));
    assert_int_equal(left.remaining, 5);
    CHECK_RESULT(MCDS_OK, mcds_limit_take(limit, key, 5, 0, &left));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_once_get(once, mcds_text("d"), &state, &result));
    CHECK_RESULT(MCDS_LOST, mcds_once_finish(once, &run, 0, key));
    CHECK_RESULT(MCDS_OK, mcds_once_begin(once, key, key, 0, &next, &result, &code));
    assert_true(next.mine);
    CHECK_RESULT(MCDS_OK, mcds_ids_take(ids, MCDS_IDS_TAKE_MAX, &second));
    assert_true(second > first);
    CHECK_RESULT(MCDS_OK, mcds_views_get(views, "/", &count));
    assert_int_equal(count, 0);
    CHECK_RESULT(MCDS_OK, mcds_views_hit(views, "/", 2));
    CHECK_RESULT(MCDS_OK, mcds_views_get(views, "/", &count));
    assert_int_equal(count, 2);
    mcds_value_free(&result);
    mcds_views_close(views);
    mcds_ids_close(ids);
    mcds_limit_close(limit);
    mcds_once_close(once);
}

static const struct suite_case cases[] = {
    CASE(a_set_that_is_lost_is_reported_once),
    CASE_ONCE(a_set_of_many_keys_that_is_lost_is_reported_once),
    CASE(a_set_that_is_dropped_is_not_lost),
    CASE(a_table_that_is_lost_is_reported_once),
    CASE(a_table_that_is_dropped_is_not_lost),
    CASE_TWICE(a_drop_after_the_loss_finds_nothing),
    CASE_TWICE(a_drop_of_long_ago_is_not_a_loss),
    CASE(a_queue_that_is_lost_is_reported_once),
    CASE(a_queue_that_is_dropped_is_not_lost),
    CASE_TWICE(a_queue_without_its_list_keeps_jobs),
    CASE_TWICE(a_job_of_the_queue_made_since_stays_held),
    CASE_TWICE(a_foreign_part_is_not_passed_over),
    CASE_ONCE(what_each_structure_answers),
    CASE_ONCE(what_is_taken_or_counted_begins_again),
    CASE_ONCE(members_that_are_counted_again_are_reborn),
    CASE_ONCE(an_estimate_that_is_lost_is_counted_again),
    CASE_ONCE(the_first_read_counts_what_others_counted),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
