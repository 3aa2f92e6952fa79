/* Locks PATH itself, so that a process notices programs that have PATH open with other side
 * files.
 *
 * Each process that may write PATH holds a write lock on one byte of it, besides its lock on
 * PATH-writer. A process that is alone on PATH-writer but finds PATH held knows that other
 * programs have the file open with other side files: PATH was renamed, or PATH-writer was
 * removed. The locks belong to the open file description, so they end with the process. A user
 * without the right to write PATH cannot take one. */
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>

#include "store/lmdb/file.h"

#define BYTES_MAX 65536 /* the most processes that hold one file at a time */

#ifdef F_OFD_SETLK
bool mcds__lmdb_hold(struct mcds__lmdb_file *file)
{
    off_t first = getpid() % BYTES_MAX;
    assert(first >= 0 && file->held >= 0);
    for (off_t i = 0; i < BYTES_MAX; i++) {
        struct flock lock = {.l_type = F_WRLCK,
                             .l_whence = SEEK_SET,
                             .l_start = (first + i) % BYTES_MAX,
                             .l_len = 1};
        if (fcntl(file->held, F_OFD_SETLK, &lock) == 0)
            return true;
    }
    return false;
}

bool mcds__lmdb_is_held(const struct mcds__lmdb_file *file)
{
    /* A read lock conflicts with write locks only. */
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = BYTES_MAX};
    return fcntl(file->held, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void mcds__lmdb_unhold(struct mcds__lmdb_file *file)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = BYTES_MAX};
    (void)fcntl(file->held, F_OFD_SETLK, &lock);
}
#else
bool mcds__lmdb_hold(struct mcds__lmdb_file *file)
{
    (void)file;
    return true;
}

bool mcds__lmdb_is_held(const struct mcds__lmdb_file *file)
{
    (void)file;
    return false;
}

void mcds__lmdb_unhold(struct mcds__lmdb_file *file)
{
    (void)file;
}
#endif
