/* MCVisitorCounter. Periods of ten seconds; 2000.0 begins one with an even number. */
#include <math.h>

#include "article/rows.h"
#include "mcds.h"

#define T_S 10
#define PERIOD_MS 10000
#define PERIODS 40

/* A stream of visitors, and what is shown in the middle of the next period. */
struct stream {
    struct world *world;
    bool (*hit)(void *context);
    bool (*read)(void *context, uint64_t *shown_out);
    void *context;
    uint64_t random;
    uint64_t came[PERIODS + 2];
    uint64_t shown[PERIODS + 2];
    uint32_t zeros; /* periods that show 0 just before their end, after they showed more */
};

/* The gap to the next one: two a second come at random. */
static double next_gap(struct stream *stream)
{
    stream->random = stream->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    double even = (double)((stream->random >> 33) + 1) / (double)(UINT64_C(1) << 31);
    return -log(even) / 2;
}

/* The nth reading: in the middle of a period, and just before its end. */
static double reading_at(double begin, uint32_t n)
{
    return begin + T_S * (1 + n / 2) + (n % 2 == 0 ? T_S / 2.0 : T_S - 0.05);
}

static bool read_until(struct stream *stream, double begin, double until, uint32_t *n)
{
    for (; reading_at(begin, *n) < until; ++*n) {
        uint64_t *shown = &stream->shown[*n / 2];
        uint64_t late = 0;
        world_at(stream->world, reading_at(begin, *n));
        SHOW(stream->read(stream->context, *n % 2 == 0 ? shown : &late));
        stream->zeros += *n % 2 == 1 && *shown > 0 && late == 0;
    }
    return true;
}

/* Visitors come from `begin` on for PERIODS periods. */
static bool run_stream(struct stream *stream, double begin)
{
    uint32_t readings = 0;
    double at = begin;
    for (;;) {
        at += next_gap(stream);
        if (at >= begin + PERIODS * T_S)
            return true;
        SHOW(read_until(stream, begin, at, &readings));
        world_at(stream->world, at);
        SHOW(stream->hit(stream->context));
        stream->came[(size_t)((at - begin) / T_S)]++;
    }
}

static bool hit_article(void *context)
{
    return article_visitors_increment(context) == DONE;
}

static bool read_article(void *context, uint64_t *shown_out)
{
    return article_visitors_value(context, shown_out) == DONE;
}

static bool hit_ours(void *context)
{
    ANSWERS(MCDS_OK, mcds_visitors_hit(context, NULL, 0));
    return true;
}

static bool read_ours(void *context, uint64_t *shown_out)
{
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    ANSWERS(MCDS_OK, mcds_visitors_get(context, 0, &value));
    *shown_out = value.closed;
    return true;
}

static bool V1_ttl_of_two_periods_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = T_S};
    struct stream stream = {.world = world,
                            .hit = hit_article,
                            .read = read_article,
                            .context = &visitors,
                            .random = 1};
    uint32_t bad = 0;
    SHOW(run_stream(&stream, 2000));
    for (size_t i = 0; i + 2 < PERIODS; i++)
        bad += stream.shown[i] * 10 < stream.came[i] * 7;
    SHOW(bad > 0); /* more than three in ten are missing */
    return true;
}

static bool is_exact(struct world *world, double phase, const char *name, double begin)
{
    struct stream stream = {.world = world,
                            .hit = hit_ours,
                            .read = read_ours,
                            .context = open_visitors(world_actor(world), name, PERIOD_MS),
                            .random = 1};
    world_phase(world, phase);
    SHOW(stream.context != NULL && run_stream(&stream, begin));
    for (size_t i = 0; i + 2 < PERIODS; i++)
        SHOW(stream.shown[i] == stream.came[i]);
    SHOW(stream.zeros == 0);
    return true;
}

static bool V1_ttl_of_two_periods_ours(struct world *world)
{
    return is_exact(world, 0, "x", 2000);
}

static bool V1b_ttl_to_the_end_article(struct world *world)
{
    static const double phases[] = {0.3, 0.6, 0.9};
    uint64_t lost = 0;
    uint32_t zeros = 0;
    for (size_t i = 0; i < 3; i++) {
        struct memcache mc = memcache_of(world_actor(world));
        struct article_visitors visitors = {.mc = &mc,
                                            .name = i == 0   ? "x"
                                                    : i == 1 ? "y"
                                                             : "z",
                                            .T = T_S};
        struct stream stream = {.world = world,
                                .hit = hit_article,
                                .read = read_article,
                                .context = &visitors,
                                .random = 1};
        visitors.ends_with_period = true;
        world_phase(world, phases[i]);
        SHOW(run_stream(&stream, 2000 + 1000 * (double)i));
        for (size_t j = 0; j + 2 < PERIODS; j++)
            lost += stream.came[j] - stream.shown[j];
        zeros += stream.zeros;
    }
    SHOW(lost > 0);
    SHOW(zeros > 0);
    return true;
}

static bool V1b_ttl_to_the_end_ours(struct world *world)
{
    return is_exact(world, 0.3, "x", 2000) && is_exact(world, 0.6, "y", 3000) &&
           is_exact(world, 0.9, "z", 4000);
}

static void wait_for_2010(void *context)
{
    world_at(context, 2010.0);
}

static bool V2_pause_at_the_boundary_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {
        .mc = &mc, .name = "x", .T = T_S, .ends_with_period = true};
    uint64_t value = 1;
    world_at(world, 2009.99);
    actor_pauses(mc.actor, MCDS_INCR, 1, wait_for_2010, world);
    SHOW(article_visitors_increment(&visitors) == DONE);
    for (int i = 0; i < 99; i++) {
        world_at(world, 2020.0 + i / 10.0);
        SHOW(article_visitors_increment(&visitors) == DONE);
    }
    world_at(world, 2030.5);
    SHOW(article_visitors_value(&visitors, &value) == DONE);
    SHOW(value == 0); /* of 99 */
    return true;
}

static bool V2_pause_at_the_boundary_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_visitors *visitors = open_visitors(actor, "x", PERIOD_MS);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(visitors != NULL);
    world_at(world, 2009.99);
    actor_pauses(actor, MCDS_INCR, 1, wait_for_2010, world);
    ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 1); /* in the period in which it began */
    for (int i = 0; i < 99; i++) {
        world_at(world, 2020.0 + i / 10.0);
        ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    }
    world_at(world, 2030.5);
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 99);
    return true;
}

static bool V3_fast_clock_article(struct world *world)
{
    struct memcache slow = memcache_of(world_actor(world));
    struct memcache fast = memcache_of(world_actor(world));
    struct article_visitors here = {
        .mc = &slow, .name = "x", .T = T_S, .ends_with_period = true};
    struct article_visitors there = here;
    uint64_t value = 0;
    there.mc = &fast;
    actor_is_fast(fast.actor, 1.5);
    world_at(world, 2000);
    SHOW(article_visitors_increment(&here) == DONE);
    world_at(world, 2018.6); /* period 202 by the fast clock */
    for (int i = 0; i < 50; i++)
        SHOW(article_visitors_increment(&there) == DONE);
    world_at(world, 2021);
    SHOW(article_visitors_increment(&here) == DONE);
    world_at(world, 2035);
    SHOW(article_visitors_value(&here, &value) == DONE);
    SHOW(value == 1); /* of 51 */
    return true;
}

static bool V3_fast_clock_ours(struct world *world)
{
    struct actor *fast = world_actor(world);
    mcds_visitors *here = open_visitors(world_actor(world), "x", PERIOD_MS);
    mcds_visitors *there = open_visitors(fast, "x", PERIOD_MS);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(here != NULL && there != NULL);
    actor_is_fast(fast, 1.5);
    world_at(world, 2000);
    ANSWERS(MCDS_OK, mcds_visitors_hit(here, NULL, 0));
    world_at(world, 2018.6);
    for (int i = 0; i < 50; i++)
        ANSWERS(MCDS_OK, mcds_visitors_hit(there, NULL, 0));
    world_at(world, 2021);
    ANSWERS(MCDS_OK, mcds_visitors_hit(here, NULL, 0));
    world_at(world, 2035);
    ANSWERS(MCDS_OK, mcds_visitors_get(here, 0, &value));
    SHOW(value.closed == 51 && !value.provisional);
    return true;
}

/* The visitor's other request, while the first one is under way. */
struct second_request {
    struct article_visitors *article;
    mcds_visitors *ours;
    int answer;
};

static void request_article(void *context)
{
    struct second_request *request = context;
    request->answer = (int)article_visitors_hit(request->article, "session");
}

static void request_ours(void *context)
{
    struct second_request *request = context;
    request->answer = mcds_visitors_hit(request->ours, "ann", 0);
}

static bool V4_parallel_requests_article(struct world *world)
{
    struct memcache mc[2] = {memcache_of(world_actor(world)), memcache_of(world_actor(world))};
    struct article_visitors first = {.mc = &mc[0], .name = "x", .T = T_S};
    struct article_visitors second = {.mc = &mc[1], .name = "x", .T = T_S};
    struct second_request request = {&second, NULL, (int)KEY_ERROR};
    uint64_t value = 0;
    world_at(world, 2000);
    actor_pauses(mc[0].actor, MCDS_INCR, 1, request_article, &request);
    SHOW(article_visitors_hit(&first, "session") == DONE && request.answer == (int)DONE);
    world_at(world, 2011);
    SHOW(article_visitors_value(&first, &value) == DONE);
    SHOW(value == 2); /* one visitor */
    return true;
}

static bool V4_parallel_requests_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_visitors *first = open_visitors(actor, "x", PERIOD_MS);
    struct second_request request = {NULL, open_visitors(world_actor(world), "x", PERIOD_MS),
                                     MCDS_BUSY};
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(first != NULL && request.ours != NULL);
    world_at(world, 2000);
    actor_pauses(actor, MCDS_ADD, 1, request_ours, &request);
    ANSWERS(MCDS_EXISTS, mcds_visitors_hit(first, "ann", 0));
    ANSWERS(MCDS_OK, request.answer);
    world_at(world, 2011);
    ANSWERS(MCDS_OK, mcds_visitors_get(first, 0, &value));
    SHOW(value.closed == 1);
    return true;
}

static bool V4b_steady_visitor_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = T_S};
    int missed = 0;
    for (int second = 0; second < 400; second++) {
        uint64_t value = 1;
        world_at(world, 2000 + second);
        if (second % 3 == 0)
            SHOW(article_visitors_hit(&visitors, "session") == DONE);
        if (second % T_S == 5 && second > T_S)
            SHOW(article_visitors_value(&visitors, &value) == DONE);
        missed += value == 0;
    }
    SHOW(missed > 0); /* somebody who was there all the time */
    return true;
}

static bool V4b_steady_visitor_ours(struct world *world)
{
    mcds_visitors *visitors = open_visitors(world_actor(world), "x", PERIOD_MS);
    SHOW(visitors != NULL);
    for (int second = 0; second < 400; second++) {
        mcds_visitors_value value = {.size = sizeof(mcds_visitors_value), .closed = 1};
        world_at(world, 2000 + second);
        if (second % 3 == 0)
            SHOW(mcds_visitors_hit(visitors, "ann", 0) >= MCDS_OK);
        if (second % T_S == 5 && second > T_S)
            ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
        SHOW(value.closed == 1);
    }
    return true;
}

static bool V5_eviction_and_long_periods_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = T_S};
    struct article_visitors slow = {.mc = &mc, .name = "y", .T = UINT64_C(20) * 86400};
    uint64_t value = 0;
    world_at(world, 2000);
    for (int i = 0; i < 10; i++)
        SHOW(article_visitors_increment(&visitors) == DONE);
    SHOW(world_evict(world, "counterx") == 1);
    for (int i = 0; i < 5; i++)
        SHOW(article_visitors_increment(&visitors) == DONE);
    world_at(world, 2011);
    SHOW(article_visitors_value(&visitors, &value) == DONE && value == 5); /* of 15 */
    SHOW(article_visitors_increment(&slow) == DONE);
    SHOW(world_keys(world, "countery") == 0);
    return true;
}

static bool V5_eviction_and_long_periods_ours(struct world *world)
{
    struct actor *actor = world_actor(world);
    mcds_visitors *visitors = open_visitors(actor, "x", PERIOD_MS);
    mcds_visitors *slow = open_visitors(actor, "y", UINT64_C(20) * 86400000);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(visitors != NULL && slow != NULL);
    world_at(world, 2000);
    for (int i = 0; i < 10; i++)
        ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2003);
    SHOW(world_evict(world, "mcds:vc1:x:") == 1);
    for (int i = 0; i < 5; i++)
        ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2011);
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 5 && value.reborn);
    ANSWERS(MCDS_OK, mcds_visitors_hit(slow, NULL, 0));
    world_pass(world, 20 * 86400);
    ANSWERS(MCDS_OK, mcds_visitors_get(slow, 0, &value));
    SHOW(value.closed == 1);
    return true;
}

static bool V6_frozen_for_a_period_article(struct world *world)
{
    struct memcache mc = memcache_of(world_actor(world));
    struct article_visitors visitors = {.mc = &mc, .name = "x", .T = T_S};
    uint64_t value = 0;
    world_at(world, 2000);
    for (int i = 0; i < 10; i++)
        SHOW(article_visitors_increment(&visitors) == DONE);
    world_at(world, 2010);
    for (int i = 0; i < 100; i++)
        SHOW(article_visitors_increment(&visitors) == DONE);
    world_at(world, 2019);
    SHOW(article_visitors_value(&visitors, &value) == DONE && value == 10);
    return true;
}

static bool V6_frozen_for_a_period_ours(struct world *world)
{
    mcds_visitors *visitors = open_visitors(world_actor(world), "x", PERIOD_MS);
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    SHOW(visitors != NULL);
    world_at(world, 2000);
    for (int i = 0; i < 10; i++)
        ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2010);
    for (int i = 0; i < 100; i++)
        ANSWERS(MCDS_OK, mcds_visitors_hit(visitors, NULL, 0));
    world_at(world, 2019);
    ANSWERS(MCDS_OK, mcds_visitors_get(visitors, 0, &value));
    SHOW(value.closed == 10 && value.current == 100);
    SHOW(value.estimate > 100.5 && value.estimate < 101.5 && value.error < 10);
    return true;
}

static const struct row rows[] = {
    NO_TEST(V0_does_not_run, "the printed code ends in the middle of an expression",
            "the port completes it according to the description"),
    ROW(V1_ttl_of_two_periods,
        "a key created late in its first period expires as late in its next one; "
        "visitors until then are lost, up to all of a period",
        "each period has a key of its own: every period is exact"),
    ROW(V1b_ttl_to_the_end,
        "with a ttl to the end of the period it still loses visitors, and shows 0 "
        "where the server's second has another phase",
        "exact for every phase of the server's second"),
    ROW(V2_pause_at_the_boundary,
        "a client that pauses at the boundary creates a key that expires when it "
        "should be shown: 0 instead of 99",
        "the hit counts in the period in which it began; the next period is "
        "complete"),
    ROW(V3_fast_clock,
        "50 hits of a client whose clock is 1.5 s fast go to the key that is "
        "about to expire",
        "they count in the period of that clock; none is lost"),
    ROW(V4_parallel_requests, "two parallel requests of one visitor count two",
        "one of them claims the visitor; the other gets EXISTS"),
    ROW(V4b_steady_visitor, "a visitor who is always present is missing in some periods",
        "counted once in every period"),
    ROW(V5_eviction_and_long_periods,
        "an eviction goes unnoticed; periods over 15 days are never stored",
        "`reborn` reports it; periods may be a year long"),
    ROW(V6_frozen_for_a_period,
        "the number is constant for a period; noise is added to hide that",
        "`current` and `estimate` change with every hit, and their error is "
        "stated"),
};

const struct rows visitors_rows = ROWS("visitors", "MCVisitorCounter", rows);
