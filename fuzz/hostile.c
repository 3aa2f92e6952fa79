/* A backend whose every answer comes from an input. */
#include "hostile.h"

#include <string.h>

#include "base/frame.h"
#include "base/number.h"
#include "target.h"

#define TIMEOUT_MS 50
#define PAYLOAD_MAX 255

static struct hostile_kept *find(struct hostile *hostile, mcds_bytes key)
{
    for (uint32_t i = 0; i < HOSTILE_KEPT; i++)
        if (hostile->kept[i].key_length == key.length &&
            memcmp(hostile->kept[i].key, key.data, key.length) == 0)
            return &hostile->kept[i];
    return NULL;
}

/* Stores replace what is there; an append goes behind it. */
static void keep(struct hostile *hostile, const mcds_request *request)
{
    struct hostile_kept *kept = find(hostile, request->key);
    if (kept == NULL) {
        kept = &hostile->kept[hostile->kept_count++ % HOSTILE_KEPT];
        kept->length = 0;
        kept->key_length = request->key.length;
        memcpy(kept->key, request->key.data, request->key.length);
    }
    if (request->command != MCDS_APPEND) {
        kept->length = 0;
        kept->flags = request->flags;
    }
    size_t length = request->value.length;
    if (length > sizeof kept->value - kept->length)
        length = sizeof kept->value - kept->length;
    if (length > 0)
        memcpy(kept->value + kept->length, request->value.data, length);
    kept->length += length;
}

static bool is_store(mcds_command command)
{
    return command >= MCDS_SET && command <= MCDS_CAS;
}

static uint32_t choose_flags(struct hostile *hostile, const mcds_request *request)
{
    const struct hostile_kept *kept = find(hostile, request->key);
    uint8_t chance = next_byte(hostile->input);
    if (chance < 128)
        return kept != NULL ? kept->flags : 0;
    if (chance < 192)
        return chance & 7u;
    return (uint32_t)next_number(hostile->input, 4);
}

/* A frame of a type that there is, which says anything. */
static size_t make_frame(struct hostile *hostile, mcds_bytes key, uint8_t *out)
{
    static const char types[] = "LVSGXRHKPEBDM";
    char type = types[next_byte(hostile->input) % (sizeof types - 1)];
    mcds_bytes payload = next_bytes(hostile->input, PAYLOAD_MAX);
    if (payload.length > 0)
        memcpy(out + MCDS__FRAME_HEAD, payload.data, payload.length);
    return mcds__frame_seal(out, type, 1, key, payload.length);
}

/* What was written, with one byte changed where the input says so, and its sum made right. */
static size_t make_changed(struct hostile *hostile, mcds_bytes key, uint8_t *out)
{
    const struct hostile_kept *kept = find(hostile, key);
    if (kept == NULL)
        return 0;
    memcpy(out, kept->value, kept->length);
    uint8_t chance = next_byte(hostile->input);
    if ((chance & 1) != 0 && kept->length > 0)
        out[next_byte(hostile->input) % kept->length] ^= next_byte(hostile->input);
    bool is_frame = kept->length >= MCDS__FRAME_OVERHEAD && kept->value[0] == 'm' &&
                    kept->value[1] == 'd';
    if ((chance & 2) != 0 && is_frame)
        (void)mcds__frame_seal(out, (char)kept->value[2], kept->value[3], key,
                               kept->length - MCDS__FRAME_OVERHEAD);
    return kept->length;
}

static size_t make_value(struct hostile *hostile, mcds_bytes key, uint8_t *out)
{
    mcds_bytes raw;
    switch (next_byte(hostile->input) % 8) {
    case 0:
        raw = next_bytes(hostile->input, PAYLOAD_MAX);
        if (raw.length > 0)
            memcpy(out, raw.data, raw.length);
        return raw.length;
    case 1:
        return mcds__format_u64(next_number(hostile->input, 8), (char *)out);
    case 2:
        return mcds__format_u64((UINT64_C(1) << 62) + next_byte(hostile->input), (char *)out);
    case 3:
    case 4:
        return make_frame(hostile, key, out);
    default:
        return make_changed(hostile, key, out);
    }
}

static void answer_get(struct hostile *hostile, mcds_request *request, mcds_buffer *values)
{
    uint8_t value[HOSTILE_VALUE_CAPACITY];
    size_t length = make_value(hostile, request->key, value);
    mcds_reply *reply = &request->reply;
    reply->flags = choose_flags(hostile, request);
    reply->ttl_ms = MCDS_TTL_UNKNOWN;
    if ((request->options & MCDS_WANT_TTL) != 0 && hostile->can.ttl_readable)
        reply->ttl_ms = (int64_t)next_number(hostile->input, 4) - 1;
    reply->cas = (mcds_cas_token){++hostile->tokens, 1};
    reply->value_length = length;
    if (values == NULL ||
        ((request->options & MCDS_NO_VALUE) != 0 && hostile->can.value_suppressed))
        return;
    reply->value_at = values->length;
    if (!mcds_buffer_append(values, value, length))
        reply->outcome = MCDS_OUT_NO_MEMORY;
}

/* What a server may say to this command instead of OK. */
static mcds_outcome refusal_of(mcds_command command, bool other)
{
    switch (command) {
    case MCDS_ADD:
    case MCDS_REPLACE:
    case MCDS_APPEND:
    case MCDS_PREPEND:
        return other ? MCDS_OUT_TOO_BIG : MCDS_OUT_NOT_STORED;
    case MCDS_CAS:
    case MCDS_DELETE:
        return other ? MCDS_OUT_EXISTS : MCDS_OUT_MISS;
    case MCDS_SET:
        return other ? MCDS_OUT_NO_MEMORY : MCDS_OUT_TOO_BIG;
    case MCDS_INCR:
    case MCDS_DECR:
        return other ? MCDS_OUT_NOT_NUMERIC : MCDS_OUT_MISS;
    default:
        return MCDS_OUT_MISS;
    }
}

static mcds_outcome choose_outcome(struct hostile *hostile, mcds_command command)
{
    static const mcds_outcome troubles[] = {MCDS_OUT_UNSENT, MCDS_OUT_UNKNOWN, MCDS_OUT_FAILED,
                                            MCDS_OUT_NO_MEMORY, MCDS_OUT_PROTOCOL};
    if (hostile->input->left == 0)
        return MCDS_OUT_FAILED;
    uint8_t chance = next_byte(hostile->input);
    if (chance < 160)
        return MCDS_OUT_OK;
    if (chance < 232)
        return refusal_of(command, (chance & 3) == 0);
    return troubles[chance % (sizeof troubles / sizeof troubles[0])];
}

static void answer(struct hostile *hostile, mcds_request *request, mcds_buffer *values)
{
    mcds_reply *reply = &request->reply;
    MUST(request->key.length >= 1 && request->key.length < HOSTILE_KEY_CAPACITY);
    *reply = (mcds_reply){.outcome = choose_outcome(hostile, request->command)};
    if (reply->outcome != MCDS_OUT_OK && reply->outcome != MCDS_OUT_UNKNOWN)
        return;
    if (is_store(request->command))
        keep(hostile, request);
    if (reply->outcome != MCDS_OUT_OK)
        return;
    if (request->command == MCDS_GET)
        answer_get(hostile, request, values);
    if (request->command == MCDS_INCR || request->command == MCDS_DECR)
        reply->number = next_number(hostile->input, 8);
    if (is_store(request->command) && hostile->can.cas_on_store)
        reply->cas = (mcds_cas_token){++hostile->tokens, 1};
    if (request->command == MCDS_APPEND && hostile->can.size_after_write)
        reply->value_length = (size_t)next_number(hostile->input, 3);
}

static void hostile_submit(void *backend, mcds_batch *first)
{
    struct hostile *hostile = backend;
    for (mcds_batch *batch = first; batch != NULL; batch = batch->next) {
        bool is_late = batch->deadline_ns <= hostile->fake.monotonic_ns;
        for (uint32_t i = 0; i < batch->count; i++)
            if (is_late)
                batch->requests[i].reply.outcome = MCDS_OUT_UNSENT;
            else
                answer(hostile, &batch->requests[i], batch->values);
        batch->answered = batch->count;
    }
    fake_env_advance_ms(&hostile->fake, 1);
}

static void hostile_capabilities(void *backend, mcds_capabilities *out)
{
    const struct hostile *hostile = backend;
    *out = hostile->can;
}

static void hostile_close(void *backend)
{
    (void)backend;
}

static const mcds_backend table = {
    .version = MCDS_BACKEND_VERSION,
    .scheme = "hostile",
    .close = hostile_close,
    .capabilities = hostile_capabilities,
    .submit = hostile_submit,
};

/* Some of what there is: a memcached, an old one, a backend of ours. */
static void choose_capabilities(struct hostile *hostile)
{
    uint8_t kind = next_byte(hostile->input);
    bool is_old = (kind & 3) == 0;
    bool is_ours = (kind & 3) == 1;
    hostile->can = (mcds_capabilities){
        .create_on_increment = !is_old,
        .flags_on_create = is_ours,
        .create_on_append = is_ours || (kind & 4) != 0,
        .compare_and_delete = true,
        .compare_and_set = true,
        .cas_on_store = !is_old,
        .size_after_write = is_ours,
        .value_suppressed = !is_old,
        .ttl_readable = !is_old,
        .ordered_batch = (kind & 8) == 0,
        .evicts = !is_ours,
        .expires = true,
        .ttl_unit_ms = is_ours ? 1 : 1000,
        .ttl_early_ms = is_ours ? 0 : 2000,
        .value_max = 1048576 - 512,
        .places = 1 + (kind >> 6),
    };
}

mcds_store *hostile_open(struct hostile *hostile, struct fuzz_input *input)
{
    mcds_store *store = NULL;
    mcds_options options = MCDS_OPTIONS_INIT;
    hostile->input = input;
    hostile->tokens = 0;
    hostile->kept_count = 0;
    for (uint32_t i = 0; i < HOSTILE_KEPT; i++)
        hostile->kept[i].key_length = 0;
    fake_env_init(&hostile->fake, 1);
    choose_capabilities(hostile);
    options.env = &hostile->fake.env;
    options.timeout_ms = TIMEOUT_MS;
    MUST(mcds_open_backend(&table, hostile, &options, &store) == MCDS_OK);
    return store;
}
