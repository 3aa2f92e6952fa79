/* Semaphore: the handle, and the look at its settings and slots. */
#ifndef MCDS_STRUCTURES_SEMAPHORE_SEMAPHORE_H
#define MCDS_STRUCTURES_SEMAPHORE_SEMAPHORE_H

#include "base/frame.h"
#include "structures/leased.h"

#define MCDS__SLOTS MCDS_SEMAPHORE_PERMITS_MAX
#define MCDS__SLOT_NONE UINT32_MAX

struct mcds_semaphore {
    struct mcds__leased leased;
    uint32_t wanted;           /* the option `permits` */
    _Atomic uint32_t permits;  /* read last; 0: none yet */
    _Atomic uint32_t slot_hot; /* released last, and not tried again; MCDS__SLOT_NONE: none */
    _Atomic uint64_t fences_newest[MCDS__SLOTS];
    struct mcds__key settings;
    struct mcds__key route; /* of all keys */
    struct mcds__key lease; /* without the slot */
    struct mcds__key fence;
};

/* The keys of one slot. */
void mcds__semaphore_keys(const mcds_semaphore *semaphore, uint32_t slot,
                          struct mcds__lease_keys *keys_out);
/* Begins a call of core/lease on a slot; `keys` must live as long as the call. */
void mcds__semaphore_prepare(mcds_semaphore *semaphore, uint32_t slot, mcds_lease *lease,
                             struct mcds__lease_keys *keys, struct mcds__lease_call *call);

/* The value of the settings: a frame of type S, version 1, with two numbers. */
struct mcds__semaphore_settings {
    uint64_t permits;
    uint64_t made; /* the number that it was made with */
};
#define MCDS__SETTINGS_SIZE (MCDS__FRAME_OVERHEAD + 2 * 8)

/* Encodes into `out`. */
mcds_bytes mcds__semaphore_encode(const struct mcds__semaphore_settings *settings,
                                  mcds_bytes key, uint8_t out[MCDS__SETTINGS_SIZE]);
/* False: this library did not write the value, or a newer version did. */
bool mcds__semaphore_decode(mcds_bytes value, mcds_bytes key,
                            struct mcds__semaphore_settings *settings_out);
/* Reads the settings from a GET of the last batch. Returns MCDS_OK, MCDS_NOT_FOUND, or a failure,
 * which the operation then has as its result and detail. */
int mcds__semaphore_read(struct mcds__operation *operation, const mcds_request *request,
                         struct mcds__semaphore_settings *settings_out);
/* mcds__semaphore_read, which then takes the number of permits into the handle; refuses a number
 * that the handle was not opened with. */
int mcds__semaphore_learn(mcds_semaphore *semaphore, struct mcds__operation *operation,
                          const mcds_request *request);

/* One round trip that reads the settings and the leases of the first slots. The caller sets
 * `slots`, and `stage` to 0. */
struct mcds__semaphore_look {
    uint32_t slots;
    uint8_t stage;
    struct mcds__key keys[1 + MCDS__SLOTS]; /* the settings first */
    mcds_request requests[1 + MCDS__SLOTS];
};
enum mcds__step mcds__semaphore_look_step(struct mcds__semaphore_look *look,
                                          const mcds_semaphore *semaphore,
                                          struct mcds__operation *operation);

enum mcds__slot_sight {
    SLOT_FREE,
    SLOT_HELD,   /* *value_out is set */
    SLOT_DAMAGED /* not written by this version of the library, or by an older one */
};
enum mcds__slot_sight mcds__semaphore_see(const struct mcds__semaphore_look *look,
                                          struct mcds__operation *operation, uint32_t slot,
                                          struct mcds__lease_value *value_out);
/* Finishes the operation: the slot is SLOT_DAMAGED. */
enum mcds__step mcds__semaphore_refuse(const struct mcds__semaphore_look *look,
                                       struct mcds__operation *operation, uint32_t slot);

#endif
