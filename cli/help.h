/* Help from the table. */
#ifndef MCDS_CLI_HELP_H
#define MCDS_CLI_HELP_H

#include "command.h"

/* Explain everything (noun NULL), a noun (verb NULL) or a verb. */
void explain(const struct noun *noun, const struct verb *verb);

#endif
