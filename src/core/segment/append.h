/* Segment: the stages of an append and their transitions, which the files that append share. */
#ifndef MCDS_CORE_SEGMENT_APPEND_H
#define MCDS_CORE_SEGMENT_APPEND_H

#include "core/segment/segment.h"

#define REFUSALS_MAX 8 /* inconclusive refusals; after these an attempt waits */

enum {
    APPEND_BEGIN,
    APPEND_BLOCKS,   /* storing a large payload */
    APPEND_LOCATING, /* searching for the end, or reading the end segment */
    APPEND_ASKED,
    APPEND_SETTLE,
    APPEND_SETTLING, /* reading the sizes of the segments below */
    APPEND_CLOSING,  /* filling one of them that is open */
    APPEND_RESOLVE,
    APPEND_RESOLVING, /* reading a closed segment in which a copy may be */
    APPEND_COUNT,
    APPEND_COUNTED, /* writing the count by itself */
    APPEND_REFUSED, /* the store has refused the records */
    APPEND_PROVE    /* reading the root */
};

/* How many bytes of whole records fit into `scratch` bytes. */
size_t mcds__segment_whole_records(const struct mcds__segment_append *append, size_t scratch);
/* The requests of a batch: [[read the count,] make or get the segment,] append, get [, read or
 * write the count] [, get the root]. Returns how many. */
uint32_t mcds__segment_append_fill(struct mcds__segment_append *append,
                                   const struct mcds__segment_place *place,
                                   const struct mcds__operation *operation);
/* Fill MCDS__SEGMENT_COUNTING requests: read the count, write it, and get the segment of that
 * number. Or only the first of them. */
#define MCDS__SEGMENT_COUNTING 3
void mcds__segment_write_count(struct mcds__segment_append *append, uint64_t count,
                               mcds_request *requests);
void mcds__segment_read_count(struct mcds__segment_append *append, mcds_request *request);

/* Continue in another stage at once. */
static inline enum mcds__step mcds__segment_append_go(struct mcds__segment_append *append,
                                                      uint8_t stage)
{
    append->stage = stage;
    append->goes_on = true;
    return MCDS__SLEEP;
}

/* A copy may count in the segment, or after it. */
void mcds__segment_append_note_doubt(struct mcds__segment_append *append);
enum mcds__step mcds__segment_append_fail(struct mcds__segment_append *append,
                                          struct mcds__operation *operation,
                                          const mcds_reply *reply);
bool mcds__segment_append_has_no_room(const mcds_reply *before, const mcds_reply *refused,
                                      const mcds_reply *after);
enum mcds__step mcds__segment_append_fail_for_scratch(struct mcds__segment_append *append,
                                                      struct mcds__operation *operation,
                                                      const mcds_reply *reply);
/* The store has refused the records in `segment`, which contains none of them. */
enum mcds__step mcds__segment_append_refuse(struct mcds__segment_append *append,
                                            const mcds_reply *reply);
enum mcds__step mcds__segment_append_take_refused(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation);
enum mcds__step mcds__segment_append_end(struct mcds__segment_append *append,
                                         struct mcds__operation *operation, bool is_cleared);
enum mcds__step mcds__segment_append_try_later(struct mcds__segment_append *append,
                                               struct mcds__operation *operation, uint8_t stage,
                                               const mcds_reply *reply);

/* The replies to mcds__segment_write_count or _read_count in the batch of the records. */
void mcds__segment_append_take_count(struct mcds__segment_append *append,
                                     const mcds_request *requests, const mcds_buffer *values);
/* Write the count by itself, and then settle; or take it back, and then fail. */
enum mcds__step mcds__segment_append_count(struct mcds__segment_append *append,
                                           struct mcds__operation *operation);
enum mcds__step mcds__segment_append_take_counted(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation);

/* This segment has the flags of the end segment, and so many bytes that are not of this
 * append. A stream of a log has no end segment. */
enum mcds__step mcds__segment_append_see_end(struct mcds__segment_append *append,
                                             struct mcds__operation *operation,
                                             uint64_t segment, size_t others);
enum mcds__step mcds__segment_append_settle(struct mcds__segment_append *append,
                                            struct mcds__operation *operation);
enum mcds__step mcds__segment_append_take_settling(struct mcds__segment_append *append,
                                                   struct mcds__operation *operation);
enum mcds__step mcds__segment_append_take_closing(struct mcds__segment_append *append,
                                                  struct mcds__operation *operation);
enum mcds__step mcds__segment_append_prove(struct mcds__segment_append *append,
                                           struct mcds__operation *operation);

enum mcds__step mcds__segment_append_resolve(struct mcds__segment_append *append,
                                             struct mcds__operation *operation);
enum mcds__step mcds__segment_append_take_resolution(struct mcds__segment_append *append,
                                                     struct mcds__operation *operation);

#endif
