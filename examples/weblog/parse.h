/* One line of an access log in the Common or Combined format:
 *
 *   HOST IDENT USER [dd/Mon/yyyy:hh:mm:ss +hhmm] "METHOD TARGET[ PROTOCOL]" STATUS SIZE[ ...]
 *
 * Fields are parted by exactly one space. Inside the quotes a backslash takes the next byte
 * with it, as Apache writes them, so \" does not end the request. STATUS has three digits, SIZE
 * is digits or `-`. A quoted field after SIZE and a space is the referrer; what else follows is
 * ignored, and so is a CR at the end. */
#ifndef WEBLOG_PARSE_H
#define WEBLOG_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Longer lines are malformed. Web servers cut requests at some 8 KiB. */
#define PARSE_LINE_MAX ((size_t)1 << 20)

struct text {
    const char *at;
    size_t length;
};

struct entry {
    struct text host;
    struct text page;     /* the target as logged, escapes and all */
    int64_t at_ms;        /* Unix time, at least 1 */
    int status;           /* 0..999 */
    uint64_t size;        /* bytes sent; - is 0, and so is what has more than 64 bits */
    struct text referrer; /* as logged; empty where there is none: absent, "" or "-" */
};

/* Take apart a line without its line feed. Returns NULL with *entry filled (pointing into the
 * line), or else a constant phrase that says why the line is malformed. */
const char *parse_line(const char *line, size_t length, struct entry *entry);

#endif
