/* Chunk: grows by half. */
#include "io/chunk.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (1 << 20)
#define FIRST 64

static void *widen(void *memory, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return memory;
    size_t wider = needed + needed / 2 + FIRST;
    void *moved = realloc(memory, wider * size);
    if (moved != NULL)
        *capacity = wider;
    return moved;
}

bool chunk_keep(struct chunk *chunk, mcds_bytes value)
{
    mcds_bytes *values = widen(chunk->values, &chunk->capacity, chunk->count + 1,
                               sizeof values[0]);
    if (values == NULL)
        return false;
    chunk->values = values;
    char *text = widen(chunk->text, &chunk->text_capacity, chunk->bytes + value.length + 1, 1);
    if (text == NULL)
        return false;
    chunk->text = text;
    if (value.length > 0)
        memcpy(text + chunk->bytes, value.data, value.length);
    values[chunk->count++] = (mcds_bytes){NULL, value.length};
    chunk->bytes += value.length;
    return true;
}

const mcds_bytes *chunk_values(struct chunk *chunk)
{
    const char *at = chunk->text;
    for (size_t i = 0; i < chunk->count; i++) {
        chunk->values[i].data = at;
        at += chunk->values[i].length;
    }
    return chunk->values;
}

void chunk_clear(struct chunk *chunk)
{
    if (chunk->text_capacity > KEPT_BYTES || chunk->capacity > KEPT_BYTES / sizeof(mcds_bytes))
        chunk_free(chunk);
    chunk->count = 0;
    chunk->bytes = 0;
}

void chunk_free(struct chunk *chunk)
{
    free(chunk->values);
    free(chunk->text);
    memset(chunk, 0, sizeof *chunk);
}
