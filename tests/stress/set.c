/* Eight members use three sets, one of each form: set STORE (memory, lmdb, memcached)
 *
 * Each member has elements of its own, and knows at any time whether they are in the set; all
 * share a few others. It checks every answer and every fetch of its own elements. At the end
 * these agree with its journal, and for a shared element the additions that changed the set
 * exceed the removals that did by its presence; the unanswered calls of a killed process may
 * count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/crowd.h"
#include "stress/stage.h"

#define FORMS 3
#define SHARED 16
#define OWN 600
#define ORDER_MAX 800
#define SHARED_RUN 64
#define FETCH_ONE_IN 200
#define SAME_MOMENT_NS 2000000 /* keys order by milliseconds what is not in the same key */

#define ALL (-1)

enum verb { ADD, REMOVE };

static const char *const names[FORMS] = {"plain", "bag", "list"};

struct occurrence {
    uint32_t element;
    int64_t asked_ns, answered_ns;
};

/* The elements of one member, by what it was told or by what a fetch brought. */
struct own {
    uint32_t counts[OWN];
    struct occurrence order[ORDER_MAX];
    uint32_t length;
};

struct player {
    struct crowd_member *member;
    mcds_pipeline *pipeline;
    mcds_set *sets[FORMS];
    struct own own[FORMS];
};

/* An element's number: the shared ones, then those of each member. */
static uint32_t own_number(int member, uint32_t element)
{
    return SHARED + (uint32_t)member * OWN + element;
}

/* What a note is about: an element of one of the sets. */
static uint32_t what_of(int form, uint32_t number)
{
    return number * FORMS + (uint32_t)form;
}

static mcds_bytes name_element(uint32_t number, char capacity[static 32])
{
    (void)snprintf(capacity, 32, "element number %06u", number);
    return mcds_text(capacity);
}

static bool parse_element(mcds_bytes element, uint32_t *number_out)
{
    char text[32] = "";
    if (element.length != sizeof "element number 000000" - 1)
        return false;
    memcpy(text, element.data, element.length);
    *number_out = (uint32_t)strtoul(text + sizeof "element number " - 1, NULL, 10);
    return *number_out < SHARED + CROWD * OWN;
}

static bool has_room(const struct own *own)
{
    return own->length < ORDER_MAX;
}

static void forget_first(struct own *own, uint32_t element)
{
    uint32_t at = 0;
    while (own->order[at].element != element)
        at++;
    memmove(&own->order[at], &own->order[at + 1],
            (own->length - at - 1) * sizeof own->order[0]);
    own->length--;
}

/* Change what is known; returns whether that changed anything. */
static bool apply(struct own *own, int form, uint32_t element, const struct crowd_note *note)
{
    bool was_there = own->counts[element] > 0;
    if (note->verb == ADD) {
        if (form == MCDS_SET_PLAIN && was_there)
            return false;
        own->counts[element]++;
        own->order[own->length++] = (struct occurrence){element, note->asked_ns,
                                                        note->answered_ns};
        return true;
    }
    if (was_there) {
        own->counts[element]--;
        forget_first(own, element);
    }
    return was_there;
}

/* The earlier of two additions comes first. The n-th occurrence of an element that is told is
 * the n-th that has been fetched. */
static bool is_in_order(const struct own *told, const struct own *fetched)
{
    uint32_t from[OWN] = {0};
    int64_t latest_ns = 0;
    for (uint32_t i = 0; i < fetched->length; i++) {
        uint32_t element = fetched->order[i].element;
        uint32_t at = from[element];
        while (told->order[at].element != element)
            at++;
        from[element] = at + 1;
        const struct occurrence *occurrence = &told->order[at];
        if (occurrence->answered_ns != 0 &&
            latest_ns > occurrence->answered_ns + SAME_MOMENT_NS)
            return false;
        if (latest_ns < occurrence->asked_ns)
            latest_ns = occurrence->asked_ns;
    }
    return true;
}

static bool is_same(const struct own *told, const struct own *fetched, int form)
{
    return memcmp(told->counts, fetched->counts, sizeof told->counts) == 0 &&
           (form != MCDS_SET_LIST || is_in_order(told, fetched));
}

struct fetched {
    int form;
    int only; /* the member whose own elements are looked at, for the others change theirs */
    struct own own[CROWD];
    uint64_t shared[SHARED];
    bool fine;
};

static bool take_own(struct fetched *fetched, uint32_t number, uint64_t count)
{
    int member = (int)((number - SHARED) / OWN);
    struct own *own = &fetched->own[member];
    uint32_t element = (number - SHARED) % OWN;
    if (fetched->only != ALL && fetched->only != member)
        return true;
    if (fetched->form != MCDS_SET_LIST && own->counts[element] != 0)
        return COMPLAIN("a fetch brings element %u twice", number);
    if (own->length + count > ORDER_MAX)
        return COMPLAIN("a fetch brings more than was ever there");
    own->counts[element] += (uint32_t)count;
    if (fetched->form == MCDS_SET_LIST)
        own->order[own->length++].element = element;
    return true;
}

static bool take(void *context, mcds_bytes element, uint64_t count)
{
    struct fetched *fetched = context;
    uint32_t number;
    if (!parse_element(element, &number))
        fetched->fine = COMPLAIN("a fetch brings what nobody added");
    else if (number < SHARED)
        fetched->shared[number] += count;
    else if (!take_own(fetched, number, count))
        fetched->fine = false;
    return fetched->fine;
}

static bool fetch(mcds_set *set, int form, int only, struct fetched *fetched)
{
    memset(fetched, 0, sizeof *fetched);
    fetched->only = only;
    fetched->form = form;
    fetched->fine = true;
    int result = mcds_set_scan(set, take, fetched);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND)
        return COMPLAIN("fetch: %s", mcds_errmsg());
    return fetched->fine;
}

/* The note, or NULL. */
static const struct crowd_note *change(struct player *player, int form, uint32_t number,
                                       unsigned verb, bool *changed_out)
{
    char capacity[32];
    struct crowd_note *note = crowd_ask(player->member, verb, what_of(form, number));
    mcds_bytes element = name_element(number, capacity);
    int result = verb == ADD ? mcds_set_add(player->sets[form], element, changed_out)
                             : mcds_set_remove(player->sets[form], element, changed_out);
    if (result != MCDS_OK) {
        (void)COMPLAIN("%s: %s", verb == ADD ? "add" : "remove", mcds_errmsg());
        return NULL;
    }
    crowd_answer(note, changed_out == NULL || *changed_out);
    return note;
}

static bool look(struct player *player, int form, uint32_t element)
{
    char capacity[32];
    uint32_t number = own_number(player->member->number, element);
    int expected = player->own[form].counts[element] > 0 ? MCDS_OK : MCDS_NOT_FOUND;
    int result = mcds_set_has(player->sets[form], name_element(number, capacity));
    if (result == expected)
        return true;
    return COMPLAIN("has %s %u: %s, must be %s", names[form], number, mcds_result_name(result),
                    mcds_result_name(expected));
}

static bool play_own(struct player *player, int form)
{
    struct own *own = &player->own[form];
    uint32_t element = (uint32_t)crowd_roll(player->member, OWN);
    uint64_t chance = crowd_roll(player->member, 8);
    if (chance < 2)
        return look(player, form, element);
    unsigned verb = chance < 6 && has_room(own) ? ADD : REMOVE;
    bool asks = crowd_roll(player->member, 2) == 0;
    bool changed = false;
    uint32_t number = own_number(player->member->number, element);
    const struct crowd_note *note = change(player, form, number, verb, asks ? &changed : NULL);
    if (note == NULL)
        return false;
    bool expected = apply(own, form, element, note);
    if (!asks || changed == expected)
        return true;
    return COMPLAIN("%s %s %u: changed %d, must be %d", verb == ADD ? "add" : "remove",
                    names[form], number, changed, expected);
}

/* A run of changes in flight at once, on elements that all want, or on one. */
static bool play_shared(struct player *player, int form)
{
    struct crowd_note *notes[SHARED_RUN];
    bool changed[SHARED_RUN] = {false};
    char capacity[32];
    uint64_t spread = crowd_roll(player->member, 2) == 0 ? 1 : SHARED;
    bool adds = form == MCDS_SET_BAG && crowd_roll(player->member, 2) == 0;
    for (uint64_t i = 0; i < SHARED_RUN; i++) {
        uint32_t number = (uint32_t)crowd_roll(player->member, spread);
        unsigned verb = adds || crowd_roll(player->member, 2) == 0 ? ADD : REMOVE;
        mcds_bytes element = name_element(number, capacity);
        changed[i] = adds;
        notes[i] = crowd_ask(player->member, verb, what_of(form, number));
        int result = verb == ADD
                         ? mcds_set_add_start(player->sets[form], element,
                                              adds ? NULL : &changed[i], player->pipeline, i)
                         : mcds_set_remove_start(player->sets[form], element, &changed[i],
                                                 player->pipeline, i);
        if (result != MCDS_OK)
            return COMPLAIN("start: %s", mcds_errmsg());
    }
    for (int i = 0; i < SHARED_RUN; i++) {
        mcds_completion done;
        if (mcds_pipeline_next(player->pipeline, &done) != MCDS_OK || done.result != MCDS_OK)
            return COMPLAIN("pipeline: %s", mcds_errmsg());
        crowd_answer(notes[done.tag], changed[done.tag]);
    }
    return true;
}

static bool play_fetch(struct player *player, int form, struct fetched *fetched)
{
    int number = player->member->number;
    return fetch(player->sets[form], form, number, fetched) &&
           (is_same(&player->own[form], &fetched->own[number], form) ||
            COMPLAIN("a fetch of %s differs from what is there", names[form]));
}

static bool open_sets(mcds_store *store, mcds_set **sets)
{
    for (int form = 0; form < FORMS; form++) {
        mcds_set_options options = MCDS_SET_OPTIONS_INIT;
        options.form = (mcds_set_form)form;
        if (mcds_set_open(store, names[form], &options, &sets[form]) != MCDS_OK)
            return COMPLAIN("open: %s", mcds_errmsg());
    }
    return true;
}

static void close_sets(mcds_set **sets)
{
    for (int form = 0; form < FORMS; form++)
        mcds_set_close(sets[form]);
}

static bool play(struct player *player, struct fetched *fetched)
{
    bool fine = true;
    while (fine && crowd_goes_on(player->member)) {
        int form = (int)crowd_roll(player->member, FORMS);
        if (crowd_roll(player->member, FETCH_ONE_IN) == 0)
            fine = play_fetch(player, form, fetched);
        else if (crowd_roll(player->member, 8) == 0)
            fine = play_shared(player, form);
        else
            fine = play_own(player, form);
    }
    return fine;
}

static bool live(struct crowd_member *member)
{
    struct player *player = calloc(1, sizeof *player);
    struct fetched *fetched = malloc(sizeof *fetched);
    if (player == NULL || fetched == NULL)
        abort();
    player->member = member;
    bool fine = mcds_pipeline_open(member->store, NULL, &player->pipeline) == MCDS_OK &&
                open_sets(member->store, player->sets) && play(player, fetched);
    mcds_pipeline_close(player->pipeline);
    close_sets(player->sets);
    free(fetched);
    free(player);
    return fine;
}

/* What a journal says of its member's own elements: without, and with, the call in doubt. */
static bool judge_own(const struct crowd_journal *journal, int number, int form,
                      const struct fetched *fetched)
{
    static struct own told, doubted;
    bool doubt = false;
    memset(&told, 0, sizeof told);
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        uint32_t element = note->what / FORMS;
        if ((int)(note->what % FORMS) != form || element < SHARED)
            continue;
        element -= own_number(number, 0);
        if (note->answered_ns != 0) {
            (void)apply(&told, form, element, note);
        } else {
            doubt = true; /* the last of all */
            doubted = told;
            (void)apply(&doubted, form, element, note);
        }
    }
    if (is_same(&told, &fetched->own[number], form) ||
        (doubt && is_same(&doubted, &fetched->own[number], form)))
        return true;
    return COMPLAIN("%s: the elements of %d are not what it was told", names[form], number);
}

struct balance {
    int64_t net;        /* additions less removals that changed something */
    int64_t more, less; /* what calls in doubt may have done */
};

static void weigh(const struct crowd_journal *journal, int form, struct balance *balances)
{
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        uint32_t number = note->what / FORMS;
        if ((int)(note->what % FORMS) != form || number >= SHARED)
            continue;
        struct balance *balance = &balances[number];
        if (note->answered_ns == 0)
            *(note->verb == ADD ? &balance->more : &balance->less) += 1;
        else if (note->answer != 0)
            balance->net += note->verb == ADD ? 1 : -1;
    }
}

static bool judge_form(mcds_set *set, int form, struct crowd_journal *const *journals)
{
    static struct fetched fetched;
    struct balance balances[SHARED] = {{0, 0, 0}};
    if (!fetch(set, form, ALL, &fetched))
        return false;
    bool fine = true;
    for (int i = 0; i < CROWD; i++) {
        fine = judge_own(journals[i], i, form, &fetched) && fine;
        weigh(journals[i], form, balances);
    }
    for (int i = 0; i < SHARED; i++) {
        int64_t there = (int64_t)fetched.shared[i];
        if (there < balances[i].net - balances[i].less ||
            there > balances[i].net + balances[i].more)
            fine = COMPLAIN("%s: shared %d is there %lld times, must be %lld", names[form], i,
                            (long long)there, (long long)balances[i].net);
    }
    return fine;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    mcds_set *sets[FORMS] = {NULL};
    bool fine = open_sets(store, sets);
    for (int form = 0; fine && form < FORMS; form++)
        fine = judge_form(sets[form], form, journals) && fine;
    close_sets(sets);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play set = {live, judge};
    return crowd_main(argc, argv, &set);
}
