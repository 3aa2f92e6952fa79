/* mcds_value: bytes that a call returns to its caller. */
#ifndef MCDS_BASE_VALUE_H
#define MCDS_BASE_VALUE_H

#include "mcds.h"

/* Replace the contents by these bytes. False: no memory; the value is unchanged. */
bool mcds__value_set(mcds_value *value, const mcds_env *env, mcds_bytes bytes);

#endif
