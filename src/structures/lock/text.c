/* Lock: a lease as text, with which another process renews and releases it.
 *
 * The text is "mcds-lease:" and the hexadecimal digits of a frame without key (type 'T', version 1;
 * version 2 if the lease shares the lock):
 *   store u32 | state u32 | lease_ms u32 | fence u64 | token 16 bytes | label length u8 | label |
 *   key of the lease, to the end
 *
 * It has neither a cas token nor a deadline. A cas token is valid on one connection, so the
 * importer reads the lease first. The random token identifies the lease, also after renewals. A
 * deadline is a time of one clock, which another machine, or this one after a restart, lacks. */
#include <assert.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/frame.h"
#include "structures/lock/lock.h"

#define PREFIX "mcds-lease:"
#define PREFIX_LENGTH (sizeof PREFIX - 1)
#define FRAME_TYPE 'T'
#define FRAME_VERSION 1
#define READER_VERSION 2
#define LABEL_AT 36 /* its length */
#define PAYLOAD_MIN (LABEL_AT + 1)
#define PAYLOAD_MAX (PAYLOAD_MIN + MCDS__LEASE_LABEL_MAX + MCDS__KEY_MAX)
#define FRAME_MAX (MCDS__FRAME_OVERHEAD + PAYLOAD_MAX)
/* The bits of the state that the text contains. */
#define STATE_KEPT                                                                             \
    (MCDS__LEASE_TOKEN | MCDS__LEASE_HELD | MCDS__LEASE_DOUBT | MCDS__LEASE_READER)

static_assert(PREFIX_LENGTH + 2 * FRAME_MAX < MCDS_LEASE_TEXT, "room for the longest text");

static const struct mcds__operation_kind export_kind = {"lock", "export", 0, NULL, NULL};

/* A lease in a text. */
struct lease_text {
    uint32_t store; /* mcds__store_place() */
    uint32_t state;
    uint32_t lease_ms;
    uint64_t fence;
    uint64_t token[2];
    char label[MCDS__LEASE_LABEL_MAX + 1];
    mcds_bytes key;
};

static size_t lease_text_encode(const mcds_lock *lock, const mcds_lease *lease,
                                uint8_t frame[FRAME_MAX])
{
    uint8_t *at = frame + MCDS__FRAME_HEAD;
    size_t label_length = strlen(lock->leased.label);
    assert(label_length <= MCDS__LEASE_LABEL_MAX);
    assert(lock->leased.lease_ms > 0 && lease->fence > 0);
    mcds__put_u32(at, mcds__store_place(lock->leased.handle.store));
    mcds__put_u32(at + 4, lease->state & STATE_KEPT);
    mcds__put_u32(at + 8, lock->leased.lease_ms);
    mcds__put_u64(at + 12, lease->fence);
    mcds__put_u64(at + 20, lease->token[0]);
    mcds__put_u64(at + 28, lease->token[1]);
    at[LABEL_AT] = (uint8_t)label_length;
    memcpy(at + PAYLOAD_MIN, lock->leased.label, label_length);
    mcds_bytes key = mcds__key_bytes(&lock->keys.lease);
    memcpy(at + PAYLOAD_MIN + label_length, key.data, key.length);
    uint8_t version = mcds__lease_is_reader(lease) ? READER_VERSION : FRAME_VERSION;
    size_t length = mcds__frame_seal(frame, FRAME_TYPE, version, (mcds_bytes){NULL, 0},
                                     PAYLOAD_MIN + label_length + key.length);
    assert(length <= FRAME_MAX);
    return length;
}

/* False: no encoder writes this payload. */
static bool lease_text_decode(mcds_bytes payload, struct lease_text *out)
{
    const uint8_t *at = payload.data;
    if (payload.length < PAYLOAD_MIN || payload.length > PAYLOAD_MAX ||
        payload.length <= (size_t)PAYLOAD_MIN + at[LABEL_AT] ||
        at[LABEL_AT] > MCDS__LEASE_LABEL_MAX)
        return false;
    size_t label_length = at[LABEL_AT];
    out->store = mcds__get_u32(at);
    out->state = mcds__get_u32(at + 4);
    out->lease_ms = mcds__get_u32(at + 8);
    out->fence = mcds__get_u64(at + 12);
    out->token[0] = mcds__get_u64(at + 20);
    out->token[1] = mcds__get_u64(at + 28);
    memcpy(out->label, at + PAYLOAD_MIN, label_length);
    out->label[label_length] = '\0';
    out->key.data = at + PAYLOAD_MIN + label_length;
    out->key.length = payload.length - PAYLOAD_MIN - label_length;
    return (out->state & MCDS__LEASE_HELD) != 0 && (out->state & ~(uint32_t)STATE_KEPT) == 0 &&
           strlen(out->label) == label_length && mcds__key_is_legal(out->key);
}

/* Decode the frame in a text; empty: the text has none. */
static mcds_bytes unhex(const char *text, uint8_t frame[FRAME_MAX])
{
    const mcds_bytes none = {NULL, 0};
    size_t length = strnlen(text, MCDS_LEASE_TEXT);
    if (length < PREFIX_LENGTH || memcmp(text, PREFIX, PREFIX_LENGTH) != 0)
        return none;
    size_t digits = length - PREFIX_LENGTH;
    const char *at = text + PREFIX_LENGTH;
    /* The checksum of the frame does not show a digit whose case was changed. */
    if (digits % 2 != 0 || digits / 2 > FRAME_MAX || strpbrk(at, "ABCDEF") != NULL)
        return none;
    for (size_t i = 0; i < digits / 2; i++) {
        int high = mcds__hex_value(at[2 * i]);
        int low = mcds__hex_value(at[2 * i + 1]);
        if (high < 0 || low < 0)
            return none;
        frame[i] = (uint8_t)(high << 4 | low);
    }
    return (mcds_bytes){frame, digits / 2};
}

int mcds_lock_export(const mcds_lock *lock, mcds_lease *lease, char text_out[MCDS_LEASE_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t frame[FRAME_MAX];
    if (text_out != NULL)
        text_out[0] = '\0';
    if (lock == NULL || lease == NULL || text_out == NULL)
        return mcds__fail_missing("lock", "export", "a lock, a lease and room for a text");
    int result = mcds__leased_check(&lock->leased, lease, &export_kind, MCDS__NEED_HELD);
    if (result != MCDS_OK)
        return result;
    if ((lease->state & MCDS__LEASE_LET_GO) != 0)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_EMPTY),
                              MCDS__CALL(&export_kind, lock->leased.handle.name));
    assert((lease->state & (MCDS__LEASE_TOKEN | MCDS__LEASE_HELD)) != 0);
    lease->state |= MCDS__LEASE_SHARED;
    size_t length = lease_text_encode(lock, lease, frame);
    memcpy(text_out, PREFIX, PREFIX_LENGTH);
    char *at = text_out + PREFIX_LENGTH;
    for (size_t i = 0; i < length; i++) {
        *at++ = digits[frame[i] >> 4];
        *at++ = digits[frame[i] & 15];
    }
    assert(at < text_out + MCDS_LEASE_TEXT);
    *at = '\0';
    return MCDS_OK;
}

/* Report that the lease belongs to another lock. */
static int fail_other_lock(const struct lease_text *text, const mcds_lock *lock)
{
    char ns[MCDS__KEY_MAX + 1];
    char tag[MCDS__KEY_MAX + 1];
    char name[MCDS__KEY_MAX + 1];
    size_t at = 0;
    if (!mcds__key_next_part(text->key, &at, ns) || !mcds__key_next_part(text->key, &at, tag) ||
        !mcds__key_next_part(text->key, &at, name))
        ns[0] = name[0] = '\0';
    bool same_ns = strcmp(ns, mcds__store_ns(lock->leased.handle.store)) == 0;
    const mcds_error error = {
        .result = MCDS_INVALID,
        .cause = MCDS_CAUSE_BAD_LEASE,
        .noun = "lock",
        .name = lock->leased.handle.name,
        .verb = "import",
        .found = name,
    };
    if (strcmp(name, lock->leased.handle.name) == 0)
        return mcds__fail_saying(
            &error, "the lease belongs to a lock of this name in namespace '%s'", ns);
    return mcds__fail_saying(&error, "the lease belongs to '%s'%s%s%s", name,
                             same_ns ? "" : " of namespace '", same_ns ? "" : ns,
                             same_ns ? "" : "'");
}

/* Whether the lease is one of this lock: MCDS_OK, or MCDS_INVALID with the sentence set. */
static int check_belongs(const struct lease_text *text, const mcds_lock *lock)
{
    mcds_bytes key = mcds__key_bytes(&lock->keys.lease);
    assert(text->key.length > 0 && text->key.length <= MCDS__KEY_MAX);
    uint32_t place = mcds__store_place(lock->leased.handle.store);
    if (!mcds__bytes_same(text->key, key))
        return fail_other_lock(text, lock);
    if (text->store != 0 && place != 0 && text->store != place)
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_OF_OTHER_STORE), .noun = "lock",
                              .name = lock->leased.handle.name, .verb = "import");
    return MCDS_OK;
}

/* Reads the text: MCDS_OK, or another result with the sentence set. `frame` keeps its bytes. */
static int read_text(const char *text, const char *name, uint8_t frame[FRAME_MAX],
                     struct lease_text *out)
{
    const mcds_bytes no_key = {NULL, 0};
    mcds_bytes payload;
    mcds_bytes whole = unhex(text, frame);
    if (mcds__frame_is_newer(whole, FRAME_TYPE, READER_VERSION, no_key))
        return mcds__fail_why(MCDS_UNSUPPORTED, MCDS__WHY(LEASE_TEXT_NEWER), .noun = "lock",
                              .name = name, .verb = "import");
    bool is_reader = mcds__frame_open(whole, FRAME_TYPE, READER_VERSION, no_key, &payload);
    if ((!is_reader && !mcds__frame_open(whole, FRAME_TYPE, FRAME_VERSION, no_key, &payload)) ||
        !lease_text_decode(payload, out) ||
        is_reader != ((out->state & MCDS__LEASE_READER) != 0))
        return mcds__fail_why(MCDS_INVALID, MCDS__WHY(LEASE_TEXT_DAMAGED), .noun = "lock",
                              .name = name, .verb = "import");
    return MCDS_OK;
}

int mcds_lock_import(mcds_store *store, const char *name, const char *text,
                     mcds_lock **lock_out, mcds_lease *lease_out)
{
    struct lease_text read;
    uint8_t frame[FRAME_MAX];
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lock *lock = NULL;
    if (text == NULL || lease_out == NULL)
        return mcds__fail_missing("lock", "import", "a text and a lease");
    int result = mcds__check_open("lock", "import", store, name, lock_out, MCDS__OPEN_NEEDED);
    if (result == MCDS_OK)
        result = read_text(text, name, frame, &read);
    if (result != MCDS_OK)
        return result;
    options.lease_ms = read.lease_ms;
    options.label = read.label;
    result = mcds_lock_open(store, name, &options, &lock);
    if (result != MCDS_OK)
        return result;
    result = check_belongs(&read, lock);
    if (result != MCDS_OK) {
        mcds_lock_close(lock);
        return result;
    }
    *lease_out = (mcds_lease){
        .fence = read.fence,
        .token = {read.token[0], read.token[1]},
        .state = read.state | MCDS__LEASE_SHARED,
    };
    *lock_out = lock;
    return MCDS_OK;
}
