/* mcds rm: drops structures by their names, whatever their noun.
 *
 *   listing of the store --> found --question--> ring --> a line for each */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch/listing.h"
#include "batch/ring.h"
#include "io/exit.h"
#include "io/report.h"
#include "signals/interrupt.h"
#include "table/commands.h"
#include "table/nouns.h"
#include "terminal/progress.h"

#define SHOWN_MAX 20 /* structures that the question names */

/* A name on the command line. */
struct typed {
    const char *name;
    size_t place;
};

struct removal {
    struct session *session;
    const struct command *command;
    struct typed *typed; /* by name; of equal names the first one typed comes first */
    struct progress progress;
    struct listing listing; /* each with the place of its name among those typed */
    bool has_hash;          /* the listing has a name that may be a hash */
    bool is_out_of_memory;
};

static int refuse(struct removal *removal, int status, const char *result, const char *sentence)
{
    report_failure(&removal->session->output, removal->command, status, result, sentence);
    return status;
}

static int compare_typed(const void *a, const void *b)
{
    const struct typed *left = a;
    const struct typed *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->place > right->place) - (left->place < right->place);
}

/* False: out of memory. */
static bool sort_typed(struct removal *removal)
{
    size_t count = removal->command->element_count;
    removal->typed = malloc((count + 1) * sizeof removal->typed[0]);
    if (removal->typed == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        removal->typed[i] = (struct typed){removal->command->elements[i].data, i};
    qsort(removal->typed, count, sizeof removal->typed[0], compare_typed);
    return true;
}

/* The index of the first equal name on the command line, or element_count. */
static size_t place_of(const struct removal *removal, const char *name)
{
    size_t low = 0;
    size_t high = removal->command->element_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(removal->typed[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_typed = low < removal->command->element_count &&
                    strcmp(removal->typed[low].name, name) == 0;
    return is_typed ? removal->typed[low].place : removal->command->element_count;
}

static bool visit(void *context, const mcds_listed *listed)
{
    struct removal *removal = context;
    const struct command *command = removal->command;
    const struct noun *noun = find_noun(removal->session->nouns, listed->noun);
    size_t place = place_of(removal, listed->name);
    bool is_wanted = is_given(command, OPTION_ALL) || place < command->element_count;
    removal->has_hash = removal->has_hash || listed->name[0] == '~';
    if (noun == NULL || !is_wanted)
        return true;
    removal->is_out_of_memory = !listing_keep(&removal->listing, noun, place, listed->name);
    return !removal->is_out_of_memory;
}

static int find_all(struct removal *removal)
{
    int result = mcds_scan(removal->session->store, visit, removal);
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "rm: %s%s; nothing was dropped", mcds_errmsg(),
                   advice_on(result));
    if (removal->is_out_of_memory)
        return refuse(removal, STATUS_INTERNAL, "MCDS_NO_MEMORY", "rm: out of memory");
    if (result != MCDS_OK)
        return refuse(removal, status_of(result), mcds_result_name(result), sentence);
    listing_sort(&removal->listing);
    return STATUS_DONE;
}

/* Names the structures and reads the answer from the terminal. */
static bool is_agreed(const struct removal *removal)
{
    const struct output *output = &removal->session->output;
    char answer[16] = "";
    for (size_t i = 0; i < removal->listing.count && i < SHOWN_MAX; i++)
        complain(output, "%s '%.200s'", removal->listing.found[i].noun->word,
                 removal->listing.found[i].name);
    if (removal->listing.count > SHOWN_MAX)
        complain(output, "and %zu others", removal->listing.count - SHOWN_MAX);
    (void)fprintf(stderr, "mcds: drop %s? [y/N] ",
                  removal->listing.count == 1 ? "it" : "all of these");
    (void)fflush(stderr);
    return fgets(answer, sizeof answer, stdin) != NULL &&
           (answer[0] == 'y' || answer[0] == 'Y');
}

/* Of once: its keys are found only by name. */
static void refuse_keys(struct slot *slot)
{
    char sentence[SENTENCE_MAX];
    const char *name = slot->command.arguments[0];
    (void)snprintf(sentence, sizeof sentence,
                   "%s '%.200s': not dropped: its keys expire by themselves, and "
                   "'once KEY --in %.200s --forget' erases one",
                   slot->command.noun->word, name, name);
    slot_refuse(slot, STATUS_NO, sentence);
}

static void drop(struct removal *removal, struct ring *ring, const struct found *found)
{
    struct slot *slot = ring_next(ring);
    struct command *command = &slot->command;
    command->noun = found->noun;
    command->verb = find_verb(found->noun, "drop");
    if (command->verb == NULL) { /* lock NAME --drop */
        command->verb = &found->noun->verbs[0];
        command->options[OPTION_DROP].given = true;
    }
    command->store_uri = removal->command->store_uri;
    command->store_ns = removal->command->store_ns;
    command->arguments[0] = found->name;
    command->bytes[0] = mcds_text(found->name);
    command->is_of_several = true;
    command->options[OPTION_YES].given = true;
    if (!is_among(command->verb->options, OPTION_DROP) && command->verb->word[0] == '\0') {
        refuse_keys(slot);
        return;
    }
    /* The store may still list a dropped structure. A name that begins with ~ may be a hash, of which
     * nothing was dropped. */
    slot->may_be_gone = is_given(removal->command, OPTION_ALL) && found->name[0] != '~';
    ring_start(ring, slot);
    progress_count(&removal->progress, 1);
}

/* Whether the name may be one of which the store lists only a hash. */
static bool may_be_hashed(const struct removal *removal, const char *name)
{
    return removal->has_hash && strlen(name) >= HASHED_MIN;
}

/* No structure has the name, so its object has no noun. */
static void refuse_name(const struct removal *removal, struct ring *ring, const char *name)
{
    struct slot *slot = ring_next(ring);
    static const struct noun nothing = {.word = ""};
    static const struct verb drop_verb = {.word = "drop"};
    char sentence[SENTENCE_MAX];
    slot->command.noun = &nothing;
    slot->command.verb = &drop_verb;
    slot->command.arguments[0] = name;
    slot->command.is_of_several = true;
    if (may_be_hashed(removal, name))
        (void)snprintf(sentence, sizeof sentence,
                       "rm: '%.200s' is not listed, but may exist: of a name of more than 100 "
                       "bytes the store lists only a hash; 'mcds NOUN drop NAME' drops it",
                       name);
    else
        (void)snprintf(sentence, sizeof sentence, "rm: there is no '%.200s'; %s", name,
                       strpbrk(name, "*?[") == NULL
                           ? "'mcds ls' lists the names"
                           : "rm takes names, not patterns; 'mcds ls PATTERN' lists them");
    slot_refuse(slot, STATUS_NO, sentence);
}

/* Drops the structures with the name at `place` of the command line, from listing.found[*next] on. */
static void drop_named(struct removal *removal, struct ring *ring, size_t place, size_t *next)
{
    const struct listing *listing = &removal->listing;
    const char *name = removal->command->elements[place].data;
    bool is_there = *next < listing->count && listing->found[*next].place == place;
    if (!is_there && place_of(removal, name) == place)
        refuse_name(removal, ring, name);
    while (*next < listing->count && listing->found[*next].place == place)
        drop(removal, ring, &listing->found[(*next)++]);
}

/* Until a signal comes. Returns the first name that was not tried, or NULL. */
static const char *drop_each(struct removal *removal, struct ring *ring)
{
    const struct command *command = removal->command;
    size_t next = 0;
    for (size_t place = 0; place < command->element_count; place++) {
        if (interrupt_number() != 0)
            return command->elements[place].data;
        drop_named(removal, ring, place, &next);
    }
    for (; next < removal->listing.count; next++) {
        if (interrupt_number() != 0)
            return removal->listing.found[next].name;
        drop(removal, ring, &removal->listing.found[next]);
    }
    return NULL;
}

/* Before this a signal ends the process: nothing was dropped. */
static int drop_all(struct removal *removal)
{
    struct ring *ring = NULL;
    int status = ring_open(removal->session, &ring);
    progress_begin(&removal->progress, "structures", "dropped",
                   progress_is_wanted(removal->session->output.quiet, true));
    removal->progress.all = removal->listing.count;
    if (status == STATUS_DONE) {
        interrupt_open();
        status = ring_end(ring, "rm", drop_each(removal, ring));
        interrupt_close();
    }
    progress_end(&removal->progress);
    ring_close(ring);
    return status;
}

/* Returns a sentence if the words do not say what to drop, or NULL. */
static const char *why_not(const struct command *command)
{
    bool is_all = is_given(command, OPTION_ALL);
    if (!is_all && command->element_count == 0)
        return "rm: the NAME is missing; usage: mcds rm [NAME...] [OPTIONS]";
    if (is_all && command->element_count > 0)
        return "rm: give NAMEs, or --all without a NAME";
    if (is_all && !is_given(command, OPTION_NAMESPACE))
        return "rm: --all drops a whole namespace; name it with -N";
    if (!is_given(command, OPTION_YES) && !(isatty(STDIN_FILENO) && isatty(STDERR_FILENO)))
        return "rm: there is no terminal to ask on; --yes drops without a question";
    return NULL;
}

static int refuse_namespace(struct removal *removal)
{
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence,
                   "rm: namespace '%.200s' has no structure; -N names another",
                   removal->command->options[OPTION_NAMESPACE].text);
    return refuse(removal, STATUS_NO, "MCDS_NOT_FOUND", sentence);
}

int rm_run(struct session *session, const struct command *command)
{
    struct removal removal = {.session = session, .command = command};
    const char *against = why_not(command);
    if (against != NULL)
        return refuse(&removal, STATUS_USAGE, "MCDS_INVALID", against);
    if (!sort_typed(&removal))
        return refuse(&removal, STATUS_INTERNAL, "MCDS_NO_MEMORY", "rm: out of memory");
    int status = session_open_store(session);
    if (status == STATUS_DONE)
        status = find_all(&removal);
    if (status == STATUS_DONE && removal.listing.count == 0 && is_given(command, OPTION_ALL))
        status = refuse_namespace(&removal);
    else if (status == STATUS_DONE && removal.listing.count > 0 &&
             !is_given(command, OPTION_YES) && !is_agreed(&removal))
        status = refuse(&removal, STATUS_NO, "MCDS_INVALID", "rm: nothing was dropped");
    else if (status == STATUS_DONE)
        status = drop_all(&removal);
    listing_free(&removal.listing);
    free(removal.typed);
    return status;
}
