/* Descriptor: the settings, which are the options that a structure was made with. A handle with
 * other options is refused.
 *
 * The numbers that determine the keys of a structure are stored in a key of their own. A handle
 * adds that key at its first change and reads it at its first call of any kind. It continues
 * only if the numbers equal its own. If the keys of a structure expire, the settings live
 * longer, and a handle in use renews them.
 *
 * The value of that key is a descriptor. */
#ifndef MCDS_CORE_DESCRIPTOR_SETTINGS_H
#define MCDS_CORE_DESCRIPTOR_SETTINGS_H

#include <stdatomic.h>

#include "core/descriptor/look.h"
#include "core/tally/tally.h"

#define MCDS__SETTINGS_MAX 3

struct mcds__setting {
    const char *name;
    uint64_t number;
    /* The reason for refusing a handle with another number, by the stored number; NULL:
     * OPTION_DIFFERS. */
    const mcds_reason *const *reasons;
    uint64_t reason_count;
};

struct mcds__settings {
    /* These come first, beside the other members that each operation reads. */
    _Atomic int64_t seen_till_ns; /* until then reads need not compare; 0: not yet */
    _Atomic int64_t kept_till_ns; /* the same for changes */
    /* As last read; before that, the one that this handle would add. While one thread writes the
     * hash key, another may read words of the old and of the new one: those are a random key too. */
    _Atomic uint64_t hash_key[2];
    struct mcds__key key;
    struct mcds__setting list[MCDS__SETTINGS_MAX];
    uint32_t count; /* 0: nothing to compare */
    /* 1: the last setting concerns some operations alone, which call mcds__settings_last_step.
     * Settings may lack it. */
    uint32_t is_last_apart;
    _Atomic uint64_t last;   /* as last read; that of this handle if the root has none */
    _Atomic bool lacks_last; /* the settings had none when they were last read */
    uint64_t ttl_ms;
    /* Without a ttl: compare again after this time, because another handle may have dropped the
     * structure, and made it with other settings. 0: never */
    uint64_t again_ms;
    const mcds_reason *foreign; /* the reason for a value that is not settings; NULL: CORRUPT */
    struct mcds__descriptor own; /* without the hash key */
};

/* Prepares the descriptor that this handle would add, for a structure of `kind`; `hashes`: with a
 * random hash key. `data_ttl_ms` is the ttl of the other keys, 0: none. `list` is copied. */
void mcds__settings_init(struct mcds__settings *settings, const mcds_env *env,
                         enum mcds__descriptor_kind kind, bool hashes,
                         const struct mcds__key *key, const struct mcds__setting *list,
                         uint32_t count, uint64_t data_ttl_ms);
/* Whether changes need not compare the settings again. */
static inline bool mcds__settings_are_kept(const struct mcds__settings *settings)
{
    return atomic_load_explicit(&settings->kept_till_ns, memory_order_relaxed) == INT64_MAX;
}
/* Whether this handle has seen that the structure is made. */
static inline bool mcds__settings_are_seen(const struct mcds__settings *settings)
{
    return atomic_load_explicit(&settings->seen_till_ns, memory_order_relaxed) != 0;
}
/* The settings were erased; the next call compares again. */
void mcds__settings_forget(struct mcds__settings *settings);

/* The first step of an operation: compare the settings. */
struct mcds__settings_check {
    struct mcds__settings *settings;
    bool makes; /* the operation may make the structure */
    /* The operation changes keys by compare-and-set: without it nothing is made. Set it after the
     * begin, as `look.may_lack`: the operation continues without settings in a full store. */
    bool needs_cas;
    /* Where `is_last_apart`: the operation does not add the last setting. An operation that makes the
     * structure adds it otherwise, also to settings that lack it. Set it after the begin. */
    bool leaves_last;
    bool is_done;
    uint8_t stage;
    struct mcds__root_look look;
};
void mcds__settings_check_begin(struct mcds__settings_check *check,
                                struct mcds__settings *settings, bool makes,
                                const struct mcds__operation *operation);
/* The next step, if it is not done. */
bool mcds__settings_check_step_on(struct mcds__settings_check *check,
                                  struct mcds__operation *operation, enum mcds__step *step_out);
/* True: the operation continues. False: its step returns *step_out; DONE with MCDS_INVALID if
 * the structure was made with other settings, MCDS_UNSUPPORTED, MCDS_CORRUPT, or a failure of
 * reading. Costs one
 * round trip at a handle's first change and first read, and at each read until the structure
 * exists. If keys expire, it costs one or two more after each of their lifetimes. */
static inline bool mcds__settings_check_step(struct mcds__settings_check *check,
                                             struct mcds__operation *operation,
                                             enum mcds__step *step_out)
{
    return check->is_done || mcds__settings_check_step_on(check, operation, step_out);
}

/* Before the begin of a check that adds the last setting, where another check may have left it. */
static inline void mcds__settings_recheck_last(struct mcds__settings *settings)
{
    if (atomic_load_explicit(&settings->lacks_last, memory_order_relaxed))
        mcds__settings_forget(settings);
}
/* After the check, where `is_last_apart`: true if the last setting is that of this handle, or not
 * known. False: the step returns *step_out, DONE with MCDS_INVALID. */
bool mcds__settings_last_step(struct mcds__settings *settings,
                              struct mcds__operation *operation, enum mcds__step *step_out);

/* Erase the settings, after everything else. `found`: something else existed. DONE with
 * MCDS_OK; MCDS_NOT_FOUND: nothing existed; or failures. */
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
