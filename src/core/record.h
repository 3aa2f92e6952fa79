/* Core record: one value under one key, changed by compare-and-set.
 *
 * A change reads the value, asks its caller for the new one, and writes it by cas; of several at
 * once one succeeds, the others read again. The value carries the ids of its last sixteen
 * changes and a version that counts them, so a change whose reply was lost is applied exactly
 * once:
 *
 *   its id is there                 it was applied;
 *   the version is the one it read  the write may still come: the same bytes are written again,
 *                                   by the token of now. Whichever copy comes first changes the
 *                                   token, so the other fails;
 *   at most sixteen versions later  it was not applied and never will be: its token is gone;
 *   later, or the key is gone       AMBIGUOUS.
 *
 * What proves this is the generation, which each first write of a key draws. A first write whose
 * reply was lost has none to compare with: if its id is not there, it is AMBIGUOUS, for it may have
 * counted in a life of the key that is gone.
 *
 * What is removed is replaced by a mark that stays for ten minutes, so that a late write of the
 * first value finds the key occupied. A value too large for one key stands in parts, named at
 * random and written before the key is switched to them; before that the key tells the intent,
 * so that the parts of a writer that dies are erased by the next.
 *
 * Source: the universal construction over cas; ids as in exactly-once RPC. */
#ifndef MCDS_CORE_RECORD_H
#define MCDS_CORE_RECORD_H

#include "core/record_value.h"
#include "engine/operation.h"

/* Parts that travel together. */
#define MCDS__RECORD_BATCH 8
#define MCDS__RECORD_LENGTH_MAX ((uint64_t)64 << 20)

/* What one handle needs for its ids; any number of threads use it. */
struct mcds__record_writer {
    uint64_t id;
    _Atomic uint32_t next_seq;
};
void mcds__record_writer_init(struct mcds__record_writer *writer, const mcds_env *env);

/* Keys and requests of parts that are under way together. */
struct mcds__record_room {
    struct mcds__key keys[MCDS__RECORD_BATCH];
    mcds_request requests[MCDS__RECORD_BATCH];
};

/* Read the value. DONE with MCDS_OK, whether it is there or not; MCDS_LOST: it or a part of it is
 * gone; failures of reading. The caller fills the first part. */
struct mcds__record_load {
    struct mcds__key key;
    struct mcds__key parts_key; /* what the keys of the parts begin with */
    bool skips_parts;           /* only whether there is a value; one in parts reads as empty */
    /* Whether this handle has found or written the value, so that it learns when it is gone:
     * MCDS_LOST, once, and not where skips_parts. */
    _Atomic bool *seen;
    bool is_there; /* out: and then `bytes` is the value, as long as the load lives */
    bool is_known; /* out: `value` and `token` tell what the key holds */
    struct mcds__record_value value;
    mcds_cas_token token;
    mcds_bytes bytes;
    uint8_t stage; /* private, as all that follow */
    bool was_seen; /* when the key was asked for */
    uint8_t losses;
    uint32_t next_part;
    uint64_t lost_version;
    mcds_request request;
    mcds_buffer held;
    struct mcds__record_room *room;
};
void mcds__record_load_begin(struct mcds__record_load *load, const mcds_env *env);
enum mcds__step mcds__record_load_step(struct mcds__record_load *load,
                                       struct mcds__operation *operation);
void mcds__record_load_free(struct mcds__record_load *load, const mcds_env *env);

/* What a change decides on. */
enum mcds__record_decision { MCDS__RECORD_WRITE, MCDS__RECORD_REMOVE, MCDS__RECORD_LEAVE };

/* One change. DONE with
 *
 *   MCDS_OK         written, removed or left, once
 *   MCDS_AMBIGUOUS  written once, not at all, or not yet
 *   MCDS_BUSY       others changed it all the time
 *   `result`        of a decision to LEAVE
 *   others          not written */
struct mcds__record_change {
    struct mcds__record_load load;
    struct mcds__record_writer *writer;
    /* Look at the old value, NULL where there is none, and put the new one into `fresh`. Called
     * again whenever another change has come between. */
    enum mcds__record_decision (*decide)(void *context, const mcds_bytes *old,
                                         mcds_buffer *fresh, int *result);
    void *context;
    uint8_t stage; /* private, as all that follow */
    bool doubt;
    struct mcds__record_id id;
    struct mcds__record_value next;
    struct mcds__record_parts replaced[2]; /* that nobody needs once the value is written */
    struct mcds__record_parts erased[2];   /* that are to go, now that nobody needs them */
    uint8_t erased_count;
    uint8_t then;          /* once they have gone */
    uint64_t base_version; /* what the write in doubt has read */
    uint64_t base_generation;
    bool base_is_known;
    uint32_t next_part;
    int result;
    mcds_reply obstacle; /* why it has to begin again */
    mcds_request request;
    mcds_buffer fresh;
    mcds_buffer root;
};
void mcds__record_change_begin(struct mcds__record_change *change, const mcds_env *env,
                               struct mcds__record_writer *writer);
enum mcds__step mcds__record_change_step(struct mcds__record_change *change,
                                         struct mcds__operation *operation);
void mcds__record_change_free(struct mcds__record_change *change, const mcds_env *env);

/* How long one part may be in this store. */
size_t mcds__record_part_length(const mcds_store *store);
void mcds__record_part_key(const struct mcds__key *begin, uint64_t name, uint32_t number,
                           struct mcds__key *key_out);
struct mcds__record_room *mcds__record_get_room(struct mcds__record_room **room,
                                                const mcds_env *env);

#endif
