/* Cache: the handle, its keys, and what a claim holds.
 *
 *   item        ki1:NAME:KEY             the value, or a claim to fill it        item.h
 *   refresh     kr1:NAME:KEY             a claim to fill a stale value again     item.h
 *   piece       kp1:NAME:KEY:LIFE:PIECE  a part of a large value                 pieces.h
 *   generation  kg1:NAME, kt1:NAME:TAG   of the cache, and of each tag           generation.h
 *
 * The first three are placed by the item's key. */
#ifndef MCDS_STRUCTURES_CACHE_CACHE_H
#define MCDS_STRUCTURES_CACHE_CACHE_H

#include "base/environment.h"
#include "mcds.h"
#include "structures/cache/format/generation.h"
#include "structures/cache/format/item.h"
#include "structures/structure.h"

/* Largest value. */
#define MCDS__CACHE_VALUE_MAX ((size_t)64 << 20)
/* How long the store keeps a value after the time until which it is shown: clocks differ. */
#define MCDS__CACHE_SPARE_MS 5000
/* How long a claim that was given back stays, so that any caller may replace it. */
#define MCDS__CACHE_FREE_MS 1000

struct mcds_cache {
    struct mcds__handle handle;
    uint64_t ttl_ms;
    uint64_t stale_ms;
    uint64_t nothing_ms;
    uint32_t fill_ms;
    uint32_t wait_ms;
    uint32_t failed_ms;
    uint32_t jitter;
    uint32_t ttl_early_ms;  /* how much earlier the store may expire a key */
    struct mcds__key items; /* beginnings of keys */
    struct mcds__key refreshes;
    struct mcds__key pieces;
    struct mcds__key tags;
    struct mcds__key generation;
};

/* The part of a key that names the item, or the tag: the bytes as a key has them. */
struct mcds__cache_suffix {
    uint8_t length;
    char text[MCDS__ELEMENT_MAX + 1];
};
struct mcds__cache_suffix mcds__cache_suffix_of(mcds_bytes bytes);

/* The beginning of a key, and the suffix of the item or tag. */
struct mcds__key mcds__cache_key(const struct mcds__key *begin, const char *suffix,
                                 size_t length);

/* The ttl of a claim or hold of so many milliseconds. */
static inline uint64_t mcds__cache_lease_ms(const mcds_cache *cache, uint64_t ms)
{
    return ms + cache->ttl_early_ms;
}

/* When the owner of a claim that was asked for at asked_ns must stop. Other callers see its end in
 * whole milliseconds, rounded down. */
static inline int64_t mcds__cache_until_ns(const mcds_cache *cache, int64_t asked_ns)
{
    return asked_ns + ((int64_t)cache->fill_ms - 1) * NS_PER_MS;
}
/* The ttl of an item that is shown until then. It is longer by the time of a claim: one that was
 * taken at the last moment ends before the item, so all callers find it. */
uint64_t mcds__cache_keep_ms(const mcds_cache *cache, int64_t shown_till_ms, int64_t now_ms);
/* Whether the store keeps an item for the whole time of a claim that begins now. `ttl_ms` is that
 * of the item, as a get reports it. */
bool mcds__cache_outlives_claim(const mcds_cache *cache, const struct mcds__cache_item *item,
                                int64_t ttl_ms, int64_t now_ms);

/* A request that gives the item at `key` the longer ttl: writes the same bytes, of which it keeps a copy in
 * `kept`. False: no memory. */
bool mcds__cache_keep_request(const mcds_cache *cache, const struct mcds__cache_item *item,
                              const struct mcds__key *key, mcds_bytes bytes, mcds_cas_token cas,
                              int64_t now_ms, mcds_buffer *kept, mcds_request *request_out);

/* The end of a change. With `doubt`, an earlier reply was lost, and
 * every result but MCDS_OK is AMBIGUOUS. */
enum mcds__step mcds__cache_end(struct mcds__operation *operation, bool doubt);
/* After a refused or lost write that may be repeated: repeats the request, or fails. */
enum mcds__step mcds__cache_repeat(struct mcds__operation *operation, const mcds_reply *reply,
                                   bool *doubt);

/* Arguments of a call. Each returns MCDS_OK or MCDS_INVALID, with the sentence set. */
int mcds__cache_check_key(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                          const char *what, mcds_bytes key);
int mcds__cache_check_tags(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                           const mcds_bytes *tags, size_t tag_count);
/* The time of a claim, a wait or a hold. */
int mcds__cache_check_hold(const mcds_cache *cache, const struct mcds__operation_kind *kind,
                           uint32_t hold_ms);

#endif
