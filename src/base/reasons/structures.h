/* The reasons that structures have: what their keys hold, clocks, leases, and other callers.
 * base/reason.h explains the form. */
#ifndef MCDS_BASE_REASONS_STRUCTURES_H
#define MCDS_BASE_REASONS_STRUCTURES_H

/* clang-format off */
#define MCDS__REASONS_OF_STRUCTURES(X)                                                         \
    X(NEWER, NEWER, "it was made by a newer version of mcds: upgrade this program")            \
    X(OLDER, FORM_DIFFERS,                                                                     \
      "it was made by an older version of mcds, in a form that this one does not read: dump "  \
      "and drop it with that version, then load it with this one")                             \
    X(FOREIGN, FOREIGN, "its key holds something that mcds did not write")                     \
    X(DROPPED_MEANWHILE, GONE, "it was dropped, or the store lost it, before this had ended")  \
    X(MAKING_IN_DOUBT, REPLY_LOST,                                                             \
      "the reply to the request that makes it was lost, and nothing made by that request is "  \
      "there: the request may still arrive")                                                   \
    X(KEY_REWRITTEN, CONTENDED, "its key is being rewritten by others")                        \
    X(NO_MEMORY_TO_REWRITE, NO_MEMORY, "this process has no memory to rewrite its key")        \
    X(ITS_KEY_VANISHES, CONTENDED, "its key vanishes again and again")                         \
    X(CLOCK_BEHIND, CLOCK,                                                                     \
      "this machine's clock is more than ten minutes before that of others, or 30 seconds "    \
      "while thousands of handles change its key: correct the one that is wrong, or wait")     \
    X(CLOCK_BEFORE_1970, CLOCK, "this machine's clock is before 1970: set it")                 \
    X(CLOCK_BEFORE_2020, CLOCK,                                                                \
      "this machine's clock is before 2020, from which on ids work: set it")                   \
    X(CLOCK_AFTER_2089, CLOCK,                                                                 \
      "this machine's clock is after 2089, until which ids work: set it")                      \
    X(CLOCK_AFTER_2190, CLOCK,                                                                 \
      "this machine's clock is after 2190, until which locks and limits work: set it")         \
    X(CLOCK_MONOTONIC, CLOCK,                                                                  \
      "the monotonic clock is below 0, as with a faked time: fake only the wall clock "        \
      "(faketime: FAKETIME_DONT_FAKE_MONOTONIC=1)")                                            \
    X(CLOCK_BEFORE_TAKE, CLOCK,                                                                \
      "this machine's clock is more than 5 s before that of the last take of this identity: "  \
      "correct the one that is wrong, or wait")                                                \
    X(CLOCK_BEFORE_IDS, CLOCK,                                                                 \
      "this machine's clock is more than twice spread_ms before that of another caller: "      \
      "correct the one that is wrong, or wait")                                                \
    X(EVENT_BEFORE_LATE, CLOCK,                                                                \
      "the event is more than late_ms before this machine's clock: put events sooner, or "     \
      "correct the clock that is wrong")                                                       \
    X(EVENT_BEYOND_AHEAD, CLOCK,                                                               \
      "the event is more than ahead_ms after this machine's clock: correct the clock that "    \
      "is wrong, or wait")                                                                     \
    X(BEAT_TOO_OLD, CLOCK,                                                                     \
      "another beat of this visitor is more than 31 buckets later: correct the clock that "    \
      "is wrong")                                                                              \
    X(SERVER_FULL_FOR_IT, STORE_FULL,                                                          \
      "the store has no memory for it; cache_memlimit gives a memcached more while it runs")   \
    X(OTHERS_MAKE_IT, CONTENDED, "others are making it")                                       \
    X(DROPPED, GONE,                                                                           \
      "it was dropped by another, or the store has lost it; the next change makes it again")   \
    X(PART_GONE, GONE,                                                                         \
      "a part of it is gone: the store was restarted or flushed, or it evicts; drop it to "    \
      "begin again")                                                                           \
    X(KEYS_VANISH, CONTENDED, "its keys vanish again and again")                               \
    X(ROOT_CHANGES, CONTENDED, "its root changes again and again")                             \
    X(NO_COMPARE_AND_SET, NO_COMPARE_AND_SET,                                                  \
      "the store has no compare-and-set (memcached: start it without -C)")                     \
    X(GRANTED_LATE, LEASE_OVER,                                                                \
      "the store took so long that the lease was over when it was granted")                    \
    X(REQUEST_MAY_ARRIVE, REPLY_LOST,                                                          \
      "another holds it, and a request for it whose reply was lost may still arrive")          \
    X(KEY_VANISHES, CONTENDED, "the key vanishes again and again")                             \
    X(LEASE_GONE, LEASE_OVER,                                                                  \
      "the lease is gone; whether it had ended before the release is not known")               \
    X(LEASE_ENDED_BEFORE, LEASE_OVER,                                                          \
      "the lease had ended before; the work under it may have overlapped with another's")      \
    X(LEASE_ENDED_OR_RELEASED, LEASE_OVER,                                                     \
      "the lease had ended or was released before; if it had ended, the work under it may "    \
      "have overlapped with another's")                                                        \
    X(DELETE_REFUSED, CONTENDED, "the store kept refusing the compare-and-delete")             \
    X(RENEWED_LATE, LEASE_OVER, "renewed, but the answer came after the new deadline")         \
    X(LEASE_ENDED, LEASE_OVER, "the lease had ended; another may have held it since")          \
    X(RENEWAL_LATE, TIMEOUT, "the deadline passed before the lease could be renewed")          \
    X(SET_REFUSED, CONTENDED, "the store kept refusing the compare-and-set")                   \
    X(LEASE_LOST, GONE,                                                                        \
      "the store has lost the lease and its fence: it was restarted or flushed, or it "        \
      "evicts; acquire the lock again")                                                        \
    X(LEASE_TAKEN, LEASE_OVER, "the lease had ended; another holds it")                        \
    X(LEASE_DEADLINE, LEASE_OVER, "the deadline of the lease has passed")                      \
    X(TOO_MANY_INTERVALS, CONTENDED, "too many intervals are in use at once")                  \
    X(BAD_REGISTER, DAMAGED, "it has an invalid HyperLogLog register")                         \
    X(SERVER_FULL_FOR_VALUE, STORE_FULL, "the store has no memory for a longer value")         \
    X(OTHERS_CLEAR_IT, CONTENDED, "it is being cleared by others")                             \
    X(OTHERS_CHANGE_IT, CONTENDED, "others change it all the time")                            \
    X(KEY_VANISHED, CONTENDED, "its key has vanished meanwhile")                               \
    X(KEY_IN_DOUBT, REPLY_LOST,                                                                \
      "a reply was lost, and its key is missing: it is not made yet, or it was made and is "   \
      "gone")                                                                                  \
    X(CHANGE_UNREADABLE, DAMAGED,                                                              \
      "its key holds bytes that mcds did not write, or that are damaged, so whether the "      \
      "change counts cannot be read; if they are damaged, restore a backup")                   \
    X(MADE_MEANWHILE, CONTENDED, "its key was made by others meanwhile")                       \
    X(CHANGED_TOO_OFTEN, CONTENDED, "others have changed it too often meanwhile")              \
    X(VALUE_GONE, GONE,                                                                        \
      "the value that this handle has used is gone: dropped by another, or lost by the "       \
      "store; the next change makes it again")                                                 \
    X(VALUE_BLOCK_GONE, GONE,                                                                  \
      "a part of the value is gone: the store was restarted or flushed, or it evicts; set "    \
      "it again")                                                                              \
    X(VALUE_LENGTH, DAMAGED, "the parts of the value have another length")                     \
    X(SETTINGS_FOREIGN, FOREIGN, "its settings are something that mcds did not write")         \
    X(SETTINGS_VANISH, CONTENDED, "its settings vanish again and again")                       \
    X(FLUSH_FORGOTTEN, REPLY_LOST,                                                             \
      "this handle did not flush for so long that the outcome of its flush before is not "     \
      "known any more")                                                                        \
    X(TOO_MANY_WRITERS, CONTENDED, "too many writers have left an entry in this slot")         \
    X(MOST_SERVERS_LOST, GONE, "most of the servers have lost this counter")                   \
    X(SLOT_CHANGES, CONTENDED, "others kept changing the slot")                                \
    X(OTHER_FLUSH, CONTENDED, "another flush of this handle does not end")                     \
    X(COUNTER_GONE, GONE,                                                                      \
      "the counter that this handle has used is gone; open it again to accept that")           \
    X(FLUSH_ENDLESS, CONTENDED, "a flush of this handle does not end")                         \
    X(KEY_GONE, GONE,                                                                          \
      "the key that this handle has used is gone; open it again to accept that")               \
    X(KEY_NOT_A_NUMBER, NOT_A_NUMBER, "the key does not hold a number")                        \
    X(COUNTER_NOT_A_NUMBER, NOT_A_NUMBER,                                                      \
      "the key does not hold a number; open a counter made EXACT or with stripes the same "    \
      "way")                                                                                   \
    X(COUNTER_MADE_AGAIN, MADE_AGAIN,                                                          \
      "the counter was lost and made again; open it again to accept that")                     \
    X(COUNTER_DIFFERS, FORM_DIFFERS,                                                           \
      "this counter was made EXACT or with stripes; open it the same way")                     \
    X(LOST_SIGN, MADE_AGAIN,                                                                   \
      "the counter was lost and made again without SIGNED, so it does not go below zero")      \
    X(RANGE_IN_DOUBT, OVERFLOW,                                                                \
      "the number left its range, and whether the addition was taken back is not known")       \
    X(LOST_AFTER_ADD, GONE,                                                                    \
      "the counter was lost after the addition; open it again to accept that")                 \
    X(MADE_AGAIN_IN_DOUBT, MADE_AGAIN,                                                         \
      "added, but whether the counter has begun again before is not known")                    \
    X(MADE_UNSIGNED, FORM_DIFFERS,                                                             \
      "this counter was made without SIGNED and cannot go down; drop it to start again")       \
    X(SUM_TOO_LARGE, OVERFLOW, "the sum of this handle would leave 2^61")                      \
    X(SERVER_PART_LOST, GONE, "a part of the counter was lost; open it again to accept that")  \
    X(COUNTER_LOST, GONE,                                                                      \
      "the counter that this handle has used was lost; open it again to accept that")          \
    X(OTHERS_KEPT_CHANGING, CONTENDED, "others kept changing it")                              \
    X(VALUE_NOT_A_NUMBER, NOT_A_NUMBER, "the value is not a number")                           \
    X(LIST_CLEAR_IN_DOUBT, MADE_AGAIN,                                                         \
      "the list was made again, and whether it was cleared is not known")                      \
    X(LIST_MADE_AGAIN, MADE_AGAIN,                                                             \
      "the list was lost and made again; repeat the call to use the new one")                  \
    X(OTHERS_PUSH, CONTENDED, "others push as fast as the list can be ended")                  \
    X(PART_FOREIGN, FOREIGN, "a part of it holds something that mcds did not write")           \
    X(LIST_GONE, GONE,                                                                         \
      "the list that this handle has used is gone; the next push makes it again")              \
    X(HELD_BY_ANOTHER, HELD, "another holds it")                                               \
    X(HELD_BY_OTHERS, HELD, "others hold all its permits")                                     \
    X(SHARED_BY_ALL, HELD, "64 share it, which is the limit")                                  \
    X(WRITER_WAITS, HELD, "others share it, and a caller waits to have it alone")              \
    X(LOCK_WITHOUT_TTL, UNSUPPORTED,                                                           \
      "a shared lock needs a server that reports the time that a key has left")                \
    X(LEASE_OF_OTHER_MODE, BAD_LEASE,                                                          \
      "the lease belongs to an acquisition in the other mode, shared or exclusive; release "   \
      "it first")                                                                              \
    X(HELD, HELD, "it is held; drop it after its holder has released it")                      \
    X(CLAIM_ENDED, LEASE_OVER,                                                                 \
      "the claim has ended, and another worker may have claimed or done the job since")        \
    X(JOBS_GONE, GONE,                                                                         \
      "the store has lost jobs of it, or all: it was restarted or flushed, or it evicts; "     \
      "jobs that are left are kept")                                                           \
    X(JOBS_GONE_UNTIL_DROPPED, GONE,                                                           \
      "the store has lost jobs of it, or all: it was restarted or flushed, or it evicts; "     \
      "jobs that are left are kept; this is reported until the queue is dropped")              \
    X(JOB_LIST_GONE, GONE,                                                                     \
      "the list of its parts is gone, so no job can be claimed or pushed; to keep its other "  \
      "jobs, dump it, drop it, and load the dump")                                             \
    /* The next five take the place of PART_GONE and others where the store does not evict. */ \
    X(PART_MISSING, GONE,                                                                      \
      "a part of it is gone, and this store evicts nothing: its data is damaged, or another "  \
      "program has deleted keys; restore a backup, or drop it to begin again")                 \
    X(LEASE_MISSING, GONE,                                                                     \
      "the lease and its fence are gone: the lock was dropped, or the data of the store is "   \
      "damaged; acquire the lock again")                                                       \
    X(VALUE_BLOCK_MISSING, GONE,                                                               \
      "a part of the value is gone, and this store evicts nothing: its data is damaged, or "   \
      "another program has deleted keys; restore a backup, or set it again")                   \
    X(JOBS_MISSING, GONE,                                                                      \
      "some of its jobs are gone, and this store evicts nothing: its data is damaged, or "     \
      "another program has deleted keys; the other jobs are kept: work on them, or restore "   \
      "a backup")                                                                              \
    X(JOBS_MISSING_UNTIL_DROPPED, GONE,                                                        \
      "some of its jobs are gone, and this store evicts nothing: its data is damaged, or "     \
      "another program has deleted keys; the other jobs are kept; restore a backup; this is "  \
      "reported until the queue is dropped")                                                   \
    X(PARTS_FILLED, CONTENDED,                                                                 \
      "other callers fill the parts of the queue faster than this call can push to them")      \
    X(JOBS_MAY_BE_LOST, UNSUPPORTED,                                                           \
      "its server may evict jobs; if they may be lost, open it with MCDS_QUEUE_MAY_LOSE")      \
    X(LIMITED, LIMITED, "the rate limit is reached")                                           \
    X(ONLY_BUCKETS, UNSUPPORTED,                                                               \
      "a limit of windows has no give, scan or drop: its slots expire by themselves")          \
    X(FENCE_FORGED, FOREIGN,                                                                   \
      "its fence is no number that a lock draws: somebody has set it; drop it")                \
    X(FENCE_AHEAD, CLOCK,                                                                      \
      "its fence is far ahead of this machine's clock, and the next one would be smaller; "    \
      "drop it where the clock is right, or later")                                            \
    X(FENCE_FELL, GONE,                                                                        \
      "its fence is smaller than one seen before: the store has lost it, and what it "         \
      "protects may refuse later holders")                                                     \
    X(HOLDER_UNCHANGED, HELD, "it has the same holder as before, or is free as before")        \
    X(FENCE_GONE, REPLY_LOST, "its fence is gone; its lease may still be there for a while")   \
    X(LOG_LATE, TOO_LATE, "it is in the log, but so late that cursors may have passed it")     \
    X(LOG_MADE_AGAIN, MADE_AGAIN,                                                              \
      "the log was lost and made again with other settings; open it again with these")         \
    X(PAGES_DIFFER, FORM_DIFFERS, "the list of pages is of another form")                      \
    X(SAVE_FAILED, CALLBACK_FAILED, "the program's save callback has failed")                  \
    X(LOADING, CONTENDED, "another caller has not finished reading the database")              \
    X(BASE_CHANGES, CONTENDED, "its base changes again and again")                             \
    X(LOAD_FAILED, CALLBACK_FAILED, "the program's load callback has failed")                  \
    X(LOAD_BELOW_0, CALLBACK_FAILED, "the program's load callback has given a sum below 0")    \
    X(CHANGE_REFUSED, CALLBACK_FAILED, "the program's change callback has refused the change") \
    X(LARGE_ELEMENTS, TOO_BIG, "the elements have more than 64 MB")                            \
    X(ELEMENT_MISSING, ARGUMENT_MISSING, "an element was added without its bytes")             \
    X(MANY_STRUCTURES, NO_MEMORY,                                                              \
      "more than 1 000 000 structures, the most that one scan lists")                          \
    X(GROWTH_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                  \
      "the store has no compare-and-set, which keys need to grow (memcached: start it "        \
      "without -C)")                                                                           \
    X(LOCK_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                    \
      "the store has no compare-and-set, which a lease needs (memcached: start it without "    \
      "-C)")                                                                                   \
    X(LOCK_WITHOUT_EXPIRY, UNSUPPORTED,                                                        \
      "the store may keep a lease beyond its time (use memcached 1.6.18 or newer)")            \
    X(CACHE_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                   \
      "the store has no compare-and-set, which a cache needs (memcached: start it without "    \
      "-C)")                                                                                   \
    X(IDS_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                     \
      "the store has no compare-and-set, which ids need (memcached: start it without -C)")     \
    X(CLAIM_WITHOUT_EXPIRY, UNSUPPORTED,                                                       \
      "the store may keep a claim beyond its time (use memcached 1.6.18 or newer)")            \
    X(FILL_FAILED, CALLBACK_FAILED, "the source could not be read")                            \
    X(FILL_FAILED_BEFORE, CALLBACK_FAILED,                                                     \
      "the source could not be read; no caller tries again yet")                               \
    X(FILLING, HELD, "another caller is filling the key")                                      \
    X(KEY_HELD, HELD, "a writer holds the key")                                                \
    X(CLAIM_OVER, LEASE_OVER,                                                                  \
      "the key was forgotten, expired or held since the claim, or the claim has ended; the "   \
      "value is not stored")                                                                   \
    X(CLAIM_NOT_MINE, BAD_LEASE, "this claim is not the caller's")                             \
    X(ONCE_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                    \
      "the store has no compare-and-set, which a claim needs (memcached: start it without "    \
      "-C)")                                                                                   \
    X(RUNNING, HELD, "another caller runs the work of the key")                                \
    X(RUNNER_VANISHED, LEASE_OVER,                                                             \
      "a caller began the work and has not finished it; find out whether it was done, and "    \
      "settle or forget the key")                                                              \
    X(RUN_OVER, LEASE_OVER, "the claim has ended; another caller may have begun")              \
    X(RUN_NOT_MINE, BAD_LEASE, "this run has no claim")                                        \
    X(RUN_MINE, BAD_LEASE, "this run has a claim already")                                     \
    X(LEASE_HELD, BAD_LEASE, "this lease is held already")                                     \
    X(LEASE_LOST_BEFORE, LEASE_OVER, "this lease was lost before")                             \
    X(LEASE_EMPTY, BAD_LEASE, "this lease holds nothing")                                      \
    X(LEASE_TEXT_DAMAGED, BAD_LEASE,                                                           \
      "the text is not a lease, or a part of it is missing or changed")                        \
    X(LEASE_TEXT_NEWER, NEWER,                                                                 \
      "the text was written by a newer version of mcds: upgrade this program")                 \
    X(LEASE_OF_OTHER_STORE, BAD_LEASE,                                                         \
      "the lease belongs to a lock of this name in another store; open the store by the URI "  \
      "with which the lease was acquired")                                                     \
    X(CURSOR_NOT_BEGUN, BAD_CURSOR, "begin the cursor with MCDS_LOG_CURSOR_INIT")              \
    X(CURSOR_OF_OTHER_STORE, BAD_CURSOR,                                                       \
      "the cursor belongs to a log of this name in another store; begin a new cursor")         \
    X(UNKNOWN_FORM, NEWER, "it is of a form that this version does not know")                  \
    X(UNKNOWN_MEMBERS, NEWER, "its members are kept in a way that this version does not know") \
    X(NEWER_COUNTER, NEWER, "this counter was made by a newer version")
/* clang-format on */

#endif
