/* A ledger of numbered changes for every structure and form: what each change answered, and
 * which of them exist. Full and forgetful stores are judged by it. */
#ifndef MCDS_TESTS_FIELD_LEDGER_H
#define MCDS_TESTS_FIELD_LEDGER_H

#include "mcds.h"

#define LEDGER_MAX 3000
/* The sum of so many estimated visitors may be off by this. */
#define LEDGER_ESTIMATE_SLACK(sum) ((sum) / 8 + 3)

struct subject;

struct ledger {
    const struct subject *subject;
    mcds_store *store;
    mcds_pipeline *pipeline; /* NULL: each change is waited for */
    uint32_t count;          /* of changes so far */
    int results[LEDGER_MAX];
    uint32_t seen[LEDGER_MAX]; /* how often each is there, as read last */
    uint64_t sum;              /* of all, where the subject counts only that */
    char sentence[400];        /* of the last change that was in doubt or failed oddly */
    uint32_t foreign;          /* read, and never written */
    bool is_absent;            /* it, or one of several, does not exist, as read last */
    bool is_lost;              /* something was told to be gone, as read last */
    /* Of the subject. */
    void *handle;
    void *handles[LEDGER_MAX]; /* one for each change or for some */
    mcds_lease leases[LEDGER_MAX];
    int64_t saved[LEDGER_MAX]; /* views in the database */
    int64_t now_ms;
    mcds_log_cursor cursor;
};

enum subject_kind {
    SUBJECT_EACH,     /* each change is known by its number */
    SUBJECT_PARTS,    /* the same; what is in may not count for want of room, and is in doubt */
    SUBJECT_SUM,      /* only how many there are is known */
    SUBJECT_ESTIMATE, /* roughly */
};

struct subject {
    const char *name;
    enum subject_kind kind;
    int (*open)(struct ledger *ledger);
    /* Make change `number`, or start it in the ledger's pipeline with the number as its tag. */
    int (*write)(struct ledger *ledger, uint32_t number);
    /* Find what is there. MCDS_LOST and MCDS_NOT_FOUND of single objects are not failures. */
    int (*read)(struct ledger *ledger);
    int (*drop)(struct ledger *ledger);
    void (*close)(struct ledger *ledger);
};

extern const struct subject ledger_subjects[];
extern const unsigned ledger_subject_count;

/* Room for a fresh ledger; ends the program when there is none. */
struct ledger *ledger_open(const struct subject *subject, mcds_store *store, bool is_piped);
/* Make `changes` more, at most as many as find room. */
void ledger_write(struct ledger *ledger, uint32_t changes);
/* How many of the changes from `first` on have this result. */
uint32_t ledger_count(const struct ledger *ledger, uint32_t first, int result);
/* As the subject reads; what was found before is forgotten. */
int ledger_read(struct ledger *ledger);
/* The same through handles of its own. */
int ledger_read_afresh(struct ledger *ledger);
/* The number of the first change that is not as it must be, and why; LEDGER_MAX: all are.
 * is_whole: what was acknowledged must be there. */
uint32_t ledger_judge(const struct ledger *ledger, bool is_whole, const char **why_out);
void ledger_close(struct ledger *ledger);

#endif
