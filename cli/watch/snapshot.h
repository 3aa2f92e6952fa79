/* Snapshot: the plain text that a read of a structure prints, and the differences from an earlier
 * one. Its size is bounded: a larger structure has no snapshot. */
#ifndef MCDS_CLI_WATCH_SNAPSHOT_H
#define MCDS_CLI_WATCH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SNAPSHOT_BYTES_MAX (size_t)(8 << 20)
#define SNAPSHOT_LINES_MAX (size_t)(1 << 18)

/* A line without its end, of one field, or of two with a tab between them. */
struct line_of {
    const char *text;
    size_t length;
    size_t key_length; /* of the first field */
};

struct snapshot {
    char *text;
    size_t length;
    size_t capacity;
    struct line_of *lines; /* in order of their bytes, unless they have an order of their own */
    size_t count;
    bool is_too_large;
    bool is_out_of_memory;
};

/* A stream that writes into an empty snapshot; NULL: out of memory. It fails at the bound. The caller
 * closes it before snapshot_end. */
FILE *snapshot_begin(struct snapshot *snapshot);
/* Finds the lines, and sorts them unless they are ordered. False: out of memory, or too large. */
bool snapshot_end(struct snapshot *snapshot, bool is_ordered);
void snapshot_free(struct snapshot *snapshot);

/* Visits a difference: `was` or `is` is NULL where a line was added or removed; both have the same key
 * where it was changed. */
typedef void snapshot_visit(void *context, const struct line_of *was, const struct line_of *is);

/* Compares two snapshots of elements that have no order. */
void snapshot_compare(const struct snapshot *was, const struct snapshot *is,
                      snapshot_visit *visit, void *context);
/* Compares two snapshots of values that are only appended, and visits the new ones. False: the
 * first values differ, and nothing is visited. */
bool snapshot_compare_appended(const struct snapshot *was, const struct snapshot *is,
                               snapshot_visit *visit, void *context);

#endif
