/* Log: the handle, and the counts of what a read has missed. */
#include "structures/log/log.h"

static void destroy_log(struct mcds__handle *handle)
{
    mcds_log *log = (mcds_log *)handle;
    if (atomic_load(&log->is_ready))
        mcds__segments_destroy(&log->segments);
    (void)pthread_mutex_destroy(&log->mutex);
}

void mcds__log_add_info(mcds_log_info *info_out, uint64_t gaps, uint64_t corrupt,
                        const char *peer)
{
    mcds_log_info info;
    if (info_out == NULL)
        return;
    mcds__sized_take(MCDS__SIZED_mcds_log_info, info_out, &info);
    info.gaps += gaps;
    info.corrupt += corrupt;
    if (gaps + corrupt > 0 && info.peer == NULL)
        info.peer = peer;
    mcds__sized_write(MCDS__SIZED_mcds_log_info, info_out, &info);
}

int mcds_log_open(mcds_store *store, const char *name, const mcds_log_options *options,
                  mcds_log **log_out)
{
    mcds_log_options own;
    struct mcds__key key;
    int result = mcds__read_options("log", store, name, log_out, MCDS__SIZED_mcds_log_options,
                                    options, &own);
    if (result != MCDS_OK)
        return result;
    struct mcds__log_settings wanted = {
        .flags = own.flags,
        .late_ms = own.late_ms,
        .ahead_ms = own.ahead_ms,
        .retention_ms = own.retention_ms,
        .chunk_ms = own.chunk_ms,
    };
    result = mcds__log_check(name, &wanted);
    if (result != MCDS_OK)
        return result;
    mcds_log *log = mcds__handle_open("log", store, name, sizeof *log, destroy_log);
    if (log == NULL)
        return MCDS_NO_MEMORY;
    log->wanted = wanted;
    mcds__key_begin(&key, mcds__store_ns(store), MCDS__TAG_LOG, name);
    mcds__generation_init(&log->generation, store, &key, MCDS__KIND_LOG);
    (void)pthread_mutex_init(&log->mutex, NULL);
    atomic_init(&log->is_ready, false);
    *log_out = log;
    return MCDS_OK;
}

void mcds_log_close(mcds_log *log)
{
    mcds__handle_release((struct mcds__handle *)log);
}
