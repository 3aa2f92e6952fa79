/* The lock-free hash table of liburcu: a lookup takes no lock and writes nothing shared. */
#include "peers/peers.h"

#include <stddef.h>

#ifdef BENCH_URCU
#include <stdlib.h>
#include <string.h>
#include <urcu.h>
#include <urcu/rculfhash.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct urcu_member {
    struct cds_lfht_node node; /* first: a node is the member itself */
    char element[ELEMENT_LENGTH];
    char value[VALUE_LENGTH];
};

static unsigned long hash_of(const char *element)
{
    return (unsigned long)XXH3_64bits(element, ELEMENT_LENGTH);
}

static int is_it(struct cds_lfht_node *node, const void *element)
{
    const struct urcu_member *member = (const struct urcu_member *)node;
    return memcmp(member->element, element, ELEMENT_LENGTH) == 0;
}

static void fill(struct urcu *urcu)
{
    for (uint64_t i = 0; i < urcu->size; i++) {
        struct urcu_member *member = &urcu->members[i];
        char element[ELEMENT_LENGTH + 1];
        element_of(i, element);
        memcpy(member->element, element, ELEMENT_LENGTH);
        memcpy(member->value, value_bytes, VALUE_LENGTH);
        rcu_read_lock();
        cds_lfht_add(urcu->table, hash_of(element), &member->node);
        rcu_read_unlock();
    }
}

/* At least one bucket for each element, as in a table that has grown by itself. */
static struct cds_lfht *new_table(uint64_t size)
{
    unsigned long buckets = 1;
    while (buckets < size)
        buckets *= 2;
    return cds_lfht_new(buckets, buckets, 0, 0, NULL);
}

const char *urcu_open(struct urcu *urcu, uint64_t size)
{
    *urcu = (struct urcu){.size = size};
    urcu->members = calloc(size, sizeof urcu->members[0]);
    if (urcu->members != NULL)
        urcu->table = new_table(size);
    if (urcu->table == NULL) {
        free(urcu->members);
        return "liburcu: out of memory";
    }
    rcu_register_thread();
    fill(urcu);
    return NULL;
}

void urcu_close(struct urcu *urcu)
{
    if (urcu->table == NULL)
        return;
    for (uint64_t i = 0; i < urcu->size; i++) {
        rcu_read_lock();
        (void)cds_lfht_del(urcu->table, &urcu->members[i].node);
        rcu_read_unlock();
    }
    (void)cds_lfht_destroy(urcu->table, NULL);
    rcu_unregister_thread();
    free(urcu->members);
    *urcu = (struct urcu){0};
}

bool urcu_has(void *state, uint64_t operations)
{
    struct urcu *urcu = state;
    for (uint64_t i = 0; i < operations; i++) {
        struct cds_lfht_iter found;
        char element[ELEMENT_LENGTH + 1];
        element_of(spread(urcu->next++, urcu->size), element);
        rcu_read_lock();
        cds_lfht_lookup(urcu->table, hash_of(element), is_it, element, &found);
        bool is_there = cds_lfht_iter_get_node(&found) != NULL;
        rcu_read_unlock();
        if (!is_there)
            return false;
    }
    return true;
}

#else

const char *urcu_open(struct urcu *urcu, uint64_t size)
{
    (void)urcu, (void)size;
    return "built without liburcu";
}

void urcu_close(struct urcu *urcu)
{
    (void)urcu;
}

bool urcu_has(void *state, uint64_t operations)
{
    (void)state, (void)operations;
    return false;
}
#endif
