/* STORE: a list with removal keeps the additions of one handle in their order while many of them
 * are in flight, across splits and for two handles at once. FIELD_CHANGES adds a larger size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "mcds.h"
#include "support/fixture.h"

#define HANDLES 2
#define TIMEOUT_MS 60000

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

struct seen {
    unsigned next[HANDLES]; /* what each handle has added next */
    unsigned count;
    unsigned wrong;
};

static bool see(void *context, mcds_bytes element, uint64_t count)
{
    struct seen *seen = context;
    char text[64] = "";
    unsigned handle;
    unsigned number;
    (void)count;
    check(element.length < sizeof text, "a strange element");
    memcpy(text, element.data, element.length);
    check(sscanf(text, "handle %u adds %u", &handle, &number) == 2 && handle < HANDLES,
          "a strange element");
    seen->wrong += number != seen->next[handle];
    seen->next[handle] = number + 1;
    seen->count++;
    return true;
}

static void finish(mcds_pipeline *pipeline)
{
    mcds_completion done;
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK)
        check(done.result == MCDS_OK, "add");
}

static void play(mcds_store *store, unsigned handles, unsigned size, bool wants_changed)
{
    char name[64];
    mcds_set *sets[HANDLES];
    mcds_pipeline *pipeline;
    struct seen seen = {{0}, 0, 0};
    mcds_set_options list = MCDS_SET_OPTIONS_INIT;
    mcds_pipeline_options deep = MCDS_PIPELINE_OPTIONS_INIT;
    bool *changed = calloc(size * handles, sizeof changed[0]);
    list.form = MCDS_SET_LIST;
    deep.depth = 1024;
    (void)snprintf(name, sizeof name, "l%u-%u-%d", handles, size, wants_changed);
    check(mcds_pipeline_open(store, &deep, &pipeline) == MCDS_OK, "pipeline");
    for (unsigned h = 0; h < handles; h++)
        check(mcds_set_open(store, name, &list, &sets[h]) == MCDS_OK, "open");
    for (unsigned i = 0; i < size; i++)
        for (unsigned h = 0; h < handles; h++) {
            char text[64];
            (void)snprintf(text, sizeof text, "handle %u adds %u", h, i);
            check(mcds_set_add_start(sets[h], mcds_text(text),
                                     wants_changed ? &changed[i * handles + h] : NULL, pipeline,
                                     i) == MCDS_OK,
                  "add");
        }
    finish(pipeline);
    check(mcds_set_scan(sets[0], see, &seen) == MCDS_OK, "fetch");
    (void)printf("%s: %u seen, %u out of order\n", name, seen.count, seen.wrong);
    check(seen.count == size * handles && seen.wrong == 0, "not the order of the additions");
    for (unsigned h = 0; h < handles; h++)
        mcds_set_close(sets[h]);
    mcds_pipeline_close(pipeline);
    free(changed);
}

int main(int count, char **words)
{
    const unsigned sizes[] = {4, 200, 2000, field_number("FIELD_CHANGES", 5000)};
    char uri[1024];
    mcds_store *store;
    mcds_options options = MCDS_OPTIONS_INIT;
    struct fixture *fixture = fixture_or_exit(count, words);
    options.timeout_ms = TIMEOUT_MS;
    fixture_uri_of(fixture, "order", uri, sizeof uri);
    check(mcds_open(uri, &options, &store) == MCDS_OK, "open");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned handles = 1; handles <= HANDLES; handles++) {
            play(store, handles, sizes[i], false);
            play(store, handles, sizes[i], true);
        }
    mcds_close(store);
    fixture_stop(fixture);
    return 0;
}
