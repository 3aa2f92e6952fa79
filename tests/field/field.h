/* The rounds of a field test: FIELD_ROUNDS or the usual number; plain sockets; the life of a permit. */
#ifndef MCDS_TESTS_FIELD_FIELD_H
#define MCDS_TESTS_FIELD_FIELD_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "mcds.h"

static inline unsigned field_number(const char *variable, unsigned usual)
{
    const char *text = getenv(variable);
    unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 0;
    return number > 0 && number <= 1000000 ? (unsigned)number : usual;
}

/* For a test that plays a number of rounds. */
static inline unsigned field_rounds(unsigned usual)
{
    return field_number("FIELD_ROUNDS", usual);
}

static inline void field_send_all(int socket, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            perror("send");
            exit(1);
        }
        bytes += sent;
        length -= (size_t)sent;
    }
}

/* Acquires, renews and releases a permit. Returns the first result that is not OK. */
static inline int field_use_permit(mcds_semaphore *semaphore)
{
    mcds_permit permit = MCDS_PERMIT_INIT;
    int result = mcds_semaphore_try_acquire(semaphore, &permit);
    if (result == MCDS_OK)
        result = mcds_semaphore_renew(semaphore, &permit);
    return result == MCDS_OK ? mcds_semaphore_release(semaphore, &permit) : result;
}

#endif
