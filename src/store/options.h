/* Copies, completes and checks the options of a store. */
#ifndef MCDS_STORE_OPTIONS_H
#define MCDS_STORE_OPTIONS_H

#include "mcds/backend.h"

/* Copy the caller's options, whose struct may be of an older or newer version, and complete the
 * environment in *env. Returns MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__options_take(const mcds_options *given, mcds_options *options, mcds_env *env);
/* Replace each 0 by its default, and check all options. Returns MCDS_OK, or MCDS_INVALID with
 * the sentence set. */
int mcds__options_settle(mcds_options *options);

#endif
