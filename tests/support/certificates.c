/* Certificates that a test makes for itself. */
#include "support/certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcds.h"
#include "support/server.h"

/* A build without TLS refuses the option. */
static bool library_has_tls(void)
{
    mcds_store *store = NULL;
    int result = mcds_open("memcached://localhost?tls=1", NULL, &store);
    if (result == MCDS_OK)
        mcds_close(store);
    return result == MCDS_OK || mcds_last_error()->cause != MCDS_CAUSE_UNSUPPORTED;
}

void certificates_show(struct certificates *certificates, const char *folder, const char *name)
{
    static char secure[] = "-Z";
    static char option[] = "-o";
    (void)snprintf(certificates->server, sizeof certificates->server,
                   "ssl_chain_cert=%s/%s.pem,ssl_key=%s/%s.pem", folder, name, folder, name);
    certificates->options[0] = secure;
    certificates->options[1] = option;
    certificates->options[2] = certificates->server;
    certificates->options[3] = NULL;
}

bool certificates_make(struct certificates *certificates, const char *folder,
                       const char **missing)
{
    char command[512];
    *missing = NULL;
    if (!library_has_tls())
        *missing = "this build of mcds has no TLS";
    else if (!server_is_installed("openssl"))
        *missing = "openssl is not installed";
    else if (!server_is_installed("memcached"))
        *missing = "memcached is not installed";
    else if (system("! memcached -h | grep -q enable-ssl") == 0) /* NOLINT: a fixed command */
        *missing = "this memcached has no TLS";
    (void)snprintf(command, sizeof command,
                   "'%s/support/certificates' '%s' </dev/null >'%s/made' 2>&1", MCDS_TESTS_DIR,
                   folder, folder);
    if (*missing != NULL || system(command) != 0) /* NOLINT: a script of this project */
        return false;
    (void)snprintf(certificates->ca, sizeof certificates->ca, "%s/ca.pem", folder);
    certificates_show(certificates, folder, "server");
    return true;
}
