/* Queue: the receipt of a claim. As text it is INCARNATION.PART.NUMBER.TRIES.QUEUE.SUM, the
 * first and the last two in hexadecimal (base/hash/text_sum.h). QUEUE is a checksum of the
 * queue's root key: a receipt is refused by each other queue, in which it would name another job
 * or none. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash/text_sum.h"
#include "base/number.h"
#include "structures/queue/queue.h"

#define INCARNATION_DIGITS 16
#define QUEUE_DIGITS 8
#define NUMBERS 3

int mcds__queue_check_receipt(const mcds_queue *queue, const struct mcds__operation_kind *kind,
                              const mcds_job *job)
{
    assert(mcds__queue_is_receipt(job));
    if (job->queue == queue->id)
        return MCDS_OK;
    return mcds__fail(
        MCDS_INVALID, ARGUMENT_MISSING, MCDS__CALL(kind, queue->keyed.handle.name),
        .wanted = "a job of this queue, but it is of another one", .option = "job");
}

void mcds_queue_job_save(const mcds_job *job, char text_out[MCDS_QUEUE_JOB_TEXT])
{
    if (text_out == NULL)
        return;
    text_out[0] = '\0';
    if (!mcds__queue_is_receipt(job))
        return;
    int length = snprintf(text_out, MCDS_QUEUE_JOB_TEXT,
                          "%016" PRIx64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu32 ".%08" PRIx32,
                          job->incarnation, job->part, job->number, job->tries, job->queue);
    assert(length > INCARNATION_DIGITS && length + MCDS__TEXT_SUM < MCDS_QUEUE_JOB_TEXT);
    mcds__text_seal(text_out, (size_t)length);
}

static bool read_digits(const char **at, int digits, uint64_t *out)
{
    uint64_t number = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        int digit = mcds__hex_value(**at);
        if (digit < 0)
            return false;
        number = number << 4 | (uint64_t)digit;
    }
    *out = number;
    return true;
}

/* A dot and a number. */
static bool read_next(const char **at, uint64_t *out)
{
    if (**at != '.')
        return false;
    size_t length = strspn(++*at, "0123456789");
    if (!mcds__parse_u64(*at, length, out))
        return false;
    *at += length;
    return true;
}

int mcds_queue_job_load(mcds_job *job, const char *text)
{
    mcds_job loaded = MCDS_JOB_INIT;
    uint64_t numbers[NUMBERS];
    uint64_t queue = 0;
    const char *at = text;
    size_t length;
    if (job == NULL || text == NULL)
        return mcds__fail_missing("queue", "job_load", "a job and a text");
    bool is_fine = mcds__text_unseal(text, &length) &&
                   read_digits(&at, INCARNATION_DIGITS, &loaded.incarnation);
    for (size_t i = 0; i < NUMBERS; i++)
        is_fine = is_fine && read_next(&at, &numbers[i]);
    is_fine = is_fine && *at++ == '.' && read_digits(&at, QUEUE_DIGITS, &queue);
    if (is_fine && at == text + length && numbers[NUMBERS - 1] <= MCDS__JOBS_TRIES_MAX) {
        loaded.is_held = true;
        loaded.part = numbers[0];
        loaded.number = numbers[1];
        loaded.tries = (uint32_t)numbers[2];
        loaded.queue = (uint32_t)queue;
    }
    if (!mcds__queue_is_receipt(&loaded))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "queue", .verb = "job_load",
                          .wanted = "the receipt of a job", .option = "text");
    assert(loaded.incarnation != 0 && loaded.deadline_ns == 0);
    *job = loaded;
    return MCDS_OK;
}
