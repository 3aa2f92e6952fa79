/* The options of a structure: a handle with other options is refused, and has changed
 * nothing. */
#include "base/environment.h"
#include "core/descriptor/descriptor.h"
#include "structures/suite.h"
#include "support/no_database.h"

#define MINUTE UINT64_C(60000)
#define DAY (1440 * MINUTE)

static mcds_visitors *open_visitors(mcds_store *store, const char *name, uint64_t period_ms,
                                    uint32_t members)
{
    mcds_visitors_options options = MCDS_VISITORS_OPTIONS_INIT;
    mcds_visitors *visitors = NULL;
    options.period_ms = period_ms;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_visitors_open(store, name, &options, &visitors));
    return visitors;
}

static void check_visitors_refused(struct suite *suite, const char *name, uint64_t period_ms,
                                   uint32_t members, const char *sentence)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *other = open_visitors(suite->store, name, period_ms, members);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, other, "eve", 0);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_visitors_get, other, 0, &value);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_visitors_drop, other, 0);
    CHECK_SENTENCE(sentence);
    mcds_visitors_close(other);
}

static void visitors_have_one_period_and_form(struct suite *suite)
{
    static const char *const sentences[] = {
        "its members are not kept; open it the same way",
        "its members are kept EXACT; open it the same way",
        "its members are ESTIMATED; open it the same way",
    };
    for (uint32_t members = 0; members < 3; members++) {
        const char *name = fresh_name(suite, "v");
        mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
        mcds_visitors *visitors = open_visitors(suite->store, name, DAY, members);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
        check_visitors_refused(
            suite, name, MINUTE, members,
            "it was made with period_ms 86400000, not 60000; open it the same way");
        check_visitors_refused(suite, name, 0, members, "period_ms 86400000, not 0");
        for (uint32_t other = 0; other < 3; other++)
            if (other != members)
                check_visitors_refused(suite, name, DAY, other, sentences[members]);
        CHECK(MCDS_OK, suite, mcds_visitors_get, visitors, 0, &value);
        assert_int_equal(value.current, 1);
        mcds_visitors_close(visitors);
    }
}

static mcds_online *open_online(mcds_store *store, const char *name, uint32_t width_ms,
                                uint32_t buckets, uint32_t members)
{
    mcds_online_options options = MCDS_ONLINE_OPTIONS_INIT;
    mcds_online *online = NULL;
    options.width_ms = width_ms;
    options.buckets = buckets;
    options.members = members;
    CHECK_RESULT(MCDS_OK, mcds_online_open(store, name, &options, &online));
    return online;
}

static void check_online_refused(struct suite *suite, const char *name, uint32_t width_ms,
                                 uint32_t buckets, uint32_t members, const char *sentence)
{
    mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
    mcds_online *other = open_online(suite->store, name, width_ms, buckets, members);
    CHECK(MCDS_INVALID, suite, mcds_online_beat, other, "eve", 0);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_online_get, other, 0, &value);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_online_drop, other, 0);
    CHECK_SENTENCE(sentence);
    mcds_online_close(other);
}

static void online_has_one_window_and_form(struct suite *suite)
{
    for (uint32_t members = 0; members < 3; members++) {
        const char *name = fresh_name(suite, "o");
        mcds_online_value value = MCDS_ONLINE_VALUE_INIT;
        mcds_online *online = open_online(suite->store, name, DAY, 5, members);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
        check_online_refused(
            suite, name, 60000, 5, members,
            "it was made with width_ms 86400000, not 60000; open it the same way");
        check_online_refused(suite, name, DAY, 6, members, "buckets 5, not 6");
        check_online_refused(suite, name, DAY, 5, (members + 1) % 3, "; open it the same way");
        CHECK(MCDS_OK, suite, mcds_online_get, online, 0, &value);
        assert_int_equal(value.current + value.closed, 1);
        mcds_online_close(online);
    }
}

static mcds_views *open_views(mcds_store *store, const char *name, uint32_t flush_ms)
{
    mcds_views_options options = views_without_database();
    mcds_views *views = NULL;
    options.flush_ms = flush_ms;
    CHECK_RESULT(MCDS_OK, mcds_views_open(store, name, &options, &views));
    return views;
}

/* Intervals of other length would be saved under the same numbers. */
static void views_have_one_interval(struct suite *suite)
{
    static const char sentence[] =
        "it was made with flush_ms 3600000, not 60000; open it the same way";
    const char *name = fresh_name(suite, "w");
    int64_t value = 0;
    mcds_views *views = open_views(suite->store, name, 3600000);
    mcds_views *other = open_views(suite->store, name, 60000);
    CHECK(MCDS_OK, suite, mcds_views_hit, views, "/", 1);
    CHECK(MCDS_INVALID, suite, mcds_views_hit, other, "/", 1);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_views_get, other, "/", &value);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_views_flush, other);
    CHECK_SENTENCE(sentence);
    mcds_views_close(views);
    mcds_views_close(other);
}

struct sums {
    int64_t loaded;
    int64_t saved;
};

static int load_sum(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)page;
    (void)upto_slot;
    *views_out = ((struct sums *)context)->loaded;
    return 0;
}

static int save_sum(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)page;
    (void)slot;
    ((struct sums *)context)->saved += views;
    return 0;
}

static mcds_views *open_sums(mcds_store *store, const char *name, mcds_views_database kind,
                             struct sums *sums)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views = NULL;
    options.load = load_sum;
    options.save = save_sum;
    options.context = sums;
    options.database = kind;
    CHECK_RESULT(MCDS_OK, mcds_views_open(store, name, &options, &views));
    return views;
}

static void check_database_refused(struct suite *suite, mcds_views *other, const char *sentence)
{
    int64_t value = 77;
    CHECK(MCDS_INVALID, suite, mcds_views_get, other, "/", &value);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_views_flush, other);
    CHECK_SENTENCE(sentence);
    CHECK(MCDS_INVALID, suite, mcds_views_flush_final, other);
    CHECK(MCDS_INVALID, suite, mcds_views_flush_final, other);
    CHECK_SENTENCE(sentence);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_OPTION_DIFFERS);
    assert_int_equal(value, 77);
}

/* The sum of another database would be stored for the handles of the first one too. */
static void views_have_one_database(struct suite *suite)
{
    static const char *const sentences[] = {
        "a program saves them in a database of its own; ask that program",
        "'mcds views' saves them in its table; ask it, or drop them first",
    };
    for (int kind = MCDS_VIEWS_OWN; kind <= MCDS_VIEWS_TABLE; kind++) {
        const char *name = fresh_name(suite, "w");
        struct sums sums = {1000, 0}, others = {0, 0};
        int64_t value = 0;
        mcds_views_database another = kind == MCDS_VIEWS_OWN ? MCDS_VIEWS_TABLE
                                                             : MCDS_VIEWS_OWN;
        mcds_views *views = open_sums(suite->store, name, (mcds_views_database)kind, &sums);
        mcds_views *other = open_sums(suite->store, name, another, &others);
        CHECK(MCDS_OK, suite, mcds_views_hit, views, "/", 2);
        if (kind == MCDS_VIEWS_TABLE)
            CHECK(MCDS_OK, suite, mcds_views_flush, views);
        check_database_refused(suite, other, sentences[kind]);
        CHECK(MCDS_OK, suite, mcds_views_hit, other, "/", 5); /* which needs no database */
        /* A handle that knows the settings refuses before it has asked. */
        CHECK(MCDS_INVALID, suite, mcds_views_flush, other);
        CHECK_SENTENCE(sentences[kind]);
        CHECK(MCDS_OK, suite, mcds_views_hit, other, "/", 0);
        check_database_refused(suite, other, sentences[kind]);
        CHECK(MCDS_OK, suite, mcds_views_get, views, "/", &value);
        assert_int_equal(value, 1007);
        CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
        assert_int_equal(sums.saved, 7);
        assert_int_equal(others.saved, 0);
        /* A drop is a way out, also for the handle that was refused, and is not refused. */
        CHECK(MCDS_OK, suite, mcds_views_drop, other);
        CHECK(MCDS_OK, suite, mcds_views_hit, other, "/", 3);
        CHECK(MCDS_OK, suite, mcds_views_flush_final, other);
        /* A handle that has used them before the drop learns it at its next flush. */
        CHECK(MCDS_INVALID, suite, mcds_views_flush, views);
        check_database_refused(suite, views, sentences[another]);
        CHECK(MCDS_OK, suite, mcds_views_drop, other); /* then the first handle that comes */
        CHECK(MCDS_OK, suite, mcds_views_hit, views, "/", 1);
        CHECK(MCDS_OK, suite, mcds_views_flush_final, views);
        mcds_views_close(views);
        mcds_views_close(other);
    }
}

/* The command counts for a script, and then the program or the command itself reads and saves. */
static void a_hit_of_the_command_chooses_no_database(struct suite *suite)
{
    for (int kind = MCDS_VIEWS_OWN; kind <= MCDS_VIEWS_TABLE; kind++) {
        const char *name = fresh_name(suite, "w");
        struct sums sums = {1000, 0};
        int64_t value = 0;
        mcds_views *command = open_sums(suite->store, name, MCDS_VIEWS_TABLE, &sums);
        mcds_views *program = open_sums(suite->store, name, MCDS_VIEWS_OWN, &sums);
        mcds_views *owner = kind == MCDS_VIEWS_OWN ? program : command;
        mcds_views *other = kind == MCDS_VIEWS_OWN ? command : program;
        CHECK(MCDS_OK, suite, mcds_views_hit, command, "/", 2);
        CHECK(MCDS_OK, suite, mcds_views_get, owner, "/", &value);
        assert_int_equal(value, 1002);
        if (kind == MCDS_VIEWS_OWN)
            CHECK(MCDS_OK, suite, mcds_views_hit, owner, "/", 1);
        else
            CHECK(MCDS_OK, suite, mcds_views_flush, owner);
        CHECK(MCDS_INVALID, suite, mcds_views_flush, other);
        mcds_views_close(other);
        other = open_sums(suite->store, name, (mcds_views_database)(1 - kind), &sums);
        CHECK(MCDS_INVALID, suite, mcds_views_get, other, "/", &value);
        CHECK(MCDS_OK, suite, mcds_views_hit, other, "/", 1);
        CHECK(MCDS_OK, suite, mcds_views_get, owner, "/", &value);
        mcds_views_close(owner);
        mcds_views_close(other);
    }
}

/* Builds before version 0.1 have not stored the database: any may read, and the first that saves
 * is the one. */
static void older_views_name_no_database(struct suite *suite)
{
    const char *name = fresh_name(suite, "w");
    struct sums sums = {1000, 0};
    struct mcds__descriptor root;
    uint8_t bytes[MCDS__DESCRIPTOR_CAPACITY];
    struct raw_key key = raw_key(suite, MCDS__TAG_VIEWS, name, -1);
    mcds__descriptor_draw(&root, mcds_env_system(), MCDS__KIND_VIEWS, 0, false);
    root.settings[root.count++] = MINUTE;
    size_t length = mcds__descriptor_seal(&root, mcds__key_bytes(&key.key), bytes);
    assert_int_equal(raw_set_flags(suite, &key, (mcds_bytes){bytes, length},
                                   mcds__descriptor_flags(root.life)),
                     MCDS_OUT_OK);
    for (int kind = MCDS_VIEWS_OWN; kind <= MCDS_VIEWS_TABLE; kind++) {
        mcds_views_options made = views_without_database();
        int64_t value = 0;
        made.database = (mcds_views_database)kind;
        CHECK_RESULT(MCDS_OK, mcds_views_made_with(suite->store, name, &made));
        assert_int_equal(made.flush_ms, MINUTE);
        assert_int_equal(made.database, kind);
        mcds_views *views = open_sums(suite->store, name, made.database, &sums);
        CHECK(MCDS_OK, suite, mcds_views_get, views, "/", &value);
        assert_int_equal(value, 1000);
        mcds_views_close(views);
    }
    mcds_views *table = open_sums(suite->store, name, MCDS_VIEWS_TABLE, &sums);
    mcds_views *own = open_sums(suite->store, name, MCDS_VIEWS_OWN, &sums);
    CHECK(MCDS_OK, suite, mcds_views_flush, own);
    CHECK(MCDS_INVALID, suite, mcds_views_flush, table);
    mcds_views_close(own);
    mcds_views_close(table);
}

static void an_unknown_database_is_refused(struct suite *suite)
{
    mcds_views_options options = views_without_database();
    mcds_views *views = NULL;
    options.database = (mcds_views_database)2;
    CHECK_RESULT(MCDS_INVALID, mcds_views_open(suite->store, "w", &options, &views));
    assert_string_equal(mcds_last_error()->option, "database");
}

static mcds_counter *open_counter(mcds_store *store, const char *name, uint32_t stripes)
{
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    options.stripes = stripes;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(store, name, &options, &counter));
    return counter;
}

static void check_counter_refused(struct suite *suite, const char *name, uint32_t stripes,
                                  int result, const char *sentence)
{
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *other = open_counter(suite->store, name, stripes);
    CHECK(result, suite, mcds_counter_get, other, &value);
    CHECK_SENTENCE(sentence);
    CHECK(result, suite, mcds_counter_add, other, 1, NULL);
    CHECK(result, suite, mcds_counter_drop, other);
    mcds_counter_close(other);
}

static void a_counter_has_one_number_of_stripes(struct suite *suite)
{
    const char *name = fresh_name(suite, "c");
    const char *plain_name = fresh_name(suite, "p");
    mcds_counter_value value = MCDS_COUNTER_VALUE_INIT;
    mcds_counter *counter = open_counter(suite->store, name, 4);
    mcds_counter *plain = open_counter(suite->store, plain_name, 1);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 3, NULL);
    check_counter_refused(suite, name, 5, MCDS_INVALID,
                          "it was made with stripes 4, not 5; open it the same way");
    check_counter_refused(suite, name, 1, MCDS_CORRUPT,
                          "made EXACT or with stripes the same way");
    CHECK(MCDS_OK, suite, mcds_counter_get, counter, &value);
    assert_int_equal(value.value, 3);
    CHECK(MCDS_OK, suite, mcds_counter_add, plain, 5, NULL);
    check_counter_refused(suite, plain_name, 4, MCDS_INVALID,
                          "this counter was made without stripes; open it the same way");
    CHECK(MCDS_OK, suite, mcds_counter_get, plain, &value);
    assert_int_equal(value.value, 5);
    mcds_counter_close(counter);
    mcds_counter_close(plain);
}

/* Dropped, they are made again by the first handle. */
static void what_is_dropped_may_be_made_otherwise(struct suite *suite)
{
    for (uint32_t members = 0; members < 3; members++) {
        const char *name = fresh_name(suite, "d");
        mcds_visitors *visitors = open_visitors(suite->store, name, DAY, members);
        mcds_visitors *other = open_visitors(suite->other, name, 2 * DAY, (members + 1) % 3);
        mcds_online *online = open_online(suite->store, name, DAY, 5, members);
        mcds_online *wide = open_online(suite->other, name, DAY, 6, (members + 1) % 3);
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
        CHECK(MCDS_OK, suite, mcds_visitors_drop, visitors, 0);
        CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, 0);
        CHECK_OTHER(MCDS_OK, suite, mcds_visitors_hit, other, "ann", 0);
        CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", 0);
        CHECK(MCDS_OK, suite, mcds_online_beat, online, "ann", 0);
        CHECK(MCDS_OK, suite, mcds_online_drop, online, 0);
        CHECK(MCDS_NOT_FOUND, suite, mcds_online_drop, online, 0);
        CHECK_OTHER(MCDS_OK, suite, mcds_online_beat, wide, "ann", 0);
        CHECK(MCDS_INVALID, suite, mcds_online_beat, online, "ann", 0);
        mcds_visitors_close(visitors);
        mcds_visitors_close(other);
        mcds_online_close(online);
        mcds_online_close(wide);
    }
}

/* A period of long ago takes nothing along that the running one needs. */
static void the_settings_stay_while_a_period_runs(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    int64_t ago_ms = wall_ms(suite) - 3 * (int64_t)DAY;
    mcds_visitors *visitors = open_visitors(suite->store, name, DAY, MCDS_MEMBERS_NONE);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
    CHECK(MCDS_NOT_FOUND, suite, mcds_visitors_drop, visitors, ago_ms);
    check_visitors_refused(suite, name, MINUTE, MCDS_MEMBERS_NONE, "period_ms");
    mcds_visitors_close(visitors);
}

/* They go with the keys that they are about, and stay while somebody uses these. */
static void the_settings_live_as_long_as_they_are_used(struct suite *suite)
{
    if (suite->own_clock)
        skip_because("this store's clock is its own");
    const char *name = fresh_name(suite, "v");
    mcds_visitors *visitors = open_visitors(suite->store, name, MINUTE, MCDS_MEMBERS_NONE);
    for (int i = 0; i < 60; i++) {
        CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
        pass_ms(suite, (int64_t)MINUTE);
    }
    check_visitors_refused(suite, name, DAY, MCDS_MEMBERS_NONE, "period_ms");
    pass_ms(suite, 20 * (int64_t)MINUTE);
    mcds_visitors *other = open_visitors(suite->store, name, DAY, MCDS_MEMBERS_NONE);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, other, "ann", 0);
    CHECK(MCDS_INVALID, suite, mcds_visitors_hit, visitors, "ann", 0);
    mcds_visitors_close(visitors);
    mcds_visitors_close(other);
}

/* Where the store has lost them, they are made again. */
static void lost_settings_are_made_again(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    struct raw_key key = raw_key(suite, MCDS__TAG_VISITORS, name, -1);
    mcds_visitors *visitors = open_visitors(suite->store, name, DAY, MCDS_MEMBERS_NONE);
    mcds_visitors *later = open_visitors(suite->other, name, DAY, MCDS_MEMBERS_NONE);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    CHECK(MCDS_OK, suite, mcds_visitors_hit, visitors, "ann", 0);
    assert_int_equal(raw_delete(suite, &key), MCDS_OUT_OK);
    CHECK_OTHER(MCDS_OK, suite, mcds_visitors_get, later, 0, &value);
    assert_int_equal(value.current, 1);
    CHECK_OTHER(MCDS_EXISTS, suite, mcds_visitors_hit, later, "ann", 0);
    check_visitors_refused(suite, name, MINUTE, MCDS_MEMBERS_NONE, "period_ms");
    mcds_visitors_close(visitors);
    mcds_visitors_close(later);
}

static void foreign_settings_are_corrupt(struct suite *suite)
{
    const char *name = fresh_name(suite, "v");
    struct raw_key key = raw_key(suite, MCDS__TAG_VISITORS, name, -1);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    mcds_visitors *visitors = open_visitors(suite->store, name, DAY, MCDS_MEMBERS_NONE);
    assert_int_equal(raw_set(suite, &key, "what is this"), MCDS_OUT_OK);
    CHECK(MCDS_CORRUPT, suite, mcds_visitors_hit, visitors, "ann", 0);
    CHECK_SENTENCE("settings");
    CHECK(MCDS_CORRUPT, suite, mcds_visitors_get, visitors, 0, &value);
    mcds_visitors_close(visitors);
}

/* Without knowing how it was made, it is opened as it was made. */
static void what_a_structure_was_made_with_is_read(struct suite *suite)
{
    const char *name = fresh_name(suite, "made");
    mcds_counter_options counter = MCDS_COUNTER_OPTIONS_INIT;
    mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
    mcds_views_options views = views_without_database();
    mcds_set_options set = MCDS_SET_OPTIONS_INIT;
    mcds_counter *striped = NULL;
    mcds_online *here = NULL;
    mcds_views *viewed = NULL;
    mcds_set *bag = NULL;
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_counter_made_with(suite->store, name, &counter));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_visitors_made_with(suite->store, name, &visitors));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_online_made_with(suite->store, name, &online));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_views_made_with(suite->store, name, &views));
    CHECK_RESULT(MCDS_NOT_FOUND, mcds_set_made_with(suite->store, name, &set));
    counter.stripes = 5;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, name, &counter, &striped));
    CHECK(MCDS_OK, suite, mcds_counter_add, striped, 1, NULL);
    counter = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    CHECK_RESULT(MCDS_OK, mcds_counter_made_with(suite->other, name, &counter));
    assert_int_equal(counter.stripes, 5);
    assert_int_equal(counter.copies, 0);
    mcds_visitors *seen = open_visitors(suite->store, name, 7 * MINUTE, MCDS_MEMBERS_EXACT);
    CHECK(MCDS_OK, suite, mcds_visitors_hit, seen, "ann", 0);
    CHECK_RESULT(MCDS_OK, mcds_visitors_made_with(suite->other, name, &visitors));
    assert_int_equal(visitors.period_ms, 7 * MINUTE);
    assert_int_equal(visitors.members, MCDS_MEMBERS_EXACT);
    online.buckets = 3;
    online.width_ms = 5000;
    CHECK_RESULT(MCDS_OK, mcds_online_open(suite->store, name, &online, &here));
    CHECK(MCDS_OK, suite, mcds_online_beat, here, "ann", 0);
    online = (mcds_online_options)MCDS_ONLINE_OPTIONS_INIT;
    CHECK_RESULT(MCDS_OK, mcds_online_made_with(suite->other, name, &online));
    assert_int_equal(online.buckets, 3);
    assert_int_equal(online.width_ms, 5000);
    views.flush_ms = 3000;
    views.database = MCDS_VIEWS_TABLE;
    CHECK_RESULT(MCDS_OK, mcds_views_open(suite->store, name, &views, &viewed));
    CHECK(MCDS_OK, suite, mcds_views_hit, viewed, "page", 1);
    CHECK(MCDS_OK, suite, mcds_views_flush, viewed); /* chooses the database */
    views.flush_ms = 0;
    views.database = MCDS_VIEWS_OWN;
    CHECK_RESULT(MCDS_OK, mcds_views_made_with(suite->other, name, &views));
    assert_int_equal(views.flush_ms, 3000);
    assert_int_equal(views.database, MCDS_VIEWS_TABLE);
    set.form = MCDS_SET_BAG;
    CHECK_RESULT(MCDS_OK, mcds_set_open(suite->store, name, &set, &bag));
    CHECK(MCDS_OK, suite, mcds_set_add, bag, mcds_text("a"), NULL);
    set.form = MCDS_SET_PLAIN;
    CHECK_RESULT(MCDS_OK, mcds_set_made_with(suite->other, name, &set));
    assert_int_equal(set.form, MCDS_SET_BAG);
    mcds_set_close(bag);
    mcds_views_close(viewed);
    mcds_online_close(here);
    mcds_visitors_close(seen);
    mcds_counter_close(striped);
}

/* A plain counter, an exact one, and what mcds has not written. */
static void counters_tell_how_they_were_made(struct suite *suite)
{
    const char *name = fresh_name(suite, "made");
    mcds_counter_options options = MCDS_COUNTER_OPTIONS_INIT;
    mcds_counter *counter = NULL;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, name, NULL, &counter));
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, NULL);
    mcds_counter_close(counter);
    options.stripes = 9;
    options.flags = MCDS_COUNTER_SIGNED | MCDS_COUNTER_EXACT;
    CHECK_RESULT(MCDS_OK, mcds_counter_made_with(suite->store, name, &options));
    assert_int_equal(options.stripes, 0);
    assert_int_equal(options.flags, MCDS_COUNTER_SIGNED);
    options.flags = 0;
    CHECK_RESULT(MCDS_OK, mcds_counter_made_with(suite->store, name, &options));
    assert_int_equal(options.flags, 0);
    const char *below = fresh_name(suite, "signed");
    options.flags = MCDS_COUNTER_SIGNED;
    CHECK_RESULT(MCDS_OK, mcds_counter_open(suite->store, below, &options, &counter));
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, -1, NULL);
    mcds_counter_close(counter);
    options.flags = 0;
    CHECK_RESULT(MCDS_OK, mcds_counter_made_with(suite->store, below, &options));
    assert_int_equal(options.flags, MCDS_COUNTER_SIGNED);
    struct raw_key key = raw_key(suite, MCDS__TAG_COUNTER, name, -1);
    assert_int_equal(raw_set(suite, &key, "no counter"), MCDS_OUT_OK);
    CHECK_RESULT(MCDS_CORRUPT, mcds_counter_made_with(suite->store, name, &options));
    name = fresh_name(suite, "exact");
    options = (mcds_counter_options)MCDS_COUNTER_OPTIONS_INIT;
    options.flags = MCDS_COUNTER_EXACT;
    options.flush_ms = MCDS_COUNTER_FLUSH_EACH;
    int result = mcds_counter_open(suite->store, name, &options, &counter);
    skip_if_unsupported(result);
    CHECK_RESULT(MCDS_OK, result);
    CHECK(MCDS_OK, suite, mcds_counter_add, counter, 1, NULL);
    options.flags = 0;
    CHECK_RESULT(MCDS_OK, mcds_counter_made_with(suite->other, name, &options));
    assert_int_equal(options.flags, MCDS_COUNTER_EXACT);
    assert_int_equal(options.copies, 1);
    mcds_counter_close(counter);
}

static const struct suite_case cases[] = {
    CASE(what_a_structure_was_made_with_is_read),
    CASE(counters_tell_how_they_were_made),
    CASE(visitors_have_one_period_and_form),
    CASE(online_has_one_window_and_form),
    CASE(views_have_one_interval),
    CASE(views_have_one_database),
    CASE(a_hit_of_the_command_chooses_no_database),
    CASE(older_views_name_no_database),
    CASE(an_unknown_database_is_refused),
    CASE(a_counter_has_one_number_of_stripes),
    CASE(what_is_dropped_may_be_made_otherwise),
    CASE(the_settings_stay_while_a_period_runs),
    CASE_TWICE(the_settings_live_as_long_as_they_are_used),
    CASE(lost_settings_are_made_again),
    CASE(foreign_settings_are_corrupt),
};
const struct suite_cases suite_cases = {cases, sizeof cases / sizeof cases[0]};
