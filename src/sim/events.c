/* Simulated time: the planned events, in a binary heap. */
#include <assert.h>

#include "base/environment.h"
#include "sim/world.h"

#define EVENTS_MAX ((size_t)1 << 24)

static bool is_before(const struct mcds__sim_event *a, const struct mcds__sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->serial < b->serial;
}

static bool reserve_event(mcds_sim *sim)
{
    if (sim->event_count < sim->event_room)
        return true;
    size_t capacity = sim->event_room > 0 ? sim->event_room * 2 : 256;
    if (capacity > EVENTS_MAX)
        return false;
    const mcds_env *env = mcds_env_system();
    void *moved = env->reallocate(env->self, sim->events, capacity * sizeof sim->events[0]);
    if (moved == NULL)
        return false;
    sim->events = moved;
    sim->event_room = capacity;
    return true;
}

static void sift_up(mcds_sim *sim, size_t i, struct mcds__sim_event event)
{
    assert(i < sim->event_room);
    while (i > 0 && is_before(&event, &sim->events[(i - 1) / 2])) {
        sim->events[i] = sim->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    sim->events[i] = event;
}

bool mcds__sim_plan(mcds_sim *sim, int64_t at_ns,
                    void (*happen)(mcds_sim *sim, void *subject, uint64_t number),
                    void *subject, uint64_t number)
{
    if (!reserve_event(sim))
        return false;
    assert(sim->event_count < sim->event_room);
    struct mcds__sim_event event = {at_ns, sim->serial++, happen, subject, number};
    sift_up(sim, sim->event_count++, event);
    return true;
}

static struct mcds__sim_event take_first(mcds_sim *sim)
{
    assert(sim->event_count > 0 && sim->event_count <= sim->event_room);
    struct mcds__sim_event first = sim->events[0];
    struct mcds__sim_event last = sim->events[--sim->event_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < sim->event_count; i = child) {
        if (child + 1 < sim->event_count &&
            is_before(&sim->events[child + 1], &sim->events[child]))
            child++;
        if (is_before(&last, &sim->events[child]))
            break;
        sim->events[i] = sim->events[child];
    }
    assert(i == 0 || !is_before(&last, &sim->events[(i - 1) / 2]));
    sim->events[i] = last;
    assert(sim->event_count == 0 || !is_before(&sim->events[0], &first));
    return first;
}

bool mcds__sim_is_due(const mcds_sim *sim, int64_t until_ns)
{
    return sim->event_count > 0 && sim->events[0].at_ns <= until_ns;
}

bool mcds__sim_advance(mcds_sim *sim, int64_t until_ns)
{
    if (!mcds__sim_is_due(sim, until_ns)) {
        if (until_ns == INT64_MAX)
            return false;
        if (sim->now_ns < until_ns)
            sim->now_ns = until_ns;
        return true;
    }
    struct mcds__sim_event event = take_first(sim);
    assert(event.at_ns <= until_ns);
    if (sim->now_ns < event.at_ns)
        sim->now_ns = event.at_ns;
    event.happen(sim, event.subject, event.number);
    return true;
}

void mcds__sim_cancel(mcds_sim *sim,
                      bool (*matches)(const struct mcds__sim_event *event, const void *context),
                      const void *context)
{
    size_t kept = 0;
    size_t count = sim->event_count;
    for (size_t i = 0; i < count; i++) {
        struct mcds__sim_event event = sim->events[i];
        assert(kept <= i);
        if (!matches(&event, context))
            sift_up(sim, kept++, event);
    }
    sim->event_count = kept;
}
