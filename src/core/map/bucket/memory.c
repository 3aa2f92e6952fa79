/* Bucket: memory for values that applied records make. It lives as long as the bucket. */
#include "base/environment.h"
#include "core/map/bucket/apply.h"

struct mcds__map_chunk {
    struct mcds__map_chunk *next;
    uint8_t bytes[];
};

uint8_t *mcds__map_make(struct mcds__bucket *bucket, size_t length)
{
    struct mcds__map_chunk *chunk = mcds__allocate(bucket->env, sizeof *chunk + length);
    if (chunk == NULL)
        return NULL;
    chunk->next = bucket->chunks;
    bucket->chunks = chunk;
    return chunk->bytes;
}

void mcds__map_free_made(struct mcds__bucket *bucket)
{
    for (struct mcds__map_chunk *chunk = bucket->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        mcds__free(bucket->env, chunk);
    }
}
