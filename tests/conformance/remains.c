/* mcds_backend.remains: a mark stays valid until an item is lost. */
#include "conformance/world.h"

static bool remains(struct world *world, mcds_bytes which, uint64_t *mark)
{
    return mcds__store_remains(world->store, which, mark);
}

/* A stored item and a mark for it. */
static mcds_bytes marked(struct world *world, const char *name, uint64_t *mark)
{
    mcds_bytes k = key(world, name);
    *mark = 0;
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_SET, .key = k, .value = text("1"));
    assert_false(remains(world, k, mark));
    if (*mark == 0) {
        print_message("skipped: this store keeps no marks\n");
        skip();
    }
    assert_true(remains(world, k, mark));
    return k;
}

static void a_mark_ends_with_its_item(struct world *world)
{
    static const mcds_command losses[] = {MCDS_DELETE, MCDS_SET, MCDS_REPLACE, MCDS_CAS,
                                          MCDS_TOUCH};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        uint64_t mark;
        mcds_bytes k = marked(world, "lost", &mark);
        uint64_t others = mark;
        EXPECT(world, MCDS_OUT_OK, .command = losses[i], .key = k, .value = text("2"),
               .ttl_ms = 60000, .cas = get_reply(world, k).cas);
        assert_false(remains(world, k, &mark));
        assert_int_not_equal(mark, others);
        assert_false(remains(world, k, &others));
        assert_int_equal(mark, others);
    }
}

static void a_mark_ends_when_its_item_comes_back(struct world *world)
{
    uint64_t mark;
    mcds_bytes k = marked(world, "again", &mark);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_DELETE, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = k, .value = text("1"));
    assert_false(remains(world, k, &mark));
}

static void a_mark_outlives_what_loses_nothing(struct world *world)
{
    static const mcds_command kept[] = {MCDS_GET, MCDS_APPEND, MCDS_PREPEND, MCDS_INCR};
    uint64_t mark;
    mcds_bytes k = marked(world, "kept", &mark);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        EXPECT(world, MCDS_OUT_OK, .command = kept[i], .key = k, .value = text("1"),
               .delta = 1);
        assert_true(remains(world, k, &mark));
    }
    EXPECT(world, MCDS_OUT_NOT_STORED, .command = MCDS_ADD, .key = k);
    EXPECT(world, MCDS_OUT_OK, .command = MCDS_ADD, .key = key(world, "other"));
    assert_true(remains(world, k, &mark));
}

static const struct conformance_case cases[] = {
    CASE(a_mark_ends_with_its_item),
    CASE(a_mark_ends_when_its_item_comes_back),
    CASE(a_mark_outlives_what_loses_nothing),
};
const struct conformance_suite suite_remains = {cases, sizeof cases / sizeof cases[0]};
