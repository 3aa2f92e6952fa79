/* Ranking: a heap of the N greatest entries, the least of them at the front. */
#include "ranking/ranking.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MOST 10

struct ranking ranking_of(const struct command *command)
{
    return (struct ranking){.most = number_of(command, OPTION_LIMIT, MOST)};
}

/* Negative: `a` is printed before `b`. */
static int compare(const struct ranked *a, const struct ranked *b)
{
    if (a->number != b->number)
        return a->number > b->number ? -1 : 1;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->key, b->key, shorter);
    if (order != 0)
        return order;
    return a->length < b->length ? -1 : a->length > b->length;
}

static int compare_entries(const void *a, const void *b)
{
    return compare(a, b);
}

static void swap(struct ranked *a, struct ranked *b)
{
    struct ranked kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the last entry to its place among those above it. */
static void sift_up(struct ranking *ranking)
{
    struct ranked *entries = ranking->entries;
    for (size_t at = ranking->count - 1; at > 0;) {
        size_t parent = (at - 1) / 2;
        if (compare(&entries[at], &entries[parent]) <= 0)
            return;
        swap(&entries[at], &entries[parent]);
        at = parent;
    }
}

/* Moves the front entry to its place among those below it. */
static void sift_down(struct ranking *ranking)
{
    struct ranked *entries = ranking->entries;
    for (size_t at = 0;;) {
        size_t last = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < ranking->count; child++)
            if (compare(&entries[child], &entries[last]) > 0)
                last = child;
        if (last == at)
            return;
        swap(&entries[at], &entries[last]);
        at = last;
    }
}

/* Makes room for one entry more. */
static bool grow(struct ranking *ranking)
{
    if (ranking->count < ranking->capacity)
        return true;
    size_t capacity = ranking->capacity > 0 ? 2 * ranking->capacity : 16;
    struct ranked *entries = NULL;
    if (capacity <= SIZE_MAX / sizeof *entries)
        entries = realloc(ranking->entries, capacity * sizeof *entries);
    if (entries == NULL)
        return false;
    ranking->entries = entries;
    ranking->capacity = capacity;
    return true;
}

bool ranking_add(struct ranking *ranking, mcds_bytes key, int64_t number)
{
    assert(ranking->most > 0);
    bool is_full = ranking->count >= ranking->most;
    struct ranked entry = {number, (char *)(uintptr_t)key.data, key.length};
    if (is_full && compare(&entry, &ranking->entries[0]) > 0)
        return true;
    entry.key = malloc(key.length + 1);
    if (entry.key == NULL || (!is_full && !grow(ranking))) {
        free(entry.key);
        ranking->is_out_of_memory = true;
        return false;
    }
    memcpy(entry.key, key.data, key.length);
    if (is_full) {
        free(ranking->entries[0].key);
        ranking->entries[0] = entry;
        sift_down(ranking);
    } else {
        ranking->entries[ranking->count++] = entry;
        sift_up(ranking);
    }
    return true;
}

void ranking_sort(struct ranking *ranking)
{
    if (ranking->count > 0)
        qsort(ranking->entries, ranking->count, sizeof ranking->entries[0], compare_entries);
}

void ranking_print(const struct ranking *ranking, struct output *output, const char *key,
                   const char *number)
{
    for (size_t i = 0; i < ranking->count && output_is_fine(output); i++) {
        const struct ranked *entry = &ranking->entries[i];
        output_begin(output);
        output_bytes(output, key, (mcds_bytes){entry->key, entry->length}, SHOWN);
        output_number(output, number, entry->number, SHOWN);
        output_end(output);
    }
}

void ranking_free(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->count; i++)
        free(ranking->entries[i].key);
    free(ranking->entries);
}
