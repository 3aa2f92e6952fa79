/* A way station that writes down what goes through. One connection at a time. */
#include "recorder.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = send(fd, bytes, length, MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* Pass on what has come, and write it down. */
static bool pass(struct recorder *recorder, int from, int to, bool is_request)
{
    uint8_t bytes[16384];
    ssize_t got = read(from, bytes, sizeof bytes);
    if (got <= 0)
        return false;
    (void)pthread_mutex_lock(&recorder->mutex);
    if (is_request && recorder->length + (size_t)got <= RECORDING_MAX) {
        memcpy(recorder->requests + recorder->length, bytes, (size_t)got);
        recorder->length += (size_t)got;
    }
    for (ssize_t i = 0; i < got && !is_request; i++)
        recorder->feeds += bytes[i] == '\n';
    (void)pthread_mutex_unlock(&recorder->mutex);
    return write_all(to, bytes, (size_t)got);
}

/* False: it is time to end. */
static bool serve(struct recorder *recorder, int client, int server)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = recorder->stop[0], .events = POLLIN},
                               {.fd = client, .events = POLLIN},
                               {.fd = server, .events = POLLIN}};
        if (poll(fds, 3, -1) < 0 || fds[0].revents != 0)
            return false;
        if (fds[2].revents != 0 && !pass(recorder, server, client, false))
            return true;
        if (fds[1].revents != 0 && !pass(recorder, client, server, true))
            return true;
    }
}

static void *live(void *context)
{
    struct recorder *recorder = context;
    bool going_on = true;
    while (going_on) {
        struct pollfd fds[] = {{.fd = recorder->stop[0], .events = POLLIN},
                               {.fd = recorder->listener, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 || fds[0].revents != 0)
            break;
        int client = accept(recorder->listener, NULL, NULL);
        int server = server_connect(recorder->target);
        if (client >= 0 && server >= 0)
            going_on = serve(recorder, client, server);
        if (client >= 0)
            (void)close(client);
        if (server >= 0)
            (void)close(server);
    }
    return NULL;
}

bool recorder_start(struct recorder *recorder, const char *place, const struct server *target)
{
    memset(recorder, 0, sizeof *recorder);
    recorder->target = target;
    (void)snprintf(recorder->path, sizeof recorder->path, "%.100s/record.sock", place);
    (void)unlink(recorder->path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.100s", recorder->path);
    recorder->requests = malloc(RECORDING_MAX);
    recorder->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return recorder->requests != NULL && recorder->listener >= 0 &&
           bind(recorder->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(recorder->listener, 4) == 0 && pipe(recorder->stop) == 0 &&
           pthread_mutex_init(&recorder->mutex, NULL) == 0 &&
           pthread_create(&recorder->thread, NULL, live, recorder) == 0;
}

void recorder_begin(struct recorder *recorder)
{
    (void)pthread_mutex_lock(&recorder->mutex);
    recorder->length = 0;
    recorder->feeds = 0;
    (void)pthread_mutex_unlock(&recorder->mutex);
}

uint8_t *recorder_end(struct recorder *recorder, size_t *length_out, uint32_t *feeds_out)
{
    (void)pthread_mutex_lock(&recorder->mutex);
    uint8_t *copy = malloc(recorder->length + 1);
    if (copy != NULL)
        memcpy(copy, recorder->requests, recorder->length);
    *length_out = recorder->length;
    *feeds_out = recorder->feeds;
    (void)pthread_mutex_unlock(&recorder->mutex);
    return copy;
}

void recorder_stop(struct recorder *recorder)
{
    (void)close(recorder->stop[1]);
    (void)pthread_join(recorder->thread, NULL);
    (void)close(recorder->stop[0]);
    (void)close(recorder->listener);
    (void)unlink(recorder->path);
    (void)pthread_mutex_destroy(&recorder->mutex);
    free(recorder->requests);
}
