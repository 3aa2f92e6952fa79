/* Lists that only grow: the article's second array as printed, as meant, and the list of
 * mcds. */
#include "duel/sides.h"
#include "duel/texts.h"

#include <stdio.h>

#define CALLS 96
#define JUDGED (COLUMN(LOST) | COLUMN(DOUBLED) | COLUMN(WRONG))

/* What is appended is framed by its caller. */
static const char *framed(const char *element, char capacity[static ELEMENT_CAPACITY + 1])
{
    (void)snprintf(capacity, ELEMENT_CAPACITY + 1, "%s;", element);
    return capacity;
}

static enum told add_printed(struct player *player, void *handle, const char *name,
                             const char *element)
{
    char capacity[ELEMENT_CAPACITY + 1];
    (void)handle;
    return told_by_answer(article_array2_add(&player->mc, name, framed(element, capacity)));
}

static enum told add_meant(struct player *player, void *handle, const char *name,
                           const char *element)
{
    char capacity[ELEMENT_CAPACITY + 1];
    (void)handle;
    return told_by_answer(
        article_array2_add_mended(&player->mc, name, framed(element, capacity)));
}

static enum told read_article(struct player *player, void *handle, const char *name,
                              struct tally *tally)
{
    (void)handle;
    return read_texts(&player->mc, name, tally);
}

static void *open_ours(struct player *player, const char *name)
{
    mcds_list *list = NULL;
    return mcds_list_open(player->store, name, NULL, &list) == MCDS_OK ? list : NULL;
}

static void close_ours(void *handle)
{
    mcds_list_close(handle);
}

static enum told push_ours(struct player *player, void *handle, const char *name,
                           const char *element)
{
    (void)name;
    return told_by_result(player, "push", mcds_list_push(handle, mcds_text(element)));
}

static bool visit(void *context, mcds_bytes value)
{
    tally_note(context, value.data, value.length);
    return true;
}

static enum told read_ours(struct player *player, void *handle, const char *name,
                           struct tally *tally)
{
    (void)name;
    int result = mcds_list_scan(handle, 0, 0, visit, tally);
    return result == MCDS_NOT_FOUND ? TOLD_DONE : told_by_result(player, "fetch", result);
}

static const struct elements printed_elements = {
    .objects = 1, .add = add_printed, .read = read_article};
static const struct elements meant_elements = {
    .objects = 1, .ordered = true, .add = add_meant, .read = read_article};
static const struct elements our_elements = {.objects = 1,
                                             .ordered = true,
                                             .open_handle = open_ours,
                                             .close_handle = close_ours,
                                             .add = push_ours,
                                             .read = read_ours};

#define SIDE(who, elements, columns, ...)                                                      \
    {                                                                                          \
        .structure = "array2", .whose = who, .judged = JUDGED, .must = columns,                \
        .calls = CALLS, ELEMENTS_SIDE(elements), __VA_ARGS__                                   \
    }

const struct side list_sides[] = {
    SIDE("the article's, as printed", printed_elements, COLUMN(LOST), .is_ours = false),
    SIDE("the article's", meant_elements, COLUMN(DOUBLED), .is_ours = false),
    SIDE("the article's, never repeated", meant_elements, 0, .gives_up = true),
    SIDE("ours", our_elements, 0, .is_ours = true, .gives_up = true),
    {.structure = NULL},
};
