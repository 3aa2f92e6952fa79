/* The distinct texts of a log: an array, and a hash table of indices into it. */
#include "names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, begun with a random seed: whoever chooses the texts must not choose the slots. */
static uint64_t hash_of(uint64_t seed, struct text text)
{
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < text.length; i++)
        hash = (hash ^ (uint8_t)text.at[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

void names_init(struct names *names)
{
    const mcds_env *env = mcds_env_system();
    *names = (struct names){.newest = NAMES_NONE};
    env->random(env->self, &names->seed, sizeof names->seed);
}

void names_free(struct names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->at[i].bytes);
    free(names->at);
    free(names->slots);
    *names = (struct names){0};
}

/* The slot of the text, or the empty slot where it belongs. */
static uint32_t *slot_of(const struct names *names, uint64_t hash, struct text text)
{
    uint32_t mask = names->slot_count - 1;
    for (uint32_t i = (uint32_t)(hash >> 32) & mask;; i = (i + 1) & mask) {
        if (names->slots[i] == 0)
            return &names->slots[i];
        const struct name *name = &names->at[names->slots[i] - 1];
        if (name->hash == hash && name->length == text.length &&
            memcmp(name->bytes, text.at, text.length) == 0)
            return &names->slots[i];
    }
}

/* Twice the room, and four slots for each place: at most a quarter is full. */
static bool grow(struct names *names)
{
    if (names->capacity >= NAMES_MAX)
        return false;
    uint32_t capacity = names->capacity == 0 ? 256 : names->capacity * 2;
    struct name *at = realloc(names->at, capacity * sizeof *at);
    if (at == NULL)
        return false;
    names->at = at;
    uint32_t *slots = calloc((size_t)capacity * 4, sizeof *slots);
    if (slots == NULL)
        return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = capacity * 4;
    names->capacity = capacity;
    for (uint32_t i = 0; i < names->count; i++) {
        const struct name *name = &names->at[i];
        *slot_of(names, name->hash, (struct text){name->bytes, name->length}) = i + 1;
    }
    return true;
}

uint32_t names_find(struct names *names, struct text text)
{
    if (text.length > PARSE_LINE_MAX || (names->count == names->capacity && !grow(names)))
        return NAMES_NONE;
    uint64_t hash = hash_of(names->seed, text);
    uint32_t *slot = slot_of(names, hash, text);
    if (*slot != 0)
        return *slot - 1;
    char *bytes = malloc(text.length + 1);
    if (bytes == NULL)
        return NAMES_NONE;
    memcpy(bytes, text.at, text.length);
    bytes[text.length] = '\0';
    names->at[names->count] = (struct name){.bytes = bytes,
                                            .length = (uint32_t)text.length,
                                            .hash = hash,
                                            .told_day = -1,
                                            .told_minute = -1};
    *slot = ++names->count;
    return names->count - 1;
}

uint32_t names_count(struct names *names, struct text text)
{
    uint32_t index = names_find(names, text);
    if (index == NAMES_NONE)
        return NAMES_NONE;
    struct name *name = &names->at[index];
    if (name->count++ == 0) {
        name->next = names->newest;
        names->newest = index;
    }
    return index;
}

void names_begin(struct names *names)
{
    for (uint32_t i = names->newest; i != NAMES_NONE; i = names->at[i].next)
        names->at[i].count = 0;
    names->newest = NAMES_NONE;
}

static int compare(const void *left, const void *right)
{
    const struct name *a = left;
    const struct name *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->bytes, b->bytes);
}

void names_sort(struct names *names)
{
    if (names->count > 0)
        qsort(names->at, names->count, sizeof *names->at, compare);
}
