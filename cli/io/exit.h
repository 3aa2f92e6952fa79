/* Exit codes of the command. */
#ifndef MCDS_CLI_IO_EXIT_H
#define MCDS_CLI_IO_EXIT_H

#include <stdbool.h>

#define STATUS_MAP(X)                                                                          \
    X(STATUS_DONE, 0, "done")                                                                  \
    X(STATUS_NO, 1,                                                                            \
      "the answer is no: absent, another value, a free lock, problems found by doctor")        \
    X(STATUS_USAGE, 64, "the command line or an argument is wrong")                            \
    X(STATUS_DATA, 65,                                                                         \
      "bad data: not a number, too big, damaged, not written by mcds, a bad line, time or "    \
      "token; a bad token that is an argument is 64")                                          \
    X(STATUS_UNREACHABLE, 69, "the store cannot be reached, or did not answer in time")        \
    X(STATUS_INTERNAL, 70,                                                                     \
      "out of memory or of another resource; or mcds-lock-guard was killed, and COMMAND too")  \
    X(STATUS_IO, 74,                                                                           \
      "the store refused or is full, the output cannot be written, or a clock is wrong")       \
    X(STATUS_BUSY, 75, "the lock is held by another, or the wait ran out; -E changes it")      \
    X(STATUS_PROTOCOL, 76, "the store cannot do this, or its server is not memcached")         \
    X(STATUS_LOST, 79, "lost: the lease, and COMMAND was stopped; or data that must exist")    \
    X(STATUS_AMBIGUOUS, 80,                                                                    \
      "in doubt: it may have been applied, or may still be; its reply was lost, a drop came "  \
      "meanwhile, or the key is damaged")                                                      \
    X(STATUS_CANNOT_RUN, 126, "COMMAND cannot be run")                                         \
    X(STATUS_NOT_FOUND, 127, "there is no such COMMAND")

#define STATUS_OF_SEVERAL                                                                      \
    "of several names or elements, of a batch, or of a script of the shell: 80 if one of "     \
    "them may have been applied, otherwise the first code of 64 or more (script: of 2 or "     \
    "more), otherwise 1 if one answered no"

enum status {
#define STATUS_ENUM(name, code, text) name = code,
    STATUS_MAP(STATUS_ENUM)
#undef STATUS_ENUM
};

/* Added to the number of the signal that ended COMMAND or mcds. */
#define STATUS_SIGNAL 128

/* The exit status for a result of the library. */
int status_of(int result);

/* Whether the store has not answered. */
bool is_unanswered(int result);

/* For a key that holds what mcds did not write; a noun may add another way out. */
#define ADVICE_ON_FOREIGN                                                                      \
    "; if its value was damaged, restore a backup; otherwise choose another NAME or "          \
    "namespace (-N)"

/* Advice on a result, to append to its sentence; "" when the sentence has it. */
const char *advice_on(int result);
/* The same for an errno: the limit of this process that it names. */
const char *advice_on_errno(int reason);
/* Whether this process or machine has no more of a resource. */
bool is_shortage(int reason);

#endif
