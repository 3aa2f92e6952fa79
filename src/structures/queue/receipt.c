/* Queue: the receipt of a claim as text: INCARNATION.PART.NUMBER.TRIES.SUM, the first and the last
 * in hexadecimal (base/hash/text_sum.h). */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash/text_sum.h"
#include "base/number.h"
#include "structures/queue/queue.h"

#define INCARNATION_DIGITS 16
#define NUMBERS 3

void mcds_queue_job_save(const mcds_job *job, char text_out[MCDS_QUEUE_JOB_TEXT])
{
    if (text_out == NULL)
        return;
    text_out[0] = '\0';
    if (!mcds__queue_is_receipt(job))
        return;
    int length = snprintf(text_out, MCDS_QUEUE_JOB_TEXT,
                          "%016" PRIx64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu32, job->incarnation,
                          job->part, job->number, job->tries);
    assert(length > INCARNATION_DIGITS && length + MCDS__TEXT_SUM < MCDS_QUEUE_JOB_TEXT);
    mcds__text_seal(text_out, (size_t)length);
}

static bool read_incarnation(const char **at, uint64_t *out)
{
    uint64_t incarnation = 0;
    for (int i = 0; i < INCARNATION_DIGITS; i++, (*at)++) {
        int digit = mcds__hex_value(**at);
        if (digit < 0)
            return false;
        incarnation = incarnation << 4 | (uint64_t)digit;
    }
    *out = incarnation;
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
    const char *at = text;
    size_t length;
    if (job == NULL || text == NULL)
        return mcds__fail_missing("queue", "job_load", "a job and a text");
    bool is_fine = mcds__text_unseal(text, &length) &&
                   read_incarnation(&at, &loaded.incarnation);
    for (size_t i = 0; i < NUMBERS; i++)
        is_fine = is_fine && read_next(&at, &numbers[i]);
    if (is_fine && at == text + length && numbers[NUMBERS - 1] <= MCDS__JOBS_TRIES_MAX) {
        loaded.is_held = true;
        loaded.part = numbers[0];
        loaded.number = numbers[1];
        loaded.tries = (uint32_t)numbers[2];
    }
    if (!mcds__queue_is_receipt(&loaded))
        return mcds__fail(MCDS_INVALID, ARGUMENT_MISSING, .noun = "queue", .verb = "job_load",
                          .wanted = "the receipt of a job", .option = "text");
    assert(loaded.incarnation != 0 && loaded.deadline_ns == 0);
    *job = loaded;
    return MCDS_OK;
}
