/* Keys as the store sees them: NS:TAG:NAME[:SUFFIX...], injective, at most 250 bytes of
 * 0x21..0x7e. Bytes of a name outside that range, and % and :, become %XX. A name that would
 * pass MCDS__NAME_MAX encoded bytes becomes ~ and 27 characters of its SHA-256. */
#ifndef MCDS_BASE_KEY_H
#define MCDS_BASE_KEY_H

#include "mcds/backend.h"

#define MCDS__KEY_MAX 250
#define MCDS__NS_MAX 32
#define MCDS__TAG_MAX 4
/* Longest encoded form of the name of a structure, and of an element inside one. */
#define MCDS__NAME_MAX 100
#define MCDS__ELEMENT_MAX 60
/* Longest name that a user may give. */
#define MCDS__NAME_GIVEN_MAX 1024

struct mcds__key {
    uint8_t length;
    char bytes[MCDS__KEY_MAX + 1];
};

/* Begin a key with NS:TAG:NAME. `tag` is at most MCDS__TAG_MAX bytes. */
void mcds__key_begin(struct mcds__key *key, const char *ns, const char *tag, const char *name);
/* Add :NUMBER in decimal. */
void mcds__key_add_number(struct mcds__key *key, uint64_t number);
/* Add : and the first `digits` (1..16) hexadecimal digits of 64 bits.  */
void mcds__key_add_hex(struct mcds__key *key, uint64_t bits, unsigned digits);
/* Add : and the first `count` (2..32, even) of 64 bits: a hexadecimal digit for each four, and w,
 * x, y or z for the last two if two are left. */
void mcds__key_add_bits(struct mcds__key *key, uint64_t bits, unsigned count);
/* Add :ELEMENT, encoded as a name is. */
void mcds__key_add_element(struct mcds__key *key, const char *element);
/* Add : and bytes, encoded as a name is; some may be zero. */
void mcds__key_add_bytes(struct mcds__key *key, mcds_bytes element);
/* Add : and an element that is encoded already. */
void mcds__key_add_encoded(struct mcds__key *key, const char *text, size_t length);

static inline mcds_bytes mcds__key_bytes(const struct mcds__key *key)
{
    return (mcds_bytes){key->bytes, key->length};
}

/* Decode the next component of a key into `out` (room for MCDS__KEY_MAX + 1, ended by NUL) and
 * move *at after it. False at the end of the key, or at bytes that no encoder writes. */
bool mcds__key_next_part(mcds_bytes key, size_t *at, char *out);

/* Whether the store may see these bytes as a key. */
bool mcds__key_is_legal(mcds_bytes key);

#endif
