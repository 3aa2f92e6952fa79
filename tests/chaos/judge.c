/* Judges the histories of a play. */
#include "chaos/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct judge_tally *tally_of(struct judge *judge, const char *kind)
{
    for (int i = 0; i < JUDGE_KINDS; i++) {
        struct judge_tally *tally = &judge->tallies[i];
        if (tally->kind == NULL)
            tally->kind = kind;
        if (strcmp(tally->kind, kind) == 0)
            return tally;
    }
    abort();
}

static void count_calls(struct judge_tally *tally, const struct history_actor *actor)
{
    for (uint32_t i = 0; i < actor->next; i++) {
        const struct history_call *call = &actor->calls[i];
        tally->calls++;
        tally->ambiguous += call->counts && !call->op.known;
        tally->lost += call->lost;
        tally->not_made += !call->counts && !call->lost;
    }
}

static void print_history(const struct history_subject *subject, const struct linear_op *ops,
                          uint32_t count)
{
    char line[HISTORY_LINE];
    for (uint32_t i = 0; i < count; i++) {
        history_describe(subject, &ops[i], line);
        (void)printf("    %s\n", line);
    }
}

static void judge_object(struct judge *judge, const char *kind,
                         const struct history_subject *subject,
                         const struct history_actor *actors, uint32_t count,
                         const struct history_losses *losses, uint32_t object)
{
    struct linear_op ops[LINEAR_OPS_MAX];
    uint32_t found = history_gather(actors, count, object, losses, ops);
    enum linear_verdict verdict = linear_check(ops, found, subject->initial, subject->apply);
    if (verdict == NOT_LINEAR && losses->count > 0) {
        found = history_gather_lives(actors, count, object, losses, ops);
        verdict = linear_check(ops, found, subject->initial, subject->apply);
    }
    struct linear_op undisturbed[LINEAR_OPS_MAX];
    uint32_t calls = history_gather(actors, count, object, NULL, undisturbed);
    judge->histories++;
    judge->undecided += verdict == LINEAR_TOO_LONG;
    if (verdict == LINEAR && calls > judge->longest)
        judge->longest = calls;
    if (verdict == LINEAR && losses->count > 0)
        tally_of(judge, kind)->begun_anew += linear_check(undisturbed, calls, subject->initial,
                                                          subject->apply) == NOT_LINEAR;
    if (verdict != NOT_LINEAR)
        return;
    judge->wrong++;
    (void)printf("round %" PRIu64 ", %s, %s %u: a history that no order explains\n",
                 judge->rounds, kind, subject->name, object);
    print_history(subject, ops, found);
}

void judge_round(struct judge *judge, const char *kind, const struct history_subject *subject,
                 const struct history_actor *actors, uint32_t count,
                 const struct history_losses *losses)
{
    judge->losses += losses->count;
    for (uint32_t object = 0; object < HISTORY_OBJECTS; object++)
        judge_object(judge, kind, subject, actors, count, losses, object);
    if (history_lost_too_soon(actors, count, losses)) {
        (void)printf("round %" PRIu64 ", %s, %s: told of a loss that has not been\n",
                     judge->rounds, kind, subject->name);
        judge->wrong++;
    }
    for (uint32_t i = 0; i < count; i++) {
        count_calls(tally_of(judge, kind), &actors[i]);
        if (actors[i].impossible[0] == '\0')
            continue;
        (void)printf("round %" PRIu64 ", %s, %s: %s\n", judge->rounds, kind, subject->name,
                     actors[i].impossible);
        judge->wrong++;
    }
    judge->rounds++;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void tell_tally(const char *kind, const struct judge_tally *tally)
{
    (void)printf("%-16s %8" PRIu64 " %9.2f %% %7.2f %% %7.2f %% %11" PRIu64 "\n", kind,
                 tally->calls, percent(tally->ambiguous, tally->calls),
                 percent(tally->not_made, tally->calls), percent(tally->lost, tally->calls),
                 tally->begun_anew);
}

void judge_tell(const struct judge *judge)
{
    struct judge_tally all = {0};
    (void)printf("%-16s %8s %11s %9s %9s %11s\n", "trouble", "calls", "ambiguous", "not made",
                 "lost", "begun anew");
    for (int i = 0; i < JUDGE_KINDS && judge->tallies[i].kind != NULL; i++) {
        const struct judge_tally *tally = &judge->tallies[i];
        tell_tally(tally->kind, tally);
        all.calls += tally->calls;
        all.ambiguous += tally->ambiguous;
        all.not_made += tally->not_made;
        all.lost += tally->lost;
        all.begun_anew += tally->begun_anew;
    }
    tell_tally("all", &all);
    (void)printf("%" PRIu64 " rounds, %" PRIu64 " losses, %" PRIu64
                 " histories, the longest of %" PRIu64 " calls, undecided %" PRIu64
                 ", violations %" PRIu64 "\n",
                 judge->rounds, judge->losses, judge->histories, judge->longest,
                 judge->undecided, judge->wrong);
}
