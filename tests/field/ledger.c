/* A ledger of numbered changes: what was answered, what was read, and whether both agree. */
#include "field/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"

#define DEPTH 100

struct ledger *ledger_open(const struct subject *subject, mcds_store *store, bool is_piped)
{
    struct ledger *ledger = calloc(1, sizeof *ledger);
    if (ledger == NULL)
        abort();
    ledger->subject = subject;
    ledger->store = store;
    ledger->now_ms = mcds_env_system()->wall_ns(NULL) / NS_PER_MS;
    for (uint32_t i = 0; i < LEDGER_MAX; i++)
        ledger->leases[i] = (mcds_lease)MCDS_LEASE_INIT;
    if ((is_piped && mcds_pipeline_open(store, NULL, &ledger->pipeline) != MCDS_OK) ||
        subject->open(ledger) != MCDS_OK) {
        (void)fprintf(stderr, "%s: %s\n", subject->name, mcds_errmsg());
        exit(1);
    }
    return ledger;
}

void ledger_close(struct ledger *ledger)
{
    ledger->subject->close(ledger);
    mcds_pipeline_close(ledger->pipeline);
    free(ledger);
}

static void book(struct ledger *ledger, uint64_t number, int result)
{
    ledger->results[number] = result;
    if (result < 0 && result != MCDS_FULL)
        (void)snprintf(ledger->sentence, sizeof ledger->sentence, "change %u: %s",
                       (unsigned)number, mcds_errmsg());
}

static void take_completions(struct ledger *ledger)
{
    mcds_completion done;
    while (mcds_pipeline_next(ledger->pipeline, &done) == MCDS_OK)
        book(ledger, done.tag, done.result);
}

void ledger_write(struct ledger *ledger, uint32_t changes)
{
    for (uint32_t i = 0; i < changes && ledger->count < LEDGER_MAX; i++) {
        uint32_t number = ledger->count++;
        int result = ledger->subject->write(ledger, number);
        if (ledger->pipeline == NULL || result != MCDS_OK)
            book(ledger, number, result);
        if (ledger->pipeline != NULL && i % DEPTH == DEPTH - 1)
            take_completions(ledger);
    }
    if (ledger->pipeline != NULL)
        take_completions(ledger);
}

uint32_t ledger_count(const struct ledger *ledger, uint32_t first, int result)
{
    uint32_t count = 0;
    for (uint32_t i = first; i < ledger->count; i++)
        count += ledger->results[i] == result;
    return count;
}

int ledger_read(struct ledger *ledger)
{
    memset(ledger->seen, 0, sizeof ledger->seen);
    ledger->sum = 0;
    ledger->foreign = 0;
    ledger->is_lost = ledger->is_absent = false;
    return ledger->subject->read(ledger);
}

int ledger_read_afresh(struct ledger *ledger)
{
    struct ledger *fresh = ledger_open(ledger->subject, ledger->store, false);
    fresh->count = ledger->count;
    fresh->now_ms = ledger->now_ms;
    memcpy(fresh->results, ledger->results, sizeof fresh->results);
    memcpy(fresh->leases, ledger->leases, sizeof fresh->leases);
    memcpy(fresh->saved, ledger->saved, sizeof fresh->saved);
    int result = ledger_read(fresh);
    memcpy(ledger->seen, fresh->seen, sizeof fresh->seen);
    ledger->sum = fresh->sum;
    ledger->foreign = fresh->foreign;
    ledger->is_lost = fresh->is_lost;
    ledger->is_absent = fresh->is_absent;
    ledger_close(fresh);
    return result;
}

static uint32_t judge_sum(const struct ledger *ledger, bool is_whole, const char **why_out)
{
    uint64_t least = is_whole ? ledger_count(ledger, 0, MCDS_OK) : 0;
    uint64_t most = ledger_count(ledger, 0, MCDS_OK) + ledger_count(ledger, 0, MCDS_AMBIGUOUS);
    if (ledger->subject->kind == SUBJECT_ESTIMATE) {
        /* EXISTS: the estimate stays as it is. */
        uint64_t known = ledger_count(ledger, 0, MCDS_EXISTS);
        least = is_whole ? least + known : 0;
        most += known + LEDGER_ESTIMATE_SLACK(most + known);
        least -= least > LEDGER_ESTIMATE_SLACK(least) ? LEDGER_ESTIMATE_SLACK(least) : least;
    }
    *why_out = ledger->sum < least ? "too few" : "too many";
    return ledger->sum < least || ledger->sum > most ? (uint32_t)ledger->sum : LEDGER_MAX;
}

static bool is_right(int result, uint32_t seen, bool is_whole)
{
    switch (result) {
    case MCDS_OK:
        return seen == 1 || (!is_whole && seen == 0);
    case MCDS_AMBIGUOUS:
        return seen <= 1;
    default:
        return seen == 0;
    }
}

uint32_t ledger_judge(const struct ledger *ledger, bool is_whole, const char **why_out)
{
    *why_out = "what was never written is there";
    if (ledger->foreign > 0)
        return ledger->foreign;
    if (ledger->subject->kind >= SUBJECT_SUM)
        return judge_sum(ledger, is_whole, why_out);
    for (uint32_t i = 0; i < ledger->count; i++)
        if (!is_right(ledger->results[i], ledger->seen[i], is_whole)) {
            *why_out = ledger->seen[i] == 0  ? "acknowledged, and not there"
                       : ledger->seen[i] > 1 ? "there more than once"
                                             : "refused, and there";
            return i;
        }
    return LEDGER_MAX;
}
