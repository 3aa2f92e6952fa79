/* The store as the engine sees it: one contract for all backends. Batches are checked here
 * before a backend sees them. */
#ifndef MCDS_STORE_STORE_H
#define MCDS_STORE_STORE_H

#include "base/environment.h"
#include "base/key.h"
#include "mcds/backend.h"

#define MCDS__TIMEOUT_MS_MAX UINT32_C(3600000)

struct mcds__session;

/* A store is closed when its last reference is released. mcds_close() releases the program's;
 * every structure and every pipeline has its own. */
void mcds__store_hold(mcds_store *store);
/* MCDS_OK, or MCDS_INVALID with the sentence set: the parent process has opened it. */
int mcds__store_check_process(const mcds_store *store);
/* mcds__store_check_process for a caller that has stored mcds__forks() while the store could be used. */
static inline int mcds__store_check_forks(const mcds_store *store, uint64_t forks)
{
    return forks == mcds__forks() ? MCDS_OK : mcds__store_check_process(store);
}
/* Whether it did: the connections, mutexes and file of the store belong to the parent. */
bool mcds__store_is_parents(const mcds_store *store);
void mcds__store_release(mcds_store *store);

const mcds_env *mcds__store_env(const mcds_store *store);
const char *mcds__store_ns(const mcds_store *store);
/* A hash of the scheme and the place in the URI; 0: the store was opened without a URI. Two
 * stores with different hashes may be the same: a place can be written in several ways. */
uint32_t mcds__store_place(const mcds_store *store);
int64_t mcds__store_timeout_ns(const mcds_store *store);
/* Whether the backend has no sessions and answers in the caller's thread. */
bool mcds__store_answers_here(const mcds_store *store);
void mcds__store_read_capabilities(const mcds_store *store, mcds_capabilities *can_out);
/* Inlined, so that the caller copies only the members that it uses. */
static inline mcds_capabilities mcds__store_can(const mcds_store *store)
{
    mcds_capabilities can;
    mcds__store_read_capabilities(store, &can);
    return can;
}
/* Whether the store has this feature. */
bool mcds__store_has(const mcds_store *store, mcds_feature feature);
/* Whether changes that are submitted together share a commit, also where it waits for no disk. */
bool mcds__store_commits(const mcds_store *store);

/* Take a session for the calling thread. If `connection` is not 0, prefer the idle session that
 * has that connection. Returns MCDS_OK or the reason why there is none. */
int mcds__session_take(mcds_store *store, uint64_t connection,
                       struct mcds__session **session_out);
void mcds__session_give(mcds_store *store, struct mcds__session *session);
/* Close a session. Its batches that are still under way are not touched again. */
void mcds__session_drop(struct mcds__session *session);

/* Send a list of batches. mcds__session_collect returns each exactly once. */
void mcds__session_submit(struct mcds__session *session, mcds_batch *first);
/* A list of finished batches; NULL: none has finished by until_ns. */
mcds_batch *mcds__session_collect(struct mcds__session *session, int64_t until_ns);

/* As mcds_backend.watch; -1 if the backend has none. */
int mcds__session_watch(struct mcds__session *session, int64_t *wake_ns_out);

/* Send one batch and wait for it. All its requests are answered on return. */
void mcds__store_execute(mcds_store *store, uint64_t connection, mcds_batch *batch);

/* As mcds_backend.look, for a key made by base/key.h, which is not checked again. */
bool mcds__store_peek(mcds_store *store, mcds_bytes key,
                      void (*see)(void *context, const mcds_reply *reply, mcds_bytes value),
                      void *context);

/* As mcds_backend.remains, for such a key. */
bool mcds__store_remains(mcds_store *store, mcds_bytes key, uint64_t *mark);

/* As mcds__memory_open_cell and mcds__memory_release_cell, for such a key; NULL on other
 * backends. Release every hold before the store is closed. */
struct mcds__cell *mcds__store_open_cell(mcds_store *store, mcds_bytes key,
                                         struct mcds__cell *cell);
void mcds__store_release_cell(mcds_store *store, mcds_bytes key);

/* As mcds_backend.keys. */
int mcds__store_keys(mcds_store *store, mcds_bytes prefix,
                     bool (*visit)(void *context, mcds_bytes key), void *context);

/* The value that a GET returned. */
static inline mcds_bytes mcds__reply_value(const mcds_batch *batch, const mcds_request *request)
{
    if (batch->values == NULL || request->reply.value_length == 0)
        return (mcds_bytes){NULL, 0};
    return (mcds_bytes){batch->values->data + request->reply.value_at,
                        request->reply.value_length};
}

#endif
