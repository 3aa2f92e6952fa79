/* The view counter: incr, and the number from the database when there is nothing to increment.
 * Nothing is mended. */
#include <inttypes.h>
#include <stdio.h>

#include "article/article.h"

enum answer article_view(struct memcache *mc, const char *key,
                         uint64_t (*database)(void *context), void *context,
                         uint64_t *value_out)
{
    enum answer answer = memcache_incr(mc, key, 1, value_out);
    if (answer != KEY_ERROR)
        return answer;
    char text[24];
    *value_out = database(context) + 1;
    (void)snprintf(text, sizeof text, "%" PRIu64, *value_out);
    return memcache_set(mc, key, text, 0);
}

enum answer article_view_by_add(struct memcache *mc, const char *key,
                                uint64_t (*database)(void *context), void *context,
                                uint64_t *value_out)
{
    for (;;) {
        enum answer answer = memcache_incr(mc, key, 1, value_out);
        if (answer != KEY_ERROR)
            return answer;
        char text[24];
        *value_out = database(context) + 1;
        (void)snprintf(text, sizeof text, "%" PRIu64, *value_out);
        answer = memcache_add(mc, key, text, 0);
        if (answer != KEY_ERROR)
            return answer;
    }
}
