/* The backends that the library knows by URI scheme. */
#include "store/backends.h"

#include <string.h>

static const mcds_backend *const backends[] = {&mcds__backend_memory, &mcds__backend_lmdb,
                                               &mcds__backend_memcached, NULL};

const mcds_backend *mcds__backend_of(const char *scheme)
{
    for (size_t i = 0; backends[i] != NULL; i++)
        if (strcmp(backends[i]->scheme, scheme) == 0)
            return backends[i];
    return NULL;
}
