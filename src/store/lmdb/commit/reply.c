/* Answers to requests that no transaction has executed. */
#include <string.h>

#include "store/lmdb/file.h"

void mcds__lmdb_answer(const struct mcds__lmdb_file *file, mcds_request *request,
                       mcds_outcome outcome, const mcds_reason *detail)
{
    memset(&request->reply, 0, sizeof request->reply);
    request->reply.outcome = outcome;
    request->reply.detail = detail;
    request->reply.peer = file->path;
}

void mcds__lmdb_answer_batch(const struct mcds__lmdb_file *file, mcds_batch *batch,
                             mcds_outcome outcome, const mcds_reason *detail)
{
    for (uint32_t i = 0; i < batch->count; i++)
        mcds__lmdb_answer(file, &batch->requests[i], outcome, detail);
    batch->answered = batch->count;
}
