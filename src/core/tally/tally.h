/* Tally: a number under one key, created by the first client that adds to it, either for
 * all time or for one absolute interval, whose number the key contains.
 *
 * A key name is never used for a second interval, so nothing depends on when a key expires:
 * expiry only collects garbage. The client flags contain the incarnation, which is the second
 * in which the key was made. Increments keep the flags, so a number that was lost and made
 * again is distinguished from the old one.
 *
 *   hit    increment                            the key exists
 *          add initial number | increment       it is missing; one ordered batch
 *   read   get                                  one batch for any number of keys */
#ifndef MCDS_CORE_TALLY_TALLY_H
#define MCDS_CORE_TALLY_TALLY_H

#include <string.h>

#include "engine/operation.h"

/* The number of the interval that holds at_ms, and the part of it (0 to 1) that has passed. A
 * width of 0 is one interval for all time. */
uint64_t mcds__tally_at(int64_t at_ms, uint64_t width_ms);
double mcds__tally_part(int64_t at_ms, uint64_t width_ms);
/* Whether the interval of a tally has not ended by the wall clock. */
bool mcds__tally_is_running(const mcds_env *env, uint64_t tally, uint64_t width_ms);

/* The incarnation of a key is the second in which it was made. That which a handle has seen, to detect that a key is gone or was made again. */
struct mcds__tally_memory {
    _Atomic uint64_t seen; /* interval in the high half, incarnation in the low one; 0 = none */
};

/* Record that the tally of interval `number` has this incarnation. True if the handle has seen
 * another incarnation of it. */
bool mcds__tally_remember(struct mcds__tally_memory *memory, uint64_t number,
                          uint32_t incarnation);
/* Whether the handle has seen the tally of interval `number`. */
bool mcds__tally_was_seen(struct mcds__tally_memory *memory, uint64_t number);

void mcds__tally_forget(struct mcds__tally_memory *memory);

/* Parse the value of a tally. Blanks around the number are ignored. False: not a number. */
bool mcds__tally_parse(mcds_bytes value, uint64_t *number_out);

/* One addition. The caller fills the first part, then steps until DONE with `operation`'s
 * result:
 *
 *   MCDS_OK         added; `number` is the value after
 *   MCDS_AMBIGUOUS  sent, and the reply was lost: added once or not at all
 *   MCDS_LOST       must_exist, and the key is missing
 *   others          not added
 *
 * An existing key costs one increment. A missing key costs one ordered batch more, so no loop
 * is needed: a client that loses the race to make the key still counts. */
struct mcds__tally_hit {
    mcds_bytes key;
    uint64_t delta;
    bool down;             /* subtract; stops at 0 */
    bool must_exist;       /* a missing key is LOST */
    bool want_incarnation; /* read the incarnation in the same round trip */
    /* How often additions of this handle meet, for a key that not all handles use at once. They share
     * a request only where that saves some. NULL: always. 0 at the start. */
    _Atomic uint64_t *density;
    uint64_t initial; /* of a key that is created here, before the delta */
    uint64_t ttl_ms;
    uint64_t number;      /* out */
    uint32_t incarnation; /* out: 0 = not known */
    bool is_made;         /* out: made by this addition */
    uint8_t stage;        /* private; 0 at the start, as all that follow */
    uint8_t creations;
    uint8_t counted;
    char text[24];
    mcds_request requests[3];
};

/* An addition of `delta` to this key, which is created for ttl_ms. */
static inline void mcds__tally_hit_init(struct mcds__tally_hit *hit, mcds_bytes key,
                                        uint64_t delta, uint64_t ttl_ms)
{
    memset(hit, 0, offsetof(struct mcds__tally_hit, text));
    hit->key = key;
    hit->delta = delta;
    hit->ttl_ms = ttl_ms;
}
enum mcds__step mcds__tally_hit_step(struct mcds__tally_hit *hit,
                                     struct mcds__operation *operation);
/* After MCDS_OK, if the incarnation is wanted: the reply that contains it. */
const mcds_reply *mcds__tally_read_of(const struct mcds__tally_hit *hit);

/* Read `count` keys in one round trip, in any order, with these mcds_request_option, from the server
 * that `route` selects (NULL: each key selects its own). DONE with MCDS_OK: every request is OK or
 * MISS. Reads are repeated after transport failures. */
enum mcds__step mcds__tally_read_step(mcds_request *requests, const struct mcds__key *keys,
                                      uint32_t count, const struct mcds__key *route,
                                      uint32_t options, uint8_t *stage,
                                      struct mcds__operation *operation);

/* mcds__tally_read_step for a number that is then stored by compare-and-set: key `i` is read by requests[i]
 * and by requests[count + i]. memcached may answer a read with the number before an increment
 * and the CAS token after it: an increment marks the item that it replaces with the token of
 * the new item, and a thread that is printing the old item prints both. The later of two reads
 * finds the new item. */
enum mcds__step mcds__tally_read_twice_step(mcds_request *requests,
                                            const struct mcds__key *keys, uint32_t count,
                                            uint32_t options, uint8_t *stage,
                                            struct mcds__operation *operation);
/* Whether both reads found the same item, so that its number belongs to its token. */
bool mcds__tally_is_proven(const mcds_batch *batch, const mcds_request *first,
                           const mcds_request *second);

/* Erase `count` keys, with a route as above. DONE with MCDS_OK: at least one was there;
 * MCDS_NOT_FOUND: none. */
enum mcds__step mcds__tally_drop_step(mcds_request *requests, const struct mcds__key *keys,
                                      uint32_t count, const struct mcds__key *route,
                                      uint8_t *stage, struct mcds__operation *operation);

#endif
