/* Parses SCHEME:PLACE?OPTION=VALUE&... */
#ifndef MCDS_STORE_URI_H
#define MCDS_STORE_URI_H

#include "mcds/backend.h"

#define MCDS__URI_MAX 4096
#define MCDS__URI_OPTIONS_MAX 16
#define MCDS__URI_SCHEMES "memory:, lmdb: or memcached://"

struct mcds_uri {
    char text[MCDS__URI_MAX]; /* split into C strings, to which the members point */
    const char *scheme;
    const char *place; /* after "scheme:" or "scheme://", percent-decoded */
    struct {
        const char *name;
        const char *value;
    } options[MCDS__URI_OPTIONS_MAX];
    uint32_t option_count;
};

/* Returns MCDS_OK or MCDS_INVALID with the sentence set. */
int mcds__uri_parse(const char *text, struct mcds_uri *uri);

/* The option as a number in [min, max], or `fallback` if it is absent. False, with the sentence
 * set: it is not such a number. */
bool mcds__uri_number(const struct mcds_uri *uri, const char *name, uint64_t min, uint64_t max,
                      uint64_t fallback, uint64_t *out);

/* The option as the index of one of `words` (ends with NULL), or 0 if it is absent. False, with the
 * sentence set: it is none of them; `allowed` lists them there. */
bool mcds__uri_word(const struct mcds_uri *uri, const char *name, const char *const *words,
                    const char *allowed, uint32_t *index_out);

/* Whether every option is in `known` (ends with NULL) or common to all backends. False: the
 * sentence names the first that is not. */
bool mcds__uri_knows(const struct mcds_uri *uri, const char *const *known);

#endif
