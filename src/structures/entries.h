/* What set and table share: a handle on a fold, and the operations on its entries. */
#ifndef MCDS_STRUCTURES_ENTRIES_H
#define MCDS_STRUCTURES_ENTRIES_H

#include "core/fold.h"
#include "structures/structure.h"

struct mcds__entries {
    struct mcds__handle handle; /* of the set or the table, which begins with it */
    mcds_store *store;
    char *name;
    struct mcds__fold fold;
};

/* Prepare the handle of a structure. Returns MCDS_OK or MCDS_NO_MEMORY with the sentence set. */
int mcds__entries_open(struct mcds__entries *entries, const char *noun, mcds_store *store,
                       const char *name, const char *tag, uint8_t kind, uint8_t form,
                       const mcds_reason *const *forms);
void mcds__entries_close(struct mcds__entries *entries);

/* An element or a table key: 1 to 1 024 bytes. Returns MCDS_OK or MCDS_INVALID with the sentence
 * set; `what` names it there. */
int mcds__check_bytes(const struct mcds__operation_kind *kind, const char *name,
                      const char *what, mcds_bytes bytes);

/* One change. */
struct mcds__entries_change {
    struct mcds__operation base;
    void *out;
    struct mcds__fold_change change;
    /* What a change that has been carried out means: its result, and what goes to `out`. */
    int (*take)(const struct mcds__fold_change *change, void *out);
};
enum mcds__step mcds__entries_step_change(struct mcds__operation *operation);

struct mcds__entries_order {
    struct mcds__fold_command command;
    bool must_exist;
    bool wants_code;
    int (*take)(const struct mcds__fold_change *change, void *out);
    void *out;
};
/* `change` is NULL in a pipeline. */
int mcds__entries_launch_change(struct mcds__entries_change *change,
                                struct mcds__entries *entries,
                                const struct mcds__operation_kind *kind,
                                const struct mcds__entries_order *order,
                                mcds_pipeline *pipeline, uint64_t tag);

/* One look; `value_out` may be NULL. */
struct mcds__entries_look {
    struct mcds__operation base;
    mcds_value *value_out;
    struct mcds__fold_look look;
};
enum mcds__step mcds__entries_step_look(struct mcds__operation *operation);
int mcds__entries_launch_look(struct mcds__entries_look *look, struct mcds__entries *entries,
                              const struct mcds__operation_kind *kind, mcds_bytes element,
                              mcds_value *value_out, mcds_pipeline *pipeline, uint64_t tag);

/* Erase all. */
struct mcds__entries_drop {
    struct mcds__operation base;
    struct mcds__fold_sweep sweep;
};
enum mcds__step mcds__entries_step_drop(struct mcds__operation *operation);
int mcds__entries_launch_drop(struct mcds__entries_drop *drop, struct mcds__entries *entries,
                              const struct mcds__operation_kind *kind, mcds_pipeline *pipeline,
                              uint64_t tag);

/* Ready-made meanings of a change. `out` is a bool *, or NULL. */
int mcds__entries_take_changed(const struct mcds__fold_change *change, void *out);

#endif
