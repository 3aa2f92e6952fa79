/* Read copy: a user who may write neither an lmdb: file nor its -lock reads a copy in memory, made at
 * the opening. A command that follows the store would show nothing for ever. */
#include "watch/read_copy.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/report.h"

/* The path in an lmdb: URI, without symbolic links. False: another kind of store, or no file. */
static bool path_of(const char *uri, char path[PATH_MAX])
{
    char text[URI_MAX];
    size_t length = 0;
    if (strncmp(uri, "lmdb:", strlen("lmdb:")) != 0)
        return false;
    const char *at = uri + strlen("lmdb:");
    if (strncmp(at, "//", 2) == 0)
        at += 2;
    while (*at != '\0' && *at != '?' && length < sizeof text - 1) {
        unsigned byte;
        if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1) {
            text[length++] = (char)byte;
            at += 3;
        } else {
            text[length++] = *at++;
        }
    }
    text[length] = '\0';
    return realpath(text, path) != NULL;
}

bool reads_copy(const struct session *session, char *sentence, size_t capacity)
{
    char path[PATH_MAX];
    char lock[PATH_MAX + sizeof "-lock"];
    if (session->is_absent || !path_of(session->uri, path))
        return false;
    (void)snprintf(lock, sizeof lock, "%s-lock", path);
    if (eaccess(path, W_OK) == 0 || eaccess(lock, R_OK | W_OK) == 0)
        return false;
    (void)snprintf(
        sentence, capacity,
        "%.300s: this user may write neither it nor its -lock file, and reads a copy "
        "in memory that shows no later change; let this user read and write the "
        "-lock file",
        path);
    return true;
}

int refuse_copy(struct session *session, const struct command *command)
{
    char sentence[SENTENCE_MAX];
    if (!reads_copy(session, sentence, sizeof sentence))
        return STATUS_DONE;
    report_failure(&session->output, command, STATUS_IO, "MCDS_IO", sentence);
    return STATUS_IO;
}
