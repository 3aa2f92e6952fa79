/* What the options of TLS and of passwords may not be, with no server there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"

static bool library_has_tls(void)
{
    mcds_store *store = NULL;
    bool opened = mcds_open("memcached://a?tls=1", NULL, &store) == MCDS_OK;
    if (opened)
        mcds_close(store);
    return opened;
}

static void a_wrong_option_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *uri;
        const char *sentence;
    } bad[] = {
        {"memcached://a?tls=yes", "the URI's tls=yes must be 0 or 1"},
        {"memcached://a?ca=/ca.pem", "the URI's ca= goes with tls=1, which is missing"},
        {"memcached://a?tls=0&cert=/c", "the URI's cert= goes with tls=1"},
        {"memcached://a?tls_name=b", "the URI's tls_name= goes with tls=1"},
        {"memcached://a?tls=1&key=/k", "the URI's key= goes with cert=, which is missing"},
        {"memcached://a?tls=1&tls_name=", "the URI's tls_name= is empty"},
        {"memcached:///s.sock?tls=1",
         "/s.sock is a unix socket, over which memcached does not"},
        {"memcached://a,/s.sock?tls=1", "/s.sock is a unix socket"},
        {"memcached://a?sasl=1", "mcds does not speak SASL"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        mcds_store *store = NULL;
        assert_int_equal(mcds_open(bad[i].uri, NULL, &store), MCDS_INVALID);
        if (strstr(mcds_errmsg(), bad[i].sentence) == NULL)
            fail_msg("%s: %s", bad[i].uri, mcds_errmsg());
    }
}

/* Its author has made one mistake; to show the password would be another. */
static void a_password_in_the_uri_is_refused_and_not_repeated(void **state)
{
    (void)state;
    static const char *const uris[] = {
        "memcached://ann:hush@a:11211", "memcached://ann:hu@sh@a",
        "memcached://a?password=hush",  "memcached://a?user=ann&pass=hush",
        "memcached://a?auth=ann:hush",  "memcached://b,ann:hush@a",
    };
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        mcds_store *store = NULL;
        assert_int_equal(mcds_open(uris[i], NULL, &store), MCDS_INVALID);
        const mcds_error *error = mcds_last_error();
        assert_non_null(strstr(mcds_errmsg(), "auth_file=PATH"));
        assert_null(strstr(mcds_errmsg(), "hu"));
        assert_null(strstr(error->found, "hu"));
        assert_null(strstr(error->peer, "hu"));
    }
}

static void a_build_without_tls_says_so(void **state)
{
    (void)state;
    mcds_store *store = NULL;
    if (library_has_tls())
        return;
    assert_int_equal(mcds_open("memcached://a?tls=1", NULL, &store), MCDS_INVALID);
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_UNSUPPORTED);
    assert_non_null(strstr(mcds_errmsg(), "built without TLS"));
    assert_int_equal(mcds_open("memcached://a?tls=0", NULL, &store), MCDS_OK);
    mcds_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_option_is_refused),
        cmocka_unit_test(a_password_in_the_uri_is_refused_and_not_repeated),
        cmocka_unit_test(a_build_without_tls_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
