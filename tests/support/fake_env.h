/* An environment that the test controls: clocks that move only on request, a random sequence
 * with a seed, memory that is counted and can be refused. */
#ifndef MCDS_TESTS_FAKE_ENV_H
#define MCDS_TESTS_FAKE_ENV_H

#include <stdatomic.h>
#include <stdlib.h>

#include "mcds.h"

struct fake_env {
    mcds_env env;
    _Atomic int64_t monotonic_ns;
    _Atomic int64_t wall_ns;
    _Atomic uint64_t random_state;
    _Atomic int64_t blocks;       /* of memory in use */
    _Atomic int64_t allowed;      /* allocations until one is refused; negative: all granted */
    bool refuses_once;            /* and those after it are granted */
    _Atomic uint64_t refusals;    /* so far */
    _Atomic uint64_t allocations; /* granted so far */
};

static inline int64_t fake_env_monotonic_ns(void *self)
{
    struct fake_env *fake = self;
    return fake->monotonic_ns;
}

static inline int64_t fake_env_wall_ns(void *self)
{
    struct fake_env *fake = self;
    return fake->wall_ns;
}

static inline void fake_env_random(void *self, void *out, size_t length)
{
    struct fake_env *fake = self;
    uint8_t *bytes = out;
    for (size_t i = 0; i < length; i++) {
        uint64_t mixed = atomic_fetch_add(&fake->random_state, UINT64_C(0x9e3779b97f4a7c15));
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        bytes[i] = (uint8_t)(mixed >> 56);
    }
}

/* Sleeping moves the clocks. */
static inline void fake_env_sleep_until_ns(void *self, int64_t monotonic_ns)
{
    struct fake_env *fake = self;
    int64_t left_ns = monotonic_ns - fake->monotonic_ns;
    if (left_ns <= 0)
        return;
    fake->monotonic_ns += left_ns;
    fake->wall_ns += left_ns;
}

static inline void *fake_env_reallocate(void *self, void *memory, size_t length)
{
    struct fake_env *fake = self;
    if (length == 0) {
        fake->blocks -= memory != NULL;
        free(memory);
        return NULL;
    }
    if (fake->allowed == 0) {
        fake->refusals++;
        if (fake->refuses_once)
            fake->allowed = -1;
        return NULL;
    }
    if (fake->allowed > 0)
        fake->allowed--;
    void *granted = realloc(memory, length);
    fake->allocations += granted != NULL;
    fake->blocks += granted != NULL && memory == NULL;
    return granted;
}

/* The clocks begin at 1 000 s and at 1 700 000 000 s. */
static inline void fake_env_init(struct fake_env *fake, uint64_t seed)
{
    fake->env = (mcds_env){
        sizeof(mcds_env),      fake,
        fake_env_monotonic_ns, fake_env_wall_ns,
        fake_env_random,       fake_env_sleep_until_ns,
        fake_env_reallocate,
    };
    fake->monotonic_ns = INT64_C(1000000000000);
    fake->wall_ns = INT64_C(1700000000000000000);
    fake->random_state = seed;
    fake->blocks = 0;
    fake->allowed = -1;
    fake->refuses_once = false;
    fake->refusals = 0;
    fake->allocations = 0;
}

/* Grant `allowed` allocations and refuse the next, alone or with all after it. */
static inline void fake_env_refuse(struct fake_env *fake, int64_t allowed, bool stays)
{
    fake->allowed = allowed;
    fake->refuses_once = !stays;
    fake->refusals = 0;
}

/* Grant all again. Whether one has been refused. */
static inline bool fake_env_grant(struct fake_env *fake)
{
    fake->allowed = -1;
    return fake->refusals > 0;
}

static inline void fake_env_advance_ms(struct fake_env *fake, int64_t ms)
{
    fake->monotonic_ns += ms * 1000000;
    fake->wall_ns += ms * 1000000;
}

#endif
