/* lmdb:PATH, one durable file for all processes of a machine.
 *
 *   sync=full    A write is answered when it is on the disk.
 *   sync=async   A write is answered when the system has it. A process that dies loses nothing;
 *                a power loss or a crash of the system loses up to a second of writes, and where
 *                the file system does not keep writes in order it may damage the file: for data
 *                that may be begun again.
 *   map_max=N    The file may grow to N bytes; a limit of this process, not of the file.
 *   mode=0660    The mode of a file that is made, in octal, whatever the umask is; 0600.
 *
 * Expiry is kept in the file and so across restarts. Its clock is fixed once for each boot of the
 * system (lmdb_clock.c), so that no step of the wall clock moves it. */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/homes.h"
#include "store/lmdb_file.h"
#include "store/lmdb_ticket.h"
#include "store/uri.h"

#define MODE_DEFAULT 0600U
#define MODE_MAX 0666U
#define MAP_MAX_MIN (UINT64_C(1) << 20)
#if SIZE_MAX > UINT32_MAX
#define MAP_MAX_MAX (UINT64_C(1) << 46)
#define MAP_MAX_DEFAULT (UINT64_C(64) << 30)
#else
#define MAP_MAX_MAX (UINT64_C(1) << 30)
#define MAP_MAX_DEFAULT (UINT64_C(1) << 30)
#endif

struct home {
    const mcds_env *env;
    struct mcds__lmdb_file *file;
    bool full;
};

static int read_sync(const struct mcds_uri *uri, bool *full)
{
    const char *sync = mcds_uri_option(uri, "sync");
    *full = sync == NULL || strcmp(sync, "full") == 0;
    if (*full || strcmp(sync, "async") == 0)
        return MCDS_OK;
    return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                         "store URI: sync=%.40s must be full or async", sync);
}

/* Octal, as for chmod. The user that makes the file must be able to use it. */
static int read_mode(const struct mcds_uri *uri, uint32_t *mode)
{
    const char *text = mcds_uri_option(uri, "mode");
    *mode = MODE_DEFAULT;
    if (text == NULL)
        return MCDS_OK;
    size_t digits = strspn(text, "01234567");
    if (text[digits] == '\0' && digits >= 3 && digits <= 4) {
        *mode = (uint32_t)strtoul(text, NULL, 8);
        if ((*mode & ~MODE_MAX) == 0 && (*mode & MODE_DEFAULT) == MODE_DEFAULT)
            return MCDS_OK;
    }
    return mcds__fail_at(
        MCDS_INVALID, BAD_URI, NULL,
        "store URI: mode=%.40s must be octal from 0600 to 0666, as in mode=0660", text);
}

static int home_open(const struct mcds_uri *uri, const mcds_env *env, void **home_out)
{
    static const char *const known[] = {"sync", "map_max", "mode", NULL};
    struct mcds__lmdb_terms terms;
    const char *path = mcds_uri_place(uri);
    if (!mcds__uri_knows(uri, known))
        return MCDS_INVALID;
    if (path[0] == '\0')
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: lmdb: needs the path of a file: lmdb:PATH");
    if (!mcds__uri_number(uri, "map_max", MAP_MAX_MIN, MAP_MAX_MAX, MAP_MAX_DEFAULT,
                          &terms.map_max))
        return MCDS_INVALID;
    int result = read_sync(uri, &terms.full);
    if (result == MCDS_OK)
        result = read_mode(uri, &terms.mode);
    if (result != MCDS_OK)
        return result;
    struct home *home = mcds__allocate(env, sizeof *home);
    if (home == NULL)
        return mcds__fail_memory("lmdb", NULL, NULL);
    home->env = env;
    home->full = terms.full;
    result = mcds__lmdb_file_open(env, path, &terms, &home->file);
    if (result != MCDS_OK) {
        mcds__free(env, home);
        return result;
    }
    *home_out = home;
    return MCDS_OK;
}

static void home_close(void *state)
{
    struct home *home = state;
    /* In a child the file is the parent's. */
    if (home->file->forks == mcds__forks())
        mcds__lmdb_file_close(home->file, home->full);
    mcds__free(home->env, home);
}

static void home_capabilities(void *state, mcds_capabilities *out)
{
    const struct home *home = state;
    *out = (mcds_capabilities){
        .places = 1,
        .create_on_increment = true,
        .flags_on_create = true,
        .create_on_append = true,
        .compare_and_delete = true,
        .compare_and_set = true,
        .cas_on_store = true,
        .size_after_write = true,
        .value_suppressed = true,
        .ttl_readable = true,
        .ordered_batch = true,
        .durable = home->full,
        .expires = true,
        .ttl_unit_ms = 1,
        .value_max = MCDS__LMDB_VALUE_MAX,
    };
}

static void read_batch(const struct home *home, struct MDB_txn *txn, mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        mcds__lmdb_answer(home->file, request, MCDS_OUT_FAILED, home->file->no_write);
        if (request->command != MCDS_GET)
            continue;
        request->reply.detail = NULL;
        int code = mcds__lmdb_get(home->file, txn, home->env, request, batch->values);
        if (code != 0)
            mcds__lmdb_answer(home->file, request, MCDS_OUT_FAILED, mcds__lmdb_reason(code));
    }
    batch->answered = batch->count;
}

/* Answer the batches that only read, or must not write, all as of one moment. The others come on
 * the ticket. */
static void read_batches(const struct home *home, mcds_batch *first,
                         struct mcds__lmdb_ticket *writes)
{
    struct mcds__lmdb_reader *reader = NULL;
    int code = 0;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        if (!home->file->read_only && !mcds__lmdb_only_reads(batch)) {
            mcds__lmdb_ticket_add(writes, batch);
            continue;
        }
        if (reader == NULL && code == 0)
            code = mcds__lmdb_read_begin(home->file, home->env, batch->deadline_ns, &reader);
        if (code == 0)
            read_batch(home, reader->txn, batch);
        else
            mcds__lmdb_answer_batch(home->file, batch, MCDS_OUT_UNSENT,
                                    mcds__lmdb_reason(code));
    }
    if (reader != NULL)
        mcds__lmdb_read_end(home->file, reader);
}

static void home_submit(void *state, mcds_batch *first)
{
    struct home *home = state;
    struct mcds__lmdb_ticket writes = {.env = home->env};
    read_batches(home, first, &writes);
    if (writes.at != NULL)
        mcds__lmdb_commit(home->file, &writes);
}

/* The record's value in the map; the transaction keeps it there. */
static bool home_look(void *state, mcds_bytes key,
                      void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                      void *context)
{
    const struct home *home = state;
    struct mcds__lmdb_reader *reader;
    mcds_reply reply;
    mcds_bytes value;
    if (!mcds__lmdb_read_try(home->file, &reader))
        return false;
    bool known = mcds__lmdb_look(home->file, reader->txn, key, &reply, &value);
    if (known)
        see(context, &reply, value);
    mcds__lmdb_read_end(home->file, reader);
    return known;
}

static bool home_remains(void *state, mcds_bytes key, uint64_t *mark)
{
    const struct home *home = state;
    (void)key;
    return mcds__lmdb_remains(home->file, mark);
}

static int home_keys(void *state, mcds_bytes prefix,
                     bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct home *home = state;
    return mcds__lmdb_keys(home->file, home->env, prefix, visit, context);
}

static int home_inspect(void *state, bool (*visit)(void *context, const mcds_finding *finding),
                        void *context)
{
    struct home *home = state;
    return mcds__lmdb_findings(home->file, home->env, home->full, visit, context);
}

static int home_backup(void *state, const char *path)
{
    struct home *home = state;
    return mcds__lmdb_backup(home->file, home->env, path);
}

const mcds_home mcds__home_lmdb = {
    .version = MCDS_HOME_VERSION,
    .scheme = "lmdb",
    .open = home_open,
    .close = home_close,
    .capabilities = home_capabilities,
    .submit = home_submit,
    .look = home_look,
    .remains = home_remains,
    .keys = home_keys,
    .inspect = home_inspect,
    .backup = home_backup,
};
