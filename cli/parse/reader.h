/* Reader: the state of the parser of a command line, and the sentences of its errors. */
#ifndef MCDS_CLI_PARSE_READER_H
#define MCDS_CLI_PARSE_READER_H

#include "parse/options.h"

struct reader {
    const struct noun *nouns;
    char *const *next; /* the word to read */
    struct command *command;
    struct mistake *mistake;
    size_t argument_count;
    bool options_over; /* after -- */
    char subject[40];  /* "counter add", or "lock" */
};

/* Always false, so that a parser can return it. */
bool reader_wrong(struct reader *reader, const char *format, ...) MCDS_PRINTF(2, 3);
/* The same, with the usage of the verb. */
bool reader_wrong_usage(struct reader *reader, const char *what);
/* The subject of those sentences: the noun and the verb. */
const char *reader_subject(struct reader *reader);

/* The verb that the word after a whole command names, as in `lock acquire NAME`. NULL: the word
 * is the NAME, as in `lock acquire --info`. */
const struct verb *reader_verb_of_whole(const struct reader *reader);
/* Whether that word is a verb and a COMMAND follows, as in `lock acquire -n -- COMMAND`, which is a
 * mistake: the NAME was forgotten, or the verb is one too many. */
bool reader_runs_verb_of_whole(struct reader *reader);
/* Whether the NAME of a whole command resembles one of its verbs, as in `lock aquire NAME`: true with
 * the sentence. `option_id` is an option that the verb must have, or -1. */
bool reader_mistook_verb(struct reader *reader, int option_id);
/* Whether a -- follows, or an option that is used instead of a COMMAND. */
bool reader_has_way_ahead(const struct reader *reader);
/* Whether the word is --. */
bool is_end_of_options(const char *word);

/* Whether the words that were read are a whole command. */
bool reader_is_complete(struct reader *reader);

#endif
