/* Terminal: the abilities of the terminal of a stream. */
#include "terminal/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS 80
#define ROWS 24
#define SIDE_MAX 10000 /* a larger number is not a size */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

/* Decides as setlocale would. That call would change the behaviour of the whole process. */
static bool is_utf8(void)
{
    const char *locale = is_set("LC_ALL")     ? getenv("LC_ALL")
                         : is_set("LC_CTYPE") ? getenv("LC_CTYPE")
                                              : getenv("LANG");
    const char *dot = locale != NULL ? strchr(locale, '.') : NULL;
    return dot != NULL &&
           (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
}

static size_t side_of(unsigned short reported, const char *variable, size_t otherwise)
{
    const char *text = getenv(variable);
    if (reported > 0 && reported <= SIDE_MAX)
        return reported;
    long side = text != NULL ? strtol(text, NULL, 10) : 0;
    return side > 0 && side <= SIDE_MAX ? (size_t)side : otherwise;
}

void terminal_look(struct terminal *terminal, int fd, enum when when)
{
    struct winsize size;
    const char *kind = getenv("TERM");
    bool is_terminal = isatty(fd) == 1;
    bool is_plain = is_set("NO_COLOR") || kind == NULL || strcmp(kind, "dumb") == 0;
    memset(&size, 0, sizeof size);
    if (is_terminal)
        (void)ioctl(fd, TIOCGWINSZ, &size);
    terminal->is_there = is_terminal || when == WHEN_ALWAYS;
    terminal->has_color = when == WHEN_ALWAYS ||
                          (when == WHEN_AUTO && is_terminal && !is_plain);
    terminal->has_utf8 = is_utf8();
    terminal->columns = side_of(size.ws_col, "COLUMNS", COLUMNS);
    terminal->rows = side_of(size.ws_row, "LINES", ROWS);
}

bool is_ascii_terminal(int fd)
{
    struct terminal terminal;
    terminal_look(&terminal, fd, WHEN_AUTO);
    return terminal.is_there && !terminal.has_utf8;
}

const char *ink_begin(const struct terminal *terminal, enum ink ink)
{
    static const char *const codes[] = {
        [INK_NONE] = "",         [INK_TITLE] = "\033[1m",    [INK_NOUN] = "\033[36m",
        [INK_GOOD] = "\033[32m", [INK_WARNING] = "\033[33m", [INK_BAD] = "\033[31m",
        [INK_DIM] = "\033[2m",
    };
    return terminal->has_color ? codes[ink] : "";
}

const char *ink_end(const struct terminal *terminal, enum ink ink)
{
    return terminal->has_color && ink != INK_NONE ? "\033[0m" : "";
}
