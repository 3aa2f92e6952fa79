/* Rows: each flaw of the article as two programs on new worlds. `article` shows that the
 * article's algorithm fails as the row says. `ours` runs the same timeline on the structure of
 * mcds, and shows that it is correct or returns the documented code. */
#ifndef MCDS_EVIDENCE_ARTICLE_ROWS_H
#define MCDS_EVIDENCE_ARTICLE_ROWS_H

#include "article/article.h"
#include "article/handles.h"
#include "article/simulated.h"

struct row {
    const char *name; /* the row's id, then what happens */
    const char *flaw;
    const char *cure; /* of ours; for a row without a test: why there is none */
    bool (*article)(struct world *world);
    bool (*ours)(struct world *world);
};
/* A row whose parts are NAME_article and NAME_ours. */
#define ROW(name, flaw, cure)                                                                  \
    {                                                                                          \
#name, flaw, cure, name##_article, name##_ours                                         \
    }
/* A row that is no test, and why. */
#define NO_TEST(name, flaw, reason)                                                            \
    {                                                                                          \
#name, flaw, reason, NULL, NULL                                                        \
    }

struct rows {
    const char *structure;
    const char *title;
    const struct row *at;
    size_t count;
};
#define ROWS(structure, title, array)                                                          \
    {                                                                                          \
        structure, title, array, sizeof array / sizeof array[0]                                \
    }

extern const struct rows shared_rows;
extern const struct rows wire_rows;
extern const struct rows lock_rows;
extern const struct rows counter_rows;
extern const struct rows visitors_rows;
extern const struct rows online_rows;
extern const struct rows views_rows;
extern const struct rows log_rows;
extern const struct rows array1_rows;
extern const struct rows array2_rows;
extern const struct rows table_rows;

/* Says where and returns false. */
bool row_is_not_so(const char *file, int line, const char *what);
bool row_answers(const char *file, int line, const char *what, int expected, int answer);

/* What this part needs is not installed; returns true. */
bool row_is_skipped(const char *why);

/* Leave the row with false unless it is so. */
#define SHOW(condition)                                                                        \
    do {                                                                                       \
        if (!(condition))                                                                      \
            return row_is_not_so(__FILE__, __LINE__, #condition);                              \
    } while (0)
/* Leave the row with false unless the call answers this mcds_result. */
#define ANSWERS(expected, call)                                                                \
    do {                                                                                       \
        if (!row_answers(__FILE__, __LINE__, #call, expected, call))                           \
            return false;                                                                      \
    } while (0)

#endif
