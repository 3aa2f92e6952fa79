/* Record: one value under one key, changed by compare-and-set.
 *
 * A change reads the value, asks its caller for the new one, and writes it by cas. Of several
 * changes at once one succeeds, and the others read again.
 *
 *   small value   get key | cas key
 *   large value   get key | cas key (intent) | set blocks | cas key | delete the old blocks
 *
 * The value contains the ids of its last sixteen changes and a version that counts them, so a
 * change whose reply was lost is applied exactly once:
 *
 *   its id is there                 it was applied;
 *   the version is the one it read  the write may still arrive: the same bytes are written
 *                                   again, with the current token. Whichever copy arrives first
 *                                   changes the token, so the other fails;
 *   at most sixteen versions later  it was not applied and never will be: its token is gone;
 *   later, or the key is gone       AMBIGUOUS.
 *
 * These conclusions hold within one generation, which the first write of a key draws. A first
 * write whose reply was lost has no generation to compare with. If its id is missing, it is
 * AMBIGUOUS, because it may have counted in an earlier life of the key.
 *
 * A removed value is replaced by a tombstone that stays for ten minutes, so that a late write
 * of the first value finds the key occupied. A value too large for one key is stored in blocks.
 * They have random names and are written before the key refers to them. Before that, the key
 * announces them, so that the next writer erases the blocks of a writer that died.
 *
 * Source: the universal construction over cas; ids as in exactly-once RPC. */
#ifndef MCDS_CORE_RECORD_RECORD_H
#define MCDS_CORE_RECORD_RECORD_H

#include "core/record/value.h"
#include "engine/operation.h"

/* Blocks in one round trip. */
#define MCDS__RECORD_BATCH 8
#define MCDS__RECORD_LENGTH_MAX ((uint64_t)64 << 20)

/* The ids of one handle; any number of threads use it. */
struct mcds__record_writer {
    uint64_t id;
    _Atomic uint32_t next_seq;
};
void mcds__record_writer_init(struct mcds__record_writer *writer, const mcds_env *env);

/* Keys and requests of the blocks in one round trip. */
struct mcds__record_scratch {
    struct mcds__key keys[MCDS__RECORD_BATCH];
    mcds_request requests[MCDS__RECORD_BATCH];
};

/* Read the value. DONE with MCDS_OK, whether it is there or not; MCDS_LOST: it or a block of it
 * is gone; failures of reading. The caller fills the first part. */
struct mcds__record_load {
    struct mcds__key key;
    struct mcds__key blocks_key; /* the beginning of the keys of the blocks */
    bool skips_blocks; /* only whether there is a value; one in blocks reads as empty */
    /* The generation of the value that this handle has read or written last, 0: none. Where it is
     * gone, or another is there: MCDS_LOST, once, and not if skips_blocks. */
    _Atomic uint64_t *seen;
    bool keeps_loss; /* that result reaches no caller; the next load gets it too */
    bool is_there;   /* out: then `bytes` is the value, valid as long as the load */
    bool is_known;   /* out: `value` and `token` describe the key */
    struct mcds__record_value value;
    mcds_cas_token token;
    mcds_bytes bytes;
    uint8_t stage;     /* private, as all that follow */
    uint64_t was_seen; /* when the key was asked for */
    uint8_t losses;
    uint32_t next_block;
    uint64_t lost_version;
    uint32_t
        odd_block; /* the first of another length than the writer gave it, from 1; 0: none */
    const char *odd_peer; /* its server */
    mcds_request request;
    mcds_buffer held;
    struct mcds__record_scratch *scratch;
};
void mcds__record_load_begin(struct mcds__record_load *load, const mcds_env *env);
enum mcds__step mcds__record_load_step(struct mcds__record_load *load,
                                       struct mcds__operation *operation);
/* This handle has seen what it has written, unless a call has seen another life of the key. */
void mcds__record_note_written(struct mcds__record_load *load,
                               const struct mcds__record_value *written);
void mcds__record_load_free(struct mcds__record_load *load, const mcds_env *env);

/* The decision of a change. */
enum mcds__record_decision { MCDS__RECORD_WRITE, MCDS__RECORD_REMOVE, MCDS__RECORD_LEAVE };

/* One change. DONE with
 *
 *   MCDS_OK         written, removed or left, once
 *   MCDS_AMBIGUOUS  written once, not at all, or not yet
 *   MCDS_BUSY       other clients changed it until the deadline
 *   `result`        of a decision to LEAVE
 *   others          not written */
struct mcds__record_change {
    struct mcds__record_load load;
    struct mcds__record_writer *writer;
    /* Read the old value, NULL if there is none, and write the new one into `fresh`. Called
     * again after each change by another client. */
    enum mcds__record_decision (*decide)(void *context, const mcds_bytes *old,
                                         mcds_buffer *fresh, int *result);
    void *context;
    uint8_t stage; /* private, as all that follow */
    bool doubt;
    struct mcds__record_id id;
    struct mcds__record_value next;
    struct mcds__record_blocks replaced[2]; /* not needed after the value is written */
    struct mcds__record_blocks erased[2];   /* to be erased now */
    uint8_t erased_count;
    uint8_t then;          /* the next stage after the erasures */
    uint64_t base_version; /* the value that the write in doubt was based on */
    uint64_t base_generation;
    bool base_is_known;
    uint32_t next_block;
    int result;
    mcds_reply obstacle; /* the reply that made it start again */
    mcds_request request;
    mcds_buffer fresh;
    mcds_buffer root;
};
void mcds__record_change_begin(struct mcds__record_change *change, const mcds_env *env,
                               struct mcds__record_writer *writer);
enum mcds__step mcds__record_change_step(struct mcds__record_change *change,
                                         struct mcds__operation *operation);
void mcds__record_change_free(struct mcds__record_change *change, const mcds_env *env);

/* The largest block in this store. */
size_t mcds__record_block_length(const mcds_store *store);
void mcds__record_block_key(const struct mcds__key *begin, uint64_t name, uint32_t number,
                            struct mcds__key *key_out);
struct mcds__record_scratch *mcds__record_get_scratch(struct mcds__record_scratch **scratch,
                                                      const mcds_env *env);

#endif
