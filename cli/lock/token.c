/* Token: a file is made beside its name and never written or read through a symbolic link. */
#include "lock/token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child/descriptors.h"
#include "files/aside.h"
#include "io/exit.h"
#include "io/output.h"

/* Of standard input, where --token may have been forgotten. */
#define ELSEWHERE "give the token with --token FILE or --token-fd N"

struct token_place token_place_of(const struct command *command, int standard_fd)
{
    struct token_place place = {.fd = standard_fd};
    if (is_given(command, OPTION_TOKEN) &&
        strcmp(command->options[OPTION_TOKEN].text, "-") != 0)
        place.path = command->options[OPTION_TOKEN].text;
    place.fd = (int)number_of(command, OPTION_TOKEN_FD, (uint64_t)standard_fd);
    return place;
}

void token_blame(const struct token_place *place, const char *why, char *sentence,
                 size_t capacity)
{
    if (place->path != NULL)
        (void)snprintf(sentence, capacity, "the token %.200s: %s", place->path, why);
    else if (place->fd == STDIN_FILENO)
        (void)snprintf(sentence, capacity, "the token on standard input: %s; " ELSEWHERE, why);
    else
        (void)snprintf(sentence, capacity, "the token on descriptor %d: %s", place->fd, why);
}

/* A file that mcds itself has opened, such as that of the store, is no place of a token. */
static bool is_open_for(const struct token_place *place, int mode)
{
    int flags = descriptor_is_inherited(place->fd) ? fcntl(place->fd, F_GETFL) : -1;
    return flags >= 0 && ((flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode);
}

static int check_descriptor(const struct token_place *place, char *sentence, size_t capacity)
{
    if (is_open_for(place, O_WRONLY))
        return STATUS_DONE;
    token_blame(place, "it is not open for writing", sentence, capacity);
    return STATUS_USAGE;
}

/* The directory of a path. */
static void write_directory(const char *path, char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s", path);
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        (void)snprintf(out, PATH_MAX, ".");
    else
        slash[slash == out ? 1 : 0] = '\0';
}

int token_check(const struct token_place *place, char *sentence, size_t capacity)
{
    struct stat facts;
    char directory[PATH_MAX];
    if (place->path == NULL)
        return check_descriptor(place, sentence, capacity);
    if (lstat(place->path, &facts) == 0) {
        bool is_ours = S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
        if (is_ours && facts.st_size == 0)
            return STATUS_DONE;
        token_blame(place,
                    is_ours ? "the file exists, and may be the token of another holder; give "
                              "another name, or remove it when its lease has ended"
                            : "it is not a regular file of this user",
                    sentence, capacity);
        return STATUS_USAGE;
    }
    int reason = errno;
    write_directory(place->path, directory);
    if (reason == ENOENT && access(directory, W_OK | X_OK) == 0)
        return STATUS_DONE;
    token_blame(place, strerror(reason == ENOENT ? errno : reason), sentence, capacity);
    return STATUS_IO;
}

static bool write_line(int fd, const char *text)
{
    char line[MCDS_LEASE_TEXT + 1];
    int length = snprintf(line, sizeof line, "%s\n", text);
    return write_whole(fd, line, (size_t)length);
}

/* Gives the file its name, unless somebody has put a file with content there meanwhile. */
static bool take_name(const char *aside, const char *path)
{
    struct stat facts;
    if (link(aside, path) == 0)
        return unlink(aside) == 0;
    if (errno != EEXIST || lstat(path, &facts) != 0)
        return false;
    errno = EEXIST;
    return S_ISREG(facts.st_mode) && facts.st_size == 0 && facts.st_uid == geteuid() &&
           rename(aside, path) == 0;
}

bool token_write(const struct token_place *place, const char *text)
{
    char aside[PATH_MAX];
    if (place->path == NULL)
        return write_line(place->fd, text);
    errno = ENAMETOOLONG;
    if (snprintf(aside, sizeof aside, "%s.XXXXXX", place->path) >= (int)sizeof aside)
        return false;
    int fd = aside_make(aside);
    if (fd < 0)
        return false;
    bool is_written = write_line(fd, text) && fsync(fd) == 0;
    int reason = errno;
    if (close(fd) != 0 && is_written) {
        is_written = false;
        reason = errno;
    }
    if (is_written && take_name(aside, place->path))
        return true;
    reason = is_written ? errno : reason;
    (void)unlink(aside);
    errno = reason;
    return false;
}

/* Reads to the end of a line or of the input. */
static bool read_line(int fd, char text_out[MCDS_LEASE_TEXT])
{
    size_t length = 0;
    while (length < MCDS_LEASE_TEXT - 1) {
        ssize_t got = read(fd, text_out + length, MCDS_LEASE_TEXT - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        length += (size_t)got;
        text_out[length] = '\0';
        if (got == 0 || memchr(text_out, '\n', length) != NULL)
            break;
    }
    text_out[length] = '\0';
    text_out[strcspn(text_out, "\r\n")] = '\0';
    return true;
}

static int read_file(const struct token_place *place, char text_out[MCDS_LEASE_TEXT],
                     char *sentence, size_t capacity)
{
    struct stat facts;
    int fd = open(place->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        token_blame(place, "there is no such file; the lease was released, or never acquired",
                    sentence, capacity);
        return STATUS_NO;
    }
    bool is_regular = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    bool is_link = fd < 0 && errno == ELOOP;
    bool is_read = is_regular && read_line(fd, text_out);
    if (!is_read)
        token_blame(place,
                    (fd >= 0 && !is_regular) || is_link ? "it is not a regular file"
                                                        : strerror(errno),
                    sentence, capacity);
    if (fd >= 0)
        (void)close(fd);
    return is_read                               ? STATUS_DONE
           : !is_regular && (fd >= 0 || is_link) ? STATUS_USAGE
                                                 : STATUS_IO;
}

static int read_descriptor(const struct token_place *place, char text_out[MCDS_LEASE_TEXT],
                           char *sentence, size_t capacity)
{
    if (!is_open_for(place, O_RDONLY)) {
        token_blame(place, "it is not open for reading", sentence, capacity);
        return STATUS_USAGE;
    }
    if (isatty(place->fd) == 1) {
        token_blame(place, "it is a terminal", sentence, capacity);
        return STATUS_USAGE;
    }
    if (read_line(place->fd, text_out))
        return STATUS_DONE;
    token_blame(place, strerror(errno), sentence, capacity);
    return STATUS_IO;
}

int token_read(const struct token_place *place, char text_out[MCDS_LEASE_TEXT], char *sentence,
               size_t capacity)
{
    text_out[0] = '\0';
    int status = place->path != NULL ? read_file(place, text_out, sentence, capacity)
                                     : read_descriptor(place, text_out, sentence, capacity);
    if (status != STATUS_DONE || text_out[0] != '\0')
        return status;
    token_blame(place, "it is empty", sentence, capacity);
    return STATUS_DATA;
}

void token_remove(const struct token_place *place)
{
    if (place->path != NULL)
        (void)unlink(place->path);
}
