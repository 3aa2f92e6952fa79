/* The table of rows in docs/article.md, printed from the rows so that both agree. Each function
 * returns an exit status. */
#ifndef MCDS_EVIDENCE_ARTICLE_DOCUMENT_H
#define MCDS_EVIDENCE_ARTICLE_DOCUMENT_H

#include <stddef.h>

struct rows;

int document_print(const struct rows *const *rows, size_t count);
int document_check(const struct rows *const *rows, size_t count, const char *path);
int document_rewrite(const struct rows *const *rows, size_t count, const char *path);

#endif
