/* What was found in a log besides numbers, as it stands in the store. */
#ifndef WEBLOG_FINDS_H
#define WEBLOG_FINDS_H

#include <stdint.h>

#include "names.h"
#include "sheet.h"
#include "top.h"

#define FINDS_ERRORS 5
#define FINDS_ERROR_MAX 200

struct finds {
    struct names hosts; /* sorted, each with its requests */
    uint64_t referrers;
    uint64_t logged; /* lines in the error log */
    struct top largest;
    struct text errors[FINDS_ERRORS]; /* the newest, newest first, into the bytes below */
    uint32_t error_count;
    char error_bytes[FINDS_ERRORS][FINDS_ERROR_MAX];
};

/* Returns an mcds_result; finds_free() is needed even after a failure. */
int finds_read(struct finds *finds, struct sheet *sheet);
void finds_free(struct finds *finds);

#endif
