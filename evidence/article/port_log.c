/* MCEventLog: N keys in a ring, each for C seconds of events. Mended: `l` in fetch is `events`,
 * and the lost condition and key range are completed from the other editions of the text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "article/article.h"

static void name_key(const struct article_log *log, uint64_t number, char *out, size_t capacity)
{
    (void)snprintf(out, capacity, "messagelog%s_%llu", log->name, (unsigned long long)number);
}

static uint64_t key_of(const struct article_log *log, double when)
{
    double chunk = floor(when / (double)log->C);
    return (uint64_t)(chunk - floor(chunk / (double)log->N) * (double)log->N);
}

enum answer article_log_put(struct article_log *log, double when, const char *event)
{
    char record[64];
    char key[64];
    (void)snprintf(record, sizeof record, "%.1f:%s;", when, event);
    name_key(log, key_of(log, when), key, sizeof key);
    for (;;) {
        enum answer answer = memcache_append(log->mc, key, record);
        if (answer != KEY_ERROR)
            return answer;
        answer = memcache_add(log->mc, key, record, log->C * (log->N - 1));
        if (answer != KEY_ERROR)
            return answer;
    }
}

/* Add the events of one key that lie in the window. */
static void collect(const char *value, double first, double last, struct article_events *events)
{
    for (const char *at = value; at != NULL && *at != '\0';) {
        struct article_event event = {0, ""};
        const char *end = strchr(at, ';');
        const char *colon = strchr(at, ':');
        if (end == NULL || colon == NULL || colon > end)
            return;
        event.when = strtod(at, NULL);
        (void)snprintf(event.text, sizeof event.text, "%.*s", (int)(end - colon - 1),
                       colon + 1);
        if (first <= event.when && event.when <= last &&
            events->count < sizeof events->at / sizeof events->at[0])
            events->at[events->count++] = event;
        at = end + 1;
    }
}

static enum answer read_key(struct article_log *log, uint64_t number, double first, double last,
                            struct article_events *events)
{
    char key[64];
    struct text text = {NULL, 0, 0};
    name_key(log, number, key, sizeof key);
    enum answer answer = memcache_get(log->mc, key, &text);
    if (answer == DONE)
        collect(text.at, first, last, events);
    text_free(&text);
    return answer == KEY_ERROR ? DONE : answer;
}

enum answer article_log_fetch(struct article_log *log, double first, double last,
                              struct article_events *events_out)
{
    double capacity = (double)(log->C * (log->N - 1));
    double now = memcache_time(log->mc);
    events_out->count = 0;
    if (last < 0 || last > now)
        last = now;
    if (first < 0 || last < first || last - first > capacity)
        first = now - capacity;
    uint64_t first_key = key_of(log, first);
    uint64_t last_key = key_of(log, last);
    enum answer answer = DONE;
    uint64_t end = first_key < last_key ? last_key : log->N - 1;
    for (uint64_t i = first_key; i <= end && answer == DONE; i++)
        answer = read_key(log, i, first, last, events_out);
    if (first_key < last_key)
        return answer;
    for (uint64_t i = 0; i <= last_key && answer == DONE; i++)
        answer = read_key(log, i, first, last, events_out);
    return answer;
}
