/* The queue of a link: requests that wait for their replies, then those that wait to be sent. */
#include "store/memcached_queue.h"

#include <string.h>

#include "base/environment.h"
#include "base/reason.h"

#define SLOTS_MIN 64

void mcds__queue_answer(struct mcds__link *link, mcds_batch *batch, uint32_t index,
                        mcds_outcome outcome, const mcds_reason *detail)
{
    mcds_reply *reply = &batch->requests[index].reply;
    memset(reply, 0, sizeof *reply);
    reply->outcome = outcome;
    reply->detail = detail;
    reply->peer = link->server->name;
    mcds__lane_answered(link->lane, batch);
}

static bool reserve_slot(struct mcds__link *link)
{
    if (link->count < link->room)
        return true;
    uint32_t room = link->room > 0 ? link->room * 2 : SLOTS_MIN;
    if (room > UINT32_MAX / 4)
        return false;
    struct mcds__slot *slots = mcds__allocate(link->lane->home->env, room * sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < link->count; i++)
        slots[i] = *mcds__queue_at(link, i);
    mcds__free(link->lane->home->env, link->slots);
    link->slots = slots;
    link->room = room;
    link->first = 0;
    return true;
}

void mcds__link_enqueue(struct mcds__link *link, mcds_batch *batch, uint32_t index)
{
    if (!reserve_slot(link)) {
        mcds__queue_answer(link, batch, index, MCDS_OUT_UNSENT,
                           MCDS__WHY(NO_MEMORY_FOR_REQUEST));
        return;
    }
    *mcds__queue_at(link, link->count++) = (struct mcds__slot){batch, index, 0};
}

void mcds__queue_answer_lost(struct mcds__link *link, uint32_t lost, uint64_t sent,
                             mcds_outcome refusal, const mcds_reason *trouble)
{
    for (; lost > 0; lost--) {
        struct mcds__slot slot = *mcds__queue_at(link, 0);
        link->first++;
        link->count--;
        mcds__queue_answer(link, slot.batch, slot.index,
                           slot.begin >= sent ? refusal : MCDS_OUT_UNKNOWN, trouble);
    }
}

struct mcds__slot mcds__queue_take_waiting(struct mcds__link *link)
{
    struct mcds__slot taken = *mcds__queue_at(link, link->encoded);
    for (uint32_t i = link->encoded; i > 0; i--)
        *mcds__queue_at(link, i) = *mcds__queue_at(link, i - 1);
    link->first++;
    link->count--;
    return taken;
}

void mcds__queue_give_up_rest(struct mcds__link *link, const mcds_batch *batch,
                              const mcds_reason *trouble)
{
    while (!batch->independent && link->encoded < link->count &&
           mcds__queue_at(link, link->encoded)->batch == batch) {
        struct mcds__slot taken = mcds__queue_take_waiting(link);
        mcds__queue_answer(link, taken.batch, taken.index, MCDS_OUT_UNSENT, trouble);
    }
}
