/* MCArray1: the whole array under one key, changed by get and set under a lock. Mended: the lock
 * gets the timeout that its constructor asks for, 5 s; filter() gives a list. */
#include <stdio.h>
#include <string.h>

#include "article/article.h"

#define LOCK_TIMEOUT_S 5

static const char *find(const struct text *list, const char *element)
{
    size_t length = strlen(element);
    const char *at = list->at;
    while (at != NULL && *at != '\0') {
        const char *end = strchr(at, ';');
        if (end == NULL)
            return NULL;
        if ((size_t)(end - at) == length && memcmp(at, element, length) == 0)
            return at;
        at = end + 1;
    }
    return NULL;
}

bool article_list_has(const struct text *list, const char *element)
{
    return find(list, element) != NULL;
}

void article_list_add(struct text *list, const char *element)
{
    text_add(list, element);
    text_add(list, ";");
}

void article_list_remove(struct text *list, const char *element)
{
    size_t length = strlen(element) + 1;
    for (const char *found; (found = find(list, element)) != NULL;) {
        size_t at = (size_t)(found - list->at);
        memmove(list->at + at, list->at + at + length, list->length - at - length + 1);
        list->length -= length;
    }
}

void article_array1_init(struct article_array1 *array, struct memcache *mc, const char *name)
{
    article_lock_init(&array->lock, mc, name, LOCK_TIMEOUT_S);
    (void)snprintf(array->key, sizeof array->key, "array%s", name);
}

static enum answer change_locked(struct article_array1 *array, const char *const *add,
                                 const char *const *remove)
{
    struct memcache *mc = array->lock.mc;
    struct text list = {NULL, 0, 0};
    text_set(&list, "");
    enum answer answer = memcache_get(mc, array->key, &list);
    if (answer == KEY_ERROR)
        text_set(&list, "");
    if (answer == DONE || answer == KEY_ERROR) {
        for (size_t i = 0; remove[i] != NULL; i++)
            article_list_remove(&list, remove[i]);
        for (size_t i = 0; add[i] != NULL; i++)
            article_list_add(&list, add[i]);
        answer = memcache_set(mc, array->key, list.at, 0);
    }
    text_free(&list);
    return answer;
}

enum answer article_array1_change(struct article_array1 *array, const char *const *add,
                                  const char *const *remove)
{
    bool locked = false;
    while (!locked) {
        enum answer answer = article_try_lock(&array->lock, &locked);
        if (answer != DONE)
            return answer;
    }
    enum answer answer = change_locked(array, add, remove);
    enum answer unlocked = article_unlock(&array->lock); /* finally */
    return unlocked != DONE ? unlocked : answer;
}

enum answer article_array1_change_by_cas(struct memcache *mc, const char *key,
                                         const char *element)
{
    struct text list = {NULL, 0, 0};
    enum answer answer = KEY_ERROR;
    while (answer == KEY_ERROR) {
        uint64_t cas = 0;
        answer = memcache_gets(mc, key, &list, &cas);
        if (answer != DONE)
            break;
        article_list_add(&list, element);
        answer = memcache_cas(mc, key, list.at, cas);
    }
    text_free(&list);
    return answer;
}
