/* Bucket: the offsets in a part of a queue (jobs.h), for the files that read and change it. */
#ifndef MCDS_CORE_MAP_BUCKET_JOBS_LAYOUT_H
#define MCDS_CORE_MAP_BUCKET_JOBS_LAYOUT_H

#include "core/map/bucket/jobs.h"

#define MCDS__JOBS_IS_OPEN 1
#define MCDS__JOBS_IS_CLOSED 2
/* Of a part: its state and the next number. */
#define MCDS__JOBS_NEXT_AT 1
#define MCDS__JOBS_HEAD 7
/* Of a job. */
#define MCDS__JOBS_TRIES_AT 6
#define MCDS__JOBS_STATE_AT 8
#define MCDS__JOBS_TIME_AT 9
#define MCDS__JOBS_LENGTH_AT 15
#define MCDS__JOBS_JOB 19

/* The state of a job. */
#define MCDS__JOBS_CLAIMED 1
#define MCDS__JOBS_DYING 2

/* The value of the numbers; returns its length. */
#define MCDS__JOBS_NUMBERS_MAX (8 + 12 * MCDS__JOBS_STRIPES_MAX)
size_t mcds__jobs_write_numbers(const struct mcds__jobs_numbers *numbers, uint8_t *out);

#endif
