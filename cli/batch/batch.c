/* mcds batch: commands from standard input, many in flight at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/ring.h"
#include "io/exit.h"
#include "io/lines.h"
#include "io/report.h"
#include "parse/options.h"
#include "parse/shell_words.h"
#include "signals/interrupt.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "terminal/progress.h"

#define WORDS_MAX 1024
#define LINE_MAX_BYTES 16384

struct batch {
    struct session *session;
    struct ring *ring;
    struct lines lines;
    struct progress progress;
    unsigned long line;
    int signal; /* that ended the input, or 0 */
};

/* Returns a sentence if a batch cannot execute the command, or NULL. */
static const char *why_not(const struct command *command)
{
    if (is_given(command, OPTION_HELP) || is_given(command, OPTION_VERSION))
        return "help does not answer with one line; ask for it outside of the batch";
    for (int id = OPTION_STORE; id <= OPTION_COLOR; id++)
        if (is_given(command, (enum option_id)id))
            return "-s, -N, --timeout, --profile, --json, -q and --color belong before 'batch' "
                   "and apply "
                   "to all "
                   "lines";
    if (command->program != NULL)
        return "a batch runs no COMMAND; run this command outside of the batch";
    if (command->verb->start == NULL)
        return "this command does not answer with one line; run it outside of the batch";
    if (command->input != INPUT_NONE)
        return "standard input is the batch itself; give the data as an argument";
    if (is_given(command, OPTION_RAW) || is_given(command, OPTION_RAW_LINES))
        return "--raw does not answer with one line; run it outside of the batch";
    if (takes_each(command->verb) && command->element_count > 1)
        return "several names or elements do not answer with one line; give each a line of its "
               "own";
    if (command->noun->why_not != NULL)
        return command->noun->why_not(command);
    return NULL;
}

/* Parses the line in slot->text into a command. False: refused. */
static bool read_slot(struct slot *slot, const struct session *session, size_t length)
{
    char *words[WORDS_MAX + 1];
    const char *error = NULL;
    struct mistake mistake;
    int count = -1;
    if (memchr(slot->text, '\0', length) != NULL)
        error = "a NUL byte; no command and no name can hold one";
    else
        count = split_words(slot->text, words, WORDS_MAX, &error);
    if (count < 0) {
        slot_refuse(slot, STATUS_DATA, error);
        return false;
    }
    words[count] = NULL;
    /* The reader points into the words for those after --. Such a line is not executed, so
     * no pointer outlives the words. */
    if (!read_command(session->nouns, words, &slot->command, &mistake)) {
        slot_refuse(slot, STATUS_USAGE, mistake.sentence);
        return false;
    }
    slot->command.store_uri = session->uri;
    slot->command.store_ns = session->options.ns;
    error = why_not(&slot->command);
    if (error != NULL)
        slot_refuse(slot, STATUS_USAGE, error);
    return error == NULL;
}

static bool copy_line(struct slot *slot, const char *line, size_t length)
{
    if (slot->capacity < length + 1) {
        char *text = realloc(slot->text, length + 1);
        if (text == NULL)
            return false;
        slot->text = text;
        slot->capacity = length + 1;
    }
    memcpy(slot->text, line, length + 1);
    return true;
}

/* Empty lines and comments get no answer. */
static bool is_command(const char *line, size_t length)
{
    size_t blanks = 0;
    while (blanks < length && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    return blanks < length && line[blanks] != '#';
}

static void take_line(struct batch *batch, enum line kind, const char *line, size_t length)
{
    batch->line++;
    if (kind == LINE_READY && !is_command(line, length))
        return;
    progress_count(&batch->progress, 1);
    struct slot *slot = ring_next(batch->ring);
    slot->line = batch->line;
    char sentence[80];
    (void)snprintf(sentence, sizeof sentence,
                   "the line is longer than %d bytes; nothing after it was read",
                   LINE_MAX_BYTES);
    if (kind == LINE_TOO_LONG)
        slot_refuse(slot, STATUS_DATA, sentence);
    else if (!copy_line(slot, line, length))
        slot_refuse(slot, STATUS_INTERNAL, "out of memory");
    else if (read_slot(slot, batch->session, length))
        ring_start(batch->ring, slot);
}

static void take_lines(struct batch *batch)
{
    for (;;) {
        char *line = NULL;
        size_t length = 0;
        enum line kind = lines_next(&batch->lines, &line, &length);
        if (kind == LINE_OVER || interrupt_number() != 0)
            break;
        if (kind == LINE_NONE) {
            /* A program at the other end of both pipes waits for its answers. */
            if (!lines_are_waiting() && !ring_settle(batch->ring))
                break;
            lines_read(&batch->lines);
        } else {
            take_line(batch, kind, line, length);
            /* Nobody gets the answers, or the line may have no end. */
            if (!output_is_fine(&batch->session->output) || kind == LINE_TOO_LONG)
                break;
        }
    }
    batch->signal = interrupt_number();
    (void)ring_settle(batch->ring);
    if (batch->lines.error != 0) {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence, "standard input cannot be read: %s",
                       strerror(batch->lines.error));
        report_failure(&batch->session->output, batch->session->command, STATUS_IO, "MCDS_IO",
                       sentence);
        ring_note_status(batch->ring, STATUS_IO);
    }
}

int batch_run(struct session *session, const struct command *command)
{
    (void)command;
    struct batch batch = {.session = session};
    lines_open(&batch.lines, LINE_MAX_BYTES);
    batch.lines.skips_mark = true;
    int status = ring_open(session, &batch.ring);
    if (status == STATUS_DONE) {
        interrupt_open();
        progress_begin(&batch.progress, "commands", "carried out",
                       progress_is_wanted(session->output.quiet, true) &&
                           isatty(STDIN_FILENO) != 1);
        progress_of_file(&batch.progress, STDIN_FILENO);
        take_lines(&batch);
        progress_end(&batch.progress);
        const struct tally *tally = ring_tally(batch.ring);
        if (tally->doubtful_count > 0 || batch.signal != 0)
            tally_complain(tally, &session->output, batch.signal != 0 ? batch.line : 0);
        status = batch.signal != 0 ? tally_status(tally, STATUS_SIGNAL + batch.signal)
                                   : ring_status(batch.ring);
    }
    ring_close(batch.ring);
    lines_close(&batch.lines);
    return status;
}
