/* Segment: read the records of a stream, or of several. */
#ifndef MCDS_CORE_SEGMENT_READ_H
#define MCDS_CORE_SEGMENT_READ_H

#include <assert.h>

#include "core/segment/segment.h"

/* Read segments [from, from + want) of a stream. If they are all missing and later ones exist,
 * or existed, it also finds the next one that is left. DONE with MCDS_OK; MCDS_UNSUPPORTED: a
 * newer version of mcds has written records into them; or failures of reading. */
#define MCDS__SEGMENT_WANT_MAX                                                                 \
    (MCDS__SEGMENT_CAPACITY - 2 - MCDS__SEGMENT_FAR - MCDS__SEGMENT_AHEAD -                    \
     MCDS__SEGMENT_DISTANCE_MAX)
#define MCDS__SEGMENT_SURVEY_MAX 28
struct mcds__segment_item {
    uint32_t index; /* of the segment, among those read */
    uint32_t begin; /* of the record, in the segment's value */
};
struct mcds__segment_read {
    struct mcds__segments *segments;
    uint64_t stream; /* in, as the next two */
    uint64_t from;
    uint32_t want; /* 1 to MCDS__SEGMENT_WANT_MAX */
    bool stays;    /* in: do not search for the next segment that is left */
    bool recalls;  /* in: missing segments that this handle has seen count as lost */
    bool looks;    /* in: gets the root too */
    /* in: what the caller has read of segment `from`: its incarnation, or 0, and the bytes. A loss
     * that these bytes show is no gap. */
    uint32_t seen_incarnation;
    size_t seen_size;
    bool resumes; /* in: the caller has read the segments below `from` in another call */
    /* in: of so many segments, from `from` on, the caller has counted the loss; and so many had been
     * made then, 0: that is not known. */
    uint32_t counted;
    uint32_t lost;
    uint8_t truth; /* out: of that GET, for the life of `stream` */
    /* out: the records that count, in order, until the next read */
    struct mcds__segment_item *items;
    uint32_t count;
    uint64_t gaps;       /* out: adds up over all reads: gaps, where segments are missing */
    uint64_t corrupt;    /* out: adds up over all reads: runs of bytes that are not records */
    const char *lost_at; /* out: the server of the first gap; NULL: not known */
    bool more;           /* out: segments exist after those read */
    uint64_t bound; /* out: no segment existed from here on; at most twice as far as the last */
    bool ended;     /* out: the stream has ended */
    bool is_empty;  /* out: none of the segments exists */
    uint32_t here;  /* out: the incarnation of segment `from`; 0: it does not exist */
    uint32_t before; /* out: that of the segment before */
    uint64_t made;   /* out: the count; 0: not known */
    uint64_t next;   /* out: where to continue: the segment after those read, or the last one */
    uint32_t next_incarnation; /* out: its incarnation; 0: it does not exist */
    size_t
        next_size; /* out: the bytes of it that have been read, or, if it does not exist, how many
                       * segments are missing from there on */
    uint8_t stage; /* private; 0 at the start, as all that follow */
    bool is_newer;
    bool is_followed; /* segments exist after those that are missing */
    /* out: the request of the first value that is corrupt or newer, kept in `scratch`; NULL: none */
    const mcds_request *refused;
    uint64_t known; /* the segments below it have been made: `made`, or what was seen before */
    struct mcds__segment_sight sight; /* before the segments were asked for */
    uint64_t seed;                    /* of the table of ids, which others choose */
    uint32_t back;                    /* segments before `from`, read for their ids */
    uint32_t head; /* requests before those for segments: that for the count */
    uint32_t near; /* segments read with their values, */
    uint32_t base; /* and where their requests begin */
    struct mcds__segment_find find;
    uint32_t all_count;
    uint32_t all_scratch;
    struct mcds__segment_item *all;
    uint8_t kinds[MCDS__SEGMENT_SURVEY_MAX];         /* of a survey */
    uint32_t incarnations[MCDS__SEGMENT_SURVEY_MAX]; /* of the first segments; 0: missing */
    const char *peers[MCDS__SEGMENT_SURVEY_MAX];     /* their servers */
    uint32_t *table;
    uint32_t table_size;
    mcds_buffer values;
    struct mcds__segment_scratch *scratch;
};
void mcds__segment_read_begin(struct mcds__segment_read *read, struct mcds__segments *segments,
                              uint64_t stream);
enum mcds__step mcds__segment_read_step(struct mcds__segment_read *read,
                                        struct mcds__operation *operation);
/* The request for the i-th of the segments read with their values, and its value. */
static inline const mcds_request *
mcds__segment_read_request(const struct mcds__segment_read *read, uint32_t i)
{
    assert(i < read->near && read->base + read->near <= MCDS__SEGMENT_CAPACITY);
    return &read->scratch->requests[read->base + read->near - 1 - i];
}
static inline mcds_bytes mcds__segment_read_value(const struct mcds__segment_read *read,
                                                  uint32_t i)
{
    const mcds_reply *reply = &mcds__segment_read_request(read, i)->reply;
    assert(reply->outcome == MCDS_OUT_OK);
    return reply->value_length == 0
               ? (mcds_bytes){NULL, 0}
               : (mcds_bytes){read->values.data + reply->value_at, reply->value_length};
}
/* Keep the request, whose value cannot be read, if it is the first. NULL: not known. */
void mcds__segment_read_note_refused(struct mcds__segment_read *read,
                                     const mcds_request *request);
static inline const char *mcds__segment_read_refused_at(const struct mcds__segment_read *read)
{
    return read->refused != NULL ? read->refused->reply.peer : NULL;
}
/* Count gaps at this server. */
static inline void mcds__segment_read_note_gaps(struct mcds__segment_read *read, uint64_t gaps,
                                                const char *peer)
{
    read->gaps += gaps;
    if (gaps > 0 && read->lost_at == NULL)
        read->lost_at = peer;
}
/* A record that begins there, at the end of `all`. False: no memory. */
bool mcds__segment_add_item(struct mcds__segment_read *read, uint32_t index, size_t begin);
/* Of several copies of a record in `all`, keep the first one. False: no memory. */
bool mcds__segment_drop_copies(struct mcds__segment_read *read);
/* Whether the header of the segment after the i-th names another incarnation. */
bool mcds__segment_is_disowned(const struct mcds__segment_read *read, uint32_t i);
/* Whether a segment exists that no writer makes before the i-th is closed. */
bool mcds__segment_has_distant(const struct mcds__segment_read *read, uint32_t i);
/* Whether the segment after the i-th is missing, and it was made, or a later one exists. Segments are
 * made in their order, so that one is lost, and the i-th may be lost and made again. */
bool mcds__segment_is_before_lost(const struct mcds__segment_read *read, uint32_t i);
/* Whether the i-th segment, the last one of those read, is open although the next one exists. Only
 * the header of that one shows whether the i-th was lost and made again, so both are read next. */
bool mcds__segment_is_before_unread(const struct mcds__segment_read *read, uint32_t i);
/* Survey `count` streams at once: `stream` and the next ones, or, with `down`, the ones before.
 * Sets the kind of each in `kinds`. DONE with MCDS_OK: `items` are the records of the SHORT
 * ones; the index of an item is that of its stream. Or failures of reading. */
enum mcds__segment_kind { MCDS__SEGMENT_NOTHING, MCDS__SEGMENT_SHORT, MCDS__SEGMENT_LONG };
enum mcds__step mcds__segment_survey_step(struct mcds__segment_read *read, uint32_t count,
                                          bool down, struct mcds__operation *operation);
/* The record of an item; returns its segment. The payload of a LARGE one is elsewhere. */
uint64_t mcds__segment_read_item(const struct mcds__segment_read *read,
                                 const struct mcds__segment_item *item,
                                 struct mcds__segment_record *record_out);
/* The incarnation of the segment of an item. */
uint32_t mcds__segment_read_incarnation(const struct mcds__segment_read *read,
                                        const struct mcds__segment_item *item);
/* The blocks of the LARGE records that were read: which of them is the next to be erased. */
struct mcds__segment_blocks {
    bool of_survey; /* the read was a survey, with streams from `stream` up */
    uint32_t item;
    uint32_t block;
};
/* Requests that erase blocks, from the next one on. Returns how many; 0: none is left. */
uint32_t mcds__segment_fill_block_erasures(const struct mcds__segment_read *read,
                                           struct mcds__segment_blocks *blocks,
                                           struct mcds__segment_scratch *scratch);
void mcds__segment_read_free(struct mcds__segment_read *read);

#endif
