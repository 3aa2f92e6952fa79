/* Replies to "gets a b c ...": made of pieces of such replies, they are cut anywhere, and the reads
 * take what is theirs, the same whether the bytes come at once or one by one. */
#include "target.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "poison.h"

#include "store/memcached/wire/wire.h"

#define READS_MAX 8
#define CAPACITY 4096

static const char *const pieces[] = {
    "VALUE a 0 1 1\r\nx\r\n",
    "VALUE b 7 0 2\r\n\r\n",
    "VALUE c 4294967295 5 3\r\nEND\r\n\r\n",
    "VALUE d 0 2\r\nab\r\n",
    "END\r\n",
    "SERVER_ERROR out of memory writing get response\r\n",
    "VALUE ",
    "a",
    "b",
    "h ",
    " ",
    "0",
    "12",
    "18446744073709551616",
    "\r\n",
    "\n",
    "END",
    "SERVER_ERROR other\r\n",
    "CLIENT_ERROR bad command line format\r\n",
    "ERROR\r\n",
    "HD O00\r\n",
    "x",
};

/* Most of the pieces are from the first ones, which are whole. */
static const char *piece_of(uint8_t byte)
{
    return pieces[byte < 192 ? byte % 6 : byte % (sizeof pieces / sizeof pieces[0])];
}

static uint8_t *text;
static size_t text_length;

static void write_text(const uint8_t *data, size_t size)
{
    text_length = 0;
    for (size_t i = 0; i < size; i++) {
        const char *piece = piece_of(data[i]);
        size_t length = strlen(piece);
        if (length > CAPACITY - text_length)
            return;
        memcpy(text + text_length, piece, length);
        text_length += length;
    }
}

struct outcome {
    enum mcds__parse step;
    uint32_t answered; /* so many reads */
    size_t consumed;
    mcds_outcome outcomes[READS_MAX];
    size_t lengths[READS_MAX];
};

static void check_read(const struct mcds__wire_reply *reply, char key, size_t at, size_t used)
{
    MUST(reply->proof == PROOF_FOLLOWS && reply->outcome != MCDS_OUT_NONE);
    MUST(reply->outcome == MCDS_OUT_OK || reply->value.length == 0);
    if (reply->outcome != MCDS_OUT_OK)
        return;
    const uint8_t *value = reply->value.data;
    MUST(memcmp(text + at, "VALUE ", 6) == 0 && text[at + 6] == (uint8_t)key);
    MUST(value >= text + at && value + reply->value.length + 2 <= text + at + used);
    MUST(memcmp(value + reply->value.length, "\r\n", 2) == 0);
}

/* Continue with the first `length` bytes. */
static void go_on(struct outcome *outcome, uint32_t reads, size_t length)
{
    while (outcome->step != PARSE_BROKEN && outcome->answered < reads) {
        char key = (char)('a' + outcome->answered);
        const mcds_request request = {.command = MCDS_GET, .key = {&key, 1}};
        struct mcds__wire_reply reply;
        size_t used = 0;
        size_t needed = 0;
        size_t left = length - outcome->consumed;
        ASAN_POISON_MEMORY_REGION(text + length, CAPACITY - length);
        outcome->step = mcds__wire_parse_read(&request, outcome->answered + 1 == reads,
                                              (const char *)text + outcome->consumed, left,
                                              &reply, &used, &needed);
        ASAN_UNPOISON_MEMORY_REGION(text, CAPACITY);
        if (outcome->step == PARSE_MORE)
            MUST(needed > left);
        if (outcome->step != PARSE_DONE)
            return;
        MUST(used <= left && (used > 0 || outcome->answered + 1 < reads));
        check_read(&reply, key, outcome->consumed, used);
        outcome->outcomes[outcome->answered] = reply.outcome;
        outcome->lengths[outcome->answered++] = reply.value.length;
        outcome->consumed += used;
    }
}

/* The first byte is the number of reads. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (text == NULL)
        text = malloc(CAPACITY);
    MUST(text != NULL);
    write_text(data + 1, size - 1 < 64 ? size - 1 : 64);
    uint32_t reads = 1 + data[0] % READS_MAX;
    struct outcome at_once = {.step = PARSE_MORE};
    struct outcome slowly = {.step = PARSE_MORE};
    go_on(&at_once, reads, text_length);
    for (size_t i = 0; i <= text_length; i++)
        go_on(&slowly, reads, i);
    MUST(slowly.step == at_once.step && slowly.answered == at_once.answered);
    MUST(slowly.consumed == at_once.consumed);
    for (uint32_t i = 0; i < slowly.answered; i++)
        MUST(slowly.outcomes[i] == at_once.outcomes[i] &&
             slowly.lengths[i] == at_once.lengths[i]);
    if (at_once.answered == reads)
        MUST(at_once.consumed >= 5 && text[at_once.consumed - 1] == '\n');
    return 0;
}
