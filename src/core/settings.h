/* Core settings: what a structure was made with, so that nobody uses it otherwise.
 *
 * The numbers that decide under which keys a structure stands are kept in a key of their own. A
 * handle puts them there at its first change, unless they are there, and reads them at its first
 * call of any kind: it goes on only where they are its own. A structure whose keys expire keeps
 * its settings for longer than those, and a handle in use sees to it.
 *
 * They are the settings of a descriptor. */
#ifndef MCDS_CORE_SETTINGS_H
#define MCDS_CORE_SETTINGS_H

#include <stdatomic.h>

#include "core/descriptor.h"
#include "core/slot.h"

#define MCDS__SETTINGS_MAX 3

struct mcds__setting {
    const char *name;
    uint64_t number;
    /* Why a handle of another number does not fit, by the number found; NULL: OPTION_DIFFERS. */
    const mcds_reason *const *reasons;
    uint64_t reason_count;
};

struct mcds__settings {
    /* First, next to what else of the handle each operation looks at. */
    _Atomic int64_t seen_till_ns; /* for reading; 0: not yet */
    _Atomic int64_t kept_till_ns; /* for changes */
    struct mcds__key key;
    struct mcds__setting list[MCDS__SETTINGS_MAX];
    uint32_t count; /* 0: nothing to agree on */
    uint64_t ttl_ms;
    const mcds_reason *foreign; /* of a value that is no settings; NULL: CORRUPT */
    enum mcds__descriptor_kind kind;
    uint32_t flags;
    size_t frame_length;
    uint8_t frame[MCDS__DESCRIPTOR_ROOM];
};

/* Draws what a root that this handle makes will be; `kind` says of what. `data_ttl_ms` is how long the other keys live, 0 for ever. `list` is copied. */
void mcds__settings_init(struct mcds__settings *settings, const mcds_env *env,
                         enum mcds__descriptor_kind kind, const struct mcds__key *key,
                         const struct mcds__setting *list, uint32_t count,
                         uint64_t data_ttl_ms);
/* Whether there is nothing any more to agree on before a change, ever. */
static inline bool mcds__settings_are_kept(const struct mcds__settings *settings)
{
    return atomic_load_explicit(&settings->kept_till_ns, memory_order_relaxed) == INT64_MAX;
}
/* The settings have been erased, and are to be agreed on anew. */
void mcds__settings_forget(struct mcds__settings *settings);

/* What an operation does before it does anything else. */
struct mcds__agree {
    struct mcds__settings *settings;
    bool makes;    /* the operation may make the structure */
    bool may_lack; /* and does without it in a store that is full; set after the beginning */
    bool is_done;
    uint8_t stage;
    uint8_t count;
    mcds_request requests[2];
    uint32_t differs; /* the setting of which the structure has another value, */
    uint64_t found;   /* and that value */
};
void mcds__agree_begin(struct mcds__agree *agree, struct mcds__settings *settings, bool makes,
                       const struct mcds__operation *operation);
/* The next, where it is not done. */
bool mcds__agree_step_on(struct mcds__agree *agree, struct mcds__operation *operation,
                         enum mcds__step *step_out);
/* True: the operation goes on. False: *step_out is what its step returns; DONE with MCDS_INVALID
 * where the structure was made with other settings, MCDS_CORRUPT, or a failure of reading. One
 * round trip for a handle's first change and its first reading, and for each reading until there
 * is something; where keys expire, one or two again whenever a life of theirs has passed. */
static inline bool mcds__agree_step(struct mcds__agree *agree,
                                    struct mcds__operation *operation,
                                    enum mcds__step *step_out)
{
    return agree->is_done || mcds__agree_step_on(agree, operation, step_out);
}

/* Erase the settings, behind all else. `found`: there was something else. DONE with MCDS_OK, or
 * MCDS_NOT_FOUND: there was nothing at all; or failures. */
struct mcds__settings_drop {
    bool is_begun; /* false at the start */
    bool found;    /* private, as what follows */
    uint8_t stage;
    mcds_request request;
};
void mcds__settings_drop_begin(struct mcds__settings_drop *drop, bool found);
enum mcds__step mcds__settings_drop_step(struct mcds__settings_drop *drop,
                                         struct mcds__settings *settings,
                                         struct mcds__operation *operation);

#endif
