/* Faults: the records of lists and logs, and what is expected of them. */
#ifndef MCDS_TESTS_STRUCTURES_FAULTS_RECORDS_H
#define MCDS_TESTS_STRUCTURES_FAULTS_RECORDS_H

#include "core/segment/segment.h"
#include "structures/faults.h"

/* Four records fill a part but for less than the next. */
#define FILLER_LENGTH ((MCDS__SEGMENT_LIMIT - 2000) / 4)
#define FULL_LENGTH 3000
#define LARGE_LENGTH 20000
#define DEEP 9
#define TOGETHER 3

/* A record of some length that begins with a word; valid until TOGETHER others are made. */
mcds_bytes record_of(const char *word, size_t length);
/* The records that are put together. */
void records_of(mcds_bytes records[TOGETHER], size_t length);

/* The state as text: the number of fillers, and the other records in order. */
struct model {
    uint64_t fillers;
    char text[STATE_MAX - 32];
};
void model_note(struct model *model, mcds_bytes record);
void model_tell(const struct model *model, char *state);

/* After so many calls that each add one record. */
void expect_records(const struct trial *trial, uint32_t calls, struct expected *expected);
void expect_read(const struct trial *trial, uint32_t calls, struct expected *expected);
/* All of them are there, or, after a failure, the first of them or none; and again, all after
 * these. */
void judge_many(struct trial *trial, int result,
                void (*read)(struct trial *trial, char *state));

#endif
