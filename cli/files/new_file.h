/* New file: is written beside its name, and gets its name when it is whole and on the disk. */
#ifndef MCDS_CLI_FILES_NEW_FILE_H
#define MCDS_CLI_FILES_NEW_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct new_file {
    char path[PATH_MAX]; /* with symbolic links resolved */
    char aside[PATH_MAX];
    FILE *file;
};

/* Makes the file beside its name, with mode 0600. A signal that ends the process removes it. False
 * with errno set; EEXIST: there is something else than a regular file. */
bool new_file_open(struct new_file *file, const char *path);
/* Syncs it, and replaces the file with the name. False with errno set; the file is then gone. */
bool new_file_commit(struct new_file *file);
/* Removes it, unless it was committed. */
void new_file_close(struct new_file *file);

#endif
