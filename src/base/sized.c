/* Structs of the caller that may be older or newer than this library. */
#include "base/sized.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "mcds_sim.h"
#include "mcds_store.h"

#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

#define LAYOUT(type, first, known, last)                                                       \
    [MCDS__SIZED_##type] = {#type, sizeof(type), END_OF(type, known), END_OF(type, first)},
const struct mcds__sized_layout mcds__sized_layouts[MCDS__SIZED_COUNT] = {
    MCDS__SIZED_MAP(LAYOUT)};

/* Where pointers have 4 bytes, a struct may end with some that no member has: see CONTRIBUTING. */
#if UINTPTR_MAX > UINT32_MAX
#define IS_FULL(type, first, known, last)                                                      \
    static_assert(END_OF(type, last) == sizeof(type), #type " ends with unused bytes");
MCDS__SIZED_MAP(IS_FULL)
#endif

static const mcds_error unsized = {
    .result = MCDS_INVALID, .cause = MCDS_CAUSE_STRUCT_SIZE, .option = "size"};

static size_t size_of(const struct mcds__sized_layout *layout, const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size > 0 ? size : layout->first;
}

static bool is_possible(const struct mcds__sized_layout *layout, size_t size)
{
    return size >= sizeof(size_t) && size <= layout->size + MCDS__SIZED_GROWTH_MAX;
}

int mcds__sized_check(enum mcds__sized which, const void *given)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = size_of(layout, given);
    if (is_possible(layout, size))
        return MCDS_OK;
    return mcds__fail_saying(
        &unsized, "%s: its size is %zu; set it to sizeof(%s), %zu in this version, or to 0",
        layout->name, size, layout->name, layout->size);
}

int mcds__sized_read(enum mcds__sized which, const void *given, void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    int result = given != NULL ? mcds__sized_check(which, given) : MCDS_OK;
    if (result != MCDS_OK)
        return result;
    size_t size = given != NULL ? size_of(layout, given) : 0;
    for (size_t i = layout->known; i < size; i++)
        if (((const uint8_t *)given)[i] != 0)
            return mcds__fail_saying(
                &unsized, "%s: made for a newer version: field beyond byte %zu is set",
                layout->name, layout->known);
    mcds__sized_take(which, given, ours);
    return MCDS_OK;
}

void mcds__sized_take(enum mcds__sized which, const void *given, void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = given != NULL ? size_of(layout, given) : 0;
    memset(ours, 0, layout->size);
    if (given != NULL && is_possible(layout, size))
        memcpy(ours, given, size < layout->known ? size : layout->known);
    memcpy(ours, &layout->size, sizeof layout->size);
}

void mcds__sized_write(enum mcds__sized which, void *given, const void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = size_of(layout, given);
    if (!is_possible(layout, size))
        return;
    size_t common = size < layout->known ? size : layout->known;
    memcpy((uint8_t *)given + sizeof(size_t), (const uint8_t *)ours + sizeof(size_t),
           common - sizeof(size_t));
    memset((uint8_t *)given + common, 0, size - common);
}
