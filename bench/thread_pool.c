/* Threads that share operations among them. */
#include "thread_pool.h"

#include <pthread.h>
#include <sched.h>

struct member {
    pthread_t thread;
    uint32_t number;
    uint64_t operations;
    bool (*job)(void *state, uint32_t thread, uint64_t operations);
    void *state;
    bool fine;
};

static void *live(void *context)
{
    struct member *member = context;
    member->fine = member->job(member->state, member->number, member->operations);
    return NULL;
}

bool thread_pool_run(uint32_t threads, uint64_t operations,
                     bool (*job)(void *state, uint32_t thread, uint64_t operations),
                     void *state)
{
    struct member members[THREAD_POOL_MAX];
    uint32_t begun = 0;
    for (; begun < threads && begun < THREAD_POOL_MAX; begun++) {
        uint64_t share = operations / threads + (begun < operations % threads ? 1 : 0);
        members[begun] = (struct member){
            .number = begun, .operations = share, .job = job, .state = state};
        if (pthread_create(&members[begun].thread, NULL, live, &members[begun]) != 0)
            break;
    }
    bool fine = begun == threads;
    for (uint32_t i = 0; i < begun; i++) {
        (void)pthread_join(members[i].thread, NULL);
        fine = fine && members[i].fine;
    }
    return fine;
}

void thread_pool_spread(uint32_t thread)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    uint32_t turn = thread % (uint32_t)CPU_COUNT(&all);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all) || turn-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        return;
    }
}
