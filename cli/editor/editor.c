/* Editor: by libedit. It is loaded when a terminal is read, so other commands do not wait for it.
 *
 * libedit uses the locale of the user. Only this file uses that locale; the rest of the command
 * uses "C". libedit installs no signal handlers here. This file handles the signals that stop the
 * process and that resize the terminal. */
#include "editor/editor.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "editor/history.h"
#include "io/output.h"
#include "io/quote.h"
#include "terminal/terminal.h"
#include "terminal/width.h"

#define PROGRAM "mcds"
#define INK_MARK '\001' /* in a prompt, before and after bytes that take no column */
#define SHOWN_MAX 100   /* completions in a list */

/* clang-format off */
#define FUNCTIONS(EACH) \
    EACH(el_init) EACH(el_end) EACH(el_set) EACH(el_wset) EACH(el_get) EACH(el_gets) EACH(el_line) \
    EACH(el_insertstr) EACH(el_deletestr) EACH(el_resize) EACH(el_source) EACH(history_init) \
    EACH(history_end) EACH(history)
/* clang-format on */

#define MEMBER(name) __typeof__(name) *name;
struct libedit {
    FUNCTIONS(MEMBER)
};

struct editor {
    struct libedit lib;
    void *library;
    EditLine *el;
    History *history;
    struct editor_calls calls;
    locale_t locale;
    const char *prompt;
    char *line;           /* the last line */
    enum editor_wait end; /* why there is no line */
    bool has_left_out;    /* bytes of the line */
};

static volatile sig_atomic_t is_stopped; /* SIGTSTP was received */
static volatile sig_atomic_t is_changed; /* SIGWINCH or SIGCONT was received */

static void note(int number)
{
    if (number == SIGTSTP)
        is_stopped = 1;
    else
        is_changed = 1;
}

static const int noted[] = {SIGTSTP, SIGCONT, SIGWINCH};
#define NOTED (sizeof noted / sizeof noted[0])

static void catch_signals(struct sigaction before[NOTED])
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    for (size_t i = 0; i < NOTED; i++) {
        (void)sigaction(noted[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            (void)sigaction(noted[i], &action, NULL);
    }
}

static void release_signals(const struct sigaction before[NOTED])
{
    for (size_t i = 0; i < NOTED; i++)
        (void)sigaction(noted[i], &before[i], NULL);
}

static struct editor *editor_of(EditLine *el, const struct libedit *lib)
{
    void *editor = NULL;
    (void)lib->el_get(el, EL_CLIENTDATA, &editor);
    assert(editor != NULL);
    return editor;
}

/* libedit passes only its own handle to a callback. The process has one editor at a time. */
static const struct libedit *loaded;

/* Gives the terminal its earlier modes, stops the process, and takes the terminal again. The kernel
 * ignores the stop where no shell would continue the process. */
static void stop(struct editor *editor)
{
    struct sigaction usual;
    struct sigaction noting;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    is_stopped = 0;
    (void)editor->lib.el_set(editor->el, EL_PREP_TERM, 0);
    (void)sigaction(SIGTSTP, &usual, &noting);
    (void)raise(SIGTSTP);
    (void)sigaction(SIGTSTP, &noting, NULL);
    (void)editor->lib.el_set(editor->el, EL_PREP_TERM, 1);
    is_changed = 1;
}

static enum editor_wait wait_for_byte(struct editor *editor)
{
    for (;;) {
        if (is_stopped != 0)
            stop(editor);
        if (is_changed != 0) {
            is_changed = 0;
            editor->lib.el_resize(editor->el);
            (void)editor->lib.el_set(editor->el, EL_REFRESH);
        }
        enum editor_wait waited = editor->calls.wait(editor->calls.context);
        if (waited != EDITOR_AGAIN)
            return waited;
    }
}

/* The next character. Bytes that are not a character in the locale are left out, and noted. */
static int next_character(EditLine *el, wchar_t *out)
{
    struct editor *editor = editor_of(el, loaded);
    mbstate_t state;
    char byte;
    memset(&state, 0, sizeof state);
    for (;;) {
        editor->end = wait_for_byte(editor);
        if (editor->end != EDITOR_READY)
            return -1;
        if (read(STDIN_FILENO, &byte, 1) != 1) {
            editor->end = EDITOR_OVER;
            return -1;
        }
        size_t length = mbrtowc(out, &byte, 1, &state);
        if (length == (size_t)-1) { /* the byte may begin the next character */
            editor->has_left_out = true;
            memset(&state, 0, sizeof state);
            length = mbrtowc(out, &byte, 1, &state);
        }
        if (length == 0 || length == 1)
            return 1;
        if (length == (size_t)-1)
            memset(&state, 0, sizeof state);
    }
}

static char *prompt_of(EditLine *el)
{
    return (char *)editor_of(el, loaded)->prompt;
}

/* Prints the words in columns, without characters that control a terminal. */
static void show_words(const struct completion *completion)
{
    struct terminal terminal;
    char shown[4 * 1024 + 16];
    size_t widest = 1;
    terminal_look(&terminal, STDOUT_FILENO, WHEN_AUTO);
    size_t count = completion->count < SHOWN_MAX ? completion->count : SHOWN_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t width = text_width(completion->words[i], strlen(completion->words[i]));
        widest = width > widest ? width : widest;
    }
    size_t columns = terminal.columns / (widest + 2);
    columns = columns > 0 ? columns : 1;
    for (size_t i = 0; i < count; i++) {
        const char *word = completion->words[i];
        size_t length = strlen(word) < 1024 ? strlen(word) : 1024;
        char copy[1025];
        memcpy(copy, word, length);
        copy[length] = '\0';
        length = make_visible(copy, !terminal.has_utf8, shown);
        bool ends = (i + 1) % columns == 0 || i + 1 == count;
        size_t width = text_width(shown, length);
        output_print("%s%s%*s", i % columns == 0 ? "\n" : "", shown,
                     ends || width > widest ? 0 : (int)(widest + 2 - width), "");
    }
    if (completion->is_cut || completion->count > count)
        output_print("\n(and more)");
    output_print("\n");
    (void)fflush(stdout);
}

/* The number of characters of a text. */
static int characters_of(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* The function of the key Tab. */
static unsigned char complete_word(EditLine *el, int key)
{
    struct editor *editor = editor_of(el, loaded);
    const LineInfo *info = editor->lib.el_line(el);
    size_t length = (size_t)(info->cursor - info->buffer);
    struct completion completion = {.count = 0};
    unsigned char result = CC_REFRESH_BEEP;
    char *line = strndup(info->buffer, length);
    (void)key;
    if (line == NULL)
        return CC_ERROR;
    locale_t before = uselocale(LC_GLOBAL_LOCALE);
    editor->calls.complete(editor->calls.context, line, length, &completion);
    (void)uselocale(before);
    char *text = completion_text(&completion);
    if (text != NULL) {
        editor->lib.el_deletestr(
            el, characters_of(line + completion.begin, length - completion.begin));
        result = editor->lib.el_insertstr(el, text) == 0 ? CC_REFRESH : CC_ERROR;
    } else if (completion.count > 0) {
        show_words(&completion);
        result = CC_REDISPLAY;
    }
    free(text);
    free(line);
    completion_free(&completion);
    return result;
}

static bool load(struct editor *editor)
{
    static const char *const names[] = {"libedit.so.2", "libedit.so.0", "libedit.so"};
#define ADDRESS(name) {#name, &editor->lib.name},
    const struct {
        const char *name;
        void *place;
    } functions[] = {FUNCTIONS(ADDRESS)};
    for (size_t i = 0; editor->library == NULL && i < sizeof names / sizeof names[0]; i++)
        editor->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (editor->library == NULL)
        return false;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *address = dlsym(editor->library, functions[i].name);
        if (address == NULL)
            return false;
        memcpy(functions[i].place, &address, sizeof address);
    }
    return true;
}

/* The locale of the user. If that has only ASCII, a locale with all characters, because a name may
 * have any character. */
static locale_t open_locale(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale != (locale_t)0 && strcmp(nl_langinfo_l(CODESET, locale), "ANSI_X3.4-1968") != 0)
        return locale;
    if (locale != (locale_t)0)
        freelocale(locale);
    return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static bool is_usable(void)
{
    const char *kind = getenv("TERM");
    return kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

static bool set_up(struct editor *editor)
{
    const struct libedit *lib = &editor->lib;
    HistEvent event;
    editor->el = lib->el_init(PROGRAM, stdin, stdout, stderr);
    editor->history = lib->history_init();
    if (editor->el == NULL || editor->history == NULL)
        return false;
    (void)lib->history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)lib->history(editor->history, &event, H_SETUNIQUE, 1);
    (void)lib->el_set(editor->el, EL_CLIENTDATA, editor);
    (void)lib->el_set(editor->el, EL_PROMPT_ESC, prompt_of, INK_MARK);
    (void)lib->el_set(editor->el, EL_EDITOR, "emacs");
    (void)lib->el_set(editor->el, EL_SIGNAL, 0);
    (void)lib->el_set(editor->el, EL_HIST, lib->history, editor->history);
    /* el_set would copy both strings and leak the copies */
    (void)lib->el_wset(editor->el, EL_ADDFN, L"mcds-complete", L"complete a word",
                       complete_word);
    (void)lib->el_set(editor->el, EL_BIND, "^I", "mcds-complete", NULL);
    (void)lib->el_set(editor->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    (void)lib->el_source(editor->el, NULL); /* ~/.editrc */
    (void)lib->el_set(editor->el, EL_GETCFN, next_character);
    return true;
}

struct editor *editor_open(const struct editor_calls *calls)
{
    struct editor *editor = is_usable() ? calloc(1, sizeof *editor) : NULL;
    if (editor == NULL)
        return NULL;
    editor->calls = *calls;
    editor->prompt = "";
    editor->locale = load(editor) ? open_locale() : (locale_t)0;
    if (editor->locale != (locale_t)0) {
        loaded = &editor->lib;
        locale_t before = uselocale(editor->locale);
        bool is_set_up = set_up(editor);
        (void)uselocale(before);
        if (is_set_up)
            return editor;
    }
    editor_close(editor);
    return NULL;
}

void editor_close(struct editor *editor)
{
    if (editor == NULL)
        return;
    if (editor->history != NULL)
        editor->lib.history_end(editor->history);
    if (editor->el != NULL)
        editor->lib.el_end(editor->el);
    if (editor->locale != (locale_t)0)
        freelocale(editor->locale);
    free(editor->line);
    free(editor); /* the library stays loaded until the process ends */
}

enum editor_wait editor_read(struct editor *editor, const char *prompt, char **line_out,
                             size_t *length_out)
{
    struct sigaction before[NOTED];
    int count = 0;
    editor->prompt = prompt;
    editor->end = EDITOR_READY;
    editor->has_left_out = false;
    catch_signals(before);
    locale_t locale = uselocale(editor->locale);
    /* before the prompt; otherwise the terminal shows what is typed at once a second time */
    (void)editor->lib.el_set(editor->el, EL_PREP_TERM, 1);
    const char *line = editor->lib.el_gets(editor->el, &count);
    free(editor->line);
    editor->line = line != NULL && count > 0 ? strdup(line) : NULL;
    (void)uselocale(locale);
    release_signals(before);
    if (editor->line == NULL)
        return editor->end == EDITOR_READY ? EDITOR_OVER : editor->end;
    *length_out = strcspn(editor->line, "\r\n");
    editor->line[*length_out] = '\0';
    *line_out = editor->line;
    return editor->has_left_out ? EDITOR_NO_TEXT : EDITOR_READY;
}

void editor_remember(struct editor *editor, const char *line)
{
    HistEvent event;
    if (editor == NULL)
        return;
    locale_t before = uselocale(editor->locale);
    (void)editor->lib.history(editor->history, &event, H_ENTER, line);
    (void)uselocale(before);
}
