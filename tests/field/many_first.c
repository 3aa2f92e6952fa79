/* STORE: thousands of changes in flight into a structure that has just been made take bounded
 * memory, end within their timeout and are all there. FIELD_CHANGES is how many. */
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field/field.h"
#include "mcds.h"
#include "support/fixture.h"

#define CHANGES 8000
/* The most memory that one change in flight may take, on average: half of it is usual. A machine
 * that is busy with other work leaves more replies with registers of an estimate unread. */
#define BYTES_EACH 12000
#define BYTES_MORE ((int64_t)8 << 20)
/* In memory:, where few of them are in flight at once. */
#define MEMORY_BYTES_EACH 300
#define MEMORY_BYTES_MORE ((int64_t)2 << 20)
/* The sum of estimated visitors may be off by this part. */
#define ESTIMATE_PART 8
#define TIMEOUT_MS 60000

static _Atomic int64_t bytes;
static _Atomic int64_t peak;

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, mcds_errmsg());
    exit(1);
}

static void *count_bytes(void *self, void *memory, size_t length)
{
    const mcds_env *env = mcds_env_system();
    int64_t before = memory != NULL ? (int64_t)malloc_usable_size(memory) : 0;
    (void)self;
    void *granted = env->reallocate(env->self, memory, length);
    if (granted == NULL && length > 0)
        return NULL;
    int64_t change = (granted != NULL ? (int64_t)malloc_usable_size(granted) : 0) - before;
    int64_t now = atomic_fetch_add(&bytes, change) + change;
    int64_t most = peak;
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
        /* another has raised it */
    }
    return granted;
}

struct world {
    mcds_store *store;
    mcds_pipeline *pipeline;
    mcds_table *table;
    mcds_set *set;
    mcds_visitors *visitors;
    mcds_visitors *estimated;
    mcds_online *online;
    mcds_views *views;
    mcds_array *array;
    unsigned saved; /* views */
    bool *changed;
};

static const char *name_of(unsigned number)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "element number %u", number);
    return text;
}

static int put(struct world *world, unsigned i)
{
    return mcds_table_put_start(world->table, mcds_text(name_of(i)),
                                mcds_text("a value of thirty bytes, or so"), 0, world->pipeline,
                                i);
}

static int put_new(struct world *world, unsigned i)
{
    return mcds_table_put_if_absent_start(world->table, mcds_text(name_of(i)), mcds_text("1"),
                                          0, world->pipeline, i);
}

static int add(struct world *world, unsigned i)
{
    return mcds_set_add_start(world->set, mcds_text(name_of(i)), &world->changed[i],
                              world->pipeline, i);
}

static int hit(struct world *world, unsigned i)
{
    return mcds_visitors_hit_start(world->visitors, name_of(i), 1, world->pipeline, i);
}

static int incr(struct world *world, unsigned i)
{
    return mcds_table_incr_start(world->table, mcds_text(name_of(i)), 1, NULL, world->pipeline,
                                 i);
}

static int hit_estimated(struct world *world, unsigned i)
{
    return mcds_visitors_hit_start(world->estimated, name_of(i), 1, world->pipeline, i);
}

static int beat(struct world *world, unsigned i)
{
    return mcds_online_beat_start(world->online, name_of(i), 1, world->pipeline, i);
}

static int view(struct world *world, unsigned i)
{
    return mcds_views_hit_start(world->views, name_of(i), 1, world->pipeline, i);
}

static int change(struct world *world, unsigned i)
{
    mcds_bytes element = {&i, sizeof i};
    return mcds_array_change_start(world->array, &element, 1, NULL, 0, world->pipeline, i);
}

/* An array is written as a whole by each change that is not combined with others, so of these there
 * are fewer. */
static const struct kind {
    const char *name;
    int (*start)(struct world *world, unsigned i);
    unsigned part;
} kinds[] = {{"put", put, 1},
             {"put_if_absent", put_new, 1},
             {"add", add, 1},
             {"hit", hit, 1},
             {"hit_estimated", hit_estimated, 1},
             {"incr", incr, 1},
             {"beat", beat, 1},
             {"view", view, 1},
             {"change", change, 8}};

static int load_nothing(void *context, const char *page, uint64_t upto_slot, int64_t *views_out)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views_out = 0;
    return 0;
}

static int count_saved(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)page;
    (void)slot;
    ((struct world *)context)->saved += (unsigned)views;
    return 0;
}

static bool count_one(void *context, mcds_bytes element)
{
    (void)element;
    ++*(unsigned *)context;
    return true;
}

static bool count_row(void *context, mcds_bytes key, mcds_bytes value)
{
    (void)key;
    (void)value;
    ++*(unsigned *)context;
    return true;
}

static bool count_element(void *context, mcds_bytes element, uint64_t count)
{
    (void)element;
    *(unsigned *)context += (unsigned)count;
    return true;
}

static unsigned count_all(struct world *world, const struct kind *kind)
{
    unsigned count = 0;
    mcds_table_cursor cursor = MCDS_TABLE_CURSOR_INIT;
    mcds_visitors_value value = MCDS_VISITORS_VALUE_INIT;
    if (kind->start == hit) {
        check(mcds_visitors_get(world->visitors, 1, &value) == MCDS_OK, "get");
        return (unsigned)value.current;
    }
    if (kind->start == hit_estimated) {
        check(mcds_visitors_get(world->estimated, 1, &value) == MCDS_OK, "get");
        return (unsigned)value.current;
    }
    if (kind->start == beat) {
        mcds_online_value online = MCDS_ONLINE_VALUE_INIT;
        check(mcds_online_get(world->online, 1, &online) == MCDS_OK, "get");
        return (unsigned)online.current;
    }
    if (kind->start == view) {
        check(mcds_views_flush_final(world->views) == MCDS_OK, "flush");
        return world->saved;
    }
    if (kind->start == change)
        check(mcds_array_scan(world->array, count_one, &count) == MCDS_OK, "scan");
    else if (kind->start == add)
        check(mcds_set_scan(world->set, count_element, &count) == MCDS_OK, "fetch");
    else
        check(mcds_table_scan(world->table, &cursor, 0, count_row, &count) == MCDS_OK, "scan");
    return count;
}

static void play(struct world *world, const struct kind *kind, unsigned changes, int64_t most)
{
    mcds_completion done;
    int64_t before = bytes;
    peak = before;
    for (unsigned i = 0; i < changes; i++)
        check(kind->start(world, i) == MCDS_OK, kind->name);
    while (mcds_pipeline_next(world->pipeline, &done) == MCDS_OK)
        check(done.result == MCDS_OK ||
                  (done.result == MCDS_EXISTS && kind->start == hit_estimated),
              kind->name);
    int64_t taken = peak - before;
    (void)printf("%s: %u changes, %lld KB\n", kind->name, changes, (long long)taken / 1024);
    unsigned count = count_all(world, kind);
    unsigned off = kind->start == hit_estimated ? changes / ESTIMATE_PART : 0;
    check(count + off >= changes && count <= changes + off, "not all are there");
    check(taken < most, "too much memory");
}

static void open_world(struct world *world, const struct fixture *fixture, const char *name,
                       unsigned changes)
{
    static mcds_env env;
    char uri[1024];
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_pipeline_options depth = MCDS_PIPELINE_OPTIONS_INIT;
    mcds_visitors_options exact = MCDS_VISITORS_OPTIONS_INIT;
    fixture_uri_of(fixture, "first", uri, sizeof uri);
    env = *mcds_env_system();
    env.reallocate = count_bytes;
    options.env = &env;
    options.timeout_ms = TIMEOUT_MS;
    depth.depth = changes;
    exact.members = MCDS_MEMBERS_EXACT;
    check(mcds_open(uri, &options, &world->store) == MCDS_OK, "open");
    check(mcds_pipeline_open(world->store, &depth, &world->pipeline) == MCDS_OK, "pipeline");
    check(mcds_table_open(world->store, name, NULL, &world->table) == MCDS_OK, "table");
    check(mcds_set_open(world->store, name, NULL, &world->set) == MCDS_OK, "set");
    check(mcds_visitors_open(world->store, name, &exact, &world->visitors) == MCDS_OK,
          "visitors");
    mcds_visitors_options estimated = MCDS_VISITORS_OPTIONS_INIT;
    estimated.members = MCDS_MEMBERS_ESTIMATED;
    check(mcds_visitors_open(world->store, "estimated", &estimated, &world->estimated) ==
              MCDS_OK,
          "estimated visitors");
    mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
    online.members = MCDS_MEMBERS_EXACT;
    check(mcds_online_open(world->store, name, &online, &world->online) == MCDS_OK, "online");
    mcds_views_options saving = MCDS_VIEWS_OPTIONS_INIT;
    saving.load = load_nothing;
    saving.save = count_saved;
    saving.context = world;
    check(mcds_views_open(world->store, name, &saving, &world->views) == MCDS_OK, "views");
    check(mcds_array_open(world->store, name, NULL, &world->array) == MCDS_OK, "array");
    world->saved = 0;
    world->changed = calloc(changes, sizeof world->changed[0]);
}

static void close_world(struct world *world)
{
    mcds_array_close(world->array);
    mcds_views_close(world->views);
    mcds_online_close(world->online);
    mcds_visitors_close(world->estimated);
    mcds_visitors_close(world->visitors);
    mcds_set_close(world->set);
    mcds_table_close(world->table);
    mcds_pipeline_close(world->pipeline);
    mcds_close(world->store);
    free(world->changed);
}

int main(int count, char **words)
{
    struct world world;
    unsigned changes = field_number("FIELD_CHANGES", CHANGES);
    struct fixture *fixture = fixture_or_exit(count, words);
    int64_t most = strcmp(words[1], "memory") == 0
                       ? (int64_t)changes * MEMORY_BYTES_EACH + MEMORY_BYTES_MORE
                       : (int64_t)changes * BYTES_EACH + BYTES_MORE;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        open_world(&world, fixture, kinds[i].name, changes);
        play(&world, &kinds[i], changes / kinds[i].part, most);
        close_world(&world);
    }
    fixture_stop(fixture);
    return 0;
}
