/* Which store a run uses when none is named. */
#include "home.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Each folder of the path up to its last slash, for us alone. What fails is told by whoever opens
 * the file. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

/* Append a path; % and ? have a meaning of their own in a URI. */
static bool append_path(char uri[HOME_URI_MAX], const char *path)
{
    size_t length = strlen(uri);
    for (; *path != '\0'; path++) {
        if (length + 4 > HOME_URI_MAX)
            return false;
        if (*path == '%' || *path == '?')
            length += (size_t)snprintf(uri + length, 4, "%%%02X", (unsigned char)*path);
        else
            uri[length++] = *path;
        uri[length] = '\0';
    }
    return true;
}

bool home_default(char uri[HOME_URI_MAX])
{
    char path[HOME_URI_MAX / 2];
    const char *chosen = getenv("MCDS_STORE");
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (chosen != NULL && chosen[0] != '\0')
        return snprintf(uri, HOME_URI_MAX, "%s", chosen) < HOME_URI_MAX;
    if (state != NULL && state[0] == '/')
        length = snprintf(path, sizeof path, "%s/mcds/default.lmdb", state);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, sizeof path, "%s/.local/state/mcds/default.lmdb", home);
    else
        return false;
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    make_folders(path);
    (void)snprintf(uri, HOME_URI_MAX, "lmdb:");
    return append_path(uri, path);
}
