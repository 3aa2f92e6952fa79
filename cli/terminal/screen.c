/* Screen: the alternate screen without a cursor, and keys without echo. */
#include "terminal/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define SEQUENCE_MS 20 /* between two bytes of one key */
#define SEQUENCE_MAX 16

static const char enter[] = "\033[?1049h\033[?25l\033[H\033[2J";
static const char leave[] = "\033[0m\033[?25h\033[?1049l";

static struct termios before;
static volatile sig_atomic_t is_open;
static volatile sig_atomic_t is_stopped; /* SIGTSTP was received */
static volatile sig_atomic_t is_changed; /* SIGWINCH or SIGCONT was received */

static void put(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

/* Safe in a signal handler. */
static void give_back(void)
{
    if (is_open == 0)
        return;
    is_open = 0;
    put(leave);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void take(void)
{
    struct termios wanted = before;
    wanted.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    wanted.c_cc[VMIN] = 1;
    wanted.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &wanted);
    is_open = 1;
    put(enter);
}

/* The action was reset: the signal now has its default effect. */
static void end(int number)
{
    give_back();
    (void)raise(number);
}

static void note(int number)
{
    if (number == SIGTSTP)
        is_stopped = 1;
    else
        is_changed = 1;
}

static void catch_signal(int number, void (*handler)(int), int flags)
{
    struct sigaction action;
    struct sigaction old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        (void)sigaction(number, &action, NULL);
}

bool screen_open(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT};
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        catch_signal(ends[i], end, (int)SA_RESETHAND | SA_NODEFER);
    catch_signal(SIGTSTP, note, SA_RESTART);
    catch_signal(SIGCONT, note, SA_RESTART);
    catch_signal(SIGWINCH, note, SA_RESTART);
    take();
    return true;
}

void screen_close(void)
{
    give_back();
}

/* Stops the process after Ctrl-Z, and takes the terminal when the process continues. */
static void stop(void)
{
    is_stopped = 0;
    give_back();
    (void)signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    catch_signal(SIGTSTP, note, SA_RESTART);
}

/* The next byte of a sequence, or -1. */
static int next_byte(void)
{
    unsigned char byte = 0;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, SEQUENCE_MS) > 0 && read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

/* The rest of a sequence that begins with an escape: [ or O, parameters, a letter or ~. */
static int escaped(void)
{
    int kind = next_byte();
    if (kind != '[' && kind != 'O')
        return KEY_ESCAPE;
    int first = next_byte();
    int last = first;
    for (int i = 0; i < SEQUENCE_MAX && last >= ' ' && last < '@'; i++)
        last = next_byte();
    switch (first) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case '5':
        return KEY_PAGE_UP;
    case '6':
        return KEY_PAGE_DOWN;
    default:
        return KEY_NONE;
    }
}

int screen_key(int wait_ms)
{
    unsigned char byte = 0;
    struct pollfd input = {STDIN_FILENO, POLLIN, 0};
    int ready = is_stopped != 0 || is_changed != 0 ? -1 : poll(&input, 1, wait_ms);
    if (is_stopped != 0)
        stop();
    if (is_open == 0)
        is_changed = 1;
    if (is_changed != 0) { /* after SIGSTOP, others have used the terminal */
        is_changed = 0;
        take();
        return KEY_REDRAW;
    }
    if (ready <= 0)
        return ready < 0 && errno != EINTR ? KEY_GONE : KEY_NONE;
    if (read(STDIN_FILENO, &byte, 1) != 1)
        return KEY_GONE;
    return byte == '\033' ? escaped() : byte;
}
