/* Writes queues for agree.py, which reads them: queue URI. Prints the jobs that it leaves dead and
 * claimed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcds.h"

#define MANY 700
#define DONE 300
/* More than a part for each stripe. The jobs that are left are fewer than those of a second part. */
#define STRIPES 3
#define MANY_SPREAD 900
#define DONE_SPREAD 860

static void must(int result)
{
    if (result == MCDS_OK)
        return;
    (void)fprintf(stderr, "%s\n", mcds_errmsg());
    exit(EXIT_FAILURE);
}

static mcds_queue *open_queue(mcds_store *store, const char *name, uint32_t stripes)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.visible_ms = 3600000;
    options.tries = 1;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    options.stripes = stripes;
    must(mcds_queue_open(store, name, &options, &queue));
    return queue;
}

/* Some jobs are done, one of them twice. One is dead, one is claimed, one is delayed, and the others
 * wait. */
static void write_jobs(mcds_queue *queue, int many, int done)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_job late = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    char text[16];
    for (int i = 0; i < many; i++) {
        (void)snprintf(text, sizeof text, "job %d", i);
        must(mcds_queue_push(queue, mcds_text(text), i == many - 1 ? 3600000 : 0));
    }
    for (int i = 0; i < done; i++) {
        must(mcds_queue_next(queue, 0, &job, &value));
        if (i == 0)
            late = job;
    }
    must(mcds_queue_done(queue, &late) == MCDS_LOST ? MCDS_OK : MCDS_INVALID);
    (void)printf("%.*s\n", (int)value.length, (const char *)value.data);
    must(mcds_queue_again(queue, &job, 0));
    must(mcds_queue_next(queue, 0, &job, &value));
    (void)printf("%.*s\n", (int)value.length, (const char *)value.data);
    mcds_value_free(&value);
}

int main(int count, char **arguments)
{
    mcds_store *store = NULL;
    if (count != 2)
        return EXIT_FAILURE;
    must(mcds_open(arguments[1], NULL, &store));
    mcds_queue *queue = open_queue(store, "jobs", 0);
    write_jobs(queue, MANY, DONE);
    mcds_queue_close(queue);
    queue = open_queue(store, "spread", STRIPES);
    write_jobs(queue, MANY_SPREAD, DONE_SPREAD);
    mcds_queue_close(queue);
    queue = open_queue(store, "gone", 0);
    must(mcds_queue_push(queue, mcds_text("x"), 0));
    must(mcds_queue_drop(queue));
    mcds_queue_close(queue);
    mcds_close(store);
    return EXIT_SUCCESS;
}
