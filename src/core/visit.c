/* Core slot, a visit: claim the visitor, then count it in the slot. */
#include "core/visit.h"

enum { BEGIN, CLAIM, COUNT, UNDO };

void mcds__visit_init(struct mcds__visit *visit, uint64_t slot, uint64_t span,
                      uint64_t claim_ttl_ms, uint64_t slot_ttl_ms)
{
    visit->stage = BEGIN;
    visit->claim.slot = slot;
    visit->claim.span = span;
    visit->claim.ttl_ms = claim_ttl_ms;
    visit->claim.token = 0;
    visit->claim.stage = 0;
    visit->claim.doubt = false;
    visit->claim.renewed = false;
    visit->claim.cas = (mcds_cas_token){0, 0};
    struct mcds__slot_hit *hit = &visit->hit;
    hit->delta = 1;
    hit->down = false;
    hit->must_exist = false;
    hit->want_birth = false;
    hit->initial = 0;
    hit->ttl_ms = slot_ttl_ms;
    hit->birth = 0;
    hit->born = false;
    hit->stage = 0;
    hit->births = 0;
}

/* A visitor who is claimed and certainly not counted is let go if that is possible, so that a
 * later visit counts; else this visit was counted not at all, and the caller cannot mend it. */
static enum mcds__step end_count(struct mcds__visit *visit, struct mcds__operation *operation)
{
    if (operation->result == MCDS_OK || operation->result == MCDS_AMBIGUOUS || visit->anonymous)
        return MCDS__DONE;
    if (!mcds__claim_can_undo(&visit->claim))
        return mcds__operation_finish(operation, MCDS_AMBIGUOUS);
    visit->stage = UNDO;
    visit->result = operation->result;
    visit->hit.requests[0] = mcds__claim_undo(&visit->claim);
    operation->connection = visit->claim.cas.connection;
    return mcds__operation_ask_repeatable(operation, visit->hit.requests, 1);
}

static enum mcds__step step_count(struct mcds__visit *visit, struct mcds__operation *operation)
{
    enum mcds__step step = mcds__slot_hit_step(&visit->hit, operation);
    return step == MCDS__DONE ? end_count(visit, operation) : step;
}

static enum mcds__step begin_count(struct mcds__visit *visit, struct mcds__operation *operation)
{
    visit->stage = COUNT;
    visit->hit.key = mcds__key_bytes(&visit->key);
    return step_count(visit, operation);
}

static enum mcds__step step_claim(struct mcds__visit *visit, struct mcds__operation *operation)
{
    visit->stage = CLAIM;
    enum mcds__step step = mcds__claim_step(&visit->claim, operation);
    if (step != MCDS__DONE || operation->result != MCDS_OK)
        return step;
    return begin_count(visit, operation);
}

static enum mcds__step end_undo(struct mcds__visit *visit, struct mcds__operation *operation)
{
    mcds_outcome outcome = visit->hit.requests[0].reply.outcome;
    bool undone = outcome == MCDS_OUT_OK;
    return mcds__operation_finish(operation, undone ? visit->result : MCDS_AMBIGUOUS);
}

enum mcds__step mcds__visit_step(struct mcds__visit *visit, struct mcds__operation *operation)
{
    switch (visit->stage) {
    case BEGIN:
        return visit->anonymous ? begin_count(visit, operation) : step_claim(visit, operation);
    case CLAIM:
        return step_claim(visit, operation);
    case COUNT:
        return step_count(visit, operation);
    default:
        return end_undo(visit, operation);
    }
}

bool mcds__visit_read(const mcds_batch *batch, const mcds_request *request,
                      struct mcds__slot_memory *memory, uint64_t number, bool seen,
                      uint64_t *count_out, bool *reborn)
{
    *count_out = 0;
    if (request->reply.outcome == MCDS_OUT_MISS) {
        *reborn = *reborn || seen;
        return true;
    }
    if (!mcds__slot_parse(mcds__reply_value(batch, request), count_out))
        return false;
    *reborn = mcds__slot_remember(memory, number, request->reply.flags) || *reborn;
    return true;
}
