/* Blame: which value an operation has refused, and the sentence about a failure. */
#include "engine/operation.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"

/* A new one, with room for a text of this size. NULL: no memory. */
static struct mcds__blame *make_blame(struct mcds__operation *operation, size_t length)
{
    mcds__free(operation->env, operation->blame);
    operation->blame = mcds__allocate(operation->env, sizeof *operation->blame + length);
    return operation->blame;
}

const mcds_reason *mcds__operation_reword(struct mcds__operation *operation,
                                          const mcds_reason *why, const char *text)
{
    assert(why != NULL);
    size_t length = strlen(text) + 1;
    struct mcds__blame *blame = make_blame(operation, length);
    if (blame == NULL)
        return why;
    blame->key = (struct mcds__key){.length = 0};
    blame->reason = *why;
    blame->reason.text = memcpy(blame->text, text, length);
    return &blame->reason;
}

void mcds__operation_blame_value(struct mcds__operation *operation)
{
    assert(!operation->is_asked && !operation->is_resting);
    const mcds_request *read = mcds__operation_read(operation);
    const char *peer = read != NULL ? read->reply.peer : operation->asked;
    if (peer != NULL)
        operation->peer = peer;
    struct mcds__blame *blame = operation->blame != NULL ? operation->blame
                                                         : make_blame(operation, 0);
    if (blame == NULL)
        return;
    blame->key = (struct mcds__key){.length = 0};
    if (read == NULL)
        return;
    assert(read->key.length > 0 && read->key.length <= MCDS__KEY_MAX);
    blame->key.length = (uint8_t)read->key.length;
    memcpy(blame->key.bytes, read->key.data, read->key.length);
}

void mcds__operation_note_read(struct mcds__operation *operation, const mcds_reply *reply)
{
    assert(!operation->is_asked); /* the replies are there */
    for (uint32_t i = 0; i < operation->batch.count; i++)
        if (&operation->batch.requests[i].reply == reply)
            operation->read = &operation->batch.requests[i];
}

/* Whether the failure is that a stored value cannot be read. A structure of another form can be read,
 * and so can an entry of a table that is no number. */
static bool is_unreadable(int result, const mcds_reason *detail)
{
    if (detail == NULL)
        return result == MCDS_CORRUPT;
    switch (detail->cause) {
    case MCDS_CAUSE_FOREIGN:
    case MCDS_CAUSE_NEWER:
    case MCDS_CAUSE_DAMAGED:
        return true;
    case MCDS_CAUSE_NOT_A_NUMBER:
        return detail != MCDS__WHY(VALUE_NOT_A_NUMBER);
    case MCDS_CAUSE_FORM_DIFFERS:
        return detail == MCDS__WHY(OLDER);
    default:
        return result == MCDS_CORRUPT;
    }
}

void mcds__describe_failure(const struct mcds__operation_kind *kind, const char *name,
                            int result, struct mcds__where where, const mcds_reason *detail,
                            const struct mcds__difference *difference)
{
    assert(mcds__result_has_cause(result));
    /* That no time was left for the last request is not all: one before it may be done. */
    if (result == MCDS_AMBIGUOUS && detail != NULL && detail->cause == MCDS_CAUSE_TIMEOUT)
        detail = MCDS__WHY(UNFINISHED);
    mcds_error error = {.result = result, .peer = where.peer, MCDS__CALL(kind, name)};
    if (where.blame != NULL && is_unreadable(result, detail))
        error.key = where.blame->key.bytes;
    if (detail == NULL) {
        (void)mcds__fail_plain(&error);
        return;
    }
    if (detail->cause == MCDS_CAUSE_OPTION_DIFFERS ||
        detail->cause == MCDS_CAUSE_CALLBACK_FAILED || detail->cause == MCDS_CAUSE_CLOCK ||
        detail->cause == MCDS_CAUSE_HELD) {
        error.option = difference->option;
        error.wanted_max = difference->wanted;
        error.found_number = difference->found;
    }
    (void)mcds__fail_for(detail, &error);
}
