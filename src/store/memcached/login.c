/* Logs in to memcached's ASCII authentication (-Y) with the user and the password of a file.
 *
 *   set mcds-login 0 0 N | USER PASSWORD  -->  STORED
 *
 * The password is on this file's stack while the file is read, and in the output of the socket until
 * it was sent; both are overwritten. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/reason.h"
#include "store/memcached/memcached.h"

/* memcached reads lines of up to 256 bytes from its own file. */
#define LOGIN_MAX 250
#define COMMAND_MAX 64

static const mcds_reason *judge_open(int error)
{
    static const struct mcds__code_reason list[] = {
        {ENOENT, MCDS__WHY(AUTH_FILE_MISSING)},    {ENOTDIR, MCDS__WHY(AUTH_FILE_MISSING)},
        {EACCES, MCDS__WHY(AUTH_FILE_UNREADABLE)}, {EPERM, MCDS__WHY(AUTH_FILE_UNREADABLE)},
        {EMFILE, MCDS__WHY(NO_DESCRIPTORS)},       {ENFILE, MCDS__WHY(NO_DESCRIPTORS)},
        {0, MCDS__WHY(AUTH_FILE_BROKEN)},
    };
    return mcds__reason_of(error, list, sizeof list / sizeof list[0]);
}

/* Only its owner may use the file: this user or root. */
static const mcds_reason *judge_status(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return MCDS__WHY(AUTH_FILE_BROKEN);
    if (!S_ISREG(status.st_mode))
        return MCDS__WHY(AUTH_FILE_KIND);
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return MCDS__WHY(AUTH_FILE_OWNER);
    return (status.st_mode & (S_IRWXG | S_IRWXO)) != 0 ? MCDS__WHY(AUTH_FILE_SHARED) : NULL;
}

/* Read at most `capacity` bytes: *length_out. False: it cannot be read. */
static bool read_login_file(int fd, char *out, size_t capacity, size_t *length_out)
{
    *length_out = 0;
    while (*length_out < capacity) {
        ssize_t got = read(fd, out + *length_out, capacity - *length_out);
        if (got < 0 && errno != EINTR)
            return false;
        if (got == 0)
            return true;
        *length_out += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* Make "USER PASSWORD" of "USER:PASSWORD", with or without an end of line. False: it is neither. */
static bool take_login_line(char *line, size_t *length)
{
    if (*length > 0 && line[*length - 1] == '\n')
        --*length;
    if (*length > 0 && line[*length - 1] == '\r')
        --*length;
    char *colon = memchr(line, ':', *length);
    if (*length > LOGIN_MAX || colon == NULL || colon == line || colon + 1 == line + *length)
        return false;
    for (size_t i = 0; i < *length; i++)
        if ((unsigned char)line[i] <= ' ' || line[i] == 0x7f)
            return false;
    *colon = ' ';
    return true;
}

/* The line that logs in; the caller overwrites `line`. NULL, or why there is none. */
static const mcds_reason *read_login(const char *path, char line[LOGIN_MAX + 3], size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return judge_open(errno);
    const mcds_reason *trouble = judge_status(fd);
    if (trouble == NULL && !read_login_file(fd, line, LOGIN_MAX + 3, length))
        trouble = MCDS__WHY(AUTH_FILE_BROKEN);
    if (trouble == NULL && !take_login_line(line, length))
        trouble = MCDS__WHY(AUTH_FILE_FORM);
    (void)close(fd);
    assert(trouble != NULL || *length <= LOGIN_MAX);
    return trouble;
}

int mcds__login_check(const char *path)
{
    char line[LOGIN_MAX + 3];
    size_t length = 0;
    const mcds_reason *trouble = read_login(path, line, &length);
    explicit_bzero(line, sizeof line);
    return trouble == NULL ? MCDS_OK
                           : mcds__fail_why(MCDS_IO, trouble, .noun = "store", .peer = path);
}

/* Memory is taken before the password is in it, so that no copy is left elsewhere. */
static bool append_login(struct mcds__socket *sock, const char *line, size_t length)
{
    char command[COMMAND_MAX];
    int written = snprintf(command, sizeof command, "set mcds-login 0 0 %zu\r\n", length);
    assert(written > 0 && (size_t)written < sizeof command);
    if (!mcds__buffer_reserve(&sock->out, (size_t)written + length + 2))
        return false;
    sock->has_secret = true;
    bool appended = mcds_buffer_append(&sock->out, command, (size_t)written) &&
                    mcds_buffer_append(&sock->out, line, length) &&
                    mcds_buffer_append(&sock->out, "\r\n", 2);
    assert(appended);
    return appended;
}

bool mcds__login_append(struct mcds__socket *sock, const char *path)
{
    char line[LOGIN_MAX + 3];
    size_t length = 0;
    sock->trouble = read_login(path, line, &length);
    if (sock->trouble == NULL && !append_login(sock, line, length))
        sock->trouble = MCDS__WHY(NO_MEMORY_FOR_CONNECTION);
    explicit_bzero(line, sizeof line);
    return sock->trouble == NULL;
}

enum mcds__parse mcds__login_answer(const char *line, size_t length,
                                    const mcds_reason **trouble_out)
{
    *trouble_out = NULL;
    if (mcds__wire_is(line, length, "STORED"))
        return PARSE_DONE;
    if (mcds__login_is_asked(line, length))
        return PARSE_MORE;
    bool is_refused = mcds__wire_begins(line, length, "CLIENT_ERROR");
    *trouble_out = is_refused ? MCDS__WHY(PASSWORD_WRONG) : MCDS__WHY(NOT_MEMCACHED);
    return PARSE_BROKEN;
}
