/* Opens the files of one store (PATH, PATH-lock and PATH-writer) so that nothing else is
 * overwritten. No symbolic link is followed, a missing file is created with O_EXCL, and an
 * existing file must be a regular file with one name, of a trusted owner, with the first bytes
 * of such a file. Anything else is refused with a sentence and left unchanged. */
#ifndef MCDS_STORE_LMDB_GUARD_H
#define MCDS_STORE_LMDB_GUARD_H

#include <sys/stat.h>

#include "store/lmdb/file.h"

#define MCDS__GUARD_HEAD 64

/* The kind of an existing file, by its first bytes (zero beyond its end) and its size. */
enum mcds__guard_content { MCDS__GUARD_OURS, MCDS__GUARD_FOREIGN, MCDS__GUARD_OTHER_VERSION };

/* Open file->path, or create it with `mode` unless that is 0. Sets `device`, `inode`, `held`, `made`,
 * `read_only` and `no_write` of the file, and *status_out. Returns MCDS_OK or a code with the
 * sentence set. */
int mcds__lmdb_guard_data(struct mcds__lmdb_file *file, uint32_t mode, struct stat *status_out);
/* Remove the empty file that an opening has made and then refused. */
void mcds__lmdb_guard_undo(const struct mcds__lmdb_file *file);

/* Open a file beside PATH for reading and writing, or create it: only users that may read and
 * write PATH may read or write it. *descriptor_out is -1 if this user may not open or create
 * it; then errno has the reason. Returns MCDS_OK or a refusal with the sentence set. */
int mcds__lmdb_guard_beside(
    const struct mcds__lmdb_file *file, const char *suffix, const struct stat *data,
    enum mcds__guard_content (*judge)(const uint8_t *head, uint64_t size), int *descriptor_out);

#endif
