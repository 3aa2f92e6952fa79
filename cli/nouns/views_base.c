/* The database of `mcds views`: a table with one entry for each page.
 *
 * The value of a page is text: the sum of the old intervals, and then SLOT:VIEWS for each of the
 * last intervals, in order. A repeated flush saves an interval again, and a reader may ask for the
 * sum up to an interval of the last day; older intervals are only in the sum. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nouns/views.h"
#include "run/session.h"

#define SLOTS_MAX 1500 /* more than a day of them, which flush catches up with */
#define PART_MAX 48    /* bytes of "SLOT:VIEWS " */
#define TRIES_MAX 64

struct base {
    mcds_store *store;
    mcds_table *table;
    bool is_foreign; /* an entry that was read is no page */
};

struct part {
    uint64_t slot;
    int64_t views;
};

struct page {
    int64_t sum;
    size_t count;
    struct part parts[SLOTS_MAX + 1];
};

int base_open(const struct command *command, const char *uri, struct base **base_out)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    const char *name = command->arguments[0];
    struct base *base = calloc(1, sizeof *base);
    size_t length = strlen(name) + sizeof "views:";
    char *table = malloc(length);
    int result = MCDS_NO_MEMORY;
    options.ns = command->store_ns;
    if (base != NULL && table != NULL) {
        (void)snprintf(table, length, "views:%s", name);
        result = open_named(command, uri, &options, &base->store);
    }
    if (result == MCDS_OK)
        result = mcds_table_open(base->store, table, NULL, &base->table);
    free(table);
    if (result == MCDS_OK)
        *base_out = base;
    else
        base_close(base);
    return result;
}

void base_close(struct base *base)
{
    if (base == NULL)
        return;
    mcds_table_close(base->table);
    mcds_close(base->store);
    free(base);
}

/* Reads a number and the byte after it. False when there is none. */
static bool take_number(const char **at, const char *end, uint64_t *out)
{
    uint64_t number = 0;
    const char *digit = *at;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++) {
        if (number > (INT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    if (digit == *at)
        return false;
    *at = digit;
    *out = number;
    return true;
}

static bool parse_page(mcds_bytes text, struct page *page)
{
    const char *at = text.data;
    const char *end = at + text.length;
    uint64_t number;
    page->count = 0;
    if (!take_number(&at, end, &number))
        return false;
    page->sum = (int64_t)number;
    while (at < end) {
        struct part *part = &page->parts[page->count];
        if (page->count == SLOTS_MAX || *at++ != ' ' || !take_number(&at, end, &part->slot) ||
            at == end || *at++ != ':' || !take_number(&at, end, &number))
            return false;
        part->views = (int64_t)number;
        page->count++;
    }
    return true;
}

/* Reads a page. A page that was never saved has no views. */
static int read_page(struct base *base, mcds_bytes key, mcds_value *value, struct page *page)
{
    int result = mcds_table_get(base->table, key, value);
    page->sum = 0;
    page->count = 0;
    base->is_foreign = result == MCDS_OK &&
                       !parse_page((mcds_bytes){value->data, value->length}, page);
    return base->is_foreign ? MCDS_CORRUPT : result;
}

void base_explain(const struct base *base, int result, char out[FAILURE_CAPACITY])
{
    if (result == MCDS_CORRUPT && base->is_foreign)
        (void)snprintf(
            out, FAILURE_CAPACITY,
            "the table of the database has an entry that 'views flush' did not write; "
            "remove or restore it");
    else if (result == MCDS_NO_MEMORY)
        (void)snprintf(out, FAILURE_CAPACITY, "out of memory");
    else if (result > 0)
        (void)snprintf(out, FAILURE_CAPACITY,
                       "others keep changing the entry of the table of the database");
    else
        describe_failure(out, NULL);
}

int base_load(void *context, const char *page_name, uint64_t upto_slot, uint64_t latest_slot,
              int64_t *views_out)
{
    struct page *page = malloc(sizeof *page);
    mcds_value value = MCDS_VALUE_INIT;
    int result = MCDS_NO_MEMORY;
    if (page != NULL)
        result = read_page(context, mcds_text(page_name), &value, page);
    if (result >= 0) {
        *views_out = page->sum;
        for (size_t i = 0; i < page->count; i++)
            if (page->parts[i].slot <= upto_slot || page->parts[i].slot > latest_slot)
                *views_out += page->parts[i].views;
    }
    mcds_value_free(&value);
    free(page);
    return result < 0 ? result : 0;
}

struct page_visit {
    struct page page;
    bool (*visit)(void *context, mcds_bytes page, int64_t views);
    void *context;
    bool is_corrupt;
};

static bool visit_entry(void *context, mcds_bytes key, mcds_bytes text)
{
    struct page_visit *visit = context;
    int64_t views;
    visit->is_corrupt = !parse_page(text, &visit->page);
    views = visit->page.sum;
    for (size_t i = 0; i < visit->page.count && !visit->is_corrupt; i++)
        visit->is_corrupt = __builtin_add_overflow(views, visit->page.parts[i].views, &views);
    return !visit->is_corrupt && visit->visit(visit->context, key, views);
}

int base_scan(struct base *base, bool (*visit)(void *context, mcds_bytes page, int64_t views),
              void *context)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    struct page_visit *pages = calloc(1, sizeof *pages);
    if (pages == NULL)
        return MCDS_NO_MEMORY;
    pages->visit = visit;
    pages->context = context;
    int result = mcds_table_scan(base->table, &cursor, 0, visit_entry, pages);
    bool is_corrupt = pages->is_corrupt;
    free(pages);
    return is_corrupt ? MCDS_CORRUPT : result;
}

/* Sets the views of an interval. Returns false when nothing has changed. */
static bool put_part(struct page *page, uint64_t slot, int64_t views)
{
    size_t place = page->count;
    while (place > 0 && page->parts[place - 1].slot >= slot)
        place--;
    if (place < page->count && page->parts[place].slot == slot) {
        bool is_more = views > page->parts[place].views;
        page->parts[place].views = is_more ? views : page->parts[place].views;
        return is_more;
    }
    if (place == 0 && page->sum > 0)
        return false; /* so old that the sum has it */
    memmove(&page->parts[place + 1], &page->parts[place],
            (page->count - place) * sizeof page->parts[0]);
    page->parts[place] = (struct part){slot, views};
    page->count++;
    if (page->count > SLOTS_MAX) {
        page->sum += page->parts[0].views;
        page->count--;
        memmove(&page->parts[0], &page->parts[1], page->count * sizeof page->parts[0]);
    }
    return true;
}

static mcds_bytes print_page(const struct page *page, char *text, size_t capacity)
{
    size_t length = (size_t)snprintf(text, capacity, "%" PRId64, page->sum);
    for (size_t i = 0; i < page->count; i++)
        length += (size_t)snprintf(text + length, capacity - length, " %" PRIu64 ":%" PRId64,
                                   page->parts[i].slot, page->parts[i].views);
    return (mcds_bytes){text, length};
}

int base_save(void *context, const char *page_name, uint64_t slot, int64_t views)
{
    struct base *base = context;
    size_t capacity = (SLOTS_MAX + 2) * PART_MAX;
    struct page *page = malloc(sizeof *page);
    char *text = malloc(capacity);
    mcds_bytes key = mcds_text(page_name);
    mcds_value value = MCDS_VALUE_INIT;
    int result = page != NULL && text != NULL ? MCDS_EXISTS : MCDS_NO_MEMORY;
    /* Others may flush too, and then one of us reads again. */
    for (int tries = 0; result > 0 && tries < TRIES_MAX; tries++) {
        result = read_page(base, key, &value, page);
        if (result < 0)
            break;
        if (!put_part(page, slot, views)) {
            result = MCDS_OK;
            break;
        }
        bool is_new = result == MCDS_NOT_FOUND;
        mcds_bytes fresh = print_page(page, text, capacity);
        mcds_bytes old = {value.data, value.length};
        result = is_new ? mcds_table_put_if_absent(base->table, key, fresh, 0)
                        : mcds_table_compare_and_set(base->table, key, old, fresh, 0);
    }
    mcds_value_free(&value);
    free(text);
    free(page);
    return result;
}
