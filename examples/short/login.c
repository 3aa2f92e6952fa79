/* login STORE ADDRESS: limits the attempts to log in from one address, before the password is
 * checked.
 *
 * An address has 5 attempts at once, and gets a new one every 12 minutes (5 an hour). All
 * programs with the same store share the count. The program prints the HTTP answer. */
#include <inttypes.h>
#include <mcds.h>
#include <stdio.h>

#define ATTEMPTS 5
#define HOUR_MS 3600000

static int check_password(void)
{
    (void)puts("200 the password may be checked");
    return 0;
}

static int refuse(const char *why, uint64_t retry_ms)
{
    (void)printf("429 %s, try again in %" PRIu64 " s\n", why, (retry_ms + 999) / 1000);
    return 1;
}

static int begin(mcds_limit *attempts, const char *address)
{
    mcds_limit_value value = MCDS_LIMIT_VALUE_INIT;
    int result = mcds_limit_take(attempts, mcds_text(address), 1, 0, &value);
    switch (result) {
    case MCDS_OK:
        (void)fprintf(stderr, "login: %" PRIu64 " more attempts\n", value.remaining);
        return check_password();
    case MCDS_BUSY:
        /* The rate refuses: retry_ms is exact. Otherwise other attempts kept changing the same
         * key, nothing was taken, and the visitor may try at once. */
        if (mcds_last_error()->cause == MCDS_CAUSE_LIMITED)
            return refuse("too many attempts", value.retry_ms);
        return refuse("too many at the same time", 1000);
    case MCDS_AMBIGUOUS: /* taken or not: a refusal keeps the bound, whichever it is */
        return refuse("the attempt was not understood", 1000);
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
        /* Nothing was taken. The choice is the program's: this one lets its visitors in, and has
         * no limit until the store is back. A bank would refuse. */
        (void)fprintf(stderr, "login: without a limit: %s\n", mcds_errmsg());
        return check_password();
    default: /* MCDS_TOO_OLD: this machine's clock is wrong. MCDS_LOST is not a result of take */
        (void)fprintf(stderr, "login: without a limit, call an operator: %s\n",
                      result == MCDS_TOO_OLD ? mcds_strerror(result) : mcds_errmsg());
        return check_password();
    }
}

int main(int count, char **words)
{
    if (count != 3) {
        (void)fputs("usage: login STORE ADDRESS\n", stderr);
        return 64;
    }
    mcds_store *store = NULL;
    mcds_limit *attempts = NULL;
    mcds_limit_options options = MCDS_LIMIT_OPTIONS_INIT;
    options.rate_count = 1;
    options.rates[0] = (mcds_rate){.count = ATTEMPTS, .per_ms = HOUR_MS, .burst = ATTEMPTS};
    int status = 69;
    if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
        mcds_limit_open(store, "login", &options, &attempts) != MCDS_OK)
        (void)fprintf(stderr, "login: %s\n", mcds_errmsg());
    else
        status = begin(attempts, words[2]);
    mcds_limit_close(attempts);
    mcds_close(store);
    return status;
}
