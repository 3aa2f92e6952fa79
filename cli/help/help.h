/* Help texts, made from the table. */
#ifndef MCDS_CLI_HELP_HELP_H
#define MCDS_CLI_HELP_HELP_H

#include "table/command.h"

/* Explains all of `nouns` (noun NULL), a noun (verb NULL) or a verb. */
void explain(const struct noun *nouns, const struct noun *noun, const struct verb *verb);

#endif
