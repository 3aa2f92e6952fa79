/* memcached's commands inside one transaction of LMDB. A pointer into the map is good only
 * until the next change, so whatever outlives one is copied first. */
#include <lmdb.h>
#include <string.h>

#include "base/environment.h"
#include "base/number.h"
#include "base/reason.h"
#include "store/lmdb_file.h"

/* What is stored under a key. */
struct found {
    bool stored; /* there is a record, expired or not */
    bool living;
    struct mcds__record record;
};

static MDB_val val(mcds_bytes bytes)
{
    return (MDB_val){bytes.length, (void *)(uintptr_t)bytes.at};
}

static mcds_bytes bytes_of(MDB_val value)
{
    return (mcds_bytes){value.mv_data, value.mv_size};
}

/* The value of a reply that no other command explains. */
static void damaged(mcds_request *request)
{
    request->reply.outcome = MCDS_OUT_FAILED;
    request->reply.detail = MCDS__WHY(NOT_A_RECORD);
}

/* What a search has come to. *sound is false when something is stored that is no record. */
static int take_found(int code, MDB_val data, uint64_t now_ms, struct found *out, bool *sound)
{
    *sound = code != 0 || mcds__record_read(bytes_of(data), &out->record);
    out->stored = code == 0 && *sound;
    if (!out->stored) {
        *out = (struct found){0};
        return code == MDB_NOTFOUND ? 0 : code;
    }
    out->living = out->record.expires_ms == MCDS__RECORD_NEVER ||
                  now_ms < out->record.expires_ms;
    return 0;
}

static int find(struct mcds__lmdb_file *file, MDB_txn *txn, mcds_bytes key, uint64_t now_ms,
                struct found *out, bool *sound)
{
    MDB_val at = val(key);
    MDB_val data = {0, NULL};
    int code = mdb_get(txn, file->items, &at, &data);
    return take_found(code, data, now_ms, out, sound);
}

/* The cursor stays where the item is, so that writing it needs no other search. */
static int find_to_write(struct mcds__lmdb_work *work, mcds_bytes key, struct found *out,
                         bool *sound)
{
    MDB_val at = val(key);
    MDB_val data = {0, NULL};
    int code = mdb_cursor_get(work->cursor, &at, &data, MDB_SET);
    return take_found(code, data, work->now_ms, out, sound);
}

static void get(const struct mcds__lmdb_file *file, const struct found *found, uint64_t now_ms,
                mcds_request *request, mcds_buffer *values)
{
    mcds_reply *reply = &request->reply;
    const struct mcds__record *record = &found->record;
    if (!found->living) {
        reply->outcome = MCDS_OUT_MISS;
        return;
    }
    if (values != NULL && !(request->options & MCDS_NO_VALUE)) {
        reply->value_at = values->length;
        if (!mcds_buffer_append(values, record->value.at, record->value.length)) {
            reply->outcome = MCDS_OUT_NO_BUFFER;
            reply->detail = MCDS__WHY(NO_MEMORY_FOR_VALUE);
            return;
        }
    }
    reply->outcome = MCDS_OUT_OK;
    reply->flags = record->flags;
    reply->value_length = record->value.length;
    reply->cas = (mcds_cas_token){record->cas, file->identity};
    if (request->options & MCDS_WANT_TTL)
        reply->ttl_ms = record->expires_ms == MCDS__RECORD_NEVER
                            ? MCDS_TTL_NEVER
                            : (int64_t)(record->expires_ms - now_ms);
}

int mcds__lmdb_get(struct mcds__lmdb_file *file, struct MDB_txn *txn, const mcds_env *env,
                   mcds_request *request, mcds_buffer *values)
{
    struct found found;
    bool sound;
    uint64_t now_ms = mcds__lmdb_now_ms(file, env);
    int code = find(file, txn, request->key, now_ms, &found, &sound);
    if (code == 0 && sound)
        get(file, &found, now_ms, request, values);
    else if (code == 0)
        damaged(request);
    return code;
}

bool mcds__lmdb_look(struct mcds__lmdb_file *file, struct MDB_txn *txn, mcds_bytes key,
                     mcds_reply *reply_out, mcds_bytes *value_out)
{
    mcds_request request = {.command = MCDS_GET, .options = MCDS_WANT_TTL, .key = key};
    struct found found;
    bool sound;
    int code = find(file, txn, key, 0, &found, &sound);
    if (code != 0 || !sound || (found.stored && found.record.expires_ms != MCDS__RECORD_NEVER))
        return false;
    get(file, &found, 0, &request, NULL);
    request.reply.peer = file->path;
    *reply_out = request.reply;
    *value_out = found.record.value;
    return true;
}

static int expiry_add(struct mcds__lmdb_work *work, uint64_t expires_ms, mcds_bytes key)
{
    uint8_t bytes[MCDS__EXPIRY_KEY_MAX];
    MDB_val at = {mcds__expiry_write(expires_ms, key, bytes), bytes};
    MDB_val none = {0, bytes};
    return mdb_put(work->txn, work->file->expiry, &at, &none, 0);
}

static int expiry_remove(struct mcds__lmdb_work *work, uint64_t expires_ms, mcds_bytes key)
{
    uint8_t bytes[MCDS__EXPIRY_KEY_MAX];
    MDB_val at = {mcds__expiry_write(expires_ms, key, bytes), bytes};
    int code = mdb_del(work->txn, work->file->expiry, &at, NULL);
    return code == MDB_NOTFOUND ? 0 : code;
}

/* Keep the other database up with an item that is written. */
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

/* Put a record with room for `length` bytes of value, which the caller writes to *value_out at
 * once. */
static int put(struct mcds__lmdb_work *work, mcds_bytes key, const struct found *found,
               const struct mcds__record *record, size_t length, uint8_t **value_out)
{
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

/* A changed record gets a new token, and the reply tells it. */
static void renew_cas(struct mcds__lmdb_work *work, struct mcds__record *record,
                      mcds_request *request)
{
    record->cas = work->cas.next++;
    request->reply.cas = (mcds_cas_token){record->cas, work->file->identity};
    request->reply.outcome = MCDS_OUT_OK;
}

static int store(struct mcds__lmdb_work *work, const struct found *found, uint64_t now_ms,
                 mcds_request *request)
{
    struct mcds__record record = {.flags = request->flags,
                                  .expires_ms = expiry_of(request->ttl_ms, now_ms)};
    renew_cas(work, &record, request);
    work->file->loses = work->file->loses || found->stored;
    uint8_t *value;
    size_t length = request->value.length;
    int code = put(work, request->key, found, &record, length, &value);
    if (code == 0 && length > 0)
        memcpy(value, request->value.at, length);
    return code;
}

/* Copy the old value aside; false when memory is refused. */
static bool set_aside(struct mcds__lmdb_work *work, const struct found *found,
                      mcds_request *request)
{
    work->scratch.length = 0;
    if (mcds_buffer_append(&work->scratch, found->record.value.at, found->record.value.length))
        return true;
    request->reply.outcome = MCDS_OUT_NO_BUFFER;
    request->reply.detail = MCDS__WHY(NO_MEMORY);
    return false;
}

/* APPEND and PREPEND keep ttl and flags. */
static int extend(struct mcds__lmdb_work *work, const struct found *found, uint64_t now_ms,
                  mcds_request *request)
{
    mcds_reply *reply = &request->reply;
    if (!found->living && request->command == MCDS_APPEND && request->options & MCDS_CREATE) {
        reply->value_length = request->value.length;
        return store(work, found, now_ms, request);
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
    int code = put(work, request->key, found, &record, before + more, &value);
    if (code != 0)
        return code;
    bool in_front = request->command == MCDS_PREPEND;
    if (before > 0)
        memcpy(value + (in_front ? more : 0), work->scratch.at, before);
    if (more > 0)
        memcpy(value + (in_front ? 0 : before), request->value.at, more);
    reply->value_length = before + more;
    return 0;
}

static uint64_t sum(const mcds_request *request, uint64_t number)
{
    if (request->command == MCDS_INCR)
        return number + request->delta;
    return number > request->delta ? number - request->delta : 0;
}

/* Put a number where the cursor has found one, which takes no second search. `bytes` are the
 * record's, with room for the header in front. */
static int replace_number(struct mcds__lmdb_work *work, mcds_bytes key,
                          const struct found *found, const struct mcds__record *record,
                          uint8_t *bytes, size_t length)
{
    MDB_val at = val(key);
    MDB_val data = {length, bytes};
    int code = move_expiry(work, key, found, record->expires_ms);
    mcds__record_write(record, bytes);
    work->changed = true;
    return code == 0 ? mdb_cursor_put(work->cursor, &at, &data, MDB_CURRENT) : code;
}

/* INCR and DECR keep ttl and flags. A value never becomes shorter: spaces fill it up. */
static int count(struct mcds__lmdb_work *work, const struct found *found, uint64_t now_ms,
                 mcds_request *request)
{
    mcds_reply *reply = &request->reply;
    uint64_t number = 0;
    if (!found->living && !(request->options & MCDS_CREATE)) {
        reply->outcome = MCDS_OUT_MISS;
        return 0;
    }
    if (found->living &&
        !mcds__parse_stored_u64(found->record.value.at, found->record.value.length, &number)) {
        reply->outcome = MCDS_OUT_NOT_NUMERIC;
        return 0;
    }
    struct mcds__record record = found->record;
    if (!found->living)
        record = (struct mcds__record){.flags = request->flags,
                                       .expires_ms = expiry_of(request->ttl_ms, now_ms)};
    reply->number = found->living ? sum(request, number) : request->initial;
    renew_cas(work, &record, request);
    uint8_t bytes[MCDS__RECORD_HEADER + MCDS__U64_DIGITS];
    uint8_t *digits = bytes + MCDS__RECORD_HEADER;
    memset(digits, ' ', MCDS__U64_DIGITS);
    size_t digit_count = mcds__format_u64(reply->number, (char *)digits);
    size_t length = digit_count > record.value.length ? digit_count : record.value.length;
    if (found->stored && length <= MCDS__U64_DIGITS)
        return replace_number(work, request->key, found, &record, bytes,
                              MCDS__RECORD_HEADER + length);
    uint8_t *value;
    int code = put(work, request->key, found, &record, length, &value);
    if (code != 0)
        return code;
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

/* The answer when the request's token forbids it; MCDS_OUT_NONE: it may go on. */
static mcds_outcome compare(const struct mcds__lmdb_file *file, const struct found *found,
                            const mcds_request *request)
{
    if (request->cas.connection != file->identity)
        return MCDS_OUT_EXISTS;
    if (!found->living)
        return MCDS_OUT_MISS;
    return found->record.cas == request->cas.unique ? MCDS_OUT_NONE : MCDS_OUT_EXISTS;
}

static int delete (struct mcds__lmdb_work *work, const struct found *found,
                   mcds_request *request)
{
    mcds_outcome outcome = found->living ? MCDS_OUT_NONE : MCDS_OUT_MISS;
    if (request->cas.connection != 0)
        outcome = compare(work->file, found, request);
    request->reply.outcome = outcome != MCDS_OUT_NONE ? outcome : MCDS_OUT_OK;
    return outcome == MCDS_OUT_NONE ? remove_item(work, found->record.expires_ms, request->key)
                                    : 0;
}

/* TOUCH leaves the token as it is. */
static int touch(struct mcds__lmdb_work *work, const struct found *found, uint64_t now_ms,
                 mcds_request *request)
{
    if (!found->living) {
        request->reply.outcome = MCDS_OUT_MISS;
        return 0;
    }
    if (!set_aside(work, found, request))
        return 0;
    struct mcds__record record = found->record;
    record.expires_ms = expiry_of(request->ttl_ms, now_ms);
    work->file->loses = true;
    uint8_t *value;
    int code = put(work, request->key, found, &record, work->scratch.length, &value);
    if (code == 0 && work->scratch.length > 0)
        memcpy(value, work->scratch.at, work->scratch.length);
    request->reply.outcome = MCDS_OUT_OK;
    return code;
}

/* SET, ADD, REPLACE, CAS. */
static int store_if(struct mcds__lmdb_work *work, const struct found *found, uint64_t now_ms,
                    mcds_request *request)
{
    mcds_outcome outcome = MCDS_OUT_NONE;
    if (request->command == MCDS_CAS)
        outcome = compare(work->file, found, request);
    else if (request->command == MCDS_ADD && found->living)
        outcome = MCDS_OUT_NOT_STORED;
    else if (request->command == MCDS_REPLACE && !found->living)
        outcome = MCDS_OUT_NOT_STORED;
    if (outcome == MCDS_OUT_NONE && work->may_not_grow &&
        request->value.length > found->record.value.length)
        return MDB_MAP_FULL;
    if (outcome == MCDS_OUT_NONE)
        return store(work, found, now_ms, request);
    request->reply.outcome = outcome;
    return 0;
}

/* What may be done about bytes that are no record: erase them or write over them. */
static int execute_damaged(struct mcds__lmdb_work *work, const struct found *found,
                           uint64_t now_ms, mcds_request *request)
{
    if (request->command == MCDS_SET)
        return store(work, found, now_ms, request);
    if (request->command == MCDS_DELETE && request->cas.connection == 0) {
        request->reply.outcome = MCDS_OUT_OK;
        return remove_item(work, MCDS__RECORD_NEVER, request->key);
    }
    damaged(request);
    return 0;
}

int mcds__lmdb_execute(struct mcds__lmdb_work *work, mcds_request *request, mcds_buffer *values)
{
    bool takes_value = request->command >= MCDS_SET && request->command <= MCDS_CAS;
    if (takes_value && request->value.length > MCDS__LMDB_VALUE_MAX) {
        request->reply.outcome = MCDS_OUT_TOO_BIG;
        return 0;
    }
    struct found found;
    bool sound;
    uint64_t now_ms = work->now_ms;
    int code = find_to_write(work, request->key, &found, &sound);
    if (code != 0)
        return code;
    if (!sound)
        return execute_damaged(work, &found, now_ms, request);
    switch (request->command) {
    case MCDS_GET:
        get(work->file, &found, now_ms, request, values);
        return 0;
    case MCDS_SET:
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_CAS:
        return store_if(work, &found, now_ms, request);
    case MCDS_APPEND:
    case MCDS_PREPEND:
        return extend(work, &found, now_ms, request);
    case MCDS_INCR:
    case MCDS_DECR:
        return count(work, &found, now_ms, request);
    case MCDS_DELETE:
        return delete (work, &found, request);
    case MCDS_TOUCH:
        return touch(work, &found, now_ms, request);
    }
    request->reply.outcome = MCDS_OUT_UNSUPPORTED;
    return 0;
}
