/* What the tests of structures that the store has lost have in common. */
#ifndef MCDS_TESTS_STRUCTURES_VANISHED_H
#define MCDS_TESTS_STRUCTURES_VANISHED_H

#include "structures/suite.h"

#define KEYS_MAX 1024

/* Keys of one structure, or of all. */
struct listing {
    struct mcds__key root;
    struct mcds__key keys[KEYS_MAX];
    size_t count;
};
/* Appends a key of the structure to the listing, which is the context. */
bool list_key(void *context, mcds_bytes key);
/* A loss is made with a listing of the keys: skip the case where the store has none. */
void skip_without_listing(struct suite *suite);
/* The store forgets all keys of a structure: each is on the server of the key itself or of its
 * root. */
void lose(struct suite *suite, const char *tag, const char *name);
/* Counts in the context. */
bool see_nothing(void *context, mcds_bytes element, uint64_t count);

/* What happens to a structure that a handle has seen. */
enum fate { LOST, LOST_AND_MADE_AGAIN, DROPPED, DROPPED_AND_MADE_AGAIN };

void a_queue_that_is_lost_is_reported_once(struct suite *suite);
void a_queue_that_is_dropped_is_not_lost(struct suite *suite);
void a_queue_without_its_list_keeps_jobs(struct suite *suite);
void a_job_of_the_queue_made_since_stays_held(struct suite *suite);
void a_foreign_part_is_not_passed_over(struct suite *suite);

#endif
