/* A memcached with TLS or a password, its files, and stores on it. */
#ifndef MCDS_TESTS_TLS_WORLD_H
#define MCDS_TESTS_TLS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "mcds/backend.h"
#include "support/certificates.h"
#include "support/server.h"

#define WORLD_SKIPPED 77
/* A machine under load may keep a server from answering for a while. */
#define PATIENT "timeout=20000&connect_timeout=20000"

struct world {
    char folder[40];
    struct certificates certificates;
    struct server server;
    char *options[12]; /* of the server */
};

/* Make the folder and the certificates, once for all cases. Ends the program with a skip where
 * something is missing. */
void world_make(struct world *world);
void world_remove(struct world *world);
/* Write a file of the folder. */
void world_write(const struct world *world, const char *name, const char *text, unsigned mode);
/* Start memcached with these options, ended by NULL, on a free port. */
void world_run(struct world *world, char *const *options);
/* The same with TLS and the certificate of this name; NULL: "server". */
void world_run_tls(struct world *world, const char *certificate, char *const *options);

/* Open a store on the server at this port. In `options`, each @ means the folder. */
mcds_store *world_open(const struct world *world, uint16_t port, const char *options,
                       const mcds_env *env);
/* Add 1 to a counter of the store. */
int world_add(mcds_store *store);
/* Send the requests as one batch, independent of each other, for at most `wait_ns`. Values that are
 * read are appended to `values`; NULL: they are not wanted. */
void world_ask(mcds_store *store, mcds_request *requests, uint32_t count, int64_t wait_ns,
               mcds_buffer *values);
/* Ask once: the server cannot be reached, and the reason has these words. */
void world_expect_unsent(mcds_store *store, const char *words);
/* Open, add, close: the result is this one, and the sentence has these words; NULL: any. */
void world_expect(const struct world *world, const char *options, int result,
                  const char *words);

#endif
