/* A raw loop, the least work that any client can do: it writes bytes and reads until the
 * replies are there. */
#include "raw.h"

#include <sys/types.h>
#include <unistd.h>

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);
        if (put <= 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

static bool read_feeds(int fd, uint32_t feeds)
{
    uint8_t bytes[65536];
    uint32_t seen = 0;
    while (seen < feeds) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got <= 0)
            return false;
        for (ssize_t i = 0; i < got; i++)
            seen += bytes[i] == '\n';
    }
    return true;
}

bool raw_add(void *state, uint64_t operations)
{
    const struct raw *raw = state;
    for (uint64_t i = 0; i < operations; i += raw->depth)
        if (!write_all(raw->fd, raw->requests, raw->length) || !read_feeds(raw->fd, raw->feeds))
            return false;
    return true;
}
