/* Keys as the store sees them: NS:TAG:NAME[:SUFFIX...]. */
#include "base/key.h"

#include <assert.h>
#include <sha2.h>
#include <string.h>

#include "base/little_endian.h"
#include "base/number.h"

#define HASH_BYTES 20 /* 160 bits of SHA-256 */

static const char hex_digits[] = "0123456789ABCDEF";

static bool is_plain(unsigned char byte)
{
    return byte > 0x20 && byte < 0x7f && byte != '%' && byte != ':';
}

static size_t encoded_length(mcds_bytes name)
{
    size_t length = 0;
    for (size_t i = 0; i < name.length; i++)
        length += is_plain(((const unsigned char *)name.data)[i]) ? 1 : 3;
    return length;
}

static void add_byte(struct mcds__key *key, char byte)
{
    assert(key->length < MCDS__KEY_MAX);
    key->bytes[key->length++] = byte;
    key->bytes[key->length] = '\0';
}

static void add_raw(struct mcds__key *key, const char *text)
{
    for (; *text != '\0'; text++)
        add_byte(key, *text);
}

/* ~ and base64url without padding. */
static void add_hash(struct mcds__key *key, mcds_bytes name)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t sum[SHA256_DIGEST_LENGTH] = {0}; /* the memory sanitizer cannot see into libmd */
    SHA2_CTX context;
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)name.data, name.length);
    SHA256Final(sum, &context);

    add_byte(key, '~');
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < HASH_BYTES; i++) {
        bits = bits << 8 | sum[i];
        for (count += 8; count >= 6; count -= 6)
            add_byte(key, digits[bits >> (count - 6) & 63]);
    }
    assert(count < 6); /* bits that fill no digit */
    if (count > 0)
        add_byte(key, digits[bits << (6 - count) & 63]);
}

/* A first byte ~ is escaped, so that no name looks like the hash of another. */
static void add_encoded(struct mcds__key *key, mcds_bytes name, size_t length_max)
{
    const unsigned char *bytes = name.data;
    size_t length = encoded_length(name) + (name.length > 0 && bytes[0] == '~' ? 2 : 0);
    if (length > length_max) {
        add_hash(key, name);
        return;
    }
    for (size_t i = 0; i < name.length; i++) {
        if (is_plain(bytes[i]) && !(bytes[i] == '~' && i == 0)) {
            add_byte(key, (char)bytes[i]);
        } else {
            add_byte(key, '%');
            add_byte(key, hex_digits[bytes[i] >> 4]);
            add_byte(key, hex_digits[bytes[i] & 15]);
        }
    }
}

void mcds__key_begin(struct mcds__key *key, const char *ns, const char *tag, const char *name)
{
    assert(strlen(ns) <= MCDS__NS_MAX && strlen(tag) <= MCDS__TAG_MAX);
    key->length = 0;
    add_raw(key, ns);
    add_byte(key, ':');
    add_raw(key, tag);
    add_byte(key, ':');
    add_encoded(key, mcds_text(name), MCDS__NAME_MAX);
    assert(key->length <= MCDS__NS_MAX + MCDS__TAG_MAX + MCDS__NAME_MAX + 2);
}

void mcds__key_add_number(struct mcds__key *key, uint64_t number)
{
    assert(key->length + 1 + mcds__u64_digits(number) <= MCDS__KEY_MAX);
    char *at = key->bytes + key->length;
    *at++ = ':';
    size_t count = mcds__format_u64(number, at);
    at[count] = '\0';
    key->length = (uint8_t)(key->length + 1 + count);
}

/* The eight digits of 32 bits at once, a byte for each. */
static void put_eight_digits(char *out, uint32_t bits)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t digits = bits;
    digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits | digits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (digits + ones * 6) >> 4 & ones;
    digits += ones * '0' + letters * ('a' - '0' - 10);
    mcds__put_u64((uint8_t *)out, __builtin_bswap64(digits)); /* the highest digit first */
}

void mcds__key_add_hex(struct mcds__key *key, uint64_t bits, unsigned digits)
{
    assert(digits <= 16 && key->length + 1 + (digits > 8 ? 16 : 8) <= MCDS__KEY_MAX);
    char *at = key->bytes + key->length;
    *at++ = ':';
    put_eight_digits(at, (uint32_t)(bits >> 32));
    if (digits > 8)
        put_eight_digits(at + 8, (uint32_t)bits);
    at[digits] = '\0';
    key->length = (uint8_t)(key->length + 1 + digits);
}

void mcds__key_add_bits(struct mcds__key *key, uint64_t bits, unsigned count)
{
    assert(count >= 2 && count <= 32 && count % 2 == 0);
    unsigned digits = count / 4;
    mcds__key_add_hex(key, bits, digits);
    if (count % 4 == 0)
        return;
    key->bytes[key->length++] = "wxyz"[bits >> (62 - 4 * digits) & 3];
    key->bytes[key->length] = '\0';
}

void mcds__key_add_bytes(struct mcds__key *key, mcds_bytes element)
{
    add_byte(key, ':');
    add_encoded(key, element, MCDS__ELEMENT_MAX);
}

void mcds__key_add_element(struct mcds__key *key, const char *element)
{
    mcds__key_add_bytes(key, mcds_text(element));
}

void mcds__key_add_encoded(struct mcds__key *key, const char *text, size_t length)
{
    add_byte(key, ':');
    for (size_t i = 0; i < length; i++)
        add_byte(key, text[i]);
}

bool mcds__key_next_part(mcds_bytes key, size_t *at, char *out)
{
    const char *bytes = key.data;
    size_t length = 0;
    if (*at > key.length || key.length > MCDS__KEY_MAX)
        return false;
    size_t i = *at;
    for (; i < key.length && bytes[i] != ':'; i++) {
        char byte = bytes[i];
        if (byte == '%') {
            int high = i + 2 < key.length ? mcds__hex_value(bytes[i + 1]) : -1;
            int low = high < 0 ? -1 : mcds__hex_value(bytes[i + 2]);
            if (low < 0)
                return false;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        out[length++] = byte;
    }
    assert(length <= key.length);
    out[length] = '\0';
    *at = i + 1;
    return true;
}

/* Tests eight bytes at once: nonzero if one of them is not in 0x21..0x7e. For the others,
 * neither the difference nor the sum reaches the highest bit, so no byte borrows from its
 * neighbour. */
static uint64_t odd_bytes(const uint8_t *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return ((eight - ones * 0x21) | (eight + ones) | eight) & ones * 0x80;
}

bool mcds__key_is_legal(mcds_bytes key)
{
    const uint8_t *bytes = key.data;
    uint64_t odd = 0;
    if (key.length == 0 || key.length > MCDS__KEY_MAX)
        return false;
    if (key.length < 8) {
        uint8_t padded[8] = {'!', '!', '!', '!', '!', '!', '!', '!'};
        memcpy(padded, bytes, key.length);
        return odd_bytes(padded) == 0;
    }
    /* The last eight may overlap those before. */
    for (size_t at = 0; at < key.length - 8; at += 8)
        odd |= odd_bytes(bytes + at);
    return (odd | odd_bytes(bytes + key.length - 8)) == 0;
}
