/* Arrays that are changed as a whole: under the article's lock, by its hint of gets and cas,
 * and by mcds. */
#include <stdio.h>

#include "duel/sides.h"
#include "duel/texts.h"

#define CALLS 64
#define ARRAYS 32
#define KEY_CAPACITY 32
#define PATIENCE 24 /* requests for a lock */
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED) | COLUMN(WRONG))

static const char *const none[] = {NULL};

static enum told change_article(struct player *player, const char *name, const char *const *add,
                                const char *const *remove)
{
    struct article_array1 array; /* new each time: an unlock that failed spoils it */
    article_array1_init(&array, &player->mc, name);
    return told_by_answer(article_array1_change(&array, add, remove));
}

static enum told add_article(struct player *player, void *handle, const char *name,
                             const char *element)
{
    const char *const elements[] = {element, NULL};
    (void)handle;
    return change_article(player, name, elements, none);
}

static enum told remove_article(struct player *player, void *handle, const char *name,
                                const char *element)
{
    const char *const elements[] = {element, NULL};
    (void)handle;
    return change_article(player, name, none, elements);
}

static enum told read_article(struct player *player, void *handle, const char *name,
                              struct tally *tally)
{
    char key[KEY_CAPACITY];
    (void)handle;
    (void)snprintf(key, sizeof key, "array%s", name);
    return read_texts(&player->mc, key, tally);
}

/* The article does not say which caller creates the key. */
static enum told add_by_cas(struct player *player, void *handle, const char *name,
                            const char *element)
{
    char key[KEY_CAPACITY];
    (void)handle;
    (void)snprintf(key, sizeof key, "array%s", name);
    enum answer answer = memcache_add(&player->mc, key, "", 0);
    if (answer == DONE || answer == KEY_ERROR)
        answer = article_array1_change_by_cas(&player->mc, key, element);
    return told_by_answer(answer);
}

static void *open_ours(struct player *player, const char *name)
{
    mcds_array *array = NULL;
    return mcds_array_open(player->store, name, NULL, &array) == MCDS_OK ? array : NULL;
}

static void close_ours(void *handle)
{
    mcds_array_close(handle);
}

static enum told add_ours(struct player *player, void *handle, const char *name,
                          const char *element)
{
    mcds_bytes bytes = mcds_text(element);
    (void)name;
    return told_by_result(player, "add", mcds_array_change(handle, &bytes, 1, NULL, 0));
}

static enum told remove_ours(struct player *player, void *handle, const char *name,
                             const char *element)
{
    mcds_bytes bytes = mcds_text(element);
    (void)name;
    int result = mcds_array_change(handle, NULL, 0, &bytes, 1);
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "remove", result);
}

static bool visit(void *context, mcds_bytes element)
{
    tally_note(context, element.data, element.length);
    return true;
}

static enum told read_ours(struct player *player, void *handle, const char *name,
                           struct tally *tally)
{
    (void)name;
    int result = mcds_array_scan(handle, visit, tally);
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "get", result);
}

static const struct elements article_elements = {.objects = ARRAYS,
                                                 .removes = true,
                                                 .add = add_article,
                                                 .remove = remove_article,
                                                 .read = read_article};
static const struct elements cas_elements = {
    .objects = ARRAYS, .add = add_by_cas, .read = read_article};
static const struct elements our_elements = {.objects = ARRAYS,
                                             .removes = true,
                                             .ordered = true,
                                             .open_handle = open_ours,
                                             .close_handle = close_ours,
                                             .add = add_ours,
                                             .remove = remove_ours,
                                             .read = read_ours};

const struct side array_sides[] = {
    {.structure = "array1",
     .whose = "the article's",
     .is_slow = true,
     .judged = JUDGED,
     .must = COLUMN(DOUBLED),
     .must_in_time = COLUMN(LOST),
     .calls = CALLS,
     .tries = 2,
     .operations = PATIENCE,
     ELEMENTS_SIDE(article_elements)},
    {.structure = "array1",
     .whose = "the article's, by cas",
     .judged = JUDGED,
     .must = COLUMN(DOUBLED),
     .calls = CALLS,
     .tries = 2,
     .operations = PATIENCE,
     ELEMENTS_SIDE(cas_elements)},
    {.structure = "array1",
     .whose = "ours",
     .is_ours = true,
     .gives_up = true,
     .judged = JUDGED,
     .calls = CALLS,
     .tries = 2,
     .operations = PATIENCE,
     ELEMENTS_SIDE(our_elements)},
    {.structure = NULL},
};
