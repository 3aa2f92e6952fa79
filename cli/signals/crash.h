/* Crash: a sentence where LMDB aborts or crashes at an overwritten page of the store's file. */
#ifndef MCDS_CLI_SIGNALS_CRASH_H
#define MCDS_CLI_SIGNALS_CRASH_H

#include "io/output.h"

/* Handles SIGABRT, SIGSEGV and SIGBUS from now on, even if another process sends them. If the
 * library has noted that LMDB aborts because of damage, the handler of SIGABRT prints the message
 * of the library, and the process exits with STATUS_IO. If the process crashes and `uri` is then
 * that of an lmdb: store, a sentence names the file, and the process exits with STATUS_IO.
 * Otherwise the signal ends the process. Both arguments must live until the process ends. If a
 * thread blocks SIGSEGV or SIGBUS, its crash ends the process without a sentence. */
void crash_open(struct output *output, const char *uri);

#endif
