/* The meta protocol, but values are stored by classic commands. A full server that does not
 * evict (memcached -M) refuses both, and by refusing ms it deletes what the key held, in every
 * mode: whoever fails to take a lock would erase the holder's. Of the classic commands only set
 * does so. The price: a store does not tell its CAS token, and none creates on append. */
#include "store/wire.h"

static const struct mcds__wire *wire_of(const mcds_request *request)
{
    return mcds__wire_is_store(request) ? &mcds__wire_classic : &mcds__wire_meta;
}

static bool careful_encode(const mcds_request *request, uint32_t turn, int64_t wall_s,
                           mcds_buffer *out)
{
    return wire_of(request)->encode(request, turn, wall_s, out);
}

static enum mcds__parse careful_parse(const mcds_request *request, uint32_t turn,
                                      const char *bytes, size_t length,
                                      struct mcds__wire_reply *reply, size_t *consumed,
                                      size_t *needed)
{
    return wire_of(request)->parse(request, turn, bytes, length, reply, consumed, needed);
}

const struct mcds__wire mcds__wire_careful = {"meta, classic stores", careful_encode,
                                              careful_parse};
