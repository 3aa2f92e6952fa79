/* payment STORE EVENT TEXT: a payment hook. The provider sends each event at least once, perhaps
 * several times at once; the hook acts on it at most once. It prints the HTTP answer: after 503,
 * the provider sends the event again.
 *
 * The table "payments" has an entry for each event: "claimed TOKEN", then "done". The token is
 * random, so a caller knows its own claim again after a lost reply.
 *
 * If the process dies between claim and "done", nobody knows whether it has acted. The claim
 * stays, and every later delivery gets 503. A person looks at the account, and then runs
 * `mcds table put payments EVENT done` or `mcds table remove payments EVENT`. A claim that
 * expires by itself would make this "at least once". If the act is a row in your own database,
 * a unique index on the event does all of this, and needs no table here.
 *
 * Use a store that keeps its entries: lmdb:. A memcached that restarts forgets what was paid. */
#include <inttypes.h>
#include <mcds.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_TRIES 3

static int answer(int status, const char *text)
{
    (void)printf("%d %s\n", status, text);
    return status == 200 ? 0 : 75;
}

static void make_claim(char claim[40])
{
    uint64_t token = 0;
    mcds_env_system()->random(NULL, &token, sizeof token);
    (void)snprintf(claim, 40, "claimed %016" PRIx64, token);
}

/* MCDS_OK: this process acts. MCDS_EXISTS: another process acts or has acted. */
static int claim_event(mcds_table *payments, const char *event, bool *is_done)
{
    char claim[40];
    mcds_value found = MCDS_VALUE_INIT;
    make_claim(claim);
    /* Repeating a put_if_absent with the same token is harmless, also if the first arrives later. */
    int result = MCDS_AMBIGUOUS;
    for (int i = 0; i < CLAIM_TRIES && result == MCDS_AMBIGUOUS; i++)
        result = mcds_table_put_if_absent(payments, mcds_text(event), mcds_text(claim), 0);
    if (result != MCDS_EXISTS)
        return result;
    result = mcds_table_get(payments, mcds_text(event), &found);
    bool is_mine = result == MCDS_OK && found.length == strlen(claim) &&
                   memcmp(found.data, claim, found.length) == 0;
    *is_done = result == MCDS_OK && found.length == 4 && memcmp(found.data, "done", 4) == 0;
    mcds_value_free(&found);
    return result == MCDS_OK && !is_mine ? MCDS_EXISTS : result;
}

static int pay(mcds_table *payments, const char *event, const char *text)
{
    bool is_done = false;
    switch (claim_event(payments, event, &is_done)) {
    case MCDS_OK:
        break;
    case MCDS_EXISTS:
        return is_done ? answer(200, "done before") : answer(503, "claimed by another process");
    case MCDS_LOST: /* whether this event was paid is lost too: a person must look */
        (void)fprintf(stderr, "payment: stop the hook: %s\n", mcds_errmsg());
        return answer(503, "the store has lost payments");
    case MCDS_NOT_FOUND: /* a person has removed the claim meanwhile: the next delivery acts */
        return answer(503, "the claim was removed");
    case MCDS_AMBIGUOUS: /* a claim that nobody acts on may stay, as if this process had died */
    case MCDS_BUSY:      /* no claim: the next delivery acts */
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
    default:
        (void)fprintf(stderr, "payment: %s\n", mcds_errmsg());
        return answer(503, "not claimed");
    }
    (void)printf("act: %s\n", text);
    /* The act is done, so the answer is 200. If this fails, the claim stays for a person. */
    if (mcds_table_put(payments, mcds_text(event), mcds_text("done"), 0) != MCDS_OK)
        (void)fprintf(stderr, "payment: %s is done, but says claimed: %s\n", event,
                      mcds_errmsg());
    return answer(200, "done");
}

int main(int count, char **words)
{
    mcds_store *store = NULL;
    mcds_table *payments = NULL;
    int status = 64;
    if (count != 4)
        (void)fputs("usage: payment STORE EVENT TEXT\n", stderr);
    else if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
             mcds_table_open(store, "payments", NULL, &payments) != MCDS_OK)
        status = answer(503, mcds_errmsg());
    else
        status = pay(payments, words[2], words[3]);
    mcds_table_close(payments);
    mcds_close(store);
    return status;
}
