/* What the simulations of logs share: the log, the times of its events, and the outcome of each put. */
#ifndef MCDS_TESTS_SIM_EVENTS_H
#define MCDS_TESTS_SIM_EVENTS_H

#include "mcds/log.h"
#include "mcds/sim.h"

#define EVENTS_CLIENTS 4
#define EVENTS_PUTS 16
#define EVENTS_ALL (EVENTS_CLIENTS * EVENTS_PUTS)
#define EVENTS_TAILS 40
/* Of an event; where it fills, six fill a segment. */
#define EVENTS_FILLS 2600
#define EVENTS_LENGTH 9000
#define EVENTS_REST_MS 4000
#define EVENTS_CHUNK_MS 15000
/* Where the clocks of the world begin, and how far back an event may be filed. */
#define EVENTS_START_MS INT64_C(1767225600000)
#define EVENTS_BEFORE_MS 60000

enum fate { NOT_BEGUN, UNDER_WAY, PUT, DOUBTFUL, REFUSED, IMPOSSIBLE };

mcds_log *events_open(mcds_sim_client *client);
/* The time of this event of the client: every third one is 30 s old, the others have none. */
int64_t events_time(mcds_sim_client *client, uint32_t number);
/* The fate of a put with this result; IMPOSSIBLE: with no such. */
enum fate events_fate(int result);

#endif
