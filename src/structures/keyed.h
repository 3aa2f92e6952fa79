/* Keyed: a handle on a map and the operations on its entries, shared by set, table and limit. */
#ifndef MCDS_STRUCTURES_KEYED_H
#define MCDS_STRUCTURES_KEYED_H

#include <assert.h>

#include "core/map/scan/scan.h"
#include "structures/structure.h"

struct mcds__keyed {
    struct mcds__handle handle;
    struct mcds__map map;
};

/* The handle of a set or a table. NULL: no memory, and the sentence is set. */
struct mcds__keyed *mcds__keyed_open(const char *noun, mcds_store *store, const char *name,
                                     const char *tag, uint8_t kind, uint8_t form,
                                     const mcds_reason *const *forms);

/* Ends a handle that begins with struct mcds__keyed. */
void mcds__keyed_destroy(struct mcds__handle *handle);

/* One change. */
struct mcds__keyed_update {
    struct mcds__operation base;
    void *out;
    struct mcds__map_update update;
    /* Returns the result of a completed change, and writes its output to `out`. */
    int (*take)(const struct mcds__map_update *update, void *out);
};
enum mcds__step mcds__keyed_step_update(struct mcds__operation *operation);
void mcds__keyed_release_update(struct mcds__operation *operation);
#define MCDS__KEYED_UPDATE(noun, verb)                                                         \
    {                                                                                          \
        noun, verb, sizeof(struct mcds__keyed_update), mcds__keyed_step_update,                \
            mcds__keyed_release_update                                                         \
    }

struct mcds__keyed_command {
    struct mcds__map_command command;
    bool must_exist;
    bool wants_code;
    int (*take)(const struct mcds__map_update *update, void *out);
    void *out;
};
int mcds__keyed_launch_update(struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__keyed_command *order,
                              const struct mcds__start *start);

/* Reads one entry; `value_out` may be NULL. */
struct mcds__keyed_get {
    struct mcds__operation base;
    mcds_value *value_out;
    struct mcds__map_get get;
};
enum mcds__step mcds__keyed_step_get(struct mcds__operation *operation);
void mcds__keyed_release_get(struct mcds__operation *operation);
#define MCDS__KEYED_GET(noun, verb)                                                            \
    {                                                                                          \
        noun, verb, sizeof(struct mcds__keyed_get), mcds__keyed_step_get,                      \
            mcds__keyed_release_get                                                            \
    }
int mcds__keyed_launch_get(struct mcds__keyed *keyed, const struct mcds__operation_kind *kind,
                           mcds_bytes element, mcds_value *value_out,
                           const struct mcds__start *start);

/* Erases the map. */
struct mcds__keyed_drop {
    struct mcds__operation base;
    struct mcds__map_scan scan;
};
enum mcds__step mcds__keyed_step_drop(struct mcds__operation *operation);
void mcds__keyed_release_drop(struct mcds__operation *operation);
#define MCDS__KEYED_DROP(noun)                                                                 \
    {                                                                                          \
        noun, "drop", sizeof(struct mcds__keyed_drop), mcds__keyed_step_drop,                  \
            mcds__keyed_release_drop                                                           \
    }
int mcds__keyed_launch_drop(struct mcds__keyed *keyed, const struct mcds__operation_kind *kind,
                            const struct mcds__start *start);

/* Scans the entries from the position of a cursor on. A structure puts its visitor after it. */
struct mcds__keyed_scan {
    struct mcds__operation base;
    uint64_t *position; /* of the cursor */
    bool *done;         /* of the cursor */
    uint64_t left;      /* entries to visit */
    struct mcds__map_scan scan;
};
enum mcds__step mcds__keyed_step_scan(struct mcds__operation *operation);
void mcds__keyed_release_scan(struct mcds__operation *operation);
/* `position` and `done` are of the cursor; `limit`: of entries, 0: none. `visit` is called with the
 * scan as its context, and calls mcds__keyed_count_visit. */
int mcds__keyed_launch_scan(struct mcds__keyed_scan *scan, struct mcds__keyed *keyed,
                            uint64_t *position, bool *done, uint64_t limit,
                            bool (*visit)(void *scan, const struct mcds__map_entry *entry),
                            const struct mcds__start *start);
/* Whether a scan continues after a visit that wants `more`. */
static inline bool mcds__keyed_count_visit(struct mcds__keyed_scan *scan, bool more)
{
    assert(scan->left > 0);
    return --scan->left > 0 && more;
}

/* Common functions for the result of a change. `out` is a bool *, or NULL. */
int mcds__keyed_take_changed(const struct mcds__map_update *update, void *out);

#endif
