/* The common part of arrays, lists, tables and logs. Each call adds or removes one element that
 * no other player uses; a reader sees each element as often as it exists. */
#ifndef MCDS_EVIDENCE_DUEL_ELEMENTS_H
#define MCDS_EVIDENCE_DUEL_ELEMENTS_H

#include "duel/match.h"

#define OBJECTS_MAX 64
#define ELEMENT_CAPACITY 16

/* What a reader has met. */
struct tally {
    const struct match *match;
    bool ordered; /* look at the order too; only when the match is over */
    uint32_t counts[PLAYERS][CALLS_MAX];
    uint32_t next[PLAYERS]; /* no smaller number comes first after the last one */
    uint64_t foreign;       /* nobody's element, or with another's value */
    uint64_t disorder;      /* of what one player was told is there, in its order */
};

/* How one side does it. The handle is of the object and what open_handle returned; NULL without
 * it. */
struct elements {
    uint32_t objects; /* by turns of four calls; at most OBJECTS_MAX */
    bool removes;     /* every fourth call removes what the second before it has added */
    bool ordered;
    void *(*open_handle)(struct player *player, const char *name);
    void (*close_handle)(void *handle);
    enum told (*add)(struct player *player, void *handle, const char *name,
                     const char *element);
    enum told (*remove)(struct player *player, void *handle, const char *name,
                        const char *element);
    enum told (*read)(struct player *player, void *handle, const char *name,
                      struct tally *tally);
    /* Whether one element is there, asked for by its name. NULL: there is no such question. */
    enum told (*has)(struct player *player, void *handle, const char *name, const char *element,
                     bool *has_out);
};

void tally_note(struct tally *tally, const void *element, size_t length);

/* The parts of a side whose `parts` are elements. */
#define ELEMENTS_SIDE(elements)                                                                \
    .parts = &(elements), .open = elements_open, .call = elements_call,                        \
    .close = elements_close, .judge = elements_judge
bool elements_open(struct player *player);
void elements_close(struct player *player);
enum told elements_call(struct player *player, uint32_t number);
void elements_judge(struct player *referee, struct score *score);

#endif
