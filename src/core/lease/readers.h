/* Readers: clients that share a lease. The value of its one key lists them.
 *
 * A reader reads the value, adds itself, and writes it by compare-and-set. So each change includes
 * all changes before it. The value of an exclusive holder (a writer) lists no readers, so a writer
 * never holds the lease at the same time. A reader draws its fence as a writer does.
 *
 * No clock of a client decides when a reader's lease ends. The value contains for each reader how
 * much of the key's ttl is left at that time. A client that changes the value has also read the
 * ttl, and writes a ttl from which each other reader has as much left as before. The time between
 * that read and the write is added to the leases of the other readers: they end late, never early.
 *
 * A writer that waits adds its intent to the value, with an end. Until then no reader joins. */
#ifndef MCDS_CORE_LEASE_READERS_H
#define MCDS_CORE_LEASE_READERS_H

#include "core/lease/value.h"

#define MCDS__READERS_VERSION 2 /* of the frame 'L' */
#define MCDS__READERS_MAX MCDS_LOCK_SHARED_MAX
#define MCDS__READER_HEAD (16 + 8 + 4 + 1)
#define MCDS__READERS_VALUE_MAX                                                                \
    (8 + 4 + MCDS__READERS_MAX * (MCDS__READER_HEAD + MCDS__LEASE_LABEL_MAX))

struct mcds__reader {
    uint64_t token[2];
    uint64_t extension; /* as in a lease with one holder */
    uint32_t left_ms;   /* until its lease ends; 0: it has ended */
    mcds_bytes label;
};

/* Reads the payload of a value with readers, and what it shows if this much of the ttl is left. A
 * ttl that is not known counts as the longest ttl. False: this is not a value with readers. */
bool mcds__readers_open(mcds_bytes value, mcds_bytes key, int64_t ttl_ms,
                        struct mcds__readers_seen *seen_out);
/* The reader at *at, which is 0 at first. Includes readers whose leases have ended. False: there is
 * no further reader. */
bool mcds__readers_next(const struct mcds__readers_seen *seen, size_t *at,
                        struct mcds__reader *reader_out);

/* The part of mcds__lease_read for a value that is not a lease with one holder. */
enum mcds__lease_sight mcds__readers_read(struct mcds__lease_call *call, mcds_bytes value,
                                          int64_t ttl_ms, struct mcds__lease_value *value_out);

/* Why this client may not acquire the lease that another holds. */
const mcds_reason *mcds__readers_why_busy(const struct mcds__lease_call *call);

/* Allocates memory for the value of a request below. False: out of memory. */
bool mcds__readers_make_room(struct mcds__lease_call *call);
/* A request that writes this reader; a CAS also writes the other readers that were seen. */
mcds_request mcds__readers_join(struct mcds__lease_call *call, mcds_command command,
                                uint64_t extension, mcds_cas_token cas);
/* Whether others need the key after this reader has left. */
bool mcds__readers_are_others(const struct mcds__lease_call *call);
/* A CAS that writes the readers that were seen, without this one. */
mcds_request mcds__readers_leave(struct mcds__lease_call *call, mcds_cas_token cas);
/* A CAS that writes the readers that were seen, and the intent of a writer. */
mcds_request mcds__readers_intend(struct mcds__lease_call *call, mcds_cas_token cas);
/* Whether a writer that waits has to renew its intent. */
bool mcds__readers_need_intent(const struct mcds__lease_call *call);

#endif
