/* The verb drop, the same for each noun. */
#ifndef MCDS_CLI_TABLE_DROP_H
#define MCDS_CLI_TABLE_DROP_H

#include "table/nouns.h"
#include "table/parameters.h"

#define DROP                                                                                   \
    .word = "drop", .erases = true, .arguments = takes_name, .overlap = OVERLAP_NEVER,         \
    .print = print_dropped, .done = "dropped"

#endif
