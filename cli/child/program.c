/* Program: searches as execvp does, but executes nothing. */
#include "child/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path that execvp searches if PATH is not set. */
#define PATH_DEFAULT "/bin:/usr/bin"

/* The kernel reads so much of a script, */
#define HEAD_MAX 256
/* and accepts so many interpreters that are scripts themselves. */
#define SCRIPTS_MAX 5

struct search {
    int scripts;                /* passed on the way to the last interpreter */
    char interpreter[HEAD_MAX]; /* of the file that was checked last; "": it needs none */
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Reads the interpreter of a script. Without one, execvp or the kernel runs the file itself. */
static void read_interpreter(const char *path, char out[HEAD_MAX])
{
    char head[HEAD_MAX + 1] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    out[0] = '\0';
    if (file < 0)
        return;
    ssize_t length = read(file, head, HEAD_MAX);
    (void)close(file);
    if (length < 2 || head[0] != '#' || head[1] != '!')
        return;
    const char *name = head + 2;
    while (is_blank(*name))
        name++;
    (void)snprintf(out, HEAD_MAX, "%.*s", (int)strcspn(name, " \t\n"), name);
}

/* Of a script, also its interpreter. */
static int check_file(struct search *search, const char *path)
{
    struct stat status;
    char interpreter[HEAD_MAX];
    if (stat(path, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        return errno;
    read_interpreter(path, interpreter);
    if (interpreter[0] == '\0')
        return 0;
    if (search->scripts++ == SCRIPTS_MAX)
        return ELOOP;
    memcpy(search->interpreter, interpreter, sizeof interpreter);
    return check_file(search, interpreter);
}

/* An empty folder is the current folder. */
static int check_in(struct search *search, const char *folder, size_t length, const char *name)
{
    char path[PATH_MAX];
    int written = snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder,
                           length > 0 ? "/" : "", name);
    return written < 0 || (size_t)written >= sizeof path ? ENAMETOOLONG
                                                         : check_file(search, path);
}

/* In the folders of PATH. */
static int find_in_path(struct search *search, const char *name)
{
    const char *folder = getenv("PATH");
    struct search tried;
    int found = ENOENT;
    if (folder == NULL)
        folder = PATH_DEFAULT;
    for (;;) {
        size_t length = strcspn(folder, ":");
        tried = (struct search){.scripts = 0};
        int reason = length < PATH_MAX ? check_in(&tried, folder, length, name) : ENAMETOOLONG;
        if (reason == 0)
            return 0;
        if (tried.interpreter[0] != '\0')
            *search = tried;
        if (reason == EACCES) /* execvp tries the rest of PATH, and then fails with this */
            found = EACCES;
        if (folder[length] == '\0')
            return found;
        folder += length + 1;
    }
}

int find_program(const char *name, char *interpreter_out, size_t capacity)
{
    struct search search = {.scripts = 0};
    int reason = name[0] == '\0'             ? ENOENT
                 : strchr(name, '/') != NULL ? check_file(&search, name)
                                             : find_in_path(&search, name);
    (void)snprintf(interpreter_out, capacity, "%s", reason != 0 ? search.interpreter : "");
    return reason;
}
