/* Listing: the structures of a namespace, kept and sorted. */
#ifndef MCDS_CLI_BATCH_LISTING_H
#define MCDS_CLI_BATCH_LISTING_H

#include "run/session.h"

struct found {
    const struct noun *noun;
    size_t place; /* the first key of the order: of the name among those typed */
    char *name;
};

/* Bytes. A listing has a shorter name as it is, and of a longer one perhaps only a hash: a byte of a name
 * becomes up to three, and more than 100 of these are hashed. */
#define HASHED_MIN 34

struct listing {
    struct found *found;
    size_t count;
    size_t capacity;
};

/* Finds the noun of --noun; NULL without that option. Returns 0 or, with the sentence printed, the
 * exit code. */
int listing_find_noun(struct session *session, const struct command *command,
                      const struct noun **noun_out);
/* Copies the name. False: out of memory. */
bool listing_keep(struct listing *listing, const struct noun *noun, size_t place,
                  const char *name);
/* By place, noun and name. */
void listing_sort(struct listing *listing);
void listing_free(struct listing *listing);

#endif
