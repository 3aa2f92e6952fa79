/* History: a file of lines with mode 0600. Several shells may append to it at the same time: each
 * write appends one line. */
#include "editor/history.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/output.h"
#include "io/quote.h"
#include "parse/shell_words.h"

#define FILE_NAME "/history"
#define FRESH_NAME ".new"
#define FILE_MAX 4194304 /* bytes; a larger file is not read */
#define SENTENCE_CAPACITY 2048
#define WORDS_MAX 1024
#define ALL (mode_t)0777
#define OWN (mode_t)0600

/* The path of auth_file= in the URI, with its %XX as bytes. False: the URI has no auth_file=. */
static bool find_auth_file(const char *uri, char *path, size_t capacity)
{
    static const char option[] = "auth_file=";
    const char *at = strchr(uri, '?');
    while (at != NULL && strncmp(at + 1, option, strlen(option)) != 0)
        at = strchr(at + 1, '&');
    if (at == NULL)
        return false;
    size_t length = 0;
    for (at += 1 + strlen(option); *at != '\0' && *at != '&' && length + 1 < capacity; at++) {
        int high = *at == '%' ? hex_value(at[1]) : -1;
        int low = high >= 0 ? hex_value(at[2]) : -1;
        int byte = low >= 0 ? high << 4 | low : *at;
        path[length++] = (char)byte;
        at += low >= 0 ? 2 : 0;
    }
    path[length] = '\0';
    return true;
}

/* Reads the password of the file, USER:PASSWORD. */
static void read_password(struct history *history, const char *uri)
{
    char path[STATE_PATH_CAPACITY];
    char text[sizeof history->password] = "";
    int file = find_auth_file(uri, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    ssize_t got = read(file, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    const char *colon = strchr(text, ':');
    if (colon != NULL)
        (void)snprintf(history->password, sizeof history->password, "%s", colon + 1);
    explicit_bzero(text, sizeof text);
    (void)close(file);
}

void history_open(struct history *history, const char *uri)
{
    char path[STATE_PATH_CAPACITY];
    char sentence[SENTENCE_CAPACITY];
    bool is_state = false;
    memset(history, 0, sizeof *history);
    read_password(history, uri);
    if (state_directory(true, path, &is_state, sentence, sizeof sentence) == STATUS_DONE)
        (void)snprintf(history->path, sizeof history->path, "%s" FILE_NAME, path);
}

void history_close(struct history *history)
{
    explicit_bzero(history->password, sizeof history->password);
}

/* Opens the file. Returns -1 on a failure, and if another user owns it. */
static int open_file(const char *path, int flags)
{
    struct stat status;
    int file = path[0] != '\0'
                   ? open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, OWN)
                   : -1;
    if (file < 0)
        return -1;
    bool is_ours = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_uid == geteuid();
    if (is_ours && (status.st_mode & ALL) != OWN)
        is_ours = fchmod(file, OWN) == 0;
    if (is_ours)
        return file;
    (void)close(file);
    return -1;
}

/* The whole file and a NUL, which the caller frees, or NULL. */
static char *read_all(const char *path, size_t *length_out)
{
    struct stat status;
    int file = open_file(path, O_RDWR);
    char *text = NULL;
    *length_out = 0;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size <= FILE_MAX)
        text = malloc((size_t)status.st_size + 1);
    for (ssize_t got = 1; text != NULL && got > 0 && *length_out < (size_t)status.st_size;) {
        got = read(file, text + *length_out, (size_t)status.st_size - *length_out);
        *length_out += got > 0 ? (size_t)got : 0;
    }
    if (text != NULL)
        text[*length_out] = '\0';
    if (file >= 0)
        (void)close(file);
    return text;
}

/* Replaces the content of the file by its last lines. */
static void shorten(const struct history *history, const char *text, size_t length)
{
    char fresh[sizeof history->path + sizeof FRESH_NAME];
    (void)snprintf(fresh, sizeof fresh, "%s" FRESH_NAME, history->path);
    int file = open_file(fresh, O_WRONLY | O_TRUNC);
    if (file < 0)
        return;
    bool is_written = write_whole(file, text, length);
    (void)close(file);
    if (!is_written || rename(fresh, history->path) != 0)
        (void)unlink(fresh);
}

/* The beginning of the last HISTORY_LINES lines; *count_out is the number of all. */
static char *find_last_lines(char *text, size_t length, size_t *count_out)
{
    const char *end = text + length;
    *count_out = 0;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        ++*count_out;
    size_t skipped = *count_out > HISTORY_LINES ? *count_out - HISTORY_LINES : 0;
    for (; skipped > 0; skipped--)
        text = (char *)memchr(text, '\n', (size_t)(end - text)) + 1;
    return text;
}

void history_load(const struct history *history, void (*take)(void *context, const char *line),
                  void *context)
{
    size_t length = 0;
    size_t count = 0;
    char *text = read_all(history->path, &length);
    if (text == NULL)
        return;
    char *end = text + length;
    char *line = find_last_lines(text, length, &count);
    assert(line >= text && line <= end);
    if (count > 2 * HISTORY_LINES)
        shorten(history, line, (size_t)(end - line));
    while (line < end) {
        char *newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL) /* an incomplete write */
            break;
        *newline = '\0';
        take(context, line);
        line = newline + 1;
    }
    free(text);
}

/* Whether a word of the line has the password, which may be quoted in part. A line that cannot be
 * split may have it. */
static bool may_have_password(const struct history *history, const char *line)
{
    char *words[WORDS_MAX];
    const char *error;
    char *copy = strdup(line);
    int count = copy != NULL ? split_words(copy, words, WORDS_MAX, &error) : -1;
    bool has_it = count < 0 || strstr(line, history->password) != NULL;
    for (int i = 0; i < count && !has_it; i++)
        has_it = strstr(words[i], history->password) != NULL;
    if (copy != NULL)
        explicit_bzero(copy, strlen(line));
    free(copy);
    return has_it;
}

bool history_may_keep(const struct history *history, const char *line)
{
    return line[0] != ' ' && line[0] != '\t' && line[0] != '\0' &&
           (history->password[0] == '\0' || !may_have_password(history, line));
}

void history_append(const struct history *history, const char *line)
{
    size_t length = strlen(line);
    char *text = malloc(length + 1);
    int file = text != NULL ? open_file(history->path, O_WRONLY | O_APPEND) : -1;
    if (file >= 0) {
        memcpy(text, line, length);
        text[length] = '\n';
        (void)write_whole(file, text, length + 1);
        (void)close(file);
    }
    free(text);
}
