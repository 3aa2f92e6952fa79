/* One key of a structure holds bytes that mcds did not write. Each verb that refuses them names this
 * key, and no other: in mcds_last_error(), and in the sentence. */
#include "base/buffer.h"
#include "structures/suite.h"
#include "support/no_database.h"
#include "support/pass_over.h"

#define ENTRIES 60
#define LARGE 100000
#define LARGEST 1300000
#define KEYS_MAX 512
#define VALUE_MAX ((size_t)1 << 24)

static const mcds_rate rate = {1000, 60000, 0};
static const char *const people[] = {"ann", "bob", "cleo"};
static const char foreign[] = "who wrote this?? it is not of mcds, and no number either";

struct subject {
    const char *noun;
    const char *name; /* unique within the first 20 bytes of a key */
    uint32_t least;   /* so many of its keys are refused, or more, */
    bool has_parts;   /* and one of these is not that of the name */
    bool is_held;     /* made again for each key: another caller cannot take what is held */
    void *(*open)(struct suite *suite, const char *name);
    void (*fill)(struct suite *suite, void *handle);
    int (*read)(struct suite *suite, void *handle);
    int (*change)(struct suite *suite, void *handle);
    void (*close)(void *handle);
};

static mcds_bytes entry(uint32_t i)
{
    static char text[200];
    int length = snprintf(text, sizeof text, "%u %150s", (unsigned)i, "of many");
    return (mcds_bytes){text, (size_t)length};
}

static mcds_bytes large(size_t length)
{
    static char text[LARGEST];
    assert_in_range(length, 1, LARGEST);
    memset(text, 'x', length);
    return (mcds_bytes){text, length};
}

/* open_X(suite, name) with the options that `set` sets. */
#define OPEN(function, type, upper, set)                                                       \
    static void *function(struct suite *suite, const char *name)                               \
    {                                                                                          \
        mcds_##type *handle = NULL;                                                            \
        mcds_##type##_options options = MCDS_##upper##_OPTIONS_INIT;                           \
        set;                                                                                   \
        CHECK_RESULT(MCDS_OK, mcds_##type##_open(suite->store, name, &options, &handle));      \
        return handle;                                                                         \
    }
#define CLOSE(type)                                                                            \
    static void close_##type(void *handle)                                                     \
    {                                                                                          \
        mcds_##type##_close(handle);                                                           \
    }

OPEN(open_plain, counter, COUNTER, (void)options)
OPEN(open_striped, counter, COUNTER, options.stripes = 4)
OPEN(open_exact, counter, COUNTER, options.flags = MCDS_COUNTER_EXACT)
OPEN(open_visitors, visitors, VISITORS, options.members = MCDS_MEMBERS_EXACT)
OPEN(open_estimate, visitors, VISITORS, options.members = MCDS_MEMBERS_ESTIMATED)
OPEN(open_online, online, ONLINE, options.members = MCDS_MEMBERS_EXACT)
OPEN(open_set, set, SET, options.form = MCDS_SET_PLAIN)
OPEN(open_table, table, TABLE, (void)options)
OPEN(open_array, array, ARRAY, (void)options)
OPEN(open_list, list, LIST, (void)options)
OPEN(open_log, log, LOG, (void)options)
OPEN(open_views, views, VIEWS, options = views_without_database())
OPEN(open_lock, lock, LOCK, (void)options)
OPEN(open_semaphore, semaphore, SEMAPHORE, options.permits = 1)
OPEN(open_queue, queue, QUEUE, options.flags = MCDS_QUEUE_MAY_LOSE)
OPEN(open_limit, limit, LIMIT, options.rate_count = 1; options.rates[0] = rate)
OPEN(open_window, limit, LIMIT, options.rate_count = 1; options.form = MCDS_LIMIT_WINDOW;
     options.rates[0] = rate)
OPEN(open_ids, ids, IDS, (void)options)
OPEN(open_once, once, ONCE, (void)options)
OPEN(open_cache, cache, CACHE, (void)options)
CLOSE(counter)
CLOSE(visitors)
CLOSE(online)
CLOSE(set)
CLOSE(table)
CLOSE(array)
CLOSE(list)
CLOSE(log)
CLOSE(views)
CLOSE(lock)
CLOSE(semaphore)
CLOSE(queue)
CLOSE(limit)
CLOSE(ids)
CLOSE(once)
CLOSE(cache)

#define FILL(function, statement)                                                              \
    static void function(struct suite *suite, void *handle)                                    \
    {                                                                                          \
        (void)suite;                                                                           \
        statement;                                                                             \
    }
#define VERB(function, declaration, call)                                                      \
    static int function(struct suite *suite, void *handle)                                     \
    {                                                                                          \
        declaration;                                                                           \
        return call;                                                                           \
    }
#define EACH(i, count, call)                                                                   \
    for (uint32_t i = 0; i < (count); i++)                                                     \
    CHECK_RESULT(MCDS_OK, call)

static bool is_unreadable(int result, const mcds_error *error)
{
    return result == MCDS_CORRUPT ||
           (result < 0 &&
            (error->cause == MCDS_CAUSE_FOREIGN || error->cause == MCDS_CAUSE_NEWER ||
             error->cause == MCDS_CAUSE_DAMAGED || error->cause == MCDS_CAUSE_NOT_A_NUMBER));
}

/* One of the stripes. */
static int add_until_refused(struct suite *suite, void *handle)
{
    int result = MCDS_OK;
    for (int i = 0; i < 24 && result == MCDS_OK; i++)
        result = CALL(suite, mcds_counter_add, handle, 1, NULL);
    return result;
}

static int add_exactly(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_counter_add, handle, 1, NULL);
    return CALL(suite, mcds_counter_flush, handle);
}

VERB(get_counter, mcds_counter_value value = MCDS_COUNTER_VALUE_INIT,
     CALL(suite, mcds_counter_get, handle, &value))
FILL(fill_counter, (void)add_until_refused(suite, handle))
FILL(fill_exact, CHECK_RESULT(MCDS_OK, add_exactly(suite, handle)))
FILL(fill_visitors, EACH(i, 3, mcds_visitors_hit(handle, people[i], 0)))
VERB(hit_visitors, , CALL(suite, mcds_visitors_hit, handle, people[1], 0))
VERB(get_visitors, mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT,
     CALL(suite, mcds_visitors_get, handle, 0, &value))
FILL(fill_online, EACH(i, 3, mcds_online_beat(handle, people[i], 0)))
VERB(beat_online, , CALL(suite, mcds_online_beat, handle, people[1], 0))
VERB(get_online, mcds_online_value value = MCDS_ONLINE_VALUE_INIT,
     CALL(suite, mcds_online_get, handle, 0, &value))
FILL(fill_set, EACH(i, ENTRIES, mcds_set_add(handle, entry(i), NULL)))
VERB(add_set, , CALL(suite, mcds_set_add, handle, entry(7), NULL))
VERB(scan_set, , CALL(suite, mcds_set_scan, handle, pass_element, NULL))
FILL(fill_table, EACH(i, ENTRIES, mcds_table_put(handle, entry(i), mcds_text("1"), 0)))
VERB(put_table, , CALL(suite, mcds_table_put, handle, entry(7), mcds_text("2"), 0))

/* In place, where the store shows values in this process. */
static int get_each(struct suite *suite, void *handle)
{
    int result = MCDS_OK;
    for (uint32_t i = 0; i < ENTRIES && result == MCDS_OK; i++) {
        mcds_value value = {0};
        result = CALL(suite, mcds_table_get, handle, entry(i), &value);
        mcds_value_free(&value);
    }
    return result;
}

FILL(fill_array, mcds_bytes whole = large(LARGEST);
     EACH(i, 1, mcds_array_set(handle, &whole, 1)))
VERB(set_array, mcds_bytes whole = large(LARGEST),
     CALL(suite, mcds_array_set, handle, &whole, 1))
VERB(scan_array, , CALL(suite, mcds_array_scan, handle, pass_bytes, NULL))
FILL(fill_list, EACH(i, ENTRIES, mcds_list_push(handle, entry(i)));
     EACH(i, 1, mcds_list_push(handle, large(LARGE))))
VERB(push_list, , CALL(suite, mcds_list_push, handle, entry(7)))
VERB(scan_list, , CALL(suite, mcds_list_scan, handle, 0, 0, pass_bytes, NULL))
FILL(fill_log, EACH(i, ENTRIES, mcds_log_put(handle, 0, entry(i)));
     EACH(i, 1, mcds_log_put(handle, 0, large(LARGE))))
VERB(put_log, , CALL(suite, mcds_log_put, handle, 0, entry(7)))
VERB(scan_log, mcds_log_info info = MCDS_LOG_INFO_INIT,
     CALL(suite, mcds_log_scan, handle, NULL, pass_event, NULL, &info))
FILL(fill_views, EACH(i, 3, mcds_views_hit(handle, "page", 1)))
VERB(hit_views, , CALL(suite, mcds_views_hit, handle, "page", 1))
VERB(get_views, int64_t number, CALL(suite, mcds_views_get, handle, "page", &number))

static mcds_lease lease;
static mcds_permit permit;
static mcds_once_run once_run;

FILL(fill_lock, lease = (mcds_lease)MCDS_LEASE_INIT;
     EACH(i, 1, mcds_lock_try_acquire(handle, &lease)))

/* The caller gives up what it holds, and tries again. */
static int acquire_lock(struct suite *suite, void *handle)
{
    int released = CALL(suite, mcds_lock_release, handle, &lease);
    if (is_unreadable(released, mcds_last_error()))
        return released;
    lease = (mcds_lease)MCDS_LEASE_INIT;
    return CALL(suite, mcds_lock_try_acquire, handle, &lease);
}

static int acquire_semaphore(struct suite *suite, void *handle)
{
    int released = CALL(suite, mcds_semaphore_release, handle, &permit);
    if (is_unreadable(released, mcds_last_error()))
        return released;
    permit = (mcds_permit)MCDS_PERMIT_INIT;
    return CALL(suite, mcds_semaphore_try_acquire, handle, &permit);
}

VERB(holder_of_lock, mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT,
     CALL(suite, mcds_lock_get_holder, handle, &holder))

static bool pass_holder(void *context, const mcds_semaphore_holder *holder)
{
    (void)context;
    (void)holder;
    return true;
}

FILL(fill_semaphore, permit = (mcds_permit)MCDS_PERMIT_INIT;
     EACH(i, 1, mcds_semaphore_try_acquire(handle, &permit)))
VERB(holders_of_semaphore, , CALL(suite, mcds_semaphore_holders, handle, pass_holder, NULL))
FILL(fill_queue, EACH(i, ENTRIES, mcds_queue_push(handle, entry(i), 0)))
VERB(push_queue, , CALL(suite, mcds_queue_push, handle, entry(7), 0))
VERB(scan_queue, , CALL(suite, mcds_queue_scan, handle, 0, pass_job, NULL))
FILL(fill_limit, EACH(i, ENTRIES, mcds_limit_take(handle, entry(i), 1, 0, NULL)))
VERB(take_limit, , CALL(suite, mcds_limit_take, handle, entry(7), 1, 0, NULL))
VERB(get_limit, mcds_limit_value value = MCDS_LIMIT_VALUE_INIT,
     CALL(suite, mcds_limit_get, handle, entry(7), &value))
VERB(next_id, uint64_t id, CALL(suite, mcds_ids_next, handle, &id))
FILL(fill_ids, CHECK_RESULT(MCDS_OK, next_id(suite, handle)))

static int begin_work(struct suite *suite, void *handle, mcds_once_run *run)
{
    mcds_value result = {0};
    int done = CALL(suite, mcds_once_begin, handle, mcds_text("k"), mcds_text("r"), 0, run,
                    &result, NULL);
    mcds_value_free(&result);
    return done;
}

FILL(fill_once, once_run = (mcds_once_run)MCDS_ONCE_RUN_INIT;
     CHECK_RESULT(MCDS_OK, begin_work(suite, handle, &once_run)))

static int get_once(struct suite *suite, void *handle)
{
    mcds_once_value value = MCDS_ONCE_VALUE_INIT;
    mcds_value result = {0};
    int done = CALL(suite, mcds_once_get, handle, mcds_text("k"), &value, &result);
    mcds_value_free(&result);
    return done;
}

VERB(begin_once, mcds_once_run other = MCDS_ONCE_RUN_INIT, begin_work(suite, handle, &other))

static const mcds_bytes tag = {"tag", 3};

static int give_large(void *context, mcds_bytes key, mcds_fill *fill)
{
    (void)context;
    (void)key;
    return mcds_fill_add(fill, large(LARGEST));
}

static int fetch_cache(struct suite *suite, void *handle)
{
    mcds_value value = {0};
    int result = CALL(suite, mcds_cache_fetch, handle, mcds_text("k"), &tag, 1, give_large,
                      NULL, &value, NULL);
    mcds_value_free(&value);
    return result;
}

static int look_cache(struct suite *suite, void *handle)
{
    mcds_value value = {0};
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    int result = CALL(suite, mcds_cache_look, handle, mcds_text("k"), &tag, 1, 0, &value,
                      &claim);
    mcds_value_free(&value);
    if (claim.mine)
        CHECK(MCDS_OK, suite, mcds_cache_release, handle, &claim);
    return result;
}

FILL(fill_cache, CHECK_RESULT(MCDS_OK, fetch_cache(suite, handle)))

static const struct subject subjects[] = {
    {"counter", "u-plain", 1, false, false, open_plain, fill_counter, get_counter,
     add_until_refused, close_counter},
    {"counter", "u-striped", 1, true, false, open_striped, fill_counter, get_counter,
     add_until_refused, close_counter},
    {"counter", "u-exact", 1, true, false, open_exact, fill_exact, get_counter, add_exactly,
     close_counter},
    {"visitors", "u-visitors", 2, true, false, open_visitors, fill_visitors, get_visitors,
     hit_visitors, close_visitors},
    {"visitors", "u-estimate", 2, true, false, open_estimate, fill_visitors, get_visitors,
     hit_visitors, close_visitors},
    {"online", "u-online", 2, true, false, open_online, fill_online, get_online, beat_online,
     close_online},
    {"set", "u-set", 2, true, false, open_set, fill_set, scan_set, add_set, close_set},
    {"table", "u-table", 2, true, false, open_table, fill_table, get_each, put_table,
     close_table},
    {"array", "u-array", 1, true, false, open_array, fill_array, scan_array, set_array,
     close_array},
    {"list", "u-list", 2, true, false, open_list, fill_list, scan_list, push_list, close_list},
    {"log", "u-log", 2, true, false, open_log, fill_log, scan_log, put_log, close_log},
    {"views", "u-views", 2, true, false, open_views, fill_views, get_views, hit_views,
     close_views},
    {"lock", "u-lock", 2, false, true, open_lock, fill_lock, holder_of_lock, acquire_lock,
     close_lock},
    {"semaphore", "u-semaphore", 3, true, true, open_semaphore, fill_semaphore,
     holders_of_semaphore, acquire_semaphore, close_semaphore},
    {"queue", "u-queue", 2, true, false, open_queue, fill_queue, scan_queue, push_queue,
     close_queue},
    {"limit", "u-limit", 2, true, false, open_limit, fill_limit, get_limit, take_limit,
     close_limit},
    {"limit", "u-window", 2, true, false, open_window, fill_limit, get_limit, take_limit,
     close_limit},
    {"ids", "u-ids", 1, false, false, open_ids, fill_ids, next_id, next_id, close_ids},
    {"once", "u-once", 1, true, false, open_once, fill_once, get_once, begin_once, close_once},
    {"cache", "u-cache", 1, true, false, open_cache, fill_cache, look_cache, fetch_cache,
     close_cache},
};

/* The keys of one structure. */
struct keys {
    char needle[32];
    uint32_t count;
    struct mcds__key list[KEYS_MAX];
};

static bool take_key(void *context, mcds_bytes key)
{
    struct keys *keys = context;
    struct mcds__key taken = {.length = (uint8_t)key.length};
    assert_in_range(key.length, 1, MCDS__KEY_MAX);
    memcpy(taken.bytes, key.data, key.length);
    const char *found = strstr(taken.bytes, keys->needle);
    char after = found != NULL ? found[strlen(keys->needle)] : 'x';
    if (after != '\0' && after != ':')
        return true;
    assert_true(keys->count < KEYS_MAX);
    keys->list[keys->count++] = taken;
    return true;
}

static void list_keys(struct suite *suite, const struct subject *subject, struct keys *keys)
{
    memset(keys, 0, sizeof *keys);
    (void)snprintf(keys->needle, sizeof keys->needle, ":%s", subject->name);
    CHECK_RESULT(MCDS_OK, mcds__store_keys(suite->store, mcds_text("mcds:"), take_key, keys));
}

static mcds_outcome run_raw(struct suite *suite, mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request, .count = 1, .deadline_ns = INT64_MAX, .values = values};
    mcds__store_execute(suite->store, 0, &batch);
    return request->reply.outcome;
}

/* The store has the bytes under the key, with these client flags. */
static void put_raw(struct suite *suite, const struct mcds__key *key, uint32_t flags,
                    mcds_bytes value)
{
    mcds_request request = {
        .command = MCDS_SET, .key = mcds__key_bytes(key), .flags = flags, .value = value};
    assert_int_equal(run_raw(suite, &request, NULL), MCDS_OUT_OK);
}

/* Returns whether the call has refused the key, which it names then. */
static bool judge(int result, const struct subject *subject, const struct mcds__key *key)
{
    const mcds_error *error = mcds_last_error();
    char shown[MCDS__KEY_MAX + 16];
    if (result >= 0)
        return false;
    if (!is_unreadable(result, error)) {
        assert_string_equal(error->key, "");
        return false;
    }
    (void)snprintf(shown, sizeof shown, "%s key %s: %s", error->peer[0] != '\0' ? "," : ":",
                   key->bytes, error->reason);
    if (strcmp(error->key, key->bytes) != 0 || strstr(mcds_errmsg(), shown) == NULL)
        fail_msg("%s is damaged, and '%s' is named: %s", key->bytes, error->key, mcds_errmsg());
    assert_string_equal(error->noun, subject->noun);
    return true;
}

/* Returns whether a verb has refused the key. */
static bool try_key(struct suite *suite, const struct subject *subject, void *used,
                    const struct mcds__key *key)
{
    bool is_refused = false;
    mcds_buffer kept;
    mcds_request get = {.command = MCDS_GET, .key = mcds__key_bytes(key)};
    mcds__buffer_init(&kept, &suite->fake.env, VALUE_MAX);
    /* A verb may have erased it. */
    if (run_raw(suite, &get, &kept) == MCDS_OUT_MISS)
        subject->fill(suite, used);
    if (get.reply.outcome == MCDS_OUT_OK || run_raw(suite, &get, &kept) == MCDS_OUT_OK) {
        mcds_bytes value = {kept.data + get.reply.value_at, get.reply.value_length};
        for (uint32_t with_flags = 0; with_flags < 2; with_flags++) {
            put_raw(suite, key, with_flags * get.reply.flags, mcds_text(foreign));
            is_refused |= judge(subject->read(suite, used), subject, key);
            void *fresh = subject->open(suite, subject->name);
            is_refused |= judge(subject->read(suite, fresh), subject, key);
            put_raw(suite, key, with_flags * get.reply.flags, mcds_text(foreign));
            is_refused |= judge(subject->change(suite, used), subject, key);
            put_raw(suite, key, with_flags * get.reply.flags, mcds_text(foreign));
            is_refused |= judge(subject->change(suite, fresh), subject, key);
            subject->close(fresh);
            put_raw(suite, key, get.reply.flags, value);
        }
    }
    mcds__buffer_free(&kept);
    return is_refused;
}

static bool is_part(const struct keys *keys, uint32_t number)
{
    return strlen(strstr(keys->list[number].bytes, keys->needle)) > strlen(keys->needle);
}

static void erase(struct suite *suite, const struct keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++) {
        mcds_request request = {.command = MCDS_DELETE, .key = mcds__key_bytes(&keys->list[i])};
        (void)run_raw(suite, &request, NULL);
    }
}

static void *make(struct suite *suite, const struct subject *subject)
{
    void *handle = subject->open(suite, subject->name);
    subject->fill(suite, handle);
    return handle;
}

/* Returns whether enough keys were refused. The parts come first, because a verb that replaces the root
 * may erase them. */
static bool try_subject(struct suite *suite, const struct subject *subject)
{
    static struct keys keys;
    uint32_t refused = 0, parts = 0;
    void *handle = make(suite, subject);
    list_keys(suite, subject, &keys);
    for (uint32_t i = 0; i < 2 * keys.count; i++) {
        uint32_t number = i % keys.count;
        if (is_part(&keys, number) != (i < keys.count))
            continue;
        bool is_refused = try_key(suite, subject, handle, &keys.list[number]);
        refused += is_refused;
        parts += is_refused && i < keys.count;
        if (!subject->is_held)
            continue;
        erase(suite, &keys);
        subject->close(handle);
        handle = make(suite, subject);
    }
    bool is_enough = refused >= subject->least && (parts > 0 || !subject->has_parts);
    if (!is_enough)
        print_error("%s: of %u keys, %u are refused, and %u of these are parts\n",
                    subject->name, keys.count, refused, parts);
    subject->close(handle);
    list_keys(suite, subject, &keys); /* with those that the verbs have made */
    erase(suite, &keys);
    return is_enough;
}

static void the_refused_key_is_named(struct suite *suite)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        wrong += !try_subject(suite, &subjects[i]);
    assert_int_equal(wrong, 0);
}

static const struct suite_case cases[] = {CASE_TWICE(the_refused_key_is_named)};
const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
