/* Crash: a sentence where LMDB aborts or crashes at an overwritten page of the store's file. */
#ifndef MCDS_CLI_SIGNALS_CRASH_H
#define MCDS_CLI_SIGNALS_CRASH_H

#include "io/output.h"

/* Handles SIGABRT, SIGSEGV and SIGBUS from now on, also if another process sends them. If the
 * library has noted that LMDB aborts at damage, the sentence is its, and the process exits with
 * STATUS_IO. Otherwise the signal ends the process, with a sentence if it is a crash and `uri` is
 * an lmdb: store by then. Both arguments must outlive the process. */
void crash_open(struct output *output, const char *uri);

#endif
