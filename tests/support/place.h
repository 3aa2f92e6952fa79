/* The places under test by name: each is a URI and whatever must run behind it. */
#ifndef MCDS_TESTS_SUPPORT_PLACE_H
#define MCDS_TESTS_SUPPORT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place;

/* Make a directory, start servers, as the place needs. NULL with *missing set: what it needs is
 * not installed; NULL without: no such name, or it would not start. */
struct place *place_start(const char *name, const char **missing);
/* The place that a program is given as its one argument. Ends the program with 77, a skip, where
 * something is not installed, and with 64 where there is no such place. */
struct place *place_or_exit(int argc, char **argv);
void place_stop(struct place *place);
const char *place_uri(const struct place *place);
/* A URI of other data in the same place, the same for the same word; every handle that opens it
 * in this process sees the same data. A place of servers has one data only. */
void place_uri_of(const struct place *place, const char *word, char *out, size_t room);
/* Whether time passes there by itself: a server's clock is not ours. */
bool place_has_own_clock(const struct place *place);
/* All names, each after a space. */
const char *place_names(void);

#endif
