/* MCVisitorCounter: two keys, one that counts the current period and one that shows the
 * previous period. Mended: the text breaks off after `time() % (2 * T)`; `< T`, increment and
 * value are completed as the description asks for. */
#include <stdio.h>

#include "article/article.h"

static unsigned active_key(const struct article_visitors *visitors)
{
    uint64_t time = (uint64_t)memcache_time(visitors->mc);
    return time % (2 * visitors->T) < visitors->T ? 0 : 1;
}

static void name_key(const struct article_visitors *visitors, unsigned key, char *out,
                     size_t capacity)
{
    (void)snprintf(out, capacity, "counter%s_%u", visitors->name, key);
}

static uint64_t ttl_of(const struct article_visitors *visitors)
{
    uint64_t time = (uint64_t)memcache_time(visitors->mc);
    return visitors->ends_with_period ? 2 * visitors->T - time % visitors->T : 2 * visitors->T;
}

enum answer article_visitors_increment(struct article_visitors *visitors)
{
    char key[64];
    name_key(visitors, 1 - active_key(visitors), key, sizeof key);
    for (;;) {
        enum answer answer = memcache_incr(visitors->mc, key, 1, NULL);
        if (answer != KEY_ERROR)
            return answer;
        answer = memcache_add(visitors->mc, key, "1", ttl_of(visitors));
        if (answer != KEY_ERROR)
            return answer;
    }
}

enum answer article_visitors_value(struct article_visitors *visitors, uint64_t *value_out)
{
    char key[64];
    struct text text = {NULL, 0, 0};
    name_key(visitors, active_key(visitors), key, sizeof key);
    enum answer answer = memcache_get(visitors->mc, key, &text);
    *value_out = answer == DONE ? text_number(&text) : 0;
    text_free(&text);
    return answer == KEY_ERROR ? DONE : answer;
}

enum answer article_visitors_hit(struct article_visitors *visitors, const char *session)
{
    struct text text = {NULL, 0, 0};
    enum answer answer = memcache_get(visitors->mc, session, &text);
    uint64_t time = (uint64_t)memcache_time(visitors->mc);
    bool counted = answer == DONE && time - text_number(&text) <= visitors->T;
    text_free(&text);
    if (counted || (answer != DONE && answer != KEY_ERROR))
        return answer;
    answer = article_visitors_increment(visitors);
    if (answer != DONE)
        return answer;
    char now[24];
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)memcache_time(visitors->mc));
    return memcache_set(visitors->mc, session, now, 0);
}
