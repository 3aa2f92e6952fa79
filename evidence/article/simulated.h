/* The article's client in a simulated world, and what its server holds. */
#ifndef MCDS_EVIDENCE_ARTICLE_SIMULATED_H
#define MCDS_EVIDENCE_ARTICLE_SIMULATED_H

#include "article/memcache.h"
#include "article/world.h"

struct memcache memcache_of(struct actor *actor);

/* The value in the server; "" for none. Not counted, never disturbed. */
uint64_t memcache_peek_number(struct world *world, const char *key);
bool memcache_peek_is(struct world *world, const char *key, const char *value);
bool memcache_is_missing(struct world *world, const char *key);

#endif
