/* Cursor file: holds a cursor of a log as one line of text. */
#ifndef MCDS_CLI_FILES_CURSOR_FILE_H
#define MCDS_CLI_FILES_CURSOR_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "mcds.h"

struct cursor_file {
    char path[PATH_MAX];  /* the given path with symbolic links resolved */
    char aside[PATH_MAX]; /* in the same directory: a new file is written here first */
    mode_t mode;          /* of the file, or 0: there is none yet */
    char text[MCDS_LOG_CURSOR_TEXT]; /* its content, or "" */
};

/* Finds the file, checks that it can be replaced, and reads it. Follows a symbolic link; refuses
 * anything but a regular file. Returns 0, or an exit code with the sentence. */
int cursor_file_open(struct cursor_file *file, const char *path, char *sentence,
                     size_t capacity);

/* Replaces the file atomically. Returns false with errno set. */
bool cursor_file_write(struct cursor_file *file, const char *text);

#endif
