/* Core fold, a change: its record, and what it holds. */
#include "base/buffer.h"
#include "base/environment.h"
#include "core/fold_turn.h"

/* The requests of a change. */
enum { APPEND, LOOK, LOOK_AFTER };

#define RECORD_MAX ((size_t)1 << 27)

void mcds__fold_change_free(struct mcds__fold_change *change)
{
    mcds__fold_give_turn(change);
    mcds__fold_resign(change);
    mcds__fold_give_number(change);
    mcds__buffer_free(&change->record);
    mcds__fold_free_room(&change->place.room, change->fold->env);
    mcds__fold_grow_free(&change->growth, change->fold->env);
    mcds__fold_make_free(&change->making, change->fold);
}

bool mcds__fold_change_begin(struct mcds__fold_change *change, struct mcds__fold *fold,
                             const struct mcds__fold_command *command)
{
    uint32_t low;
    change->fold = fold;
    change->must_exist = false;
    change->wants_code = false;
    change->code = MCDS__FOLD_ABSENT;
    change->number = 0;
    change->stage = 0;
    change->under_way = NULL;
    change->doubt = false;
    change->rootings = 0;
    change->moves = 0;
    change->deepest = 0;
    change->rejections = 0;
    change->grows = false;
    change->hash = 0;
    change->life = (struct mcds__fold_life){0};
    change->proof = (struct mcds__fold_proof){0};
    int64_t wall_ns = mcds__wall_ns(fold->env);
    change->time_ms = wall_ns / NS_PER_MS;
    change->place = (struct mcds__fold_place){0};
    change->growth = (struct mcds__fold_growth){0};
    change->making = (struct mcds__fold_making){.record = &change->record};
    mcds__buffer_init_in(&change->record, fold->env, RECORD_MAX, change->record_room,
                         sizeof change->record_room);
    mcds__fold_take_number(fold, change, &low);
    struct mcds__fold_record record = {
        *command, change->writer, change->seq, low, change->time_ms,
    };
    if (command->verb == MCDS__FOLD_PUSH)
        record.command.delta = mcds__fold_take_place(fold, wall_ns);
    if (!mcds__fold_write_record(&change->record, &record, &change->element)) {
        mcds__fold_change_free(change);
        return false;
    }
    change->place.element = change->element;
    return true;
}

int mcds__fold_read_code(struct mcds__fold_change *change, struct mcds__operation *operation)
{
    const mcds_request *looked = &change->requests[LOOK];
    struct mcds__fold_contents contents;
    mcds__fold_contents_init(&contents, operation->env, looked->key, change->element);
    int result = mcds__fold_load(&contents, mcds__reply_value(&operation->batch, looked),
                                 looked->reply.flags);
    const struct mcds__fold_id *id = mcds__fold_outcome(&contents, change->writer, change->seq);
    if (result == MCDS_OK && id == NULL)
        result = MCDS_NOT_FOUND;
    if (result == MCDS_OK) {
        change->code = id->code;
        change->number = id->number;
    }
    mcds__fold_contents_free(&contents);
    return result;
}

void mcds__fold_fill_room_check(struct mcds__fold_change *change)
{
    change->requests[LOOK_AFTER] = change->requests[LOOK];
    change->requests[1] = change->requests[APPEND];
    change->requests[0] = change->requests[LOOK_AFTER];
    change->requests[0].options = MCDS_NO_VALUE;
    change->proof.looks = false;
}

bool mcds__fold_take_room_check(struct mcds__fold_change *change)
{
    mcds_reply before = change->requests[0].reply;
    change->requests[APPEND] = change->requests[1];
    change->requests[LOOK] = change->requests[LOOK_AFTER];
    const mcds_reply *after = &change->requests[LOOK].reply;
    return change->requests[APPEND].reply.outcome == MCDS_OUT_NOT_STORED &&
           before.outcome == MCDS_OUT_OK && after->outcome == MCDS_OUT_OK &&
           before.cas.connection != 0 && before.cas.unique == after->cas.unique;
}
