/* Maintenance in each write transaction: removes a few expired items, and stores the cas
 * counter. */
#include <assert.h>
#include <lmdb.h>
#include <string.h>

#include "store/lmdb/file.h"

/* How far sync=async reserves the cas counter ahead: one extra sync for this many tokens. */
#define CAS_RESERVE (UINT64_C(1) << 20)

/* Remove the item of an expiry entry that is due, unless its record has another expiry time. */
static int remove_due(struct mcds__lmdb_work *work, mcds_bytes key, uint64_t expires_ms)
{
    MDB_val at = {key.length, (void *)(uintptr_t)key.data};
    MDB_val data;
    int code = mdb_get(work->txn, work->file->items, &at, &data);
    if (code != 0)
        return code == MDB_NOTFOUND ? 0 : code;
    struct mcds__record record;
    if (mcds__record_read((mcds_bytes){data.mv_data, data.mv_size}, &record) &&
        record.expires_ms == expires_ms) {
        work->file->loses = true;
        code = mdb_del(work->txn, work->file->items, &at, NULL);
    }
    return code;
}

/* Remove the first expiry entry if it is due. MDB_NOTFOUND: none is. */
static int sweep_first(struct mcds__lmdb_work *work, MDB_cursor *cursor, uint64_t now_ms)
{
    MDB_val at;
    MDB_val none;
    int code = mdb_cursor_get(cursor, &at, &none, MDB_FIRST);
    if (code != 0)
        return code;
    uint8_t bytes[MCDS__EXPIRY_KEY_MAX];
    uint64_t expires_ms = 0;
    mcds_bytes key = {NULL, 0};
    if (at.mv_size <= sizeof bytes) {
        memcpy(bytes, at.mv_data, at.mv_size);
        bool sound = mcds__expiry_read((mcds_bytes){bytes, at.mv_size}, &expires_ms, &key);
        assert(!sound || key.length < at.mv_size);
        if (sound && expires_ms > now_ms)
            return MDB_NOTFOUND;
    }
    code = mdb_cursor_del(cursor, 0);
    work->changed = true;
    return code == 0 && key.length > 0 ? remove_due(work, key, expires_ms) : code;
}

int mcds__lmdb_expire(struct mcds__lmdb_work *work, uint32_t count_max)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(work->txn, work->file->expiry, &cursor);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < count_max && code == 0; i++)
        code = sweep_first(work, cursor, work->now_ms);
    mdb_cursor_close(cursor);
    return code == MDB_NOTFOUND ? 0 : code;
}

int mcds__lmdb_cas_load(struct mcds__lmdb_work *work)
{
    assert(work->requests == 0 && !work->changed);
    mcds_bytes bytes;
    int code = mcds__lmdb_entry_get(work->txn, work->file->root, "cas", &bytes);
    if (code != 0 || !mcds__lmdb_cas_read(bytes, &work->cas))
        return code != 0 ? code : MDB_CORRUPTED;
    /* After a crash of the system, a file written with sync=async may have an older counter,
     * but never an older reservation. */
    if (!work->file->cas_joined && work->cas.next < work->cas.reserved)
        work->cas.next = work->cas.reserved;
    return 0;
}

int mcds__lmdb_cas_store(struct mcds__lmdb_work *work, bool ahead, bool *reserved)
{
    assert(work->changed);
    *reserved = ahead && work->cas.next > work->cas.reserved;
    if (*reserved)
        work->cas.reserved = work->cas.next + CAS_RESERVE;
    work->cas.transaction = mdb_txn_id(work->txn);
    if (work->now_ms > work->cas.latest_ms)
        work->cas.latest_ms = work->now_ms;
    assert(!ahead || work->cas.next <= work->cas.reserved);
    uint8_t bytes[MCDS__LMDB_CAS_BYTES];
    mcds__lmdb_cas_write(&work->cas, bytes);
    return mcds__lmdb_entry_put(work->txn, work->file->root, "cas", bytes, sizeof bytes);
}
