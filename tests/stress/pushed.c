/* Values that members push to a shared structure. */
#include "stress/pushed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/stage.h"
#include "support/lengths.h"

/* The numbers of the member and of the value fit in, and what is longer than 8 KB is kept apart. */
#define LENGTH_MIN 20
#define LENGTH_MAX 9000

static size_t length_of(int member, uint32_t value)
{
    uint64_t dice = (uint64_t)value << 8 | (uint64_t)member;
    return lengths_draw(&dice, LENGTH_MIN, LENGTH_MAX);
}

/* "MEMBER VALUE " and then the same letter to the end. */
mcds_bytes pushed_write(char *capacity, int member, uint32_t value)
{
    size_t length = length_of(member, value);
    int used = snprintf(capacity, length, "%d %u ", member, value);
    memset(capacity + used, 'a' + (int)(value % 26), length - (size_t)used);
    return (mcds_bytes){capacity, length};
}

bool pushed_read(mcds_bytes text, int *member_out, uint32_t *value_out)
{
    static _Thread_local char expected[PUSHED_TEXT_MAX];
    char head[20] = "";
    if (text.length < sizeof head)
        return COMPLAIN("a value of %zu bytes", text.length);
    memcpy(head, text.data, sizeof head - 1);
    if (sscanf(head, "%d %u", member_out, value_out) != 2 || *member_out < 0 ||
        *member_out >= CROWD)
        return COMPLAIN("\"%s\" is no value", head);
    mcds_bytes whole = pushed_write(expected, *member_out, *value_out);
    if (whole.length != text.length || memcmp(whole.data, text.data, text.length) != 0)
        return COMPLAIN("value %u of %d has been damaged", *value_out, *member_out);
    return true;
}

void pushed_begin(struct pushed *pushed, unsigned verb, int only,
                  struct crowd_journal *const *journals)
{
    *pushed = (struct pushed){.verb = verb, .only = only};
    for (int i = 0; i < CROWD; i++) {
        if (only != PUSHED_ALL && only != i)
            continue;
        pushed->journals[i] = journals[i];
        pushed->seen[i] = calloc(CROWD_NOTES_MAX, sizeof *pushed->seen[i]);
        if (pushed->seen[i] == NULL)
            abort();
    }
}

void pushed_end(struct pushed *pushed)
{
    for (int i = 0; i < CROWD; i++)
        free(pushed->seen[i]);
}

/* The last note that is not above the value. */
static uint32_t find_note(const struct crowd_journal *journal, uint32_t value)
{
    uint32_t first = 0, end = journal->count;
    while (end - first > 1) {
        uint32_t middle = first + (end - first) / 2;
        if (journal->notes[middle].what <= value)
            first = middle;
        else
            end = middle;
    }
    return first;
}

bool pushed_see(struct pushed *pushed, mcds_bytes text, const struct crowd_note **note_out)
{
    int member;
    uint32_t value;
    *note_out = NULL;
    pushed->total++;
    if (!pushed_read(text, &member, &value))
        return false;
    if (pushed->only != PUSHED_ALL && pushed->only != member)
        return true;
    const struct crowd_journal *journal = pushed->journals[member];
    uint32_t at = find_note(journal, value);
    const struct crowd_note *note = &journal->notes[at];
    if (journal->count == 0 || note->verb != pushed->verb || value - note->what >= note->number)
        return COMPLAIN("value %u of %d was never pushed", value, member);
    if (pushed->is_part && note->time_ms == 0 && pushed->seen[member][at] == 0)
        pushed->seen[member][at] = (uint16_t)(value - note->what);
    if (value != note->what + pushed->seen[member][at]++)
        return COMPLAIN("value %u of %d comes twice, or too soon", value, member);
    *note_out = note;
    return true;
}

bool pushed_is_complete(struct pushed *pushed)
{
    for (int i = 0; i < CROWD; i++) {
        const struct crowd_journal *journal = pushed->journals[i];
        uint32_t at = pushed->complete[i];
        for (; journal != NULL && at < journal->count; at++) {
            const struct crowd_note *note = &journal->notes[at];
            if (note->verb == pushed->verb && note->answered_ns != 0 &&
                pushed->seen[i][at] != note->number)
                return COMPLAIN("of %lld values from %u of %d on, %u are there",
                                (long long)note->number, note->what, i, pushed->seen[i][at]);
        }
        pushed->complete[i] = at;
    }
    return true;
}
