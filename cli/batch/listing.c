/* Listing: an array of structures that grows. */
#include "batch/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exit.h"
#include "io/report.h"
#include "table/commands.h"
#include "table/nouns.h"

int listing_find_noun(struct session *session, const struct command *command,
                      const struct noun **noun_out)
{
    const char *word = command->options[OPTION_NOUN].text;
    char sentence[SENTENCE_MAX];
    *noun_out = word != NULL ? find_noun(session->nouns, word) : NULL;
    bool is_leader = *noun_out != NULL && (*noun_out)->open == leader_open;
    if (word == NULL || (*noun_out != NULL && (*noun_out)->open != NULL && !is_leader))
        return STATUS_DONE;
    (void)snprintf(sentence, sizeof sentence, "%s: --noun %.60s: %s", command->noun->word, word,
                   is_leader ? "a leader is a lock, and listed as one; give --noun lock"
                             : "no structure; 'mcds help' lists them");
    report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID", sentence);
    return STATUS_USAGE;
}

bool listing_keep(struct listing *listing, const struct noun *noun, size_t place,
                  const char *name)
{
    if (listing->count == listing->capacity) {
        size_t capacity = 2 * listing->capacity + 16;
        struct found *found = realloc(listing->found, capacity * sizeof *found);
        if (found == NULL)
            return false;
        listing->found = found;
        listing->capacity = capacity;
    }
    char *copy = strdup(name);
    if (copy == NULL)
        return false;
    listing->found[listing->count++] = (struct found){noun, place, copy};
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct found *one = a;
    const struct found *other = b;
    if (one->place != other->place)
        return one->place < other->place ? -1 : 1;
    int order = strcmp(one->noun->word, other->noun->word);
    return order != 0 ? order : strcmp(one->name, other->name);
}

void listing_sort(struct listing *listing)
{
    if (listing->count > 0)
        qsort(listing->found, listing->count, sizeof listing->found[0], compare);
}

void listing_free(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->found[i].name);
    free(listing->found);
}
