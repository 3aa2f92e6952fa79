/* A pool of memory for the operations of one pipeline. */
#include "engine/pool.h"

#include <assert.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "engine/line.h"
#include "engine/operation.h"

#define BITS_MIN 10
/* Memory for values that is kept: more is freed. */
#define VALUES_KEPT_MAX ((size_t)8192)
#define VALUES_COUNT_MAX 256

struct mcds__pool_block {
    struct mcds__pool_block *all;   /* the next of all blocks */
    struct mcds__pool_block *spare; /* the next free one of its class */
    struct mcds__handle *handle;    /* of its operation; NULL: it is free */
    uint32_t size_class;
    _Alignas(max_align_t) uint8_t memory[];
};

/* At the beginning of memory for values that no operation uses. */
struct mcds__pool_values {
    struct mcds__pool_values *next;
    size_t capacity;
};

static void pool_hold(struct mcds__pool *pool, struct mcds__handle *handle)
{
    if (pool->holds > 0 && pool->held == handle) {
        pool->holds++;
        return;
    }
    mcds__handle_hold(handle);
    if (pool->holds == 0) {
        pool->held = handle;
        pool->holds = 1;
    }
}

void mcds__pool_release(struct mcds__pool *pool, struct mcds__handle *handle)
{
    assert(pool->holds == 0 || pool->held != NULL);
    bool is_held = pool->holds > 0 && pool->held == handle;
    if (!is_held || --pool->holds == 0)
        mcds__handle_release(handle);
}

void *mcds__pool_take(struct mcds__pool *pool, struct mcds__handle *handle, size_t size)
{
    assert(size > 0);
    unsigned long long beyond = (unsigned long long)(size - 1) >> BITS_MIN;
    uint32_t size_class = beyond > 0 ? 64 - (uint32_t)__builtin_clzll(beyond) : 0;
    assert(size_class < MCDS__POOL_CLASSES);
    struct mcds__pool_block *block = pool->spare[size_class];
    if (block != NULL) {
        assert(block->handle == NULL && block->size_class == size_class);
        pool->spare[size_class] = block->spare;
    } else {
        block = mcds__allocate(pool->env,
                               sizeof *block + ((size_t)1 << (BITS_MIN + size_class)));
        if (block == NULL)
            return NULL;
        block->size_class = size_class;
        block->all = pool->all;
        pool->all = block;
    }
    pool_hold(pool, handle);
    block->handle = handle;
    return block->memory;
}

struct mcds__handle *mcds__pool_give(struct mcds__pool *pool, void *operation)
{
    struct mcds__pool_block *block =
        (struct mcds__pool_block *)((uint8_t *)operation -
                                    offsetof(struct mcds__pool_block, memory));
    assert(block->handle != NULL && block->size_class < MCDS__POOL_CLASSES);
    struct mcds__handle *handle = block->handle;
    block->handle = NULL;
    block->spare = pool->spare[block->size_class];
    pool->spare[block->size_class] = block;
    return handle;
}

void mcds__pool_lend_values(struct mcds__pool *pool, mcds_buffer *values)
{
    struct mcds__pool_values *kept = pool->values;
    assert(values->length == 0);
    if (kept == NULL || !values->borrowed)
        return;
    assert(pool->values_count > 0 && kept->capacity >= sizeof *kept);
    pool->values = kept->next;
    pool->values_count--;
    size_t capacity = kept->capacity;
    values->data = (uint8_t *)kept;
    values->capacity = capacity;
    values->borrowed = false;
}

void mcds__pool_keep_values(struct mcds__pool *pool, mcds_buffer *values)
{
    if (values->borrowed || values->capacity > VALUES_KEPT_MAX ||
        values->capacity < sizeof(struct mcds__pool_values) ||
        pool->values_count == VALUES_COUNT_MAX)
        return;
    struct mcds__pool_values *kept = (struct mcds__pool_values *)(void *)values->data;
    *kept = (struct mcds__pool_values){pool->values, values->capacity};
    pool->values = kept;
    pool->values_count++;
    mcds__buffer_init_in(values, values->env, values->capacity_max, NULL, 0);
}

struct mcds__handle *mcds__pool_end(struct mcds__pool *pool, struct mcds__operation *operation)
{
    mcds__pool_keep_values(pool, &operation->values);
    mcds__operation_free(operation);
    return mcds__pool_give(pool, operation);
}

bool mcds__pool_end_wait(struct mcds__pool *pool, uint64_t tag)
{
    bool is_found = false;
    for (struct mcds__pool_block *block = pool->all; block != NULL; block = block->all) {
        struct mcds__operation *operation = (struct mcds__operation *)(void *)block->memory;
        if (block->handle == NULL || operation->tag != tag)
            continue;
        operation->ends_wait = is_found = true;
        mcds__lines_note_late(operation->lines);
        if (!operation->is_asked || operation->is_resting)
            mcds__operation_end_wait(operation);
    }
    return is_found;
}

/* It has not ended, and nobody takes its failure. */
static void operation_abandon(struct mcds__operation *operation)
{
    mcds__operation_free(operation);
    mcds__free(operation->env, operation->blame);
}

void mcds__pool_free(struct mcds__pool *pool)
{
    for (struct mcds__pool_block *block = pool->all, *next; block != NULL; block = next) {
        struct mcds__operation *operation = (struct mcds__operation *)(void *)block->memory;
        next = block->all;
        /* In a child, other threads of the parent may hold mutexes of the structure. */
        if (block->handle != NULL && !mcds__store_is_parents(operation->store))
            operation_abandon(operation);
        mcds__pool_release(pool, block->handle);
        mcds__free(pool->env, block);
    }
    for (struct mcds__pool_values *kept = pool->values, *next; kept != NULL; kept = next) {
        next = kept->next;
        mcds__free(pool->env, kept);
    }
}
