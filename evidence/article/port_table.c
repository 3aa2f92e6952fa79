/* MCTable: a key for each element and one with the list of all, changed under a lock. Mended: the
 * lock gets the timeout that its constructor asks for, 5 s; delete, which the text calls
 * "analogous", takes the same steps as add. */
#include <stdio.h>

#include "article/article.h"

#define LOCK_TIMEOUT_S 5
#define KEY_CAPACITY 192

void article_table_init(struct article_table *table, struct memcache *mc, const char *name)
{
    article_lock_init(&table->lock, mc, name, LOCK_TIMEOUT_S);
    (void)snprintf(table->name, sizeof table->name, "table%s", name);
}

static void name_keys(const struct article_table *table, const char *key, char *element,
                      char *list)
{
    (void)snprintf(element, KEY_CAPACITY, "%s_v_%s", table->name, key);
    (void)snprintf(list, KEY_CAPACITY, "%s_keys", table->name);
}

static enum answer wait_for_lock(struct article_table *table)
{
    bool locked = false;
    enum answer answer = DONE;
    while (!locked && answer == DONE)
        answer = article_try_lock(&table->lock, &locked);
    return answer;
}

static enum answer add_locked(struct article_table *table, const char *key, struct text *keys)
{
    struct memcache *mc = table->lock.mc;
    char element[KEY_CAPACITY];
    char list[KEY_CAPACITY];
    name_keys(table, key, element, list);
    enum answer answer = memcache_get(mc, list, keys);
    if (answer != DONE && answer != KEY_ERROR)
        return answer;
    if (answer == KEY_ERROR)
        text_set(keys, "");
    if (!article_list_has(keys, key))
        article_list_add(keys, key);
    answer = memcache_set(mc, element, "1", 0);
    return answer == DONE ? memcache_set(mc, list, keys->at, 0) : answer;
}

enum answer article_table_add(struct article_table *table, const char *key)
{
    struct text keys = {NULL, 0, 0};
    enum answer answer = wait_for_lock(table);
    if (answer != DONE)
        return answer;
    answer = add_locked(table, key, &keys);
    text_free(&keys);
    enum answer unlocked = article_unlock(&table->lock); /* finally */
    return unlocked != DONE ? unlocked : answer;
}

static enum answer delete_locked(struct article_table *table, const char *key,
                                 struct text *keys)
{
    struct memcache *mc = table->lock.mc;
    char element[KEY_CAPACITY];
    char list[KEY_CAPACITY];
    name_keys(table, key, element, list);
    enum answer answer = memcache_get(mc, list, keys);
    if (answer != DONE && answer != KEY_ERROR)
        return answer;
    if (answer == KEY_ERROR)
        text_set(keys, "");
    article_list_remove(keys, key);
    answer = memcache_delete(mc, element);
    return answer == DONE ? memcache_set(mc, list, keys->at, 0) : answer;
}

enum answer article_table_delete(struct article_table *table, const char *key)
{
    struct text keys = {NULL, 0, 0};
    enum answer answer = wait_for_lock(table);
    if (answer != DONE)
        return answer;
    answer = delete_locked(table, key, &keys);
    text_free(&keys);
    enum answer unlocked = article_unlock(&table->lock); /* finally */
    return unlocked != DONE ? unlocked : answer;
}

enum answer article_table_has(struct article_table *table, const char *key, bool *has_out)
{
    struct text value = {NULL, 0, 0};
    char element[KEY_CAPACITY];
    char list[KEY_CAPACITY];
    name_keys(table, key, element, list);
    enum answer answer = memcache_get(table->lock.mc, element, &value);
    text_free(&value);
    *has_out = answer == DONE;
    return answer == KEY_ERROR ? DONE : answer;
}

enum answer article_table_fetch(struct article_table *table, struct text *keys_out,
                                bool *is_none)
{
    char list[KEY_CAPACITY];
    (void)snprintf(list, sizeof list, "%s_keys", table->name);
    enum answer answer = memcache_get(table->lock.mc, list, keys_out);
    *is_none = answer == KEY_ERROR;
    return answer == KEY_ERROR ? DONE : answer;
}
