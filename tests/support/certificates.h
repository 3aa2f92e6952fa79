/* Certificates that a test makes for itself, in its own folder. */
#ifndef MCDS_TESTS_SUPPORT_CERTIFICATES_H
#define MCDS_TESTS_SUPPORT_CERTIFICATES_H

#include <stdbool.h>

struct certificates {
    char ca[128];     /* the file of the authority that has signed the others */
    char server[384]; /* options of memcached: its certificate, with its key */
    char *options[8]; /* the arguments of a memcached that speaks TLS; more may follow */
};

/* Run tests/support/certificates, which says what it makes. False, with *missing set if something
 * is not installed or the library has no TLS: they cannot be made. */
bool certificates_make(struct certificates *certificates, const char *folder,
                       const char **missing);
/* The options of a memcached that shows another certificate of the folder. */
void certificates_show(struct certificates *certificates, const char *folder, const char *name);

#endif
