/* STORE: names of every byte, names that differ in one byte, names that look like keys or escapes, and
 * names with one unkeyed hash, under every structure. No two share anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcds.h"
#include "support/fixture.h"
#include "support/no_database.h"

#define HANG_S 600
#define NAMES_MAX 700
#define NAME_CAPACITY 300
#define COLLIDING 60
#define TIMEOUT_MS 60000

static char names[NAMES_MAX][NAME_CAPACITY];
static unsigned name_count;

static void check(bool fine, const char *what, unsigned i)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s, name %u of %zu bytes: %s\n", what, i, strlen(names[i]),
                  mcds_errmsg());
    exit(1);
}

static void add_name(const void *bytes, size_t length)
{
    memcpy(names[name_count], bytes, length);
    names[name_count++][length] = '\0';
}

static void make_names(void)
{
    /* The bytes of the secret of XXH3 with which such names are mixed. */
    static const unsigned char secret[] = {0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe};
    static const char *const odd[] = {"%41", "A%",    "a:b",  "a",     ":a",
                                      "a:",  "a:b:c", "~",    "~a",    "x 1",
                                      " ",   "\t",    "\r\n", "get x", "\xff\xfe"};
    char text[NAME_CAPACITY];
    for (int byte = 1; byte < 256; byte++) {
        char one = (char)byte;
        add_name(&one, 1);
        (void)snprintf(text, sizeof text, "x%cy", one);
        add_name(text, 3);
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (strlen(odd[i]) > 1)
            add_name(odd[i], strlen(odd[i]));
    for (int i = 0; i < COLLIDING; i++) {
        int length = snprintf(text, sizeof text, "%.8s%08dthe-same-last-16",
                              (const char *)secret, i);
        add_name(text, (size_t)length);
    }
    for (int i = 0; i < 30; i++) { /* so long that they are kept as a hash */
        memset(text, 'a' + i % 2, sizeof text);
        (void)snprintf(text + 250, 20, "%d", i);
        add_name(text, strlen(text));
    }
}

/* Each opens what the name is of, changes it by i + 1, or finds that there. */
static void use_counter(mcds_store *store, unsigned i, bool finds)
{
    mcds_counter *counter;
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    check(mcds_counter_open(store, names[i], NULL, &counter) == MCDS_OK, "counter", i);
    if (!finds)
        check(mcds_counter_add(counter, i + 1, NULL) == MCDS_OK, "counter", i);
    else
        check(mcds_counter_get(counter, &value) == MCDS_OK && value.value == i + 1, "counter",
              i);
    mcds_counter_close(counter);
}

static void use_lock(mcds_store *store, unsigned i, bool finds)
{
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_lease lease = MCDS_LEASE_INIT;
    mcds_lock *lock;
    char label[32];
    (void)snprintf(label, sizeof label, "holder %u", i);
    options.lease_ms = 3600000;
    options.label = label;
    check(mcds_lock_open(store, names[i], &options, &lock) == MCDS_OK, "lock", i);
    if (!finds)
        check(mcds_lock_try_acquire(lock, &lease) == MCDS_OK, "lock", i);
    else
        check(mcds_lock_get_holder(lock, &holder) == MCDS_OK &&
                  strcmp(holder.label, label) == 0,
              "lock", i);
    mcds_lock_close(lock);
}

static void use_visitors(mcds_store *store, unsigned i, bool finds)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *visitors;
    options.members = i % 3;
    check(mcds_visitors_open(store, names[i], &options, &visitors) == MCDS_OK, "visitors", i);
    if (!finds)
        check(mcds_visitors_hit(visitors, names[i], 1) == MCDS_OK, "visitors", i);
    else
        check(mcds_visitors_get(visitors, 1, &value) == MCDS_OK && value.current == 1,
              "visitors", i);
    mcds_visitors_close(visitors);
}

static void use_online(mcds_store *store, unsigned i, bool finds)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_online *online;
    options.members = i % 3;
    check(mcds_online_open(store, names[i], &options, &online) == MCDS_OK, "online", i);
    if (!finds)
        check(mcds_online_beat(online, names[i], 1) == MCDS_OK, "online", i);
    else
        check(mcds_online_get(online, 1, &value) == MCDS_OK && value.current == 1, "online", i);
    mcds_online_close(online);
}

/* Of the views of its own name, and as a page of others. */
static void use_views(mcds_store *store, unsigned i, bool finds)
{
    mcds_views_options options = views_without_database();
    for (unsigned as_page = 0; as_page < 2; as_page++) {
        const char *name = as_page ? "the same" : names[i];
        const char *page = as_page ? names[i] : "one page";
        int64_t value = 0;
        mcds_views *views;
        check(mcds_views_open(store, name, &options, &views) == MCDS_OK, "views", i);
        if (!finds)
            check(mcds_views_hit(views, page, i + 1) == MCDS_OK, "views", i);
        else
            check(mcds_views_get(views, page, &value) == MCDS_OK && value == i + 1, "views", i);
        mcds_views_close(views);
    }
}

static bool is_the_same(const char *name, mcds_bytes bytes)
{
    return bytes.length == strlen(name) && memcmp(bytes.data, name, bytes.length) == 0;
}

static bool see_element(void *context, mcds_bytes element, uint64_t count)
{
    check(count == 1 && is_the_same(names[*(unsigned *)context], element), "set",
          *(unsigned *)context);
    return true;
}

static void use_set(mcds_store *store, unsigned i, bool finds)
{
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    mcds_set *set;
    options.form = (mcds_set_form)(i % 3);
    check(mcds_set_open(store, names[i], &options, &set) == MCDS_OK, "set", i);
    if (!finds)
        check(mcds_set_add(set, mcds_text(names[i]), NULL) == MCDS_OK, "set", i);
    else
        check(mcds_set_scan(set, see_element, &i) == MCDS_OK, "set", i);
    mcds_set_close(set);
}

static void use_table(mcds_store *store, unsigned i, bool finds)
{
    mcds_value value = MCDS_VALUE_INIT;
    mcds_table *table;
    check(mcds_table_open(store, "one table", NULL, &table) == MCDS_OK, "table", i);
    if (!finds)
        check(mcds_table_put(table, mcds_text(names[i]), mcds_text(names[i]), 0) == MCDS_OK,
              "table", i);
    else
        check(mcds_table_get(table, mcds_text(names[i]), &value) == MCDS_OK &&
                  is_the_same(names[i], (mcds_bytes){value.data, value.length}),
              "table", i);
    mcds_value_free(&value);
    mcds_table_close(table);
}

static bool see_bytes(void *context, mcds_bytes bytes)
{
    check(is_the_same(names[*(unsigned *)context], bytes), "list or array",
          *(unsigned *)context);
    return true;
}

static bool see_event(void *context, const mcds_log_event *event)
{
    return see_bytes(context, event->event);
}

static void use_array(mcds_store *store, unsigned i, bool finds)
{
    mcds_bytes element = mcds_text(names[i]);
    mcds_array *array;
    check(mcds_array_open(store, names[i], NULL, &array) == MCDS_OK, "array", i);
    check((finds ? mcds_array_scan(array, see_bytes, &i)
                 : mcds_array_change(array, &element, 1, NULL, 0)) == MCDS_OK,
          "array", i);
    mcds_array_close(array);
}

static void use_list(mcds_store *store, unsigned i, bool finds)
{
    mcds_list *list;
    check(mcds_list_open(store, names[i], NULL, &list) == MCDS_OK, "list", i);
    check((finds ? mcds_list_scan(list, 0, 0, see_bytes, &i)
                 : mcds_list_push(list, mcds_text(names[i]))) == MCDS_OK,
          "list", i);
    mcds_list_close(list);
}

static void use_log(mcds_store *store, unsigned i, bool finds)
{
    mcds_log *log;
    check(mcds_log_open(store, names[i], NULL, &log) == MCDS_OK, "log", i);
    check((finds ? mcds_log_scan(log, NULL, see_event, &i, NULL)
                 : mcds_log_put(log, 0, mcds_text(names[i]))) == MCDS_OK,
          "log", i);
    mcds_log_close(log);
}

static bool listed[NAMES_MAX];

static bool see_listed(void *context, const mcds_listed *one)
{
    (void)context;
    for (unsigned i = 0; i < name_count; i++)
        listed[i] = listed[i] ||
                    (strcmp(one->noun, "counter") == 0 && strcmp(one->name, names[i]) == 0);
    return true;
}

int main(int argc, char **argv)
{
    static void (*const uses[])(mcds_store * store, unsigned i, bool finds) = {
        use_counter, use_lock,  use_visitors, use_online, use_views,
        use_set,     use_table, use_array,    use_list,   use_log,
    };
    char uri[1100];
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    struct fixture *fixture = fixture_or_exit(argc, argv);
    (void)alarm(HANG_S);
    make_names();
    options.timeout_ms = TIMEOUT_MS;
    fixture_uri_of(fixture, "names", uri, sizeof uri - 20);
    if (strncmp(uri, "lmdb:", 5) == 0) /* nothing here asks for the disk */
        (void)strcat(uri, strchr(uri, '?') == NULL ? "?sync=async" : "&sync=async");
    check(mcds_open(uri, &options, &store) == MCDS_OK, "open", 0);
    for (size_t use = 0; use < sizeof uses / sizeof uses[0]; use++)
        for (int finds = 0; finds <= 1; finds++)
            for (unsigned i = 0; i < name_count; i++)
                uses[use](store, i, finds == 1);
    check(mcds_scan(store, see_listed, NULL) == MCDS_OK, "ls", 0);
    for (unsigned i = 0; i < name_count; i++)
        check(listed[i] || strlen(names[i]) > 33, "not listed", i);
    (void)printf("%u names\n", name_count);
    mcds_close(store);
    fixture_stop(fixture);
    return 0;
}
