/* The options of a store. */
#ifndef MCDS_STORE_OPTIONS_H
#define MCDS_STORE_OPTIONS_H

#include "mcds_store.h"

/* Copy a caller's options, which may be older or newer, with a complete environment in *env. Returns
 * MCDS_OK, or MCDS_INVALID with the sentence set. */
int mcds__options_take(const mcds_options *given, mcds_options *options, mcds_env *env);
/* Replace what is 0 by its default, and check all. Returns MCDS_OK, or MCDS_INVALID with the sentence
 * set. */
int mcds__options_settle(mcds_options *options);

#endif
