/* Memory for the operations of one pipeline. */
#include "engine/rooms.h"

#include <assert.h>
#include <stddef.h>

#include "base/environment.h"
#include "engine/operation.h"

#define BITS_MIN 10

struct mcds__room {
    struct mcds__room *all;      /* the next of all rooms */
    struct mcds__room *spare;    /* the next free one of its class */
    struct mcds__handle *handle; /* of its operation; NULL: it is free */
    uint32_t size_class;
    _Alignas(max_align_t) uint8_t memory[];
};

void *mcds__rooms_take(struct mcds__rooms *rooms, struct mcds__handle *handle, size_t size)
{
    unsigned long long beyond = (unsigned long long)(size - 1) >> BITS_MIN;
    uint32_t size_class = beyond > 0 ? 64 - (uint32_t)__builtin_clzll(beyond) : 0;
    assert(size_class < MCDS__ROOM_CLASSES);
    struct mcds__room *room = rooms->spare[size_class];
    if (room != NULL) {
        rooms->spare[size_class] = room->spare;
    } else {
        room = mcds__allocate(rooms->env,
                              sizeof *room + ((size_t)1 << (BITS_MIN + size_class)));
        if (room == NULL)
            return NULL;
        room->size_class = size_class;
        room->all = rooms->all;
        rooms->all = room;
    }
    mcds__handle_hold(handle);
    room->handle = handle;
    return room->memory;
}

struct mcds__handle *mcds__rooms_give(struct mcds__rooms *rooms, void *operation)
{
    struct mcds__room *room = (struct mcds__room *)((uint8_t *)operation -
                                                    offsetof(struct mcds__room, memory));
    struct mcds__handle *handle = room->handle;
    room->handle = NULL;
    room->spare = rooms->spare[room->size_class];
    rooms->spare[room->size_class] = room;
    return handle;
}

void mcds__rooms_free(struct mcds__rooms *rooms)
{
    for (struct mcds__room *room = rooms->all, *next; room != NULL; room = next) {
        next = room->all;
        if (room->handle != NULL)
            mcds__operation_free((struct mcds__operation *)(void *)room->memory);
        mcds__handle_release(room->handle);
        mcds__free(rooms->env, room);
    }
}
