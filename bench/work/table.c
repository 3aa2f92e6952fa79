/* A large table in one process: lookups of existing keys, against a lock-free hash table. */
#include "collection.h"
#include "peers/peers.h"
#include "work/work.h"

#define DEPTH 128
#define MEMBERS 1000000
#define URCU_GOAL 0.5

static void compete(struct bench *bench, const char *work, struct collection *ours)
{
    struct urcu urcu = {0};
    const char *no_urcu = bench->alone ? "alone" : urcu_open(&urcu, MEMBERS);
    struct comparison comparison = {
        .work = work,
        .count = 2,
        .list = {{.name = "mcds", .run = collection_run_waiting, .state = ours},
                 {.name = "liburcu, lock-free lookup",
                  .skipped = no_urcu,
                  .goal = URCU_GOAL,
                  .run = urcu_has,
                  .state = &urcu}}};
    comparison_run(bench, &comparison);
    urcu_close(&urcu);
}

void work_table(struct bench *bench)
{
    static const char work[] = "table has, memory:, 10^6";
    struct collection ours;
    if (!comparison_is_wanted(bench, work))
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
