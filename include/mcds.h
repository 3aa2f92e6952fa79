/* mcds.h: data structures on memcached's commands, shared by processes and machines.
 *
 * Know these before the first call:
 *
 *  - A call returns one int. 0: done. Positive: a normal answer that the caller handles (not
 *    found, busy). Negative: failure; nothing was changed, unless the description of the call
 *    says otherwise. MCDS_AMBIGUOUS is the exception: a reply was lost, or the deadline passed
 *    after a part was done. The change may have been applied, or may be applied later. The
 *    description of the call describes this case.
 *  - The library prints nothing, starts no thread and installs no signal handler. No reply of a
 *    server aborts the program. `lmdb:` is different: LMDB maps the file into memory, and another
 *    program that truncates the open file or overwrites its pages can crash this program.
 *    mcds_errmsg() returns a sentence about this thread's last failure. mcds_last_error() returns
 *    its parts.
 *  - A store and the structures opened on it may be used from any thread at any time. A pipeline
 *    belongs to one thread. After fork, the child must open its own store; a memory: store that
 *    it opens is empty. In the child, calls on handles that the parent opened return
 *    MCDS_INVALID, and closing them does not affect the parent. Calls that return no result code,
 *    such as mcds_lock_remaining_ms(), and those that only read or write a cursor or a job as
 *    text, may be used.
 *  - Stores, structures and pipelines may be closed in any order and from any thread, also with
 *    operations in flight. A structure stays in memory until the completions of its operations
 *    are taken. A store stays in memory until everything opened on it is closed. Do not close a
 *    handle while a waiting call uses it. Closing NULL does nothing.
 *  - The verbs mean the same in every structure. get reads one value. scan calls a function of
 *    type mcds_X_scan_cb for each of many values. has reports whether something is present. drop
 *    erases the whole structure. made_with reads the options that a structure was made with.
 *    `flags` is a uint32_t of combined bits. A member that takes one of several values has an
 *    enum type.
 *  - Outputs are the last parameters of a call, before pipeline and tag. A call that does not
 *    return MCDS_OK leaves them untouched unless its description says otherwise.
 *  - Names are C strings of 1 to 1024 bytes of any value. A name that takes more than 100 bytes
 *    when encoded is stored as a hash. open copies the name and the options.
 *  - Opening a structure does not access the store; its first call does.
 *  - A struct that begins with `size` may get more members in later versions. `size` is the size
 *    that the program was compiled with, so programs and libraries of different versions work
 *    together. Initialize each such struct with its _INIT macro or with {0}. Size 0 means all
 *    members of version 0.1, also in later versions: to use a member that a later version has
 *    added, set `size`, as the _INIT macro does. Never pass an uninitialized struct: the library
 *    trusts `size`. A struct may be at most 1 024 bytes larger than the library's own. In options,
 *    0 is the default of every member, and members beyond `size` have their defaults. A member
 *    that this library does not know must be 0; otherwise the call returns MCDS_INVALID. In
 *    outputs, the library fills the members within `size` and clears those that it does not know.
 *    Structs without `size` never change, but structs that are passed to a callback may get more
 *    members.
 *  - MCDS_BUSY: nothing was applied, and the call may be repeated. mcds_last_error()->cause is
 *    MCDS_CAUSE_HELD if another holder has the lock. It is MCDS_CAUSE_CONTENDED if other callers
 *    kept changing the same key until the timeout.
 *  - at_ms and when_ms are Unix times in milliseconds; 0 means now. deadline_ns and wake_ns are
 *    times of the clock mcds_env.monotonic_ns.
 *
 * Every waiting call X has a twin X_start that puts the same operation into a pipeline. X_start
 * takes the same arguments, then `pipeline` and `tag`. The description of X applies to both.
 * X_start returns MCDS_OK when the operation is started; the completion carries the result of the
 * operation. X_start fails only for an invalid argument, for an operation that the store does not
 * support, for lack of memory, or in a child process. The operation is then not started.
 *
 * The description of each function uses the labels below. The text here applies to every
 * function; the description of a function adds only what differs.
 *
 * Arguments:   The first argument is the handle that open returned. If a pointer is NULL, or
 *              bytes have a length but no address, the function returns MCDS_INVALID; a function
 *              without a result does nothing. Where a description allows NULL for an output, the
 *              output is discarded.
 *              store       the handle that mcds_open returned
 *              name        as above
 *              options     NULL: the defaults
 *              visit       called once for each item that is read. It gets `context`, which may
 *                          be NULL. It must not call the library with the same pipeline.
 *              pipeline    of the same store
 *              tag         any number; the completion carries it
 * Returns:     Every function that accesses the store may return these results, even if its
 *              description does not name them. Nothing was changed:
 *              MCDS_TIMEOUT      the timeout has passed
 *              MCDS_UNAVAILABLE  a server or file cannot be reached
 *              MCDS_FULL         the store is out of memory or disk space; only from calls that
 *                                store
 *              MCDS_TOO_BIG      larger than the store accepts; only from calls that store
 *              MCDS_NO_MEMORY    this process is out of memory
 *              MCDS_CORRUPT      a key holds something that mcds did not write, or a reply has
 *                                other bytes than the key. A call that has sent its change, and
 *                                cannot read its effect for this reason, returns MCDS_AMBIGUOUS
 *              MCDS_UNSUPPORTED  the store or server lacks a feature that the call needs, or a
 *                                newer version of mcds made the structure
 *              MCDS_PROTOCOL     the other side does not speak memcached's protocol
 *              MCDS_IO           the store refused for another reason, or this machine's clock is
 *                                before 1970; mcds_errmsg() gives the reason. If many clients
 *                                change one key of a set, table, queue or limit, also: this clock
 *                                is more than ten minutes before theirs, or 30 seconds while
 *                                thousands of handles change the key
 *              MCDS_INVALID      an argument is out of its range, the structure was made with
 *                                other options, or the process has forked since open
 * Cost:        Round trips to one server when nothing goes wrong. On memory: the number counts
 *              accesses to the table; on lmdb: it counts transactions. "none": the function does
 *              not access the store and does not wait.
 * Lost reply:  A call that only reads never returns MCDS_AMBIGUOUS. If no reply comes in time, it
 *              returns MCDS_TIMEOUT or MCDS_UNAVAILABLE and may be repeated. For every call that
 *              may return MCDS_AMBIGUOUS, this label lists the states that a lost reply can
 *              leave. "Not yet" means that the change may be applied later.
 * Lifetime:    Inputs are copied before the function returns, also by X_start. Outputs, and the
 *              context of a callback, must live until the pipeline has returned the tag or is
 *              closed. A handle lives until it is closed.
 * Threads:     Any thread may call any function at any time, also on a handle that other threads
 *              use. Only the thread that owns the pipeline may call X_start.
 *
 * This header includes mcds/base.h (results, errors, bytes), mcds/store.h, mcds/pipeline.h and
 * the header of each structure: counter, limit, ids, lock, semaphore, visitors, online, views,
 * set, table, list, log, array, cache, once, queue. A program may include any of them alone. This
 * header does not include mcds/poll.h, mcds/uv.h and mcds/event.h (event loops), mcds/sim.h
 * (tests in a simulated world) and mcds/backend.h (new kinds of store).
 */
#ifndef MCDS_H
#define MCDS_H

#include "mcds/base.h"
#include "mcds/pipeline.h"
#include "mcds/store.h"

#include "mcds/array.h"
#include "mcds/cache.h"
#include "mcds/counter.h"
#include "mcds/ids.h"
#include "mcds/limit.h"
#include "mcds/list.h"
#include "mcds/lock.h"
#include "mcds/log.h"
#include "mcds/once.h"
#include "mcds/online.h"
#include "mcds/queue.h"
#include "mcds/semaphore.h"
#include "mcds/set.h"
#include "mcds/table.h"
#include "mcds/views.h"
#include "mcds/visitors.h"

#endif
