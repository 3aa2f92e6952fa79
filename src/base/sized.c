/* Structs of a caller that was compiled for an older or newer version of this library. */
#include "base/sized.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "mcds/backend.h"
#include "mcds/sim.h"

#define NOUN_MAX 16
#define END_OF(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

#define LAYOUT(type, first, known, last)                                                       \
    [MCDS__SIZED_##type] = {#type, sizeof(type), END_OF(type, known), END_OF(type, first)},
const struct mcds__sized_layout mcds__sized_layouts[MCDS__SIZED_COUNT] = {
    MCDS__SIZED_MAP(LAYOUT)};

/* Where pointers have 4 bytes, a struct may end with bytes of no member. */
#if UINTPTR_MAX > UINT32_MAX
#define IS_FULL(type, first, known, last)                                                      \
    static_assert(END_OF(type, last) == sizeof(type), #type " ends with unused bytes");
MCDS__SIZED_MAP(IS_FULL)
#endif

#if MCDS_VERSION_MAJOR == 0 && MCDS_VERSION_MINOR == 1
#define IS_WHOLE(type, first, known, last)                                                     \
    static_assert(END_OF(type, first) == END_OF(type, last), #type " has more in 0.1");
MCDS__SIZED_MAP(IS_WHOLE)
#endif

/* The noun of the sentences about a struct: counter for mcds_counter_options. */
static const char *sized_noun_of(const struct mcds__sized_layout *layout, char out[NOUN_MAX])
{
    const char *stem = layout->name + strlen("mcds_");
    size_t length = strcspn(stem, "_");
    if (layout == &mcds__sized_layouts[MCDS__SIZED_mcds_wait])
        return "pipeline";
    if (stem[length] == '\0')
        return "store";
    if (strncmp(stem, "sim_", length + 1) == 0)
        return "simulation";
    assert(length < NOUN_MAX);
    memcpy(out, stem, length);
    out[length] = '\0';
    return out;
}

static size_t sized_size_of(const struct mcds__sized_layout *layout, const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size > 0 ? size : layout->first;
}

static bool is_possible(const struct mcds__sized_layout *layout, size_t size)
{
    return size >= sizeof(size_t) && size <= layout->size + MCDS__SIZED_GROWTH_MAX;
}

static int refuse_size(const struct mcds__sized_layout *layout, size_t size)
{
    char noun[NOUN_MAX];
    return mcds__fail_saying(
        MCDS__ERROR(MCDS_INVALID, STRUCT_SIZE, .noun = sized_noun_of(layout, noun),
                    .option = "size", .wanted_max = (int64_t)layout->size, MCDS__FOUND(size)),
        "%s: its size is %zu; set it to sizeof(%s), %zu in this version, or to 0", layout->name,
        size, layout->name, layout->size);
}

int mcds__sized_check(enum mcds__sized which, const void *given)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = sized_size_of(layout, given);
    return is_possible(layout, size) ? MCDS_OK : refuse_size(layout, size);
}

int mcds__sized_check_least(enum mcds__sized which, const void *given, size_t least)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = sized_size_of(layout, given);
    assert(least <= layout->first);
    return size < least ? refuse_size(layout, size) : mcds__sized_check(which, given);
}

int mcds__sized_read(enum mcds__sized which, const void *given, void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    int result = given != NULL ? mcds__sized_check(which, given) : MCDS_OK;
    char noun[NOUN_MAX];
    if (result != MCDS_OK)
        return result;
    size_t size = given != NULL ? sized_size_of(layout, given) : 0;
    for (size_t i = layout->known; i < size; i++)
        if (((const uint8_t *)given)[i] != 0)
            return mcds__fail_saying(
                MCDS__ERROR(MCDS_INVALID, STRUCT_SIZE, .noun = sized_noun_of(layout, noun),
                            .option = "size", .wanted_max = (int64_t)layout->known,
                            MCDS__FOUND(size)),
                "%s: made for a newer version: a member beyond byte %zu is set", layout->name,
                layout->known);
    mcds__sized_take(which, given, ours);
    return MCDS_OK;
}

void mcds__sized_take(enum mcds__sized which, const void *given, void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = given != NULL ? sized_size_of(layout, given) : 0;
    memset(ours, 0, layout->size);
    if (given != NULL && is_possible(layout, size))
        memcpy(ours, given, size < layout->known ? size : layout->known);
    memcpy(ours, &layout->size, sizeof layout->size);
}

void mcds__sized_write(enum mcds__sized which, void *given, const void *ours)
{
    const struct mcds__sized_layout *layout = &mcds__sized_layouts[which];
    size_t size = sized_size_of(layout, given);
    if (!is_possible(layout, size))
        return;
    size_t common = size < layout->known ? size : layout->known;
    memcpy((uint8_t *)given + sizeof(size_t), (const uint8_t *)ours + sizeof(size_t),
           common - sizeof(size_t));
    memset((uint8_t *)given + common, 0, size - common);
}
