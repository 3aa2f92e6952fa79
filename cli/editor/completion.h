/* Completion: the words that may come next in a line. */
#ifndef MCDS_CLI_EDITOR_COMPLETION_H
#define MCDS_CLI_EDITOR_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#define COMPLETIONS_MAX 256

struct completion {
    size_t begin;       /* the index of the word that is completed */
    size_t word_length; /* the length of its typed part, without quotes */
    size_t count;
    bool is_cut; /* there are more */
    char *words[COMPLETIONS_MAX];
};

/* Adds a copy of the word if it begins with `typed` and is new. False: there is no room or memory
 * for it, and no further word can be added. */
bool completion_add(struct completion *completion, const char *typed, const char *word);
void completion_free(struct completion *completion);

/* The text that replaces the typed word, quoted as the shell reads it. If there is only one word,
 * it is this word and a blank. Otherwise it is the longest beginning of all words, and its last
 * quote may be missing. NULL: it is not longer than what was typed, or there is no memory. The
 * caller frees it. */
char *completion_text(const struct completion *completion);

#endif
