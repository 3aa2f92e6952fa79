/* Calls of the system, which fail as a row wants it. */
#undef _GNU_SOURCE /* by which connect() has an argument that is no type of C */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "causes/causes.h"

struct faults faults;

/* Fail as the row wants it; 0: do what the system does. */
static int fault(int error)
{
    errno = error;
    return error;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
    return fault(faults.connect_error) != 0
               ? -1
               : (int)syscall(SYS_connect, descriptor, address, length);
}

ssize_t send(int descriptor, const void *bytes, size_t length, int flags)
{
    struct pollfd polled = {descriptor, 0, 0}; /* POLLHUP and POLLERR are always reported */
    /* The fake server sends in another thread, which must not read what this one writes. */
    bool is_ours = (flags & MSG_DONTWAIT) != 0;
    if (is_ours && faults.sends_late) {
        faults.sends_late = false;
        (void)poll(&polled, 1, -1);
    }
    return syscall(SYS_sendto, descriptor, bytes, length, flags, NULL, 0);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_CREAT) != 0 && fault(faults.make_error) != 0)
        return -1;
    return openat(AT_FDCWD, path, flags, mode);
}

int fallocate(int descriptor, int mode, off_t at, off_t length)
{
    return fault(faults.room_error) != 0
               ? -1
               : (int)syscall(SYS_fallocate, descriptor, mode, at, length);
}

int fdatasync(int descriptor)
{
    return fault(faults.sync_error) != 0 ? -1 : fsync(descriptor);
}

int stat(const char *restrict path, struct stat *restrict status)
{
    bool is_namespace = strcmp(path, "/proc/self/ns/pid") == 0;
    if (is_namespace && faults.has_no_proc && fault(ENOENT) != 0)
        return -1;
    int result = fstatat(AT_FDCWD, path, status, 0);
    if (result == 0 && is_namespace && faults.is_elsewhere)
        status->st_ino++;
    return result;
}

int access(const char *path, int mode)
{
    bool is_proc = strncmp(path, "/proc/", 6) == 0;
    return is_proc && faults.has_no_proc && fault(ENOENT) != 0
               ? -1
               : faccessat(AT_FDCWD, path, mode, 0);
}

/* "pods.test" has two addresses, "far.test" has one, and other names have none. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list_out)
{
    static struct sockaddr_in addresses[2];
    static struct addrinfo found[2];
    bool is_here = strcmp(host, "127.0.0.1") == 0;
    (void)hints;
    *list_out = NULL;
    for (uint32_t i = 0; i < 2; i++) {
        addresses[i].sin_family = AF_INET;
        addresses[i].sin_port = htons(is_here ? (uint16_t)atoi(port) : 1);
        addresses[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK + i);
        found[i].ai_family = AF_INET;
        found[i].ai_addr = (struct sockaddr *)&addresses[i];
        found[i].ai_addrlen = sizeof addresses[i];
        found[i].ai_next = NULL;
    }
    if (strcmp(host, "pods.test") == 0)
        found[0].ai_next = &found[1];
    else if (!is_here && strcmp(host, "far.test") != 0)
        return EAI_NONAME;
    *list_out = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}
