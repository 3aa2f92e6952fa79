/* Readers: the holders of a lease that several clients share, in the value of its one key.
 *
 * A reader adds itself to what it has read, by compare-and-set. So every change sees all changes
 * before it, and an exclusive holder, whose value has no readers, is never there at the same time.
 * The fence is drawn as for an exclusive lease, so fences order readers and writers alike.
 *
 * No clock of a client decides when a reader's lease ends. The value holds for each reader how much
 * of the key's ttl will be left then. A client that changes the value has read the ttl too, and writes a ttl
 * from which each reader has as much left as before. The time between that read and the write is
 * added to the leases of the other readers: they end late, never early.
 *
 * A writer that waits adds its intent, with a time of its own. Until that has ended nobody joins. */
#ifndef MCDS_CORE_LEASE_READERS_H
#define MCDS_CORE_LEASE_READERS_H

#include "core/lease/value.h"

#define MCDS__READERS_VERSION 2 /* of the frame 'L' */
#define MCDS__READERS_MAX 64
#define MCDS__READER_HEAD (16 + 8 + 4 + 1)
#define MCDS__READERS_VALUE_MAX                                                                \
    (8 + 4 + MCDS__READERS_MAX * (MCDS__READER_HEAD + MCDS__LEASE_LABEL_MAX))

struct mcds__reader {
    uint64_t token[2];
    uint64_t extension; /* as in a lease with one holder */
    uint32_t left_ms;   /* until its lease ends; 0: it has ended */
    mcds_bytes label;
};

/* False: no value with readers. Otherwise the payload, and what it shows at this ttl. A ttl that is
 * not known counts as the longest one. */
bool mcds__readers_open(mcds_bytes value, mcds_bytes key, int64_t ttl_ms,
                        struct mcds__readers_seen *seen_out);
/* The reader at *at, 0 at first, also one whose lease has ended. False: there is no other. */
bool mcds__readers_next(const struct mcds__readers_seen *seen, size_t *at,
                        struct mcds__reader *reader_out);

/* The rest of mcds__lease_read, for a value that is no lease with one holder. */
enum mcds__lease_sight mcds__readers_read(struct mcds__lease_call *call, mcds_bytes value,
                                          int64_t ttl_ms, struct mcds__lease_value *value_out);

/* Why this client may not acquire the lease that another holds. */
const mcds_reason *mcds__readers_why_busy(const struct mcds__lease_call *call);

/* Memory for the value of a request below. False: none. */
bool mcds__readers_make_room(struct mcds__lease_call *call);
/* A request that writes this reader, and besides, for a CAS, the readers that were seen. */
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
