/* Descriptor: read the root of a structure, in one batch with a request that writes it before.
 *
 * The callers have the stages: they ask, and take the replies in the next step. */
#ifndef MCDS_CORE_DESCRIPTOR_LOOK_H
#define MCDS_CORE_DESCRIPTOR_LOOK_H

#include "core/descriptor/descriptor.h"
#include "engine/operation.h"

struct mcds__root_look {
    /* The caller sets these. */
    const struct mcds__key *key;
    const mcds_reason *vanishes; /* the reason for MCDS_BUSY: added, and always missing */
    uint64_t ttl_ms;             /* of the root that is written; 0: none */
    enum mcds__descriptor_kind kind;
    bool may_lack; /* a root that a full store refuses counts as missing */
    uint8_t
        count; /* private, as what follows: of the requests: a write, if any, and the read */
    mcds_request requests[2];
    uint8_t frame[MCDS__DESCRIPTOR_CAPACITY];
};

/* A request that writes this descriptor. */
mcds_request mcds__root_look_write(struct mcds__root_look *look, mcds_command command,
                                   const struct mcds__descriptor *descriptor);
/* Ask for `write`, if it is not NULL, and for a read after it. */
enum mcds__step mcds__root_look_ask(struct mcds__root_look *look,
                                    struct mcds__operation *operation,
                                    const mcds_request *write);
/* The read that was asked for. */
static inline const mcds_request *mcds__root_look_read(const struct mcds__root_look *look)
{
    return &look->requests[look->count - 1];
}
/* Take the replies. DONE with MCDS_OK: *found_out is the root; MCDS_NOT_FOUND: it is missing, and
 * was not to be added; MCDS_CORRUPT; MCDS_UNSUPPORTED; or failures. SLEEP: ask again. */
enum mcds__step mcds__root_look_take(const struct mcds__root_look *look,
                                     struct mcds__operation *operation,
                                     struct mcds__descriptor *found_out);
/* The reply shows no root. SLEEP: ask again; or DONE with a failure. */
enum mcds__step mcds__root_look_again(const struct mcds__root_look *look,
                                      struct mcds__operation *operation,
                                      const mcds_reply *reply);

#endif
