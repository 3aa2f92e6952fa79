/* Members: the members of each interval, each counted once, kept in a map for each interval.
 *
 * EXACT keeps the members themselves. ESTIMATED keeps HyperLogLog registers, of which a member
 * raises one (core/members/hyperloglog.h). In both, a repetition changes nothing, so a lost
 * reply is harmless. Each interval has its own map, whose name contains the number of the
 * interval, so no name is used twice.
 *
 * A keyed hash chooses the register, so that nobody can choose names that count as one or as
 * many. The hash key is that of the interval's map, which gets it from the settings: all intervals
 * have the same, and their registers can be united, unless the store has lost the settings.
 *
 *   hit     map update: PUT_NEW name (EXACT), or RAISE register (ESTIMATED)
 *   read    map scan of each interval, then the union of the intervals */
#ifndef MCDS_CORE_MEMBERS_MEMBERS_H
#define MCDS_CORE_MEMBERS_MEMBERS_H

#include "core/descriptor/settings.h"
#include "core/map/scan/scan.h"
#include "core/members/hyperloglog.h"

/* The reasons for refusing another kind of members, by mcds_members. */
#define MCDS__MEMBERS_REASONS 3
extern const mcds_reason *const mcds__members_reasons[MCDS__MEMBERS_REASONS];

struct mcds__members_place {
    uint64_t tally;
    uint32_t users;
    bool is_open;
    _Atomic uint64_t life;  /* of the map, when this handle last saw it; 0: it has not */
    bool reborn;            /* members were lost since this handle first saw the interval */
    _Atomic uint8_t *ranks; /* ESTIMATED: known lower bounds of the registers */
    struct mcds__map map;
};

/* The members of visitors and online, and the pages of views. */
struct mcds__members_kind {
    uint8_t kind;   /* of the structure: MCDS__KIND_... */
    bool estimated; /* is the form of the maps too */
    int places;     /* intervals that one handle remembers; more than one read needs */
    const mcds_reason *const *forms;
};
extern const struct mcds__members_kind mcds__members_exact;
extern const struct mcds__members_kind mcds__members_estimated;

struct mcds__members {
    mcds_store *store;
    const struct mcds__members_kind *kind;
    uint64_t ttl_ms;
    struct mcds__settings *settings; /* ESTIMATED: they have the hash key */
    struct mcds__key roots;          /* the beginning of the root keys of the maps */
    pthread_mutex_t mutex;           /* guards `places` */
    struct mcds__members_place places[];
};

/* NULL: no memory. */
struct mcds__members *mcds__members_open(mcds_store *store, const struct mcds__key *roots,
                                         const struct mcds__members_kind *kind,
                                         uint64_t ttl_ms);
/* NULL is allowed. */
void mcds__members_close(struct mcds__members *members);

/* The state of the interval `tally`, until it is given back; NULL: all are in use. */
struct mcds__members_place *mcds__members_take(struct mcds__members *members, uint64_t tally);
void mcds__members_give(struct mcds__members *members, struct mcds__members_place *place);
/* Record that a hit or a read of the interval has ended with this result. Returns whether members
 * were lost since this handle first saw the interval. */
bool mcds__members_note_end(struct mcds__members *members, struct mcds__members_place *place,
                            int result);
/* Record that this handle has erased the interval. */
void mcds__members_forget(struct mcds__members *members, struct mcds__members_place *place);

/* One hit of a member. Steps until DONE:
 *
 *   MCDS_OK         the member was added; ESTIMATED: it raised a register
 *   MCDS_EXISTS     it was a member before; ESTIMATED: it raised no register
 *   MCDS_AMBIGUOUS  it was added, was not, or will be; calling again is harmless
 *   others          it was not added */
struct mcds__members_hit {
    struct mcds__members *members;
    struct mcds__members_place *place;
    uint64_t tally;
    uint32_t index; /* of the register in the last life that was tried */
    uint8_t rank;
    uint8_t stage;
    char element[MCDS__NAME_GIVEN_MAX + 1];
    struct mcds__map_update change;
};
/* `visitor` has at most MCDS__NAME_GIVEN_MAX bytes and is copied. */
void mcds__members_hit_begin(struct mcds__members_hit *hit, struct mcds__members *members,
                             uint64_t tally, const char *visitor);
enum mcds__step mcds__members_hit_step(struct mcds__members_hit *hit,
                                       struct mcds__operation *operation);
void mcds__members_hit_end(struct mcds__members_hit *hit);

/* One known element, with a bit for each interval that has it. */
struct mcds__members_mark {
    uint64_t hash[2]; /* all zero: free */
    uint64_t tallies;
};

#define MCDS__MEMBERS_READ_MAX 64
/* Read, or erase, `count` intervals: `tally`, `tally` - 1, ... DONE with MCDS_OK; erasing:
 * MCDS_NOT_FOUND: none existed; MCDS_AMBIGUOUS: some may be gone; or failures. */
struct mcds__members_read {
    struct mcds__members *members;
    uint64_t tally;
    uint32_t count;
    bool erases;
    /* out: an interval that this handle has seen has lost all or some of its keys */
    bool reborn;
    uint8_t stage; /* private, as all that follow */
    bool found;
    bool again; /* the interval was found lost, so it is read once more */
    bool no_memory;
    bool corrupt;
    uint32_t at; /* the interval that is being read: tally - at */
    struct mcds__members_place *place;
    struct mcds__map_scan scan;
    struct mcds__members_mark *marks; /* EXACT: a table by hash */
    uint64_t seeds[2];                /* of the hash */
    size_t mark_count;
    size_t mark_capacity;                       /* a power of two */
    uint8_t *registers;                         /* ESTIMATED: of each interval */
    uint64_t hash_keys[MCDS__MEMBERS_READ_MAX]; /* the first words; 0: no members */
};
void mcds__members_read_begin(struct mcds__members_read *read, struct mcds__members *members,
                              uint64_t tally, uint32_t count, bool erases);
enum mcds__step mcds__members_read_step(struct mcds__members_read *read,
                                        struct mcds__operation *operation);
/* The number of members in the union of these intervals: bit 0 is `tally`, bit 1 the one
 * before. ESTIMATED: intervals of different hash keys have no union; the number is that of the
 * intervals of one key, the largest, and sets `reborn`. */
double mcds__members_count(struct mcds__members_read *read, uint64_t tallies);
void mcds__members_read_end(struct mcds__members_read *read);

#endif
