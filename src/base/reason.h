/* The reasons of failures, as clauses of a sentence: each clause once, with its cause. */
#ifndef MCDS_BASE_REASON_H
#define MCDS_BASE_REASON_H

#include <errno.h>

#include "mcds/backend.h"

/* Name; cause; errno; the option that differs, if any, and its value; the clause, which
 * follows the names of structure, verb and server in the sentence. */
/* clang-format off */
#define MCDS__REASON_MAP(X) \
    X(NEWER, NEWER, 0, NULL, 0,                                                                \
      "it was made by a newer version of mcds: upgrade this program")                          \
    X(FOREIGN, FOREIGN, 0, NULL, 0, "its key holds something that mcds did not write")         \
    X(DROPPED_MEANWHILE, GONE, 0, NULL, 0,                                                     \
      "it was dropped, or the store lost it, while this was under way")                        \
    X(KEY_REWRITTEN, CONTENDED, 0, NULL, 0, "its key is being rewritten by others")            \
    X(ITS_KEY_VANISHES, CONTENDED, 0, NULL, 0, "its key vanishes again and again")             \
    X(CLOCK_BEHIND, CLOCK, 0, NULL, 0,                                                         \
      "this machine's clock is more than ten minutes behind the others'")                      \
    X(SERVER_FULL_FOR_IT, STORE_FULL, 0, NULL, 0, "the store has no memory for it")           \
    X(OTHERS_MAKE_IT, CONTENDED, 0, NULL, 0, "others are making it")                           \
    X(ROOT_UNREAD, CONTENDED, 0, NULL, 0, "its root could not be read")                        \
    X(DROPPED, GONE, 0, NULL, 0, "it was dropped by another, or the store has lost it")        \
    X(PART_GONE, GONE, 0, NULL, 0, "a part of it is gone that the store should hold")          \
    X(KEYS_VANISH, CONTENDED, 0, NULL, 0, "its keys vanish again and again")                   \
    X(ROOT_CHANGES, CONTENDED, 0, NULL, 0, "its root changes again and again")                 \
    X(NO_COMPARE_AND_SET, NO_COMPARE_AND_SET, 0, NULL, 0,                                      \
      "the store has no compare-and-set (memcached: start it without -C)")                     \
    X(GRANTED_LATE, LEASE_OVER, 0, NULL, 0,                                                    \
      "the store took so long that the lease was over when it was granted")                    \
    X(REQUEST_MAY_ARRIVE, REPLY_LOST, 0, NULL, 0,                                              \
      "another holds it, and a request for it whose reply was lost may still "                 \
      "arrive")                                                                                \
    X(KEY_VANISHES, CONTENDED, 0, NULL, 0, "the key vanishes again and again")                 \
    X(LEASE_GONE, LEASE_OVER, 0, NULL, 0,                                                      \
      "the lease is gone; whether it had ended before the release is not "                     \
      "known")                                                                                 \
    X(LEASE_ENDED_BEFORE, LEASE_OVER, 0, NULL, 0,                                              \
      "the lease had ended before; the work under it may have overlapped "                     \
      "with another's")                                                                        \
    X(DELETE_REFUSED, CONTENDED, 0, NULL, 0,                                                   \
      "the store kept refusing the compare-and-delete")                                        \
    X(RENEWED_LATE, LEASE_OVER, 0, NULL, 0,                                                    \
      "renewed, but the answer came after the new deadline")                                   \
    X(LEASE_ENDED, LEASE_OVER, 0, NULL, 0,                                                     \
      "the lease had ended; another may have held it since")                                   \
    X(RENEWAL_LATE, TIMEOUT, 0, NULL, 0,                                                       \
      "the deadline passed before the lease could be renewed")                                 \
    X(SET_REFUSED, CONTENDED, 0, NULL, 0, "the store kept refusing the compare-and-set")       \
    X(LEASE_LOST, GONE, 0, NULL, 0,                                                            \
      "the store has lost the lease and its fence: it was restarted or "                      \
      "flushed, or it evicts")                                                                 \
    X(LEASE_TAKEN, LEASE_OVER, 0, NULL, 0, "the lease had ended; another holds it")            \
    X(LEASE_DEADLINE, LEASE_OVER, 0, NULL, 0, "the deadline of the lease has passed")          \
    X(TOO_MANY_INTERVALS, CONTENDED, 0, NULL, 0, "too many intervals are in use at once")      \
    X(BAD_REGISTER, DAMAGED, 0, NULL, 0, "it has an invalid HyperLogLog register")             \
    X(SERVER_FULL_FOR_VALUE, STORE_FULL, 0, NULL, 0,                                           \
      "the store has no memory for a longer value")                                           \
    X(OTHERS_CLEAR_IT, CONTENDED, 0, NULL, 0, "it is being cleared by others")                 \
    X(OTHERS_CHANGE_IT, CONTENDED, 0, NULL, 0, "others change it all the time")                \
    X(KEY_VANISHED, CONTENDED, 0, NULL, 0, "its key has vanished meanwhile")                   \
    X(KEY_IN_DOUBT, REPLY_LOST, 0, NULL, 0,                                                    \
      "a reply was lost, and its key is missing: it is not made yet, or it "                   \
      "was made and is gone")                                                                  \
    X(MADE_MEANWHILE, CONTENDED, 0, NULL, 0, "its key was made by others meanwhile")           \
    X(CHANGED_TOO_OFTEN, CONTENDED, 0, NULL, 0, "others have changed it too often meanwhile")  \
    X(VALUE_GONE, GONE, 0, NULL, 0, "the value that this handle has used is gone")             \
    X(VALUE_BLOCK_GONE, GONE, 0, NULL, 0, "a part of the value is gone")                        \
    X(VALUE_LENGTH, DAMAGED, 0, NULL, 0, "the parts of the value have another length")         \
    X(SETTINGS_FOREIGN, FOREIGN, 0, NULL, 0,                                                   \
      "its settings are something that mcds did not write")                                    \
    X(SETTINGS_VANISH, CONTENDED, 0, NULL, 0, "its settings vanish again and again")           \
    X(FLUSH_FORGOTTEN, REPLY_LOST, 0, NULL, 0,                                                 \
      "this handle did not flush for so long that the outcome of its flush "                   \
      "before is not known any more")                                                          \
    X(TOO_MANY_WRITERS, CONTENDED, 0, NULL, 0,                                                 \
      "too many writers have left an entry in this slot")                                      \
    X(MOST_SERVERS_LOST, GONE, 0, NULL, 0, "most of the servers have lost this counter")       \
    X(SLOT_CHANGES, CONTENDED, 0, NULL, 0, "others kept changing the slot")                    \
    X(OTHER_FLUSH, CONTENDED, 0, NULL, 0, "another flush of this handle does not end")         \
    X(COUNTER_GONE, GONE, 0, NULL, 0, "the counter that this handle has used is gone")         \
    X(FLUSH_ENDLESS, CONTENDED, 0, NULL, 0, "a flush of this handle does not end")             \
    X(KEY_GONE, GONE, 0, NULL, 0, "the key that this handle has used is gone")                 \
    X(BAD_KEY, BAD_BYTE, 0, NULL, 0, "a key must be 1 to 250 bytes of 0x21 to 0x7e")           \
    X(LONG_TTL, OUT_OF_RANGE, 0, NULL, 0, "a ttl must be at most ten years")                   \
    X(LARGE_DELTA, OUT_OF_RANGE, 0, NULL, 0, "a delta must be at most 2^63 - 1")               \
    X(NO_TOKEN, ARGUMENT_MISSING, 0, NULL, 0, "CAS needs a token")                             \
    X(CONNECTION_REFUSED, CONNECTION_REFUSED, ECONNREFUSED, NULL, 0,                           \
      "connection refused: is the server running there?")                                      \
    X(CONNECTION_CLOSED, CONNECTION_CLOSED, ECONNRESET, NULL, 0,                               \
      "the server has closed the connection")                                                  \
    X(NOT_ACCEPTING, SERVER_SILENT, EAGAIN, NULL, 0,                                           \
      "the server accepts no connections: it is stopped or overloaded")                        \
    X(NO_SOCKET_FILE, NO_SOCKET_FILE, ENOENT, NULL, 0,                                         \
      "no such socket file: is the server running?")                                           \
    X(PERMISSION_DENIED, NO_PERMISSION, EACCES, NULL, 0, "permission denied")                  \
    X(NO_ROUTE, NO_ROUTE, EHOSTUNREACH, NULL, 0, "no route to the host")                       \
    X(NO_NETWORK, NO_ROUTE, ENETUNREACH, NULL, 0, "no route to the network of the host")       \
    X(HOST_SILENT, HOST_SILENT, ETIMEDOUT, NULL, 0, "the host does not answer")                \
    X(NO_DESCRIPTORS, NO_DESCRIPTORS, EMFILE, NULL, 0,                                         \
      "this process has no file descriptors left")                                             \
    X(NO_MEMORY_FOR_CONNECTION, NO_MEMORY, ENOMEM, NULL, 0, "no memory for the connection")    \
    X(CONNECTION_BROKE, CONNECTION_CLOSED, 0, NULL, 0, "the connection broke")                 \
    X(SEVERAL_ADDRESSES, SEVERAL_ADDRESSES, 0, NULL, 0,                                        \
      "the name has several addresses, which can be several servers; give "                    \
      "one address, or list the servers one by one")                                           \
    X(NO_ADDRESS, UNKNOWN_HOST, 0, NULL, 0, "the host name has no address of IPv4 or IPv6")    \
    X(LONG_SOCKET_PATH, TOO_LONG, 0, NULL, 0, "the path of the unix socket is too long")       \
    X(UNKNOWN_HOST, UNKNOWN_HOST, 0, NULL, 0, "the host name cannot be resolved")              \
    X(NO_MEMORY_FOR_REPLY, NO_MEMORY, 0, NULL, 0, "no memory for the server's reply")          \
    X(NO_OUTCOME, REPLY_LOST, 0, NULL, 0,                                                      \
      "another process accepted it for its commit and has not reported the "                   \
      "outcome")                                                                               \
    X(NO_RANDOM, NO_RANDOM, 0, NULL, 0,                                                       \
      "the system gives no random numbers: getrandom is refused, and "                        \
      "/dev/urandom cannot be read; allow one of them in this sandbox")                       \
    X(NO_MEMORY, NO_MEMORY, 0, NULL, 0, "this process is out of memory")                       \
    X(NOT_A_RECORD, FOREIGN, 0, NULL, 0,                                                       \
      "the value under this key is not a record of mcds; delete it")                           \
    X(NO_MEMORY_FOR_VALUE, NO_MEMORY, 0, NULL, 0, "this process has no memory for the value")  \
    X(READ_ONLY_DISK, READ_ONLY, EROFS, NULL, 0, "its disk is mounted read-only")              \
    X(READ_ONLY_USER, NO_PERMISSION, EACCES, NULL, 0, "this user may only read it")            \
    X(REFUSED_FOR_ANOTHER, OTHER, 0, NULL, 0,                                                  \
      "refused while another process committed for this one; try it alone")                    \
    X(NO_ROBUST_MUTEX, UNSUPPORTED, 0, NULL, 0,                                                \
      "this system has no robust mutexes that processes can share")                            \
    X(OTHER_VERSION, OTHER_VERSION, 0, NULL, 0, "another version of mcds has the file open")   \
    X(WRITER_LOCKED, FILE_IN_USE, 0, NULL, 0, "another process has locked PATH-writer; "                 \
      "end it, and open the store again")\
    X(WRITER_LIMIT, FILE_LIMIT, EFBIG, NULL, 0,                                                \
      "this process' limit for file sizes (ulimit -f) has no room for "                        \
      "PATH-writer")                                                                           \
    X(WRITER_NO_CAPACITY, DISK_FULL, ENOSPC, NULL, 0, "no room on the disk for PATH-writer")       \
    X(WRITER_NO_MEMORY, NO_MEMORY, ENOMEM, NULL, 0,                                            \
      "this process has no memory for PATH-writer")                                            \
    X(WRITER_READ_ONLY, NO_PERMISSION, EACCES, NULL, 0,                                        \
      "this user may not write PATH-writer")                                                   \
    X(MAP_FULL, STORE_FULL, 0, NULL, 0,                                                        \
      "the file is at its limit, map_max in the store's URI")                                  \
    X(LONG_TRANSACTION, TOO_BIG, 0, NULL, 0, "too many pages in one transaction")              \
    X(READERS_FULL, FILE_IN_USE, 0, NULL, 0,                                                   \
      "all places for readers of the file are taken by other processes")                       \
    X(WRITE_FAILED, DISK_ERROR, 0, NULL, 0,                                                    \
      "a write to the file failed permanently; close all stores on it and "                    \
      "open them again")                                                                       \
    X(FILE_DAMAGED, DAMAGED, 0, NULL, 0, "the file is damaged")                                \
    X(FILE_GROWS, CONTENDED, 0, NULL, 0,                                                       \
      "the file grows faster than this process can map it")                                    \
    X(FILE_TIMEOUT, TIMEOUT, 0, NULL, 0,                                                       \
      "the deadline passed while another process had the file")                                \
    X(DISK_FULL, DISK_FULL, ENOSPC, NULL, 0, "the disk is full")                               \
    X(QUOTA_FULL, DISK_FULL, EDQUOT, NULL, 0, "the disk quota is used up")                     \
    X(FILE_LIMIT, FILE_LIMIT, EFBIG, NULL, 0, "the file would pass the limit for file sizes")  \
    X(DISK_ERROR, DISK_ERROR, EIO, NULL, 0, "the disk reports an error")                       \
    X(FILE_READ_ONLY, NO_PERMISSION, EACCES, NULL, 0, "the file may only be read")             \
    X(FILE_REMOVED, FILE_REPLACED, ESTALE, NULL, 0,                                            \
      "the file has been removed or replaced; end all programs that use it")                   \
    X(LMDB_REFUSED, OTHER, 0, NULL, 0, "LMDB refused")                                         \
    X(WRITTEN_TOO_FAST, CONTENDED, 0, NULL, 0, "it is written faster than it can be copied")   \
    X(NO_PROC, NO_PROC, 0, NULL, 0,                                                            \
      "/proc is not mounted here, and the copy is opened by it")                               \
    X(UNWRITTEN_IN_TIME, TIMEOUT, 0, NULL, 0,                                                  \
      "the deadline passed before it could be written")                                        \
    X(UNDONE_IN_TIME, TIMEOUT, 0, NULL, 0,                                                     \
      "the deadline passed before this process could carry it out")                            \
    X(UNFINISHED, UNFINISHED, 0, NULL, 0,                                                      \
      "the deadline passed, and a part of it may be done")                                     \
    X(BAD_MESSAGE, DAMAGED, 0, NULL, 0, "the message is damaged")                                \
    X(SPACE_TIMEOUT, TIMEOUT, 0, NULL, 0, "the deadline passed, and there was no space")       \
    X(NO_MEMORY_FOR_A_CONNECTION, NO_MEMORY, 0, NULL, 0, "no memory for a connection")         \
    X(NO_ANSWER_AT_ALL, SERVER_SILENT, 0, NULL, 0, "no answer")                                \
    X(NO_ANSWER, SERVER_SILENT, 0, NULL, 0, "no answer before the deadline")                   \
    X(NOT_ANSWERING, SERVER_SILENT, 0, NULL, 0,                                                \
      "connected, but nothing there answers as memcached would")                               \
    X(TEXT_UNANSWERED, SERVER_SILENT, 0, NULL, 0,                                              \
      "it ends a connection at a command as text, and answers no other: memcached with "       \
      "-B binary, or a proxy whose servers are silent")                                        \
    X(TOO_BIG_FOR_SERVER, TOO_BIG, 0, NULL, 0,                                                 \
      "larger than the server accepts (its option -I)")                                        \
    X(SERVER_WITHOUT_CAS, NO_COMPARE_AND_SET, 0, NULL, 0,                                      \
      "this server has no compare-and-set (memcached: start it without -C)")                   \
    X(NO_MEMORY_FOR_REQUEST, NO_MEMORY, 0, NULL, 0, "no memory for the request")               \
    X(REPLY_TOO_BIG, BAD_REPLY, 0, NULL, 0,                                                    \
      "the server's reply is larger than its largest item")                                    \
    X(REPLIES_MISMATCH, BAD_REPLY, 0, NULL, 0,                                                 \
      "the server's replies do not match the requests")                                        \
    X(BAD_REPLY, NOT_MEMCACHED, 0, NULL, 0, "the server's reply is not memcached's protocol")  \
    X(REPLY_UNASKED, BAD_REPLY, 0, NULL, 0, "the server sent a reply that was not requested")  \
    X(NOW_A_PROXY, CONNECTION_CLOSED, 0, NULL, 0, "the server is now a proxy")                      \
    X(UNSENT_IN_TIME, TIMEOUT, 0, NULL, 0, "the deadline passed before it could be sent")      \
    X(HTTP_SERVER, NOT_MEMCACHED, 0, NULL, 0, "this is an HTTP server, not memcached")         \
    X(REDIS_SERVER, NOT_MEMCACHED, 0, NULL, 0, "this is a Redis server, not memcached")        \
    X(SSH_SERVER, NOT_MEMCACHED, 0, NULL, 0, "this is an SSH server, not memcached")           \
    X(TLS_SERVER, TLS, 0, NULL, 0, "this server speaks TLS, which mcds does not support")      \
    X(NOT_MEMCACHED, NOT_MEMCACHED, 0, NULL, 0,                                                \
      "this server does not speak memcached's protocol")                                       \
    X(SERVER_CONNECTIONS, TOO_MANY_CONNECTIONS, 0, NULL, 0,                                    \
      "the server has reached its limit of connections (its option -c)")                       \
    X(PASSWORD, PASSWORD, 0, NULL, 0,                                                          \
      "the server asks for a password, which mcds does not support")                           \
    X(NO_META, NO_COMMAND, 0, NULL, 0,                                                         \
      "the server has no meta protocol (memcached 1.6.18), and the URI says "                  \
      "protocol=meta")                                                                         \
    X(BAD_WEIGHT, BAD_URI, 0, NULL, 0, "the weight after * must be 1 to 65535")                \
    X(BAD_PORT, BAD_URI, 0, NULL, 0, "the port must be 1 to 65535")                            \
    X(OPEN_BRACKET, BAD_URI, 0, NULL, 0, "the bracket of the IPv6 address is not closed")      \
    X(BRACKET_CONTENT, BAD_URI, 0, NULL, 0, "only an IPv6 address may be in brackets")         \
    X(AFTER_BRACKET, BAD_URI, 0, NULL, 0, "only :PORT may follow the bracket")                 \
    X(BARE_IPV6, BAD_URI, 0, NULL, 0, "write an IPv6 address as [ADDRESS]:PORT")               \
    X(USER_OF_SERVER, BAD_URI, 0, NULL, 0,                                                     \
      "leave out USER:PASSWORD@: mcds logs in to no server")                                   \
    X(BAD_HOST, BAD_URI, 0, NULL, 0, "the host must have 1 to 255 bytes")                      \
    X(LONG_PATH, BAD_URI, 0, NULL, 0, "the path is longer than 255 bytes")                     \
    X(NAMED_TWICE, BAD_URI, 0, NULL, 0, "it is named twice")                                   \
    X(FEW_SERVERS, FEW_SERVERS, 0, NULL, 0, "there are fewer servers than copies")             \
    X(FORKED, FORKED, 0, NULL, 0, "opened before fork; open the store again in the child")     \
    X(PAST_DEADLINE, TIMEOUT, 0, NULL, 0, "the deadline had passed before it was sent")        \
    X(VALUE_REFUSED, TOO_BIG, 0, NULL, 0, "the server does not accept a value of this size")   \
    X(SERVER_FULL, STORE_FULL, 0, NULL, 0, "the server is out of memory")                      \
    X(SERVER_ERROR, SERVER_ERROR, 0, NULL, 0,                                                  \
      "the server, or a proxy before it, answered SERVER_ERROR")                               \
    X(NO_COMMAND, NO_COMMAND, 0, NULL, 0, "the server does not know this command")             \
    X(KEY_NOT_A_NUMBER, NOT_A_NUMBER, 0, NULL, 0, "the key does not hold a number")            \
    X(COUNTER_NOT_A_NUMBER, NOT_A_NUMBER, 0, NULL, 0,                                          \
      "the key does not hold a number; open a counter made EXACT or with "                     \
      "stripes the same way")                                                                  \
    X(COUNTER_MADE_AGAIN, MADE_AGAIN, 0, NULL, 0, "the counter was lost and made again")       \
    X(COUNTER_DIFFERS, FORM_DIFFERS, 0, NULL, 0,                                               \
      "this counter was made EXACT or with stripes; open it the same way")                     \
    X(LOST_SIGN, MADE_AGAIN, 0, NULL, 0,                                                       \
      "the counter was lost and made again without SIGNED, so it does not go "                 \
      "below zero")                                                                            \
    X(RANGE_IN_DOUBT, OVERFLOW, 0, NULL, 0,                                                    \
      "the number left its range, and whether the addition was taken back is "                 \
      "not known")                                                                             \
    X(LOST_AFTER_ADD, GONE, 0, NULL, 0, "the counter was lost after the addition")             \
    X(MADE_AGAIN_IN_DOUBT, MADE_AGAIN, 0, NULL, 0,                                             \
      "added, but whether the counter has begun again before is not known")                    \
    X(MADE_UNSIGNED, FORM_DIFFERS, 0, NULL, 0,                                                 \
      "this counter was made without SIGNED and cannot go down; drop it to "                   \
      "start again")                                                                           \
    X(SUM_TOO_LARGE, OVERFLOW, 0, NULL, 0, "the sum of this handle would leave 2^61")          \
    X(SERVER_PART_LOST, GONE, 0, NULL, 0, "a part of the counter was lost")    \
    X(COUNTER_LOST, GONE, 0, NULL, 0, "the counter that this handle has used was lost")        \
    X(OTHERS_KEPT_CHANGING, CONTENDED, 0, NULL, 0, "others kept changing it")                  \
    X(VALUE_NOT_A_NUMBER, NOT_A_NUMBER, 0, NULL, 0, "the value is not a number")               \
    X(LIST_CLEAR_IN_DOUBT, MADE_AGAIN, 0, NULL, 0,                                             \
      "the list was made again, and whether it was cleared is not known")                      \
    X(LIST_MADE_AGAIN, MADE_AGAIN, 0, NULL, 0, "the list was lost and made again")             \
    X(OTHERS_PUSH, CONTENDED, 0, NULL, 0, "others push as fast as the list can be ended")      \
    X(PART_FOREIGN, FOREIGN, 0, NULL, 0,                                                       \
      "a part of it holds something that mcds did not write")                                  \
    X(LIST_GONE, GONE, 0, NULL, 0, "the list that this handle has used is gone")               \
    X(HELD_BY_ANOTHER, HELD, 0, NULL, 0, "another holds it")                                   \
    X(HELD, HELD, 0, NULL, 0, "it is held; drop it after its holder has released it")          \
    X(FENCE_FORGED, FOREIGN, 0, NULL, 0,                                                       \
      "its fence is no number that a lock draws: somebody has set it; erase its key")          \
    X(FENCE_AHEAD, CLOCK, 0, NULL, 0,                                                          \
      "its fence is far ahead of this machine's clock, and the next one "                      \
      "would be smaller; drop it where the clock is right, or later")                          \
    X(FENCE_GONE, REPLY_LOST, 0, NULL, 0,                                                      \
      "its fence is gone; its lease may still be there for a while")                           \
    X(LOG_LATE, TOO_LATE, 0, NULL, 0,                                                          \
      "it is in the log, but so late that cursors may have passed it")                         \
    X(LOG_MADE_AGAIN, MADE_AGAIN, 0, NULL, 0,                                                  \
      "the log was lost and made again with other settings")                                   \
    X(PAGES_DIFFER, FORM_DIFFERS, 0, NULL, 0, "the list of pages is of another form")          \
    X(SAVE_FAILED, CALLBACK_FAILED, 0, NULL, 0, "the program's save callback has failed")      \
    X(LOADING, CONTENDED, 0, NULL, 0, "another caller has not finished reading the database")  \
    X(BASE_CHANGES, CONTENDED, 0, NULL, 0, "its base changes again and again")                 \
    X(LOAD_FAILED, CALLBACK_FAILED, 0, NULL, 0, "the program's load callback has failed")      \
    X(ANSWER_BROKE_OFF, CONNECTION_CLOSED, 0, NULL, 0, "the answer broke off")                 \
    X(LISTING_BUSY, CONTENDED, 0, NULL, 0,                                                     \
      "the server is listing its keys for another client; try again")                          \
    X(NO_LISTING, NO_COMMAND, 0, NULL, 0,                                                      \
      "the server does not list its keys (lru_crawler metadump)")                              \
    X(LARGE_ELEMENTS, TOO_BIG, 0, NULL, 0, "the elements have more than 64 MB")                \
    X(MANY_STRUCTURES, NO_MEMORY, 0, NULL, 0, "more structures than fit in memory")            \
    X(EXACT_ALONE, CONFLICT, 0, "flags", 0, "EXACT goes with neither stripes nor a ttl")       \
    X(UNSIGNED, CONFLICT, 0, "delta", 0, "a negative delta needs a signed counter")            \
    X(VALUE_OF_EXACT, CONFLICT, 0, "flags", 0,                                                 \
      "an exact counter does not return its value; use get")                                   \
    X(VALUE_OF_STRIPED, CONFLICT, 0, "stripes", 0,                                             \
      "a striped counter does not return its value; use get")                                  \
    X(TAKE_OF_EXACT, CONFLICT, 0, "flags", 0,                                                  \
      "two takers of an exact counter could get the same; use get and a "                      \
      "negative add")                                                                          \
    X(GROWTH_WITHOUT_CAS, NO_COMPARE_AND_SET, 0, NULL, 0,                                      \
      "the store has no compare-and-set, which keys need to grow "                          \
      "(memcached: start it without -C)")                                                      \
    X(LOCK_WITHOUT_CAS, NO_COMPARE_AND_SET, 0, NULL, 0,                                        \
      "the store has no compare-and-set, which a lock needs (memcached: start it without -C)") \
    X(LOCK_WITHOUT_EXPIRY, UNSUPPORTED, 0, NULL, 0,                                            \
      "the store may keep a lease beyond its time (use memcached 1.6.18 or newer)")            \
    X(LEASE_HELD, BAD_LEASE, 0, NULL, 0, "this lease is held already")                         \
    X(LEASE_LOST_BEFORE, LEASE_OVER, 0, NULL, 0, "this lease was lost before")                 \
    X(LEASE_EMPTY, BAD_LEASE, 0, NULL, 0, "this lease holds nothing")                          \
    X(CURSOR_NOT_BEGUN, BAD_CURSOR, 0, NULL, 0, "begin the cursor with MCDS_LOG_CURSOR_INIT")  \
    X(CURSOR_OF_OTHER_STORE, BAD_CURSOR, 0, NULL, 0,                                           \
      "the cursor belongs to a log of this name in another store; begin a new cursor")         \
    X(UNKNOWN_FORM, NEWER, 0, NULL, 0, "it is of a form that this version does not know")      \
    X(UNKNOWN_MEMBERS, NEWER, 0, NULL, 0,                                                      \
      "its members are kept in a way that this version does not know")                         \
    X(NEWER_COUNTER, NEWER, 0, NULL, 0, "this counter was made by a newer version")            \
    X(MEMBERS_NOT_KEPT, OPTION_DIFFERS, 0, "members", 0,                                       \
      "its members are not kept; open it the same way")                                        \
    X(MEMBERS_EXACT, OPTION_DIFFERS, 0, "members", 1,                                          \
      "its members are kept EXACT; open it the same way")                                      \
    X(MEMBERS_ESTIMATED, OPTION_DIFFERS, 0, "members", 2,                                      \
      "its members are ESTIMATED; open it the same way")                                       \
    X(SET_PLAIN, OPTION_DIFFERS, 0, "form", 0,                                                 \
      "it is a plain set; open it with the form MCDS_SET_PLAIN")                               \
    X(SET_BAG, OPTION_DIFFERS, 0, "form", 1,                                                   \
      "it is a bag; open it with the form MCDS_SET_BAG")                                       \
    X(SET_LIST, OPTION_DIFFERS, 0, "form", 2,                                                  \
      "it is a list with removal; open it with the form MCDS_SET_LIST")                        \
    X(TABLE, OPTION_DIFFERS, 0, "form", 0, "it is a table")                                    \
    X(NOT_EXACT, OPTION_DIFFERS, 0, "copies", 0, "this counter was made without EXACT")        \
    X(NO_STRIPES, OPTION_DIFFERS, 0, "stripes", 0,                                             \
      "this counter was made without stripes; open it the same way")                           \
    X(OPTION_DIFFERS, OPTION_DIFFERS, 0, NULL, 0, "open it the same way")                      \
    X(OPTION_DIFFERS_OR_0, OPTION_DIFFERS, 0, NULL, 0, "open it with 0 to accept that")
/* clang-format on */

enum mcds__reason_id {
#define MCDS__REASON_ID(name, cause, os_error, option, found, text) MCDS__REASON_##name,
    MCDS__REASON_MAP(MCDS__REASON_ID)
#undef MCDS__REASON_ID
        MCDS__REASON_COUNT
};

extern const mcds_reason mcds__reasons[MCDS__REASON_COUNT];

/* The reason of this name. */
#define MCDS__WHY(name) (&mcds__reasons[MCDS__REASON_##name])

#endif
