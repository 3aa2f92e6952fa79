/* Prints the result of a command: a line, an object, a sentence. */
#include "io/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "child/program.h"
#include "io/exit.h"
#include "io/failure.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

#define INTERPRETER_MAX 200
#define SHOWN_MAX 200 /* bytes of a key in a sentence */

static void print_head(struct output *output, const struct command *command)
{
    output_begin(output);
    if (command->noun == NULL)
        return;
    if (command->noun->word[0] != '\0')
        output_text(output, "noun", command->noun->word, HIDDEN);
    if (command->verb != NULL && command->verb->word[0] != '\0')
        output_text(output, "verb", command->verb->word, HIDDEN);
    if (command->arguments[0] != NULL)
        output_name(output, "name", command->arguments[0],
                    output->columns != NULL && command->is_of_several ? SHOWN : HIDDEN);
}

/* The element of which a sentence or object is, where several were typed; "" for a name. */
static mcds_bytes element_of(const struct command *command)
{
    return command->is_of_several ? command->bytes[1] : mcds_text("");
}

size_t write_element(char sentence[SENTENCE_MAX], const struct command *command)
{
    mcds_bytes element = element_of(command);
    int length = element.length < SHOWN_MAX ? (int)element.length : SHOWN_MAX;
    sentence[0] = '\0';
    if (length == 0)
        return 0;
    return (size_t)snprintf(sentence, SENTENCE_MAX, "'%.*s': ", length,
                            (const char *)element.data);
}

/* The key, element, page or other part of NAME that a failure is about, as its successes print it:
 * with the placeholder as the key. A forget without a KEY is about its tag. */
static void print_part_of(struct output *output, const struct command *command)
{
    char key[16] = "";
    if (command->noun == NULL || command->noun->open == NULL || command->verb == NULL)
        return; /* not of a structure */
    const struct parameter *part = command->verb->arguments[1];
    if (command->verb->start == cache_forget && command->element_count > 0)
        output_bytes(output, "tag", command->elements[0], HIDDEN);
    if (part == NULL || (part->kind != KIND_NAME && !command->is_of_several) ||
        command->bytes[1].length == 0)
        return;
    for (size_t i = 0; part->placeholder[i] != '\0' && i + 1 < sizeof key; i++)
        key[i] = (char)(part->placeholder[i] | ('a' ^ 'A'));
    output_bytes(output, key, command->bytes[1], HIDDEN);
}

void report_failure(struct output *output, const struct command *command, int status,
                    const char *name, const char *sentence)
{
    bool is_an_answer = status == STATUS_NO || status == STATUS_BUSY;
    if (!output->quiet || !is_an_answer)
        complain(output, "%s", sentence);
    if (output->json) {
        print_head(output, command);
        print_part_of(output, command);
        char shown[4 * SENTENCE_MAX + 1];
        (void)make_visible(sentence, false, shown);
        output_text(output, "error", shown, HIDDEN);
        output_text(output, "result", name, HIDDEN);
        output_number(output, "exit", status, HIDDEN);
        output_end(output);
    } else if (output->line > 0 || command->is_of_several) {
        output_begin(output);
        output_text(output, "", "-", SHOWN);
        output_end(output);
    }
}

int report_not_run(struct output *output, const struct command *command, int reason)
{
    char sentence[SENTENCE_MAX];
    char interpreter[INTERPRETER_MAX];
    bool is_short = is_shortage(reason);
    if (find_program(command->program[0], interpreter, sizeof interpreter) != reason)
        interpreter[0] = '\0';
    bool is_script = interpreter[0] != '\0';
    int status = is_short                         ? STATUS_INTERNAL
                 : reason == ENOENT && !is_script ? STATUS_NOT_FOUND
                                                  : STATUS_CANNOT_RUN;
    (void)snprintf(sentence, sizeof sentence, "%s '%.200s': %s%.200s cannot be run: %s%s%s%s%s",
                   command->noun->word, command->arguments[0],
                   command->program[0][0] == '\0' ? "the empty COMMAND" : "",
                   command->program[0], is_script ? "its interpreter " : "", interpreter,
                   is_script ? ": " : "", strerror(reason), advice_on_errno(reason));
    report_failure(output, command, status, is_short ? "MCDS_NO_MEMORY" : "MCDS_IO", sentence);
    return status;
}

int check_program(struct output *output, const struct command *command)
{
    int reason = find_program(command->program[0], NULL, 0);
    return reason == 0 ? STATUS_DONE : report_not_run(output, command, reason);
}

/* Prints the change that may have been made, and the remedy. */
static void add_doubt(char sentence[SENTENCE_MAX], const struct command *command,
                      const struct answer *answer)
{
    const char *done = command->verb->done != NULL ? command->verb->done : "applied";
    if (is_given(command, OPTION_DROP)) /* of a lock */
        done = "dropped";
    if (is_given(command, OPTION_FORGET)) /* of once */
        done = "forgotten";
    char what[24] = "it";
    if (command->verb->start == counter_take)
        (void)snprintf(what, sizeof what, "%" PRId64, answer->number);
    size_t end = strlen(sentence);
    (void)snprintf(sentence + end, SENTENCE_MAX - end,
                   "; %s may have been %s, or may still be: check before you repeat it", what,
                   done);
}

/* Of a positive result. */
static const char *saying_of(const struct command *command, int result)
{
    bool drops_lock = is_given(command, OPTION_DROP);
    if (result == MCDS_NOT_FOUND && is_given(command, OPTION_YES) &&
        command->arguments[0][0] == '~')
        return "there is none; if ls lists it, it is the hash of a name of more than 100 "
               "bytes: "
               "drop it with the drop of its noun and the whole name";
    if (result == MCDS_NOT_FOUND && command->verb->run == queue_next)
        return "no job is due";
    if (result == MCDS_NOT_FOUND && command->arguments[1] != NULL &&
        command->noun->open == queue_open)
        return "no dead job has this ID";
    if (result == MCDS_NOT_FOUND)
        return drops_lock ? "there is none" : command->noun->missing;
    if (result == MCDS_BUSY && drops_lock)
        return "it is held; drop it after its holder has released it, or --break it first";
    if (result == MCDS_BUSY && command->verb->start == once_look)
        return "its claim has not ended yet; settle it then, or --forget it first";
    if (result == MCDS_EXISTS && command->verb->start == once_look)
        return "it has a result, which stays; --forget it first";
    if (result == MCDS_BUSY && command->verb->start == semaphore_drop)
        return "a permit is held; drop it after its holders have released it";
    return mcds_strerror(result);
}

/* Whether a call has this result because a signal has ended the wait for the server. */
static bool is_given_up(int result)
{
    return interrupt_number() != 0 && is_unanswered(result);
}

/* A call that is not in doubt has changed nothing. */
static void write_given_up(char sentence[SENTENCE_MAX], const struct command *command,
                           const struct answer *answer, int result)
{
    const char *done = command->verb->done;
    size_t length = write_element(sentence, command);
    length += (size_t)snprintf(sentence + length, SENTENCE_MAX - length,
                               "%s '%.200s': given up", command->noun->word,
                               command->arguments[0]);
    if (result == MCDS_AMBIGUOUS)
        add_doubt(sentence, command, answer);
    else if (done != NULL && !is_given(command, OPTION_INFO))
        (void)snprintf(sentence + length, SENTENCE_MAX - length, "; nothing was %s", done);
}

void write_sentence(char sentence[SENTENCE_MAX], const struct command *command,
                    const struct answer *answer, int result, const char *message)
{
    const char *noun = command->noun->word;
    const char *name = command->arguments[0];
    const struct verb *verb = command->verb;
    mcds_bytes key = command->bytes[1];
    int length = key.length < SHOWN_MAX ? (int)key.length : SHOWN_MAX;
    bool is_of_key = length > 0 && verb->arguments[1]->kind == KIND_NAME;
    const char *refused = is_given(command, OPTION_IF_ABSENT) ? "has a value" : verb->refused;
    if (is_given_up(result)) {
        write_given_up(sentence, command, answer, result);
        return;
    }
    if (result < 0) {
        size_t named = write_element(sentence, command);
        if (message != NULL)
            (void)snprintf(sentence + named, SENTENCE_MAX - named, "%s", message);
        else
            explain_failure(sentence + named, SENTENCE_MAX - named, command, answer);
    } else if (result == MCDS_NOT_FOUND && is_of_key) {
        (void)snprintf(sentence, SENTENCE_MAX, "%s '%.200s' has no '%.*s'", noun, name, length,
                       (const char *)key.data);
    } else if (result == MCDS_EXISTS && verb->refused != NULL && is_of_key) {
        (void)snprintf(sentence, SENTENCE_MAX, "%s '%.200s': '%.*s' %s", noun, name, length,
                       (const char *)key.data, refused);
    } else {
        char refusal[CLOCKS_CAPACITY];
        size_t named = write_element(sentence, command);
        (void)snprintf(sentence + named, SENTENCE_MAX - named, "%s '%.200s': %s", noun, name,
                       describe_clocks(refusal, result) ? refusal : saying_of(command, result));
    }
    if (result == MCDS_AMBIGUOUS)
        add_doubt(sentence, command, answer);
}

/* Whether a rate has refused a take, which is an answer. */
static bool is_limited(const struct command *command, const struct answer *answer, int result)
{
    return result == MCDS_BUSY && command->verb->start == limit_take && answer != NULL &&
           answer->limit.retry_ms > 0;
}

/* Whether the time that the user gave is refused. If no time was given, a clock is wrong. */
static bool is_time_refused(const struct command *command, int result)
{
    return (result == MCDS_TOO_OLD || result == MCDS_TOO_FUTURE) &&
           (is_given(command, OPTION_AT) || is_given(command, OPTION_TIMED));
}

int status_of_command(const struct command *command, int result)
{
    bool is_refused = result == MCDS_EXISTS && command->verb->refused != NULL;
    return is_refused                         ? STATUS_NO
           : is_time_refused(command, result) ? STATUS_DATA
                                              : status_of(result);
}

static void print_done(struct output *output, const struct command *command,
                       const struct answer *answer, int result)
{
    const struct verb *verb = command->verb;
    bool is_streamed = verb->is_many && answer->items == output;
    bool has_more = verb->has_more != NULL && verb->has_more(answer);
    if (is_streamed && (!has_more || !output_is_fine(output)))
        return;
    print_head(output, command);
    if (verb->is_many && !is_streamed)
        output_copy(output, "items", answer->gathered);
    if (verb->print != NULL)
        verb->print(output, command, answer, result);
    output_end(output);
}

/* Whether a part of the count is lost, and the value is the rest. */
static bool has_lost(const struct command *command, const struct answer *answer)
{
    const struct verb *verb = command->verb;
    if (verb->start == visitors_get)
        return answer->visitors.reborn;
    if (verb->start == online_count)
        return answer->online.reborn;
    return verb->start == counter_get && answer->counter.reborn;
}

/* Whether a call that has returned LOST has also counted what is left. */
static bool has_rest(const struct command *command, int result)
{
    const struct verb *verb = command->verb;
    return result == MCDS_LOST && (verb->start == queue_count || verb->run == queue_retry ||
                                   verb->run == queue_discard);
}

static int complain_of_loss(const struct output *output, const struct command *command)
{
    if (!output->json)
        complain(output, "%s '%.200s': a part of what was counted is lost; this is the rest",
                 command->noun->word, command->arguments[0]);
    return status_of(MCDS_LOST);
}

/* Whether an operation that succeeded has changed the store. */
static bool has_changed(const struct command *command, const struct answer *answer, int result)
{
    const struct verb *verb = command->verb;
    return verb->done != NULL && !is_given(command, OPTION_INFO) && result == MCDS_OK &&
           (verb->change == CHANGE_UNTOLD || answer->changed);
}

/* The value taken is no longer in the store, so it is printed before anything else is done. */
static void print_taken(struct output *output, const struct command *command,
                        const struct answer *answer)
{
    if (!output_pass_on(output))
        complain(output, "counter '%.200s': the value that was taken is %" PRId64,
                 command->arguments[0], answer->number);
}

void write_gaps(char sentence[SENTENCE_MAX], const struct command *command,
                const mcds_log_info *info)
{
    uint64_t places = info->gaps + info->corrupt;
    (void)snprintf(sentence, SENTENCE_MAX,
                   "%s '%.200s': %s: %.200s%sevents are missing in %" PRIu64 " place%s",
                   command->noun->word, command->arguments[0], command->verb->word,
                   info->peer != NULL ? info->peer : "", info->peer != NULL ? ": " : "", places,
                   places == 1 ? "" : "s");
}

int report(struct output *output, const struct command *command, const struct answer *answer,
           int result, const char *message)
{
    if (is_given_up(result))
        return report_given_up(output, command, answer, result, interrupt_number());
    char gaps[SENTENCE_MAX];
    if (command->verb->change == CHANGE_DEMANDED && result == MCDS_OK && !answer->changed)
        result = MCDS_NOT_FOUND;
    if (result == MCDS_OK && (answer->info.gaps > 0 || answer->info.corrupt > 0)) {
        write_gaps(gaps, command, &answer->info);
        message = gaps;
        result = MCDS_LOST;
    }
    if (is_limited(command, answer, result)) {
        print_done(output, command, answer, result);
        return STATUS_NO;
    }
    int status = status_of_command(command, result);
    if (has_rest(command, result)) {
        print_done(output, command, answer, result);
        if (output->json)
            return status;
    }
    if (status == STATUS_DONE) {
        output->changes += has_changed(command, answer, result) ? 1 : 0;
        print_done(output, command, answer, result);
        if (command->verb->start == counter_take)
            print_taken(output, command, answer);
        return has_lost(command, answer) ? complain_of_loss(output, command) : STATUS_DONE;
    }
    char sentence[SENTENCE_MAX];
    write_sentence(sentence, command, answer, result, message);
    report_failure(output, command, status, mcds_result_name(result), sentence);
    return status;
}

int report_given_up(struct output *output, const struct command *command,
                    const struct answer *answer, int result, int number)
{
    char sentence[SENTENCE_MAX];
    int status = result == MCDS_AMBIGUOUS ? STATUS_AMBIGUOUS : STATUS_SIGNAL + number;
    write_given_up(sentence, command, answer, result);
    report_failure(output, command, status, mcds_result_name(result), sentence);
    return status;
}

void report_done(struct output *output, const struct command *command, const char *done)
{
    if (!output->json)
        return;
    print_head(output, command);
    output_text(output, "done", done, HIDDEN);
    output_end(output);
}

void report_feed(struct output *output, const struct command *command, uint64_t read,
                 uint64_t changed, uint64_t doubtful)
{
    output->changes += changed;
    print_head(output, command);
    output_word(output, "done", command->verb->done);
    output_unsigned(output, "changed", changed, SHOWN);
    output_unsigned(output, "read", read, HIDDEN);
    if (doubtful > 0)
        output_unsigned(output, "in_doubt", doubtful, HIDDEN);
    output_end(output);
}
