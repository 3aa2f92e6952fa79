/* mcds.h: data structures on memcached's commands, shared by processes and machines.
 *
 * Know these before the first call:
 *
 *  - A call returns one int. 0: done. Positive: a normal answer that the caller handles (not
 *    found, busy). Negative: failure; nothing was changed unless the comment says otherwise.
 *    MCDS_AMBIGUOUS is neither: a reply was lost, or the deadline passed when a part was done; the
 *    change may have been applied, or may still be. Each comment says what the call does about that.
 *  - The library prints nothing, starts no thread and installs no signal handler. No reply of a
 *    server aborts the program. A file of `lmdb:` whose pages another program overwrites, or that it
 *    truncates while it is open, can: LMDB reads it through a map. mcds_errmsg()
 *    returns a sentence about this thread's last failure, mcds_last_error() its parts.
 *  - A store and the structures opened on it may be used from any thread at any time. A
 *    pipeline belongs to one thread. After fork, the child opens its own store; calls on what
 *    the parent has opened return MCDS_INVALID in the child.
 *  - Stores, structures and pipelines may be closed in any order and from any thread, also with
 *    operations in flight. A structure stays in memory until the completions of its operations
 *    are taken, a store until everything opened on it is closed. Only a waiting call must have
 *    returned before its handle is closed. Closing NULL does nothing.
 *  - The verbs mean the same in every structure. get reads one thing, scan calls a function of type
 *    mcds_X_scan_cb for each of many, has reports presence, drop erases the whole structure.
 *    made_with reads the options that a structure was made with. flags is a uint32_t in which bits
 *    are combined; a member that takes one of several values has the type of that enum.
 *  - Outputs are the last parameters of a call, before pipeline and tag. A call that does not
 *    return MCDS_OK leaves them untouched unless its comment says otherwise.
 *  - Names are C strings of 1 to 1024 bytes of any value. A name that takes more than 100 bytes
 *    when encoded is stored as a hash. open copies the name and the options.
 *  - Opening a structure does not access the store; its first call does.
 *  - A struct that begins with `size` may get more members in later versions. Programs and
 *    libraries of different versions work together, because `size` is what the program was
 *    compiled with. Begin each such struct with its _INIT macro, or set it to {0}: size 0 means
 *    the members of version 0.1. Never pass it uninitialized: the library trusts `size`.
 *    Options: 0 is the default of every member, and members beyond `size` have their defaults. A
 *    member that this library does not know must be 0; otherwise the call returns MCDS_INVALID.
 *    Outputs: the library fills the members within `size` and clears those that it does not know.
 *    Other structs never change, except that those passed to a callback may get more members.
 *  - MCDS_BUSY: nothing was applied, and the call may be repeated. mcds_last_error()->cause is
 *    MCDS_CAUSE_HELD where another holder has the lock, and MCDS_CAUSE_CONTENDED where others
 *    changed the same key again and again until the timeout.
 *  - at_ms and when_ms are Unix times in milliseconds; 0 means now. deadline_ns and wake_ns are
 *    times of mcds_env.monotonic_ns.
 *
 * Every waiting call X has a twin X_start that puts the same operation into a pipeline. It takes
 * the same arguments, then `pipeline` and `tag`, and has the same comment. X_start returns MCDS_OK:
 * started; the result of the operation comes with its completion. It returns a failure only for an
 * argument, for what this store cannot do, for lack of memory, or in a child process; nothing is
 * then started.
 *
 * The comment of a function has one line for each of these. What holds for every function is said
 * here, and a comment says only what differs:
 *
 * Arguments:   The first is what open has returned. NULL for it, or for any other pointer, or bytes
 *              without an address, is MCDS_INVALID, and a function without a result then does
 *              nothing. Where a comment allows NULL for an output, it is discarded.
 *              store       what mcds_open has returned
 *              name        as above
 *              options     NULL: the defaults
 *              visit       called for each of what is read; `context` is passed to it as it is, and
 *                          may be NULL. It must not call the library with the same pipeline.
 *              pipeline    of the same store
 *              tag         any number; comes back with the completion
 * Returns:     Every function that accesses the store may return these, also where its comment does
 *              not name them; nothing was changed:
 *              MCDS_TIMEOUT      the timeout has passed
 *              MCDS_UNAVAILABLE  a server or file cannot be reached
 *              MCDS_FULL         the store is out of memory or of disk; only of a call that stores
 *              MCDS_TOO_BIG      larger than the store accepts; only of a call that stores
 *              MCDS_NO_MEMORY    this process is out of memory
 *              MCDS_CORRUPT      a key holds something that mcds did not write
 *              MCDS_UNSUPPORTED  this store or server lacks what the call needs, or a newer version
 *                                of mcds has made the structure
 *              MCDS_PROTOCOL     the other side does not speak memcached's protocol
 *              MCDS_IO           the store refused for another reason: mcds_errmsg() has it
 *              MCDS_INVALID      an argument is out of its range, the structure was made with other
 *                                options, or the process has forked since open
 * Cost:        Round trips to one server when nothing goes wrong. On memory: and lmdb: the same
 *              number counts accesses to the table, or transactions. "none": the function does not
 *              access the store and does not wait.
 * Lost reply:  A call that only reads is never MCDS_AMBIGUOUS. Where no reply comes in time it
 *              returns MCDS_TIMEOUT or MCDS_UNAVAILABLE, and it may be repeated. The comment of
 *              every call that may return MCDS_AMBIGUOUS says here what a lost reply leaves.
 * Lifetime:    Inputs are copied before the function returns, also by X_start. Outputs, and the
 *              context of a callback, must live until the pipeline has returned the tag or is
 *              closed. What open returns lives until its close.
 * Threads:     Any thread at any time, on the same handle too; X_start, the thread of the pipeline.
 *
 * This header includes those of all structures, each with its own: mcds/base.h (results, errors,
 * bytes), store, pipeline, counter, lock, visitors, online, views, set, table, list, log, array. A
 * program may include any of them alone. Not included: mcds/poll.h, mcds/uv.h and mcds/event.h for
 * event loops, mcds/sim.h to test in a simulated world, mcds/backend.h to write a kind of store.
 */
#ifndef MCDS_H
#define MCDS_H

#include "mcds/base.h"
#include "mcds/pipeline.h"
#include "mcds/store.h"

#include "mcds/array.h"
#include "mcds/counter.h"
#include "mcds/list.h"
#include "mcds/lock.h"
#include "mcds/log.h"
#include "mcds/online.h"
#include "mcds/set.h"
#include "mcds/table.h"
#include "mcds/views.h"
#include "mcds/visitors.h"

#endif
