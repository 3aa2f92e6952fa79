/* A large table inside one process: looking for what is there, against a table that does nothing
 * else and takes no lock. */
#include "collection.h"
#include "peers.h"
#include "work.h"

#define DEPTH 128
#define MEMBERS 1000000
#define URCU_GOAL 0.5

static void compete(struct bench *bench, const char *work, struct collection *ours)
{
    struct urcu urcu = {0};
    const char *no_urcu = bench->alone ? "alone" : urcu_open(&urcu, MEMBERS);
    struct contest contest = {
        .work = work,
        .count = 2,
        .list = {{.name = "mcds", .run = collection_run_waiting, .state = ours},
                 {.name = "liburcu, lock-free lookup",
                  .skipped = no_urcu,
                  .goal = URCU_GOAL,
                  .run = urcu_has,
                  .state = &urcu}}};
    contest_run(bench, &contest);
    urcu_close(&urcu);
}

void work_table(struct bench *bench)
{
    static const char work[] = "table has, memory:, 10^6";
    struct collection ours;
    if (!contest_is_wanted(bench, work))
        return;
    if (!collection_open(&ours, TABLE_HAS, "memory:", "members", DEPTH)) {
        bench->failed = true;
        return;
    }
    if (collection_fill(&ours, MEMBERS))
        compete(bench, work, &ours);
    else
        bench->failed = true;
    collection_close(&ours);
}
