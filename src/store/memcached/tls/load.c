/* OpenSSL, loaded when it is first needed. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "store/memcached/tls/functions.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
/* It brings libcrypto with it. */
#define SSL_LIBRARY "libssl.so." TEXT(OPENSSL_SHLIB_VERSION)

#define FUNCTION(name) {#name, offsetof(struct mcds__openssl, name)},
static const struct {
    const char *name;
    size_t offset;
} functions[] = {MCDS__OPENSSL_FUNCTIONS(FUNCTION)};

struct mcds__openssl mcds__openssl;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static char load_trouble[256]; /* empty: it is loaded */

/* The library stays loaded until the process ends: it registers functions for the end of threads. */
static void load_openssl(void)
{
    void *library = dlopen(SSL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *trouble = library == NULL ? dlerror() : NULL;
    for (size_t i = 0; trouble == NULL && i < sizeof functions / sizeof functions[0]; i++) {
        void *address = dlsym(library, functions[i].name);
        if (address == NULL)
            trouble = functions[i].name;
        assert(functions[i].offset + sizeof address <= sizeof mcds__openssl);
        memcpy((char *)&mcds__openssl + functions[i].offset, &address, sizeof address);
    }
    if (trouble != NULL)
        (void)snprintf(load_trouble, sizeof load_trouble, "%s", trouble);
    assert((trouble == NULL) == (load_trouble[0] == '\0'));
}

int mcds__openssl_load(void)
{
    (void)pthread_once(&load_once, load_openssl);
    if (load_trouble[0] == '\0')
        return MCDS_OK;
    return mcds__fail_saying(
        MCDS__ERROR(MCDS_INVALID, UNSUPPORTED, .noun = "store", .option = "tls", .found = "1",
                    .wanted = "tls=0"),
        "tls=1 needs OpenSSL 3, which cannot be loaded (%s): install " SSL_LIBRARY
        ", or leave out tls=1 and use a tunnel",
        load_trouble);
}
