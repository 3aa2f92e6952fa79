/* mcds/store.h: open and close a store, list its structures, inspect it, back it up. mcds.h has
 * the rules of all calls. */
#ifndef MCDS_STORE_H
#define MCDS_STORE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcds_store mcds_store;

typedef struct mcds_options {
    size_t size;    /* sizeof(mcds_options) */
    const char *ns; /* prefix of all keys, 1..32 bytes of a-z A-Z 0-9 _ - .; NULL = "mcds" */
    /* Timeout of each whole operation; 0 = 1000; at most 3 600 000. If the description of a
     * call says that the timeout applies to each round trip, the call waits at most 1 024
     * timeouts for the server, by default 17 minutes. Each value or page that the call stores
     * starts that time again. The time spent in a visitor does not count. */
    uint32_t timeout_ms;
    /* NULL = mcds_env_system(). The struct is copied. Everything that its functions use must
     * outlive the store, everything opened on the store, and each mcds_value that was filled by
     * them. */
    const mcds_env *env;
} mcds_options;
#define MCDS_OPTIONS_INIT                                                                      \
    {                                                                                          \
        sizeof(mcds_options), NULL, 0, NULL                                                    \
    }

/* Opens the store that a URI names:
 *
 *   memory:            in this process, private to this handle
 *   memory:NAME        in this process, shared by all handles opened with this name
 *   lmdb:PATH          one durable file (with PATH-lock and PATH-writer next to it), shared by
 *                      the processes of a machine
 *   memcached://HOST[:PORT][*WEIGHT][,HOST...]      a cluster; [::1]:11211 for IPv6
 *   memcached:///run/memcached.sock[*WEIGHT][,...]  unix sockets; the // may be left out
 *
 * Options follow `?` and are joined by `&`. An option of the URI takes precedence over a member
 * of `options`.
 * In a path, a host and the value of an option, %XX is the byte with this hexadecimal code: write
 * % as %25, ? as %3F, and & in a value as %26.
 *
 * For every store:
 *
 *   ns=NS        namespace, the prefix of all keys: at most 32 bytes of a-z A-Z 0-9 _ - .
 *                It must not be empty. The default is mcds.
 *   timeout=MS   timeout of each operation, in milliseconds
 *
 * For memory:
 *
 *   strict=1     emulates the worst behaviour that memcached permits
 *   bytes=N      evicts items beyond N bytes; N is at least 65 536
 *
 * For lmdb:
 *
 *   sync=full    A change returns when it is on the disk. This is the default.
 *   sync=async   A change returns when the system has it. The death of a process loses nothing. A
 *                crash of the machine loses up to a second of changes, and may damage the file if
 *                the file system reorders writes.
 *   map_max=N    largest size of the file in bytes, for this process
 *   mode=0660    permissions of new files, in octal, independent of the umask; default 0600. Files
 *                that exist keep theirs: chmod PATH, PATH-lock and PATH-writer. A user who may
 *                write them can take over the programs of the others: only for full trust.
 *   create=0     refuses to open a file that does not exist; without it, mcds_open() creates the
 *                file. A command of mcds(1) that only reads refuses it too, unless the URI has create=1.
 *
 * For memcached:
 *
 *   protocol=auto|meta|classic   default auto: meta where the server has it
 *   connect_timeout=MS           default 250. If a name has an IPv6 and an IPv4 address, the
 *                                first attempt gets half of this time.
 *   placement=RULE               the rule that chooses the server of a key: ketama_weighted (the
 *                                default, as in most clients), or ketama or modula
 *                                (libmemcached's older rules)
 *   hash=one_at_a_time|md5       for ketama and modula; default one_at_a_time
 *   tls=1                        TLS 1.2 or newer to each server. A build without OpenSSL refuses
 *                                it. connect_timeout is then 500 by default, and includes the
 *                                handshake. The certificate of a server must have the host of the
 *                                URI as its name or its address, be valid now, and be signed by a
 *                                trusted authority. Not for unix sockets.
 *   ca=PATH                      a PEM file with the certificates of the trusted authorities;
 *                                default: those of the system
 *   cert=PATH                    a PEM file with the certificate of this client and its chain
 *   key=PATH                     a PEM file with its key, which has no passphrase; default: the
 *                                file of cert=
 *   tls_name=NAME                the name or address that the certificates must have instead
 *   auth_file=PATH               a file with one line, USER:PASSWORD, of at most 250 bytes without
 *                                blanks, for servers that ask for a password (memcached -Y). It
 *                                must belong to this user or to root, and no other user may have
 *                                a right to it (mode 0600). It is read when the store is opened,
 *                                and again for each connection, so that a new password needs no
 *                                new store. mcds sends the password only to a server that asks
 *                                for it. Without tls=1, the password is sent unencrypted. SASL is
 *                                not supported.
 *   connections=1..4             of each pipeline and each waiting thread to each server; default
 *                                1. mcds spreads the keys over them, so that several threads of
 *                                the server work for a deep pipeline.
 *
 * A host name means one server. The name may have one IPv6 and one IPv4 address; mcds assumes
 * that both reach the same server. It tries IPv6 first, unless IPv6 did not answer the last time.
 * If a name has several addresses of one family, calls that need its server fail: two clients
 * could use different servers for one key.
 *
 * memcached: mcds_open() does not use the network. Later calls report a server that is down. With
 * tls=1, mcds_open() reads the files of ca=, cert= and key=. OpenSSL takes memory and random
 * numbers from the system, and the time from `env`.
 * lmdb: mcds_open() opens the files. It never overwrites a file that mcds did not write. It
 * refuses a symbolic link at PATH, PATH-lock or PATH-writer, except a link at PATH that belongs
 * to this user or to root and leads to a file. It also refuses a file of another kind or with
 * other contents at these paths, a truncated file, and a file that is open in another pid
 * namespace (another container). A file of 0 bytes is a new store if PATH-writer does not show
 * that it was truncated. A user with permission to read PATH, but not to write PATH or PATH-lock,
 * reads a copy in memory, made when the store is opened, without later changes. Without /proc,
 * mcds_open() refuses a file that another process has open, and makes no copy.
 *
 * No timeout of the store limits the wait for name resolution. A call that connects to a
 * memcached server given by name calls getaddrinfo(3), which waits as long as the system's
 * resolver does (resolv.conf(5); 5 s for each name server that does not answer). Numeric
 * addresses need no resolution.
 *
 * Arguments:   uri        as above
 *              store_out  the store
 * Returns:     MCDS_OK
 *              MCDS_INVALID      mcds_errmsg() names the part of the URI or the option
 *              MCDS_IO           a file cannot be used, for example a file of another version, a
 *                                missing one with create=0, or a file of auth_file=, ca=, cert=
 *                                or key=; there is no source of random numbers; or a clock is
 *                                before 1970, or the monotonic clock below 0
 *              MCDS_NO_MEMORY
 * Cost:        none on memory:; memcached: reads the files of the URI, if it names any; lmdb: reads
 *              and maps the files, unless this process has them open. lmdb: it waits, up to 30 s,
 *              for another process that is opening or making the file, and for a thread of this
 *              process that opens another file. A fork, and calls on other stores, do not wait
 *              for it.
 * Lifetime:    until mcds_close */
MCDS_API MCDS_CHECKED int mcds_open(const char *uri, const mcds_options *options,
                                    mcds_store **store_out);

/* Closes this handle of the store. Structures and pipelines that are open on it keep working. The
 * connections and the file are closed when the last of these is closed. Nothing is erased, except
 * the content of a memory: store when its last handle is closed.
 * Arguments:   store  NULL is allowed
 * Cost:        none on memory: and memcached; lmdb: the call that closes the last of these waits
 *              for the disk. It may be the close of a structure or of a pipeline. It does not
 *              wait for other processes. */
MCDS_API void mcds_close(mcds_store *store);

/* Limits each later operation to `timeout_ms` if the store's timeout is longer. Use it if the
 * caller has a deadline of its own.
 * Arguments:   timeout_ms  0 ends the limit
 * Cost:        none
 * Threads:     one thread, while no operation is in flight on this handle of the store */
MCDS_API void mcds_limit_timeout(mcds_store *store, uint32_t timeout_ms);

/* A structure that exists in the store. */
typedef struct mcds_listed {
    const char *noun; /* "counter", "lock", ... */
    const char *name; /* as given at open; "~..." if the store has only a hash of it */
} mcds_listed;
/* Called by mcds_scan for each structure. `listed` is valid during the call only. Returns false
 * to end the scan. */
typedef bool (*mcds_scan_cb)(void *context, const mcds_listed *listed);

/* Lists the structures in the store's namespace: calls `visit` once for each, in no order,
 * until visit returns false. Limits of the form MCDS_LIMIT_WINDOW are never listed. On
 * memcached the call is slow and may miss some structures: it is for interactive use, not for
 * programs. If a server fails, the call visits the structures of the other servers and then
 * returns the failure. mcds_errmsg() names each server that failed. The call connects to all
 * servers at the same time, so many servers that do not answer take no longer than one. A
 * server that sends nothing for the timeout has failed. While a server continues to send, the
 * call may take longer than the timeout. On lmdb, after the last visit, the call checks all
 * pages that can have keys of the namespace. It returns MCDS_IO if a page is damaged. If visit
 * has returned false, the call skips this check.
 * Arguments:   visit  must not call the store
 * Returns:     MCDS_OK           also if visit has ended the call
 *              MCDS_UNAVAILABLE  a server cannot be reached, or broke off its listing
 *              MCDS_UNSUPPORTED  a server or store cannot list its keys
 *              MCDS_NO_MEMORY    also for more than 1 000 000 structures
 *              MCDS_TIMEOUT, MCDS_IO
 * Cost:        a listing of all keys, and on memcached 1 per 32 arrays. On memcached the listing
 *              includes the keys of other namespaces and other programs on each server. Blocks */
MCDS_API MCDS_CHECKED int mcds_scan(mcds_store *store, mcds_scan_cb visit, void *context);

typedef enum mcds_severity { MCDS_FACT, MCDS_ADVICE, MCDS_PROBLEM } mcds_severity;
/* The texts may be printed on a terminal, as that of mcds_errmsg(). */
typedef struct mcds_finding {
    mcds_severity severity;
    const char *subject; /* the server, file or setting */
    const char *what;    /* one sentence */
    const char *fix;     /* what to do, or "" for a fact */
    /* The name of the number of a finding: "commands" that a memcached server has executed since
     * its start, "commits" of an lmdb file since it was made, or "bytes" in use. NULL: the
     * finding has no number. Two calls give a rate. */
    const char *figure;
    uint64_t number;
} mcds_finding;
/* Called by mcds_inspect for each finding. `finding` is valid during the call only. Returns false
 * to end the call. */
typedef bool (*mcds_inspect_cb)(void *context, const mcds_finding *finding);

/* Describes the store and reports problems. Calls `visit` for each finding until visit returns
 * false. A server that cannot be reached, or sends nothing for the timeout, is a finding. On lmdb,
 * the call checks the pages in use for at most 2 s; a damaged page is a finding.
 * Arguments:   visit  must not call the store
 * Returns:     MCDS_OK           also if visit has ended the call
 *              MCDS_UNSUPPORTED  the backend cannot be inspected
 *              MCDS_IO, MCDS_NO_MEMORY
 * Cost:        several round trips to each server. Blocks. For interactive use, not for
 *              programs */
MCDS_API MCDS_CHECKED int mcds_inspect(mcds_store *store, mcds_inspect_cb visit, void *context);

/* Copies a whole lmdb: store with all namespaces, as of one moment. Other processes may use the
 * store during the copy. The copy is an lmdb: file with mode 0600 and is synced to the disk
 * before the call returns. Open it as a store of its own. To restore it, close the store in every
 * program and replace PATH. While a program still has the old file open, mcds_open() refuses the
 * new file. If cp copies a file in use, the copy is damaged. The call blocks until the disk has
 * finished. Writers continue during the call, except while this process enlarges the store's map.
 *
 * Arguments:   path  path of a new file, less than PATH_MAX bytes; an existing file is not
 *                    overwritten
 * Returns:     MCDS_OK
 *              MCDS_UNSUPPORTED  another kind of store
 *              MCDS_FULL         no room for the copy
 *              MCDS_TIMEOUT      a writer is stopped, and 10 s have passed (independent of the
 *                                store's timeout)
 *              MCDS_IO           also if the file exists, or a page of the store is damaged
 *              A failed call leaves no copy.
 * Cost:        reads and writes the whole content, and syncs it */
MCDS_API MCDS_CHECKED int mcds_backup(mcds_store *store, const char *path);

#ifdef __cplusplus
}
#endif
#endif
