/* Cache: a source that counts how often it is read, and ways to read through a cache. */
#ifndef MCDS_TESTS_STRUCTURES_CACHE_CASES_H
#define MCDS_TESTS_STRUCTURES_CACHE_CASES_H

#include "structures/suite.h"

struct source {
    const char *value; /* NULL: nothing */
    int result;        /* of a failure */
    uint32_t reads;
};
/* A mcds_cache_fill_cb; its context is a source. */
int read_source(void *context, mcds_bytes key, mcds_fill *fill);

/* Two handles of one cache, and a source. */
struct cached {
    const char *name;
    mcds_cache *mine;
    mcds_cache *theirs;
    struct source source;
    mcds_value value;
    mcds_cache_state state;
    mcds_cache_claim claim;
    mcds_cache_claim other;
};
void open_cached(struct suite *suite, struct cached *c, const mcds_cache_options *options);
void close_cached(struct cached *c);

/* Fetch "k" through `mine`: the result, the state, and the value unless it is NULL. */
void fetch_tagged(struct suite *suite, struct cached *c, int expected, mcds_cache_state state,
                  const char *value, const char *tag, const char *file, int line);
#define FETCH(suite, c, expected, state, value)                                                \
    fetch_tagged(suite, c, expected, state, value, NULL, __FILE__, __LINE__)
#define FETCH_TAGGED(suite, c, expected, state, value, tag)                                    \
    fetch_tagged(suite, c, expected, state, value, tag, __FILE__, __LINE__)
/* The shortest claim and hold of this store. */
uint32_t shortest_hold_ms(const struct suite *suite);
/* The key of the item "k", and of others that belong to it. */
struct raw_key raw_item(const struct suite *suite, const char *tag, const char *name);

extern const mcds_bytes key_k;

/* Stores "k" through `cache`; reading the source took cost_ms. */
void put_costly(struct suite *suite, struct cached *c, mcds_cache *cache, int64_t cost_ms);

/* Of cache_claims.c, cache_early.c and cache_forget.c. */
void a_claim_has_one_owner(struct suite *suite);
void a_claim_ends_once(struct suite *suite);
void a_claim_is_renewed(struct suite *suite);
void an_ended_claim_to_refresh_is_told(struct suite *suite);
void who_waits_gets_the_value(struct suite *suite);
void a_claim_ends_by_itself(struct suite *suite);
void costly_values_are_filled_early(struct suite *suite);
void looks_do_not_hasten_a_fill(struct suite *suite);
void an_early_claim_outlives_its_value(struct suite *suite);
void a_claim_keeps_its_value_in_the_store(struct suite *suite);
void a_renewal_keeps_the_value_in_the_store(struct suite *suite);
void an_ended_claim_to_refresh_is_told(struct suite *suite);
void a_claim_of_another_value_is_replaced(struct suite *suite);
void a_failure_outlives_its_value(struct suite *suite);
void a_failure_stays_when_the_value_is_gone(struct suite *suite);
void a_late_value_of_a_refresh_is_not_stored(struct suite *suite);
void a_damaged_claim_is_replaced(struct suite *suite);
void a_forgotten_fill_is_not_stored(struct suite *suite);
void an_expired_value_is_stale(struct suite *suite);
void tags_forget_their_values(struct suite *suite);
void tags_that_are_not_named_count(struct suite *suite);
void a_lost_generation_voids(struct suite *suite);
void clear_and_drop_forget_all(struct suite *suite);
void a_hold_keeps_fills_away(struct suite *suite);
void a_held_key_without_a_value(struct suite *suite);
void a_held_tag_keeps_fills_away(struct suite *suite);
void a_hold_ends_with_its_value(struct suite *suite);
void a_hold_lives_as_long_as_it_was_asked(struct suite *suite);

/* The value of the last call. */
#define CHECK_VALUE(c, text)                                                                   \
    do {                                                                                       \
        assert_int_equal((c)->value.length, strlen(text));                                     \
        assert_memory_equal((c)->value.data, text, strlen(text));                              \
    } while (0)

#endif
