/* Once: the value of a key.
 *
 * Payload of the frame (type 'N', version 1):
 *
 *   kind u8 | strict u8 | token u64 u64 | request u64 | began u64 | until u64 | code u32 | result
 *
 * Times are Unix milliseconds. Only DONE has a code and a result. */
#ifndef MCDS_STRUCTURES_ONCE_VALUE_H
#define MCDS_STRUCTURES_ONCE_VALUE_H

#include "base/frame.h"
#include "base/reason.h"

#define MCDS__ONCE_HEAD 46
/* A value without a result. */
#define MCDS__ONCE_CLAIM_BYTES (MCDS__ONCE_HEAD + MCDS__FRAME_OVERHEAD)

enum mcds__once_kind {
    MCDS__ONCE_IS_RUNNING = 1, /* a claim: one caller runs the work */
    MCDS__ONCE_IS_DONE,
    MCDS__ONCE_IS_FREE /* a claim that was given back, or a result that was forgotten */
};

struct mcds__once_value {
    enum mcds__once_kind kind;
    bool strict;       /* of a claim: no caller runs the work again when it has ended */
    uint64_t token[2]; /* of the claim; new with each try */
    uint64_t request;  /* a hash of what was asked for; 0: not checked */
    int64_t began_ms;
    int64_t until_ms;
    int32_t code;
    mcds_bytes result;
};

/* Encode into `out`, replacing its contents. False: no memory. */
bool mcds__once_encode(const struct mcds__once_value *value, mcds_bytes key, mcds_buffer *out);
/* MCDS_OK; the value refers to `bytes`. Or MCDS_CORRUPT or MCDS_UNSUPPORTED, and why. */
int mcds__once_decode(mcds_bytes bytes, mcds_bytes key, struct mcds__once_value *value,
                      const mcds_reason **detail_out);

#endif
