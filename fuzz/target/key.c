/* Keys: what is encoded comes back, different names and elements have different keys, and no
 * bytes confuse the decoder. */
#include "target.h"

#include <string.h>

#include "base/key.h"

/* A name, and an element behind the first byte 0. */
static void encode(const uint8_t *data, size_t size)
{
    char name[MCDS__NAME_GIVEN_MAX + 1];
    size_t length = size < MCDS__NAME_GIVEN_MAX ? size : MCDS__NAME_GIVEN_MAX;
    memcpy(name, data, length);
    name[length] = '\0';
    size_t name_length = strlen(name);
    if (name_length == 0)
        return;
    const char *element = name_length < length ? name + name_length + 1 : name;

    struct mcds__key key;
    mcds__key_begin(&key, "ns", "c1", name);
    mcds__key_add_number(&key, size);
    mcds__key_add_element(&key, element);
    MUST(mcds__key_is_legal(mcds__key_bytes(&key)));

    char part[MCDS__KEY_MAX + 1];
    size_t at = 0;
    MUST(mcds__key_next_part(mcds__key_bytes(&key), &at, part) && strcmp(part, "ns") == 0);
    MUST(mcds__key_next_part(mcds__key_bytes(&key), &at, part) && strcmp(part, "c1") == 0);
    bool hashed = key.bytes[at] == '~';
    MUST(mcds__key_next_part(mcds__key_bytes(&key), &at, part));
    MUST(hashed ? name_length > MCDS__NAME_MAX / 3 : strcmp(part, name) == 0);
}

static void make(struct mcds__key *key, const char *name, const char *element)
{
    mcds__key_begin(key, "ns", "c1", name);
    mcds__key_add_element(key, element);
}

/* Two pairs of a name and an element: equal keys mean equal pairs. The last byte tells where they
 * are parted, and how much the second differs from the first. */
static void compare(const uint8_t *data, size_t size)
{
    char texts[4][MCDS__NAME_GIVEN_MAX + 1];
    size_t quarter = size / 4 < MCDS__NAME_GIVEN_MAX ? size / 4 : MCDS__NAME_GIVEN_MAX;
    if (quarter == 0)
        return;
    for (size_t i = 0; i < 4; i++) {
        memcpy(texts[i], data + i * quarter, quarter);
        texts[i][quarter] = '\0';
        if (texts[i][0] == '\0')
            return;
    }
    struct mcds__key one;
    struct mcds__key other;
    size_t changed = data[size - 1] % quarter;
    make(&one, texts[0], texts[1]);
    make(&other, texts[2], texts[3]);
    bool same = strcmp(texts[0], texts[2]) == 0 && strcmp(texts[1], texts[3]) == 0;
    MUST((strcmp(one.bytes, other.bytes) == 0) == same);
    memcpy(texts[2], texts[0], sizeof texts[2]);
    if (changed < strlen(texts[2])) {
        texts[2][changed] ^= 1;
        make(&other, texts[2], texts[1]);
        MUST(texts[2][0] == '\0' || strcmp(one.bytes, other.bytes) != 0);
    }
    make(&other, texts[0], texts[1]);
    MUST(strcmp(one.bytes, other.bytes) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    encode(data, size);
    compare(data, size);

    char part[MCDS__KEY_MAX + 1];
    mcds_bytes key = {data, size};
    size_t at = 0;
    size_t before = 0;
    while (mcds__key_next_part(key, &at, part)) {
        MUST(at > before && at <= size + 1);
        before = at;
    }
    (void)mcds__key_is_legal(key);
    return 0;
}
