/* Bytes that are eaten from the front; beyond the end there are zeros. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "mcds.h"

struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t next_byte(struct fuzz_input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

static inline uint64_t next_number(struct fuzz_input *input, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++)
        number = number << 8 | next_byte(input);
    return number;
}

/* As many as the next byte says, up to `most` and as far as there are any. */
static inline mcds_bytes next_bytes(struct fuzz_input *input, size_t most)
{
    size_t length = next_byte(input) % (most + 1);
    if (length > input->left)
        length = input->left;
    mcds_bytes bytes = {input->at, length};
    input->at += length;
    input->left -= length;
    return bytes;
}

#endif
