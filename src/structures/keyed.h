/* Keyed: a handle on a map and the operations on its entries, shared by set and table. */
#ifndef MCDS_STRUCTURES_KEYED_H
#define MCDS_STRUCTURES_KEYED_H

#include "core/map/map.h"
#include "structures/structure.h"

struct mcds__keyed {
    struct mcds__handle handle; /* of the set or the table, which begins with it */
    mcds_store *store;
    char *name;
    struct mcds__map map;
};

/* Prepares the handle of a structure. Returns MCDS_OK or MCDS_NO_MEMORY with the sentence set. */
int mcds__keyed_open(struct mcds__keyed *keyed, const char *noun, mcds_store *store,
                     const char *name, const char *tag, uint8_t kind, uint8_t form,
                     const mcds_reason *const *forms);
void mcds__keyed_close(struct mcds__keyed *keyed);

/* An element or a table key: 1 to 1 024 bytes. Returns MCDS_OK or MCDS_INVALID with the sentence
 * set; `what` names it there. */
int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes);

/* One change. */
struct mcds__keyed_update {
    struct mcds__operation base;
    void *out;
    struct mcds__map_update update;
    /* Returns the result of a completed change, and writes its output to `out`. */
    int (*take)(const struct mcds__map_update *update, void *out);
};
enum mcds__step mcds__keyed_step_update(struct mcds__operation *operation);

struct mcds__keyed_command {
    struct mcds__map_command command;
    bool must_exist;
    bool wants_code;
    int (*take)(const struct mcds__map_update *update, void *out);
    void *out;
};
/* `update` is NULL in a pipeline. */
int mcds__keyed_launch_update(struct mcds__keyed_update *update, struct mcds__keyed *keyed,
                              const struct mcds__operation_kind *kind,
                              const struct mcds__keyed_command *order, mcds_pipeline *pipeline,
                              uint64_t tag);

/* Reads one entry; `value_out` may be NULL. */
struct mcds__keyed_get {
    struct mcds__operation base;
    mcds_value *value_out;
    struct mcds__map_get get;
};
enum mcds__step mcds__keyed_step_get(struct mcds__operation *operation);
int mcds__keyed_launch_get(struct mcds__keyed_get *get, struct mcds__keyed *keyed,
                           const struct mcds__operation_kind *kind, mcds_bytes element,
                           mcds_value *value_out, mcds_pipeline *pipeline, uint64_t tag);

/* Erases the map. */
struct mcds__keyed_drop {
    struct mcds__operation base;
    struct mcds__map_scan scan;
};
enum mcds__step mcds__keyed_step_drop(struct mcds__operation *operation);
int mcds__keyed_launch_drop(struct mcds__keyed_drop *drop, struct mcds__keyed *keyed,
                            const struct mcds__operation_kind *kind, mcds_pipeline *pipeline,
                            uint64_t tag);

/* Common functions for the result of a change. `out` is a bool *, or NULL. */
int mcds__keyed_take_changed(const struct mcds__map_update *update, void *out);

#endif
