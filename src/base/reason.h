/* The reasons of failures, as clauses of a sentence: each clause once, with its cause. */
#ifndef MCDS_BASE_REASON_H
#define MCDS_BASE_REASON_H

#include <assert.h>
#include <errno.h>

#include "mcds/backend.h"

/* Name; cause; E: its errno; O: the option that is wrong, and its value; the clause, which
 * follows the names of structure, verb and server in the sentence. */
/* clang-format off */
#define MCDS__REASON_MAP(X, E, O)                                                              \
    X(NEWER, NEWER, "it was made by a newer version of mcds: upgrade this program")            \
    X(OLDER, FORM_DIFFERS,                                                                     \
      "it was made by an older version of mcds, in a form that this one does not read: dump "  \
      "and drop it with that version, then load it with this one")                            \
    X(FOREIGN, FOREIGN, "its key holds something that mcds did not write")                     \
    X(DROPPED_MEANWHILE, GONE, "it was dropped, or the store lost it, before this had ended")   \
    X(KEY_REWRITTEN, CONTENDED, "its key is being rewritten by others")                        \
    X(NO_MEMORY_TO_REWRITE, NO_MEMORY, "this process has no memory to rewrite its key")        \
    X(ITS_KEY_VANISHES, CONTENDED, "its key vanishes again and again")                         \
    X(CLOCK_BEHIND, CLOCK, "this machine's clock is more than ten minutes before that of others, or " \
      "30 seconds while thousands of handles change its key: correct the one that is wrong, or wait") \
    X(CLOCK_BEFORE_1970, CLOCK, "this machine's clock is before 1970: set it")                 \
    X(CLOCK_BEFORE_2020, CLOCK, "this machine's clock is before 2020, from which on ids work: set it") \
    X(CLOCK_AFTER_2089, CLOCK, "this machine's clock is after 2089, until which ids work: set it")    \
    X(CLOCK_AFTER_2190, CLOCK, "this machine's clock is after 2190, until which locks and limits work: set it") \
    X(CLOCK_MONOTONIC, CLOCK, "the monotonic clock is below 0, as with a faked time: fake only the wall clock (faketime: FAKETIME_DONT_FAKE_MONOTONIC=1)")                             \
    X(CLOCK_BEFORE_TAKE, CLOCK, "this machine's clock is more than 5 s before that of the last " \
      "take of this identity: correct the one that is wrong, or wait")                          \
    X(CLOCK_BEFORE_IDS, CLOCK, "this machine's clock is more than twice spread_ms before that " \
      "of another caller: correct the one that is wrong, or wait")                              \
    X(EVENT_BEFORE_LATE, CLOCK, "the event is more than late_ms before this machine's clock: " \
      "put events sooner, or correct the clock that is wrong")                                                 \
    X(EVENT_BEYOND_AHEAD, CLOCK, "the event is more than ahead_ms after this machine's clock: " \
      "correct the clock that is wrong, or wait")                                                          \
    X(BEAT_TOO_OLD, CLOCK,                                                                     \
      "another beat of this visitor is more than 31 buckets later: correct the clock that is wrong")     \
    X(SERVER_FULL_FOR_IT, STORE_FULL,                                                          \
      "the store has no memory for it; cache_memlimit gives a memcached more while it runs")   \
    X(OTHERS_MAKE_IT, CONTENDED, "others are making it")                                       \
    X(DROPPED, GONE, "it was dropped by another, or the store has lost it; the next change makes it again")   \
    X(PART_GONE, GONE,                                                                         \
      "a part of it is gone: the store was restarted or flushed, or it evicts; drop it to "    \
      "begin again")                                                                           \
    X(KEYS_VANISH, CONTENDED, "its keys vanish again and again")                               \
    X(ROOT_CHANGES, CONTENDED, "its root changes again and again")                             \
    X(NO_COMPARE_AND_SET, NO_COMPARE_AND_SET,                                                  \
      "the store has no compare-and-set (memcached: start it without -C)")                     \
    X(GRANTED_LATE, LEASE_OVER, "the store took so long that the lease was over when it was granted") \
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
      "the store has lost the lease and its fence: it was restarted or flushed, or it evicts; "\
      "acquire the lock again")                                                                \
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
    X(CHANGE_UNREADABLE, DAMAGED, "its key holds bytes that mcds did not write, or that are damaged, " \
      "so whether the change counts cannot be read; if they are damaged, restore a backup")    \
    X(MADE_MEANWHILE, CONTENDED, "its key was made by others meanwhile")                       \
    X(CHANGED_TOO_OFTEN, CONTENDED, "others have changed it too often meanwhile")              \
    X(VALUE_GONE, GONE,                                                                        \
      "the value that this handle has used is gone: dropped by another, or lost by the store; "\
      "the next change makes it again")                                                        \
    X(VALUE_BLOCK_GONE, GONE,                                                                  \
      "a part of the value is gone: the store was restarted or flushed, or it evicts; set it " \
      "again")                                                                                 \
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
    X(KEY_GONE, GONE, "the key that this handle has used is gone; open it again to accept that") \
    X(BAD_KEY, BAD_BYTE, "a key must be 1 to 250 bytes of 0x21 to 0x7e")                       \
    X(LONG_TTL, OUT_OF_RANGE, "a ttl must be at most ten years")                               \
    X(LARGE_DELTA, OUT_OF_RANGE, "a delta must be at most 2^63 - 1")                           \
    E(CONNECTION_REFUSED, CONNECTION_REFUSED, ECONNREFUSED,                                    \
      "connection refused: no server listens there")                                           \
    E(CONNECTION_CLOSED, CONNECTION_CLOSED, ECONNRESET, "the server has closed the connection") \
    E(NOT_ACCEPTING, SERVER_SILENT, EAGAIN,                                                    \
      "the server accepts no connections: it is stopped or overloaded")                        \
    E(NO_SOCKET_FILE, NO_SOCKET_FILE, ENOENT, "no such socket file: no server listens there")  \
    E(NOT_A_SOCKET, NO_SOCKET_FILE, ECONNREFUSED,                                              \
      "this is not a unix socket; give the path of the server's socket: memcached:///PATH")    \
    E(PERMISSION_DENIED, NO_PERMISSION, EACCES, "permission denied")                           \
    E(NO_ROUTE, NO_ROUTE, EHOSTUNREACH, "no route to the host")                                \
    E(NO_NETWORK, NO_ROUTE, ENETUNREACH, "no route to the network of the host")                \
    E(HOST_SILENT, HOST_SILENT, ETIMEDOUT, "the host does not answer")                         \
    E(NO_DESCRIPTORS, NO_DESCRIPTORS, EMFILE,                                                  \
      "this process has too many files open (ulimit -n); close some, or raise the limit")      \
    E(NO_MEMORY_FOR_CONNECTION, NO_MEMORY, ENOMEM, "no memory for the connection")             \
    X(CONNECTION_BROKE, CONNECTION_CLOSED, "the connection broke")                             \
    X(SEVERAL_ADDRESSES, SEVERAL_ADDRESSES,                                                    \
      "the name has several addresses, which can be several servers; give one address, or "    \
      "list the servers one by one")                                                           \
    X(NO_ADDRESS, UNKNOWN_HOST, "the host name has no address of IPv4 or IPv6")                \
    X(LONG_SOCKET_PATH, TOO_LONG, "the path of the unix socket is too long")                   \
    X(UNKNOWN_HOST, UNKNOWN_HOST, "the host name cannot be resolved")                          \
    X(RELATIVE_PATH, UNKNOWN_HOST, "no such host; a unix socket needs an absolute path")       \
    X(NO_MEMORY_FOR_REPLY, NO_MEMORY, "no memory for the server's reply")                      \
    X(NO_OUTCOME, REPLY_LOST,                                                                  \
      "another process accepted it for its commit and has not reported the outcome")           \
    X(NO_RANDOM, NO_RANDOM,                                                                    \
      "the system gives no random numbers: getrandom is refused, and /dev/urandom cannot be "  \
      "read; allow one of them in this sandbox")                                               \
    X(NO_MEMORY, NO_MEMORY, "this process is out of memory")                                   \
    X(NOT_A_RECORD, FOREIGN, "the value under this key is not a record of mcds; delete it")    \
    X(NO_MEMORY_FOR_VALUE, NO_MEMORY, "this process has no memory for the value")              \
    E(READ_ONLY_DISK, READ_ONLY, EROFS, "its disk is mounted read-only")                       \
    E(READ_ONLY_USER, NO_PERMISSION, EACCES, "this user may only read it")                     \
    X(REFUSED_FOR_ANOTHER, OTHER,                                                              \
      "refused while another process committed for this one; try it alone")                    \
    X(NO_ROBUST_MUTEX, UNSUPPORTED, "this system has no robust mutexes that processes can share")\
    X(OTHER_VERSION, OTHER_VERSION, "another version of mcds has the file open")               \
    X(WRITER_LOCKED, FILE_IN_USE,                                                              \
      "another process has locked its -writer file; end it, and open the store again")              \
    E(WRITER_LIMIT, FILE_LIMIT, EFBIG,                                                         \
      "this process' limit for file sizes (ulimit -f) has no room for its -writer file; raise it")  \
    E(WRITER_NO_CAPACITY, DISK_FULL, ENOSPC, "no room on the disk for its -writer file; make room") \
    E(WRITER_NO_MEMORY, NO_MEMORY, ENOMEM, "this process has no memory for its -writer file")       \
    X(WRITER_DAMAGED, DAMAGED, "the lock in its -writer file is damaged; end all its programs, then open it") \
    E(WRITER_READ_ONLY, NO_PERMISSION, EACCES, "this user may not write its -writer file")          \
    X(MAP_FULL, STORE_FULL,                                                                    \
      "the file is at its limit, map_max in the store's URI; raise it, or drop something")     \
    X(LONG_TRANSACTION, TOO_BIG, "too many pages in one transaction")                          \
    X(READERS_FULL, FILE_IN_USE, "all places for readers of the file are taken by other processes") \
    X(WRITE_FAILED, DISK_ERROR,                                                                \
      "a write to the file failed permanently; close all stores on it and open them again")    \
    X(FILE_DAMAGED, DAMAGED, "the file is damaged; restore a backup")                          \
    X(FILE_GROWS, CONTENDED, "the file grows faster than this process can map it")             \
    X(FILE_TIMEOUT, TIMEOUT, "the deadline passed while another process had the file")         \
    E(DISK_FULL, DISK_FULL, ENOSPC, "the disk is full; make room on it")                       \
    E(QUOTA_FULL, DISK_FULL, EDQUOT, "the disk quota is used up; make room")                   \
    E(FILE_LIMIT, FILE_LIMIT, EFBIG,                                                           \
      "the file would pass the limit for file sizes of this process (ulimit -f); raise it")    \
    E(DISK_ERROR, DISK_ERROR, EIO, "the disk reports an error")                                \
    E(FILE_READ_ONLY, NO_PERMISSION, EACCES, "the file may only be read")                      \
    E(FILE_REMOVED, FILE_REPLACED, ESTALE,                                                     \
      "the file has been removed or replaced; end all programs that use it")                   \
    X(LMDB_REFUSED, OTHER, "LMDB refused; 'mcds doctor' checks the file for damage")               \
    X(WRITTEN_TOO_FAST, CONTENDED, "it is written faster than it can be copied")               \
    X(NO_PROC, NO_PROC, "/proc is not mounted here, and the copy is opened by it")             \
    X(UNWRITTEN_IN_TIME, TIMEOUT, "the deadline passed before it could be written")            \
    X(UNDONE_IN_TIME, TIMEOUT, "the deadline passed before this process could carry it out")   \
    X(UNFINISHED, UNFINISHED, "the deadline passed, and a part of it may be done")             \
    X(WAIT_ENDED, TIMEOUT, "the wait was ended")                                               \
    X(ENDED_UNFINISHED, UNFINISHED, "the wait was ended, and a part of it may be done")        \
    X(BAD_MESSAGE, DAMAGED, "the message is damaged")                                          \
    X(SPACE_TIMEOUT, TIMEOUT,                                                                  \
      "the deadline passed, and there was no space: make room on the disk, or raise map_max or "\
      "the limit for file sizes (ulimit -f)")                                                  \
    X(NO_MEMORY_FOR_A_CONNECTION, NO_MEMORY, "no memory for a connection")                     \
    X(NO_ANSWER_AT_ALL, SERVER_SILENT, "no answer")                                            \
    X(NO_ANSWER, SERVER_SILENT, "no answer before the deadline")                               \
    X(NO_ANSWER_TO_OTHER, SERVER_SILENT,                                                       \
      "the connection was closed: another operation had no answer in time")                    \
    X(NOT_ANSWERING, SERVER_SILENT,                                                            \
      "connected, but it does not answer: it is stopped or overloaded, or is not memcached")   \
    X(TEXT_UNANSWERED, SERVER_SILENT,                                                          \
      "it ends a connection at a command as text, and answers no other: memcached with -B "    \
      "binary or -S (SASL), which mcds does not speak, or a proxy whose servers are silent")                                           \
    X(TOO_BIG_FOR_SERVER, TOO_BIG, "larger than the server accepts (its option -I)")           \
    X(SERVER_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                  \
      "this server has no compare-and-set (memcached: start it without -C)")                   \
    X(NO_MEMORY_FOR_REQUEST, NO_MEMORY, "no memory for the request")                           \
    X(REPLY_TOO_BIG, BAD_REPLY, "the server's reply is larger than its largest item")          \
    X(REPLIES_MISMATCH, BAD_REPLY, "the server's replies do not match the requests")           \
    X(BAD_REPLY, NOT_MEMCACHED, "the server's reply is not memcached's protocol")              \
    X(REPLY_UNASKED, BAD_REPLY, "the server sent a reply that was not requested")              \
    X(NOW_A_PROXY, CONNECTION_CLOSED, "the server is now a proxy")                             \
    X(UNSENT_IN_TIME, TIMEOUT, "the deadline passed before it could be sent")                  \
    X(HTTP_SERVER, NOT_MEMCACHED, "this is an HTTP server, not memcached")                     \
    X(REDIS_SERVER, NOT_MEMCACHED, "this is a Redis server, not memcached")                    \
    X(SSH_SERVER, NOT_MEMCACHED, "this is an SSH server, not memcached")                       \
    X(TLS_SERVER, TLS, "this server uses TLS: add tls=1 to the URI")                         \
    X(TEXT_CLOSED, CONNECTION_CLOSED,                                                          \
      "the server closes each connection at the first command: it uses TLS (add tls=1 to the " \
      "URI), or only the binary protocol, as memcached does with -S (SASL) or -B binary")                 \
    X(TLS_SILENT, SERVER_SILENT,                                                               \
      "connected, but it does not answer the TLS handshake: it does not use TLS (leave out " \
      "tls=1), or it is stopped or overloaded")                                                \
    X(TLS_CUT, CONNECTION_CLOSED, "the server has closed the connection during the TLS handshake") \
    X(TLS_CLOSED, CONNECTION_CLOSED,                                                           \
      "the server closes each connection after the TLS handshake: it requires a client "  \
      "certificate (add cert= and key= to the URI), or is not memcached")                              \
    X(TLS_NOT_SPOKEN, TLS,                                                                     \
      "this server does not use TLS: leave out tls=1, or start memcached with -Z")           \
    X(TLS_TOO_OLD, TLS, "this server does not support TLS 1.2 or newer")                   \
    X(TLS_HANDSHAKE_REFUSED, TLS,                                                              \
      "the server has refused the TLS handshake: it has no cipher in common with this "        \
      "machine, or it requires a client certificate (cert= and key= in the URI)")         \
    X(TLS_BROKE, TLS, "the server sent data that is not valid TLS")                               \
    X(TLS_CLIENT_REFUSED, CERTIFICATE,                                                         \
      "the server requires a client certificate, and did not accept one: set cert= and key= in " \
      "the URI, with a certificate signed by an authority that the server trusts")                             \
    X(CERTIFICATE_NAME, CERTIFICATE,                                                           \
      "the server's certificate is for another name: use that name in the URI, as the host or "  \
      "as tls_name=NAME")                                                              \
    X(CERTIFICATE_EXPIRED, CERTIFICATE,                                                        \
      "the server's certificate, or one that signed it, has expired: renew it, and restart the " \
      "server")                                                                                \
    X(CERTIFICATE_EARLY, CERTIFICATE,                                                          \
      "the server's certificate, or one that signed it, is not valid yet: set the clock of "    \
      "this machine")                                                                          \
    X(CERTIFICATE_UNKNOWN, CERTIFICATE,                                                        \
      "no trusted authority has signed the server's certificate: add ca=PATH to the URI, a file " \
      "with the certificate of its authority")                      \
    X(CERTIFICATE_BAD, CERTIFICATE,                                                            \
      "the server's certificate is not accepted; 'openssl s_client -connect HOST:PORT' "       \
      "shows the reason")                                                                              \
    X(NOT_MEMCACHED, NOT_MEMCACHED, "this server does not speak memcached's protocol")         \
    X(SERVER_CONNECTIONS, TOO_MANY_CONNECTIONS,                                                \
      "the server has reached its limit of connections (its option -c)")                       \
    X(PASSWORD, PASSWORD,                                                                      \
      "the server requires a password: write USER:PASSWORD into a file with mode 0600, and add " \
      "auth_file=PATH to the URI")                                                             \
    X(PASSWORD_WRONG, PASSWORD,                                                                \
      "the server does not accept the user and the password of auth_file=")                    \
    X(AUTH_FILE_MISSING, NO_FILE, "the file of auth_file= does not exist")                     \
    X(AUTH_FILE_UNREADABLE, NO_PERMISSION, "this user may not read the file of auth_file=")    \
    X(AUTH_FILE_BROKEN, DISK_ERROR, "the file of auth_file= cannot be read")                   \
    X(AUTH_FILE_KIND, WRONG_FILE, "auth_file= must name a plain file")                         \
    X(AUTH_FILE_OWNER, WRONG_FILE,                                                             \
      "the file of auth_file= must belong to this user or to root")                            \
    X(AUTH_FILE_SHARED, NO_PERMISSION,                                                         \
      "other users can access the file of auth_file=: change its mode (chmod 600)")          \
    X(AUTH_FILE_FORM, WRONG_FILE,                                                              \
      "the file of auth_file= must have one line, USER:PASSWORD, of at most 250 bytes "        \
      "without blanks")                                                                        \
    X(NO_META, NO_COMMAND,                                                                     \
      "the server has no meta protocol (memcached 1.6.18), and the URI says protocol=meta")    \
    X(BAD_WEIGHT, BAD_URI, "the weight after * must be 1 to 65535")                            \
    X(BAD_PORT, BAD_URI, "the port must be 1 to 65535")                                        \
    X(SLASH_AFTER_SERVER, BAD_URI,                                                             \
      "leave out the / and all that follows it; a unix socket is memcached:///PATH")           \
    X(HOST_BYTE, BAD_URI,                                                                      \
      "a host has only letters, digits, '-', '.' and '_'; a comma separates servers, and ? "   \
      "begins the options: memcached://HOST[:PORT][,...][?NAME=VALUE]")                        \
    X(OPEN_BRACKET, BAD_URI, "the bracket of the IPv6 address is not closed")                  \
    X(BRACKET_CONTENT, BAD_URI, "only an IPv6 address may be in brackets")                     \
    X(AFTER_BRACKET, BAD_URI, "only :PORT may follow the bracket")                             \
    X(BARE_IPV6, BAD_URI, "write an IPv6 address as [ADDRESS]:PORT")                           \
    X(USER_OF_SERVER, BAD_URI,                                                                 \
      "leave out USER:PASSWORD@: a password is in a file, auth_file=PATH")                     \
    X(BAD_HOST, BAD_URI,                                                                       \
      "the host must have 1 to 255 bytes; write memcached://HOST[:PORT][,...]")                \
    X(LONG_PATH, BAD_URI, "the path is longer than 255 bytes")                                 \
    X(NAMED_TWICE, BAD_URI, "it is named twice")                                               \
    X(FEW_SERVERS, FEW_SERVERS, "there are fewer servers than copies")                         \
    X(OTHER_STORE, OTHER_STORE,                                                                \
      "the pipeline belongs to another store; open one on the store of this handle")           \
    X(FORKED, FORKED, "opened before fork; open the store again in the child")                 \
    X(PAST_DEADLINE, TIMEOUT, "the deadline had passed before it was sent")                    \
    X(VALUE_REFUSED, TOO_BIG, "the server does not accept a value of this size")               \
    X(SERVER_FULL, STORE_FULL,                                                                 \
      "the server is out of memory; its command cache_memlimit gives it more while it runs")   \
    X(SERVER_ERROR, SERVER_ERROR, "the server, or a proxy before it, answered SERVER_ERROR")   \
    X(NO_COMMAND, NO_COMMAND, "the server does not know this command")                         \
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
    X(LOST_AFTER_ADD, GONE, "the counter was lost after the addition; open it again to accept that") \
    X(MADE_AGAIN_IN_DOUBT, MADE_AGAIN,                                                         \
      "added, but whether the counter has begun again before is not known")                    \
    X(MADE_UNSIGNED, FORM_DIFFERS,                                                             \
      "this counter was made without SIGNED and cannot go down; drop it to start again")       \
    X(SUM_TOO_LARGE, OVERFLOW, "the sum of this handle would leave 2^61")                      \
    X(SERVER_PART_LOST, GONE, "a part of the counter was lost; open it again to accept that") \
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
    X(LIST_GONE, GONE, "the list that this handle has used is gone; the next push makes it again") \
    X(HELD_BY_ANOTHER, HELD, "another holds it")                                               \
    X(HELD_BY_OTHERS, HELD, "others hold all its permits")                                     \
    X(SHARED_BY_ALL, HELD, "64 share it, which is the limit")                                  \
    X(WRITER_WAITS, HELD, "others share it, and a caller waits to have it alone")              \
    X(LOCK_WITHOUT_TTL, UNSUPPORTED,                                                           \
      "a shared lock needs a server that reports the time that a key has left")                \
    X(LEASE_OF_OTHER_MODE, BAD_LEASE,                                                          \
      "the lease belongs to an acquisition in the other mode, shared or exclusive; release it " \
      "first")                                                                                 \
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
      "a part of it is gone, and this store evicts nothing: its data is damaged, or another"   \
      " program has deleted keys; restore a backup, or drop it to begin again")                \
    X(LEASE_MISSING, GONE,                                                                     \
      "the lease and its fence are gone: the lock was dropped, or the data of the store is "   \
      "damaged; acquire the lock again")                                                       \
    X(VALUE_BLOCK_MISSING, GONE,                                                               \
      "a part of the value is gone, and this store evicts nothing: its data is damaged, or "   \
      "another program has deleted keys; restore a backup, or set it again")                   \
    X(JOBS_MISSING, GONE,                                                                      \
      "some of its jobs are gone, and this store evicts nothing: its data is damaged, or "     \
      "another program has deleted keys; the other jobs are kept: work on them, or restore a backup")           \
    X(JOBS_MISSING_UNTIL_DROPPED, GONE,                                                        \
      "some of its jobs are gone, and this store evicts nothing: its data is damaged, or "     \
      "another program has deleted keys; the other jobs are kept; restore a backup; this is"   \
      " reported until the queue is dropped")                                                  \
    X(PARTS_FILLED, CONTENDED,                                                                 \
      "other callers fill the parts of the queue faster than this call can push to them")      \
    X(JOBS_MAY_BE_LOST, UNSUPPORTED,                                                           \
      "its server may evict jobs; if they may be lost, open it with MCDS_QUEUE_MAY_LOSE")      \
    X(LIMITED, LIMITED, "the rate limit is reached")                                           \
    X(ONLY_BUCKETS, UNSUPPORTED,                                                               \
      "a limit of windows has no give, scan or drop: its slots expire by themselves")                       \
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
    X(ANSWER_BROKE_OFF, CONNECTION_CLOSED, "the answer broke off")                             \
    X(LISTING_BUSY, CONTENDED, "the server is listing its keys for another client; try again") \
    X(NO_LISTING, NO_COMMAND, "the server does not list its keys (lru_crawler metadump)")      \
    X(LARGE_ELEMENTS, TOO_BIG, "the elements have more than 64 MB")                            \
    X(ELEMENT_MISSING, ARGUMENT_MISSING, "an element was added without its bytes")             \
    X(MANY_STRUCTURES, NO_MEMORY, "more than 1 000 000 structures, the most that one scan lists")\
    O(EXACT_ALONE, CONFLICT, "flags", 0, "EXACT goes with neither stripes nor a ttl")          \
    O(UNSIGNED, CONFLICT, "delta", 0, "a negative delta needs a signed counter")               \
    O(VALUE_OF_EXACT, CONFLICT, "flags", 0,                                                    \
      "an exact counter does not return its value; use get")                                   \
    O(VALUE_OF_STRIPED, CONFLICT, "stripes", 0,                                                \
      "a striped counter does not return its value; use get")                                  \
    O(TAKE_OF_EXACT, CONFLICT, "flags", 0,                                                     \
      "two takers could get the same; hold a lock, and meanwhile use get and a negative add")  \
    X(GROWTH_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                  \
      "the store has no compare-and-set, which keys need to grow (memcached: start it "        \
      "without -C)")                                                                           \
    X(LOCK_WITHOUT_CAS, NO_COMPARE_AND_SET,                                                    \
      "the store has no compare-and-set, which a lease needs (memcached: start it without -C)") \
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
    X(FILL_FAILED_BEFORE, CALLBACK_FAILED, "the source could not be read; no caller tries again yet")  \
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
    X(RUN_OVER, LEASE_OVER, "the claim has ended; another caller may have begun")                                    \
    X(RUN_NOT_MINE, BAD_LEASE, "this run has no claim")                                        \
    X(RUN_MINE, BAD_LEASE, "this run has a claim already")                                     \
    X(LEASE_HELD, BAD_LEASE, "this lease is held already")                                     \
    X(LEASE_LOST_BEFORE, LEASE_OVER, "this lease was lost before")                             \
    X(LEASE_EMPTY, BAD_LEASE, "this lease holds nothing")                                      \
    X(LEASE_TEXT_DAMAGED, BAD_LEASE, "the text is not a lease, or a part of it is missing or changed")                        \
    X(LEASE_TEXT_NEWER, NEWER, "the text was written by a newer version of mcds: upgrade this program") \
    X(LEASE_OF_OTHER_STORE, BAD_LEASE,                                                         \
      "the lease belongs to a lock of this name in another store; open the store by the URI "  \
      "with which the lease was acquired")                                                     \
    X(CURSOR_NOT_BEGUN, BAD_CURSOR, "begin the cursor with MCDS_LOG_CURSOR_INIT")              \
    X(CURSOR_OF_OTHER_STORE, BAD_CURSOR,                                                       \
      "the cursor belongs to a log of this name in another store; begin a new cursor")         \
    X(UNKNOWN_FORM, NEWER, "it is of a form that this version does not know")                  \
    X(UNKNOWN_MEMBERS, NEWER, "its members are kept in a way that this version does not know") \
    X(NEWER_COUNTER, NEWER, "this counter was made by a newer version")                        \
    O(MEMBERS_NOT_KEPT, OPTION_DIFFERS, "members", 0,                                          \
      "its members are not kept; open it the same way")                                        \
    O(MEMBERS_EXACT, OPTION_DIFFERS, "members", 1,                                             \
      "its members are kept EXACT; open it the same way")                                      \
    O(MEMBERS_ESTIMATED, OPTION_DIFFERS, "members", 2,                                         \
      "its members are ESTIMATED; open it the same way")                                       \
    O(VIEWS_OF_PROGRAM, OPTION_DIFFERS, "database", 0, "a program saves them in a database of its own; ask that program") \
    O(VIEWS_OF_COMMAND, OPTION_DIFFERS, "database", 1, "'mcds views' saves them in its table; ask it, or drop them first") \
    O(SET_PLAIN, OPTION_DIFFERS, "form", 0,                                                    \
      "it is a plain set; open it with the form MCDS_SET_PLAIN")                               \
    O(SET_BAG, OPTION_DIFFERS, "form", 1, "it is a bag; open it with the form MCDS_SET_BAG")   \
    O(SET_LIST, OPTION_DIFFERS, "form", 2,                                                     \
      "it is a list with removal; open it with the form MCDS_SET_LIST")                        \
    O(TABLE, OPTION_DIFFERS, "form", 0, "it is a table")                                       \
    O(NOT_EXACT, OPTION_DIFFERS, "copies", 0, "this counter was made without EXACT")           \
    O(NO_STRIPES, OPTION_DIFFERS, "stripes", 0,                                                \
      "this counter was made without stripes; open it the same way")                           \
    X(OPTION_DIFFERS, OPTION_DIFFERS, "open it the same way")                                  \
    X(OPTION_DIFFERS_OR_0, OPTION_DIFFERS, "open it with 0 to accept that")                    \
    X(PERMITS_DIFFER, OPTION_DIFFERS, "open it with 0 to accept that")
/* clang-format on */

enum mcds__reason_id {
#define MCDS__REASON_ID(name, ...) MCDS__REASON_##name,
    MCDS__REASON_MAP(MCDS__REASON_ID, MCDS__REASON_ID, MCDS__REASON_ID)
#undef MCDS__REASON_ID
        MCDS__REASON_COUNT
};

extern const mcds_reason mcds__reasons[MCDS__REASON_COUNT];

/* The reason for a loss in a store that evicts nothing, in place of `why`, which blames restarts and
 * eviction; other reasons are returned unchanged. */
const mcds_reason *mcds__reason_without_eviction(const mcds_reason *why);

/* The reason of this name. */
#define MCDS__WHY(name) (&mcds__reasons[MCDS__REASON_##name])

/* The reason that a list has for a code of the system or of a library, or the last of the list. */
struct mcds__code_reason {
    int code;
    const mcds_reason *why;
};
static inline const mcds_reason *mcds__reason_of(int code, const struct mcds__code_reason *list,
                                                 size_t count)
{
    assert(count > 0);
    while (count-- > 1 && list->code != code)
        list++;
    return list->why;
}

#endif
