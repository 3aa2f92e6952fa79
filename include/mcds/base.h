/* mcds/base.h: result codes, errors, the environment, byte strings. mcds.h has the rules of all
 * calls. These also apply to this header:
 *
 * Cost:        none
 * Lifetime:    Returned texts live as long as the program, unless a description says
 *              otherwise. */
#ifndef MCDS_BASE_H
#define MCDS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MCDS_API __attribute__((visibility("default")))
#define MCDS_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define MCDS_CHECKED __attribute__((warn_unused_result))
#else
#define MCDS_API
#define MCDS_PRINTF(string, first)
#define MCDS_CHECKED
#endif

#define MCDS_VERSION_MAJOR 0
#define MCDS_VERSION_MINOR 1
#define MCDS_VERSION_PATCH 0

/* Returns the version of the library that is loaded.
 * Returns:     "0.1.0"; never NULL */
MCDS_API const char *mcds_version(void);

/* Results. */

#define MCDS_RESULT_MAP(X)                                                                     \
    X(MCDS_OK, 0, "done")                                                                      \
    X(MCDS_NOT_FOUND, 1, "no such key")                                                        \
    X(MCDS_EXISTS, 2, "already there")                                                         \
    X(MCDS_BUSY, 3, "held or changed by others; not applied")                                  \
    X(MCDS_IDLE, 4, "nothing in flight")                                                       \
    X(MCDS_TOO_OLD, 5, "earlier than is accepted")                                             \
    X(MCDS_TOO_FUTURE, 6, "later than is accepted")                                            \
    X(MCDS_PENDING, 7, "not finished yet")                                                     \
    X(MCDS_AMBIGUOUS, -1, "it may have been applied, or may still be")                         \
    X(MCDS_LOST, -2, "something that must exist is gone or was made again")                    \
    X(MCDS_TIMEOUT, -3, "the deadline passed; not applied")                                    \
    X(MCDS_UNAVAILABLE, -4, "the store cannot be reached; not applied")                        \
    X(MCDS_EXPIRED, -5, "the lease is over")                                                   \
    X(MCDS_INVALID, -6, "an argument is out of its documented range")                          \
    X(MCDS_TOO_BIG, -7, "larger than the store accepts")                                       \
    X(MCDS_NO_MEMORY, -8, "this process is out of memory")                                     \
    X(MCDS_FULL, -9, "the store is out of memory or of disk")                                  \
    X(MCDS_CORRUPT, -10, "the key holds something that mcds did not write")                    \
    X(MCDS_UNSUPPORTED, -11, "this store cannot do it")                                        \
    X(MCDS_PROTOCOL, -12, "the other side does not speak memcached's protocol")                \
    X(MCDS_OVERFLOW, -13, "the number leaves its range")                                       \
    X(MCDS_IO, -14, "the store refused; see the message")

typedef enum mcds_result {
#define MCDS_RESULT_ENUM(name, code, text) name = code,
    MCDS_RESULT_MAP(MCDS_RESULT_ENUM)
#undef MCDS_RESULT_ENUM
} mcds_result;

/* Explains a result code.
 * Arguments:   result  any number
 * Returns:     one line; never NULL */
MCDS_API const char *mcds_strerror(int result);
/* Returns the name of a result code.
 * Arguments:   result  any number
 * Returns:     "MCDS_BUSY" for MCDS_BUSY; "?" for a number that is no result; never NULL */
MCDS_API const char *mcds_result_name(int result);
/* Returns a sentence about this thread's last failure: the structure, the verb, the server and
 * the cause. It may be printed on a terminal: control characters, characters that change the
 * direction of text, and bytes that are no UTF-8 are shown as \xHH (\x1b). A long name is cut.
 * Returns:     the sentence; "" if there was no failure; never NULL
 * Lifetime:    until this thread's next call of the library */
MCDS_API const char *mcds_errmsg(void);

/* Causes of failures, for a program that needs more than the result. The cause says what went
 * wrong. The result says what that means for the call. New versions may add causes. The number of
 * a cause never changes. */
/* clang-format off */
#define MCDS_CAUSE_MAP(X)                                                                      \
    X(MCDS_CAUSE_OTHER, 0, "none of these")                                                    \
    /* Of the call */                                                                          \
    X(MCDS_CAUSE_ARGUMENT_MISSING, 1, "an argument is missing")                                \
    X(MCDS_CAUSE_EMPTY, 2, "a name or an element is empty")                                    \
    X(MCDS_CAUSE_TOO_LONG, 3, "a name or an element is too long")                              \
    X(MCDS_CAUSE_OUT_OF_RANGE, 4, "a number is out of its range")                              \
    X(MCDS_CAUSE_UNKNOWN_VALUE, 5, "an option has a value that this version does not know")    \
    X(MCDS_CAUSE_CONFLICT, 6, "two options, or an option and a call, exclude each other")      \
    X(MCDS_CAUSE_BAD_BYTE, 7, "a byte that is not allowed here")                               \
    X(MCDS_CAUSE_BAD_URI, 8, "the URI, or a part of it, is not understood")                    \
    X(MCDS_CAUSE_BAD_CURSOR, 9, "no cursor, a cursor at its end, or one of another log")       \
    X(MCDS_CAUSE_BAD_LEASE, 10, "the lease is not in the state that the call needs")           \
    X(MCDS_CAUSE_STRUCT_SIZE, 11, "the size of a struct is not one of this library")           \
    X(MCDS_CAUSE_OTHER_STORE, 12, "the pipeline belongs to another store")                     \
    X(MCDS_CAUSE_FORKED, 13, "the store was opened before fork")                               \
    X(MCDS_CAUSE_FEW_SERVERS, 14, "there are fewer servers than copies")                       \
    /* Of what is stored */                                                                    \
    X(MCDS_CAUSE_OPTION_DIFFERS, 20, "it was made with another value of an option")            \
    X(MCDS_CAUSE_FORM_DIFFERS, 21, "it was made in another form")                              \
    X(MCDS_CAUSE_NOT_A_NUMBER, 22, "the value is not a number")                                \
    X(MCDS_CAUSE_FOREIGN, 23, "it was not written by mcds")                                    \
    X(MCDS_CAUSE_NEWER, 24, "it was made by a newer version of mcds")                          \
    X(MCDS_CAUSE_DAMAGED, 25, "it is damaged")                                                 \
    X(MCDS_CAUSE_GONE, 26, "something that must exist is gone")                                \
    X(MCDS_CAUSE_MADE_AGAIN, 27, "it was lost and made again")                                 \
    X(MCDS_CAUSE_OVERFLOW, 28, "the number leaves its range")                                  \
    X(MCDS_CAUSE_TOO_BIG, 29, "larger than the store accepts")                                 \
    X(MCDS_CAUSE_TOO_LATE, 30, "so late that readers may have passed it")                      \
    X(MCDS_CAUSE_CLOCK, 31, "a clock is wrong, or a time differs too much from it")                  \
    /* Of other users */                                                                       \
    X(MCDS_CAUSE_CONTENDED, 40, "others keep changing it")                                     \
    X(MCDS_CAUSE_HELD, 41, "it is held")                                                       \
    X(MCDS_CAUSE_LIMITED, 44, "the rate limit is reached")                                     \
    X(MCDS_CAUSE_LEASE_OVER, 42, "the lease is over")                                          \
    X(MCDS_CAUSE_FILE_IN_USE, 43,                                                              \
      "another process uses the file in a way that excludes this one")                         \
    /* Of the way to the server */                                                             \
    X(MCDS_CAUSE_TIMEOUT, 50, "the deadline passed, or the wait was ended")                    \
    X(MCDS_CAUSE_REPLY_LOST, 51, "the reply was lost")                                         \
    X(MCDS_CAUSE_UNREACHABLE, 52, "the store cannot be reached")                               \
    X(MCDS_CAUSE_CONNECTION_REFUSED, 53, "connection refused")                                 \
    X(MCDS_CAUSE_CONNECTION_CLOSED, 54, "the connection broke")                                \
    X(MCDS_CAUSE_NO_ROUTE, 55, "no route to the host")                                         \
    X(MCDS_CAUSE_NO_SOCKET_FILE, 56, "no such socket file")                                    \
    X(MCDS_CAUSE_HOST_SILENT, 57, "the host does not answer")                                  \
    X(MCDS_CAUSE_SERVER_SILENT, 58, "the server does not answer")                              \
    X(MCDS_CAUSE_UNKNOWN_HOST, 59, "the host name cannot be resolved")                         \
    X(MCDS_CAUSE_SEVERAL_ADDRESSES, 60, "the host name has several addresses")                 \
    X(MCDS_CAUSE_TOO_MANY_CONNECTIONS, 61, "the server has reached its limit of connections")  \
    X(MCDS_CAUSE_UNFINISHED, 62, "the deadline passed, and a part of it may be done")          \
    /* Of the server */                                                                        \
    X(MCDS_CAUSE_NOT_MEMCACHED, 70, "the other side does not speak memcached's protocol")      \
    X(MCDS_CAUSE_TLS, 71, "TLS failed, or only one side uses it")          \
    X(MCDS_CAUSE_PASSWORD, 72, "the server requires a password, or refused the one sent")           \
    X(MCDS_CAUSE_BAD_REPLY, 73, "a reply does not match its request")                          \
    X(MCDS_CAUSE_SERVER_ERROR, 74, "the server answered SERVER_ERROR")                         \
    X(MCDS_CAUSE_CERTIFICATE, 75, "a certificate is not accepted")                             \
    X(MCDS_CAUSE_NO_COMMAND, 76, "the server lacks a command")                                 \
    X(MCDS_CAUSE_NO_COMPARE_AND_SET, 77, "the store has no compare-and-set")                   \
    X(MCDS_CAUSE_UNSUPPORTED, 78, "this store cannot do it")                                   \
    X(MCDS_CAUSE_STORE_FULL, 79, "the store is full")                                          \
    /* Of this process */                                                                      \
    X(MCDS_CAUSE_NO_MEMORY, 90, "this process is out of memory")                               \
    X(MCDS_CAUSE_NO_DESCRIPTORS, 91, "this process has no file descriptors left")              \
    X(MCDS_CAUSE_NO_RANDOM, 92, "the system gives no random numbers")                          \
    X(MCDS_CAUSE_NO_PROC, 93, "/proc is not mounted")                                          \
    X(MCDS_CAUSE_CALLBACK_FAILED, 94, "a function of the program has failed")                  \
    /* Of files */                                                                             \
    X(MCDS_CAUSE_DISK_FULL, 100, "the disk, or a quota on it, is full")                        \
    X(MCDS_CAUSE_FILE_LIMIT, 101, "the limit of this process for file sizes is reached")       \
    X(MCDS_CAUSE_DISK_ERROR, 102, "the disk reports an error")                                 \
    X(MCDS_CAUSE_NO_PERMISSION, 103, "no permission for a file")                               \
    X(MCDS_CAUSE_READ_ONLY, 104, "the disk is mounted read-only")                              \
    X(MCDS_CAUSE_NO_DIRECTORY, 105, "the directory does not exist")                            \
    X(MCDS_CAUSE_WRONG_FILE, 106, "the file is of another kind or of another owner")           \
    X(MCDS_CAUSE_FILE_EXISTS, 107, "the file exists already")                                  \
    X(MCDS_CAUSE_FILE_REPLACED, 108, "the file was removed or replaced")                       \
    X(MCDS_CAUSE_OTHER_VERSION, 109,                                                           \
      "another version of mcds or LMDB uses or has written the file")                          \
    X(MCDS_CAUSE_OTHER_CONTAINER, 110, "the file is open in another container")                \
    X(MCDS_CAUSE_NO_FILE, 111, "the file does not exist")
/* clang-format on */

typedef enum mcds_cause {
#define MCDS_CAUSE_ENUM(name, code, text) name = code,
    MCDS_CAUSE_MAP(MCDS_CAUSE_ENUM)
#undef MCDS_CAUSE_ENUM
} mcds_cause;

/* Returns the name of a cause.
 * Arguments:   cause  any number
 * Returns:     "MCDS_CAUSE_TIMEOUT" for MCDS_CAUSE_TIMEOUT; "?" for a number that is no cause;
 *              never NULL */
MCDS_API const char *mcds_cause_name(int cause);

/* The parts of the sentence that mcds_errmsg() returns. No text is NULL. "" means unknown. `name`,
 * `option`, `wanted`, `found`, `peer` and `key` contain any bytes. `reason` and the sentence may be
 * shown on a terminal. */
typedef struct mcds_error {
    size_t size; /* sizeof(mcds_error) of the library that is loaded */
    int result;  /* 0: no call of this thread has failed */
    mcds_cause cause;
    int os_error;       /* errno of the system call that failed, or 0 */
    const char *noun;   /* "counter", "lock", ..., "store", "pipeline" */
    const char *name;   /* of the structure, as given to open */
    const char *verb;   /* "add", "get", ...; "" while something is opened */
    const char *option; /* the argument, or the member of the options: "stripes" */
    /* OPTION_DIFFERS: the value that the handle was opened with; ARGUMENT_MISSING: the argument
     * that the call needs; else the allowed values. */
    const char *wanted;
    /* OPTION_DIFFERS: the value that the structure was made with; CALLBACK_FAILED: the number that
     * the function returned; CLOCK: the milliseconds between the two times; else the value given. */
    const char *found;
    /* `wanted` and `found` as numbers; 0 if they are not numbers. A range does not include the 0
     * that selects a default. */
    int64_t wanted_min;
    int64_t wanted_max;
    int64_t found_number;
    const char *peer; /* the server or file that the failure came from */
    /* The cause as one clause: the sentence without noun, name, verb, peer and key. */
    const char *reason;
    /* The key on `peer` whose value cannot be read: the value is damaged, or mcds did not write it,
     * or a newer version wrote it. "" also if the value is in several keys. */
    const char *key;
} mcds_error;

/* Returns this thread's last failure, which mcds_errmsg() describes. A call that returns a
 * negative result, MCDS_BUSY, MCDS_TOO_OLD or MCDS_TOO_FUTURE replaces it. mcds_pipeline_next()
 * and mcds_pipeline_poll() replace it when they return a completion with such a result. A library
 * that is newer than the program may have more members at the end. An older library may have
 * fewer, and `size` is then smaller.
 * Returns:     the failure; never NULL
 * Lifetime:    the struct and its texts live until this thread's next call of the library; no
 *              other thread changes them */
MCDS_API const mcds_error *mcds_last_error(void);

/* Environment. */

/* Source of time, random bytes, sleep and memory. Tests replace it. If a function is NULL, the
 * library uses that of the operating system. Any thread that uses the store may call the
 * functions. */
typedef struct mcds_env {
    size_t size; /* sizeof(mcds_env) */
    void *self;  /* passed to each function of this struct that is not NULL */
    /* Nanoseconds of a clock that never runs backwards and keeps running during suspend. */
    int64_t (*monotonic_ns)(void *self);
    /* Nanoseconds since 1970-01-01 UTC. */
    int64_t (*wall_ns)(void *self);
    void (*random)(void *self, void *out, size_t length);
    void (*sleep_until_ns)(void *self, int64_t monotonic_ns);
    /* As realloc(3); length 0 frees and returns NULL. */
    void *(*reallocate)(void *self, void *memory, size_t length);
} mcds_env;
#define MCDS_ENV_INIT                                                                          \
    {                                                                                          \
        sizeof(mcds_env), NULL, NULL, NULL, NULL, NULL, NULL                                   \
    }

/* Returns the operating system's clocks, randomness and memory.
 * Returns:     an environment with every function set; never NULL */
MCDS_API const mcds_env *mcds_env_system(void);

/* Bytes. */

/* Bytes that the caller owns. */
typedef struct mcds_bytes {
    const void *data;
    size_t length;
} mcds_bytes;

/* Returns the bytes of a C string.
 * Arguments:   text  NULL gives no bytes
 * Returns:     its bytes without the terminating NUL
 * Lifetime:    that of `text`; nothing is copied */
static inline mcds_bytes mcds_text(const char *text)
{
    mcds_bytes bytes = {text, 0};
    while (text != NULL && text[bytes.length] != '\0')
        bytes.length++;
    return bytes;
}

/* Buffer for bytes that a call reads. Initialize it with MCDS_VALUE_INIT, pass it to any number
 * of calls, one at a time, and free it with mcds_value_free(). The buffer grows as needed. Each
 * call replaces its content. */
typedef struct mcds_value {
    uint8_t *data;
    size_t length;
    /* private */
    size_t capacity;
    void *self;
    void *(*reallocate)(void *self, void *memory, size_t length);
} mcds_value;
#define MCDS_VALUE_INIT                                                                        \
    {                                                                                          \
        NULL, 0, 0, NULL, NULL                                                                 \
    }

/* Frees the memory. The value is empty and may be used again.
 * Arguments:   value  NULL is allowed
 * Threads:     one at a time for each value */
MCDS_API void mcds_value_free(mcds_value *value);

#ifdef __cplusplus
}
#endif
#endif
