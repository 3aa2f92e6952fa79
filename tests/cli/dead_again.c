/* `mcds queue retry` ends also if each job that it pushes is dead again at once. The linker puts
 * __wrap_mcds_queue_push in the place of mcds_queue_push: as if each worker failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parse/options.h"
#include "queue/queue.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

#define DEAD 600 /* more than two batches */
#define PUSHES_MAX (10 * DEAD)

static uint32_t pushes;

int __wrap_mcds_queue_push(mcds_queue *queue, mcds_bytes job, uint64_t delay_ms);

int __wrap_mcds_queue_push(mcds_queue *queue, mcds_bytes job, uint64_t delay_ms)
{
    assert_int_equal(delay_ms, 0);
    if (++pushes > PUSHES_MAX)
        fail_msg("%u jobs were pushed", pushes);
    return mcds_queue_push_dead(queue, job, 1);
}

static uint64_t count_dead(mcds_queue *queue)
{
    mcds_queue_counts counts = MCDS_QUEUE_COUNTS_INIT;
    assert_int_equal(mcds_queue_count(queue, &counts), MCDS_OK);
    return counts.dead;
}

static void a_retry_ends(void **state)
{
    char *words[] = {"queue", "retry", "q", NULL};
    char *text = NULL;
    size_t length = 0;
    mcds_queue *queue;
    struct command command = {.elements = NULL};
    struct mistake mistake;
    struct session *session = calloc(1, sizeof *session);
    (void)state;
    assert_non_null(session);
    assert_int_equal(mcds_open("memory:", NULL, &session->store), MCDS_OK);
    session->output.file = open_memstream(&text, &length);
    assert_int_equal(mcds_queue_open(session->store, "q", NULL, &queue), MCDS_OK);
    for (int i = 0; i < DEAD; i++)
        assert_int_equal(mcds_queue_push_dead(queue, mcds_text("job"), 1), MCDS_OK);
    assert_true(read_command(all_nouns, words, &command, &mistake));
    assert_int_equal(queue_retry(session, &command), 0);
    (void)fclose(session->output.file);
    assert_string_equal(text, "600\n");
    assert_int_equal(pushes, DEAD);
    assert_int_equal(count_dead(queue), DEAD);
    free_command(&command);
    mcds_queue_close(queue);
    mcds_close(session->store);
    free(session);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_retry_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
