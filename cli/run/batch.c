/* mcds batch: commands from standard input, many in flight at once.
 *
 *   line --> slot --start--> pipeline --completion--> slot --in the order of lines--> output
 *
 * The slots are a ring; the oldest is printed as soon as it and all before it are done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/exit.h"
#include "io/failure.h"
#include "io/lines.h"
#include "io/report.h"
#include "parse/options.h"
#include "parse/shell_words.h"
#include "run/busy.h"
#include "run/open_handles.h"
#include "run/session.h"
#include "run/tally.h"
#include "table/nouns.h"

#define SLOTS 1024 /* a power of two */
#define DEPTH 512
#define WORDS_MAX 1024
#define LINE_MAX_BYTES 16384
/* How long no command is sent to a server after it was unreachable, or to a file after another
 * process had it. */
#define PAUSE_NS INT64_C(1000000000)
#define SENTENCE_CAPACITY FAILURE_CAPACITY

enum state { STATE_UNDER_WAY, STATE_DONE, STATE_REFUSED };

struct slot {
    unsigned long line;
    enum state state;
    struct command command;
    struct subject *subject;
    struct answer answer;
    struct output items; /* of a verb that is_many, into memory */
    char *gathered;
    size_t gathered_length;
    uint16_t *busy; /* of OVERLAP_APART */
    int result;     /* DONE: of the library; REFUSED: the exit code */
    const char *refusal;
    char *text; /* the line, into which the command points */
    size_t capacity;
    char sentence[SENTENCE_MAX];
};

struct batch {
    struct session *session;
    mcds_pipeline *pipeline;
    struct subjects *subjects;
    struct slot *slots;
    unsigned long first; /* slot numbers only grow; their low bits are the index in the ring */
    unsigned long next;
    unsigned long line;
    int status; /* the first of 64 or more, else 1 if a command answered no */
    struct tally tally;
    struct lines lines;
    struct busy busy;
    bool is_file;
    bool has_one_server;
    int64_t
        again_ns; /* with one server: when it may be asked again, after it was unreachable */
};

static struct slot *slot_at(struct batch *batch, unsigned long number)
{
    return &batch->slots[number % SLOTS];
}

static void note_status(struct batch *batch, int status)
{
    if (status != STATUS_DONE && batch->status <= STATUS_NO)
        batch->status = status;
}

/* Frees the memory of an answer. */
static void clear_answer(struct slot *slot)
{
    if (slot->items.file != NULL)
        (void)fclose(slot->items.file);
    free(slot->gathered);
    mcds_value_free(&slot->answer.value);
    free_command(&slot->command);
    slot->items.file = NULL;
    slot->gathered = NULL;
}

static void print_slot(struct batch *batch, struct slot *slot)
{
    struct output *output = &batch->session->output;
    output->line = slot->line;
    int status = slot->result;
    if (slot->state == STATE_DONE)
        status = report(output, &slot->command, &slot->answer, slot->result, slot->sentence);
    else
        report_failure(output, &slot->command, status, slot->refusal, slot->sentence);
    if (status <= STATUS_NO)
        batch->tally.done++;
    else
        tally_failed(&batch->tally, slot->line, 1,
                     slot->state == STATE_DONE ? slot->result : MCDS_INVALID);
    output->line = 0;
    note_status(batch, status);
    clear_answer(slot);
}

/* Prints the slots that are done, up to the first that is not. */
static void print_ready(struct batch *batch)
{
    while (batch->first != batch->next) {
        struct slot *slot = slot_at(batch, batch->first);
        if (slot->state == STATE_UNDER_WAY)
            return;
        print_slot(batch, slot);
        batch->first++;
    }
}

static void keep_sentence(struct slot *slot, const char *sentence)
{
    (void)snprintf(slot->sentence, sizeof slot->sentence, "%s", sentence);
}

static void refuse(struct slot *slot, int status, const char *sentence)
{
    slot->state = STATE_REFUSED;
    slot->result = status;
    slot->refusal = status == STATUS_UNREACHABLE ? "MCDS_UNAVAILABLE" : "MCDS_INVALID";
    keep_sentence(slot, sentence);
}

/* Whether the store was unreachable a moment ago. Each operation would wait for its whole timeout
 * again, one after the other on one name. */
static bool is_given_up(const struct batch *batch, const struct subject *subject,
                        struct slot *slot)
{
    const mcds_env *env = mcds_env_system();
    int64_t again_ns = batch->has_one_server ? batch->again_ns
                                             : subject_paused_until_ns(subject);
    if (again_ns == 0 || env->monotonic_ns(env->self) >= again_ns)
        return false;
    char sentence[SENTENCE_CAPACITY];
    (void)snprintf(
        sentence, sizeof sentence, "%s '%.200s': not tried: %s less than a second ago",
        slot->command.noun->word, slot->command.arguments[0],
        batch->is_file ? "another process had the file" : "its server was unreachable");
    refuse(slot, STATUS_UNREACHABLE, sentence);
    return true;
}

/* Where a verb that is_many prints: all in one line, in memory. False: out of memory. */
static bool begin_items(struct slot *slot, const struct output *output)
{
    slot->answer.items = &slot->items;
    if (!slot->command.verb->is_many)
        return true;
    slot->items = (struct output){.json = output->json, .in_one_line = true};
    slot->items.file = open_memstream(&slot->gathered, &slot->gathered_length);
    if (slot->items.file == NULL)
        return false;
    if (output->json)
        (void)putc('[', slot->items.file);
    return true;
}

static bool end_items(struct slot *slot)
{
    if (slot->items.file == NULL)
        return true;
    if (slot->items.json)
        (void)putc(']', slot->items.file);
    bool is_fine = ferror(slot->items.file) == 0;
    is_fine = fclose(slot->items.file) == 0 && is_fine;
    slot->items.file = NULL;
    slot->answer.gathered = slot->gathered;
    return is_fine;
}

static void finish(struct slot *slot, int result)
{
    if (!end_items(slot)) {
        refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    slot->state = STATE_DONE;
    slot->result = result;
    if (result < 0)
        explain_failure(slot->sentence, sizeof slot->sentence, &slot->command);
}

/* Records whether the server of a subject, or the file, was reached. */
static void note_reach(struct batch *batch, struct subject *subject, int result)
{
    const mcds_env *env = mcds_env_system();
    bool is_out = result == MCDS_UNAVAILABLE || (batch->is_file && result == MCDS_TIMEOUT);
    batch->again_ns = is_out ? env->monotonic_ns(env->self) + PAUSE_NS : 0;
    subject_pause(subject, batch->again_ns);
}

/* Waits for one operation to end. False when none is in flight. */
static bool collect(struct batch *batch)
{
    mcds_completion done;
    if (mcds_pipeline_next(batch->pipeline, &done) != MCDS_OK)
        return false;
    struct slot *slot = slot_at(batch, (unsigned long)done.tag);
    if (slot->busy != NULL)
        --*slot->busy;
    finish(slot, done.result);
    note_reach(batch, slot->subject, done.result);
    subject_end(slot->subject, done.result);
    return true;
}

static void collect_all(struct batch *batch)
{
    while (collect(batch)) {
    }
    print_ready(batch);
}

/* Returns a sentence if a batch cannot execute the command, or NULL. */
static const char *why_not(const struct command *command)
{
    if (is_given(command, OPTION_HELP) || is_given(command, OPTION_VERSION))
        return "help does not answer with one line; ask for it outside of the batch";
    for (int id = OPTION_STORE; id <= OPTION_QUIET; id++)
        if (is_given(command, (enum option_id)id))
            return "-s, -N, --timeout, --json and -q belong before 'batch' and apply to all "
                   "lines";
    if (command->program != NULL)
        return "a lock cannot run a command inside of a batch; run 'mcds lock' by itself";
    if (command->verb->start == NULL)
        return "this command does not answer with one line; run it outside of the batch";
    if (command->input != INPUT_NONE)
        return "standard input is the batch itself; give the data as an argument";
    if (is_given(command, OPTION_RAW) || is_given(command, OPTION_RAW_LINES))
        return "--raw does not answer with one line; run it outside of the batch";
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
        refuse(slot, STATUS_DATA, error);
        return false;
    }
    words[count] = NULL;
    /* The reader points into the words for what comes after --. Such a line is not executed, so
     * no pointer outlives the words. */
    if (!read_command(session->nouns, words, &slot->command, &mistake)) {
        refuse(slot, STATUS_USAGE, mistake.sentence);
        return false;
    }
    slot->command.store_uri = session->uri;
    slot->command.store_ns = session->options.ns;
    error = why_not(&slot->command);
    if (error != NULL)
        refuse(slot, STATUS_USAGE, error);
    return error == NULL;
}

/* Whether the command may begin before the operations in flight have ended. */
static bool is_free_for(struct batch *batch, const struct subject *subject, struct slot *slot)
{
    bool is_apart = slot->command.verb->overlap == OVERLAP_APART &&
                    slot->command.bytes[1].length > 0;
    slot->busy = is_apart ? busy_place(&batch->busy, &slot->command) : NULL;
    return subject_is_free_for(subject, &slot->command) &&
           (slot->busy == NULL || *slot->busy == 0);
}

static void start_slot(struct batch *batch, struct slot *slot, unsigned long number)
{
    struct subject *subject = subjects_find(batch->subjects, &slot->command);
    while (subject == NULL && collect(batch))
        subject = subjects_find(batch->subjects, &slot->command);
    if (subject == NULL) {
        refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    while (!is_free_for(batch, subject, slot) && collect(batch)) {
    }
    if (is_given_up(batch, subject, slot))
        return;
    void *handle = NULL;
    int result = subject_open(subject, batch->session->store, &slot->command, &handle);
    if (result != MCDS_OK) {
        note_reach(batch, subject, result);
        finish(slot, result);
        return;
    }
    if (!begin_items(slot, &batch->session->output)) {
        refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    slot->subject = subject;
    slot->state = STATE_UNDER_WAY;
    result = slot->command.verb->start(handle, &slot->command, &slot->answer, batch->pipeline,
                                       number);
    if (result != MCDS_OK) {
        finish(slot, result);
        return;
    }
    subject_begin(subject, &slot->command);
    if (slot->busy != NULL)
        ++*slot->busy;
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
    if (batch->next - batch->first == SLOTS) {
        while (slot_at(batch, batch->first)->state == STATE_UNDER_WAY && collect(batch)) {
        }
        print_ready(batch);
    }
    unsigned long number = batch->next;
    struct slot *slot = slot_at(batch, number);
    slot->line = batch->line;
    memset(&slot->command, 0, sizeof slot->command);
    memset(&slot->answer, 0, sizeof slot->answer);
    char sentence[80];
    (void)snprintf(sentence, sizeof sentence,
                   "the line is longer than %d bytes; nothing after it was read",
                   LINE_MAX_BYTES);
    if (kind == LINE_TOO_LONG)
        refuse(slot, STATUS_DATA, sentence);
    else if (!copy_line(slot, line, length))
        refuse(slot, STATUS_INTERNAL, "out of memory");
    else if (read_slot(slot, batch->session, length))
        start_slot(batch, slot, number);
    batch->next++;
}

/* Before a wait for input, all operations in flight are completed and printed, so that a program at
 * the other end of both pipes gets its answers. False: standard output is broken. */
static bool settle(struct batch *batch)
{
    collect_all(batch);
    return output_flush(&batch->session->output);
}

static void take_lines(struct batch *batch)
{
    for (;;) {
        char *line = NULL;
        size_t length = 0;
        enum line kind = lines_next(&batch->lines, &line, &length);
        if (kind == LINE_OVER)
            break;
        if (kind == LINE_NONE) {
            if (!lines_are_waiting() && !settle(batch))
                break;
            lines_read(&batch->lines);
        } else {
            take_line(batch, kind, line, length);
            /* Nobody gets the answers, or the line may have no end. */
            if (!output_is_fine(&batch->session->output) || kind == LINE_TOO_LONG)
                break;
        }
    }
    (void)settle(batch);
    if (batch->lines.error != 0) {
        char sentence[SENTENCE_MAX];
        (void)snprintf(sentence, sizeof sentence, "standard input cannot be read: %s",
                       strerror(batch->lines.error));
        report_failure(&batch->session->output, batch->session->command, STATUS_IO, "MCDS_IO",
                       sentence);
        note_status(batch, STATUS_IO);
    }
}

static int run_open(struct session *session, struct batch *batch)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    batch->session = session;
    batch->is_file = strncmp(session->uri, "lmdb:", 5) == 0;
    batch->has_one_server = strchr(session->uri, ',') == NULL;
    lines_open(&batch->lines, LINE_MAX_BYTES);
    batch->slots = calloc(SLOTS, sizeof *batch->slots);
    batch->subjects = subjects_new();
    if (batch->slots == NULL || batch->subjects == NULL ||
        mcds_pipeline_open(session->store, &options, &batch->pipeline) != MCDS_OK) {
        report_failure(&session->output, session->command, STATUS_INTERNAL, "MCDS_NO_MEMORY",
                       "batch: out of memory");
        return STATUS_INTERNAL;
    }
    take_lines(batch);
    if (batch->tally.doubtful_count > 0)
        tally_complain(&batch->tally, &session->output, 0);
    return tally_status(&batch->tally, batch->status);
}

static void free_slot(struct slot *slot)
{
    clear_answer(slot);
    free(slot->text);
}

int batch_run(struct session *session, const struct command *command)
{
    (void)command;
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL)
        return STATUS_INTERNAL;
    status = run_open(session, batch);
    mcds_pipeline_close(batch->pipeline);
    subjects_free(batch->subjects);
    for (size_t i = 0; batch->slots != NULL && i < SLOTS; i++)
        free_slot(&batch->slots[i]);
    free(batch->slots);
    lines_close(&batch->lines);
    free(batch);
    return status;
}
