/* Meter: how far a dump or a load is, on a terminal. */
#ifndef MCDS_CLI_DUMP_METER_H
#define MCDS_CLI_DUMP_METER_H

#include <stdbool.h>
#include <stdint.h>

struct meter {
    const char *done; /* participle: "dumped" */
    bool is_shown;    /* on a terminal */
    bool has_shown;
    uint64_t elements;
    uint64_t all; /* how many there will be; 0: not known */
    int64_t began_ns;
    int64_t shown_ns;
};

/* Shows nothing before a second has passed, and nothing where standard error is no terminal. */
void meter_begin(struct meter *meter, const char *done, bool is_quiet);
/* So many more elements are done. */
void meter_count(struct meter *meter, uint64_t elements);
/* Erases what is shown. */
void meter_end(struct meter *meter);

#endif
