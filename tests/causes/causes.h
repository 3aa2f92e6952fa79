/* For each cause of a failure a call that has it, the parts of the failure and its sentence. */
#ifndef MCDS_TESTS_CAUSES_CAUSES_H
#define MCDS_TESTS_CAUSES_CAUSES_H

#include <stdio.h>
#include <stdlib.h>

#include "support/fake_env.h"
#include "support/fake_server.h"
#include "support/hooked_backend.h"
#include "support/server.h"

/* The files and servers of one row; all zero but for the paths. */
struct world {
    char folder[64];
    char file[96]; /* in the folder, for a store */
    struct fake_env fake;
    struct hooked_backend backend;
    mcds_store *store;
    mcds_store *parents; /* in a child: the store of the process before it, which closes it */
    struct server server;
    struct fake_server *liar;
};

/* `provoke` returns the result of the call that fails. It runs in a process of its own, whose
 * limits, user and system calls it may change. Texts are patterns of fnmatch(3); NULL is "". */
struct row {
    int (*provoke)(struct world *world);
    mcds_error error;
    const char *sentence;
};

struct table {
    const struct row *rows;
    size_t count;
};

extern const struct table causes_of_calls;
extern const struct table causes_of_what_is_stored;
extern const struct table causes_of_servers;
extern const struct table causes_of_processes;
extern const struct table causes_of_files;

/* What system calls of this process answer from now on: an errno, or 0 for what is true. */
struct faults {
    int connect_error;
    int make_error;  /* open() that makes a file */
    int room_error;  /* fallocate() */
    int sync_error;  /* fdatasync() */
    bool sends_late; /* the next send() waits until the other side has hung up */
    bool has_no_proc;
    bool is_elsewhere; /* in another pid namespace */
};
extern struct faults faults;

/* End this process: the row has failed, or cannot run here. */
_Noreturn void fail_row(const char *file, int line, const char *what);
_Noreturn void skip_row(const char *reason);

/* What a row needs before the call that fails. */
#define MUST(condition)                                                                        \
    do {                                                                                       \
        if (!(condition))                                                                      \
            fail_row(__FILE__, __LINE__, #condition);                                          \
    } while (0)
#define MUST_DO(call) MUST((call) == MCDS_OK)

/* Open world->store: what the URI names; on the clock and memory of the test; with requests that
 * the test may answer; the file of the world; a script that answers instead of memcached. */
void open_uri(struct world *world, const char *uri);
void open_memory(struct world *world);
void open_hooked(struct world *world, bool (*hook)(void *context, mcds_request *request));
void open_file(struct world *world, const char *options);
void open_liar(struct world *world, const struct fake_step *steps, const char *options);

mcds_counter *counter_of(mcds_store *store, const mcds_counter_options *options);
/* A call that needs the store, and the server. */
int get_counter(struct world *world);
int add_to_counter(struct world *world);

#endif
