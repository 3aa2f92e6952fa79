/* Watched: reads a structure and prints its changes.
 *
 *   handle --start--> pipeline --print--> next snapshot <--compare--> last snapshot */
#include "watch/watched.h"

#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "nouns/lock.h"
#include "nouns/log.h"
#include "parse/shell_words.h"
#include "parse/values.h"
#include "table/commands.h"
#include "table/nouns.h"

/* One change, while it is printed. */
struct change_of {
    struct watched *watched;
    uint64_t count;
};

enum compared compared_of(const struct noun *noun)
{
    const struct verb *get = noun->open != NULL ? find_verb(noun, "get") : NULL;
    const struct verb *scan = noun->open != NULL ? find_verb(noun, "scan") : NULL;
    if (noun->open == lock_open)
        return COMPARED_HOLDER;
    if (noun->open == log_open)
        return COMPARED_LOG;
    if (noun->open == queue_open)
        return COMPARED_JOBS;
    if (scan != NULL && scan->start != NULL && scan->is_many && scan->arguments[1] == NULL)
        return noun->open == list_open ? COMPARED_LIST : COMPARED_SET;
    if (get != NULL && get->start != NULL && !get->erases && get->arguments[1] == NULL)
        return COMPARED_VALUE;
    return COMPARED_NOT;
}

static const struct verb *verb_of(const struct noun *noun, enum compared compared)
{
    static const char *const words[] = {
        [COMPARED_VALUE] = "get",      [COMPARED_HOLDER] = "",   [COMPARED_JOBS] = "count",
        [COMPARED_SET] = "scan",       [COMPARED_LIST] = "scan", [COMPARED_LOG] = "scan",
        [COMPARED_BY_COUNT] = "count",
    };
    return find_verb(noun, words[compared]);
}

void watched_begin(struct watched *watched, struct session *session,
                   const struct command *command, const struct noun *noun, const char *name,
                   bool store_is_new)
{
    static const mcds_log_cursor fresh = MCDS_LOG_CURSOR_INIT;
    memset(watched, 0, sizeof *watched);
    watched->session = session;
    watched->compared = compared_of(noun);
    watched->command.noun = noun;
    watched->command.verb = verb_of(noun, watched->compared);
    watched->command.store_uri = command->store_uri;
    watched->command.store_ns = command->store_ns;
    watched->command.arguments[0] = name;
    watched->command.bytes[0] = mcds_text(name);
    watched->command.options[OPTION_INFO].given = watched->compared == COMPARED_HOLDER;
    watched->cursor = fresh;
    watched->cursor.from_ms = store_is_new ? 1 : 0; /* 0: events put after the first read */
    watched->has_read = store_is_new;
}

static void close_handle(struct watched *watched)
{
    if (watched->handle != NULL)
        watched->command.noun->close(watched->handle);
    watched->handle = NULL;
}

void watched_reopen(struct watched *watched)
{
    close_handle(watched);
    watched->is_opened_again = true;
}

void watched_abandon(struct watched *watched)
{
    if (watched->items.file != NULL)
        (void)fclose(watched->items.file);
    watched->items.file = NULL;
}

void watched_close(struct watched *watched)
{
    close_handle(watched);
    snapshot_free(&watched->last);
    snapshot_free(&watched->next);
}

/* A scan of a bag prints counts only with --bag. */
static int open_handle(struct watched *watched)
{
    mcds_set_options made = MCDS_SET_OPTIONS_INIT;
    struct command *command = &watched->command;
    mcds_store *store = watched->session->store;
    if (command->noun->open == set_open) {
        int result = mcds_set_made_with(store, command->arguments[0], &made);
        if (result < 0 && result != MCDS_CORRUPT)
            return result;
        command->options[OPTION_BAG].given = made.form == MCDS_SET_BAG;
    }
    return command->noun->open(store, command, &watched->handle);
}

static bool ignore_event(void *context, const mcds_log_event *event)
{
    (void)event;
    (void)context;
    return true;
}

/* The reads of a log print at once: a cursor does not return to an event. */
static bool print_event(void *context, const mcds_log_event *event);

int watched_start(struct watched *watched, mcds_pipeline *pipeline, uint64_t tag)
{
    struct command *command = &watched->command;
    snapshot_free(&watched->next);
    if (watched->handle == NULL) {
        int result = open_handle(watched);
        if (result != MCDS_OK)
            return result;
    }
    memset(&watched->answer, 0, sizeof watched->answer);
    if (watched->compared == COMPARED_LOG)
        return mcds_log_tail_start(watched->handle, &watched->cursor,
                                   watched->has_read ? print_event : ignore_event, watched,
                                   &watched->answer.info, pipeline, tag);
    watched->items = (struct output){.ascii = watched->session->output.ascii};
    watched->items.file = snapshot_begin(&watched->next);
    watched->answer.items = &watched->items;
    if (watched->items.file == NULL)
        return MCDS_NO_MEMORY;
    return command->verb->start(watched->handle, command, &watched->answer, pipeline, tag);
}

static struct output *begin_line(struct watched *watched, const char *change)
{
    char at[MOMENT_CAPACITY];
    struct output *output = &watched->session->output;
    format_moment(clock_wall_ms(), at);
    output_begin(output);
    output_text(output, "time", at, SHOWN);
    output_text(output, "noun", watched->command.noun->word, SHOWN);
    output_name(output, "name", watched->command.arguments[0], SHOWN);
    output_text(output, "change", change, SHOWN);
    return output;
}

static bool print_event(void *context, const mcds_log_event *event)
{
    struct watched *watched = context;
    char at[MOMENT_CAPACITY];
    struct output *output = begin_line(watched, "appended");
    format_moment(event->when_ms, at);
    output_text(output, "at", at, SHOWN);
    output_bytes(output, "event", event->event, SHOWN);
    output_end(output);
    watched->answer.count++;
    return output_is_fine(output);
}

static bool is_number(const char *text, size_t length)
{
    size_t digits = strspn(text, "-0123456789.");
    return length > 0 && length < 16 && digits >= length && text[length - 1] != '-' &&
           text[length - 1] != '.';
}

/* A field as a read has printed it. */
static void put_field(struct output *output, const char *key, const char *text, size_t length,
                      bool may_be_number)
{
    char *copy = malloc(length + 1);
    if (copy == NULL)
        return;
    memcpy(copy, text, length);
    copy[length] = '\0';
    bool is_raw = !output->json || (may_be_number && is_number(copy, length));
    if (is_raw)
        output_copy(output, key, copy);
    else if (unquote_field(copy, &length))
        output_bytes(output, key, (mcds_bytes){copy, length}, SHOWN);
    free(copy);
}

/* The second field of a line, if it has one. */
static void put_second(struct output *output, const char *key, const struct line_of *line,
                       bool may_be_number)
{
    if (line->key_length < line->length)
        put_field(output, key, line->text + line->key_length + 1,
                  line->length - line->key_length - 1, may_be_number);
}

/* An element, a value of a list, or a key with its value. */
static void print_difference(void *context, const struct line_of *was, const struct line_of *is)
{
    struct change_of *change = context;
    struct watched *watched = change->watched;
    const struct line_of *line = is != NULL ? is : was;
    bool is_list = watched->compared == COMPARED_LIST;
    bool is_bag = is_given(&watched->command, OPTION_BAG);
    bool has_value = line->key_length < line->length && !is_bag;
    struct output *output = begin_line(watched, was != NULL && is != NULL ? "changed"
                                                : was != NULL             ? "removed"
                                                : is_list                 ? "appended"
                                                                          : "added");
    put_field(output,
              is_list     ? "value"
              : has_value ? "key"
                          : "element",
              line->text, line->key_length, false);
    if (was != NULL)
        put_second(output, is != NULL ? "was" : "value", was, is_bag);
    if (is != NULL)
        put_second(output, is_bag ? "count" : "value", is, is_bag);
    output_end(output);
    change->count++;
}

/* Visitors and online that do not exist have this value. */
static bool is_nothing(const struct line_of *line)
{
    return line != NULL && line->length == 1 && line->text[0] == '0';
}

static bool is_same(const struct line_of *was, const struct line_of *is)
{
    if (was == NULL || is == NULL)
        return was == is;
    return was->length == is->length && memcmp(was->text, is->text, is->length) == 0;
}

static bool is_of_sharers(const struct line_of *line)
{
    static const char word[] = "shared";
    const size_t length = sizeof word - 1;
    return line != NULL && line->length - line->key_length > length &&
           memcmp(line->text + line->key_length + 1, word, length) == 0;
}

/* Prints that the lock has another holder, or none. If it was shared and still is, it has
 * changed. */
static uint64_t print_holder(struct watched *watched, const struct line_of *was,
                             const struct line_of *is)
{
    const struct line_of *line = is != NULL ? is : was;
    bool is_change = is_of_sharers(was) && is_of_sharers(is);
    struct output *output = begin_line(watched, is == NULL  ? "released"
                                                : is_change ? "changed"
                                                            : "acquired");
    put_field(output, "holder", line->text, line->key_length, false);
    if (is != NULL)
        lock_print_mode(output, &watched->answer.holder);
    output_end(output);
    return 1;
}

/* Only the new numbers of jobs: the line before has the old ones. */
static uint64_t print_jobs(struct watched *watched, const struct line_of *was,
                           const struct line_of *is)
{
    const struct verb *count = watched->command.verb;
    struct output *output = begin_line(watched, is == NULL    ? "dropped"
                                                : was == NULL ? "made"
                                                              : "changed");
    if (is != NULL)
        count->print(output, &watched->command, &watched->answer, MCDS_OK);
    output_end(output);
    return 1;
}

/* The line of a value, or of a number of elements, in `last` and in `next`. */
static uint64_t compare_line(struct watched *watched, bool exists)
{
    const struct line_of *was = watched->last.count > 0 ? &watched->last.lines[0] : NULL;
    const struct line_of *is = exists && watched->next.count > 0 ? &watched->next.lines[0]
                                                                 : NULL;
    if (is_same(was, is))
        return 0;
    if (watched->compared == COMPARED_HOLDER)
        return print_holder(watched, was, is);
    if (watched->compared == COMPARED_JOBS)
        return print_jobs(watched, was, is);
    if (was == NULL && is_nothing(is))
        return 0;
    struct output *output = begin_line(watched, is == NULL    ? "dropped"
                                                : was == NULL ? "made"
                                                : watched->compared == COMPARED_BY_COUNT
                                                    ? "count"
                                                    : "changed");
    if (was != NULL)
        put_field(output, is != NULL ? "was" : "value", was->text, was->length, true);
    if (is != NULL)
        put_field(output, "value", is->text, is->length, true);
    output_end(output);
    return 1;
}

static uint64_t print_alone(struct watched *watched, const char *change)
{
    output_end(begin_line(watched, change));
    return 1;
}

static uint64_t compare_elements(struct watched *watched, bool exists)
{
    struct change_of change = {watched, 0};
    if (watched->exists && !exists)
        return print_alone(watched, "dropped");
    if (watched->compared == COMPARED_SET) {
        snapshot_compare(&watched->last, &watched->next, print_difference, &change);
        return change.count;
    }
    if (snapshot_compare_appended(&watched->last, &watched->next, print_difference, &change))
        return change.count;
    (void)print_alone(watched, "cleared");
    snapshot_free(&watched->last);
    (void)snapshot_compare_appended(&watched->last, &watched->next, print_difference, &change);
    return change.count + 1;
}

/* From now on only the number of elements is compared; without a verb for that, nothing. */
static void compare_by_count(struct watched *watched)
{
    const char *noun = watched->command.noun->word;
    const char *name = watched->command.arguments[0];
    const struct verb *count = find_verb(watched->command.noun, "count");
    watched->is_given_up = count == NULL;
    complain(&watched->session->output,
             "%s '%.200s': more than %zu elements or %zu MB; from now on %s", noun, name,
             SNAPSHOT_LINES_MAX, SNAPSHOT_BYTES_MAX >> 20,
             count != NULL ? "only their number is watched" : "it is not watched");
    watched->compared = COMPARED_BY_COUNT;
    watched->command.verb = count;
    watched->has_read = false;
    snapshot_free(&watched->last);
    snapshot_free(&watched->next);
}

/* Prints a value into the snapshot, as an element of a scan is. */
static void print_value(struct watched *watched, int result)
{
    struct output *items = &watched->items;
    const struct verb *verb = watched->command.verb;
    output_begin(items);
    if (watched->compared == COMPARED_HOLDER) {
        const char *label = watched->answer.holder.label;
        output_name(items, "", label[0] != '\0' ? label : "-", SHOWN);
        lock_print_mode(items, &watched->answer.holder);
    } else {
        verb->print(items, &watched->command, &watched->answer, result);
    }
    output_end(items);
}

static uint64_t end_log(struct watched *watched, int result)
{
    uint64_t count = watched->answer.count;
    if (result == MCDS_NOT_FOUND) {
        static const mcds_log_cursor fresh = MCDS_LOG_CURSOR_INIT;
        watched->cursor = fresh;
        watched->cursor.from_ms = 1; /* when it is made, all its events are new */
        count = watched->exists ? print_alone(watched, "dropped") : 0;
    }
    if (watched->answer.info.gaps > 0 || watched->answer.info.corrupt > 0)
        complain(&watched->session->output, "log '%.200s': events are missing here",
                 watched->command.arguments[0]);
    watched->has_read = true;
    watched->exists = result == MCDS_OK;
    return count;
}

bool watched_is_read(const struct watched *watched, int result)
{
    return result >= 0 || (watched->compared == COMPARED_JOBS && result == MCDS_LOST);
}

bool watched_is_there(const struct watched *watched)
{
    bool is_line = watched->compared == COMPARED_VALUE && watched->last.count > 0;
    return watched->exists && !(is_line && is_nothing(&watched->last.lines[0]));
}

/* The count reports the loss until the queue is dropped. */
static void note_loss(struct watched *watched, bool has_lost)
{
    if (has_lost && !watched->has_lost)
        complain(&watched->session->output,
                 "%s '%.200s': some jobs are lost; the rest is counted",
                 watched->command.noun->word, watched->command.arguments[0]);
    watched->has_lost = has_lost;
}

uint64_t watched_end(struct watched *watched, int result)
{
    bool exists = result == MCDS_OK || result == MCDS_LOST;
    uint64_t count = 0;
    watched->is_opened_again = false;
    note_loss(watched, result == MCDS_LOST);
    if (watched->compared == COMPARED_LOG)
        return end_log(watched, result);
    if (exists && !watched->command.verb->is_many)
        print_value(watched, result);
    (void)fclose(watched->items.file);
    watched->items.file = NULL;
    mcds_value_free(&watched->answer.value);
    if (!snapshot_end(&watched->next, watched->compared == COMPARED_LIST)) {
        compare_by_count(watched);
        return 0;
    }
    if (watched->has_read && watched->command.verb->is_many)
        count = compare_elements(watched, exists);
    else if (watched->has_read)
        count = compare_line(watched, exists);
    snapshot_free(&watched->last);
    watched->last = watched->next;
    memset(&watched->next, 0, sizeof watched->next);
    watched->has_read = true;
    watched->exists = exists;
    if (!exists) /* it may be made with other options */
        close_handle(watched);
    return count;
}
