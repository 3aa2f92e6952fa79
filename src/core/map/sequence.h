/* Map: what the parts of an update share. The updates of one handle share sequence numbers,
 * positions and space in a key. */
#ifndef MCDS_CORE_MAP_SEQUENCE_H
#define MCDS_CORE_MAP_SEQUENCE_H

#include <stdatomic.h>

#include "core/map/map.h"

/* The stages of an update. */
enum {
    UPDATE_BEGIN,
    UPDATE_APPENDING,
    UPDATE_CHECKING_ROOM, /* appending, with a read before it */
    UPDATE_LOCATING,
    UPDATE_LOOKING, /* reading where its key is, and whether the split that made it has ended */
    UPDATE_MAKING,
    UPDATE_READING_FLOOR, /* of the key to which the record was appended */
    UPDATE_PROVING,       /* done, if the life is not over */
    UPDATE_RESOLVING,     /* the store has refused a record that may be in the key */
    UPDATE_HELPING,       /* finish the split of another client, or make room, then try again */
    UPDATE_GROWING        /* the update is done; the key has grown */
};

/* Give the update's record its number, unless it has one: before its first request, so that the
 * oldest number in flight is never that of an update that waits; that of an addition to a list
 * when it is started, since numbers give the order of those. */
void mcds__map_take_number(struct mcds__map_update *update);
void mcds__map_give_number(struct mcds__map_update *update);
int64_t mcds__map_take_place(struct mcds__map *map, int64_t wall_ns);

/* Whether an operation has waited for a quarter of its timeout. It is then held up, probably by a
 * pipeline that nobody drives. */
bool mcds__map_is_held_up(const struct mcds__operation *operation);

/* Whether the key that holds the hash at this depth must be rewritten at this size: it has grown
 * to twice its snapshot, or has no room for another record or for one of `needs` bytes. A snapshot
 * of large entries cannot double, because the store takes no such value. */
bool mcds__map_must_rewrite(const struct mcds__map *map, uint64_t hash, uint32_t depth,
                            uint32_t flags, size_t size, size_t needs);
/* Whether an operation of this handle is rewriting the key that holds the hash at this depth. */
bool mcds__map_is_growing(struct mcds__map *map, uint64_t hash, uint32_t depth);
/* The bytes that this handle has in flight to the key, and perhaps to a few others. */
_Atomic uint32_t *mcds__map_bytes_under_way(struct mcds__map *map, uint64_t hash,
                                            uint32_t depth);
/* An operation that was held up has seen this number of bytes in flight. No operation waits while
 * the number is the same, until the next rewriting begins. The mark of this rewriting is erased. */
void mcds__map_leave_alone(struct mcds__map *map, uint64_t hash, uint32_t depth,
                           uint32_t bytes);
uint32_t mcds__map_bytes_left_alone(struct mcds__map *map, uint64_t hash, uint32_t depth);

/* Whether a record that ends at this size may be the first that makes the key too large. */
bool mcds__map_passes_soft_size(uint64_t hash, uint32_t depth, size_t size, size_t length);
/* Whether entries of this weight are split. A key in which entries come and go is not split while
 * the others alone are below its soft size: it becomes smaller, a full store has no room for children,
 * and entries that come and go would be spread over ever more keys. */
bool mcds__map_is_worth_a_split(uint64_t hash, uint32_t depth, size_t weight, bool removes);
/* The bytes that the writers of a key may take in its snapshot, beside entries of this weight. */
size_t mcds__map_writers_room(const struct mcds__map *map, size_t weight);
/* Whether removed entries are much of a large key of this size. It is rewritten before it has doubled. */
bool mcds__map_has_removed_much(size_t size, size_t removed);
/* Whether entries come and go in a key, of which `count` are there. */
bool mcds__map_has_churn(const struct mcds__bucket *bucket, uint32_t count);
/* Whether a mark of this size has many void records. In a map with a ttl, marks are left alone: a new
 * mark would live longer than the keys below it. */
bool mcds__map_is_mark_full(const struct mcds__map *map, size_t size);
/* Whether the update must first rewrite a key with this state and size: to finish the split of
 * another client, or to empty the mark. */
bool mcds__map_must_help(const struct mcds__map_update *update, enum mcds__map_state state,
                         size_t size);
/* Whether the next append of this handle to the key must read it: the key may have grown, because
 * a reply was lost or a rewriting has not ended. Also true for a few other keys. */
bool mcds__map_wants_look(struct mcds__map *map, uint64_t hash, uint32_t depth);
void mcds__map_want_look(struct mcds__map *map, uint64_t hash, uint32_t depth);
void mcds__map_want_no_look(struct mcds__map *map, uint64_t hash, uint32_t depth);
/* One operation of a handle at a time rewrites a key; the others wait. False: another does. */
bool mcds__map_claim(struct mcds__map_rewrite *rewrite, struct mcds__map *map);
void mcds__map_unclaim(struct mcds__map_rewrite *rewrite);
/* What this operation, which has rewritten a key, has met: its obstacle, or none. */
void mcds__map_note_obstacle(struct mcds__map *map, const struct mcds__operation *operation);
/* A batch has its replies: forget the obstacle of the map if its server has answered a request. */
void mcds__map_forget_old_obstacle(struct mcds__map *map, const mcds_batch *answered);
static inline void mcds__map_forget_obstacle(struct mcds__map *map, const mcds_batch *answered)
{
    if (atomic_load_explicit(&map->obstacle, memory_order_relaxed) != NULL)
        mcds__map_forget_old_obstacle(map, answered);
}
/* The operation waits for another to rewrite a key: unless it has an obstacle, it gets that of the
 * last one that did. */
void mcds__map_learn_obstacle(struct mcds__map *map, struct mcds__operation *operation);

/* Open numbers (number.c). Whether a CAS number is an open number. */
bool mcds__map_is_open_number(uint64_t number);
/* The open number of an OPEN key with these flags. */
uint64_t mcds__map_open_number(uint32_t flags);
/* Whether a key with this number must be frozen before it is read to be rewritten. */
bool mcds__map_must_freeze(const struct mcds__map_life *life, mcds_cas_token token);
/* Whether this handle compares and sets open numbers in this life. */
bool mcds__map_sets_numbers(const struct mcds__map *map, const struct mcds__map_life *life);
/* Let a request that stores flags also set the open number, if these flags are OPEN. */
void mcds__map_set_number(const struct mcds__map *map, const struct mcds__map_life *life,
                          mcds_request *request);
/* Let an append compare this number, and set the open number of an OPEN key with these flags. */
void mcds__map_compare_number(const struct mcds__map *map, const struct mcds__map_life *life,
                              mcds_request *append, mcds_cas_token token, uint32_t flags);
/* The flags that the key of the hash is assumed to have, without the size of its snapshot. */
uint32_t mcds__map_assumed_flags(struct mcds__map *map, uint64_t hash);
void mcds__map_note_floor(struct mcds__map *map, uint64_t hash, uint32_t flags);
/* The number that an append compares: the open number of these flags, or that of a look. */
mcds_cas_token mcds__map_open_token(uint32_t flags);
mcds_cas_token mcds__map_seen_token(const mcds_reply *looked);

/* Floors (floor.c). A record whose time is before the floor of its key is void. Whether these flags of
 * the OPEN key show that the update has reached the floor. If not, the value decides. */
bool mcds__map_shows_floor_reached(const struct mcds__map_update *update, uint32_t flags);
/* Read the value of the key, in requests[MCDS__MAP_ADD]. */
enum mcds__step mcds__map_ask_floor(struct mcds__map_update *update,
                                    struct mcds__operation *operation);
/* Whether the key is open in both replies, with the same floor. */
bool mcds__map_has_floor_of(const mcds_reply *reply, const mcds_reply *other);
/* Whether it has, by the value that was read. Returns MCDS_OK, MCDS_CORRUPT or MCDS_UNSUPPORTED. Unless
 * the record is certainly void, the update is then in doubt. */
int mcds__map_take_floor(struct mcds__map_update *update, struct mcds__operation *operation,
                         const mcds_request *read, bool *is_reached_out);

/* Wait while an operation of this handle rewrites the key of this depth, or too much is in flight
 * to it. True: the step is *step_out. False: the update may append. */
bool mcds__map_waits_for_turn(struct mcds__map_update *update,
                              struct mcds__operation *operation, uint32_t depth,
                              enum mcds__step *step_out);
/* Wait while another operation of this handle reads the root. True: the step is *step_out. False: this
 * one reads it. */
bool mcds__map_waits_for_root(struct mcds__map_update *update,
                              struct mcds__operation *operation, enum mcds__step *step_out);
/* Its append to the key is in flight, or was answered. */
void mcds__map_take_turn(struct mcds__map_update *update, struct mcds__operation *operation);
void mcds__map_give_turn(struct mcds__map_update *update);

/* Continue in this life. */
void mcds__map_update_set_life(struct mcds__map_update *update,
                               const struct mcds__map_life *life);

void mcds__map_resign(struct mcds__map_update *update);

/* Append the record to the key of this depth, then read the key and perhaps the root: in this
 * order, on one server. The key is not read if the store shows its state in the reply of the
 * append. */
enum mcds__step mcds__map_ask_append(struct mcds__map_update *update,
                                     struct mcds__operation *operation, uint32_t depth);
/* Fill update->rewrite for the record and its key; `needs` as in mcds__map_must_rewrite. */
void mcds__map_fill_rewrite(struct mcds__map_update *update, size_t needs);
/* Read the flags of the key of this depth and of the keys above and below it. */
enum mcds__step mcds__map_ask_around(struct mcds__map_update *update,
                                     struct mcds__operation *operation, uint32_t depth);
/* Whether one of them is open and the split above it has ended. Then `depth` is its depth. */
bool mcds__map_take_around(struct mcds__map_update *update,
                           const struct mcds__operation *operation);
/* Bring the replies into the form of a batch that reads the key. If the key was not read and the
 * append does not show its state, the read has the outcome NONE, and the next append looks. */
void mcds__map_take_replies(struct mcds__map_update *update, const mcds_batch *batch);
/* Set whether the key, in which the record counts, has grown. `looked` is the reply of the read. */
void mcds__map_note_growth(struct mcds__map_update *update, const mcds_reply *looked);
/* Let the next of these batches begin with an add of the key of a flat map, empty. False: no
 * memory. */
bool mcds__map_fill_add(struct mcds__map_update *update);

/* The structure was made with the record: bring the replies into the form of such a batch. */
void mcds__map_take_made(struct mcds__map_update *update);
/* The structure was not made. The try does not count where another client makes it, or where the store
 * could not be reached. */
void mcds__map_note_unmade(struct mcds__map_update *update, bool is_other);

/* The outcome of the record, from the value that was read after the append. */
int mcds__map_read_code(struct mcds__map_update *update, struct mcds__operation *operation);

/* The key exists now and refused the append. memcached answers NOT_STORED if it has no memory,
 * and also if the key was missing and another client has created it since: a read before the
 * append and one after it distinguish these. The first function puts the read before the append
 * in the place of the add. The second: whether the key existed all the time. */
enum mcds__step mcds__map_check_room(struct mcds__map_update *update,
                                     struct mcds__operation *operation);
bool mcds__map_take_room_check(const struct mcds__map_update *update);

/* Set the outcome of the record that the caller asks about, as far as this value shows it. A
 * record that is not in the snapshot of a sealed key is void, whenever it arrives. Below the floor,
 * it may have counted before its writer was forgotten. */
void mcds__map_note_fate(struct mcds__map_rewrite *rewrite, struct mcds__bucket *bucket,
                         enum mcds__map_state state);
/* Whether the rewriting has read that the record counts nowhere. A sealed key without the record
 * voids it, even if it arrives later, and no key above has counted it, unless it was sent to a
 * deeper key. An open key without it has no deeper keys, but a late record may still arrive. */
bool mcds__map_counts_nowhere(const struct mcds__map_update *update);

/* The ends of an update, here and in `finish_done` and `finish_over`. A failure is AMBIGUOUS while the
 * record is in doubt. */
enum mcds__step mcds__map_finish(struct mcds__map_update *update,
                                 struct mcds__operation *operation, int result,
                                 const mcds_reason *detail);
/* With the failure that the operation has. */
enum mcds__step mcds__map_finish_failed(const struct mcds__map_update *update,
                                        struct mcds__operation *operation);
/* After the search for its key has failed. If the key is lost and the marks of moved keys hold all
 * copies of the record, the record is void: it came after the moves. */
enum mcds__step mcds__map_finish_unlocated(struct mcds__map_update *update,
                                           struct mcds__operation *operation);
/* With the result of this reply. */
enum mcds__step mcds__map_fail(struct mcds__map_update *update,
                               struct mcds__operation *operation, const mcds_reply *reply);
/* The store has refused the append. */
enum mcds__step mcds__map_fail_append(struct mcds__map_update *update,
                                      struct mcds__operation *operation);
/* The deadline has passed: other clients rewrote the key, or the store could not be reached. */
enum mcds__step mcds__map_finish_waiting(struct mcds__map_update *update,
                                         struct mcds__operation *operation,
                                         const mcds_reason *detail);
/* The deadline has passed, or this process has no memory to rewrite the key. */
enum mcds__step mcds__map_finish_unrewritten(struct mcds__map_update *update,
                                             struct mcds__operation *operation);
/* A pause, then another try from the beginning with the same id; or the failure of this reply. */
enum mcds__step mcds__map_try_later(struct mcds__map_update *update,
                                    struct mcds__operation *operation, const mcds_reply *reply);
/* The record counts. Or the life in which it may count is over: whether the store has lost it, the
 * next operation says; this one says only that its own change is in doubt. */
enum mcds__step mcds__map_finish_done(struct mcds__map_update *update,
                                      struct mcds__operation *operation);
enum mcds__step mcds__map_finish_over(struct mcds__map_update *update,
                                      struct mcds__operation *operation);

#endif
