/* Core slot: a number under one key, born by whoever adds to it first, either for all time or
 * for one absolute interval whose number is part of the key.
 *
 * A key name is never used for a second interval, so nothing depends on when a key dies: expiry
 * only collects garbage. The second of birth stands in the client flags, which increments keep,
 * so a number that was lost and begun again can be told from the old one. */
#ifndef MCDS_CORE_SLOT_H
#define MCDS_CORE_SLOT_H

#include "engine/operation.h"

/* The number of the interval that holds at_ms, and the part of it (0 to 1) that has passed. A
 * width of 0 is one interval for all time. */
uint64_t mcds__slot_at(int64_t at_ms, uint64_t width_ms);
double mcds__slot_part(int64_t at_ms, uint64_t width_ms);

/* The second of birth to write now. */
uint32_t mcds__slot_birth(const mcds_env *env);

/* The births of keys that one handle has seen, to tell when one is gone or was born again. */
struct mcds__slot_memory {
    _Atomic uint64_t seen; /* slot number in the high half, birth in the low one; 0 = none */
};

/* Note that slot `number` is alive with this birth. True when the handle has seen that slot
 * with an older birth. */
bool mcds__slot_remember(struct mcds__slot_memory *memory, uint64_t number, uint32_t birth);
/* Whether the handle has seen slot `number` alive. */
bool mcds__slot_was_seen(struct mcds__slot_memory *memory, uint64_t number);

void mcds__slot_forget(struct mcds__slot_memory *memory);

/* Read a number that GET brought. Blanks around it do not count. False: not a number. */
bool mcds__slot_parse(mcds_bytes value, uint64_t *number_out);

/* One addition. The caller fills the first part, then steps until DONE with `operation`'s
 * result:
 *
 *   MCDS_OK         added; `number` is the value after
 *   MCDS_AMBIGUOUS  sent and not answered: added once or not at all
 *   MCDS_LOST       must_exist, and the key is missing
 *   others          not added
 *
 * Hit path: one increment. Missing key: add of the initial number and increment in one ordered
 * batch, so that creation needs no loop: whoever loses the race to create still counts. */
struct mcds__slot_hit {
    mcds_bytes key;
    uint64_t delta;
    bool down;        /* subtract; stops at 0 */
    bool must_exist;  /* a missing key is LOST */
    bool want_birth;  /* look at the birth mark in the same round trip */
    uint64_t initial; /* of a key that is born here, before the delta */
    uint64_t ttl_ms;
    uint64_t number; /* out */
    uint32_t birth;  /* out: 0 = not known */
    bool born;       /* out: born by this addition */
    uint8_t stage;   /* private; 0 at the start, as all that follow */
    uint8_t births;
    uint8_t counted;
    char text[24];
    mcds_request requests[3];
};

enum mcds__step mcds__slot_hit_step(struct mcds__slot_hit *hit,
                                    struct mcds__operation *operation);
/* After MCDS_OK, where the birth is wanted: the reply of the look at it. */
const mcds_reply *mcds__slot_look_of(const struct mcds__slot_hit *hit);

/* Read `count` keys in one round trip, in any order, with these mcds_request_option. On DONE
 * with MCDS_OK every request is OK or MISS. Reads are repeated after transport trouble. */
enum mcds__step mcds__slot_read_step(mcds_request *requests, const struct mcds__key *keys,
                                     uint32_t count, uint32_t options, uint8_t *stage,
                                     struct mcds__operation *operation);

/* Erase `count` keys. DONE with MCDS_OK: at least one was there; MCDS_NOT_FOUND: none. */
enum mcds__step mcds__slot_drop_step(mcds_request *requests, const struct mcds__key *keys,
                                     uint32_t count, uint8_t *stage,
                                     struct mcds__operation *operation);

#endif
