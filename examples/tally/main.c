/* tally STORE: counts equal lines of standard input in the table "tally".
 *
 * How to use a pipeline: start an operation, take the completions that have arrived, and at the end
 * wait for the others. The requests of many operations travel together. */
#include <stdio.h>
#include <string.h>

#include "mcds.h"

#define LINE_MAX_LENGTH 1024

struct tally {
    mcds_store *store;
    mcds_table *table;
    mcds_pipeline *pipeline;
    unsigned long failed;
};

static int complain(const char *what)
{
    (void)fprintf(stderr, "tally: %s: %s\n", what, mcds_errmsg());
    return 1;
}

/* Each completion has a result of its own. AMBIGUOUS may have counted, so the line is not repeated. */
static void take(struct tally *tally, const mcds_completion *done)
{
    if (done->result == MCDS_OK)
        return;
    tally->failed++;
    (void)fprintf(stderr, "tally: line %llu: %s\n", (unsigned long long)done->tag,
                  mcds_errmsg());
}

static int count_lines(struct tally *tally)
{
    char line[LINE_MAX_LENGTH + 2];
    mcds_completion done;
    int result = MCDS_OK;
    for (uint64_t number = 1; fgets(line, sizeof line, stdin) != NULL; number++) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0')
            continue;
        /* The key is copied. It waits only while the pipeline is at its depth. */
        result = mcds_table_incr_start(tally->table, mcds_text(line), 1, NULL, tally->pipeline,
                                       number);
        if (result != MCDS_OK)
            return complain("start");
        while (mcds_pipeline_poll(tally->pipeline, &done) == MCDS_OK)
            take(tally, &done);
    }
    while ((result = mcds_pipeline_next(tally->pipeline, &done)) == MCDS_OK)
        take(tally, &done);
    if (result != MCDS_IDLE)
        return complain("next");
    return tally->failed > 0;
}

int main(int count, char **words)
{
    struct tally tally = {.failed = 0};
    if (count != 2) {
        (void)fputs("usage: tally STORE < LINES\n", stderr);
        return 64;
    }
    int status = 1;
    if (mcds_open(words[1], NULL, &tally.store) != MCDS_OK)
        (void)complain("open");
    else if (mcds_table_open(tally.store, "tally", NULL, &tally.table) != MCDS_OK)
        (void)complain("table");
    else if (mcds_pipeline_open(tally.store, NULL, &tally.pipeline) != MCDS_OK)
        (void)complain("pipeline");
    else
        status = count_lines(&tally);
    mcds_pipeline_close(tally.pipeline);
    mcds_table_close(tally.table);
    mcds_close(tally.store);
    return status;
}
