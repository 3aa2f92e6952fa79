/* Map: what the parts of an update share. The updates of one handle share sequence numbers,
 * positions and space in a key. */
#ifndef MCDS_CORE_MAP_SEQUENCE_H
#define MCDS_CORE_MAP_SEQUENCE_H

#include "core/map/map.h"

/* Give the update's record its number, unless it has one: before its first request, so that the
 * oldest number in flight is never that of an update that waits; that of an addition to a list
 * when it is started, since numbers give the order of those. */
void mcds__map_take_number(struct mcds__map_update *update);
void mcds__map_give_number(struct mcds__map_update *update);
int64_t mcds__map_take_place(struct mcds__map *map, int64_t wall_ns);

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

/* Wait while an operation of this handle rewrites the key of this depth, or too much is in flight
 * to it. True: the step is *step_out. False: the update may append. */
bool mcds__map_waits_for_turn(struct mcds__map_update *update,
                              struct mcds__operation *operation, uint32_t depth,
                              enum mcds__step *step_out);
/* The same while another operation of this handle reads the root. False: this one reads it. */
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
 * order, on one server. */
enum mcds__step mcds__map_ask_append(struct mcds__map_update *update,
                                     struct mcds__operation *operation, uint32_t depth);
/* Let the next of these batches begin with an add of the key of a flat map, empty. False: no
 * memory. */
bool mcds__map_fill_add(struct mcds__map_update *update);

/* The outcome of the record, from the value that was read after the append. */
int mcds__map_read_code(struct mcds__map_update *update, struct mcds__operation *operation);

/* The key exists now and refused the append. memcached answers NOT_STORED if it has no memory,
 * and also if the key was missing and another client has created it since: a read before the
 * append and one after it distinguish these. The first function puts the read before the append
 * in the place of the add. The second: whether the key existed all the time. */
void mcds__map_fill_room_check(struct mcds__map_update *update);
bool mcds__map_take_room_check(const struct mcds__map_update *update);

/* The ends of an update. A failure is AMBIGUOUS while the record is in doubt. The second: with the
 * result of this reply. The third: the store has refused the append. The fourth: the deadline has
 * passed: other clients rewrote the key, or the store could not be reached. */
enum mcds__step mcds__map_finish(struct mcds__map_update *update,
                                 struct mcds__operation *operation, int result,
                                 const mcds_reason *detail);
enum mcds__step mcds__map_fail(struct mcds__map_update *update,
                               struct mcds__operation *operation, const mcds_reply *reply);
enum mcds__step mcds__map_fail_append(struct mcds__map_update *update,
                                      struct mcds__operation *operation);
enum mcds__step mcds__map_finish_waiting(struct mcds__map_update *update,
                                         struct mcds__operation *operation,
                                         const mcds_reason *detail);
/* The record counts. Or the life in which it may count is over: whether the store has lost it, the
 * next operation says; this one says only that its own change is in doubt. */
enum mcds__step mcds__map_finish_done(struct mcds__map_update *update,
                                      struct mcds__operation *operation);
enum mcds__step mcds__map_finish_over(struct mcds__map_update *update,
                                      struct mcds__operation *operation);

#endif
