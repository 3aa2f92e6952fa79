/* Runs the programs of this folder: the seeds, the scheduler and the faults of each run, and the
 * report of a run that fails. These variables replay a run, and make it smaller:
 *
 *   MCDS_SIM_SEED       the first seed (1)
 *   MCDS_SIM_SEEDS      number of schedules (that of each case)
 *   MCDS_SIM_SEEDS_MAX  largest number of schedules, where the case has more
 *   MCDS_SIM_SCHEDULER  random, priorities, or exhaustive: every schedule of one seed's options
 *   MCDS_SIM_CASE       the cases to run, as a pattern of cmocka
 *   MCDS_SIM_CLIENTS    largest number of clients
 *   MCDS_SIM_CALLS      largest number of calls of each client
 *   MCDS_SIM_OFF        kinds of fault that do not happen: cut_before,late,...
 *   MCDS_SIM_FAULTS     numbers of the other faults that happen: 3,17
 *   MCDS_SIM_FAULT_MAX  largest number of faults
 *   MCDS_SIM_FIGURES    a file, to which each run appends a line with its figures */
#ifndef MCDS_TESTS_SIM_PLAY_H
#define MCDS_TESTS_SIM_PLAY_H

#include "mcds.h"
#include "mcds/sim.h"
#include "support/lengths.h"

/* Trouble on the way only: the server forgets nothing. */
mcds_sim_options network_faults(uint64_t seed);
/* And a server that loses keys. */
mcds_sim_options all_faults(uint64_t seed);
/* An eighth of the trouble on the way, for calls that ask for many keys. */
mcds_sim_options fewer_faults(mcds_sim_options options);

/* Go through the seeds, `usual` of them where nothing else is said. */
#define PLAY(seed, usual)                                                                      \
    for (uint64_t seed = play_begin(usual); play_goes_on(); seed = play_next(seed))
uint64_t play_begin(uint64_t usual);
bool play_goes_on(void);
uint64_t play_next(uint64_t seed);
/* Where a run has too many choices: the exhaustive scheduler goes through all schedules in which so
 * many of them, at most, are a delay or a fault. Call before PLAY. */
void play_bound_choices(uint32_t deviation_max);
/* How many schedules this case runs through. */
uint64_t play_count(void);
/* Whether so many schedules of the usual size are run that what is rare will have happened. */
bool play_is_whole(void);
/* Skip the case if they are fewer. */
void skip_unless_whole(void);

#define SEEN(condition) assert_true(!play_is_whole() || (condition))

/* At most `usual`. */
uint32_t play_clients(uint32_t usual);
uint32_t play_calls(uint32_t usual);

/* mcds_sim_open and mcds_sim_close, with what is set from outside, and counted. */
int play_open(const mcds_sim_options *options, mcds_sim **sim_out);
/* The same, with several servers, which stop for a while at this rate. */
int play_open_servers(const mcds_sim_options *options, uint32_t servers, uint32_t hold_ppm,
                      mcds_sim **sim_out);
void play_close(mcds_sim *sim);
/* Adds a client and opens the lock "job" on its store, unless `lock_out` is NULL. */
void play_add_locker(mcds_sim *sim, mcds_sim_program *program, void *context, uint32_t lease_ms,
                     mcds_lock **lock_out);

/* mcds_sim_run; after each step `check` returns the violation, or NULL. Returns the first one. */
const char *play_run(mcds_sim *sim, uint64_t event_max, const char *(*check)(void *context),
                     void *context);
/* mcds_sim_run until the end, at most 200000 events. Reports *wrong, which the run may have set, or that
 * it does not end; then returns false. */
bool play_to_end(mcds_sim *sim, uint64_t seed, const char *const *wrong,
                 mcds_sim_counts *counts_out);
/* The number that the server has under this key at this moment, or `none`. */
uint64_t play_peek(mcds_sim *sim, const char *key, uint64_t none);
/* The same, and its flags. */
uint64_t play_peek_flags(mcds_sim *sim, const char *key, uint64_t none, uint32_t *flags_out);

/* Print the seed and what happened last. Always false. */
bool report(const mcds_sim *sim, uint64_t seed, const char *what);
/* The same, and the lengths of what was stored. */
bool report_lengths(const mcds_sim *sim, uint64_t seed, const char *what,
                    const struct lengths *lengths);

/* The lengths of this seed: mostly short, in every LONG_EVERYth run up to `longest`. */
void play_lengths(struct lengths *lengths, uint64_t seed, uint32_t count, size_t least,
                  size_t most, size_t longest);

#define PLAY_MAIN(structure)                                                                   \
    int main(void)                                                                             \
    {                                                                                          \
        play_set_up();                                                                         \
        int failed = cmocka_run_group_tests_name(structure, tests, NULL, NULL);                \
        play_tell(structure, failed);                                                          \
        return failed;                                                                         \
    }
void play_set_up(void);
void play_tell(const char *structure, int failed);

#endif
