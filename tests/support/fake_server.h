/* A server that follows a script, to do what a real server never does. */
#ifndef MCDS_TESTS_SUPPORT_FAKE_SERVER_H
#define MCDS_TESTS_SUPPORT_FAKE_SERVER_H

enum fake_verb {
    FAKE_END = 0,
    FAKE_ACCEPT, /* the next connection */
    FAKE_EXPECT, /* read until `text` has come */
    FAKE_SEND,   /* `text`, all at once, in which O#1 is the opaque of the first meta request
                    after the probe, up to O#9, and O@ that of the connection before */
    FAKE_DRIP,   /* `text`, byte by byte */
    FAKE_REPEAT, /* `text` for each request, until the other side hangs up */
    FAKE_QUIET,  /* nothing more may have come, nor come within a moment */
    FAKE_CLOSE,  /* hang up */
    FAKE_STALL,  /* say nothing until the other side hangs up */
    FAKE_DEAF,   /* read nothing until the other side hangs up */
    FAKE_PROBED  /* be accepted, and answer as memcached 1.6.18 does to the probe */
};

struct fake_step {
    enum fake_verb verb;
    const char *text;
};

struct fake_server;

/* Listen on a unix socket in a folder of its own and follow the steps up to FAKE_END. */
struct fake_server *fake_server_start(const struct fake_step *steps);
/* The URI of the server. */
const char *fake_server_uri(const struct fake_server *server);
/* Wait for the end of the script. Returns the number of the step that failed, or -1. */
int fake_server_stop(struct fake_server *server);

#endif
