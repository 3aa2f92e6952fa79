/* Cursor file: finds, reads and replaces it. */
#include "files/cursor_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/output.h"

#define NEW_MODE 0666 /* less the umask */
#define OWN (S_IRUSR | S_IWUSR)

/* Creates the empty file that a dangling symbolic link names. */
static bool make_target(const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || !S_ISLNK(facts.st_mode))
        return true;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, NEW_MODE);
    return fd >= 0 && close(fd) == 0;
}

/* The path of the file, or of the file that will be made. */
static bool find(struct cursor_file *file, const char *path)
{
    if (realpath(path, file->path) == NULL) {
        if (errno != ENOENT || !make_target(path))
            return false;
        if (realpath(path, file->path) == NULL &&
            snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path) {
            errno = ENAMETOOLONG;
            return false;
        }
    }
    int length = snprintf(file->aside, sizeof file->aside, "%s.new", file->path);
    errno = ENAMETOOLONG;
    return length < (int)sizeof file->aside;
}

/* Makes the new file. Does not write into a file or link that another user has put there. The owner
 * can read and write the new file, whatever the umask is. */
static int open_aside(const struct cursor_file *file)
{
    struct stat facts;
    (void)unlink(file->aside);
    int fd = open(file->aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, NEW_MODE);
    if (fd >= 0 && fstat(fd, &facts) == 0 && (facts.st_mode & OWN) != OWN)
        (void)fchmod(fd, (facts.st_mode & 07777) | OWN);
    return fd;
}

static bool can_write(const struct cursor_file *file)
{
    if (file->mode != 0 && access(file->path, W_OK) != 0)
        return false;
    int fd = open_aside(file);
    if (fd < 0)
        return false;
    (void)close(fd);
    return unlink(file->aside) == 0;
}

static bool read_text(struct cursor_file *file)
{
    FILE *opened = fopen(file->path, "re");
    if (opened == NULL)
        return false;
    bool has_line = fgets(file->text, sizeof file->text, opened) != NULL;
    bool is_read = has_line || !ferror(opened);
    (void)fclose(opened);
    file->text[strcspn(file->text, "\n")] = '\0';
    if (has_line && file->text[0] == '\0') /* only an empty file has no cursor yet */
        memcpy(file->text, "?", sizeof "?");
    return is_read;
}

int cursor_file_open(struct cursor_file *file, const char *path, char *sentence,
                     size_t capacity)
{
    struct stat facts;
    memset(file, 0, sizeof *file);
    if (path[0] == '\0') {
        (void)snprintf(sentence, capacity, "the FILE of --cursor is empty");
        return STATUS_USAGE;
    }
    const char *verb = "written";
    bool is_found = find(file, path);
    bool is_there = is_found && stat(file->path, &facts) == 0;
    if (is_there && !S_ISREG(facts.st_mode)) {
        (void)snprintf(sentence, capacity, "the cursor %.200s: not a regular file", path);
        return STATUS_USAGE;
    }
    file->mode = is_there ? facts.st_mode : 0;
    bool is_fine = is_found && can_write(file);
    if (is_fine && is_there) {
        verb = "read";
        is_fine = read_text(file);
    }
    if (!is_fine)
        (void)snprintf(sentence, capacity, "the cursor %.200s cannot be %s: %s", path, verb,
                       strerror(errno));
    return is_fine ? STATUS_DONE : STATUS_IO;
}

bool cursor_file_write(struct cursor_file *file, const char *text)
{
    char line[MCDS_LOG_CURSOR_TEXT + 1];
    if (strcmp(text, file->text) == 0)
        return true;
    int length = snprintf(line, sizeof line, "%s\n", text);
    int fd = open_aside(file);
    if (fd < 0)
        return false;
    bool is_written = write_whole(fd, line, (size_t)length);
    if (is_written && file->mode != 0)
        (void)fchmod(fd, file->mode & 07777);
    is_written = is_written && fsync(fd) == 0;
    is_written = close(fd) == 0 && is_written;
    is_written = is_written && rename(file->aside, file->path) == 0;
    if (!is_written) {
        int reason = errno;
        (void)unlink(file->aside);
        errno = reason;
        return false;
    }
    memcpy(file->text, text, strlen(text) + 1);
    return true;
}
