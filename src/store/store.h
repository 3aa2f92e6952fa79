/* The store as the engine sees it: one contract, whatever home stands behind it. Batches are
 * checked here before any home sees them. */
#ifndef MCDS_STORE_STORE_H
#define MCDS_STORE_STORE_H

#include "base/key.h"
#include "mcds_store.h"

#define MCDS__TIMEOUT_MS_MAX UINT32_C(3600000)

struct mcds__lane;

/* A store is closed when the last reference is given up: mcds_close() gives up the program's, every
 * structure and every pipeline has one of its own. */
void mcds__store_hold(mcds_store *store);
/* MCDS_OK, or MCDS_INVALID with the sentence set: it was opened before a fork, by the parent. */
int mcds__store_check_process(const mcds_store *store);
void mcds__store_release(mcds_store *store);

const mcds_env *mcds__store_env(const mcds_store *store);
const char *mcds__store_ns(const mcds_store *store);
int64_t mcds__store_timeout_ns(const mcds_store *store);
/* Whether a home without lanes stands behind it, which answers within the caller's thread. */
bool mcds__store_answers_here(const mcds_store *store);
void mcds__store_capabilities(const mcds_store *store, mcds_capabilities *out);

/* A way into the store for the calling thread alone. `connection`, when not 0, asks for the
 * lane that holds that connection, if it is idle. Returns MCDS_OK or the reason why there is
 * none. */
int mcds__lane_take(mcds_store *store, uint64_t connection, struct mcds__lane **lane_out);
void mcds__lane_give(mcds_store *store, struct mcds__lane *lane);
/* Close a lane that may still have batches under way; they are not touched again. */
void mcds__lane_drop(struct mcds__lane *lane);

/* Send a list of batches. Each comes back from mcds__lane_collect exactly once. */
void mcds__lane_submit(struct mcds__lane *lane, mcds_batch *first);
/* A list of finished batches, or NULL when none is at until_ns. */
mcds_batch *mcds__lane_collect(struct mcds__lane *lane, int64_t until_ns);

/* As mcds_home.watch; -1 where the home has none. */
int mcds__lane_watch(struct mcds__lane *lane, int64_t *wake_ns_out);

/* Send one batch and wait for it. Every request of it is answered on return. */
void mcds__store_execute(mcds_store *store, uint64_t connection, mcds_batch *batch);

/* As mcds_home.look, for a key that was made by base/key.h: it is not checked again. */
bool mcds__store_look(mcds_store *store, mcds_bytes key,
                      void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                      void *context);

/* As mcds_home.remains, for such a key too. */
bool mcds__store_remains(mcds_store *store, mcds_bytes key, uint64_t *mark);

/* As mcds_home.open_cell and release_cell, for such a key too. What is held is
 * released before the store is closed. */
struct mcds__cell *mcds__store_open_cell(mcds_store *store, mcds_bytes key,
                                         struct mcds__cell *cell);
void mcds__store_release_cell(mcds_store *store, mcds_bytes key);

/* As mcds_home.keys. */
int mcds__store_keys(mcds_store *store, mcds_bytes prefix,
                     bool (*visit)(void *context, mcds_bytes key), void *context);

/* The value that a GET brought. */
static inline mcds_bytes mcds__reply_value(const mcds_batch *batch, const mcds_request *request)
{
    if (batch->values == NULL || request->reply.value_length == 0)
        return (mcds_bytes){NULL, 0};
    return (mcds_bytes){batch->values->at + request->reply.value_at,
                        request->reply.value_length};
}

#endif
