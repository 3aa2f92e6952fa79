/* Log: the tombstone of a life that was dropped, and whether a root that was added again is
 * of such a life. */
#include <assert.h>

#include "structures/log/log.h"

mcds_bytes mcds__log_tombstone_key(const mcds_log *log, uint64_t stem,
                                   struct mcds__key *key_out)
{
    *key_out = log->generation.key;
    mcds__key_add_number(key_out, stem);
    return mcds__key_bytes(key_out);
}

mcds_request mcds__log_read_tombstone(const mcds_log *log, uint64_t stem,
                                      struct mcds__key *key_out)
{
    return (mcds_request){.command = MCDS_GET,
                          .options = MCDS_NO_VALUE,
                          .key = mcds__log_tombstone_key(log, stem, key_out)};
}

bool mcds__log_is_tombstone(const mcds_reply *tombstone)
{
    return tombstone->outcome != MCDS_OUT_OK ||
           (tombstone->flags == MCDS__SEGMENT_END && tombstone->value_length == 0);
}

enum mcds__step mcds__log_judge_root(struct mcds__log_begin *begin,
                                     struct mcds__operation *operation)
{
    const mcds_reply *tombstone = &begin->request.reply;
    assert(begin->root.is_again && begin->root.number != 0);
    begin->judges = true;
    if (!begin->is_asked) {
        begin->request = mcds__log_read_tombstone(
            begin->log, mcds__log_stem(begin->root.number), &begin->key);
        begin->is_asked = true;
        return mcds__operation_ask_repeatable(operation, &begin->request, 1);
    }
    begin->is_asked = false;
    if (mcds__first_trouble(&begin->request, 1) != NULL)
        return mcds__operation_retry(operation, tombstone);
    begin->judges = false;
    if (!mcds__log_is_tombstone(tombstone))
        return mcds__operation_explain(operation, MCDS_CORRUPT, MCDS__WHY(FOREIGN));
    begin->is_dropped = tombstone->outcome == MCDS_OUT_OK;
    return mcds__operation_finish(operation, begin->is_dropped ? MCDS_NOT_FOUND : MCDS_OK);
}
