/* The surroundings of a stress program: a backend for the store, memory that all processes
 * share, and the time limit. */
#ifndef MCDS_TESTS_STRESS_STAGE_H
#define MCDS_TESTS_STRESS_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/server.h"

#define STAGE_SKIPPED 77

struct stage {
    char folder[64];
    char uri[160];
    bool one_process; /* threads instead of processes */
    struct server memcached;
};

/* backend: memory, lmdb or memcached. 0: ready; STAGE_SKIPPED: what it needs is missing, which has
 * been printed; else a failure that has been printed. */
int stage_open(struct stage *stage, const char *backend);
void stage_close(struct stage *stage);

/* A number from the environment, or `usual`. */
uint64_t stage_number(const char *variable, uint64_t usual);
/* Zeroed memory that children share. Never NULL. */
void *stage_share(size_t length);
/* Nanoseconds of a clock that all processes of the machine agree on and that never stops. */
int64_t stage_now_ns(void);
void stage_sleep_ns(int64_t length_ns);

/* Say what went wrong, with the file and line. Returns false. */
bool stage_complain(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define COMPLAIN(...) stage_complain(__FILE__, __LINE__, __VA_ARGS__)

#endif
