/* MCArray2: elements appended to one key. Printed unchanged, and once more with the returns
 * where they were meant. */
#include "article/article.h"

enum answer article_array2_add(struct memcache *mc, const char *key, const char *element)
{
    for (;;) {
        enum answer answer = memcache_append(mc, key, element);
        if (answer == KEY_ERROR)
            return DONE;
        if (answer != DONE)
            return answer;
        answer = memcache_add(mc, key, element, 0);
        if (answer == KEY_ERROR)
            return DONE;
        if (answer != DONE)
            return answer;
    }
}

enum answer article_array2_add_mended(struct memcache *mc, const char *key, const char *element)
{
    for (;;) {
        enum answer answer = memcache_append(mc, key, element);
        if (answer != KEY_ERROR)
            return answer;
        answer = memcache_add(mc, key, element, 0);
        if (answer != KEY_ERROR)
            return answer;
    }
}

enum answer article_array2_compact(struct memcache *mc, const char *key,
                                   void (*map)(const char *log, struct text *folded_out))
{
    struct text log = {NULL, 0, 0};
    struct text folded = {NULL, 0, 0};
    enum answer answer = memcache_get(mc, key, &log);
    if (answer == DONE) {
        map(log.at, &folded);
        answer = memcache_set(mc, key, folded.at, 0);
    }
    text_free(&log);
    text_free(&folded);
    return answer;
}
