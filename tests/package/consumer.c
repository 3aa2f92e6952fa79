/* A program that knows mcds only from its installed header. */
#include <mcds.h>
#include <mcds/backend.h>
#include <mcds/sim.h>

#include <stdio.h>

static int count(mcds_store *store)
{
    mcds_counter *counter;
    int result = mcds_counter_open(store, "page", NULL, &counter);
    if (result != MCDS_OK)
        return result;
    int64_t value = 0;
    result = mcds_counter_add(counter, 2, &value);
    if (result == MCDS_OK)
        result = mcds_counter_add(counter, 3, &value);
    if (result == MCDS_OK && value != 5)
        result = MCDS_CORRUPT;
    mcds_counter_close(counter);
    return result;
}

int main(void)
{
    mcds_store *store;
    int result = mcds_open("memory:", NULL, &store);
    if (result == MCDS_OK) {
        result = count(store);
        mcds_close(store);
    }
    if (result != MCDS_OK) {
        fprintf(stderr, "consumer: %s: %s\n", mcds_strerror(result), mcds_errmsg());
        return 1;
    }
    printf("mcds %s counts\n", mcds_version());
    return 0;
}
