/* The stores under test by name: each is a URI and the servers that must run for it. */
#ifndef MCDS_TESTS_SUPPORT_FIXTURE_H
#define MCDS_TESTS_SUPPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

struct fixture;

/* Make a directory, start servers, as the store needs. NULL with *missing set: what it needs is
 * not installed; NULL without: no such name, or it would not start. */
struct fixture *fixture_start(const char *name, const char **missing);
/* The store that a program is given as its one argument. Ends the program with 77, a skip, where
 * something is not installed, and with 64 where there is no such store. */
struct fixture *fixture_or_exit(int argc, char **argv);
void fixture_stop(struct fixture *fixture);
const char *fixture_uri(const struct fixture *fixture);
/* A URI of other data in the same store, the same for the same word; every handle that opens it
 * in this process sees the same data. A store on servers has one data only. */
void fixture_uri_of(const struct fixture *fixture, const char *word, char *out,
                    size_t capacity);
/* Whether time passes there by itself: a server's clock is not ours. */
bool fixture_has_own_clock(const struct fixture *fixture);
/* All names, each after a space. */
const char *fixture_names(void);

#endif
