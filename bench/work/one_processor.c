/* Calls and structures again, with client and servers on one processor, which is what a
 * busy machine gives. On several processors a round trip is two wake-ups, and the kernel's placement
 * of both sides changes the result by a factor of three; and the cheaper side of a pipeline waits. */
#include <sched.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work/work.h"

/* One of these processors. */
static cpu_set_t last_of(const cpu_set_t *all)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t i = CPU_SETSIZE; i > 0 && CPU_COUNT(&one) == 0; i--)
        if (CPU_ISSET(i - 1, all))
            CPU_SET(i - 1, &one);
    return one;
}

bool keep_to_one_processor(void)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    cpu_set_t one = last_of(&all);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void share_with(struct bench *bench, const struct servers *servers)
{
    const pid_t pids[] = {servers->memcached_tcp.pid, servers->memcached_unix.pid,
                          servers->redis_tcp.pid};
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++)
        if (pids[i] != 0)
            bench->sharing[bench->sharing_count++] = pids[i];
}

static void compete(struct bench *bench, const char *place)
{
    struct servers servers;
    servers_start(&servers, place);
    servers.where = ", one CPU";
    share_with(bench, &servers);
    if (servers.memcached_tcp.pid != 0 && servers.memcached_unix.pid != 0) {
        work_memcached_nearby(bench, &servers);
        work_lock(bench, &servers);
        work_structures_nearby(bench, &servers);
    } else {
        comparison_skip(bench, "one CPU", "memcached did not start");
    }
    bench->sharing_count = 0;
    servers_stop(&servers);
}

void work_one_processor(struct bench *bench)
{
    cpu_set_t all;
    char place[sizeof bench->place + 4];
    (void)snprintf(place, sizeof place, "%s/one", bench->place);
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
        comparison_skip(bench, "one CPU", "there is only one");
        return;
    }
    if (mkdir(place, 0700) != 0 || !keep_to_one_processor()) {
        bench->failed = true;
        return;
    }
    compete(bench, place);
    (void)sched_setaffinity(0, sizeof all, &all);
    (void)rmdir(place);
}
