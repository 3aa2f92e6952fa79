/* mcds load: puts the contents of a dump into a store.
 *
 *   check: reader --> the whole file          nothing is changed before
 *   look:  reader --survey--> what exists     or a name exists
 *   fill:  reader --filler--> the store       the mark follows
 *   look:  reader --survey--> counters
 *   read:  the store --fetch-->     numbers of elements, from a store that evicts
 *
 * A load that is interrupted leaves its mark in the store. With --resume the next one drops the
 * structures that were begun and not finished, as nobody knows which of their elements arrived, and
 * continues with them. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/structure.h"
#include "io/exit.h"
#include "io/failure.h"
#include "load/dump_reader.h"
#include "load/filler.h"
#include "load/mark.h"
#include "load/read_back.h"
#include "load/source.h"
#include "load/survey.h"
#include "run/session.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

/* The mark is written before this many structures are begun, and after this many elements. */
#define MARK_STRUCTURES 64
#define MARK_ELEMENTS 100000
/* Many operations are in flight at once, and a disk is slow: without --timeout. */
#define TIMEOUT_MS 10000

struct load {
    struct session *session;
    const struct command *command;
    struct moved_clock clock; /* of the store */
    struct dump_reader reader;
    struct mark mark;
    struct filler *filler;
    struct progress progress;
    uint64_t finished;   /* structures below it are loaded already */
    uint64_t half_begun; /* structures below it may be half loaded by an earlier load */
    uint64_t since_mark; /* elements */
    /* The findings of a survey. */
    uint64_t found;
    struct named_structure first;
    uint64_t first_number;
    int status; /* of a failure whose sentence is printed, or STATUS_DONE */
};

static int refuse(struct load *load, int status, const char *result, const char *sentence)
{
    assert(status != STATUS_DONE);
    progress_end(&load->progress);
    report_failure(&load->session->output, load->command, status, result, sentence);
    return load->status = status;
}

static const char *result_of(int status)
{
    return status == STATUS_IO         ? "MCDS_IO"
           : status == STATUS_INTERNAL ? "MCDS_NO_MEMORY"
           : status == STATUS_PROTOCOL ? "MCDS_UNSUPPORTED"
                                       : "MCDS_CORRUPT";
}

static int refuse_bad(struct load *load)
{
    char sentence[SENTENCE_MAX + 80];
    const struct dump_reader *reader = &load->reader;
    bool has_begun = load->filler != NULL;
    (void)snprintf(sentence, sizeof sentence, "load: %s; %s", reader->sentence,
                   has_begun ? "the file has changed, and the load is not whole"
                             : "nothing was loaded");
    return refuse(load, reader->status, result_of(reader->status), sentence);
}

/* Prints this thread's last failure. */
static int refuse_failure(struct load *load, int result, const char *way_out)
{
    char said[FAILURE_CAPACITY];
    char sentence[SENTENCE_MAX];
    describe_failure(said, NULL);
    (void)snprintf(sentence, sizeof sentence, "load: %s%s%s", said, advice_on(result), way_out);
    return refuse(load, status_of(result), mcds_result_name(result), sentence);
}

static void note_found(struct load *load, uint64_t number, const struct command *structure)
{
    if (load->found++ > 0)
        return;
    structure_copy(&load->first, structure);
    load->first_number = number;
}

/* Of those that exist, notes the ones that a load may not touch. A finished one that the store has
 * lost is loaded again, with all after it. */
static bool see_existing(void *context, uint64_t number, const struct command *structure,
                         int result, bool is_other)
{
    struct load *load = context;
    struct mark *mark = &load->mark;
    (void)is_other;
    if (result == MCDS_NOT_FOUND && number < mark->finished)
        mark->finished = number;
    if (result == MCDS_OK && number >= mark->begun)
        note_found(load, number, structure);
    if (result == MCDS_OK || result == MCDS_NOT_FOUND)
        return true;
    (void)refuse_failure(load, result, "; nothing was loaded");
    return false;
}

static void refuse_existing(struct load *load)
{
    char sentence[SENTENCE_MAX];
    char others[48] = "";
    if (load->found > 1)
        (void)snprintf(others, sizeof others, " and %" PRIu64 " other%s", load->found - 1,
                       load->found > 2 ? "s" : "");
    (void)snprintf(
        sentence, sizeof sentence,
        "load: %s '%.200s'%s %s; nothing was loaded: --replace drops what exists, or choose "
        "another namespace (-N)",
        load->first.command.noun->word, load->first.name, others,
        load->found > 1 ? "exist" : "exists");
    (void)refuse(load, STATUS_NO, "MCDS_EXISTS", sentence);
}

/* So that two loads of one dump do not both fill its structures. */
static void refuse_begun(struct load *load)
{
    (void)refuse(load, STATUS_NO, "MCDS_EXISTS",
                 "load: a load of this dump has begun and not ended; if it is not running, "
                 "--resume continues it");
}

/* Whether nothing is in the way. */
static bool is_free(struct load *load)
{
    load->found = 0;
    if (!survey_run(&load->reader, load->session->store, false, see_existing, load)) {
        if (load->status == STATUS_DONE)
            (void)refuse_bad(load);
        return false;
    }
    if (load->found > 0 && !load->mark.replaces)
        refuse_existing(load);
    return load->status == STATUS_DONE;
}

/* Writes the mark. False: it is not written, and the sentence is printed. */
static bool put_mark(struct load *load, uint64_t finished, uint64_t begun)
{
    int result = mark_put(&load->mark, finished, begun);
    if (result == MCDS_EXISTS)
        refuse_begun(load);
    else if (result != MCDS_OK)
        (void)refuse_failure(load, result, "; 'mcds load --resume' continues the load");
    return result == MCDS_OK;
}

/* Another load of this dump may have begun since nothing was found in the way, and ended. */
static bool claim(struct load *load)
{
    if (!put_mark(load, 0, 0))
        return false;
    if (is_free(load))
        return true;
    (void)mark_drop(&load->mark);
    return false;
}

static bool look(struct load *load)
{
    bool is_resumed = is_given(load->command, OPTION_RESUME);
    bool is_replacing = is_given(load->command, OPTION_REPLACE);
    struct mark *mark = &load->mark;
    int result = mark_open(mark, load->session->store, load->reader.end_sum);
    if (result != MCDS_OK) {
        (void)refuse_failure(load, result, "; nothing was loaded");
        return false;
    }
    if (mark->is_there && !is_resumed && !is_replacing) {
        refuse_begun(load);
        return false;
    }
    if (!is_resumed || !mark->is_there) {
        mark->finished = mark->begun = 0;
        mark->replaces = false;
    }
    mark->replaces = mark->replaces || is_replacing;
    load->half_begun = mark->begun;
    if (!is_free(load) || (!mark->is_there && !mark->replaces && !claim(load)))
        return false;
    load->finished = mark->finished;
    return true;
}

/* Before a structure is begun, the mark must say that it may be. */
static bool follow_with_mark(struct load *load, uint64_t number)
{
    struct mark *mark = &load->mark;
    if (load->since_mark >= MARK_ELEMENTS && !filler_settle(load->filler))
        return false;
    if (number < mark->begun && load->since_mark < MARK_ELEMENTS)
        return true;
    load->since_mark = 0;
    uint64_t begun = number + MARK_STRUCTURES;
    return put_mark(load, filler_unfinished(load->filler, number),
                    begun > mark->begun ? begun : mark->begun);
}

static bool begin_structure(struct load *load)
{
    uint64_t number = load->reader.structures;
    bool drops = load->mark.replaces || number < load->half_begun;
    return follow_with_mark(load, number) &&
           filler_begin(load->filler, &load->reader, number, drops);
}

static int refuse_unfilled(struct load *load)
{
    char sentence[2 * SENTENCE_MAX];
    const struct failure *failure = filler_failure(load->filler);
    if (load->status != STATUS_DONE)
        return load->status;
    const char *doubt = failure->result == MCDS_AMBIGUOUS
                            ? "; it may have been put, or may still be"
                            : "";
    if (failure->result == MCDS_TOO_BIG)
        (void)snprintf(
            sentence, sizeof sentence,
            "load: %s; load into a store that takes it, or drop here what was loaded "
            "and the table '%s'",
            failure->sentence, load->mark.name);
    else
        (void)snprintf(
            sentence, sizeof sentence,
            "load: %s%s%s; 'mcds load --resume' loads this structure again and continues",
            failure->sentence, advice_on(failure->result), doubt);
    return refuse(load, status_of(failure->result), mcds_result_name(failure->result),
                  sentence);
}

static bool take_record(struct load *load, enum record record)
{
    /* At its sum a structure is counted already. */
    uint64_t number = load->reader.structures - (record == RECORD_SUM ? 1 : 0);
    if (number < load->finished)
        return true;
    switch (record) {
    case RECORD_STRUCTURE:
        return begin_structure(load);
    case RECORD_ELEMENT:
        load->since_mark++;
        progress_count(&load->progress, 1);
        return filler_add(load->filler, &load->reader.element);
    default:
        return filler_end(load->filler);
    }
}

/* Nothing is in flight. */
static int refuse_interrupted(struct load *load)
{
    return refuse(load, STATUS_SIGNAL + interrupt_number(), "MCDS_IO",
                  "load: ended by a signal; 'mcds load --resume' continues the load");
}

/* Puts everything that is not finished. */
static int fill(struct load *load)
{
    struct dump_reader *reader = &load->reader;
    dump_reader_rewind(reader);
    for (;;) {
        enum record record = dump_reader_next(reader);
        if (record == RECORD_BAD) {
            (void)filler_settle(load->filler);
            return refuse_bad(load);
        }
        if (record == RECORD_END)
            return filler_settle(load->filler) ? STATUS_DONE : refuse_unfilled(load);
        if (!take_record(load, record)) {
            (void)filler_settle(load->filler);
            return refuse_unfilled(load);
        }
        if (interrupt_number() != 0)
            return filler_settle(load->filler) ? refuse_interrupted(load)
                                               : refuse_unfilled(load);
    }
}

static bool see_counter(void *context, uint64_t number, const struct command *structure,
                        int result, bool is_other)
{
    struct load *load = context;
    if (result == MCDS_OK || result == MCDS_NOT_FOUND) {
        if (is_other)
            note_found(load, number, structure);
        return true;
    }
    (void)refuse_failure(load, result, "; 'mcds load --resume' continues the load");
    return false;
}

/* An addition of a load that was killed may have reached the server late. All other structures are
 * under new keys after they were dropped, so that it finds nothing. */
static int look_at_counters(struct load *load)
{
    char sentence[SENTENCE_MAX];
    load->found = 0;
    if (!survey_run(&load->reader, load->session->store, true, see_counter, load))
        return load->status != STATUS_DONE ? load->status : refuse_bad(load);
    if (load->found == 0)
        return STATUS_DONE;
    if (!put_mark(load, load->first_number, load->reader.structures))
        return load->status;
    (void)snprintf(
        sentence, sizeof sentence,
        "load: counter '%.200s' has another value than the dump: another program has "
        "changed it, or a request has arrived late; 'mcds load --resume' loads it and "
        "what follows it again",
        load->first.name);
    return refuse(load, STATUS_AMBIGUOUS, "MCDS_AMBIGUOUS", sentence);
}

/* A server without room has answered to all that was put, and evicted a part of it. */
static int look_for_evicted(struct load *load)
{
    char sentence[SENTENCE_MAX];
    struct dump_reader *reader = &load->reader;
    uint64_t there = 0;
    uint64_t all = reader->structures;
    if (!session_has_server(load->session))
        return STATUS_DONE;
    progress_end(&load->progress);
    progress_begin(&load->progress, "elements", "read back",
                   progress_is_wanted(load->session->output.quiet, false));
    load->progress.all = reader->elements;
    int result = read_back(reader, load->session->store, &load->progress, &there);
    if (interrupt_number() != 0)
        return refuse_interrupted(load);
    if (result == MCDS_OK)
        return STATUS_DONE;
    if (result == MCDS_CORRUPT && reader->sentence[0] != '\0')
        return refuse_bad(load);
    if (result != MCDS_LOST)
        return refuse_failure(load, result, "; 'mcds load --resume' continues the load");
    (void)snprintf(sentence, sizeof sentence,
                   "load: the store has %" PRIu64 " of %" PRIu64
                   " elements of %s '%.200s': the "
                   "servers have evicted some; give them more memory, and 'mcds load --resume' "
                   "loads it and what follows it again",
                   there, reader->here, reader->structure.noun->word, reader->name);
    return put_mark(load, reader->structures - 1, all)
               ? refuse(load, STATUS_LOST, "MCDS_LOST", sentence)
               : load->status;
}

static int finish(struct load *load)
{
    struct output *output = &load->session->output;
    int status = look_at_counters(load);
    if (status == STATUS_DONE)
        status = look_for_evicted(load);
    if (status != STATUS_DONE)
        return status;
    int result = mark_drop(&load->mark);
    if (result != MCDS_OK)
        return refuse_failure(load, result, "; all is loaded: drop this table");
    progress_end(&load->progress);
    output->changes += load->reader.structures;
    output_begin(output);
    output_text(output, "noun", "load", HIDDEN);
    output_word(output, "done", "loaded");
    output_unsigned(output, "structures", load->reader.structures, SHOWN);
    output_unsigned(output, "elements", load->reader.elements, SHOWN);
    output_unsigned(output, "omitted", load->reader.omitted, HIDDEN);
    output_unsigned(output, "expired", filler_expired(load->filler), HIDDEN);
    output_end(output);
    return STATUS_DONE;
}

/* Reads the file to its end before the store is opened, which may make its file. */
static int check(struct load *load)
{
    if (!survey_run(&load->reader, NULL, false, NULL, NULL))
        return refuse_bad(load);
    load->progress.all = load->reader.elements;
    if (load->session->options.timeout_ms == 0)
        load->session->options.timeout_ms = TIMEOUT_MS;
    moved_clock_open(&load->clock, load->session->options.env);
    load->session->options.env = &load->clock.env;
    return session_open_store(load->session);
}

static int load_file(struct load *load)
{
    int status = check(load);
    if (status != STATUS_DONE)
        return status;
    if (!look(load))
        return load->status;
    load->filler = filler_new(load->session->store, &load->clock);
    if (load->filler == NULL)
        return refuse(load, STATUS_INTERNAL, "MCDS_NO_MEMORY", "load: out of memory");
    status = fill(load);
    return status == STATUS_DONE ? finish(load) : status;
}

int load_run(struct session *session, const struct command *command)
{
    char sentence[SENTENCE_MAX] = "load: ";
    const char *path = command->arguments[0];
    struct load *load = calloc(1, sizeof *load);
    if (load == NULL)
        return STATUS_INTERNAL;
    load->session = session;
    load->command = command;
    interrupt_open();
    int fd = source_open(path, sentence + strlen(sentence), sizeof sentence - strlen(sentence));
    int status = STATUS_IO;
    if (fd < 0) {
        status = refuse(load, STATUS_IO, "MCDS_IO", sentence);
    } else if (!dump_reader_open(&load->reader, session->nouns, fd,
                                 strcmp(path, "-") == 0 ? "standard input" : path)) {
        status = refuse(load, STATUS_INTERNAL, "MCDS_NO_MEMORY", "load: out of memory");
    } else {
        load->reader.may_lose = is_given(command, OPTION_MAY_LOSE);
        progress_begin(&load->progress, "elements", "loaded",
                       progress_is_wanted(session->output.quiet, false));
        status = load_file(load);
        progress_end(&load->progress);
    }
    filler_free(load->filler);
    mark_close(&load->mark);
    dump_reader_close(&load->reader);
    if (fd >= 0)
        (void)close(fd);
    mcds_close(session->store); /* whose clock goes with this */
    session->store = NULL;
    session->options.env = NULL;
    free(load);
    return status;
}
