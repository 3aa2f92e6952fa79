/* What the command's exit code says. */
#ifndef MCDS_CLI_EXIT_H
#define MCDS_CLI_EXIT_H

#define STATUS_MAP(X)                                                                          \
    X(STATUS_DONE, 0, "done")                                                                  \
    X(STATUS_NO, 1,                                                                            \
      "a clean no: there is none, it has another value, nobody holds it, doctor found "        \
      "problems")                                                                              \
    X(STATUS_USAGE, 64, "the command line or an argument is wrong")                            \
    X(STATUS_DATA, 65, "bad data: no number, too big, not written by mcds, a bad line")        \
    X(STATUS_UNREACHABLE, 69, "the store cannot be reached, or did not answer in time")        \
    X(STATUS_INTERNAL, 70, "out of memory or of another resource of this machine")             \
    X(STATUS_IO, 74, "the store refused or is full, or the output cannot be written")          \
    X(STATUS_BUSY, 75, "the lock is held by another, or the wait ran out; -E changes it")      \
    X(STATUS_PROTOCOL, 76, "the server does not speak memcached's protocol or is too old")     \
    X(STATUS_LOST, 79,                                                                         \
      "lost: the lease while COMMAND ran, which was stopped; or data that must exist")         \
    X(STATUS_AMBIGUOUS, 80, "the reply was lost: it may have been applied, or may still be")   \
    X(STATUS_CANNOT_RUN, 126, "COMMAND cannot be run")                                         \
    X(STATUS_NOT_FOUND, 127, "there is no such COMMAND")

enum status {
#define STATUS_ENUM(name, code, text) name = code,
    STATUS_MAP(STATUS_ENUM)
#undef STATUS_ENUM
};

/* Added to the number of a signal that ended COMMAND or us. */
#define STATUS_SIGNAL 128

/* The status that a result of the library stands for. */
int status_of(int result);

/* What to do about a result, to be put behind its sentence; "" when the sentence says it. */
const char *advice_on(int result);

#endif
