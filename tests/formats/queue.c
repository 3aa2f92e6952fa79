/* Writes queues for agree.py, which reads them: queue URI. Prints the jobs that it leaves claimed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcds.h"

#define MANY 700
#define DONE 300

static void must(int result)
{
    if (result == MCDS_OK)
        return;
    (void)fprintf(stderr, "%s\n", mcds_errmsg());
    exit(EXIT_FAILURE);
}

static mcds_queue *open_queue(mcds_store *store, const char *name)
{
    mcds_queue_options options = MCDS_QUEUE_OPTIONS_INIT;
    mcds_queue *queue = NULL;
    options.visible_ms = 3600000;
    options.tries = 1;
    options.flags = MCDS_QUEUE_MAY_LOSE;
    must(mcds_queue_open(store, name, &options, &queue));
    return queue;
}

/* Some jobs are done, one of them twice. One is dead, one is claimed, one is delayed, and the others
 * wait. */
static void write_jobs(mcds_queue *queue)
{
    mcds_job job = MCDS_JOB_INIT;
    mcds_job late = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    char text[16];
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof text, "job %d", i);
        must(mcds_queue_push(queue, mcds_text(text), i == MANY - 1 ? 3600000 : 0));
    }
    for (int i = 0; i < DONE; i++) {
        must(mcds_queue_next(queue, 0, &job, &value));
        if (i == 0)
            late = job;
    }
    must(mcds_queue_done(queue, &late) == MCDS_LOST ? MCDS_OK : MCDS_INVALID);
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
    mcds_queue *queue = open_queue(store, "jobs");
    write_jobs(queue);
    mcds_queue_close(queue);
    queue = open_queue(store, "gone");
    must(mcds_queue_push(queue, mcds_text("x"), 0));
    must(mcds_queue_drop(queue));
    mcds_queue_close(queue);
    mcds_close(store);
    return EXIT_SUCCESS;
}
