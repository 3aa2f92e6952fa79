/* The meta protocol, except that values are stored by classic commands. A full server that does
 * not evict (memcached -M) refuses both, but when it refuses ms it deletes the old value, in
 * every mode: a client that fails to acquire a lock would delete the holder's. Of the classic
 * commands only set does so. The cost: a store does not return its CAS token, and append cannot
 * create. */
#include "store/memcached/wire/wire.h"

static const struct mcds__wire *wire_of(const mcds_request *request)
{
    return mcds__wire_is_store(request) ? &mcds__wire_classic : &mcds__wire_meta;
}

static bool careful_encode(const mcds_request *request, uint32_t sequence, int64_t wall_s,
                           mcds_buffer *out)
{
    return wire_of(request)->encode(request, sequence, wall_s, out);
}

static enum mcds__parse careful_parse(const mcds_request *request, uint32_t sequence,
                                      const char *bytes, size_t length,
                                      struct mcds__wire_reply *reply, size_t *consumed,
                                      size_t *needed)
{
    return wire_of(request)->parse(request, sequence, bytes, length, reply, consumed, needed);
}

const struct mcds__wire mcds__wire_careful = {"meta, classic stores", careful_encode,
                                              careful_parse};
