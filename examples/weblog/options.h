/* The command line of weblog. */
#ifndef WEBLOG_OPTIONS_H
#define WEBLOG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define EXIT_USAGE 64

struct options {
    const char *store; /* NULL: the default */
    const char *ns;    /* or NULL */
    const char *name;  /* NULL: a run of its own */
    uint32_t workers;
    const char *database; /* or NULL */
    bool json;
    bool follow;
    bool help;
    const char *const *paths;
    uint32_t path_count;
};

/* False: the usage is wrong, a sentence is on stderr. */
bool options_parse(int argc, char **argv, struct options *options);
void options_help(void);

#endif
