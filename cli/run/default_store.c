/* The default store. Its path is absolute, and only this user can put a file into its directory,
 * because a user who can write the file controls the content of the store. */
#include "run/default_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/exit.h"
#include "io/output.h"

#define FILE_NAME "/default.lmdb"
#define USER_CAPACITY 80
#define QUOTED_MAX 60
#define OTHERS_WRITE (mode_t)0002
#define ANYBODY_ELSE_WRITES (mode_t)0022

struct refusal {
    char *sentence;
    size_t capacity;
};

/* Returns `status`. */
static int MCDS_PRINTF(3, 4)
    refuse(const struct refusal *refusal, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(refusal->sentence, refusal->capacity, format, arguments);
    va_end(arguments);
    return status;
}

const char *trusted_environment(const char *name)
{
    return secure_getenv(name);
}

/* "1000 (ann)". */
static void name_user(uid_t user, char out[USER_CAPACITY])
{
    const struct passwd *entry = getpwuid(user);
    (void)snprintf(out, USER_CAPACITY, "%lu%s%.60s%s", (unsigned long)user,
                   entry != NULL ? " (" : "", entry != NULL ? entry->pw_name : "",
                   entry != NULL ? ")" : "");
}

/* The nearest directory above `path` that exists. False when there is none. */
static bool find_above(const char *path, char out[STATE_PATH_CAPACITY], struct stat *status)
{
    (void)snprintf(out, STATE_PATH_CAPACITY, "%s", path);
    for (size_t length = strlen(out); length > 1;) {
        length = (size_t)(strrchr(out, '/') - out);
        length += length == 0 ? 1 : 0;
        out[length] = '\0';
        if (stat(out, status) == 0)
            return true;
    }
    return false;
}

/* Writes why `path` cannot be made, with the owner of the directory that refuses this user. Returns
 * the remedy. */
static const char *describe_obstacle(const char *path, int reason, char *out, size_t capacity)
{
    char above[STATE_PATH_CAPACITY];
    char owner[USER_CAPACITY];
    char user[USER_CAPACITY];
    struct stat status;
    bool is_permission = reason == EACCES || reason == EPERM;
    if (reason == ENOTDIR) {
        (void)snprintf(out, capacity, "%s is not a directory", path);
        return "move it away, or choose a store with -s or $MCDS_STORE";
    }
    if (is_permission && find_above(path, above, &status)) {
        name_user(status.st_uid, owner);
        name_user(geteuid(), user);
        (void)snprintf(out, capacity,
                       "%s cannot be made: %s: %s belongs to user %s and has mode %04o, and "
                       "this is user %s",
                       path, strerror(reason), above, owner, (unsigned)(status.st_mode & 07777),
                       user);
    } else {
        (void)snprintf(out, capacity, "%s cannot be made: %s", path, strerror(reason));
    }
    return "choose a store with -s or $MCDS_STORE";
}

static int refuse_directory(const struct refusal *refusal, const char *path, int reason)
{
    char obstacle[OBSTACLE_CAPACITY];
    const char *remedy = describe_obstacle(path, reason, obstacle, sizeof obstacle);
    return refuse(refusal, STATUS_IO, "%s; %s", obstacle, remedy);
}

const char *find_obstacle(const char *path, char *out, size_t capacity)
{
    char whole[STATE_PATH_CAPACITY];
    char above[STATE_PATH_CAPACITY];
    struct stat status;
    (void)snprintf(whole, sizeof whole, "%s%s", path[0] == '/' ? "" : "./", path);
    if (!find_above(whole, above, &status))
        return NULL;
    if (!S_ISDIR(status.st_mode))
        return describe_obstacle(above, ENOTDIR, out, capacity);
    return faccessat(AT_FDCWD, above, W_OK | X_OK, AT_EACCESS) == 0
               ? NULL
               : describe_obstacle(path, errno, out, capacity);
}

/* Makes a directory and its parents, accessible to the owner alone. */
static int make_directories(const struct refusal *refusal, char *path)
{
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        bool is_made = mkdir(path, 0700) == 0;
        int reason = !is_made && errno != EEXIST ? errno : 0;
        if (is_made && chmod(path, 0700) != 0) /* whatever the umask has left of the mode */
            reason = errno;
        struct stat status;
        if (reason == 0 && stat(path, &status) != 0)
            reason = errno;
        else if (reason == 0 && !S_ISDIR(status.st_mode))
            reason = ENOTDIR;
        if (reason != 0)
            return refuse_directory(refusal, path, reason);
        if (slash == NULL)
            return STATUS_DONE;
        *slash = '/';
    }
}

/* Whether only this user can put a file into `path` or replace the directory. */
static int judge_directory(const struct refusal *refusal, const char *path)
{
    char above[STATE_PATH_CAPACITY + 4];
    char owner[USER_CAPACITY];
    char user[USER_CAPACITY];
    struct stat status;
    struct stat parent;
    (void)snprintf(above, sizeof above, "%.*s/", (int)(strrchr(path, '/') - path), path);
    if (stat(path, &status) != 0 || stat(above, &parent) != 0)
        return refuse_directory(refusal, path, errno);
    if (above[1] != '\0')
        above[strlen(above) - 1] = '\0';
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        name_user(status.st_uid, owner);
        name_user(geteuid(), user);
        return refuse(refusal, STATUS_IO,
                      "%s belongs to user %s, and this is user %s; choose a store with -s or "
                      "$MCDS_STORE, or correct $HOME and $XDG_STATE_HOME",
                      path, owner, user);
    }
    if ((status.st_mode & ANYBODY_ELSE_WRITES) != 0)
        return refuse(
            refusal, STATUS_IO,
            "%s has mode %04o: other users can write there; chmod 700 it, or choose a "
            "store with -s or $MCDS_STORE",
            path, (unsigned)(status.st_mode & 07777));
    if ((parent.st_mode & OTHERS_WRITE) != 0 && (parent.st_mode & S_ISVTX) == 0)
        return refuse(refusal, STATUS_IO,
                      "%s has mode %04o: other users can replace %s; chmod o-w it, or choose a "
                      "store with -s or $MCDS_STORE",
                      above, (unsigned)(parent.st_mode & 07777), path);
    return STATUS_DONE;
}

/* "not set", "empty", "'x', which is not an absolute path", "'/x', which does not exist". */
static void describe(const char *value, char *out, size_t capacity)
{
    if (value == NULL)
        (void)snprintf(out, capacity, "not set");
    else if (value[0] == '\0')
        (void)snprintf(out, capacity, "empty");
    else
        (void)snprintf(out, capacity, "'%.*s', which %s", QUOTED_MAX, value,
                       value[0] == '/' ? "does not exist" : "is not an absolute path");
}

static int refuse_environment(const struct refusal *refusal, const char *state,
                              const char *home)
{
    char home_is[2 * QUOTED_MAX];
    char state_is[2 * QUOTED_MAX];
    describe(home, home_is, sizeof home_is);
    describe(state, state_is, sizeof state_is);
    return refuse(refusal, STATUS_USAGE,
                  "no store: $HOME is %s, and $XDG_STATE_HOME is %s; give a store with -s or "
                  "$MCDS_STORE",
                  home_is, state_is);
}

static int refuse_length(const struct refusal *refusal)
{
    return refuse(refusal, STATUS_USAGE,
                  "the path of the default store is longer than %d bytes; choose a store "
                  "with -s or $MCDS_STORE",
                  STATE_PATH_CAPACITY - 1);
}

/* "lmdb:" and the path; characters with a meaning in a URI are written as %XX. */
static bool write_uri(char *uri, size_t capacity, const char *path)
{
    size_t length = (size_t)snprintf(uri, capacity, "lmdb:");
    for (; *path != '\0'; path++) {
        if (length + 4 > capacity)
            return false;
        if (*path == '%' || *path == '?')
            length += (size_t)snprintf(uri + length, capacity - length, "%%%02X",
                                       (unsigned char)*path);
        else
            uri[length++] = *path;
    }
    uri[length] = '\0';
    return true;
}

int state_directory(bool makes, char path[STATE_PATH_CAPACITY], bool *is_state_out,
                    char *sentence, size_t sentence_capacity)
{
    const struct refusal refusal = {sentence, sentence_capacity};
    const char *state = trusted_environment("XDG_STATE_HOME");
    const char *home = trusted_environment("HOME");
    bool is_state = state != NULL && state[0] == '/';
    const char *base = is_state ? state : home;
    if (base == NULL || base[0] != '/' || (!is_state && access(home, F_OK) != 0))
        return refuse_environment(&refusal, state, home);
    *is_state_out = is_state;
    /* "//" at the beginning would be parsed as that of a host. */
    base += strspn(base, "/");
    int length = snprintf(path, STATE_PATH_CAPACITY, "/%s%s%s", base,
                          base[0] != '\0' ? "/" : "", is_state ? "mcds" : ".local/state/mcds");
    if (length < 0 || (size_t)length >= STATE_PATH_CAPACITY)
        return refuse_length(&refusal);
    int status = makes ? make_directories(&refusal, path) : STATUS_DONE;
    if (status == STATUS_DONE && (makes || access(path, F_OK) == 0 || errno != ENOENT))
        status = judge_directory(&refusal, path);
    return status;
}

int default_store(bool makes, char *uri, size_t uri_room, const char **origin_out,
                  char *sentence, size_t sentence_capacity)
{
    const struct refusal refusal = {sentence, sentence_capacity};
    char path[STATE_PATH_CAPACITY];
    bool is_state = false;
    int status = state_directory(makes, path, &is_state, sentence, sentence_capacity);
    if (status != STATUS_DONE)
        return status;
    *origin_out =
        is_state
            ? "the default under $XDG_STATE_HOME, only for this user; -s or $MCDS_STORE "
              "selects another"
            : "the default under $HOME, only for this user; -s or $MCDS_STORE selects another";
    if (!write_uri(uri, uri_room - strlen(FILE_NAME), path))
        return refuse_length(&refusal);
    memcpy(uri + strlen(uri), FILE_NAME, sizeof FILE_NAME);
    return STATUS_DONE;
}
