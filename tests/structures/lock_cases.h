/* The common part of the lock's tests. */
#ifndef MCDS_TESTS_STRUCTURES_LOCK_CASES_H
#define MCDS_TESTS_STRUCTURES_LOCK_CASES_H

#include "structures/suite.h"

/* Skips the case when the store can keep no lock. lease_ms 0: the default. */
mcds_lock *open_lock(mcds_store *store, const char *name, uint32_t lease_ms, const char *label);
/* The shortest lease that the store takes. */
uint32_t shortest_lease_ms(const struct suite *suite);

/* A lock as two programs see it: through suite->store and suite->other. */
struct rivals {
    const char *name;
    mcds_lock *mine;
    mcds_lock *theirs;
    mcds_lease lease; /* of mine */
    mcds_lease other; /* of theirs */
};
void open_rivals(struct suite *suite, struct rivals *rivals, uint32_t lease_ms);
void close_rivals(struct rivals *rivals);

/* Those of lock_time.c. */
void renewal_begins_the_time_again(struct suite *suite);
void a_lease_ends(struct suite *suite);
void a_release_after_the_deadline_is_lost(struct suite *suite);
void steps_of_the_wall_clock_move_no_lease(struct suite *suite);
void waiting_runs_out(struct suite *suite);
void waiting_gets_it_after_release(struct suite *suite);
void one_holder_at_a_time(struct suite *suite);

/* Those of lock_watch.c. */
void a_watch_follows_the_holders(struct suite *suite);
void a_watch_needs_the_tenure(struct suite *suite);
void a_watch_reports_no_attempt_and_no_renewal(struct suite *suite);
void a_watch_reports_a_fence_that_fell(struct suite *suite);
void a_watch_runs_out(struct suite *suite);
void a_watch_sees_a_lease_end(struct suite *suite);

/* Those of lock_share.c. */
void a_lease_is_shared_by_its_text(struct suite *suite);
void a_text_of_an_ended_lease_takes_no_other(struct suite *suite);
void a_shared_lease_outlives_a_deadline(struct suite *suite);
void a_text_that_is_not_whole_is_refused(struct suite *suite);

/* Those of lock_readers.c. */
void readers_share_and_exclude_a_writer(struct suite *suite);
void the_holder_shows_who_shares(struct suite *suite);
void the_label_and_the_time_are_those_of_one_holder(struct suite *suite);
void a_writer_that_waits_keeps_readers_out(struct suite *suite);
void the_lease_of_one_reader_ends(struct suite *suite);
void nobody_shortens_the_lease_of_another_reader(struct suite *suite);
void a_break_ends_all_that_share(struct suite *suite);
void a_shared_acquisition_has_a_text(struct suite *suite);
void no_more_than_64_share(struct suite *suite);

/* Those of lock/drop.c. */
void drop_leaves_nothing(struct suite *suite);
void a_held_lock_is_not_dropped(struct suite *suite);
void a_young_fence_ends_by_itself(struct suite *suite);
void a_fence_ahead_of_the_clock_stays(struct suite *suite);
void a_number_that_is_no_fence_is_dropped(struct suite *suite);
void a_clock_after_2190_acquires_nothing(struct suite *suite);

#endif
