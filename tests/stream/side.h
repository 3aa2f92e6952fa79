/* One of the two stores that execute a stream, and the comparison of their replies. */
#ifndef MCDS_TESTS_STREAM_SIDE_H
#define MCDS_TESTS_STREAM_SIDE_H

#include "base/environment.h"
#include "mcds/sim.h"
#include "store/store.h"
#include "stream/generator.h"

#define PATIENCE_NS (20 * NS_PER_S)

struct side {
    const char *name;
    const mcds_env *env;
    mcds_sim *sim; /* NULL: none */
    mcds_store *store;
    mcds_capabilities can;
    mcds_buffer values[STREAM_BATCHES_MAX];
    mcds_batch batches[STREAM_BATCHES_MAX];
    mcds_request requests[STREAM_BATCHES_MAX][MCDS_BATCH_MAX];
};

bool side_open(struct side *side, const char *name, const char *uri, const mcds_env *env);
/* The simulated server, which nothing befalls, with a clock of whole seconds as memcached's. */
bool side_open_simulated(struct side *side, const char *name, bool is_classic);
void side_close(struct side *side);

/* Carry out all batches of the round on the one or the other, submitted together. False: not all
 * came back. */
bool side_run(struct side *side, int which, const struct stream *stream);

/* False, with both replies printed, at the first difference. `done`: commands so far. */
bool compare_round(struct stream *stream, const struct side *sides, uint64_t done);
/* Erase the keys of allowed differences on both sides, and count them. */
bool erase_spoilt(struct stream *stream, struct side *sides, uint64_t *forgiven);

/* What is stored for a while is there in the beginning, and later it is not, for no command. */
bool visit_expiry(struct stream *stream, struct side *sides);

#endif
