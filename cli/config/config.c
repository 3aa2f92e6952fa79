/* Configuration: parses the lines of the file. */
#include "config/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/exit.h"
#include "parse/values.h"
#include "run/session.h"
#include "table/commands.h"

#define BLANKS " \t"
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define PROFILE_MAX 64
#define WORD_SHOWN 60

static const char *const setting_words[SETTING_COUNT] = {"store", "namespace", "timeout"};

struct parser {
    struct config *config;
    const char *profile; /* whose settings count, or NULL */
    unsigned line;
    const char *section;          /* NULL: the top of the file */
    unsigned seen[SETTING_COUNT]; /* the line that has it in this section, or 0 */
    const char *profiles[PROFILES_MAX];
    size_t profile_count;
    char *sentence;
    size_t capacity;
};

static int MCDS_PRINTF(2, 3) bad_line(struct parser *parser, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(parser->sentence, parser->capacity,
                          "configuration: %s:%u: ", parser->config->path, parser->line);
    assert(length > 0 && (size_t)length < parser->capacity);
    va_start(arguments, format);
    (void)vsnprintf(parser->sentence + length, parser->capacity - (size_t)length, format,
                    arguments);
    va_end(arguments);
    return STATUS_DATA;
}

/* Cuts the blanks, and a carriage return, at both ends. */
static char *trim(char *text)
{
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length > 0 && strchr(BLANKS "\r", text[length - 1]) != NULL)
        length--;
    text[length] = '\0';
    return text;
}

static const char *find_profile(const struct parser *parser, const char *name)
{
    for (size_t i = 0; i < parser->profile_count; i++)
        if (strcmp(parser->profiles[i], name) == 0)
            return parser->profiles[i];
    return NULL;
}

/* "[web]" */
static int begin_profile(struct parser *parser, char *text)
{
    size_t length = strlen(text);
    if (text[length - 1] != ']')
        return bad_line(parser, "a profile is written [NAME]");
    text[length - 1] = '\0';
    char *name = trim(text + 1);
    length = strlen(name);
    if (length == 0 || length > PROFILE_MAX || strspn(name, NAME_BYTES) != length)
        return bad_line(parser,
                        "the name of a profile has 1 to %d letters, digits and any of . _ -",
                        PROFILE_MAX);
    if (find_profile(parser, name) != NULL)
        return bad_line(parser, "the profile %s is there twice", name);
    if (parser->profile_count == PROFILES_MAX)
        return bad_line(parser, "there are more than %d profiles", PROFILES_MAX);
    parser->profiles[parser->profile_count++] = name;
    parser->section = name;
    memset(parser->seen, 0, sizeof parser->seen);
    return STATUS_DONE;
}

/* A path that begins where the caller happens to be names another file in each directory. */
static bool is_relative(const char *uri)
{
    return strncmp(uri, "lmdb:", strlen("lmdb:")) == 0 && uri[strlen("lmdb:")] != '/';
}

static int judge_value(struct parser *parser, enum setting_id id, const char *text,
                       uint64_t *timeout_ms)
{
    const struct parameter *limits = &options[OPTION_TIMEOUT];
    if (text[0] == '\0')
        return bad_line(parser, "%s has no value", setting_words[id]);
    if (text[0] == '"' || text[0] == '\'')
        return bad_line(parser, "%s: write the value without quotes", setting_words[id]);
    if (strstr(text, " #") != NULL || strstr(text, "\t#") != NULL)
        return bad_line(parser, "%s: give the comment a line of its own", setting_words[id]);
    if (id == SETTING_STORE && strlen(text) >= URI_MAX)
        return bad_line(parser, "the store URI is longer than %d bytes", URI_MAX - 1);
    if (id == SETTING_STORE && is_relative(text))
        return bad_line(parser, "the path of the store does not begin with /: it would be "
                                "another file in each directory");
    if (id == SETTING_STORE && parser->config->is_shared && strstr(text, "auth_file=") != NULL)
        return bad_line(parser, "the store has an auth_file, and the group of this file can "
                                "write it; chmod g-w it");
    if (id == SETTING_TIMEOUT && (!parse_duration(text, timeout_ms) ||
                                  *timeout_ms < limits->min || *timeout_ms > limits->max))
        return bad_line(parser,
                        "timeout: %.*s is not a time from 1ms to 1h, such as 500ms or 2s",
                        WORD_SHOWN, text);
    return STATUS_DONE;
}

/* Of a setting at the top and one of the profile, that of the profile counts. */
static void keep(struct parser *parser, enum setting_id id, const char *text,
                 uint64_t timeout_ms)
{
    bool is_top = parser->section == NULL;
    bool is_chosen = !is_top && parser->profile != NULL &&
                     strcmp(parser->section, parser->profile) == 0;
    if (!is_top && !is_chosen)
        return;
    parser->config->settings[id] = (struct setting){parser->line, text};
    if (id == SETTING_TIMEOUT)
        parser->config->timeout_ms = timeout_ms;
}

/* "store = URI" */
static int read_setting(struct parser *parser, char *text)
{
    char *equals = strchr(text, '=');
    uint64_t timeout_ms = 0;
    size_t id = 0;
    if (equals == NULL)
        return bad_line(parser, "a line is NAME = VALUE, [PROFILE] or a comment after #");
    *equals = '\0';
    const char *word = trim(text);
    const char *value = trim(equals + 1);
    while (id < SETTING_COUNT && strcmp(word, setting_words[id]) != 0)
        id++;
    if (id == SETTING_COUNT)
        return bad_line(parser,
                        "there is no setting '%.*s'; there are store, namespace and "
                        "timeout",
                        WORD_SHOWN, word);
    if (parser->seen[id] != 0)
        return bad_line(parser, "%s is also set in line %u", word, parser->seen[id]);
    parser->seen[id] = parser->line;
    int status = judge_value(parser, (enum setting_id)id, value, &timeout_ms);
    if (status == STATUS_DONE)
        keep(parser, (enum setting_id)id, value, timeout_ms);
    return status;
}

static int read_line(struct parser *parser, char *line)
{
    char *text = trim(line);
    if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
        return STATUS_DONE;
    return text[0] == '[' ? begin_profile(parser, text) : read_setting(parser, text);
}

static int read_lines(struct parser *parser)
{
    struct config *config = parser->config;
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark, as some editors write */
    char *next = config->text;
    const char *end = config->text + config->length;
    if (config->length >= strlen(mark) && memcmp(next, mark, strlen(mark)) == 0)
        next += strlen(mark);
    int status = STATUS_DONE;
    while (status == STATUS_DONE && next < end) {
        char *line = next;
        size_t length = strcspn(line, "\n");
        parser->line++;
        if (line[length] == '\0' && line + length < end)
            return bad_line(parser, "it has a NUL byte");
        next += length + 1;
        line[length] = '\0';
        status = read_line(parser, line);
    }
    return status;
}

static int no_such_profile(const struct parser *parser)
{
    const struct config *config = parser->config;
    const char *where = config->path[0] != '\0' ? config->path : "$HOME/.config/mcds/config";
    if (!config->is_there) {
        (void)snprintf(parser->sentence, parser->capacity,
                       "configuration: there is no profile '%.*s', because there is no file %s",
                       WORD_SHOWN, parser->profile, where);
        return STATUS_USAGE;
    }
    int length = snprintf(parser->sentence, parser->capacity,
                          "configuration: %s has no profile '%.*s'; it has", where, WORD_SHOWN,
                          parser->profile);
    for (size_t i = 0; i < parser->profile_count && i < 8 && length > 0; i++)
        length += snprintf(parser->sentence + length, parser->capacity - (size_t)length,
                           "%s %s", i > 0 ? "," : "", parser->profiles[i]);
    if (parser->profile_count == 0 || parser->profile_count > 8)
        (void)snprintf(parser->sentence + length, parser->capacity - (size_t)length, "%s",
                       parser->profile_count == 0 ? " none" : ", ...");
    return STATUS_USAGE;
}

int config_read(struct config *config, const char *profile, char *sentence, size_t capacity)
{
    struct parser parser = {
        .config = config, .profile = profile, .sentence = sentence, .capacity = capacity};
    int status = config_load(config, sentence, capacity);
    if (status == STATUS_DONE && config->text != NULL)
        status = read_lines(&parser);
    if (status == STATUS_DONE && profile != NULL && find_profile(&parser, profile) == NULL)
        status = no_such_profile(&parser);
    return status;
}
