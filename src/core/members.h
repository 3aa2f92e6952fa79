/* Core members: who was there in each interval, each counted once however often and from
 * wherever it comes (core fold).
 *
 * EXACT keeps the members themselves; ESTIMATED keeps registers, of which a member raises one
 * (core/hyperloglog.h). Either way a repetition changes nothing, so a reply that is lost costs
 * nothing. Each interval has a fold of its own, named by its number, which is never used again. */
#ifndef MCDS_CORE_MEMBERS_H
#define MCDS_CORE_MEMBERS_H

#include "core/fold.h"
#include "core/hyperloglog.h"

/* Intervals that one handle remembers; more than one reading looks at. */
#define MCDS__MEMBERS_PLACES 40
#define MCDS__MEMBERS_SLOTS_MAX 33

/* What to say where others keep members, by mcds_members. */
#define MCDS__MEMBERS_REASONS 3
extern const mcds_reason *const mcds__members_reasons[MCDS__MEMBERS_REASONS];

struct mcds__members_place {
    uint64_t slot;
    uint32_t users;
    bool is_open;
    bool seen;              /* alive, by this handle */
    _Atomic uint8_t *ranks; /* ESTIMATED: what the registers are known to have reached */
    struct mcds__fold fold;
};

struct mcds__members {
    mcds_store *store;
    bool estimated;
    uint64_t ttl_ms;
    struct mcds__key roots; /* what the keys of the folds begin with */
    pthread_mutex_t mutex;  /* over the places */
    struct mcds__members_place places[MCDS__MEMBERS_PLACES];
};

/* NULL: no memory. */
struct mcds__members *mcds__members_open(mcds_store *store, const struct mcds__key *roots,
                                         bool estimated, uint64_t ttl_ms);
/* NULL is allowed. */
void mcds__members_close(struct mcds__members *members);

/* What is known of an interval, for as long as it is used; NULL: all places are in use. */
struct mcds__members_place *mcds__members_take(struct mcds__members *members, uint64_t slot);
void mcds__members_give(struct mcds__members *members, struct mcds__members_place *place);

/* One member comes. Steps until DONE:
 *
 *   MCDS_OK         it is in, and was not; ESTIMATED: it has raised a register
 *   MCDS_EXISTS     it was in before; ESTIMATED: it has raised none
 *   MCDS_AMBIGUOUS  it is in, or is not, or will be; to call again does no harm
 *   others          it is not in */
struct mcds__members_visit {
    struct mcds__members *members;
    struct mcds__members_place *place;
    uint64_t slot;
    uint32_t index; /* of the register */
    uint8_t rank;
    uint8_t stage;
    char element[MCDS__NAME_GIVEN_MAX + 1];
    struct mcds__fold_change change;
};
/* `visitor` has at most MCDS__NAME_GIVEN_MAX bytes and is copied. */
void mcds__members_visit_begin(struct mcds__members_visit *visit, struct mcds__members *members,
                               uint64_t slot, const char *visitor);
enum mcds__step mcds__members_visit_step(struct mcds__members_visit *visit,
                                         struct mcds__operation *operation);
void mcds__members_visit_end(struct mcds__members_visit *visit);

/* One known element, and in which of the intervals it was, one bit each. */
struct mcds__members_mark {
    uint64_t hash[2]; /* all zero: free */
    uint64_t slots;
};

/* Read, or erase, the intervals `slot`, `slot` - 1, ..., `count` of them. DONE with MCDS_OK;
 * erasing: MCDS_NOT_FOUND when none of them was there, MCDS_AMBIGUOUS when some may be gone; or
 * failures. */
struct mcds__members_read {
    struct mcds__members *members;
    uint64_t slot;
    uint32_t count;
    bool erases;
    bool reborn;   /* out: an interval that this handle has seen is gone, or a part of one */
    uint8_t stage; /* private, as all that follow */
    bool found;
    bool no_memory;
    bool corrupt;
    uint32_t at; /* the interval that is being read: slot - at */
    struct mcds__members_place *place;
    struct mcds__fold_sweep sweep;
    struct mcds__members_mark *marks; /* EXACT: a table by hash */
    uint64_t seeds[2];                /* of the hash */
    size_t mark_count;
    size_t mark_room;   /* a power of two */
    uint8_t *registers; /* ESTIMATED: of each interval */
};
void mcds__members_read_begin(struct mcds__members_read *read, struct mcds__members *members,
                              uint64_t slot, uint32_t count, bool erases);
enum mcds__step mcds__members_read_step(struct mcds__members_read *read,
                                        struct mcds__operation *operation);
/* How many came in any of these intervals, by bit: 1 is `slot`, 2 is `slot` - 1, ... */
double mcds__members_count(const struct mcds__members_read *read, uint64_t slots);
void mcds__members_read_end(struct mcds__members_read *read);

#endif
