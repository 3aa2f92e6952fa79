/* The distinct pages of a log: an array, and a hash table of indices into it. */
#include "pages.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a, begun with a random seed: whoever chooses the pages must not choose the slots. */
static uint64_t hash_of(uint64_t seed, struct text name)
{
    uint64_t hash = seed ^ UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (uint8_t)name.at[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

void pages_init(struct pages *pages)
{
    const mcds_env *env = mcds_env_system();
    *pages = (struct pages){0};
    env->random(env->self, &pages->seed, sizeof pages->seed);
}

void pages_free(struct pages *pages)
{
    for (uint32_t i = 0; i < pages->count; i++)
        free(pages->at[i].bytes);
    free(pages->at);
    free(pages->slots);
    *pages = (struct pages){0};
}

/* The slot of the page, or the empty slot where it belongs. */
static uint32_t *slot_of(const struct pages *pages, uint64_t hash, struct text name)
{
    uint32_t mask = pages->slot_count - 1;
    for (uint32_t i = (uint32_t)(hash >> 32) & mask;; i = (i + 1) & mask) {
        if (pages->slots[i] == 0)
            return &pages->slots[i];
        const struct page *page = &pages->at[pages->slots[i] - 1];
        if (page->hash == hash && page->length == name.length &&
            memcmp(page->bytes, name.at, name.length) == 0)
            return &pages->slots[i];
    }
}

/* Twice the room, and four slots for each place: at most a quarter is full. */
static bool grow(struct pages *pages)
{
    if (pages->room >= PAGES_MAX)
        return false;
    uint32_t room = pages->room == 0 ? 256 : pages->room * 2;
    struct page *at = realloc(pages->at, room * sizeof *at);
    if (at == NULL)
        return false;
    pages->at = at;
    uint32_t *slots = calloc((size_t)room * 4, sizeof *slots);
    if (slots == NULL)
        return false;
    free(pages->slots);
    pages->slots = slots;
    pages->slot_count = room * 4;
    pages->room = room;
    for (uint32_t i = 0; i < pages->count; i++) {
        const struct page *page = &pages->at[i];
        *slot_of(pages, page->hash, (struct text){page->bytes, page->length}) = i + 1;
    }
    return true;
}

uint32_t pages_find(struct pages *pages, struct text name)
{
    if (name.length > PARSE_LINE_MAX || (pages->count == pages->room && !grow(pages)))
        return PAGES_NONE;
    uint64_t hash = hash_of(pages->seed, name);
    uint32_t *slot = slot_of(pages, hash, name);
    if (*slot != 0)
        return *slot - 1;
    char *bytes = malloc(name.length + 1);
    if (bytes == NULL)
        return PAGES_NONE;
    memcpy(bytes, name.at, name.length);
    bytes[name.length] = '\0';
    pages->at[pages->count] = (struct page){
        .bytes = bytes, .length = (uint32_t)name.length, .hash = hash};
    *slot = ++pages->count;
    return pages->count - 1;
}

static int compare(const void *left, const void *right)
{
    const struct page *a = left;
    const struct page *b = right;
    if (a->views != b->views)
        return a->views > b->views ? -1 : 1;
    return strcmp(a->bytes, b->bytes);
}

void pages_sort(struct pages *pages)
{
    if (pages->count > 0)
        qsort(pages->at, pages->count, sizeof *pages->at, compare);
}
