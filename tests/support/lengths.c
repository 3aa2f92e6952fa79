/* The lengths of the elements, keys and values of a run, and their bytes. */
#include "support/lengths.h"

#include <stdio.h>
#include <string.h>

#include "support/dice.h"

/* Where a form ends: varints; the buffers inside operations; encoded names; the shortest splits of a
 * map key; batches, payloads inside a segment, segments; records of a map key; blocks. */
static const size_t borders[] = {8,     60,    64,     100,    127,    160,  192,
                                 256,   1024,  1536,   3072,   4096,   8128, 16384,
                                 32768, 65536, 262016, 524280, 1048576};
#define BORDERS (sizeof borders / sizeof borders[0])
/* What is stored before and after the bytes: a border is met this much earlier, or later. */
#define BEFORE 48
#define AFTER 8
#define SHORT 24
#define MIDDLE 256

static size_t near_border(uint64_t *dice, size_t most)
{
    size_t count = 0;
    while (count < BORDERS && borders[count] <= most + BEFORE)
        count++;
    if (count == 0)
        return most;
    size_t length = borders[dice_roll(dice, count)] + AFTER;
    size_t less = (size_t)dice_roll(dice, BEFORE + AFTER);
    return length > less ? length - less : 0;
}

/* Lengths of every size in bits are alike. */
static size_t of_any_size(uint64_t *dice, size_t most)
{
    unsigned bits = 0;
    while (bits < 40 && most >> bits > 0)
        bits++;
    return (size_t)dice_roll(dice, UINT64_C(1) << dice_roll(dice, bits + 1));
}

/* Of sixteen. */
#define SHORT_ONES 5
#define MIDDLE_ONES 6
#define ANY_ONES 2
#define BORDER_ONES 2

size_t lengths_draw(uint64_t *dice, size_t least, size_t most)
{
    int kind = (int)dice_roll(dice, 16);
    size_t length = least;
    if ((kind -= SHORT_ONES) < 0)
        length = (size_t)dice_roll(dice, SHORT);
    else if ((kind -= MIDDLE_ONES) < 0)
        length = (size_t)dice_roll(dice, MIDDLE);
    else if ((kind -= ANY_ONES) < 0)
        length = of_any_size(dice, most);
    else if ((kind -= BORDER_ONES) < 0)
        length = near_border(dice, most);
    else if (dice_roll(dice, 4) == 0)
        length = most;
    return length < least ? least : length > most ? most : length;
}

void lengths_begin(struct lengths *lengths, uint64_t seed, uint32_t count, size_t least,
                   size_t most)
{
    uint64_t dice = seed;
    bool has_empty = false;
    lengths->count = count < LENGTHS_MAX ? count : LENGTHS_MAX;
    for (uint32_t i = 0; i < lengths->count; i++) {
        size_t length = lengths_draw(&dice, least, most);
        lengths->of[i] = length == 0 && has_empty ? 1 : length;
        has_empty = has_empty || length == 0;
    }
}

void lengths_fill_up(struct lengths *lengths, size_t length)
{
    for (uint32_t i = 1; i < lengths->count; i += 2)
        lengths->of[i] = length + lengths->of[i] % SHORT;
}

void lengths_limit(struct lengths *lengths, size_t most)
{
    for (uint32_t i = 0; i < lengths->count; i++)
        if (lengths->of[i] > most)
            lengths->of[i] = most;
}

void lengths_print(const struct lengths *lengths)
{
    (void)fputs("lengths:", stderr);
    for (uint32_t i = 0; i < lengths->count; i++)
        (void)fprintf(stderr, " %zu", lengths->of[i]);
    (void)fputc('\n', stderr);
}

/* Any bytes: among them zeros, and those with which records begin. */
static uint8_t byte_at(size_t at, uint32_t number)
{
    return (uint8_t)(number + at * 167 + (at >> 8) * 13);
}

/* Most byte strings of one length differ in one byte: the first, the last or one between them. */
static bool differ_in_one(size_t length)
{
    return length % 4 != 1;
}

static size_t place_of_number(size_t length)
{
    const size_t places[] = {length / 2, length - 1, 0};
    return differ_in_one(length) ? places[length % 3] : 0;
}

mcds_bytes lengths_fill(uint8_t *out, size_t length, uint32_t number)
{
    for (size_t i = 0; i < length; i++)
        out[i] = byte_at(i, differ_in_one(length) ? 0 : number);
    if (length > 0)
        out[place_of_number(length)] = (uint8_t)number;
    return (mcds_bytes){out, length};
}

uint32_t lengths_number_of(const struct lengths *lengths, mcds_bytes bytes)
{
    const uint8_t *found = bytes.data;
    uint32_t number = 0;
    if (bytes.length > 0)
        number = found[place_of_number(bytes.length)];
    else
        while (number < lengths->count && lengths->of[number] > 0)
            number++;
    if (number >= lengths->count || lengths->of[number] != bytes.length)
        return lengths->count;
    size_t place = bytes.length > 0 ? place_of_number(bytes.length) : 0;
    for (size_t i = 0; i < bytes.length; i++)
        if (i != place && found[i] != byte_at(i, differ_in_one(bytes.length) ? 0 : number))
            return lengths->count;
    return number;
}

/* The first letter is the number. Some bytes are three bytes of a key. */
const char *lengths_name(const struct lengths *lengths, uint32_t number, char *out)
{
    static const char others[] = "abcdefghijkl~ :%";
    size_t length = lengths->of[number];
    for (size_t i = 1; i < length; i++)
        out[i] = others[(number + i) % (sizeof others - 1)];
    out[0] = (char)('a' + number);
    out[length] = '\0';
    return out;
}
