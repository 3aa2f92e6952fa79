/* Bucket: the effect of each command on the entry of its element. */
#ifndef MCDS_CORE_MAP_BUCKET_APPLY_H
#define MCDS_CORE_MAP_BUCKET_APPLY_H

#include "core/map/bucket/bucket.h"

struct mcds__map_effect {
    enum mcds__map_code code;
    int64_t number;
};

/* Bytes that live as long as the bucket; NULL: no memory. */
uint8_t *mcds__map_make(struct mcds__bucket *bucket, size_t length);
void mcds__map_free_made(struct mcds__bucket *bucket);

/* Add an occurrence. `writer` is the record's. False: no memory. */
bool mcds__map_push(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                    const struct mcds__map_writer *writer,
                    const struct mcds__map_record *record, int64_t *place_out);
/* The value of an entry has changed: update the sorted positions, if any. False: no memory. */
bool mcds__map_note_value(struct mcds__bucket *bucket, mcds_bytes before, mcds_bytes after);
/* Add an id to the sorted ones. False: no memory. */
bool mcds__map_sort_id(struct mcds__bucket *bucket, uint32_t number);

/* Apply a record's command to its entry. `writer` is the record's. False: no memory. */
bool mcds__bucket_apply(struct mcds__bucket *bucket, struct mcds__map_entry *entry,
                        const struct mcds__map_writer *writer,
                        const struct mcds__map_record *record, struct mcds__map_effect *effect);

/* Decimal text, as COUNT and GATHER keep their numbers. False: no number, or beyond 64 bits. */
bool mcds__map_parse_number(mcds_bytes text, int64_t *number_out);

/* PUSH stores a position of this length for each occurrence, in rising order. */
#define MCDS__MAP_PLACE 8

#endif
