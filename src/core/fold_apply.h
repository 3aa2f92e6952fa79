/* What each command does to the entry of its element. */
#ifndef MCDS_CORE_FOLD_APPLY_H
#define MCDS_CORE_FOLD_APPLY_H

#include "core/fold_contents.h"

struct mcds__fold_effect {
    enum mcds__fold_code code;
    int64_t number;
};

/* Bytes that live as long as the contents; NULL: no memory. */
uint8_t *mcds__fold_make(struct mcds__fold_contents *contents, size_t length);

/* Add an occurrence. False: no memory. */
bool mcds__fold_push(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                     const struct mcds__fold_record *record, int64_t *place_out);
/* The value of an entry has changed: keep the places sorted, where they are. False: no memory. */
bool mcds__fold_note_value(struct mcds__fold_contents *contents, mcds_bytes before,
                           mcds_bytes after);
/* Enter an id into those that are sorted. False: no memory. */
bool mcds__fold_sort_id(struct mcds__fold_contents *contents, uint32_t number);

/* Apply a record's command to its entry. False: no memory. */
bool mcds__fold_apply(struct mcds__fold_contents *contents, struct mcds__fold_entry *entry,
                      const struct mcds__fold_record *record, struct mcds__fold_effect *effect);

/* Decimal text, as COUNT and GATHER keep their numbers. False: no number, or beyond 64 bits. */
bool mcds__fold_parse_number(mcds_bytes text, int64_t *number_out);

/* PUSH keeps one of these for each occurrence, in order: when, and behind whom. */
#define MCDS__FOLD_PLACE 8

#endif
