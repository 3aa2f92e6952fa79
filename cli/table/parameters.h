/* The arguments of the verbs of the table. Each list is ended by NULL. */
#ifndef MCDS_CLI_TABLE_PARAMETERS_H
#define MCDS_CLI_TABLE_PARAMETERS_H

#include "table/command.h"

extern const struct parameter *const takes_nothing[];
extern const struct parameter *const takes_name[];
extern const struct parameter *const takes_names[];
extern const struct parameter *const takes_dropped_names[];
extern const struct parameter *const takes_delta[];
extern const struct parameter *const takes_visitor[];
extern const struct parameter *const takes_maybe_visitor[];
extern const struct parameter *const takes_element[];
extern const struct parameter *const takes_elements[];
extern const struct parameter *const takes_key[];
extern const struct parameter *const takes_one_key[];
extern const struct parameter *const takes_maybe_key[];
extern const struct parameter *const takes_keys[];
extern const struct parameter *const takes_entries[];
extern const struct parameter *const takes_key_delta[];
extern const struct parameter *const takes_values[];
extern const struct parameter *const takes_identity[];
extern const struct parameter *const takes_maybe_identity[];
extern const struct parameter *const takes_tokens[];
extern const struct parameter *const takes_permits[];
extern const struct parameter *const takes_work[];
extern const struct parameter *const takes_jobs[];
extern const struct parameter *const takes_receipt[];
extern const struct parameter *const takes_dead_job[];
extern const struct parameter *const takes_array[];
extern const struct parameter *const takes_page[];
extern const struct parameter *const takes_page_count[];
extern const struct parameter *const takes_events[];
extern const struct parameter *const takes_pattern[];
extern const struct parameter *const takes_shell[];
extern const struct parameter *const takes_file[];
extern const struct parameter *const takes_dumped_names[];
extern const struct parameter *const takes_dump_file[];
extern const struct parameter *const takes_topic[];

#endif
