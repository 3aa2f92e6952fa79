/* A server that loses single keys of a list, a log or a map. */
#include "sim/loss.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "core/map/map.h"
#include "sim/play.h"
#include "support/dice.h"

#define KEYS_MAX 256
#define KEY_TEXT LOSS_KEY_TEXT
#define TRIES 40
#define REST_MS 8000
#define PER_MILLE 1000
#define CUT_PER_MILLE 30
#define EVICT_PER_MILLE 10
#define RESTART_PER_MILLE 2

struct keys {
    const struct loss_places *places;
    uint32_t count;
    char text[KEYS_MAX][KEY_TEXT];
};

static bool note_key(void *context, mcds_bytes key)
{
    struct keys *keys = context;
    if (keys->count == KEYS_MAX || key.length >= KEY_TEXT)
        return false;
    memcpy(keys->text[keys->count], key.data, key.length);
    keys->text[keys->count++][key.length] = '\0';
    return true;
}

static uint32_t colons_of(const struct keys *keys, const char *key)
{
    uint32_t colons = 0;
    for (const char *at = key + strlen(keys->places->streams); *at != '\0'; at++)
        colons += *at == ':';
    return colons;
}

static bool is_segment(const struct keys *keys, const char *key)
{
    return colons_of(keys, key) == keys->places->colons + 1;
}

static bool is_first(const struct keys *keys, const char *key)
{
    return is_segment(keys, key) && strcmp(strrchr(key, ':'), ":0") == 0;
}

/* The count of the stream of a segment; NULL: it has none. */
static const char *count_of(const struct keys *keys, const char *key)
{
    size_t length = (size_t)(strrchr(key, ':') - key);
    for (uint32_t i = 0; i < keys->count; i++)
        if (strlen(keys->text[i]) == length && memcmp(keys->text[i], key, length) == 0)
            return keys->text[i];
    return NULL;
}

/* Whether the next segment of the stream is there. */
static bool has_next(const struct keys *keys, const char *key)
{
    char next[KEY_TEXT];
    const char *number = strrchr(key, ':') + 1;
    (void)snprintf(next, sizeof next, "%.*s%llu", (int)(number - key), key,
                   strtoull(number, NULL, 10) + 1);
    for (uint32_t i = 0; i < keys->count; i++)
        if (strcmp(keys->text[i], next) == 0)
            return true;
    return false;
}

static bool is_wanted(const struct keys *keys, const char *key, enum loss kind)
{
    switch (kind) {
    case LOSS_COUNT:
        return colons_of(keys, key) == keys->places->colons;
    case LOSS_FIRST:
        return is_first(keys, key) && count_of(keys, key) != NULL;
    case LOSS_LATER:
        return is_segment(keys, key) && !is_first(keys, key) && has_next(keys, key);
    case LOSS_LAST:
        return is_segment(keys, key) && !is_first(keys, key) && !has_next(keys, key);
    default:
        return is_first(keys, key);
    }
}

/* Keys of a table have no order, so the choice is one of all keys in their order. */
static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *choose_key(struct loser *loser, struct keys *keys, enum loss kind)
{
    uint32_t found = 0;
    uint32_t wanted[KEYS_MAX];
    keys->places = &loser->places;
    keys->count = 0;
    (void)mcds__keyspace_keys(loser->sim->servers[0].keyspace, loser->sim->now_ns / NS_PER_MS,
                              mcds_text(loser->places.streams), note_key, keys);
    qsort(keys->text, keys->count, KEY_TEXT, compare_keys);
    for (uint32_t i = 0; i < keys->count; i++)
        if (is_wanted(keys, keys->text[i], kind))
            wanted[found++] = i;
    return found > 0 ? keys->text[wanted[dice_roll(&loser->random, found)]] : NULL;
}

static bool lose_root(struct loser *loser)
{
    uint32_t flags = 0;
    (void)play_peek_flags(loser->sim, loser->places.root, 0, &flags);
    if (flags == 0)
        return false;
    if (loser->roots++ == 0)
        loser->root_flags = flags;
    return true;
}

static void note_segment(struct loser *loser, const char *key)
{
    struct lost *lost = loser->lost;
    while (lost < loser->lost + loser->lost_count && strcmp(lost->key, key) != 0)
        lost++;
    assert_true(lost < loser->lost + LOSS_MAX);
    if (lost == loser->lost + loser->lost_count) {
        loser->lost_count++;
        (void)snprintf(lost->key, sizeof lost->key, "%s", key);
        lost->first_ns = loser->sim->now_ns;
    }
    lost->last_ns = loser->sim->now_ns;
}

/* False: there is nothing of this kind now. */
static bool lose(struct loser *loser, enum loss kind)
{
    static struct keys keys;
    mcds_sim *sim = loser->sim;
    if (kind == LOSS_ROOT)
        return lose_root(loser) && mcds__sim_evict(sim, mcds_text(loser->places.root));
    if (kind == LOSS_ALL) {
        if (!lose_root(loser))
            return false;
        mcds__sim_restart(sim, 0);
        return true;
    }
    const char *key = choose_key(loser, &keys, kind);
    if (key == NULL)
        return false;
    const char *count = kind == LOSS_BEGIN ? count_of(&keys, key) : NULL;
    if (count != NULL)
        (void)mcds__sim_evict(sim, mcds_text(count));
    loser->is_uncounted = loser->is_uncounted || kind == LOSS_COUNT || count != NULL;
    /* Neither the count nor the next segment is left to name it. */
    loser->is_blind = loser->is_blind || (is_segment(&keys, key) && !has_next(&keys, key) &&
                                          (count != NULL || count_of(&keys, key) == NULL));
    if (is_segment(&keys, key))
        note_segment(loser, key);
    return mcds__sim_evict(sim, mcds_text(key));
}

static void note_loss(struct loser *loser, enum loss kind)
{
    if (loser->happened == 0)
        loser->first_ns = loser->sim->now_ns;
    loser->happened++;
    loser->seen |= LOSS_BIT(kind);
    loser->last_ns = loser->sim->now_ns;
    /* A count may have named what was lost before. */
    loser->is_hidden = loser->is_hidden || kind == LOSS_BEGIN;
    loser->is_blind = loser->is_blind || kind == LOSS_ALL ||
                      (kind == LOSS_COUNT && (loser->seen & LOSS_DATA) != 0);
}

static void lose_on(void *context, mcds_sim_client *client, const mcds_completion *done)
{
    struct loser *loser = context;
    enum loss kind = (enum loss)dice_roll(&loser->random, LOSS_KINDS);
    if (done != NULL && (loser->kinds & LOSS_BIT(kind)) != 0 &&
        mcds__sim_fault(loser->sim, 1000000) && lose(loser, kind))
        note_loss(loser, kind);
    if (loser->happened == loser->wanted || loser->tries++ == TRIES)
        return;
    int64_t rest_ns = (int64_t)(1 + dice_roll(&loser->random, REST_MS)) * NS_PER_MS;
    assert_int_equal(mcds_sim_client_sleep(client, rest_ns, 0), MCDS_OK);
}

void loss_begin(struct loser *loser)
{
    assert_int_equal(mcds_sim_client_add(loser->sim, lose_on, loser, NULL), MCDS_OK);
}

/* A root has been made. */
static void note_root(struct loser *loser)
{
    uint32_t flags = 0;
    (void)play_peek_flags(loser->sim, loser->places.root, 0, &flags);
    if (loser->roots > 0 && flags != loser->root_flags)
        loser->is_replaced = true;
}

/* A line of the timeline: its time, the client, what it has asked or what has happened to it. */
static void note_line(struct loser *loser, const char *line)
{
    static const char *const troubles[] = {"(late)", "(reply lost)", "(no reply)", "breaks"};
    char key[KEY_TEXT];
    uint32_t client;
    int read = 0;
    if (sscanf(line, " %*f c%" SCNu32 " %n", &client, &read) != 1 || read == 0)
        return;
    bool makes = sscanf(line + read, "add %127s", key) == 1 && strstr(line, "-> ok") != NULL;
    bool fails = false;
    if (makes && strcmp(key, loser->places.root) == 0)
        note_root(loser);
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++)
        fails = fails || strstr(line, troubles[i]) != NULL;
    for (struct lost *lost = loser->lost; lost < loser->lost + loser->lost_count; lost++) {
        if (makes && strcmp(lost->key, key) == 0)
            lost->maker = client;
        loser->is_unrecorded = loser->is_unrecorded || (fails && lost->maker == client);
    }
}

void loss_note(struct loser *loser)
{
    const struct mcds_sim *sim = loser->sim;
    if (sim->line_count - loser->lines > MCDS__SIM_LINES)
        loser->lines = sim->line_count - MCDS__SIM_LINES;
    for (; loser->lines < sim->line_count; loser->lines++)
        note_line(loser, sim->lines[loser->lines % MCDS__SIM_LINES]);
}

static const char *note_lines(void *context)
{
    loss_note(context);
    return NULL;
}

const char *loss_run(struct loser *loser, uint64_t event_max)
{
    return play_run(loser->sim, event_max, note_lines, loser);
}

void loss_note_call(struct loser *loser, const mcds_sim_client *client, bool is_done)
{
    loss_note(loser);
    for (struct lost *lost = loser->lost; lost < loser->lost + loser->lost_count; lost++) {
        if (lost->maker != client->number)
            continue;
        loser->is_unrecorded = loser->is_unrecorded || !is_done;
        lost->maker = 0;
    }
}

bool loss_was_repeated(const struct loser *loser, int64_t at_ns)
{
    for (const struct lost *lost = loser->lost; lost < loser->lost + loser->lost_count; lost++)
        if (lost->first_ns < at_ns && at_ns <= lost->last_ns)
            return true;
    return false;
}

bool loss_of_data(const struct loser *loser)
{
    uint32_t flags = 0;
    (void)play_peek_flags(loser->sim, loser->places.root, 0, &flags);
    return (loser->seen & LOSS_DATA) != 0 || loser->roots > 1 || loser->is_replaced ||
           (loser->roots == 1 && flags != loser->root_flags);
}

mcds_reply loss_ask(mcds_sim *sim, mcds_command command, mcds_bytes key)
{
    mcds_buffer values;
    mcds_request request = {.command = command, .options = MCDS_NO_VALUE, .key = key};
    mcds__buffer_init(&values, mcds_env_system(), 4096);
    mcds__sim_execute(sim, 0, &request, &values);
    mcds__buffer_free(&values);
    return request.reply;
}

static bool may_go(const struct map_loser *loser, mcds_bytes key)
{
    size_t first = strlen(loser->root) + 17; /* with its life */
    if (key.length <= first)
        return true;
    mcds_bytes parent = {key.data, key.length == first + 2 ? first : key.length - 1};
    mcds_reply reply = loss_ask(loser->sim, MCDS_GET, parent);
    return reply.outcome == MCDS_OUT_OK && mcds__map_state_of(reply.flags) == MCDS__MAP_MOVED;
}

static bool makes_again(const struct map_loser *loser, const mcds_request *request)
{
    return request->command == MCDS_ADD && request->key.length > strlen(loser->root) + 17 &&
           may_go(loser, request->key);
}

static bool leaves(void *context, const mcds_batch *batch)
{
    (void)context;
    (void)batch;
    return true;
}

/* A key may be gone when a request for it arrives. */
static enum mcds__sim_fate arrives(void *context, const mcds_request *request,
                                   int64_t *late_ns_out)
{
    struct map_loser *loser = context;
    (void)late_ns_out;
    if (loser->is_over)
        return MCDS__SIM_PASS;
    if (loser->restarts && dice_roll(&loser->random, PER_MILLE) < RESTART_PER_MILLE)
        mcds__sim_restart(loser->sim, 0);
    if (dice_roll(&loser->random, PER_MILLE) < EVICT_PER_MILLE && may_go(loser, request->key)) {
        (void)loss_ask(loser->sim, MCDS_DELETE, request->key);
        mcds_sim_note(loser->sim, NULL, "the server evicts %.*s", (int)request->key.length,
                      (const char *)request->key.data);
    }
    if (makes_again(loser, request))
        return MCDS__SIM_CUT_BEFORE;
    uint64_t fate = dice_roll(&loser->random, PER_MILLE);
    return fate < CUT_PER_MILLE       ? MCDS__SIM_CUT_BEFORE
           : fate < 2 * CUT_PER_MILLE ? MCDS__SIM_CUT_AFTER
                                      : MCDS__SIM_PASS;
}

void map_loser_begin(struct map_loser *loser, mcds_sim_client *client)
{
    loser->script = (struct mcds__sim_script){loser, leaves, arrives};
    client->script = &loser->script;
}
