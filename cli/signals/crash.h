/* Crash: a sentence where LMDB aborts or crashes at an overwritten page of the store's file. */
#ifndef MCDS_CLI_SIGNALS_CRASH_H
#define MCDS_CLI_SIGNALS_CRASH_H

#include "io/output.h"

/* Handles SIGABRT, SIGSEGV and SIGBUS from now on, also if another process sends them. If the
 * library has noted that LMDB aborts at damage, the sentence is its, and the process exits with
 * STATUS_IO. If it crashes and `uri` is an lmdb: store by then, a sentence names the file, and the
 * process exits with STATUS_IO. Otherwise the signal ends the process. Both arguments must outlive
 * the process. A thread that blocks SIGSEGV or SIGBUS ends the process without a sentence. */
void crash_open(struct output *output, const char *uri);

#endif
