/* What came of a command: a line, an object, a sentence. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "exit.h"
#include "nouns.h"

#define SENTENCE_MAX 1024

static void print_head(struct output *output, const struct command *command)
{
    output_begin(output);
    if (command->noun == NULL)
        return;
    output_text(output, "noun", command->noun->word, HIDDEN);
    if (command->verb != NULL && command->verb->word[0] != '\0')
        output_text(output, "verb", command->verb->word, HIDDEN);
    if (command->arguments[0] != NULL)
        output_name(output, "name", command->arguments[0], HIDDEN);
}

void report_failure(struct output *output, const struct command *command, int status,
                    const char *name, const char *sentence)
{
    bool is_an_answer = status == STATUS_NO || status == STATUS_BUSY;
    if (!output->quiet || !is_an_answer)
        complain(output, "%s", sentence);
    if (output->json) {
        print_head(output, command);
        output_text(output, "error", sentence, HIDDEN);
        output_text(output, "result", name, HIDDEN);
        output_number(output, "exit", status, HIDDEN);
        output_end(output);
    } else if (output->line > 0) {
        output_begin(output);
        output_text(output, "", "-", SHOWN);
        output_end(output);
    }
}

static void compose(char sentence[SENTENCE_MAX], const struct command *command,
                    const union answer *answer, int result, const char *message)
{
    const char *what = result == MCDS_NOT_FOUND ? command->noun->missing
                                                : mcds_strerror(result);
    int length = result < 0
                     ? snprintf(sentence, SENTENCE_MAX, "%s%s", message, advice_on(result))
                     : snprintf(sentence, SENTENCE_MAX, "%s '%.200s': %s", command->noun->word,
                                command->arguments[0], what);
    if (result == MCDS_AMBIGUOUS && command->verb->start == counter_take && length > 0 &&
        length < SENTENCE_MAX)
        (void)snprintf(sentence + length, SENTENCE_MAX - (size_t)length,
                       "; %" PRId64 " may have been taken", answer->number);
}

int report(struct output *output, const struct command *command, const union answer *answer,
           int result, const char *message)
{
    if (result == MCDS_OK || result == MCDS_EXISTS) {
        print_head(output, command);
        command->verb->print(output, command, answer, result);
        output_end(output);
        return STATUS_DONE;
    }
    char sentence[SENTENCE_MAX];
    compose(sentence, command, answer, result, message);
    report_failure(output, command, status_of(result), mcds_result_name(result), sentence);
    return status_of(result);
}
