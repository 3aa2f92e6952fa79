/* A play in which servers forget: they are killed and restart empty, are flushed, evict items,
 * or pause for long. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "chaos/servers.h"

#define URI_OPTIONS "timeout=300&connect_timeout=100&connections=2"
#define FAULT_PPM 8000
#define PACE_US 4000
#define REST_US_MAX 40000
#define HALT_US_MIN 100000
#define HALT_US_MAX 2000000

/* Few classes of sizes, a page of 1 MB for each, and evicted is what has been written longest ago:
 * so that what is in use is evicted too. */
static char *const options[] = {"-m", "2", "-f", "2", "-o", "no_modern", NULL};
#define CLASSES 7
#define CLASS_FIRST 96U
#define FILL_BYTES 131072
/* What an item takes besides its value here, at least; a class is twice as large as the one before. */
#define ITEM_BYTES 90U

static struct chaos_servers at;

static bool rest(struct chaos *chaos)
{
    chaos_sleep_us(chaos_roll(chaos, REST_US_MAX));
    return true;
}

static bool kill_and_return(struct chaos *chaos, struct chaos_servers *servers)
{
    (void)rest(chaos);
    struct server *server = &servers->servers[chaos_roll(chaos, CHAOS_SERVERS)];
    int64_t from_ns = chaos_now_ns(NULL);
    server_kill(server);
    history_lose(&servers->losses, LINEAR_LOSS, from_ns, chaos_now_ns(NULL));
    return server_restart(server) && rest(chaos);
}

/* None comes back before all are gone, so nothing is lost twice. */
static bool kill_all(struct chaos *chaos, struct chaos_servers *servers)
{
    bool fine = rest(chaos);
    int64_t from_ns = chaos_now_ns(NULL);
    for (int i = 0; i < CHAOS_SERVERS; i++)
        server_kill(&servers->servers[i]);
    history_lose(&servers->losses, LINEAR_LOSS, from_ns, chaos_now_ns(NULL));
    for (int i = 0; i < CHAOS_SERVERS && fine; i++)
        fine = server_restart(&servers->servers[i]);
    return fine && rest(chaos);
}

/* Values of one class of sizes under names that do not come again soon. */
static bool fill_class(struct chaos *chaos, int fd, unsigned class)
{
    static char value[(CLASS_FIRST << CLASSES) + 1];
    unsigned length = class > 0 ? (CLASS_FIRST << class) - ITEM_BYTES : 1;
    memset(value, 'x', length);
    value[length] = '\0';
    FILE *out = fdopen(dup(fd), "w");
    if (out == NULL)
        return false;
    for (unsigned bytes = 0; bytes < FILL_BYTES; bytes += CLASS_FIRST << class)
        (void)fprintf(out, "set filler:%u:%u 0 0 %u noreply\r\n%s\r\n", class,
                      (unsigned)chaos_roll(chaos, 1 << 20), length, value);
    return fclose(out) == 0;
}

/* Have all servers evict; whatever they hold may go, and often. */
static bool press(struct chaos *chaos, struct chaos_servers *servers)
{
    static const char last[] = "version\r\n";
    char reply[8];
    bool fine = true;
    if (servers->losses.count == 0)
        history_lose(&servers->losses, LINEAR_LOSSES, chaos_now_ns(NULL), INT64_MAX);
    for (int i = 0; i < CHAOS_SERVERS && fine; i++) {
        int fd = server_connect(&servers->servers[i]);
        fine = fd >= 0;
        for (unsigned class = 0; class < CLASSES && fine; class ++)
            fine = fill_class(chaos, fd, class);
        fine = fine && send(fd, last, strlen(last), MSG_NOSIGNAL) == (ssize_t)strlen(last) &&
               recv(fd, reply, sizeof reply, 0) > 0;
        if (fd >= 0)
            (void)close(fd);
    }
    return fine;
}

static bool flush_one(struct chaos *chaos, struct chaos_servers *servers)
{
    static const char command[] = "flush_all\r\n";
    char reply[8] = "";
    (void)rest(chaos);
    const struct server *server = &servers->servers[chaos_roll(chaos, CHAOS_SERVERS)];
    int fd = server_connect(server);
    int64_t from_ns = chaos_now_ns(NULL);
    bool fine = fd >= 0 &&
                send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command) &&
                recv(fd, reply, 4, MSG_WAITALL) == 4 && strcmp(reply, "OK\r\n") == 0;
    history_lose(&servers->losses, LINEAR_LOSS, from_ns, chaos_now_ns(NULL));
    if (fd >= 0)
        (void)close(fd);
    return fine && rest(chaos);
}

static bool halt_long(struct chaos *chaos, struct chaos_servers *servers)
{
    (void)rest(chaos);
    return chaos_servers_halt(chaos, servers,
                              HALT_US_MIN + chaos_roll(chaos, HALT_US_MAX - HALT_US_MIN));
}

static const struct chaos_trouble troubles[] = {
    {"killed", 0, kill_and_return, 2, true},
    {"killed, faults", RELAY_ALL_FAULTS, kill_and_return, 2, true},
    {"all killed", 0, kill_all, 1, false},
    {"flushed", 0, flush_one, 3, true},
    {"short of memory", 0, press, 100, true},
    {"halted long", 0, halt_long, 1, false},
};

#define TROUBLES (sizeof troubles / sizeof troubles[0])

static bool open_place(struct chaos *chaos)
{
    chaos_servers_expect(chaos, troubles, TROUBLES);
    at.fault_ppm = FAULT_PPM;
    at.pace_us = PACE_US;
    return chaos_servers_start(chaos, &at, options) && chaos_servers_open(&at, URI_OPTIONS);
}

static bool play_round(struct chaos *chaos)
{
    return chaos_servers_round(chaos, &at, &troubles[chaos_roll(chaos, TROUBLES)], true);
}

static void close_place(struct chaos *chaos)
{
    (void)chaos;
    chaos_servers_close(&at);
}

const struct chaos_place chaos_losses = {
    "losses", {"memcached", NULL}, open_place, play_round, close_place};
