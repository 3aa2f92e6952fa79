/* Lease: one holder of a key at a time, until it releases the lease or its time ends; or several
 * readers at the same time (core/lease/readers.h).
 *
 * Two keys on one server: the lease (a token of the holder, with a ttl) and the fence (a number
 * that only grows, created from the clock so that it still grows after the server lost it).
 *
 *   acquire   add lease TOKEN | increment fence | get lease     one ordered batch
 *   renew     cas lease | get lease                             with the token of the lease
 *   release   compare and delete, or cas to a tombstone
 *
 * The client has acquired the lease if and only if the get returns its token. The fence was
 * then drawn between two moments at which the client held the lease, so fences grow in the
 * order of tenures. models/lock.pml shows what fails otherwise. */
#ifndef MCDS_CORE_LEASE_LEASE_H
#define MCDS_CORE_LEASE_LEASE_H

#include <string.h>

#include "engine/operation.h"
#include "mcds.h"

#define MCDS__LEASE_LABEL_MAX 200
#define MCDS__LEASE_VALUE_MAX (8 + 1 + 16 + 8 + MCDS__LEASE_LABEL_MAX)

/* A lock or semaphore is not acquired where the wall clock is later, in 2191: too few numbers
 * follow a fence from such a clock. */
#define MCDS__LEASE_WALL_NS_MAX INT64_C(7000000000000000000)

struct mcds__lease_keys {
    struct mcds__key lease;
    struct mcds__key fence;
};

/* mcds_lease.state, or-ed. */
enum {
    MCDS__LEASE_TOKEN = 1,   /* our token may be in the store */
    MCDS__LEASE_HELD = 2,    /* the token was seen in the store, and a fence was drawn */
    MCDS__LEASE_DOUBT = 4,   /* an add was not answered and may still arrive */
    MCDS__LEASE_LET_GO = 8,  /* a release was not answered */
    MCDS__LEASE_GONE = 16,   /* empty, because the lease was lost or may have been */
    MCDS__LEASE_SHARED = 32, /* exported or imported: other processes may renew or release it */
    MCDS__LEASE_READER = 64, /* shares the lease with other readers */
    MCDS__LEASE_STATES = 127 /* all of them */
};

static inline bool mcds__lease_is_shared(const mcds_lease *lease)
{
    return (lease->state & MCDS__LEASE_SHARED) != 0;
}

static inline bool mcds__lease_is_reader(const mcds_lease *lease)
{
    return (lease->state & MCDS__LEASE_READER) != 0;
}

/* The value of a lease key. */
struct mcds__lease_value {
    bool free; /* released; any client may replace it by compare-and-set */
    uint64_t token[2];
    uint64_t extension; /* the number of its last renewal: 0 after an add */
    uint32_t label_length;
    char label[MCDS__LEASE_LABEL_MAX + 1];
};

/* False: not written by this library, or by a newer version. */
bool mcds__lease_decode(mcds_bytes value, mcds_bytes key, struct mcds__lease_value *out);
/* The result for a value that mcds__lease_decode and mcds__readers_open refuse: MCDS_UNSUPPORTED if
 * a newer version of mcds has written it, else MCDS_CORRUPT. *detail_out is the reason. */
int mcds__lease_refuse(mcds_bytes value, mcds_bytes key, const mcds_reason **detail_out);

/* The readers that the last GET of the key has shown. The payload is valid until the next batch. */
struct mcds__readers_seen {
    mcds_bytes payload;   /* empty: none */
    int64_t ttl_ms;       /* left of the key */
    uint32_t count;       /* readers whose leases have not ended */
    uint32_t intended_ms; /* time left of the intent; 0: none */
};

/* One acquire, renew or release. The caller fills the first part. */
struct mcds__lease_call {
    const struct mcds__lease_keys *keys;
    const struct mcds__key *route;  /* selects the server; NULL: the lease's key does */
    const struct mcds__key *beside; /* acquire: a key read after the lease, or NULL */
    mcds_lease *lease;
    const char *label;
    uint32_t lease_ms;
    uint32_t ttl_early_ms;          /* how much earlier the store may expire it */
    _Atomic uint64_t *fence_newest; /* the newest fence that this handle has seen */
    const mcds_env *env;
    bool is_reader;
    bool takes_any_fence; /* acquire: for a drop, also where the number is no fence */
    uint8_t *room; /* for a value with readers, which the owner of the call frees; or NULL */
    int64_t wait_until_ns; /* acquire: poll until then while another client holds it */
    uint8_t stage;         /* private; 0 at the start, as all that follow */
    bool doubt;            /* a write of this call was not answered */
    bool polls;
    bool ghost; /* the key holds a late add of this client, not its tenure */
    uint8_t takes;
    uint8_t marks;
    uint8_t raises;
    uint64_t extension;   /* renew: the number that this call writes; 0: not chosen yet */
    uint64_t fence_drawn; /* below one that this handle has seen; 0: none */
    int outcome;          /* the result after an undo */
    int64_t asked_ns;
    struct mcds__readers_seen seen;
    char seed_text[24];
    mcds_request requests[4]; /* after an acquire: [3] has read `beside` */
    uint8_t value[MCDS__LEASE_VALUE_MAX];
};

/* Makes a call ready for another step function, or for the same once more. */
static inline void mcds__lease_call_begin(struct mcds__lease_call *call)
{
    call->wait_until_ns = 0;
    memset(&call->stage, 0,
           offsetof(struct mcds__lease_call, seed_text) -
               offsetof(struct mcds__lease_call, stage));
}

/* The key that selects the server of both keys. */
static inline const struct mcds__key *mcds__lease_route_key(const struct mcds__lease_call *call)
{
    return call->route != NULL ? call->route : &call->keys->lease;
}

static inline mcds_bytes mcds__lease_route(const struct mcds__lease_call *call)
{
    return mcds__key_bytes(mcds__lease_route_key(call));
}

enum mcds__step mcds__lease_acquire_step(struct mcds__lease_call *call,
                                         struct mcds__operation *operation);
enum mcds__step mcds__lease_renew_step(struct mcds__lease_call *call,
                                       struct mcds__operation *operation);
enum mcds__step mcds__lease_release_step(struct mcds__lease_call *call,
                                         struct mcds__operation *operation);

/* Erases a free lease and its fence. The caller fills `call` as for an acquire, but its lease. */
struct mcds__lease_drop {
    struct mcds__lease_call call;
    mcds_lease lease; /* private, as all that follow */
    uint8_t stage;
    uint8_t look_stage;
    bool has_erased; /* the fence is gone, or may be */
    uint64_t ttl_ms; /* ttl given to the fence; 0: the fence is deleted */
    int result;      /* result of the operation after the release */
    const mcds_reason *detail;
    struct mcds__key keys[2];
    mcds_request requests[2];
};
void mcds__lease_drop_begin(struct mcds__lease_drop *drop);
/* Whether a drop refuses this number in the fence, because it is far ahead of this machine's
 * clock. */
bool mcds__lease_is_fence_ahead(uint64_t number, const mcds_env *env);
/* DONE with MCDS_OK; MCDS_NOT_FOUND: neither key exists; MCDS_BUSY: held; MCDS_INVALID: the fence
 * is far ahead of this machine's clock; or another failure. */
enum mcds__step mcds__lease_drop_step(struct mcds__lease_drop *drop,
                                      struct mcds__operation *operation);

#endif
