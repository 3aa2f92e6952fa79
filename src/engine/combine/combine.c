/* Combining: operations of one pipeline that append to the same key share a batch.
 *
 * The table of a round is direct-mapped: a key whose entry is taken by another key evicts that
 * key and sends its batches. So a partner is found in one step, whatever the number of keys. */
#include "engine/combine/combine.h"

#include <assert.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/hash/hash.h"

/* The more values in one append, the less each of them costs; but a structure closes a key at
 * a size of 16 KB or more, and bytes beyond that must be repeated. Half of that wastes little,
 * and is far below the limit of any server. */
#define COMBINED_MAX 8192
#define REQUESTS_MAX 3
/* Memory for values beyond this is freed after use. */
#define VALUES_KEPT 65536

/* One batch in place of several. */
struct mcds__combined {
    mcds_batch batch;
    mcds_request requests[REQUESTS_MAX];
    mcds_buffer value;
    mcds_buffer values; /* values that are read, for all parts */
    mcds_batch *parts;
    mcds_batch *rest;             /* those after the first, until that is replaced */
    struct mcds__combined *all;   /* the next of all */
    struct mcds__combined *spare; /* the next free one */
};

static mcds_request *append_of(const mcds_batch *batch)
{
    return &batch->requests[batch->requests[0].command == MCDS_ADD];
}

static mcds_request *end_of(const mcds_batch *batch)
{
    return &batch->requests[batch->count];
}

static bool has_add(const mcds_batch *batch)
{
    return batch->requests[0].command == MCDS_ADD;
}

/* Whether the batch has the form of a combinable one; others are sent as they are. */
static bool is_well_formed(const mcds_batch *batch)
{
    const mcds_request *append = append_of(batch);
    bool fine = append < end_of(batch) && append->command == MCDS_APPEND;
    for (const mcds_request *request = batch->requests; request < end_of(batch); request++) {
        bool compares = request->cas.connection != 0 &&
                        (request != append || request->cas.connection != MCDS_ANY_CONNECTION);
        fine = fine && !compares && mcds__bytes_same(request->key, append->key) &&
               mcds__bytes_same(request->route, append->route);
        if (request > append)
            fine = fine && request->command == MCDS_GET &&
                   (request->options & ~(uint32_t)MCDS_NO_VALUE) == 0;
    }
    return fine && !batch->independent;
}

void mcds__combiner_init(struct mcds__combiner *combiner, const mcds_env *env)
{
    combiner->env = env;
    combiner->seed = mcds__random_u64(env);
    mcds__counts_init(&combiner->counts, env, combiner->seed);
}

void mcds__combiner_free(struct mcds__combiner *combiner)
{
    for (struct mcds__combined *combined = combiner->all, *next; combined != NULL;
         combined = next) {
        next = combined->all;
        mcds__buffer_free(&combined->value);
        mcds__buffer_free(&combined->values);
        mcds__free(combiner->env, combined);
    }
    combiner->all = combiner->spare = NULL;
    mcds__counts_free(&combiner->counts);
}

static struct mcds__combined *take_combined(struct mcds__combiner *combiner)
{
    struct mcds__combined *combined = combiner->spare;
    if (combined != NULL) {
        combiner->spare = combined->spare;
        return combined;
    }
    combined = mcds__allocate(combiner->env, sizeof *combined);
    if (combined == NULL)
        return NULL;
    mcds__buffer_init(&combined->value, combiner->env, COMBINED_MAX);
    mcds__buffer_init(&combined->values, combiner->env, MCDS__VALUES_MAX);
    combined->all = combiner->all;
    combiner->all = combined;
    return combined;
}

static void give_combined(struct mcds__combiner *combiner, struct mcds__combined *combined)
{
    combined->spare = combiner->spare;
    combiner->spare = combined;
}

/* The next batch of the slot: the first one is in the list of all batches. */
static const mcds_batch *next_part(const struct mcds__combine_slot *slot,
                                   const mcds_batch *part)
{
    return part == slot->first ? slot->rest : part->next;
}

/* The first ADD of the slot's batches, and the first read: of the value, if one needs it. */
static void fill_requests(struct mcds__combined *combined,
                          const struct mcds__combine_slot *slot)
{
    const mcds_request *add = NULL;
    const mcds_request *read = NULL;
    for (const mcds_batch *part = slot->first; part != NULL; part = next_part(slot, part)) {
        const mcds_request *append = append_of(part);
        if (add == NULL && has_add(part))
            add = part->requests;
        for (const mcds_request *own = append + 1; own < end_of(part); own++)
            if (read == NULL || own->options == 0)
                read = own;
    }
    uint32_t count = 0;
    if (add != NULL)
        combined->requests[count++] = *add;
    combined->requests[count] = *append_of(slot->first);
    combined->requests[count++].value = (mcds_bytes){combined->value.data,
                                                     combined->value.length};
    if (read != NULL)
        combined->requests[count++] = *read;
    combined->batch.count = count;
}

/* One batch for all of the slot. NULL: no memory. */
static struct mcds__combined *combine_join(struct mcds__combiner *combiner,
                                           const struct mcds__combine_slot *slot)
{
    assert(slot->count > 1);
    struct mcds__combined *combined = take_combined(combiner);
    if (combined == NULL)
        return NULL;
    combined->value.length = 0;
    if (combined->values.capacity > VALUES_KEPT)
        mcds__buffer_free(&combined->values);
    if (!mcds__buffer_reserve(&combined->value, slot->length)) {
        give_combined(combiner, combined);
        return NULL;
    }
    int64_t deadline_ns = INT64_MAX;
    for (const mcds_batch *part = slot->first; part != NULL; part = next_part(slot, part)) {
        mcds_bytes value = append_of(part)->value;
        (void)mcds_buffer_append(&combined->value, value.data, value.length);
        if (part->deadline_ns < deadline_ns)
            deadline_ns = part->deadline_ns;
    }
    assert(combined->value.length == slot->length && slot->length <= COMBINED_MAX);
    combined->parts = slot->first;
    combined->rest = slot->rest;
    combined->values.length = 0;
    combined->batch = (mcds_batch){
        .values = &combined->values,
        .requests = combined->requests,
        .deadline_ns = deadline_ns,
        .combined = true,
    };
    fill_requests(combined, slot);
    return combined;
}

/* The first batch of the slot is in the list for all of them. */
static void empty_slot(struct mcds__combiner *combiner, struct mcds__combine_slot *slot,
                       mcds_batch ***end)
{
    assert(slot->first != NULL && slot->count > 0);
    *slot->end = NULL;
    struct mcds__combined *joined = slot->count > 1 ? combine_join(combiner, slot) : NULL;
    if (joined != NULL) {
        slot->first->combined = true;
        slot->first->serial = (uintptr_t)&joined->batch;
    } else if (slot->rest != NULL) {
        **end = slot->rest;
        *end = slot->end;
    }
    slot->first = NULL;
}

/* A combined batch takes the place of its first part: an append that closes a segment is sent before
 * those to the next one. */
static void replace_first_parts(mcds_batch **link)
{
    for (; *link != NULL; link = &(*link)->next) {
        mcds_batch *first = *link;
        if (!first->combined)
            continue;
        mcds_batch *joined = (mcds_batch *)(uintptr_t)first->serial;
        if (first == joined) /* of the counts, and in place */
            continue;
        joined->next = first->next;
        first->combined = false;
        *link = joined;
        if (mcds__counts_owns(joined))
            continue;
        assert(((struct mcds__combined *)joined)->parts == first);
        first->next = ((struct mcds__combined *)joined)->rest;
    }
}

static bool goes_with(const struct mcds__combine_slot *slot, const mcds_batch *batch,
                      uint64_t hash)
{
    const mcds_request *append = append_of(batch);
    if (slot->first == NULL || slot->hash != hash)
        return false;
    const mcds_request *other = append_of(slot->first);
    return append->value.length + slot->length <= COMBINED_MAX &&
           mcds__combine_deadlines_fit(batch, slot->first) &&
           append->options == other->options && append->initial == other->initial &&
           append->cas.unique == other->cas.unique && append->flags == other->flags &&
           append->ttl_ms == other->ttl_ms && mcds__bytes_same(append->key, other->key) &&
           mcds__bytes_same(append->route, other->route);
}

/* The slot that the batch joins, or a new one with this batch as its first. */
static struct mcds__combine_slot *find_slot(struct mcds__combiner *combiner, mcds_batch *batch,
                                            mcds_batch ***end)
{
    uint64_t hash = mcds__hash(combiner->seed, append_of(batch)->key);
    uint32_t at = (uint32_t)(hash % MCDS__COMBINE_SLOTS);
    struct mcds__combine_slot *slot = &combiner->slots[at];
    combiner->last = slot;
    if (goes_with(slot, batch, hash))
        return slot;
    if (slot->first != NULL)
        empty_slot(combiner, slot, end);
    else
        combiner->taken[combiner->taken_count++] = (uint8_t)at;
    *slot = (struct mcds__combine_slot){batch, NULL, &slot->rest, hash, 0, 0};
    **end = batch;
    *end = &batch->next;
    return slot;
}

static void put_in_slot(struct mcds__combiner *combiner, mcds_batch *batch, mcds_batch ***end)
{
    struct mcds__combine_slot *slot = combiner->last;
    if (slot == NULL || !goes_with(slot, batch, slot->hash))
        slot = find_slot(combiner, batch, end);
    if (slot->count > 0) {
        *slot->end = batch;
        slot->end = &batch->next;
    }
    assert(combiner->taken_count > 0 && combiner->taken_count <= MCDS__COMBINE_SLOTS);
    assert(slot->length <= COMBINED_MAX || slot->count == 0);
    slot->count++;
    slot->length += append_of(batch)->value.length;
}

mcds_batch *mcds__combine(struct mcds__combiner *combiner, mcds_batch *first)
{
    assert(combiner->taken_count == 0); /* each round begins with an empty table */
    mcds_batch *list = NULL;
    mcds_batch **end = &list;
    mcds__counts_begin(&combiner->counts);
    for (mcds_batch *batch = first, *next; batch != NULL; batch = next) {
        next = batch->next;
        if (batch->combinable && mcds__counts_put(&combiner->counts, batch, &end))
            continue;
        if (batch->combinable && is_well_formed(batch)) {
            put_in_slot(combiner, batch, &end);
            continue;
        }
        mcds__counts_pass(&combiner->counts, batch);
        *end = batch;
        end = &batch->next;
    }
    for (uint32_t i = 0; i < combiner->taken_count; i++)
        empty_slot(combiner, &combiner->slots[combiner->taken[i]], &end);
    combiner->taken_count = 0;
    mcds__counts_end(&combiner->counts);
    *end = NULL;
    replace_first_parts(&list);
    return list;
}

/* Whether it may have been refused because of the sum of the sizes. Some servers answer
 * NOT_STORED to that; then the key exists. */
static bool is_too_much(const struct mcds__combined *combined)
{
    const mcds_request *append = append_of(&combined->batch);
    switch (append->reply.outcome) {
    case MCDS_OUT_TOO_BIG:
    case MCDS_OUT_NO_MEMORY:
        return true;
    case MCDS_OUT_NOT_STORED:
        return append + 1 < end_of(&combined->batch) && append[1].reply.outcome == MCDS_OUT_OK;
    default:
        return false;
    }
}

/* The reply of a combined request, for the batch whose value was followed by `later` more
 * bytes. A value smaller than what was appended has been rewritten meanwhile. A value that is
 * read is passed on completely: later appends of others may be at its end. */
static mcds_reply share(const struct mcds__combined *combined, const mcds_request *request,
                        size_t later)
{
    mcds_reply reply = request->reply;
    bool has_value = request->command == MCDS_GET && request->options == 0;
    if (reply.outcome == MCDS_OUT_OK && reply.value_length >= combined->value.length &&
        !has_value)
        reply.value_length -= later;
    return reply;
}

/* Only the first ADD was sent; the others find the key. */
static mcds_reply share_add(struct mcds__combined *combined)
{
    mcds_reply *reply = &combined->requests[0].reply;
    mcds_reply first = *reply;
    if (reply->outcome == MCDS_OUT_OK) {
        reply->outcome = MCDS_OUT_NOT_STORED;
        reply->cas = (mcds_cas_token){0, 0};
    }
    return first;
}

static void combine_answer(struct mcds__combined *combined, mcds_batch *part, size_t later)
{
    const mcds_request *append = append_of(&combined->batch);
    mcds_request *own = append_of(part);
    if (has_add(part))
        part->requests[0].reply = share_add(combined);
    own->reply = share(combined, append, later);
    while (++own < end_of(part))
        own->reply = share(combined, append + 1, later);
    part->values = &combined->values;
    part->answered = part->count;
}

mcds_batch *mcds__separate(struct mcds__combiner *combiner, mcds_batch *batch)
{
    if (mcds__counts_owns(batch))
        return mcds__counts_separate(&combiner->counts, batch);
    struct mcds__combined *combined = (struct mcds__combined *)batch;
    assert(batch->combined && combined->parts != NULL);
    mcds_batch *parts = combined->parts;
    bool alone = is_too_much(combined);
    size_t later = combined->value.length;
    for (mcds_batch *part = parts; part != NULL; part = part->next) {
        assert(append_of(part)->value.length <= later);
        later -= append_of(part)->value.length;
        if (alone) {
            part->combinable = false;
            part->answered = 0;
        } else {
            combine_answer(combined, part, later);
        }
    }
    assert(later == 0); /* each part has its reply, and no byte is left */
    give_combined(combiner, combined);
    return parts;
}
