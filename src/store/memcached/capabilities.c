/* The common capabilities of all servers of a backend. */
#include "store/memcached/memcached.h"

#define VALUE_MAX_USUAL (UINT64_C(1048576) - 512)
#define TTL_EARLY_MS 2000

mcds_capabilities mcds__memcached_careful(void)
{
    return (mcds_capabilities){
        .compare_and_delete = true,
        .compare_and_set = true,
        .evicts = true,
        .expires = true,
        .ttl_unit_ms = 1000,
        .ttl_early_ms = TTL_EARLY_MS,
        .value_max = VALUE_MAX_USUAL,
    };
}

/* Reduce *can to the capabilities of both sets. */
static void restrict_to(mcds_capabilities *can, const mcds_capabilities *other)
{
    can->create_on_increment = can->create_on_increment && other->create_on_increment;
    can->create_on_append = can->create_on_append && other->create_on_append;
    can->compare_and_delete = can->compare_and_delete && other->compare_and_delete;
    can->compare_and_set = can->compare_and_set && other->compare_and_set;
    can->cas_on_store = can->cas_on_store && other->cas_on_store;
    can->value_suppressed = can->value_suppressed && other->value_suppressed;
    can->ttl_readable = can->ttl_readable && other->ttl_readable;
    can->ordered_batch = can->ordered_batch && other->ordered_batch;
    can->evicts = can->evicts || other->evicts;
    can->expires = can->expires && other->expires;
    if (other->value_max < can->value_max)
        can->value_max = other->value_max;
}

mcds_capabilities mcds__memcached_common_abilities(const struct mcds__memcached *backend)
{
    mcds_capabilities can = mcds__memcached_careful();
    bool any = false;
    for (uint32_t i = 0; i < backend->server_count; i++) {
        const struct mcds__server *server = &backend->servers[i];
        if (server->reached && any)
            restrict_to(&can, &server->can);
        else if (server->reached)
            can = server->can;
        any = any || server->reached;
    }
    can.places = backend->server_count;
    return can;
}

static bool are_equal(const mcds_capabilities *a, const mcds_capabilities *b)
{
    return a->create_on_increment == b->create_on_increment &&
           a->flags_on_create == b->flags_on_create &&
           a->create_on_append == b->create_on_append &&
           a->compare_and_delete == b->compare_and_delete &&
           a->compare_and_set == b->compare_and_set && a->cas_on_store == b->cas_on_store &&
           a->size_after_write == b->size_after_write &&
           a->value_suppressed == b->value_suppressed && a->ttl_readable == b->ttl_readable &&
           a->ordered_batch == b->ordered_batch && a->durable == b->durable &&
           a->evicts == b->evicts && a->expires == b->expires &&
           a->ttl_unit_ms == b->ttl_unit_ms && a->ttl_early_ms == b->ttl_early_ms &&
           a->value_max == b->value_max && a->places == b->places;
}

static uint32_t common_features(const struct mcds__memcached *backend)
{
    bool any = false;
    bool all = true;
    for (uint32_t i = 0; i < backend->server_count; i++) {
        any = any || backend->servers[i].reached;
        all = all && (backend->servers[i].has_numbers || !backend->servers[i].reached);
    }
    return any && all ? MCDS_CAS_NUMBERS : 0;
}

void mcds__memcached_note_abilities(struct mcds__memcached *backend)
{
    atomic_store_explicit(&backend->features, common_features(backend), memory_order_relaxed);
    const mcds_capabilities can = mcds__memcached_common_abilities(backend);
    uint32_t at = 0;
    while (at < backend->ability_count && !are_equal(&backend->abilities[at], &can))
        at++;
    if (at == backend->ability_count && at < MCDS__ABILITIES_MAX)
        backend->abilities[backend->ability_count++] = can;
    atomic_store_explicit(&backend->can,
                          at < MCDS__ABILITIES_MAX ? &backend->abilities[at] : NULL,
                          memory_order_release);
}
