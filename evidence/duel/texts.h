/* The article's lists as stored: texts, each followed by a semicolon. */
#ifndef MCDS_EVIDENCE_DUEL_TEXTS_H
#define MCDS_EVIDENCE_DUEL_TEXTS_H

#include <string.h>

#include "duel/elements.h"

static inline void tally_texts(struct tally *tally, const struct text *list)
{
    const char *at = list->at;
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, ";");
        tally_note(tally, at, length);
        at += length + (at[length] == ';');
    }
}

/* A key that is not there is an empty list. */
static inline enum told read_texts(struct memcache *mc, const char *key, struct tally *tally)
{
    struct text list = {NULL, 0, 0};
    enum answer answer = memcache_get(mc, key, &list);
    if (answer == DONE)
        tally_texts(tally, &list);
    text_free(&list);
    return told_by_answer(answer == KEY_ERROR ? DONE : answer);
}

#endif
