/* Reads a file as a user that may not write its lock file. Such a user cannot keep writers from
 * reusing old pages, so the file is copied into memory and read there, as it was when it was
 * opened.
 *
 * A copy is sound if at most one commit was made meanwhile: LMDB reuses the pages of a
 * transaction only in the second commit after it. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb/check/pages.h"
#include "store/lmdb/file.h"

#define TRIES_MAX 200
#define PAUSE_NS NS_PER_MS
#define PIECE_BYTES 16384

static bool copy_bytes(int from, int to)
{
    uint8_t piece[PIECE_BYTES];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(from, piece, sizeof piece, at)) > 0) {
        if (pwrite(to, piece, (size_t)got, at) != got)
            return false;
        assert((size_t)got <= sizeof piece);
        at += got;
    }
    return got == 0;
}

/* 0; EAGAIN if commits were made too fast; or another errno. */
static int lmdb_snapshot_copy_once(int from, int to)
{
    struct mcds__lmdb_meta copied;
    struct mcds__lmdb_meta now;
    errno = 0;
    if (ftruncate(to, 0) != 0 || !copy_bytes(from, to))
        return errno != 0 ? errno : EIO;
    if (mcds__lmdb_read_header(to, &copied) != MCDS__LMDB_HEADER_SOUND ||
        mcds__lmdb_read_header(from, &now) != MCDS__LMDB_HEADER_SOUND)
        return EIO;
    if (now.transaction > copied.transaction + 1)
        return EAGAIN;
    return 0;
}

static int fail_snapshot(const char *path, int code)
{
    const mcds_reason *why = code == EAGAIN    ? MCDS__WHY(WRITTEN_TOO_FAST)
                             : code == ENOTDIR ? MCDS__WHY(NO_PROC)
                                               : NULL;
    const mcds_error error = {.result = MCDS_IO,
                              .cause = why != NULL ? why->cause : MCDS_CAUSE_NO_PERMISSION,
                              .os_error = why != NULL ? why->os_error : code,
                              .noun = "store",
                              .peer = path};
    return mcds__fail_saying(&error,
                             "it cannot be read without the right to write its -lock: %s",
                             why != NULL ? why->text : strerror(code));
}

int mcds__lmdb_snapshot(struct mcds__lmdb_file *file, const mcds_env *env)
{
    int code = ENOSYS;
#ifdef __linux__
    int to = memfd_create("mcds", MFD_CLOEXEC);
    code = to >= 0 ? EAGAIN : errno;
    for (int i = 0; i < TRIES_MAX && code == EAGAIN; i++) {
        if (i > 0)
            mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + PAUSE_NS);
        code = lmdb_snapshot_copy_once(file->held, to);
    }
    if (code == 0 && access("/proc/self/fd", F_OK) != 0)
        code = ENOTDIR;
    file->snapshot = code == 0 ? to : -1;
    if (code != 0 && to >= 0)
        (void)close(to);
#endif
    if (code == 0)
        return MCDS_OK;
    return fail_snapshot(file->path, code);
}
