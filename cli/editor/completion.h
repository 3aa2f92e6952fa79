/* Completion: the words that a line may continue with. */
#ifndef MCDS_CLI_EDITOR_COMPLETION_H
#define MCDS_CLI_EDITOR_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#define COMPLETIONS_MAX 256

struct completion {
    size_t begin;       /* the index of the word that is completed */
    size_t word_length; /* of what was typed of it, without quotes */
    size_t count;
    bool is_cut; /* there are more */
    char *words[COMPLETIONS_MAX];
};

/* Adds a copy of the word if it begins with `typed` and is new. Returns whether there may be more. */
bool completion_add(struct completion *completion, const char *typed, const char *word);
void completion_free(struct completion *completion);

/* The text for the place of the word, quoted as the shell reads it: the only word and a blank, or what all
 * words begin with; with that, a quote may be open. NULL when it is no longer than what was typed, or when
 * there is no memory. The caller frees it. */
char *completion_text(const struct completion *completion);

#endif
