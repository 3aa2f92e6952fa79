/* After a drop, by this handle or by another, a handle answers as a new one does, or MCDS_LOST
 * if it may have seen what was dropped and the structure reports it. */
#include "structures/suite.h"

#define ANSWERS 512

/* What an old handle reads after another one has dropped the structure. */
enum after_other {
    SAME,   /* as a new handle */
    OR_LOST /* the same or MCDS_LOST */
};

/* A structure, in one of its forms. */
struct subject {
    const char *name;
    uint32_t form;
    void *(*open)(mcds_store *store, const char *name, uint32_t form);
    void (*close)(void *handle);
    void (*change)(struct suite *suite, void *handle);
    int (*drop)(struct suite *suite, void *handle);
    void (*read)(struct suite *suite, void *handle, char *answers);
    enum after_other after_other;
};

static void note(char *answers, const char *what, int result, const char *value)
{
    size_t used = strlen(answers);
    (void)snprintf(answers + used, ANSWERS - used, "%s: %s %s\n", what,
                   mcds_result_name(result), value);
}

/* An estimate falls as time passes, so it is noted without its last digits. */
static void note_number(char *answers, const char *what, int result, double number)
{
    char text[64] = "";
    if (result == MCDS_OK)
        (void)snprintf(text, sizeof text, "%.4g", number);
    note(answers, what, result, text);
}

static bool gather(void *context, mcds_bytes value)
{
    (void)strncat(context, value.data, value.length);
    return true;
}

static void *open_counter(mcds_store *store, const char *name, uint32_t form)
{
    mcds_counter *counter = NULL;
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    options.flags = form % 16;
    options.stripes = form / 16;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(store, name, &options, &counter));
    return counter;
}

static void close_counter(void *handle)
{
    mcds_counter_close(handle);
}

static void change_counter(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_counter_add, handle, 7, NULL);
}

static int drop_counter(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_counter_drop, handle);
}

static void read_counter(struct suite *suite, void *handle, char *answers)
{
    mcds_counter_value value = {.size = sizeof(mcds_counter_value), .value = 0};
    int result = CALL(suite, mcds_counter_get, handle, &value);
    note_number(answers, "get", result, (double)value.value);
}

static void *open_visitors(mcds_store *store, const char *name, uint32_t form)
{
    mcds_visitors *visitors = NULL;
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    options.period_ms = 3600000;
    options.members = form;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(store, name, &options, &visitors));
    return visitors;
}

static void close_visitors(void *handle)
{
    mcds_visitors_close(handle);
}

static void change_visitors(struct suite *suite, void *handle)
{
    int result = CALL(suite, mcds_visitors_hit, handle, "a", 0);
    CHECK_RESULT(result == MCDS_EXISTS ? MCDS_EXISTS : MCDS_OK, result);
}

static int drop_visitors(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_visitors_drop, handle, 0);
}

static void read_visitors(struct suite *suite, void *handle, char *answers)
{
    mcds_visitors_value value = {.size = sizeof(mcds_visitors_value), .closed = 0};
    int result = CALL(suite, mcds_visitors_get, handle, 0, &value);
    note_number(answers, "closed", result, (double)value.closed);
    note_number(answers, "current", result, (double)value.current);
    note_number(answers, "estimate", result, value.estimate);
}

static void *open_online(mcds_store *store, const char *name, uint32_t form)
{
    mcds_online *online = NULL;
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    options.width_ms = 3600000;
    options.members = form;
    CHECK_RESULT(MCDS_OK, mcds_online_open(store, name, &options, &online));
    return online;
}

static void close_online(void *handle)
{
    mcds_online_close(handle);
}

static void change_online(struct suite *suite, void *handle)
{
    int result = CALL(suite, mcds_online_beat, handle, "a", 0);
    CHECK_RESULT(result == MCDS_EXISTS ? MCDS_EXISTS : MCDS_OK, result);
}

static int drop_online(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_online_drop, handle, 0);
}

static void read_online(struct suite *suite, void *handle, char *answers)
{
    mcds_online_value value = {.size = sizeof(mcds_online_value), .closed = 0};
    int result = CALL(suite, mcds_online_get, handle, 0, &value);
    note_number(answers, "closed", result, (double)value.closed);
    note_number(answers, "current", result, (double)value.current);
    note_number(answers, "estimate", result, value.estimate);
}

static void *open_set(mcds_store *store, const char *name, uint32_t form)
{
    mcds_set *set = NULL;
    mcds_set_options options = MCDS_SET_OPTIONS_INIT;
    options.form = (mcds_set_form)form;
    CHECK_RESULT(MCDS_OK, mcds_set_open(store, name, &options, &set));
    return set;
}

static void close_set(void *handle)
{
    mcds_set_close(handle);
}

static void change_set(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_set_add, handle, mcds_text("a"), NULL);
}

static int drop_set(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_set_drop, handle);
}

static bool gather_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)count;
    return gather(context, element);
}

static void read_set(struct suite *suite, void *handle, char *answers)
{
    char seen[64] = "";
    note(answers, "has", CALL(suite, mcds_set_has, handle, mcds_text("a")), "");
    int result = CALL(suite, mcds_set_scan, handle, gather_element, seen);
    note(answers, "fetch", result, seen);
}

static void *open_table(mcds_store *store, const char *name, uint32_t form)
{
    mcds_table *table = NULL;
    (void)form;
    CHECK_RESULT(MCDS_OK, mcds_table_open(store, name, NULL, &table));
    return table;
}

static void close_table(void *handle)
{
    mcds_table_close(handle);
}

static void change_table(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_table_put, handle, mcds_text("k"), mcds_text("a"), 0);
}

static int drop_table(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_table_drop, handle);
}

static bool gather_entry(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)key;
    return gather(context, value);
}

static void read_table(struct suite *suite, void *handle, char *answers)
{
    char seen[64] = "";
    mcds_value value = MCDS_VALUE_INIT;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    note(answers, "has", CALL(suite, mcds_table_has, handle, mcds_text("k")), "");
    note(answers, "get", CALL(suite, mcds_table_get, handle, mcds_text("k"), &value), "");
    int result = CALL(suite, mcds_table_scan, handle, &cursor, 0, gather_entry, seen);
    note(answers, "scan", result, seen);
    mcds_value_free(&value);
}

static void *open_array(mcds_store *store, const char *name, uint32_t form)
{
    mcds_array *array = NULL;
    (void)form;
    CHECK_RESULT(MCDS_OK, mcds_array_open(store, name, NULL, &array));
    return array;
}

static void close_array(void *handle)
{
    mcds_array_close(handle);
}

static void change_array(struct suite *suite, void *handle)
{
    mcds_bytes element = mcds_text("a");
    CHECK(MCDS_OK, suite, mcds_array_change, handle, &element, 1, NULL, 0);
}

static int drop_array(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_array_drop, handle);
}

static void read_array(struct suite *suite, void *handle, char *answers)
{
    char seen[64] = "";
    int result = CALL(suite, mcds_array_scan, handle, gather, seen);
    note(answers, "get", result, seen);
}

static void *open_list(mcds_store *store, const char *name, uint32_t form)
{
    mcds_list *list = NULL;
    (void)form;
    CHECK_RESULT(MCDS_OK, mcds_list_open(store, name, NULL, &list));
    return list;
}

static void close_list(void *handle)
{
    mcds_list_close(handle);
}

static void change_list(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_list_push, handle, mcds_text("a"));
}

static int drop_list(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_list_drop, handle);
}

static void read_list(struct suite *suite, void *handle, char *answers)
{
    char seen[64] = "";
    int result = CALL(suite, mcds_list_scan, handle, 0, 0, gather, seen);
    note(answers, "fetch", result, seen);
}

static void *open_log(mcds_store *store, const char *name, uint32_t form)
{
    mcds_log *log = NULL;
    (void)form;
    CHECK_RESULT(MCDS_OK, mcds_log_open(store, name, NULL, &log));
    return log;
}

static void close_log(void *handle)
{
    mcds_log_close(handle);
}

static void change_log(struct suite *suite, void *handle)
{
    CHECK(MCDS_OK, suite, mcds_log_put, handle, 0, mcds_text("a"));
}

static int drop_log(struct suite *suite, void *handle)
{
    return CALL(suite, mcds_log_drop, handle);
}

static bool gather_event(void *context, const mcds_log_event *event)
{
    return gather(context, event->event);
}

static void read_log(struct suite *suite, void *handle, char *answers)
{
    char fetched[64] = "";
    char followed[64] = "";
    char nothing[64] = "";
    mcds_log_cursor from_now = MCDS_LOG_CURSOR_INIT;
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    int result = CALL(suite, mcds_log_scan, handle, NULL, gather_event, fetched, NULL);
    note(answers, "fetch", result, fetched);
    range.last_ms = 1; /* none is so old */
    result = CALL(suite, mcds_log_scan, handle, &range, gather_event, nothing, NULL);
    note(answers, "fetch nothing", result, nothing);
    cursor.from_ms = T0_MS - 60000;
    result = CALL(suite, mcds_log_tail, handle, &cursor, gather_event, followed, NULL);
    note(answers, "tail", result, followed);
    result = CALL(suite, mcds_log_tail, handle, &from_now, gather_event, nothing, NULL);
    note(answers, "tail from now", result, nothing);
}

#define SUBJECT(noun, form, after_other)                                                       \
    {                                                                                          \
#noun, form, open_##noun, close_##noun, change_##noun, drop_##noun, read_##noun,       \
            after_other                                                                        \
    }
static const struct subject subjects[] = {
    SUBJECT(counter, 0, OR_LOST),
    SUBJECT(counter, MCDS_COUNTER_SIGNED, OR_LOST),
    SUBJECT(counter, MCDS_COUNTER_STRICT, OR_LOST),
    SUBJECT(counter, 16 * 3, OR_LOST), /* stripes */
    SUBJECT(counter, MCDS_COUNTER_EXACT, SAME),
    SUBJECT(visitors, MCDS_MEMBERS_NONE, SAME),
    SUBJECT(visitors, MCDS_MEMBERS_EXACT, SAME),
    SUBJECT(visitors, MCDS_MEMBERS_ESTIMATED, SAME),
    SUBJECT(online, MCDS_MEMBERS_NONE, SAME),
    SUBJECT(online, MCDS_MEMBERS_EXACT, SAME),
    SUBJECT(online, MCDS_MEMBERS_ESTIMATED, SAME),
    SUBJECT(set, MCDS_SET_PLAIN, SAME),
    SUBJECT(set, MCDS_SET_BAG, SAME),
    SUBJECT(set, MCDS_SET_LIST, SAME),
    SUBJECT(table, 0, SAME),
    SUBJECT(array, 0, OR_LOST),
    SUBJECT(list, 0, SAME),
    SUBJECT(log, 0, SAME),
};

/* The answers of both must agree, line by line. */
static void compare(const struct subject *subject, const char *when, const char *old,
                    const char *fresh, bool may_be_lost)
{
    if (may_be_lost && strstr(old, "MCDS_LOST") != NULL)
        return;
    if (strcmp(old, fresh) == 0)
        return;
    print_error("%s %u, %s: the old handle answers\n%sand a new one\n%s", subject->name,
                (unsigned)subject->form, when, old, fresh);
    fail();
}

static void check_reads(struct suite *suite, const struct subject *subject, const char *name,
                        void *old, const char *when, bool may_be_lost)
{
    for (int again = 0; again < 2; again++) {
        char answers[ANSWERS] = "";
        char others[ANSWERS] = "";
        void *fresh = subject->open(suite->store, name, subject->form);
        subject->read(suite, old, answers);
        subject->read(suite, fresh, others);
        compare(subject, when, answers, others, may_be_lost);
        subject->close(fresh);
    }
}

static void play(struct suite *suite, const struct subject *subject)
{
    const char *name = fresh_name(suite, subject->name);
    void *old = subject->open(suite->store, name, subject->form);
    void *other = subject->open(suite->store, name, subject->form);
    bool may_be_lost = subject->after_other == OR_LOST;
    subject->change(suite, old);
    check_reads(suite, subject, name, old, "changed", false);
    CHECK_RESULT(MCDS_OK, subject->drop(suite, old));
    check_reads(suite, subject, name, old, "dropped by itself", false);
    subject->change(suite, old);
    check_reads(suite, subject, name, old, "changed after its drop", false);
    CHECK_RESULT(MCDS_OK, subject->drop(suite, other));
    check_reads(suite, subject, name, old, "dropped by another", may_be_lost);
    subject->change(suite, other);
    check_reads(suite, subject, name, old, "made again by another", may_be_lost);
    subject->close(other);
    subject->close(old);
}

static void old_handles_answer_as_new_ones(struct suite *suite)
{
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        play(suite, &subjects[i]);
}

static const struct suite_case cases[] = {
    CASE(old_handles_answer_as_new_ones),
};

const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
