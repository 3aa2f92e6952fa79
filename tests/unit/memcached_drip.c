/* A memcached server that sends an endless answer to a listing, byte by byte or line by line: the
 * listing ends. Virtual time: each piece takes some, and the next is sent when the client has read
 * it. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sockios.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"
#include "support/pass_over.h"

#define SHORT_MS 100  /* timeouts of a store: a listing waits so long for one line, */
#define LONG_MS 50000 /* whatever connect_timeout is, */
#define TIMEOUTS 1024 /* and so many times that in all */
#define PIECE_MS 50
#define SLACK 100       /* pieces that a busy client has read and not looked at */
#define PIECES_MAX 6000 /* far too many: the server hangs up */

struct dripper {
    struct fake_env fake;
    const char *piece;
    uint32_t pieces; /* sent */
    int listener;
    pthread_t thread;
    char path[sizeof "/tmp/mcds-drip-XXXXXX/socket"];
};

/* Wait until the client has read everything. False: it has hung up. */
static bool is_read(int connection)
{
    int unread = 1;
    while (ioctl(connection, SIOCOUTQ, &unread) == 0 && unread > 0) {
        struct pollfd polled = {connection, POLLRDHUP, 0};
        if (poll(&polled, 1, 1) > 0)
            return false;
    }
    return unread == 0;
}

static void drip(struct dripper *dripper, int connection)
{
    size_t length = strlen(dripper->piece);
    while (dripper->pieces < PIECES_MAX &&
           send(connection, dripper->piece, length, MSG_NOSIGNAL) == (ssize_t)length) {
        dripper->pieces++;
        if (!is_read(connection))
            return;
        dripper->fake.monotonic_ns += (int64_t)PIECE_MS * 1000000;
    }
}

static void *serve(void *context)
{
    struct dripper *dripper = context;
    int connection;
    while ((connection = accept(dripper->listener, NULL, NULL)) >= 0) {
        drip(dripper, connection);
        (void)close(connection);
    }
    return NULL;
}

static void dripper_start(struct dripper *dripper, const char *piece)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memset(dripper, 0, sizeof *dripper);
    fake_env_init(&dripper->fake, 1);
    dripper->piece = piece;
    memcpy(dripper->path, "/tmp/mcds-drip-XXXXXX", sizeof "/tmp/mcds-drip-XXXXXX");
    assert_non_null(mkdtemp(dripper->path));
    strcat(dripper->path, "/socket");
    memcpy(address.sun_path, dripper->path, sizeof dripper->path);
    dripper->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(dripper->listener >= 0);
    assert_int_equal(bind(dripper->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(dripper->listener, 8), 0);
    assert_int_equal(pthread_create(&dripper->thread, NULL, serve, dripper), 0);
}

static void dripper_stop(struct dripper *dripper)
{
    (void)shutdown(dripper->listener, SHUT_RDWR);
    assert_int_equal(pthread_join(dripper->thread, NULL), 0);
    (void)close(dripper->listener);
    (void)unlink(dripper->path);
    *strrchr(dripper->path, '/') = '\0';
    (void)rmdir(dripper->path);
}

/* Returns how many pieces the listing has waited for. */
static uint32_t list(const char *piece, int timeout_ms)
{
    struct dripper dripper;
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store;
    char uri[128];
    dripper_start(&dripper, piece);
    options.env = &dripper.fake.env;
    (void)snprintf(uri, sizeof uri, "memcached://%s?timeout=%d", dripper.path, timeout_ms);
    assert_int_equal(mcds_open(uri, &options, &store), MCDS_OK);
    assert_int_equal(mcds_scan(store, pass_listed, NULL), MCDS_UNAVAILABLE);
    assert_non_null(strstr(mcds_errmsg(), "no answer before the deadline"));
    mcds_close(store);
    dripper_stop(&dripper);
    return dripper.pieces;
}

static void a_line_without_end(void **state)
{
    (void)state;
    assert_in_range(list("E", SHORT_MS), 2, SHORT_MS / PIECE_MS + SLACK);
    assert_in_range(list("E", LONG_MS), LONG_MS / PIECE_MS / 2, LONG_MS / PIECE_MS + SLACK);
}

static void lines_without_end(void **state)
{
    (void)state;
    assert_in_range(list("key=of-another-program exp=-1 la=1 cas=1 fetch=no\r\n", SHORT_MS),
                    TIMEOUTS * SHORT_MS / PIECE_MS / 2, TIMEOUTS * SHORT_MS / PIECE_MS + SLACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_without_end),
        cmocka_unit_test(lines_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
