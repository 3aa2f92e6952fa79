/* MCCounter: incr, and add when there is nothing to increment. Nothing is mended. */
#include <inttypes.h>
#include <stdio.h>

#include "article/article.h"

enum answer article_increment(struct memcache *mc, const char *key, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    for (;;) {
        enum answer answer = memcache_incr(mc, key, value, NULL);
        if (answer != KEY_ERROR)
            return answer;
        answer = memcache_add(mc, key, text, 0);
        if (answer != KEY_ERROR)
            return answer;
    }
}

enum answer article_value(struct memcache *mc, const char *key, struct text *value_out)
{
    enum answer answer = memcache_get(mc, key, value_out);
    if (answer != KEY_ERROR)
        return answer;
    text_set(value_out, "0");
    return DONE;
}
