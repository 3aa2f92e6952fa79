/* The files of one store, PATH, PATH-lock and PATH-writer, opened so that nothing else is
 * overwritten: no symbolic link is followed, a missing file is made with O_EXCL, and an existing
 * file must be a regular file with one name, of a trusted owner, and with the first bytes of such
 * a file. Everything else is refused with a sentence and left as it is. */
#ifndef MCDS_STORE_LMDB_GUARD_H
#define MCDS_STORE_LMDB_GUARD_H

#include <sys/stat.h>

#include "store/lmdb_file.h"

#define MCDS__GUARD_HEAD 64

/* What the bytes of an existing file are, by its first bytes (zero beyond its end) and size. */
enum mcds__guard_content { MCDS__GUARD_OURS, MCDS__GUARD_FOREIGN, MCDS__GUARD_OTHER_VERSION };

/* Look at file->path, and make it with `mode` where it is not there. Sets `device`, `inode`,
 * `held`, `read_only` and `no_write` of the file and *status_out. Returns MCDS_OK or a code with the sentence set. */
int mcds__lmdb_guard_data(struct mcds__lmdb_file *file, uint32_t mode, struct stat *status_out);

/* Open a file beside PATH for reading and writing, or make it: only those who may read and write
 * PATH may read or write it. *descriptor_out is -1 where this user must not open or make it; errno
 * says why. Returns MCDS_OK or a refusal with the sentence set. */
int mcds__lmdb_guard_beside(
    const struct mcds__lmdb_file *file, const char *suffix, const struct stat *data,
    enum mcds__guard_content (*judge)(const uint8_t *head, uint64_t size), int *descriptor_out);

/* Sentences for a file that cannot be opened, by a code of LMDB or errno.h. */
int mcds__lmdb_fail_open(const char *path, int code);

#endif
