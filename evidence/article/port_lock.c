/* MCLock: a key that exists while a client holds the lock. Nothing is mended. */
#include <stdio.h>

#include "article/article.h"

void article_lock_init(struct article_lock *lock, struct memcache *mc, const char *name,
                       uint64_t timeout)
{
    *lock = (struct article_lock){.mc = mc, .timeout = timeout};
    (void)snprintf(lock->key, sizeof lock->key, "lock_%s", name);
}

enum answer article_try_lock(struct article_lock *lock, bool *locked_out)
{
    *locked_out = false;
    if (lock->locked)
        return ASSERTION_ERROR;
    enum answer answer = memcache_add(lock->mc, lock->key, "1", lock->timeout);
    if (answer == KEY_ERROR)
        return DONE;
    if (answer != DONE)
        return answer;
    lock->locked = true;
    *locked_out = true;
    return DONE;
}

enum answer article_unlock(struct article_lock *lock)
{
    if (!lock->locked)
        return ASSERTION_ERROR;
    enum answer answer = memcache_delete(lock->mc, lock->key);
    if (answer == DONE)
        lock->locked = false;
    return answer;
}
