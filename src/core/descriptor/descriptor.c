/* Descriptor: the value of a structure's root key: its kind, its life and its settings. */
#include "core/descriptor/descriptor.h"

#include <assert.h>
#include <string.h>

#include "base/environment.h"
#include "base/reason.h"

#define TYPE 'D'
#define VERSION 1
/* Offsets in the payload. */
#define LAYOUT_AT 0
#define NEEDS_AT 1
#define KIND_AT 2
#define FORM_AT 3
#define MADE_AT 4
#define LIFE_AT 8
#define HASH_KEY_AT 16
#define COUNT_AT 32
/* Flags: 2 bits mark, 30 bits of the life. */
#define FLAGS_MARK 2u
#define FLAGS_SHIFT 2

void mcds__descriptor_draw(struct mcds__descriptor *descriptor, const mcds_env *env,
                           enum mcds__descriptor_kind kind, uint8_t form, bool hashes)
{
    *descriptor = (struct mcds__descriptor){
        .kind = (uint8_t)kind,
        .form = form,
        .layout = MCDS__DESCRIPTOR_PLAIN,
        .made_s = (uint32_t)(mcds__wall_ms(env) / MS_PER_S),
        .life = mcds__random_u64(env) | 1,
    };
    for (size_t i = 0; hashes && i < MCDS__DESCRIPTOR_HASH_KEY; i += 8)
        mcds__put_u64(descriptor->hash_key + i, mcds__random_u64(env));
}

size_t mcds__descriptor_seal(const struct mcds__descriptor *descriptor, mcds_bytes key,
                             uint8_t out[MCDS__DESCRIPTOR_CAPACITY])
{
    uint8_t *payload = out + MCDS__FRAME_HEAD;
    assert(descriptor->count <= MCDS__DESCRIPTOR_SETTINGS_MAX && descriptor->life != 0);
    assert(descriptor->layout > 0 && descriptor->layout <= MCDS__DESCRIPTOR_LAYOUT);
    payload[LAYOUT_AT] = payload[NEEDS_AT] = descriptor->layout;
    payload[KIND_AT] = descriptor->kind;
    payload[FORM_AT] = descriptor->form;
    mcds__put_u32(payload + MADE_AT, descriptor->made_s);
    mcds__put_u64(payload + LIFE_AT, descriptor->life);
    memcpy(payload + HASH_KEY_AT, descriptor->hash_key, sizeof descriptor->hash_key);
    payload[COUNT_AT] = descriptor->count;
    for (uint32_t i = 0; i < descriptor->count; i++)
        mcds__put_u64(payload + MCDS__DESCRIPTOR_FIXED + 8 * i, descriptor->settings[i]);
    return mcds__frame_seal(out, TYPE, VERSION, key,
                            MCDS__DESCRIPTOR_FIXED + 8 * (size_t)descriptor->count);
}

/* Read a payload. False: its length is wrong. */
static bool read_payload(struct mcds__descriptor *descriptor, mcds_bytes payload)
{
    const uint8_t *bytes = payload.data;
    size_t length = MCDS__DESCRIPTOR_FIXED + 8 * (size_t)bytes[COUNT_AT];
    bool may_be_longer = bytes[LAYOUT_AT] > MCDS__DESCRIPTOR_LAYOUT;
    if (payload.length < length || (payload.length > length && !may_be_longer) ||
        bytes[COUNT_AT] > MCDS__DESCRIPTOR_SETTINGS_MAX)
        return false;
    descriptor->layout = bytes[NEEDS_AT];
    descriptor->kind = bytes[KIND_AT];
    descriptor->form = bytes[FORM_AT];
    descriptor->made_s = mcds__get_u32(bytes + MADE_AT);
    descriptor->life = mcds__get_u64(bytes + LIFE_AT);
    memcpy(descriptor->hash_key, bytes + HASH_KEY_AT, sizeof descriptor->hash_key);
    descriptor->count = bytes[COUNT_AT];
    for (uint32_t i = 0; i < descriptor->count; i++)
        descriptor->settings[i] = mcds__get_u64(bytes + MCDS__DESCRIPTOR_FIXED + 8 * i);
    return descriptor->life != 0;
}

uint32_t mcds__descriptor_flags(uint64_t life)
{
    return (uint32_t)(life >> 32) << FLAGS_SHIFT | FLAGS_MARK;
}

bool mcds__descriptor_is_of(uint32_t flags, uint64_t life)
{
    return flags == mcds__descriptor_flags(life);
}

/* Whether the client flags are of the life. Sets `is_again`. */
static bool take_flags(struct mcds__descriptor *descriptor, uint32_t flags)
{
    descriptor->is_again = descriptor->kind == MCDS__KIND_LOG &&
                           (flags & MCDS__DESCRIPTOR_AGAIN) != 0;
    return mcds__descriptor_is_of(descriptor->is_again ? flags ^ MCDS__DESCRIPTOR_AGAIN : flags,
                                  descriptor->life);
}

int mcds__descriptor_open(struct mcds__descriptor *descriptor_out, mcds_bytes value,
                          uint32_t flags, mcds_bytes key, enum mcds__descriptor_kind kind,
                          const mcds_reason **detail_out)
{
    mcds_bytes payload;
    bool is_newer = mcds__frame_is_newer(value, TYPE, VERSION, key);
    bool is_whole = mcds__frame_open(value, TYPE, VERSION, key, &payload) &&
                    payload.length >= MCDS__DESCRIPTOR_FIXED;
    if (is_whole)
        is_newer = ((const uint8_t *)payload.data)[NEEDS_AT] > MCDS__DESCRIPTOR_LAYOUT;
    if (!is_newer && is_whole && read_payload(descriptor_out, payload) &&
        descriptor_out->kind == kind && take_flags(descriptor_out, flags))
        return MCDS_OK;
    *detail_out = is_newer ? MCDS__WHY(NEWER) : MCDS__WHY(FOREIGN);
    return is_newer ? MCDS_UNSUPPORTED : MCDS_CORRUPT;
}
