/* The reasons that stores have: servers and connections, files, URIs, and what a store cannot do.
 * base/reason.h explains the form. */
#ifndef MCDS_BASE_REASONS_STORES_H
#define MCDS_BASE_REASONS_STORES_H

/* clang-format off */
#define MCDS__REASONS_OF_STORES(X, E)                                                          \
    X(BAD_KEY, BAD_BYTE, "a key must be 1 to 250 bytes of 0x21 to 0x7e")                       \
    X(LONG_TTL, OUT_OF_RANGE, "a ttl must be at most ten years")                               \
    X(LARGE_DELTA, OUT_OF_RANGE, "a delta must be at most 2^63 - 1")                           \
    E(CONNECTION_REFUSED, CONNECTION_REFUSED, ECONNREFUSED,                                    \
      "connection refused: no server listens there")                                           \
    E(CONNECTION_CLOSED, CONNECTION_CLOSED, ECONNRESET,                                        \
      "the server has closed the connection")                                                  \
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
    X(NO_ROBUST_MUTEX, UNSUPPORTED,                                                            \
      "this system has no robust mutexes that processes can share")                            \
    X(OTHER_VERSION, OTHER_VERSION, "another version of mcds has the file open")               \
    X(WRITER_LOCKED, FILE_IN_USE,                                                              \
      "another process has locked its -writer file; end it, and open the store again")         \
    E(WRITER_LIMIT, FILE_LIMIT, EFBIG,                                                         \
      "this process' limit for file sizes (ulimit -f) has no room for its -writer file; "      \
      "raise it")                                                                              \
    E(WRITER_NO_CAPACITY, DISK_FULL, ENOSPC,                                                   \
      "no room on the disk for its -writer file; make room")                                   \
    E(WRITER_NO_MEMORY, NO_MEMORY, ENOMEM, "this process has no memory for its -writer file")  \
    X(WRITER_DAMAGED, DAMAGED,                                                                 \
      "the lock in its -writer file is damaged; end all its programs, then open it")           \
    E(WRITER_READ_ONLY, NO_PERMISSION, EACCES, "this user may not write its -writer file")     \
    X(MAP_FULL, STORE_FULL,                                                                    \
      "the file is at its limit, map_max in the store's URI; raise it, or drop something")     \
    X(LONG_TRANSACTION, TOO_BIG, "too many pages in one transaction")                          \
    X(READERS_FULL, FILE_IN_USE,                                                               \
      "all places for readers of the file are taken by other processes")                       \
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
    X(LMDB_REFUSED, OTHER, "LMDB refused; 'mcds doctor' checks the file for damage")           \
    X(WRITTEN_TOO_FAST, CONTENDED, "it is written faster than it can be copied")               \
    X(NO_PROC, NO_PROC, "/proc is not mounted here, and the copy is opened by it")             \
    X(UNWRITTEN_IN_TIME, TIMEOUT, "the deadline passed before it could be written")            \
    X(UNDONE_IN_TIME, TIMEOUT, "the deadline passed before this process could carry it out")   \
    X(UNFINISHED, UNFINISHED, "the deadline passed, and a part of it may be done")             \
    X(WAIT_ENDED, TIMEOUT, "the wait was ended")                                               \
    X(ENDED_UNFINISHED, UNFINISHED, "the wait was ended, and a part of it may be done")        \
    X(BAD_MESSAGE, DAMAGED, "the message is damaged")                                          \
    X(SPACE_TIMEOUT, TIMEOUT,                                                                  \
      "the deadline passed, and there was no space: make room on the disk, or raise map_max "  \
      "or the limit for file sizes (ulimit -f)")                                               \
    X(NO_MEMORY_FOR_A_CONNECTION, NO_MEMORY, "no memory for a connection")                     \
    X(NO_ANSWER_AT_ALL, SERVER_SILENT, "no answer")                                            \
    X(NO_ANSWER, SERVER_SILENT, "no answer before the deadline")                               \
    X(NO_ANSWER_TO_OTHER, SERVER_SILENT,                                                       \
      "the connection was closed: another operation had no answer in time")                    \
    X(NOT_ANSWERING, SERVER_SILENT,                                                            \
      "connected, but it does not answer: it is stopped or overloaded, or is not memcached")   \
    X(TEXT_UNANSWERED, SERVER_SILENT,                                                          \
      "it ends a connection at a command as text, and answers no other: memcached with -B "    \
      "binary or -S (SASL), which mcds does not speak, or a proxy whose servers are silent")   \
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
    X(TLS_SERVER, TLS, "this server uses TLS: add tls=1 to the URI")                           \
    X(TEXT_CLOSED, CONNECTION_CLOSED,                                                          \
      "the server closes each connection at the first command: it uses TLS (add tls=1 to "     \
      "the URI), or only the binary protocol, as memcached does with -S (SASL) or -B binary")  \
    X(TLS_SILENT, SERVER_SILENT,                                                               \
      "connected, but it does not answer the TLS handshake: it does not use TLS (leave out "   \
      "tls=1), or it is stopped or overloaded")                                                \
    X(TLS_CUT, CONNECTION_CLOSED,                                                              \
      "the server has closed the connection during the TLS handshake")                         \
    X(TLS_CLOSED, CONNECTION_CLOSED,                                                           \
      "the server closes each connection after the TLS handshake: it requires a client "       \
      "certificate (add cert= and key= to the URI), or is not memcached")                      \
    X(TLS_NOT_SPOKEN, TLS,                                                                     \
      "this server does not use TLS: leave out tls=1, or start memcached with -Z")             \
    X(TLS_TOO_OLD, TLS, "this server does not support TLS 1.2 or newer")                       \
    X(TLS_HANDSHAKE_REFUSED, TLS,                                                              \
      "the server has refused the TLS handshake: it has no cipher in common with this "        \
      "machine, or it requires a client certificate (cert= and key= in the URI)")              \
    X(TLS_BROKE, TLS, "the server sent data that is not valid TLS")                            \
    X(TLS_CLIENT_REFUSED, CERTIFICATE,                                                         \
      "the server requires a client certificate, and did not accept one: set cert= and key= "  \
      "in the URI, with a certificate signed by an authority that the server trusts")          \
    X(CERTIFICATE_NAME, CERTIFICATE,                                                           \
      "the server's certificate is for another name: use that name in the URI, as the host "   \
      "or as tls_name=NAME")                                                                   \
    X(CERTIFICATE_EXPIRED, CERTIFICATE,                                                        \
      "the server's certificate, or one that signed it, has expired: renew it, and restart "   \
      "the server")                                                                            \
    X(CERTIFICATE_EARLY, CERTIFICATE,                                                          \
      "the server's certificate, or one that signed it, is not valid yet: set the clock of "   \
      "this machine")                                                                          \
    X(CERTIFICATE_UNKNOWN, CERTIFICATE,                                                        \
      "no trusted authority has signed the server's certificate: add ca=PATH to the URI, a "   \
      "file with the certificate of its authority")                                            \
    X(CERTIFICATE_BAD, CERTIFICATE,                                                            \
      "the server's certificate is not accepted; 'openssl s_client -connect HOST:PORT' "       \
      "shows the reason")                                                                      \
    X(NOT_MEMCACHED, NOT_MEMCACHED, "this server does not speak memcached's protocol")         \
    X(SERVER_CONNECTIONS, TOO_MANY_CONNECTIONS,                                                \
      "the server has reached its limit of connections (its option -c)")                       \
    X(PASSWORD, PASSWORD,                                                                      \
      "the server requires a password: write USER:PASSWORD into a file with mode 0600, and "   \
      "add auth_file=PATH to the URI")                                                         \
    X(PASSWORD_WRONG, PASSWORD,                                                                \
      "the server does not accept the user and the password of auth_file=")                    \
    X(AUTH_FILE_MISSING, NO_FILE, "the file of auth_file= does not exist")                     \
    X(AUTH_FILE_UNREADABLE, NO_PERMISSION, "this user may not read the file of auth_file=")    \
    X(AUTH_FILE_BROKEN, DISK_ERROR, "the file of auth_file= cannot be read")                   \
    X(AUTH_FILE_KIND, WRONG_FILE, "auth_file= must name a plain file")                         \
    X(AUTH_FILE_OWNER, WRONG_FILE,                                                             \
      "the file of auth_file= must belong to this user or to root")                            \
    X(AUTH_FILE_SHARED, NO_PERMISSION,                                                         \
      "other users can access the file of auth_file=: change its mode (chmod 600)")            \
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
    X(ANSWER_BROKE_OFF, CONNECTION_CLOSED, "the answer broke off")                             \
    X(LISTING_BUSY, CONTENDED, "the server is listing its keys for another client; try again") \
    X(NO_LISTING, NO_COMMAND, "the server does not list its keys (lru_crawler metadump)")
/* clang-format on */

#endif
