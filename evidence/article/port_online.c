/* The online counter: six keys of one minute each, and the sum of the five that are complete.
 * Nothing is mended. */
#include <stdio.h>

#include "article/article.h"

#define KEYS 6
#define MINUTE_S 60
#define TTL_S 360
#define AWAY_S 300

static unsigned current_key(const struct memcache *mc)
{
    return (unsigned)((uint64_t)memcache_time(mc) / MINUTE_S % KEYS);
}

enum answer article_online_increment(struct memcache *mc)
{
    char key[16];
    (void)snprintf(key, sizeof key, "c_%u", current_key(mc));
    enum answer answer = memcache_incr(mc, key, 1, NULL);
    if (answer != KEY_ERROR)
        return answer;
    return memcache_set(mc, key, "1", TTL_S);
}

enum answer article_online_value(struct memcache *mc, uint64_t *value_out)
{
    struct text text = {NULL, 0, 0};
    unsigned current = current_key(mc);
    enum answer answer = DONE;
    *value_out = 0;
    for (unsigned i = 0; i < KEYS && (answer == DONE || answer == KEY_ERROR); i++) {
        char key[16];
        if (i == current)
            continue;
        (void)snprintf(key, sizeof key, "c_%u", i);
        answer = memcache_get(mc, key, &text);
        if (answer == DONE)
            *value_out += text_number(&text);
    }
    text_free(&text);
    return answer == KEY_ERROR ? DONE : answer;
}

enum answer article_online_hit(struct memcache *mc, const char *session)
{
    struct text text = {NULL, 0, 0};
    enum answer answer = memcache_get(mc, session, &text);
    uint64_t time = (uint64_t)memcache_time(mc);
    bool counted = answer == DONE && time - text_number(&text) < AWAY_S;
    text_free(&text);
    if (counted || (answer != DONE && answer != KEY_ERROR))
        return answer;
    answer = article_online_increment(mc);
    if (answer != DONE)
        return answer;
    char now[24];
    (void)snprintf(now, sizeof now, "%llu", (unsigned long long)time);
    return memcache_set(mc, session, now, 0);
}
