/* Log: the mark of a life that was dropped, and whether a root that was added again is of such a
 * life. */
#include <assert.h>

#include "structures/log/log.h"

mcds_bytes mcds__log_mark_key(const mcds_log *log, uint64_t stem, struct mcds__key *key_out)
{
    *key_out = log->generation.key;
    mcds__key_add_number(key_out, stem);
    return mcds__key_bytes(key_out);
}

mcds_request mcds__log_read_mark(const mcds_log *log, uint64_t stem, struct mcds__key *key_out)
{
    return (mcds_request){.command = MCDS_GET,
                          .options = MCDS_NO_VALUE,
                          .key = mcds__log_mark_key(log, stem, key_out)};
}

bool mcds__log_is_mark(const mcds_reply *mark)
{
    return mark->outcome != MCDS_OUT_OK ||
           (mark->flags == MCDS__SEGMENT_END && mark->value_length == 0);
}

enum mcds__step mcds__log_judge_root(struct mcds__log_begin *begin,
                                     struct mcds__operation *operation)
{
    const mcds_reply *mark = &begin->request.reply;
    assert(begin->root.is_again && begin->root.number != 0);
    begin->judges = true;
    if (!begin->is_asked) {
        begin->request = mcds__log_read_mark(begin->log, mcds__log_stem(begin->root.number),
                                             &begin->key);
        begin->is_asked = true;
        return mcds__operation_ask_repeatable(operation, &begin->request, 1);
    }
    begin->is_asked = false;
    if (mcds__first_trouble(&begin->request, 1) != NULL)
        return mcds__operation_retry(operation, mark);
    begin->judges = false;
    if (!mcds__log_is_mark(mark))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    begin->is_dropped = mark->outcome == MCDS_OUT_OK;
    return mcds__operation_finish(operation, begin->is_dropped ? MCDS_NOT_FOUND : MCDS_OK);
}
