/* Intervals: the handle that visitors and online share. It counts visitors in intervals of one
 * length, as numbers (core/tally) or as members (core/members), and reads or erases them. */
#ifndef MCDS_STRUCTURES_INTERVALS_H
#define MCDS_STRUCTURES_INTERVALS_H

#include "core/descriptor/settings.h"
#include "core/members/members.h"
#include "core/tally/unique_hit.h"
#include "core/tally/window_hit.h"
#include "structures/structure.h"

/* Intervals before the current one that one value covers, at most. */
#define MCDS__INTERVALS_BEFORE_MAX MCDS__BEATS_SPAN_MAX
/* Intervals of which a handle remembers the number; more than one hit counts in. */
#define MCDS__INTERVALS_MEMORIES (MCDS__INTERVALS_BEFORE_MAX + 2)

struct mcds__intervals_read;

/* The differences between visitors and online. */
struct mcds__intervals_face {
    const char *counts_tag;
    const char *seen_tag;
    const char *members_tag;
    const char *width_option; /* the name of the option that is width_ms */
    enum mcds__descriptor_kind kind;
    enum mcds__sized value_type;
    bool is_window; /* a number is that of a window, which ends with its interval */
    struct mcds__operation_kind hit_member;
    struct mcds__operation_kind get;
    struct mcds__operation_kind drop;
    /* Write the value of what was read. */
    void (*take_numbers)(struct mcds__intervals_read *read, const uint64_t numbers[2],
                         bool reborn);
    void (*take_members)(struct mcds__intervals_read *read);
};

struct mcds__intervals {
    struct mcds__handle handle;
    const struct mcds__intervals_face *face;
    uint64_t width_ms; /* of an interval; 0: there is one, for all time */
    uint64_t ahead_ms; /* how far a hit may be ahead of this machine's clock */
    uint32_t before;   /* intervals before the current one that a value covers */
    uint32_t memory_count;
    struct mcds__tally_memory memories[MCDS__INTERVALS_MEMORIES]; /* by interval modulo count */
    struct mcds__settings settings;
    struct mcds__key counts;       /* prefix of the keys of the numbers */
    struct mcds__key seen;         /* prefix of the keys of the visitors */
    struct mcds__members *members; /* NULL: visitors are counted, not kept */
};

/* Sets the handle up, after width_ms, before and memory_count; numbers live for ttl_ms. Returns
 * MCDS_OK, or MCDS_NO_MEMORY with the sentence set. */
int mcds__intervals_init(struct mcds__intervals *intervals,
                         const struct mcds__intervals_face *face, uint64_t ttl_ms,
                         uint32_t members);
void mcds__intervals_destroy(struct mcds__handle *handle);

struct mcds__tally_memory *mcds__intervals_memory(struct mcds__intervals *intervals,
                                                  uint64_t tally);
struct mcds__key mcds__intervals_key(const struct mcds__intervals *intervals, uint64_t tally);
/* The interval of at_ms; 0 means now. */
uint64_t mcds__intervals_at(const struct mcds__intervals *intervals, int64_t at_ms);

/* Refuses the time of a hit before 1970, and one too far ahead of this machine's clock: its interval
 * would end after its keys, and hits at the right time would be older than it. */
int mcds__intervals_check_hit(const struct mcds__intervals *intervals,
                              const struct mcds__operation_kind *kind, int64_t at_ms);

/* One hit of a member. */
struct mcds__intervals_hit {
    struct mcds__operation base;
    struct mcds__settings_check check;
    struct mcds__members_hit visit;
};
enum mcds__step mcds__intervals_step_hit(struct mcds__operation *operation);
void mcds__intervals_release_hit(struct mcds__operation *operation);
#define MCDS__INTERVALS_HIT(noun, verb)                                                        \
    {                                                                                          \
        noun, verb, sizeof(struct mcds__intervals_hit), mcds__intervals_step_hit,              \
            mcds__intervals_release_hit                                                        \
    }
int mcds__intervals_launch_hit(struct mcds__intervals *intervals, const char *visitor,
                               int64_t at_ms, const struct mcds__start *start);

/* Reads the intervals of a value or, to drop them, erases their keys: also those of all later
 * windows that an interval is in, and the settings if the current interval is one of them. */
struct mcds__intervals_read {
    struct mcds__operation base;
    struct mcds__intervals *intervals;
    void *value_out; /* NULL: drop */
    int64_t at_ms;
    uint64_t tally;
    uint32_t count; /* of keys */
    uint8_t stage;
    bool ends; /* drop: also the settings */
    struct mcds__settings_check check;
    struct mcds__settings_drop settings;
    struct mcds__members_read members;
    bool seen[2]; /* before the request: others may make one meanwhile */
    struct mcds__key keys[MCDS__INTERVALS_BEFORE_MAX + 2];
    mcds_request requests[MCDS__INTERVALS_BEFORE_MAX + 2];
};
enum mcds__step mcds__intervals_step_read(struct mcds__operation *operation);
void mcds__intervals_release_read(struct mcds__operation *operation);
#define MCDS__INTERVALS_READ(noun, verb)                                                       \
    {                                                                                          \
        noun, verb, sizeof(struct mcds__intervals_read), mcds__intervals_step_read,            \
            mcds__intervals_release_read                                                       \
    }
int mcds__intervals_launch_get(struct mcds__intervals *intervals,
                               const struct mcds__intervals_face *face, int64_t at_ms,
                               void *value_out, const struct mcds__start *start);
int mcds__intervals_launch_drop(struct mcds__intervals *intervals,
                                const struct mcds__intervals_face *face, int64_t at_ms,
                                const struct mcds__start *start);

#endif
