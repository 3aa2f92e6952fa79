/* A keyed hash: SipHash-1-3, 64 bits (Aumasson, Bernstein: SipHash: a fast short-input PRF,
 * 2012), with one round for each word and three at the end. */
#include "base/hash/siphash.h"

#include "base/little_endian.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void mix(struct state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 = rotate(s->v2, 32);
}

static inline void siphash_take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s);
    s->v0 ^= word;
}

/* The last bytes, fewer than a word, and the length in the highest byte. */
static inline uint64_t last_word(const uint8_t *at, size_t count, size_t length)
{
    uint64_t word = (uint64_t)length << 56;
    if (count == 0)
        return word;
    if (length >= sizeof word) /* the bytes before them are shifted out */
        return word | mcds__get_u64(at + count - sizeof word) >> (64 - 8 * count);
    for (size_t i = 0; i < count; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

uint64_t mcds__siphash(const uint64_t key[2], mcds_bytes bytes)
{
    const uint8_t *at = bytes.data;
    const uint8_t *end = at + (bytes.length & ~(size_t)7);
    struct state s = {
        key[0] ^ UINT64_C(0x736f6d6570736575),
        key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261),
        key[1] ^ UINT64_C(0x7465646279746573),
    };
    for (; at < end; at += 8)
        siphash_take(&s, mcds__get_u64(at));
    siphash_take(&s, last_word(at, bytes.length & 7, bytes.length));
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
