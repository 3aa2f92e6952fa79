/* Bytes that a call leaves with its caller. */
#ifndef MCDS_BASE_VALUE_H
#define MCDS_BASE_VALUE_H

#include "mcds.h"

/* Put these bytes in place of what was there. False: no memory; the value is as it was. */
bool mcds__value_set(mcds_value *value, const mcds_env *env, mcds_bytes bytes);

#endif
