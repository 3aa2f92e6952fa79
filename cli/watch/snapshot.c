/* Snapshot: lines of text, sorted and compared by merging. */
#include "watch/snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static ssize_t append(void *cookie, const char *bytes, size_t length)
{
    struct snapshot *snapshot = cookie;
    assert(snapshot->length <= SNAPSHOT_BYTES_MAX);
    if (length > SNAPSHOT_BYTES_MAX - snapshot->length) {
        snapshot->is_too_large = true;
        return 0; /* which fails */
    }
    if (snapshot->length + length > snapshot->capacity) {
        size_t capacity = 2 * (snapshot->length + length);
        char *text = realloc(snapshot->text, capacity);
        if (text == NULL) {
            snapshot->is_out_of_memory = true;
            return 0;
        }
        snapshot->text = text;
        snapshot->capacity = capacity;
    }
    memcpy(snapshot->text + snapshot->length, bytes, length);
    snapshot->length += length;
    return (ssize_t)length;
}

FILE *snapshot_begin(struct snapshot *snapshot)
{
    cookie_io_functions_t functions = {.write = append};
    memset(snapshot, 0, sizeof *snapshot);
    return fopencookie(snapshot, "w", functions);
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->text);
    free(snapshot->lines);
    memset(snapshot, 0, sizeof *snapshot);
}

static int compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t least = a_length < b_length ? a_length : b_length;
    int order = least > 0 ? memcmp(a, b, least) : 0;
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

/* Quoted text has no character below a blank, so lines are also in the order of their keys. */
static int compare_lines(const void *a, const void *b)
{
    const struct line_of *one = a;
    const struct line_of *other = b;
    return compare_bytes(one->text, one->length, other->text, other->length);
}

static size_t count_lines(const struct snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->length; i++)
        count += snapshot->text[i] == '\n';
    return count;
}

bool snapshot_end(struct snapshot *snapshot, bool is_ordered)
{
    size_t count = count_lines(snapshot);
    if (count > SNAPSHOT_LINES_MAX)
        snapshot->is_too_large = true;
    if (snapshot->is_too_large || snapshot->is_out_of_memory)
        return false;
    snapshot->lines = calloc(count + 1, sizeof snapshot->lines[0]);
    snapshot->is_out_of_memory = snapshot->lines == NULL;
    if (snapshot->lines == NULL)
        return false;
    const char *at = snapshot->text;
    for (size_t i = 0; i < count; i++) {
        const char *end = memchr(at, '\n', snapshot->length - (size_t)(at - snapshot->text));
        assert(end != NULL);
        size_t length = (size_t)(end - at);
        const char *tab = memchr(at, '\t', length);
        snapshot->lines[i] = (struct line_of){at, length,
                                              tab != NULL ? (size_t)(tab - at) : length};
        at = end + 1;
    }
    snapshot->count = count;
    if (!is_ordered && count > 0)
        qsort(snapshot->lines, count, sizeof snapshot->lines[0], compare_lines);
    return true;
}

static bool has_same_key(const struct line_of *was, const struct line_of *is)
{
    return was->key_length < was->length && is->key_length < is->length &&
           compare_bytes(was->text, was->key_length, is->text, is->key_length) == 0;
}

void snapshot_compare(const struct snapshot *was, const struct snapshot *is,
                      snapshot_visit *visit, void *context)
{
    size_t i = 0;
    size_t j = 0;
    while (i < was->count || j < is->count) {
        const struct line_of *old = i < was->count ? &was->lines[i] : NULL;
        const struct line_of *new = j < is->count ? &is->lines[j] : NULL;
        int order = old == NULL ? 1 : new == NULL ? -1 : compare_lines(old, new);
        bool is_changed = order != 0 && old != NULL && new != NULL &&has_same_key(old, new);
        i += order <= 0 || is_changed ? 1 : 0;
        j += order >= 0 || is_changed ? 1 : 0;
        if (is_changed)
            visit(context, old, new);
        else if (order != 0)
            visit(context, order < 0 ? old : NULL, order < 0 ? NULL : new);
    }
}

bool snapshot_compare_appended(const struct snapshot *was, const struct snapshot *is,
                               snapshot_visit *visit, void *context)
{
    if (was->length > is->length ||
        (was->length > 0 && memcmp(was->text, is->text, was->length) != 0))
        return false;
    for (size_t i = was->count; i < is->count; i++)
        visit(context, NULL, &is->lines[i]);
    return true;
}
