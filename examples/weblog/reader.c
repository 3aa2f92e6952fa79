/* The input as blocks of whole lines.
 *
 *   path -> fd -> read() behind the carry -> [ whole lines | beginning of a line ]
 *                                                 block           next carry
 *
 * A followed file may be renamed and made anew (then the old one is read for a second longer,
 * since its writer may not have noticed) or be truncated (then it is read from its beginning).
 * Truncated and filled beyond the old size between two looks, it cannot be told from a file
 * that grew: those lines are lost or cut. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_ROUNDS 5

static enum reader_answer fail(struct reader *reader, const char *path, const char *why)
{
    (void)snprintf(reader->failure, sizeof reader->failure, "%.200s: %s", path, why);
    return READER_FAILED;
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool check_path(struct reader *reader, const char *path)
{
    struct stat status;
    if (is_standard_input(path))
        return true;
    if (stat(path, &status) != 0 || access(path, R_OK) != 0)
        (void)fail(reader, path, strerror(errno));
    else if (S_ISDIR(status.st_mode))
        (void)fail(reader, path, "is a directory");
    else if (reader->follow && !S_ISREG(status.st_mode))
        (void)fail(reader, path, "only a regular file can be followed; a pipe needs no -f");
    else
        return true;
    return false;
}

bool reader_open(struct reader *reader, const char *const *paths, uint32_t path_count,
                 bool follow)
{
    *reader = (struct reader){.paths = paths, .path_count = path_count, .fd = -1};
    reader->follow = follow;
    for (uint32_t i = 0; i < path_count; i++)
        if (!check_path(reader, paths[i]))
            return false;
    reader->carry = malloc(READER_CAPACITY);
    if (reader->carry == NULL)
        (void)fail(reader, "input", "out of memory");
    return reader->carry != NULL;
}

static void close_file(struct reader *reader)
{
    if (reader->fd > STDIN_FILENO)
        (void)close(reader->fd);
    reader->fd = -1;
}

void reader_close(struct reader *reader)
{
    close_file(reader);
    free(reader->carry);
}

/* READER_BLOCK: open; READER_IDLE: a followed file that is just being replaced. */
static enum reader_answer open_next(struct reader *reader)
{
    const char *path = reader->paths[reader->next_path];
    reader->fd = is_standard_input(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0 && errno == ENOENT && reader->caught_up)
        return READER_IDLE;
    if (reader->fd < 0)
        return fail(reader, path, strerror(errno));
    reader->next_path++;
    reader->fresh = true;
    reader->line = 1;
    return READER_BLOCK;
}

static const char *path_of(const struct reader *reader)
{
    return reader->paths[reader->next_path - 1];
}

/* Give out the first `length` bytes of `room`; what is behind them is kept for the next time.
 */
static enum reader_answer give(struct reader *reader, char *capacity, size_t length,
                               size_t filled, struct block *block)
{
    *block = (struct block){.bytes = capacity,
                            .length = length,
                            .first_line = reader->line,
                            .file = reader->next_path - 1,
                            .live = reader->caught_up};
    reader->carry_length = filled > length ? filled - length : 0;
    if (reader->carry_length > 0)
        memcpy(reader->carry, capacity + length, reader->carry_length);
    const char *end = capacity + length;
    for (const char *at = capacity; at < end; at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL)
            break;
        block->lines++;
    }
    reader->line += block->lines;
    return READER_BLOCK;
}

/* Give out all of `room`, which ends inside a line, as if the line ended here. */
static enum reader_answer give_unfinished(struct reader *reader, char *capacity, size_t filled,
                                          struct block *block)
{
    capacity[filled] = '\n';
    return give(reader, capacity, filled + 1, filled + 1, block);
}

/* Cut the beginning of an endless line off, and pass over the rest of it. */
static enum reader_answer give_overlong(struct reader *reader, char *capacity,
                                        struct block *block)
{
    reader->skipping = true;
    return give_unfinished(reader, capacity, PARSE_LINE_MAX + 1, block);
}

/* Drop what belongs to an endless line; returns how much is left. */
static size_t pass_over(struct reader *reader, char *capacity, size_t filled)
{
    const char *feed = memchr(capacity, '\n', filled);
    if (feed == NULL)
        return 0;
    reader->skipping = false;
    size_t dropped = (size_t)(feed - capacity) + 1;
    memmove(capacity, capacity + dropped, filled - dropped);
    return filled - dropped;
}

/* The file has been replaced, long enough ago. */
static bool is_replaced(struct reader *reader)
{
    struct stat ours;
    struct stat newest;
    if (fstat(reader->fd, &ours) != 0 || stat(path_of(reader), &newest) != 0)
        return false;
    if (ours.st_dev == newest.st_dev && ours.st_ino == newest.st_ino)
        return false;
    return ++reader->quiet_rounds >= QUIET_ROUNDS;
}

static bool is_truncated(const struct reader *reader)
{
    struct stat status;
    off_t at = lseek(reader->fd, 0, SEEK_CUR);
    return fstat(reader->fd, &status) == 0 && status.st_size < at;
}

/* The end of a followed file: wait, or begin anew. */
static enum reader_answer at_growing_end(struct reader *reader, char *capacity, size_t filled,
                                         struct block *block)
{
    reader->caught_up = true;
    bool replaced = is_replaced(reader);
    if (!replaced && !is_truncated(reader)) {
        reader->carry_length = filled;
        memcpy(reader->carry, capacity, filled);
        return READER_IDLE;
    }
    enum reader_answer answer = READER_IDLE;
    if (filled > 0)
        answer = give_unfinished(reader, capacity, filled, block);
    reader->skipping = false;
    reader->quiet_rounds = 0;
    reader->line = 1;
    if (replaced) {
        close_file(reader);
        reader->next_path--;
    } else if (lseek(reader->fd, 0, SEEK_SET) != 0) {
        return fail(reader, path_of(reader), strerror(errno));
    }
    return answer;
}

static enum reader_answer at_end(struct reader *reader, char *capacity, size_t filled,
                                 struct block *block)
{
    if (reader->follow)
        return at_growing_end(reader, capacity, filled, block);
    enum reader_answer answer = READER_IDLE;
    if (filled > 0)
        answer = give_unfinished(reader, capacity, filled, block);
    reader->skipping = false;
    close_file(reader);
    return answer;
}

/* Read behind the carry until there is a whole line. READER_IDLE: this file has ended, or has
 * nothing new. */
static enum reader_answer read_block(struct reader *reader, char *capacity, struct block *block)
{
    size_t filled = reader->carry_length;
    memcpy(capacity, reader->carry, filled);
    reader->carry_length = 0;
    for (;;) {
        ssize_t got = read(reader->fd, capacity + filled, READER_PIECE);
        if (got < 0 && errno == EINTR && !reader->follow)
            continue;
        if (got < 0 && errno != EINTR)
            return fail(reader, path_of(reader), strerror(errno));
        if (got <= 0)
            return at_end(reader, capacity, filled, block);
        filled += (size_t)got;
        if (reader->fresh && filled >= 2 && memcmp(capacity, "\x1f\x8b", 2) == 0)
            return fail(reader, path_of(reader),
                        "is compressed; use: gzip -dc FILE | weblog -");
        reader->fresh = reader->fresh && filled < 2;
        if (reader->skipping)
            filled = pass_over(reader, capacity, filled);
        const char *feed = memrchr(capacity, '\n', filled);
        if (feed != NULL)
            return give(reader, capacity, (size_t)(feed - capacity) + 1, filled, block);
        if (filled > PARSE_LINE_MAX)
            return give_overlong(reader, capacity, block);
    }
}

enum reader_answer reader_next(struct reader *reader, char *capacity, struct block *block)
{
    for (;;) {
        if (reader->fd < 0 && reader->next_path == reader->path_count)
            return READER_END;
        enum reader_answer answer = READER_BLOCK;
        if (reader->fd < 0)
            answer = open_next(reader);
        if (answer == READER_BLOCK)
            answer = read_block(reader, capacity, block);
        if (answer != READER_IDLE || reader->follow)
            return answer;
    }
}
