/* A queue of beanstalkd, by its text protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peers/peers.h"

#define FILL_AT_ONCE 500
#define LINE_MAX_BYTES 64
#define REQUEST_MAX 256
#define TTR_S 3600

bool beanstalkd_open(struct beanstalkd *queue, const struct server *server)
{
    *queue = (struct beanstalkd){.fd = server_connect(server)};
    if (queue->fd < 0)
        return false;
    queue->in = fdopen(queue->fd, "r");
    if (queue->in == NULL)
        (void)close(queue->fd);
    return queue->in != NULL;
}

static bool send_all(const struct beanstalkd *queue, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = write(queue->fd, bytes, length);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Whether the next line begins with this word. */
static bool take_line(struct beanstalkd *queue, const char *word, char *line)
{
    return fgets(line, LINE_MAX_BYTES, queue->in) != NULL &&
           strncmp(line, word, strlen(word)) == 0;
}

static size_t write_put(char *out)
{
    return (size_t)sprintf(out, "put 0 0 %d %d\r\n%.*s\r\n", TTR_S, EVENT_LENGTH, EVENT_LENGTH,
                           event_bytes);
}

static bool put(struct beanstalkd *queue)
{
    char request[REQUEST_MAX];
    char line[LINE_MAX_BYTES];
    return send_all(queue, request, write_put(request)) && take_line(queue, "INSERTED", line);
}

bool beanstalkd_fill(struct beanstalkd *queue, uint32_t jobs)
{
    static char requests[FILL_AT_ONCE * REQUEST_MAX];
    char line[LINE_MAX_BYTES];
    while (jobs > 0) {
        uint32_t part = jobs < FILL_AT_ONCE ? jobs : FILL_AT_ONCE;
        size_t length = 0;
        for (uint32_t i = 0; i < part; i++)
            length += write_put(requests + length);
        if (!send_all(queue, requests, length))
            return false;
        for (uint32_t i = 0; i < part; i++)
            if (!take_line(queue, "INSERTED", line))
                return false;
        jobs -= part;
    }
    return true;
}

/* "RESERVED id length", and the job. */
static bool take_reserved(struct beanstalkd *queue)
{
    char line[LINE_MAX_BYTES];
    char job[EVENT_LENGTH + 2];
    char *end;
    if (!take_line(queue, "RESERVED ", line))
        return false;
    queue->held = strtoull(line + sizeof "RESERVED", &end, 10);
    return strtoul(end, NULL, 10) == EVENT_LENGTH &&
           fread(job, 1, sizeof job, queue->in) == sizeof job;
}

/* Delete the job that is held and reserve one, in one round trip. */
static bool take_next(struct beanstalkd *queue)
{
    char request[REQUEST_MAX];
    char line[LINE_MAX_BYTES];
    size_t length = 0;
    if (queue->held != 0)
        length = (size_t)sprintf(request, "delete %llu\r\n", (unsigned long long)queue->held);
    length += (size_t)sprintf(request + length, "reserve-with-timeout 10\r\n");
    return send_all(queue, request, length) &&
           (queue->held == 0 || take_line(queue, "DELETED", line)) && take_reserved(queue);
}

bool beanstalkd_run(void *state, uint64_t operations)
{
    struct beanstalkd *queue = state;
    for (uint64_t i = 0; i < operations; i++)
        if (!put(queue) || !take_next(queue))
            return false;
    return true;
}

void beanstalkd_close(struct beanstalkd *queue)
{
    char request[REQUEST_MAX];
    char line[LINE_MAX_BYTES];
    if (queue->held != 0 &&
        send_all(queue, request,
                 (size_t)sprintf(request, "delete %llu\r\n", (unsigned long long)queue->held)))
        (void)take_line(queue, "DELETED", line);
    (void)fclose(queue->in);
}
