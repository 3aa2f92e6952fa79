/* Inspects an lmdb: file for people: lists its keys and reports findings. */
#include <assert.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/key.h"
#include "store/finding.h"
#include "store/lmdb/check/page.h"
#include "store/lmdb/check/pages.h"
#include "store/lmdb/commit/publications.h"

#define KEYS_MAX 64 /* copied in one read transaction, which must be short */
#define WAIT_NS (10 * NS_PER_S)
#define STUCK_NS NS_PER_S
#define CHECK_NS (2 * NS_PER_S)
#define MIB (1024.0 * 1024.0)

struct keys {
    mcds_bytes prefix;
    uint64_t now_ms;
    uint32_t visited; /* including those that have expired */
    bool is_complete; /* there are no more */
    uint32_t count;
    struct mcds__key key[KEYS_MAX];
    struct mcds__key last; /* where to continue, after this key; empty at the start */
};

static void copy_key(struct mcds__key *key, mcds_bytes at)
{
    key->length = (uint8_t)at.length;
    memcpy(key->bytes, at.data, at.length);
    key->bytes[at.length] = '\0';
}

static bool begins_with(mcds_bytes key, mcds_bytes prefix)
{
    return key.length >= prefix.length &&
           (prefix.length == 0 || memcmp(key.data, prefix.data, prefix.length) == 0);
}

/* As the visit of mcds__lmdb_visit. */
static bool gather(void *context, mcds_bytes key, mcds_bytes value)
{
    struct keys *keys = context;
    struct mcds__record record;
    assert(keys->visited < KEYS_MAX && keys->count <= keys->visited);
    if (!begins_with(key, keys->prefix))
        return false;
    if (key.length <= MCDS__KEY_MAX && compare(key, mcds__key_bytes(&keys->last)) > 0) {
        keys->visited++;
        bool sound = mcds__record_read(value, &record);
        copy_key(&keys->last, key);
        if (!sound || record.expires_ms == MCDS__RECORD_NEVER ||
            keys->now_ms < record.expires_ms)
            keys->key[keys->count++] = keys->last;
    }
    keys->is_complete = keys->visited < KEYS_MAX;
    return keys->visited < KEYS_MAX;
}

/* Gather the keys after the last one. */
static int gather_once(struct mcds__lmdb_file *file, const mcds_env *env, struct keys *keys)
{
    struct mcds__lmdb_reader *reader;
    int code = mcds__lmdb_read_begin(file, env, mcds__monotonic_ns(env) + WAIT_NS, &reader);
    if (code != 0)
        return code;
    keys->count = keys->visited = 0;
    keys->is_complete = true;
    keys->now_ms = mcds__lmdb_now_ms(file, env);
    code = mcds__lmdb_view(file, reader->txn, &reader->view);
    if (code == 0)
        mcds__lmdb_visit(file, &reader->view,
                         keys->last.length > 0 ? mcds__key_bytes(&keys->last) : keys->prefix,
                         gather, keys);
    mcds__lmdb_read_end(file, reader);
    return code;
}

/* The keys of damaged pages are passed over. So the pages that have these keys are checked after all
 * keys were visited. */
int mcds__lmdb_keys(struct mcds__lmdb_file *file, const mcds_env *env, mcds_bytes prefix,
                    bool (*visit)(void *context, mcds_bytes key), void *context)
{
    struct keys *keys = mcds__allocate_zero(env, sizeof *keys);
    if (keys == NULL)
        return mcds__fail_memory("store", NULL, NULL);
    int code = 0;
    bool going_on = true;
    keys->prefix = prefix;
    while (code == 0 && going_on && !keys->is_complete) {
        code = gather_once(file, env, keys);
        for (uint32_t i = 0; i < keys->count && going_on; i++)
            going_on = visit(context, mcds__key_bytes(&keys->key[i]));
    }
    mcds__free(env, keys);
    struct mcds__lmdb_walk walk = {.prefix = prefix};
    if (code == 0 && going_on)
        code = mcds__lmdb_check(file, env, &walk);
    if (code == 0 && walk.damaged != 0)
        code = MDB_CORRUPTED;
    if (code == 0)
        return MCDS_OK;
    return mcds__fail_why(MCDS_IO, mcds__lmdb_reason(code), .noun = "store",
                          .peer = file->path);
}

/* The figures of LMDB about the file at one moment. */
struct figures {
    MDB_envinfo info;
    MDB_stat items;
    MDB_stat expiry;
};

static int lmdb_inspect_look(struct mcds__lmdb_file *file, const mcds_env *env,
                             struct figures *out)
{
    struct mcds__lmdb_reader *reader;
    int code = mcds__lmdb_read_begin(file, env, mcds__monotonic_ns(env) + WAIT_NS, &reader);
    if (code != 0)
        return code;
    code = mdb_env_info(file->env, &out->info);
    if (code == 0)
        code = mdb_stat(reader->txn, file->items, &out->items);
    if (code == 0)
        code = mdb_stat(reader->txn, file->expiry, &out->expiry);
    mcds__lmdb_read_end(file, reader);
    return code;
}

static void tell_figures(struct mcds__lmdb_file *file, const struct figures *figures,
                         struct mcds__report *report)
{
    (void)pthread_mutex_lock(&file->map_mutex);
    uint64_t map_max = file->map_max;
    (void)pthread_mutex_unlock(&file->map_mutex);
    (void)pthread_mutex_lock(&file->queue_mutex);
    uint64_t batches = file->batches;
    uint64_t commits = file->commits;
    uint32_t waiting = file->waiting;
    (void)pthread_mutex_unlock(&file->queue_mutex);
    uint64_t used = ((uint64_t)figures->info.me_last_pgno + 1) * file->page_size;
    mcds__report_figure(report, "commits", figures->info.me_last_txnid,
                        "%llu commits since the file was made",
                        (unsigned long long)figures->info.me_last_txnid);
    mcds__report_figure(report, "bytes", used, "%llu items, %llu of them expire; %.1f MiB",
                        (unsigned long long)figures->items.ms_entries,
                        (unsigned long long)figures->expiry.ms_entries, (double)used / MIB);
    if (used > map_max / 10 * 8)
        mcds__report(report, MCDS_ADVICE, "raise map_max in the store's URI",
                     "it may grow to %.0f MiB and has reached %.0f MiB", (double)map_max / MIB,
                     (double)used / MIB);
    mcds__report(report, MCDS_FACT, "",
                 "this process has written %llu batches in %llu commits; %u writers wait for "
                 "their turn, and %u processes have posted requests that another commits",
                 (unsigned long long)batches, (unsigned long long)commits, waiting,
                 mcds__lmdb_publications_posted(file));
    if (file->snapshot >= 0)
        return; /* the readers of the copy are not those of the file */
    int dead = 0;
    (void)mdb_reader_check(file->env, &dead);
    mcds__report(
        report, MCDS_FACT, "",
        "%u of %u places for readers have been in use; %d left by dead processes were cleared",
        figures->info.me_numreaders, figures->info.me_maxreaders, dead + file->stale_readers);
}

static void tell_writer(struct mcds__lmdb_file *file, const mcds_env *env,
                        struct mcds__report *report)
{
    int64_t process = mcds__lmdb_stuck_writer(file, env, mcds__monotonic_ns(env) + STUCK_NS);
    if (process != 0)
        mcds__report(report, MCDS_PROBLEM, "let that process continue (kill -CONT), or end it",
                     "process %lld has been writing for more than a second; all others wait",
                     (long long)process);
}

static void tell_damage(struct mcds__lmdb_file *file, const mcds_env *env,
                        struct mcds__report *report)
{
    struct mcds__lmdb_walk walk = {.env = env, .until_ns = mcds__monotonic_ns(env) + CHECK_NS};
    int code = mcds__lmdb_check(file, env, &walk);
    unsigned long long damaged = walk.damaged;
    if (code == 0 && damaged != 0 && walk.is_unfinished)
        mcds__report(report, MCDS_PROBLEM, MCDS__LMDB_DAMAGE_FIX,
                     "it is damaged: its page %llu has been "
                     "overwritten; not all pages were checked",
                     damaged);
    else if (code == 0 && damaged != 0)
        mcds__report(
            report, MCDS_PROBLEM, MCDS__LMDB_DAMAGE_FIX,
            "it is damaged: its page %llu has been overwritten, and %llu of %llu items "
            "can be read",
            damaged, (unsigned long long)walk.entries, (unsigned long long)walk.expected);
    else if (code != 0 || walk.is_unfinished)
        mcds__report(report, MCDS_FACT, "",
                     "not all of its pages were checked for damage; mcds backup checks all");
}

int mcds__lmdb_findings(struct mcds__lmdb_file *file, const mcds_env *env,
                        const struct mcds__lmdb_terms *terms,
                        bool (*finding)(void *context, const mcds_finding *finding),
                        void *context)
{
    struct mcds__report report = {file->path, finding, context, false};
    struct figures figures;
    int code = lmdb_inspect_look(file, env, &figures);
    if (code != 0)
        return mcds__fail_why(MCDS_IO, mcds__lmdb_reason(code), .noun = "store",
                              .peer = file->path);
    tell_figures(file, &figures, &report);
    tell_damage(file, env, &report);
    if (!file->read_only)
        tell_writer(file, env, &report);
    mcds__lmdb_tell_files(file, terms->mode, &report);
    mcds__lmdb_tell_readers(file, figures.info.me_last_txnid, &report);
    mcds__report(&report, MCDS_FACT, "",
                 "sync=%s; mcds backup copies it while it is used, cp does not",
                 terms->full ? "full" : "async");
    if (!terms->full)
        mcds__report(
            &report, MCDS_ADVICE, "use sync=full for what must not be lost",
            "sync=async: a power loss loses up to a second of writes and may damage the file");
    return MCDS_OK;
}
