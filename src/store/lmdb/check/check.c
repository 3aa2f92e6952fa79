/* Checks the pages of a file: some when it is opened, and those in use where a caller asks for it. */
#include <errno.h>
#include <lmdb.h>
#include <sys/stat.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/lmdb/check/pages.h"
#include "store/lmdb/guard.h"

#define LOOKS_MAX 20
#define WAIT_NS (10 * NS_PER_S)

/* The damage that one look at a file has found. */
struct look {
    enum mcds__lmdb_header header;
    struct mcds__lmdb_meta meta;
    struct mcds__lmdb_walk walk;
    uint64_t size;
};

/* A sound file may be shorter than its last page number says: LMDB does not write a page that was
 * freed again in the transaction that allocated it. So the trees of a short file are walked. */
static bool looks_sound(int descriptor, struct look *look)
{
    struct stat status;
    look->header = mcds__lmdb_read_header(descriptor, &look->meta);
    /* Now the length: LMDB writes a meta page after the pages to which it refers. */
    if (fstat(descriptor, &status) != 0 || look->header == MCDS__LMDB_HEADER_OTHER)
        return true; /* LMDB names the fault */
    look->size = (uint64_t)status.st_size;
    if (look->header != MCDS__LMDB_HEADER_SOUND)
        return false;
    bool is_short = look->size / look->meta.page_size <= look->meta.last_page;
    look->walk = (struct mcds__lmdb_walk){.meta = &look->meta, .is_shallow = !is_short};
    mcds__lmdb_walk(&look->walk, descriptor, look->size);
    return look->walk.damaged == 0;
}

static int fail_check(const char *path, const struct look *look)
{
    unsigned long long size = look->size;
    if (look->header == MCDS__LMDB_HEADER_SHORT)
        return mcds__fail_at(
            MCDS_IO, DAMAGED, path,
            "it is damaged: it has been cut short, as by a copy that was interrupted, and has "
            "only %llu bytes; move it away, and copy the backup again",
            size);
    if (look->header == MCDS__LMDB_HEADER_DAMAGED || look->walk.damaged == 1)
        return mcds__fail_at(MCDS_IO, DAMAGED, path,
                             "it is damaged: its header, the first two pages, has been "
                             "overwritten; move it away, and restore a backup");
    if (look->walk.is_cut)
        return mcds__fail_at(
            MCDS_IO, DAMAGED, path,
            "it is damaged: it has been cut short, as by a copy that was interrupted, and has "
            "%llu of %llu bytes; move it away, and copy the backup again",
            size, (unsigned long long)((look->meta.last_page + 1) * look->meta.page_size));
    return mcds__fail_at(MCDS_IO, DAMAGED, path,
                         "it is damaged: its page %llu has been overwritten; move it away, and "
                         "restore a backup",
                         (unsigned long long)look->walk.damaged);
}

/* If the file is written meanwhile, look again: its pages belong to another transaction. */
int mcds__lmdb_check_open(const struct mcds__lmdb_file *file)
{
    struct look look = {.size = 0};
    struct mcds__lmdb_meta after = {.transaction = 0};
    for (int i = 0; i < LOOKS_MAX; i++) {
        if (looks_sound(file->held, &look))
            return MCDS_OK;
        bool is_sound = look.header == MCDS__LMDB_HEADER_SOUND;
        if (is_sound && mcds__lmdb_read_header(file->held, &after) == MCDS__LMDB_HEADER_SOUND &&
            after.transaction == look.meta.transaction)
            return fail_check(file->path, &look);
    }
    return look.header == MCDS__LMDB_HEADER_SOUND ? MCDS_OK : fail_check(file->path, &look);
}

/* MDB_NOTFOUND: the header is damaged, or of a later transaction already. */
static int check_once(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                      struct mcds__lmdb_walk *walk)
{
    struct mcds__lmdb_meta meta;
    struct stat status;
    mdb_filehandle_t descriptor;
    int code = mdb_env_get_fd(file->env, &descriptor);
    if (code != 0)
        return code;
    if (fstat(descriptor, &status) != 0)
        return errno;
    bool is_sound = mcds__lmdb_read_header(descriptor, &meta) == MCDS__LMDB_HEADER_SOUND;
    walk->damaged = is_sound ? 0 : 1;
    if (!is_sound || meta.transaction != mdb_txn_id(reader->txn))
        return MDB_NOTFOUND;
    walk->meta = &meta;
    mcds__lmdb_walk(walk, descriptor, (uint64_t)status.st_size);
    walk->meta = NULL;
    return 0;
}

int mcds__lmdb_check(struct mcds__lmdb_file *file, const mcds_env *env,
                     struct mcds__lmdb_walk *walk)
{
    int code = MDB_NOTFOUND;
    for (int i = 0; i < LOOKS_MAX && code == MDB_NOTFOUND; i++) {
        struct mcds__lmdb_reader *reader;
        code = mcds__lmdb_read_begin(file, env, mcds__monotonic_ns(env) + WAIT_NS, &reader);
        if (code != 0)
            return code;
        code = check_once(file, reader, walk);
        mcds__lmdb_read_end(file, reader);
    }
    walk->is_unfinished = walk->is_unfinished || code == MDB_NOTFOUND;
    return code == MDB_NOTFOUND ? 0 : code;
}
