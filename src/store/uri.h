/* SCHEME:PLACE?OPTION=VALUE&... taken apart. */
#ifndef MCDS_STORE_URI_H
#define MCDS_STORE_URI_H

#include "mcds_store.h"

#define MCDS__URI_MAX 4096
#define MCDS__URI_OPTIONS_MAX 16

struct mcds_uri {
    char text[MCDS__URI_MAX]; /* cut into C strings; the members point into it */
    const char *scheme;
    const char *place; /* behind "scheme:" or "scheme://", percent-decoded */
    struct {
        const char *name;
        const char *value;
    } options[MCDS__URI_OPTIONS_MAX];
    uint32_t option_count;
};

/* Returns MCDS_OK or MCDS_INVALID with the sentence set. */
int mcds__uri_parse(const char *text, struct mcds_uri *uri);

/* The option as a number within [min, max], or `fallback` when it is not given. False, with the
 * sentence set, when it is no such number. */
bool mcds__uri_number(const struct mcds_uri *uri, const char *name, uint64_t min, uint64_t max,
                      uint64_t fallback, uint64_t *out);

/* Whether every option is one of `known` (ended by NULL) or one that all homes have. False,
 * with the sentence set, names the first that is not. */
bool mcds__uri_knows(const struct mcds_uri *uri, const char *const *known);

#endif
