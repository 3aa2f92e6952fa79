/* A cache whose server returns no tokens: what was read cannot be compared, and nothing is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/hooked_backend.h"

static bool clear_token(void *context, mcds_request *request)
{
    struct hooked_backend *backend = context;
    if (request->command != MCDS_GET)
        return false;
    mcds__backend_memory.submit(backend->inner, backend->batch);
    request->reply.cas = (mcds_cas_token){0, 0};
    return true;
}

static int fill(void *context, mcds_bytes key, mcds_fill *made)
{
    (void)context, (void)key;
    return mcds_fill_add(made, mcds_text("v"));
}

static void assert_refused(int result, const char *verb)
{
    char begin[32];
    (void)snprintf(begin, sizeof begin, "cache 'c': %s: the store has no", verb);
    assert_int_equal(result, MCDS_UNSUPPORTED);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_NO_COMPARE_AND_SET);
    assert_memory_equal(mcds_errmsg(), begin, strlen(begin));
}

static void a_key_without_a_token_is_not_written(void **state)
{
    static struct hooked_backend backend;
    static struct fake_env fake;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_cache_options keeps_stale = MCDS_CACHE_OPTIONS_INIT;
    mcds_store *store;
    mcds_cache *cache;
    mcds_value value = MCDS_VALUE_INIT;
    mcds_cache_state found;
    const mcds_bytes key = mcds_text("k");
    (void)state;
    fake_env_init(&fake, 1);
    options.env = &fake.env;
    keeps_stale.stale_ms = 60000;
    assert_int_equal(hooked_backend_open(&backend, &options, &store), MCDS_OK);
    assert_int_equal(mcds_cache_open(store, "c", &keeps_stale, &cache), MCDS_OK);
    assert_int_equal(mcds_cache_fetch(cache, key, NULL, 0, fill, NULL, &value, &found),
                     MCDS_OK);
    backend.hook = clear_token;
    backend.context = &backend;
    assert_refused(mcds_cache_hold(cache, key, 1000), "hold");
    assert_refused(mcds_cache_expire(cache, key), "expire");
    backend.hook = NULL;
    assert_int_equal(mcds_cache_fetch(cache, key, NULL, 0, fill, NULL, &value, &found),
                     MCDS_OK);
    assert_int_equal(found, MCDS_CACHE_FRESH);
    mcds_value_free(&value);
    mcds_cache_close(cache);
    mcds_close(store);
    assert_int_equal(fake.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_without_a_token_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
