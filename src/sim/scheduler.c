/* Chooses the order of events in a simulated world: at random, by priorities, or all in turn. */
#include <assert.h>

#include "sim/world.h"

#define DELAY_US_DEFAULT 1000
/* PRIORITIES: the factor by which a message takes longer than one of the client with the next
 * higher priority, and its maximum. */
#define RANK_SHIFT 3
#define RANK_MAX 5
#define FAST_US 10u
#define CHANGES_WITHIN 256
/* CHOICES: many fast messages overtake a slow one, but no deadline passes. */
#define SLOW_US 3000
#define LATER_US 1500

/* SplitMix64: every state gives a good number, so any seed is valid. */
uint64_t mcds__sim_next(mcds_sim *sim)
{
    uint64_t z = (sim->random_state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

uint64_t mcds__sim_random(mcds_sim *sim, uint64_t bound)
{
    return bound > 0 ? mcds__sim_next(sim) % bound : 0;
}

/* CHOICES: 0 .. count - 1; 0 when calm. */
static uint32_t choose_one(mcds_sim *sim, uint32_t count)
{
    const mcds_sim_options *options = &sim->options;
    if (count < 2 || sim->calm || options->choose == NULL)
        return 0;
    uint32_t choice = options->choose(options->context, count);
    return choice < count ? choice : 0;
}

static bool scheduler_is_allowed(const mcds_sim *sim, uint64_t nth)
{
    const mcds_sim_options *options = &sim->options;
    return options->allow == NULL || options->allow(options->context, nth);
}

static uint32_t choose_fault(mcds_sim *sim, const uint32_t *ppm, uint32_t count)
{
    uint32_t enabled = 0;
    for (uint32_t i = 0; i < count; i++)
        enabled += ppm[i] > 0;
    if (enabled == 0 || !scheduler_is_allowed(sim, sim->fault_serial + 1))
        return count;
    uint32_t choice = choose_one(sim, enabled + 1);
    assert(choice <= enabled);
    for (uint32_t i = 0; choice > 0 && i < count; i++)
        if (ppm[i] > 0 && --choice == 0)
            return i;
    return count;
}

uint32_t mcds__sim_one_fault(mcds_sim *sim, const uint32_t *ppm, uint32_t count)
{
    uint32_t found = count;
    if (sim->calm || sim->passes)
        return count;
    if (sim->options.scheduler == MCDS_SIM_CHOICES)
        found = choose_fault(sim, ppm, count);
    else
        for (uint32_t i = 0; i < count && found == count; i++)
            if (ppm[i] > 0 && mcds__sim_next(sim) % 1000000 < ppm[i])
                found = i;
    if (found == count || !scheduler_is_allowed(sim, ++sim->fault_serial))
        return count;
    assert(found < count);
    sim->counts.faults++;
    return found;
}

bool mcds__sim_fault(mcds_sim *sim, uint32_t ppm)
{
    return mcds__sim_one_fault(sim, &ppm, 1) == 0;
}

int64_t mcds__sim_delay_ns(mcds_sim_client *client)
{
    mcds_sim *sim = client->sim;
    uint32_t most_us = sim->options.delay_us_max;
    if (sim->options.scheduler == MCDS_SIM_CHOICES)
        return choose_one(sim, 2) == 1 ? SLOW_US * 1000 : FAST_US * 1000;
    if (sim->options.scheduler == MCDS_SIM_PRIORITIES && !sim->calm) {
        uint32_t rank = 0;
        for (uint32_t i = 0; i < sim->client_count; i++)
            rank += sim->clients[i]->priority < client->priority;
        most_us = (uint32_t)FAST_US << RANK_SHIFT * (rank < RANK_MAX ? rank : RANK_MAX);
        return (int64_t)(most_us + mcds__sim_random(sim, most_us)) * 1000;
    }
    return (int64_t)(1 + mcds__sim_random(sim, most_us > 0 ? most_us : DELAY_US_DEFAULT)) *
           1000;
}

void mcds__sim_count_request(mcds_sim_client *client)
{
    mcds_sim *sim = client->sim;
    assert(sim->change_count <= MCDS__SIM_CHANGES_MAX);
    sim->counts.requests++;
    for (uint32_t i = 0; i < sim->change_count; i++)
        if (sim->changes[i] == sim->counts.requests)
            client->priority = ++sim->lowest;
}

void mcds__sim_schedule(mcds_sim *sim)
{
    uint32_t count = sim->options.changes;
    if (sim->options.scheduler != MCDS_SIM_PRIORITIES)
        return;
    sim->lowest = MCDS__SIM_CLIENTS_MAX * MCDS__SIM_CLIENTS_MAX;
    sim->change_count = count < MCDS__SIM_CHANGES_MAX ? count : MCDS__SIM_CHANGES_MAX;
    for (uint32_t i = 0; i < sim->change_count; i++)
        sim->changes[i] = 1 + mcds__sim_random(sim, CHANGES_WITHIN);
}

int64_t mcds__sim_start_ns(mcds_sim_client *client, int64_t most_ns)
{
    mcds_sim *sim = client->sim;
    switch (sim->options.scheduler) {
    case MCDS_SIM_CHOICES:
        return choose_one(sim, 2) == 1 ? LATER_US * 1000 : 0;
    case MCDS_SIM_PRIORITIES:
        client->priority = (uint32_t)mcds__sim_random(sim, MCDS__SIM_CLIENTS_MAX) *
                               MCDS__SIM_CLIENTS_MAX +
                           client->number;
        return 0;
    default:
        return (int64_t)mcds__sim_random(sim, (uint64_t)most_ns);
    }
}
