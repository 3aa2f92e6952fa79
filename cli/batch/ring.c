/* Ring: commands in flight; the oldest is printed as soon as it and all before it are done. */
#include "batch/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/open_handles.h"
#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "parse/options.h"
#include "run/busy.h"
#include "signals/interrupt.h"

#define SLOTS 1024 /* a power of two */
#define DEPTH 512
/* How long no command is sent to a server after it was unreachable, or to a file after another
 * process had it. */
#define PAUSE_NS INT64_C(1000000000)

struct ring {
    struct session *session;
    mcds_pipeline *pipeline;
    struct subjects *subjects;
    struct slot *slots;
    unsigned long first; /* slot numbers only grow; their low bits are the index in the ring */
    unsigned long next;
    int status; /* the first of 64 or more, else 1 if a command answered no */
    struct tally tally;
    struct busy busy;
    bool is_file;
    bool has_one_server;
    int64_t
        again_ns; /* with one server: when it may be asked again, after it was unreachable */
};

static struct slot *slot_at(struct ring *ring, unsigned long number)
{
    return &ring->slots[number % SLOTS];
}

void ring_note_status(struct ring *ring, int status)
{
    if (status != STATUS_DONE && ring->status <= STATUS_NO)
        ring->status = status;
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

static void print_slot(struct ring *ring, struct slot *slot)
{
    struct output *output = &ring->session->output;
    output->line = slot->line;
    int status = slot->result;
    if (slot->state == STATE_DONE)
        status = report(output, &slot->command, &slot->answer, slot->result, slot->sentence);
    else
        report_failure(output, &slot->command, status, slot->refusal, slot->sentence);
    if (status <= STATUS_NO)
        ring->tally.done++;
    else
        tally_failed(&ring->tally, slot->line, 1,
                     slot->state == STATE_DONE ? slot->result : MCDS_INVALID);
    output->line = 0;
    ring_note_status(ring, status);
    clear_answer(slot);
}

/* Prints the slots that are done, up to the first that is not. */
static void print_ready(struct ring *ring)
{
    while (ring->first != ring->next) {
        struct slot *slot = slot_at(ring, ring->first);
        if (slot->state == STATE_UNDER_WAY)
            return;
        print_slot(ring, slot);
        ring->first++;
    }
}

static void keep_sentence(struct slot *slot, const char *sentence)
{
    (void)snprintf(slot->sentence, sizeof slot->sentence, "%s", sentence);
}

void slot_refuse(struct slot *slot, int status, const char *sentence)
{
    slot->state = STATE_REFUSED;
    slot->result = status;
    slot->refusal = status == STATUS_UNREACHABLE ? "MCDS_UNAVAILABLE"
                    : status == STATUS_NO        ? "MCDS_NOT_FOUND"
                                                 : "MCDS_INVALID";
    keep_sentence(slot, sentence);
}

/* Whether the store was unreachable a moment ago. Each operation would wait for its whole timeout
 * again, one after the other on one name. */
static bool is_given_up(const struct ring *ring, const struct subject *subject,
                        struct slot *slot)
{
    int64_t again_ns = ring->has_one_server ? ring->again_ns : subject_paused_until_ns(subject);
    if (again_ns == 0 || clock_ns() >= again_ns)
        return false;
    char sentence[SENTENCE_MAX];
    size_t length = write_element(sentence, &slot->command);
    (void)snprintf(sentence + length, sizeof sentence - length,
                   "%s '%.200s': not tried: %s less than a second ago",
                   slot->command.noun->word, slot->command.arguments[0],
                   ring->is_file ? "another process had the file"
                                 : "its server was unreachable");
    slot_refuse(slot, STATUS_UNREACHABLE, sentence);
    return true;
}

/* Where a verb that is_many prints: all in one line, in memory. False: out of memory. */
static bool begin_items(struct slot *slot, const struct output *output)
{
    slot->answer.items = &slot->items;
    if (!slot->command.verb->is_many)
        return true;
    slot->items = (struct output){
        .json = output->json, .ascii = output->ascii, .in_one_line = true};
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
        slot_refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    slot->state = STATE_DONE;
    slot->result = result == MCDS_NOT_FOUND && slot->may_be_gone ? MCDS_OK : result;
    if (result < 0)
        explain_failure(slot->sentence, sizeof slot->sentence, &slot->command, &slot->answer);
}

/* Records whether the server of a subject, or the file, was reached. */
static void note_reach(struct ring *ring, struct subject *subject, int result)
{
    bool is_out = result == MCDS_UNAVAILABLE || (ring->is_file && result == MCDS_TIMEOUT);
    ring->again_ns = is_out ? clock_ns() + PAUSE_NS : 0;
    subject_pause(subject, ring->again_ns);
}

static int open_pipeline(struct ring *ring)
{
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    return mcds_pipeline_open(ring->session->store, &options, &ring->pipeline);
}

/* Waits for one operation to end. False when none is in flight. */
static bool collect(struct ring *ring)
{
    mcds_completion done;
    if (mcds_pipeline_next(ring->pipeline, &done) != MCDS_OK)
        return false;
    struct slot *slot = slot_at(ring, (unsigned long)done.tag);
    if (slot->busy != NULL)
        --*slot->busy;
    finish(slot, done.result);
    note_reach(ring, slot->subject, done.result);
    subject_end(slot->subject, done.result);
    return true;
}

/* Whether the command may begin before the operations in flight have ended. */
static bool is_free_for(struct ring *ring, const struct subject *subject, struct slot *slot)
{
    bool is_apart = slot->command.verb->overlap == OVERLAP_APART &&
                    slot->command.bytes[1].length > 0;
    slot->busy = is_apart ? busy_place(&ring->busy, &slot->command) : NULL;
    return subject_is_free_for(subject, &slot->command) &&
           (slot->busy == NULL || *slot->busy == 0);
}

/* The lines before have seen an empty store in the place of the default one. False: refused. */
static bool find_store(struct ring *ring, struct slot *slot)
{
    struct session *session = ring->session;
    char sentence[SENTENCE_MAX];
    while (collect(ring)) {
    }
    int status = session_find_store(session, &slot->command, sentence, sizeof sentence);
    if (status != STATUS_DONE)
        slot_refuse(slot, status, sentence);
    if (status != STATUS_DONE || session->is_absent)
        return status == STATUS_DONE;
    struct subjects *fresh = subjects_new();
    mcds_pipeline_close(ring->pipeline);
    ring->pipeline = NULL;
    if (fresh != NULL && open_pipeline(ring) == MCDS_OK) {
        subjects_free(ring->subjects);
        ring->subjects = fresh;
        return true;
    }
    subjects_free(fresh);
    session->is_absent = true; /* the next line tries again */
    slot_refuse(slot, STATUS_INTERNAL, "out of memory");
    return false;
}

void ring_start(struct ring *ring, struct slot *slot)
{
    if (ring->session->is_absent && !find_store(ring, slot))
        return;
    struct subject *subject = subjects_find(ring->subjects, &slot->command);
    while (subject == NULL && collect(ring))
        subject = subjects_find(ring->subjects, &slot->command);
    if (subject == NULL) {
        slot_refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    /* While the opening waits for a server that is down, the deadlines of operations in flight
     * would pass. */
    while ((!is_free_for(ring, subject, slot) || subject_must_read(subject, &slot->command)) &&
           collect(ring)) {
    }
    if (is_given_up(ring, subject, slot))
        return;
    void *handle = NULL;
    int result = subject_open(subject, ring->session->store, &slot->command, &handle);
    if (result != MCDS_OK) {
        note_reach(ring, subject, result);
        finish(slot, result);
        return;
    }
    if (!begin_items(slot, &ring->session->output)) {
        slot_refuse(slot, STATUS_INTERNAL, "out of memory");
        return;
    }
    slot->subject = subject;
    result = slot->command.verb->start(handle, &slot->command, &slot->answer, ring->pipeline,
                                       (uint64_t)(slot - ring->slots));
    if (result != MCDS_OK) {
        finish(slot, result);
        return;
    }
    subject_begin(subject, &slot->command);
    if (slot->busy != NULL)
        ++*slot->busy;
}

struct slot *ring_next(struct ring *ring)
{
    if (ring->next - ring->first == SLOTS) {
        while (slot_at(ring, ring->first)->state == STATE_UNDER_WAY && collect(ring)) {
        }
        print_ready(ring);
    }
    struct slot *slot = slot_at(ring, ring->next++);
    memset(&slot->command, 0, sizeof slot->command);
    memset(&slot->answer, 0, sizeof slot->answer);
    slot->line = 0;
    slot->may_be_gone = false;
    slot->state = STATE_UNDER_WAY;
    return slot;
}

bool ring_settle(struct ring *ring)
{
    while (collect(ring)) {
    }
    print_ready(ring);
    return output_flush(&ring->session->output);
}

int ring_status(const struct ring *ring)
{
    return tally_status(&ring->tally, ring->status);
}

int ring_end(struct ring *ring, const char *what, const char *untried)
{
    (void)ring_settle(ring);
    int number = interrupt_number();
    if (number == 0)
        return ring_status(ring);
    tally_complain_operations(&ring->tally, &ring->session->output, what, untried);
    return tally_status(&ring->tally, STATUS_SIGNAL + number);
}

const struct tally *ring_tally(const struct ring *ring)
{
    return &ring->tally;
}

int ring_open(struct session *session, struct ring **ring_out)
{
    int status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    struct ring *ring = calloc(1, sizeof *ring);
    *ring_out = ring;
    if (ring != NULL) {
        ring->session = session;
        ring->is_file = strncmp(session->uri, "lmdb:", 5) == 0;
        ring->has_one_server = strchr(session->uri, ',') == NULL;
        ring->slots = calloc(SLOTS, sizeof *ring->slots);
        ring->subjects = subjects_new();
    }
    if (ring == NULL || ring->slots == NULL || ring->subjects == NULL ||
        open_pipeline(ring) != MCDS_OK) {
        report_failure(&session->output, session->command, STATUS_INTERNAL, "MCDS_NO_MEMORY",
                       "out of memory");
        return STATUS_INTERNAL;
    }
    return STATUS_DONE;
}

static void free_slot(struct slot *slot)
{
    clear_answer(slot);
    free(slot->text);
}

void ring_close(struct ring *ring)
{
    if (ring == NULL)
        return;
    mcds_pipeline_close(ring->pipeline);
    subjects_free(ring->subjects);
    for (size_t i = 0; ring->slots != NULL && i < SLOTS; i++)
        free_slot(&ring->slots[i]);
    free(ring->slots);
    free(ring);
}
