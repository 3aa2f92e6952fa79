/* Reading a file as a user who may not write its lock file, and so cannot keep its writers from
 * using old pages again: the file is copied into memory and read there, as it was when it was opened.
 *
 * A copy is sound when at most one commit was made meanwhile: LMDB uses no page of a transaction
 * again before the second commit after it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/reason.h"
#include "store/lmdb_file.h"

#define TRIES_MAX 200
#define PAUSE_NS NS_PER_MS
#define PIECE_BYTES 65536

static bool copy_bytes(int from, int to)
{
    static _Thread_local uint8_t piece[PIECE_BYTES];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(from, piece, sizeof piece, at)) > 0) {
        if (pwrite(to, piece, (size_t)got, at) != got)
            return false;
        at += got;
    }
    return got == 0;
}

/* 0, or EAGAIN: it was written too fast, or another errno. */
static int copy_once(int from, int to)
{
    struct mcds__lmdb_meta copied;
    struct mcds__lmdb_meta now;
    errno = 0;
    if (ftruncate(to, 0) != 0 || !copy_bytes(from, to))
        return errno != 0 ? errno : EIO;
    if (!mcds__lmdb_read_meta(to, &copied) || !mcds__lmdb_read_meta(from, &now))
        return EIO;
    if (now.transaction > copied.transaction + 1)
        return EAGAIN;
    return 0;
}

static const char *reason_of(int code)
{
    switch (code) {
    case EAGAIN:
        return MCDS__WHY(WRITTEN_TOO_FAST)->text;
    case ENOTDIR:
        return MCDS__WHY(NO_PROC)->text;
    default:
        return strerror(code);
    }
}

int mcds__lmdb_snapshot(struct mcds__lmdb_file *file, const mcds_env *env)
{
    int code = ENOSYS;
#if defined(__linux__) && SIZE_MAX > UINT32_MAX
    int to = memfd_create("mcds", MFD_CLOEXEC);
    code = to >= 0 ? EAGAIN : errno;
    for (int i = 0; i < TRIES_MAX && code == EAGAIN; i++) {
        if (i > 0)
            mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + PAUSE_NS);
        code = copy_once(file->held, to);
    }
    if (code == 0 && access("/proc/self/fd", F_OK) != 0)
        code = ENOTDIR;
    file->snapshot = code == 0 ? to : -1;
    if (code != 0 && to >= 0)
        (void)close(to);
#endif
    if (code == 0)
        return MCDS_OK;
    return mcds_fail(MCDS_IO, "lmdb: %s cannot be read without the right to write %s-lock: %s",
                     file->path, file->path, reason_of(code));
}
