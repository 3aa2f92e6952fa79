/* Our structures, opened for a row and closed with its world. NULL: refused. */
#ifndef MCDS_TESTS_ARTICLE_HANDLES_H
#define MCDS_TESTS_ARTICLE_HANDLES_H

#include "article/world.h"

mcds_lock *open_lock(struct actor *actor, const char *name, uint32_t lease_ms);

#endif
