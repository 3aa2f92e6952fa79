/* The commands whose noun is the whole command. Each list is ended by a verb without a word. */
#ifndef MCDS_CLI_TABLE_WHOLE_COMMANDS_H
#define MCDS_CLI_TABLE_WHOLE_COMMANDS_H

#include "table/command.h"

extern const struct verb batch_verbs[];
extern const struct verb shell_verbs[];
extern const struct verb ls_verbs[];
extern const struct verb rm_verbs[];
extern const struct verb watch_verbs[];
extern const struct verb top_verbs[];
extern const struct verb backup_verbs[];
extern const struct verb dump_verbs[];
extern const struct verb load_verbs[];
extern const struct verb doctor_verbs[];
extern const struct verb help_verbs[];
extern const struct verb completion_verbs[];

#endif
