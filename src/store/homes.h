/* The homes that the library knows by URI scheme. */
#ifndef MCDS_STORE_HOMES_H
#define MCDS_STORE_HOMES_H

#include "mcds_store.h"

extern const mcds_home mcds__home_memory;
extern const mcds_home mcds__home_lmdb;
extern const mcds_home mcds__home_memcached;

#endif
