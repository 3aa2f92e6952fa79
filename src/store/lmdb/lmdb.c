/* lmdb:PATH, a durable file shared by all processes of one machine.
 *
 *   sync=full    A write is answered when it is on the disk.
 *   sync=async   A write is answered when the system has it. If a process dies, nothing is lost.
 *                A power loss or a system crash loses up to a second of writes, and may damage
 *                the file if the file system reorders writes: use it for data that can be
 *                recreated.
 *   map_max=N    The file may grow to N bytes; a limit of this process, not of the file.
 *   mode=0660    The mode of a new file, in octal, whatever the umask is; default 0600.
 *   create=0     Refuse to open a file that does not exist.
 *
 * The file stores the expiry of records, so it survives restarts. Its clock is fixed once for
 * each boot of the system (clock.c), so that no step of the wall clock moves it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "store/backends.h"
#include "store/lmdb/commit/writer.h"
#include "store/lmdb/file.h"
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

struct backend {
    const mcds_env *env;
    struct mcds__lmdb_file *file;
    struct mcds__lmdb_terms terms;
};

/* An octal mode, as for chmod. The user that creates the file must be able to use it. */
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
    return mcds__fail_uri(
        "mode", text, "0600 to 0666",
        "the URI's mode=%.40s must be octal from 0600 to 0666, as in mode=0660", text);
}

static int backend_open(const struct mcds_uri *uri, const mcds_env *env, void **backend_out)
{
    static const char *const known[] = {"sync", "map_max", "mode", "create", NULL};
    static const char *const syncs[] = {"full", "async", NULL};
    struct mcds__lmdb_terms terms;
    uint64_t create;
    uint32_t sync;
    const char *path = mcds_uri_place(uri);
    if (!mcds__uri_knows(uri, known))
        return MCDS_INVALID;
    if (path[0] == '\0')
        return mcds__fail_uri("uri", "lmdb:", "lmdb:PATH",
                              "the URI needs the path of a file: lmdb:PATH");
    if (!mcds__uri_number(uri, "map_max", MAP_MAX_MIN, MAP_MAX_MAX, MAP_MAX_DEFAULT,
                          &terms.map_max) ||
        !mcds__uri_number(uri, "create", 0, 1, 1, &create) ||
        !mcds__uri_word(uri, "sync", syncs, "full or async", &sync))
        return MCDS_INVALID;
    terms.full = sync == 0;
    int result = read_mode(uri, &terms.mode);
    if (result != MCDS_OK)
        return result;
    struct backend *backend = mcds__allocate(env, sizeof *backend);
    if (backend == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    backend->env = env;
    backend->terms = terms;
    if (create == 0)
        terms.mode = 0;
    result = mcds__lmdb_file_open(env, path, &terms, &backend->file);
    if (result != MCDS_OK) {
        mcds__free(env, backend);
        return result;
    }
    *backend_out = backend;
    return MCDS_OK;
}

static void backend_close(void *state)
{
    struct backend *backend = state;
    assert(backend->file->references > 0);
    /* In a child process the file belongs to the parent. */
    if (backend->file->forks == mcds__forks())
        mcds__lmdb_file_close(backend->file, backend->terms.full);
    mcds__free(backend->env, backend);
}

static void backend_capabilities(void *state, mcds_capabilities *out)
{
    const struct backend *backend = state;
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
        .durable = backend->terms.full,
        .expires = true,
        .ttl_unit_ms = 1,
        .value_max = MCDS__LMDB_VALUE_MAX,
    };
}

static uint32_t backend_features(void *state)
{
    (void)state;
    return MCDS_CAS_NUMBERS | MCDS_STATE_AFTER_APPEND;
}

/* A read transaction in use, and the time that decides which items in it have expired. */
struct reading {
    struct mcds__lmdb_reader *reader; /* NULL: not begun */
    uint64_t now_ms;
};

static int begin_reading(const struct backend *backend, int64_t until_ns,
                         struct reading *reading)
{
    struct mcds__lmdb_file *file = backend->file;
    int code = mcds__lmdb_read_begin(file, backend->env, until_ns, &reading->reader);
    if (code != 0)
        return code;
    int64_t now_ns = mcds__monotonic_ns(backend->env);
    reading->now_ms = mcds__lmdb_ms_at(file, backend->env, now_ns);
    if (file->snapshot >= 0 || !mcds__lmdb_was_removed(file, now_ns))
        return 0;
    mcds__lmdb_read_end(file, reading->reader);
    reading->reader = NULL;
    return ESTALE;
}

static void read_batch(const struct backend *backend, const struct reading *reading,
                       mcds_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        mcds_request *request = &batch->requests[i];
        mcds__lmdb_answer(backend->file, request, MCDS_OUT_FAILED, backend->file->no_write);
        if (request->command != MCDS_GET)
            continue;
        request->reply.detail = NULL;
        int code = mcds__lmdb_get(backend->file, reading->reader, reading->now_ms, request,
                                  batch->values);
        if (code != 0)
            mcds__lmdb_answer(backend->file, request, MCDS_OUT_FAILED, mcds__lmdb_reason(code));
    }
    assert(batch->answered == 0);
    batch->answered = batch->count;
}

/* Answer the batches that only read, and those that may not write, all as of one moment. Add
 * the others to the writer. */
static void read_batches(const struct backend *backend, mcds_batch *first,
                         struct mcds__lmdb_writer *writes)
{
    struct reading reading = {NULL, 0};
    int code = 0;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        if (!backend->file->read_only && !mcds__lmdb_only_reads(batch)) {
            mcds__lmdb_writer_add(writes, batch);
            continue;
        }
        if (reading.reader == NULL && code == 0)
            code = begin_reading(backend, batch->deadline_ns, &reading);
        if (code == 0)
            read_batch(backend, &reading, batch);
        else
            mcds__lmdb_answer_batch(backend->file, batch, mcds__lmdb_unread(code),
                                    mcds__lmdb_reason(code));
    }
    if (reading.reader != NULL)
        mcds__lmdb_read_end(backend->file, reading.reader);
}

static void backend_submit(void *state, mcds_batch *first)
{
    struct backend *backend = state;
    struct mcds__lmdb_writer writes = {.env = backend->env};
    read_batches(backend, first, &writes);
    if (writes.first != NULL) {
        assert(!backend->file->read_only);
        mcds__lmdb_commit(backend->file, &writes);
    }
}

/* The value points into the map and is valid until the transaction ends. */
static bool backend_peek(void *state, mcds_bytes key,
                         void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                         void *context)
{
    const struct backend *backend = state;
    struct mcds__lmdb_reader *reader;
    mcds_reply reply;
    mcds_bytes value;
    if (!mcds__lmdb_read_try(backend->file, &reader))
        return false;
    bool known = mcds__lmdb_peek(backend->file, reader, key, &reply, &value);
    if (known)
        see(context, &reply, value);
    mcds__lmdb_read_end(backend->file, reader);
    return known;
}

static bool backend_remains(void *state, mcds_bytes key, uint64_t *mark)
{
    const struct backend *backend = state;
    (void)key;
    return mcds__lmdb_remains(backend->file, mark);
}

static int backend_keys(void *state, mcds_bytes prefix,
                        bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct backend *backend = state;
    return mcds__lmdb_keys(backend->file, backend->env, prefix, visit, context);
}

static int backend_inspect(void *state, mcds_inspect_cb visit, void *context)
{
    struct backend *backend = state;
    return mcds__lmdb_findings(backend->file, backend->env, &backend->terms, visit, context);
}

static int backend_backup(void *state, const char *path)
{
    struct backend *backend = state;
    return mcds__lmdb_backup(backend->file, backend->env, path);
}

const mcds_backend mcds__backend_lmdb = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "lmdb",
    .open = backend_open,
    .close = backend_close,
    .capabilities = backend_capabilities,
    .submit = backend_submit,
    .peek = backend_peek,
    .remains = backend_remains,
    .keys = backend_keys,
    .inspect = backend_inspect,
    .backup = backend_backup,
    .features = backend_features,
};
