/* The largest responses. */
#include "top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ELEMENT_MAX (FIGURES_FIT_MAX + 24)

/* Below zero: `size` and `page` stand before the response. */
static int compare(uint64_t size, const char *page, const struct response *response)
{
    if (size != response->size)
        return size > response->size ? -1 : 1;
    return strcmp(page, response->page);
}

static void insert(struct top *top, uint64_t size, const char *page)
{
    uint32_t place = 0;
    while (place < top->count && compare(size, page, &top->at[place]) > 0)
        place++;
    bool there = place < top->count && compare(size, page, &top->at[place]) == 0;
    if (there || place == TOP_COUNT)
        return;
    if (top->count < TOP_COUNT)
        top->count++;
    memmove(&top->at[place + 1], &top->at[place], (top->count - place - 1) * sizeof top->at[0]);
    top->at[place].size = size;
    (void)snprintf(top->at[place].page, sizeof top->at[place].page, "%s", page);
    top->changed = true;
}

void top_put(struct top *top, uint64_t size, struct text page)
{
    char fit[FIGURES_FIT_MAX];
    if (top->count == TOP_COUNT && size < top->at[TOP_COUNT - 1].size)
        return;
    figures_fit(page, fit);
    insert(top, size, fit);
}

/* An element that is none of ours is left out. */
static bool insert_element(void *context, mcds_bytes element)
{
    char text[ELEMENT_MAX];
    uint64_t size;
    int length = 0;
    if (element.length >= sizeof text)
        return true;
    memcpy(text, element.data, element.length);
    text[element.length] = '\0';
    if (sscanf(text, "%20" SCNu64 "%n", &size, &length) == 1 && text[length] == '\t' &&
        strlen(text + length + 1) < FIGURES_FIT_MAX)
        insert(context, size, text + length + 1);
    return true;
}

struct merging {
    const struct top *own;
    struct top all;
};

static int merge(void *context, const mcds_bytes *old, size_t old_count, mcds_elements *fresh)
{
    struct merging *merging = context;
    struct top *all = &merging->all;
    memset(all, 0, sizeof *all);
    for (size_t i = 0; i < old_count; i++)
        (void)insert_element(all, old[i]);
    all->changed = false;
    for (uint32_t i = 0; i < merging->own->count; i++)
        insert(all, merging->own->at[i].size, merging->own->at[i].page);
    if (!all->changed)
        return MCDS_EXISTS;
    for (uint32_t i = 0; i < all->count; i++) {
        char text[ELEMENT_MAX];
        (void)snprintf(text, sizeof text, "%" PRIu64 "\t%s", all->at[i].size, all->at[i].page);
        int result = mcds_elements_add(fresh, mcds_text(text));
        if (result != MCDS_OK)
            return result;
    }
    return MCDS_OK;
}

int top_merge(struct top *top, mcds_array *array)
{
    struct merging merging = {.own = top};
    int result = mcds_array_change_by(array, merge, &merging);
    if (result < 0)
        return result;
    *top = merging.all;
    top->changed = false;
    return MCDS_OK;
}

int top_read(struct top *top, mcds_array *array)
{
    memset(top, 0, sizeof *top);
    int result = mcds_array_scan(array, insert_element, top);
    return result == MCDS_NOT_FOUND ? MCDS_OK : result;
}
