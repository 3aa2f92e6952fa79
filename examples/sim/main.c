/* seats lock|careful|right [SEED [SEEDS]]
 *
 * Sells the seats of a hall in a simulated world, once for each seed from SEED on: customers stop
 * in the middle, connections break, requests arrive late. In the end everybody who was told "this
 * seat is yours" must have it. At the first seed where that is not so, says who has been deceived,
 * and what happened until then; the same seed always tells the same. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcds/sim.h"
#include "purchase.h"

#define EXIT_USAGE 64
#define EXIT_BROKEN 70
#define CUSTOMERS 3
#define SEEDS_DEFAULT 3000
#define EVENTS_MAX 1000000
#define TIMELINE_CAPACITY 65536
#define SENTENCE_CAPACITY 200
#define NOBODY "nobody"
#define NOBODY_LENGTH 6

struct customer {
    mcds_sim *sim;
    char name[16];
    struct purchase purchase;
};

/* Faults in a million. Nothing is forgotten: what a server loses no program can keep. */
static const mcds_sim_options world = {
    .size = sizeof world,
    .cut_before_ppm = 10000,
    .cut_after_ppm = 10000,
    .late_ppm = 30000,
    .silent_ppm = 5000,
    .pause_ppm = 30000,
    .seconds = true,
};

/* A customer as the simulation sees one: called at the begin, and for each operation that ended. */
static void program(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct customer *customer = context;
    struct purchase *purchase = &customer->purchase;
    bool was_sold = purchase->sold;
    int result = done == NULL ? purchase_begin(purchase)
                              : purchase_go_on(purchase, done->result);
    if (result != MCDS_OK)
        mcds_sim_note(customer->sim, client, "cannot go on: %s", mcds_errmsg());
    if (purchase->sold && !was_sold)
        mcds_sim_note(customer->sim, client, "is told: %s is yours", purchase->seat);
}

/* False: `sentence` says who was told what is not so. */
static bool judge(const struct customer *customers, char sentence[SENTENCE_CAPACITY])
{
    mcds_value holder = MCDS_VALUE_INIT;
    bool fine = true;
    for (int i = 0; i < CUSTOMERS && fine; i++) {
        const struct purchase *purchase = &customers[i].purchase;
        if (!purchase->sold)
            continue;
        int result = mcds_table_get(customers[0].purchase.hall, mcds_text(purchase->seat),
                                    &holder);
        size_t length = result == MCDS_OK ? holder.length : 0;
        fine = length == strlen(purchase->customer) &&
               memcmp(holder.data, purchase->customer, length) == 0;
        if (!fine)
            (void)snprintf(sentence, SENTENCE_CAPACITY,
                           "%.20s was sold to %.20s, but it is %.*s's", purchase->seat,
                           purchase->customer,
                           length > 0 ? (int)(length < 100 ? length : 100) : NOBODY_LENGTH,
                           length > 0 ? (const char *)holder.data : NOBODY);
    }
    mcds_value_free(&holder);
    return fine;
}

static void tell(const mcds_sim *sim, uint64_t seed, const char *sentence)
{
    char *timeline = malloc(TIMELINE_CAPACITY);
    (void)printf("seed %llu: %s\n", (unsigned long long)seed, sentence);
    if (timeline != NULL && mcds_sim_timeline(sim, timeline, TIMELINE_CAPACITY) > 0)
        (void)fputs(timeline, stdout);
    free(timeline);
}

static int run_world(mcds_sim *sim, enum way way, struct customer *customers)
{
    int result = MCDS_OK;
    for (int i = 0; i < CUSTOMERS && result == MCDS_OK; i++) {
        struct customer *customer = &customers[i];
        mcds_sim_client *client = NULL;
        customer->sim = sim;
        (void)snprintf(customer->name, sizeof customer->name, "c%d", i + 1);
        result = mcds_sim_client_add(sim, program, customer, &client);
        if (result == MCDS_OK)
            result = purchase_open(&customer->purchase, way, customer->name,
                                   mcds_sim_client_store(client),
                                   mcds_sim_client_pipeline(client));
    }
    if (result == MCDS_OK)
        result = mcds_sim_run(sim, EVENTS_MAX);
    mcds_sim_calm(sim);
    mcds_sim_note(sim, NULL, "the end: who has the seats?");
    return result;
}

/* 0, 1 for a broken promise, EXIT_BROKEN where the world did not come to its end; counts the seats
 * that were sold. */
static int run_seed(enum way way, uint64_t seed, uint64_t *sold)
{
    struct customer customers[CUSTOMERS];
    char sentence[SENTENCE_CAPACITY];
    mcds_sim_options options = world;
    mcds_sim *sim = NULL;
    memset(customers, 0, sizeof customers);
    options.seed = seed;
    if (mcds_sim_open(&options, &sim) != MCDS_OK) {
        (void)fprintf(stderr, "seats: %s\n", mcds_errmsg());
        return EXIT_BROKEN;
    }
    int status = 0;
    if (run_world(sim, way, customers) != MCDS_OK) {
        (void)fprintf(stderr, "seats: seed %llu: %s\n", (unsigned long long)seed,
                      mcds_errmsg());
        status = EXIT_BROKEN;
    } else if (!judge(customers, sentence)) {
        tell(sim, seed, sentence);
        status = 1;
    }
    for (int i = 0; i < CUSTOMERS; i++) {
        *sold += customers[i].purchase.sold;
        purchase_close(&customers[i].purchase);
    }
    mcds_sim_close(sim);
    return status;
}

static bool parse(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (text == NULL)
        return true;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    *out = number;
    return end != text && *end == '\0' && errno == 0;
}

static bool parse_way(const char *word, enum way *out)
{
    static const char *const words[] = {"lock", "careful", "right"};
    for (int i = 0; word != NULL && i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = (enum way)i;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    enum way way = WAY_LOCK;
    uint64_t seed = 1;
    uint64_t seeds = SEEDS_DEFAULT;
    uint64_t sold = 0;
    if (argc < 2 || argc > 4 || !parse_way(argv[1], &way) || !parse(argv[2], &seed) ||
        (argc == 4 && !parse(argv[3], &seeds))) {
        (void)fputs("usage: seats lock|careful|right [SEED [SEEDS]]\n", stderr);
        return EXIT_USAGE;
    }
    int status = 0;
    for (uint64_t i = 0; i < seeds && status == 0; i++)
        status = run_seed(way, seed + i, &sold);
    if (status == 0)
        (void)printf("%llu seeds, %llu seats sold, none of them twice\n",
                     (unsigned long long)seeds, (unsigned long long)sold);
    return status;
}
