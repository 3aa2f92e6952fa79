/* Tables: elements that can be listed and looked up. */
#include <string.h>

#include "duel/sides.h"
#include "duel/texts.h"

#define CALLS 64
#define TABLES 32
#define PATIENCE 24 /* requests for a lock */
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED) | COLUMN(WRONG))

static enum told add_article(struct player *player, void *handle, const char *name,
                             const char *element)
{
    struct article_table table; /* new each time: an unlock that failed spoils it */
    (void)handle;
    article_table_init(&table, &player->mc, name);
    return told_by_answer(article_table_add(&table, element));
}

static enum told remove_article(struct player *player, void *handle, const char *name,
                                const char *element)
{
    struct article_table table;
    (void)handle;
    article_table_init(&table, &player->mc, name);
    return told_by_answer(article_table_delete(&table, element));
}

static enum told read_article(struct player *player, void *handle, const char *name,
                              struct tally *tally)
{
    struct article_table table;
    struct text list = {NULL, 0, 0};
    bool is_none = false;
    (void)handle;
    article_table_init(&table, &player->mc, name);
    enum answer answer = article_table_fetch(&table, &list, &is_none);
    if (answer == DONE && !is_none)
        tally_texts(tally, &list);
    text_free(&list);
    return told_by_answer(answer);
}

static enum told has_article(struct player *player, void *handle, const char *name,
                             const char *element, bool *has_out)
{
    struct article_table table;
    (void)handle;
    article_table_init(&table, &player->mc, name);
    return told_by_answer(article_table_has(&table, element, has_out));
}

static void *open_ours(struct player *player, const char *name)
{
    mcds_table *table = NULL;
    return mcds_table_open(player->store, name, NULL, &table) == MCDS_OK ? table : NULL;
}

static void close_ours(void *handle)
{
    mcds_table_close(handle);
}

static enum told put_ours(struct player *player, void *handle, const char *name,
                          const char *element)
{
    mcds_bytes bytes = mcds_text(element);
    (void)name;
    return told_by_result(player, "put", mcds_table_put(handle, bytes, bytes, 0));
}

static enum told remove_ours(struct player *player, void *handle, const char *name,
                             const char *element)
{
    (void)name;
    return told_by_result(player, "remove",
                          mcds_table_remove(handle, mcds_text(element), NULL));
}

/* A value that is not the key's own is nobody's. */
static bool visit(void *context, mcds_bytes key, mcds_bytes value)
{
    struct tally *tally = context;
    if (key.length == value.length && memcmp(key.data, value.data, key.length) == 0)
        tally_note(tally, key.data, key.length);
    else
        tally->foreign++;
    return true;
}

static enum told read_ours(struct player *player, void *handle, const char *name,
                           struct tally *tally)
{
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    (void)name;
    int result = mcds_table_scan(handle, &cursor, 0, visit, tally);
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "scan", result);
}

static enum told has_ours(struct player *player, void *handle, const char *name,
                          const char *element, bool *has_out)
{
    (void)name;
    int result = mcds_table_has(handle, mcds_text(element));
    *has_out = result == MCDS_OK;
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "has", result);
}

static const struct elements article_elements = {.objects = TABLES,
                                                 .removes = true,
                                                 .add = add_article,
                                                 .remove = remove_article,
                                                 .read = read_article,
                                                 .has = has_article};
static const struct elements our_elements = {.objects = TABLES,
                                             .removes = true,
                                             .open_handle = open_ours,
                                             .close_handle = close_ours,
                                             .add = put_ours,
                                             .remove = remove_ours,
                                             .read = read_ours,
                                             .has = has_ours};

const struct side table_sides[] = {
    {.structure = "table",
     .whose = "the article's",
     .is_slow = true,
     .judged = JUDGED,
     .must = COLUMN(WRONG),
     .must_in_time = COLUMN(LOST),
     .calls = CALLS,
     .tries = 2,
     .operations = PATIENCE,
     ELEMENTS_SIDE(article_elements)},
    {.structure = "table",
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
