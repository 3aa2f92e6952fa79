/* Executes memcached's commands in one transaction of LMDB. A pointer into the map is valid
 * only until the next write, so bytes that are needed later are copied first. */
#include <assert.h>
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "store/command.h"
#include "store/lmdb/file.h"

/* The record under a key. */
struct found {
    bool stored; /* there is a record, expired or not */
    bool living;
    struct mcds__record record;
};

static MDB_val val(mcds_bytes bytes)
{
    return (MDB_val){bytes.length, (void *)(uintptr_t)bytes.data};
}

static mcds_bytes bytes_of(MDB_val value)
{
    return (mcds_bytes){value.mv_data, value.mv_size};
}

/* Answer that the value was not written by mcds. */
static void damaged(mcds_request *request)
{
    request->reply.outcome = MCDS_OUT_FAILED;
    request->reply.detail = MCDS__WHY(NOT_A_RECORD);
}

/* Interpret the result of a search. *sound is false if the stored value is not a record. */
static int lmdb_commands_take_found(int code, mcds_bytes data, uint64_t now_ms,
                                    struct found *out, bool *sound)
{
    *sound = code != 0 || mcds__record_read(data, &out->record);
    out->stored = code == 0 && *sound;
    if (!out->stored) {
        *out = (struct found){0};
        return code == MDB_NOTFOUND ? 0 : code;
    }
    out->living = out->record.expires_ms == MCDS__RECORD_NEVER ||
                  now_ms < out->record.expires_ms;
    return 0;
}

static int lmdb_commands_find(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                              mcds_bytes key, uint64_t now_ms, struct found *out, bool *sound)
{
    mcds_bytes value = {NULL, 0};
    int code = mcds__lmdb_view(file, reader->txn, &reader->view);
    if (code == 0)
        code = mcds__lmdb_lookup(file, &reader->view, key, &value);
    return lmdb_commands_take_found(code, value, now_ms, out, sound);
}

/* Leaves the cursor on the item, so that a write needs no second search. The pages on its path are
 * checked as they were before the transaction. */
static int find_to_write(struct mcds__lmdb_work *work, mcds_bytes key, struct found *out,
                         bool *sound)
{
    MDB_val at = val(key);
    MDB_val data = {0, NULL};
    mcds_bytes before;
    int code = mcds__lmdb_lookup(work->file, &work->view, key, &before);
    if (code == 0 || code == MDB_NOTFOUND)
        code = mdb_cursor_get(work->cursor, &at, &data, MDB_SET);
    return lmdb_commands_take_found(code, bytes_of(data), work->now_ms, out, sound);
}

/* The token of the item; if it is not living, only its connection. */
static mcds_cas_token lmdb_commands_token_of(const struct mcds__lmdb_file *file,
                                             const struct found *found)
{
    return (mcds_cas_token){found->record.cas, file->identity};
}

static void lmdb_commands_get(const struct mcds__lmdb_file *file, const struct found *found,
                              uint64_t now_ms, mcds_request *request, mcds_buffer *values)
{
    const struct mcds__record *record = &found->record;
    assert(found->stored || !found->living);
    if (!found->living) {
        request->reply.outcome = MCDS_OUT_MISS;
        return;
    }
    int64_t ttl_ms = record->expires_ms == MCDS__RECORD_NEVER
                         ? MCDS_TTL_NEVER
                         : (int64_t)(record->expires_ms - now_ms);
    mcds__command_show(request, record->value, record->flags,
                       lmdb_commands_token_of(file, found), ttl_ms, values);
}

int mcds__lmdb_get(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                   uint64_t now_ms, mcds_request *request, mcds_buffer *values)
{
    struct found found;
    bool sound;
    int code = lmdb_commands_find(file, reader, request->key, now_ms, &found, &sound);
    if (code == 0 && sound)
        lmdb_commands_get(file, &found, now_ms, request, values);
    else if (code == 0)
        damaged(request);
    return code;
}

bool mcds__lmdb_peek(struct mcds__lmdb_file *file, struct mcds__lmdb_reader *reader,
                     mcds_bytes key, mcds_reply *reply_out, mcds_bytes *value_out)
{
    mcds_request request = {.command = MCDS_GET, .options = MCDS_WANT_TTL, .key = key};
    struct found found;
    bool sound;
    int code = lmdb_commands_find(file, reader, key, 0, &found, &sound);
    if (code != 0 || !sound || (found.stored && found.record.expires_ms != MCDS__RECORD_NEVER))
        return false;
    lmdb_commands_get(file, &found, 0, &request, NULL);
    request.reply.peer = file->path;
    *reply_out = request.reply;
    *value_out = found.record.value;
    return true;
}

static int expiry_add(struct mcds__lmdb_work *work, uint64_t expires_ms, mcds_bytes key)
{
    assert(expires_ms != MCDS__RECORD_NEVER);
    uint8_t bytes[MCDS__EXPIRY_KEY_MAX];
    MDB_val at = {mcds__expiry_write(expires_ms, key, bytes), bytes};
    MDB_val none = {0, bytes};
    return mdb_put(work->txn, work->file->expiry, &at, &none, 0);
}

static int expiry_remove(struct mcds__lmdb_work *work, uint64_t expires_ms, mcds_bytes key)
{
    assert(expires_ms != MCDS__RECORD_NEVER);
    uint8_t bytes[MCDS__EXPIRY_KEY_MAX];
    MDB_val at = {mcds__expiry_write(expires_ms, key, bytes), bytes};
    int code = mdb_del(work->txn, work->file->expiry, &at, NULL);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* Update the expiry database for an item that is written. */
static int move_expiry(struct mcds__lmdb_work *work, mcds_bytes key, const struct found *found,
                       uint64_t expires_ms)
{
    uint64_t before_ms = found->stored ? found->record.expires_ms : MCDS__RECORD_NEVER;
    int code = 0;
    if (before_ms == expires_ms)
        return 0;
    if (before_ms != MCDS__RECORD_NEVER)
        code = expiry_remove(work, before_ms, key);
    if (code == 0 && expires_ms != MCDS__RECORD_NEVER)
        code = expiry_add(work, expires_ms, key);
    return code;
}

/* Store a record with `length` bytes reserved for the value, which the caller writes to
 * *value_out immediately. */
static int lmdb_commands_put(struct mcds__lmdb_work *work, mcds_bytes key,
                             const struct found *found, const struct mcds__record *record,
                             size_t length, uint8_t **value_out)
{
    assert(length <= MCDS__LMDB_VALUE_MAX);
    int code = move_expiry(work, key, found, record->expires_ms);
    MDB_val at = val(key);
    MDB_val data = {MCDS__RECORD_HEADER + length, NULL};
    if (code == 0)
        code = mdb_cursor_put(work->cursor, &at, &data, MDB_RESERVE);
    if (code != 0)
        return code;
    mcds__record_write(record, data.mv_data);
    *value_out = (uint8_t *)data.mv_data + MCDS__RECORD_HEADER;
    work->changed = true;
    return 0;
}

static uint64_t expiry_of(uint64_t ttl_ms, uint64_t now_ms)
{
    return ttl_ms > 0 ? now_ms + ttl_ms : MCDS__RECORD_NEVER;
}

/* A changed record gets a new cas token, which the reply returns. */
static void renew_cas(struct mcds__lmdb_work *work, struct mcds__record *record,
                      mcds_request *request)
{
    bool sets = (request->options & MCDS_SETS_CAS) != 0;
    record->cas = sets ? request->initial : work->cas.next++;
    assert(record->cas != 0 && (sets || record->cas < work->cas.next));
    request->reply.cas = (mcds_cas_token){record->cas, work->file->identity};
    request->reply.outcome = MCDS_OUT_OK;
}

static int lmdb_commands_store(struct mcds__lmdb_work *work, const struct found *found,
                               mcds_request *request)
{
    if (work->may_not_grow && request->value.length > found->record.value.length)
        return MDB_MAP_FULL;
    struct mcds__record record = {.flags = request->flags,
                                  .expires_ms = expiry_of(request->ttl_ms, work->now_ms)};
    renew_cas(work, &record, request);
    work->file->loses = work->file->loses || found->stored;
    assert(request->value.length <= MCDS__LMDB_VALUE_MAX);
    uint8_t *value;
    size_t length = request->value.length;
    int code = lmdb_commands_put(work, request->key, found, &record, length, &value);
    if (code == 0 && length > 0)
        memcpy(value, request->value.data, length);
    return code;
}

/* Copy the old value. False: no memory. */
static bool set_aside(struct mcds__lmdb_work *work, const struct found *found,
                      mcds_request *request)
{
    assert(found->living);
    work->old_value.length = 0;
    if (mcds_buffer_append(&work->old_value, found->record.value.data,
                           found->record.value.length))
        return true;
    request->reply.outcome = MCDS_OUT_NO_BUFFER;
    request->reply.detail = MCDS__WHY(NO_MEMORY);
    return false;
}

/* APPEND and PREPEND keep ttl and flags. */
static int lmdb_commands_extend(struct mcds__lmdb_work *work, const struct found *found,
                                mcds_request *request)
{
    mcds_reply *reply = &request->reply;
    if (!found->living && request->command == MCDS_APPEND && request->options & MCDS_CREATE) {
        reply->value_length = request->value.length;
        reply->flags = request->flags;
        return lmdb_commands_store(work, found, request);
    }
    size_t more = request->value.length;
    size_t before = found->record.value.length;
    if (!found->living || before + more > MCDS__LMDB_VALUE_MAX) {
        reply->outcome = MCDS_OUT_NOT_STORED;
        return 0;
    }
    if (!set_aside(work, found, request))
        return 0;
    struct mcds__record record = found->record;
    renew_cas(work, &record, request);
    uint8_t *value;
    int code = lmdb_commands_put(work, request->key, found, &record, before + more, &value);
    if (code != 0)
        return code;
    bool in_front = request->command == MCDS_PREPEND;
    assert(work->old_value.length == before);
    if (before > 0)
        memcpy(value + (in_front ? more : 0), work->old_value.data, before);
    if (more > 0)
        memcpy(value + (in_front ? 0 : before), request->value.data, more);
    reply->value_length = before + more;
    reply->flags = record.flags;
    return 0;
}

/* Replace the number at the cursor, without a second search. `bytes` are the record's,
 * including space for the header. */
static int replace_number(struct mcds__lmdb_work *work, mcds_bytes key,
                          const struct found *found, const struct mcds__record *record,
                          uint8_t *bytes, size_t length)
{
    MDB_val at = val(key);
    MDB_val data = {length, bytes};
    assert(found->stored && length > MCDS__RECORD_HEADER &&
           length <= MCDS__RECORD_HEADER + MCDS__U64_DIGITS);
    int code = move_expiry(work, key, found, record->expires_ms);
    mcds__record_write(record, bytes);
    work->changed = true;
    return code == 0 ? mdb_cursor_put(work->cursor, &at, &data, MDB_CURRENT) : code;
}

/* INCR and DECR keep ttl and flags. A value never becomes shorter: it is padded with spaces. */
static int lmdb_commands_count(struct mcds__lmdb_work *work, const struct found *found,
                               mcds_request *request)
{
    mcds_reply *reply = &request->reply;
    uint64_t number;
    reply->outcome = mcds__command_count(request, found->living, found->record.value, &number);
    if (reply->outcome != MCDS_OUT_NONE)
        return 0;
    struct mcds__record record = found->record;
    if (!found->living)
        record = (struct mcds__record){.flags = request->flags,
                                       .expires_ms = expiry_of(request->ttl_ms, work->now_ms)};
    reply->number = number;
    renew_cas(work, &record, request);
    uint8_t bytes[MCDS__RECORD_HEADER + MCDS__U64_DIGITS];
    uint8_t *digits = bytes + MCDS__RECORD_HEADER;
    memset(digits, ' ', MCDS__U64_DIGITS);
    size_t digit_count = mcds__format_u64(reply->number, (char *)digits);
    assert(digit_count > 0 && digit_count <= MCDS__U64_DIGITS);
    size_t length = digit_count > record.value.length ? digit_count : record.value.length;
    if (found->stored && length <= MCDS__U64_DIGITS)
        return replace_number(work, request->key, found, &record, bytes,
                              MCDS__RECORD_HEADER + length);
    uint8_t *value;
    int code = lmdb_commands_put(work, request->key, found, &record, length, &value);
    if (code != 0)
        return code;
    assert(digit_count <= length);
    memcpy(value, digits, digit_count);
    memset(value + digit_count, ' ', length - digit_count);
    return 0;
}

static int remove_item(struct mcds__lmdb_work *work, uint64_t expires_ms, mcds_bytes key)
{
    MDB_val at = val(key);
    work->file->loses = true;
    int code = mdb_del(work->txn, work->file->items, &at, NULL);
    if (code == 0 && expires_ms != MCDS__RECORD_NEVER)
        code = expiry_remove(work, expires_ms, key);
    work->changed = true;
    return code;
}

/* TOUCH keeps the cas token. */
static int lmdb_commands_touch(struct mcds__lmdb_work *work, const struct found *found,
                               mcds_request *request)
{
    if (!set_aside(work, found, request))
        return 0;
    struct mcds__record record = found->record;
    record.expires_ms = expiry_of(request->ttl_ms, work->now_ms);
    work->file->loses = true;
    assert(record.cas == found->record.cas);
    uint8_t *value;
    int code = lmdb_commands_put(work, request->key, found, &record, work->old_value.length,
                                 &value);
    if (code == 0 && work->old_value.length > 0)
        memcpy(value, work->old_value.data, work->old_value.length);
    request->reply.outcome = MCDS_OUT_OK;
    return code;
}

/* A value that is not a record can only be deleted or overwritten. */
static int execute_damaged(struct mcds__lmdb_work *work, const struct found *found,
                           mcds_request *request)
{
    assert(!found->stored && !found->living);
    if (request->command == MCDS_SET)
        return lmdb_commands_store(work, found, request);
    if (request->command == MCDS_DELETE && request->cas.connection == 0) {
        request->reply.outcome = MCDS_OUT_OK;
        return remove_item(work, MCDS__RECORD_NEVER, request->key);
    }
    damaged(request);
    return 0;
}

int mcds__lmdb_execute(struct mcds__lmdb_work *work, mcds_request *request, mcds_buffer *values)
{
    assert(work->txn != NULL && work->cursor != NULL);
    bool takes_value = request->command >= MCDS_SET && request->command <= MCDS_CAS;
    if (takes_value && request->value.length > MCDS__LMDB_VALUE_MAX) {
        request->reply.outcome = MCDS_OUT_TOO_BIG;
        return 0;
    }
    struct found found;
    bool sound;
    int code = find_to_write(work, request->key, &found, &sound);
    if (code != 0)
        return code;
    if (!sound)
        return execute_damaged(work, &found, request);
    request->reply.outcome = mcds__command_refusal(request, found.living,
                                                   lmdb_commands_token_of(work->file, &found));
    if (request->reply.outcome != MCDS_OUT_NONE)
        return 0;
    switch (request->command) {
    case MCDS_GET:
        lmdb_commands_get(work->file, &found, work->now_ms, request, values);
        return 0;
    case MCDS_SET:
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_CAS:
        return lmdb_commands_store(work, &found, request);
    case MCDS_APPEND:
    case MCDS_PREPEND:
        return lmdb_commands_extend(work, &found, request);
    case MCDS_INCR:
    case MCDS_DECR:
        return lmdb_commands_count(work, &found, request);
    case MCDS_DELETE:
        request->reply.outcome = MCDS_OUT_OK;
        return remove_item(work, found.record.expires_ms, request->key);
    case MCDS_TOUCH:
        return lmdb_commands_touch(work, &found, request);
    }
    request->reply.outcome = MCDS_OUT_UNSUPPORTED;
    return 0;
}
