/* mcds dump: writes structures into a file of text.
 *
 *   names, or the listing of the store --> found --fetch--> writer --> standard output, or FILE */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batch/listing.h"
#include "dump/fetch.h"
#include "dump/format.h"
#include "files/new_file.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/report.h"
#include "run/session.h"
#include "table/commands.h"
#include "table/nouns.h"

struct dump {
    struct session *session;
    const struct command *command;
    struct listing listing;
    bool *is_met;     /* for each word that was typed: something has matched it, */
    bool *is_name;    /* or is named so exactly */
    bool has_listing; /* for a pattern, or --all */
    bool is_out_of_memory;
    struct new_file file;
    struct writer writer;
    struct progress progress;
    int status;
};

static int refuse(struct dump *dump, int status, const char *result, const char *sentence)
{
    report_failure(&dump->session->output, dump->command, status, result, sentence);
    return dump->status = status;
}

#define SPECIAL "*?["
#define HASHED_LENGTH 28 /* ~ and 160 bits in base64url */

static bool has_special(const char *word)
{
    return strpbrk(word, SPECIAL) != NULL;
}

/* One of * ? [ without a backslash before it. */
static bool is_pattern(const char *word)
{
    for (; *word != '\0'; word++)
        if (*word == '\\' && word[1] != '\0')
            word++;
        else if (strchr(SPECIAL, *word) != NULL)
            return true;
    return false;
}

/* Whether the pattern may match a name of which the store has a hash. Without a star, it matches at
 * most one byte with each of its own. */
static bool may_match_hashed(const char *word)
{
    return is_pattern(word) && (strchr(word, '*') != NULL || strlen(word) >= HASHED_MIN);
}

/* A name may contain these characters itself. */
static bool is_like(const char *word, const char *name)
{
    return strcmp(word, name) == 0 || (has_special(word) && fnmatch(word, name, 0) == 0);
}

static bool is_wanted(const struct command *command, const char *name)
{
    for (size_t i = 0; i < command->element_count; i++)
        if (is_like(command->elements[i].data, name))
            return true;
    return is_given(command, OPTION_ALL);
}

/* The table that a load keeps in the store is no data. */
static bool is_mark(const struct noun *noun, const char *name)
{
    return noun->open == table_open && strncmp(name, MARK_NAME, strlen(MARK_NAME)) == 0;
}

/* The places of a listing. Of a long name, the listing has a hash, which a pattern cannot match. */
enum { WANTED, MAY_MATCH, UNMET };

/* As ls prints a name of more than 100 bytes. */
static bool is_hash(const char *name)
{
    return name[0] == '~' && strlen(name) == HASHED_LENGTH && !has_special(name);
}

static bool see_listed(void *context, const mcds_listed *listed)
{
    struct dump *dump = context;
    const struct noun *noun = find_noun(dump->session->nouns, listed->noun);
    bool wanted = is_wanted(dump->command, listed->name);
    if (noun == NULL || is_mark(noun, listed->name) || (!wanted && !is_hash(listed->name)))
        return true;
    dump->is_out_of_memory = !listing_keep(&dump->listing, noun, wanted ? WANTED : MAY_MATCH,
                                           listed->name);
    return !dump->is_out_of_memory;
}

static bool is_unreached(int result)
{
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE;
}

/* The store does not answer, so nobody knows of which noun the name is. */
static int refuse_unreached(struct dump *dump, const char *name, int result)
{
    const mcds_error *error = mcds_last_error();
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "dump: '%.200s': %s%s%s%s; nothing was written",
                   name, error->peer, error->peer[0] != '\0' ? ": " : "", error->reason,
                   advice_on(result));
    return refuse(dump, status_of(result), mcds_result_name(result), sentence);
}

/* MCDS_OK: one of a noun that is not dumped exists. Of views and free locks only the listing
 * knows. */
static int look_for(struct dump *dump, const struct noun *noun, const char *name)
{
    mcds_store *store = dump->session->store;
    mcds_visitors_options visitors = MCDS_VISITORS_OPTIONS_INIT;
    mcds_online_options online = MCDS_ONLINE_OPTIONS_INIT;
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    mcds_lock *lock = NULL;
    if (noun->open == visitors_open)
        return mcds_visitors_made_with(store, name, &visitors);
    if (noun->open == online_open)
        return mcds_online_made_with(store, name, &online);
    if (noun->open != lock_open)
        return MCDS_NOT_FOUND;
    int result = mcds_lock_open(store, name, NULL, &lock);
    if (result == MCDS_OK)
        result = mcds_lock_get_holder(lock, &holder);
    mcds_lock_close(lock);
    return result;
}

/* A name needs no listing, which is slow and on memcached not complete: each noun is asked for it. */
static void find_exactly(struct dump *dump, const char *name)
{
    for (const struct noun *noun = dump->session->nouns; noun->word != NULL; noun++) {
        if (noun->open == NULL || dump->is_out_of_memory || dump->status != STATUS_DONE)
            continue;
        int result = why_omitted(noun) == NULL ? MCDS_OK : look_for(dump, noun, name);
        if (is_unreached(result))
            (void)refuse_unreached(dump, name, result);
        else if (result == MCDS_OK)
            dump->is_out_of_memory = !listing_keep(&dump->listing, noun, WANTED, name);
    }
}

/* The name as it was typed, and where it has escapes, that without them. A listing has only hashes
 * of long names, so a pattern is asked for as a name too. */
static void find_by_name(struct dump *dump, const char *word)
{
    find_exactly(dump, word);
    if (is_pattern(word) || !has_special(word))
        return;
    char *name = malloc(strlen(word) + 1);
    size_t length = 0;
    for (; name != NULL && *word != '\0'; name[length++] = *word++)
        if (*word == '\\' && word[1] != '\0')
            word++;
    dump->is_out_of_memory = dump->is_out_of_memory || name == NULL;
    if (name != NULL) {
        name[length] = '\0';
        find_exactly(dump, name);
    }
    free(name);
}

static int find_all(struct dump *dump)
{
    const struct command *command = dump->command;
    dump->has_listing = is_given(command, OPTION_ALL);
    int result = MCDS_OK;
    for (size_t i = 0; i < command->element_count; i++) {
        const char *word = command->elements[i].data;
        dump->has_listing = dump->has_listing || is_pattern(word);
        find_by_name(dump, word);
    }
    if (dump->status != STATUS_DONE)
        return dump->status;
    if (dump->has_listing)
        result = mcds_scan(dump->session->store, see_listed, dump);
    if (dump->is_out_of_memory)
        return refuse(dump, STATUS_INTERNAL, "MCDS_NO_MEMORY", "dump: out of memory");
    if (result == MCDS_OK) {
        listing_sort(&dump->listing);
        return STATUS_DONE;
    }
    char sentence[SENTENCE_MAX];
    (void)snprintf(sentence, sizeof sentence, "dump: %s%s", mcds_errmsg(), advice_on(result));
    return refuse(dump, status_of(result), mcds_result_name(result), sentence);
}

static void note_met(struct dump *dump, const char *name)
{
    for (size_t i = 0; i < dump->command->element_count; i++) {
        const char *word = dump->command->elements[i].data;
        dump->is_met[i] = dump->is_met[i] || is_like(word, name);
        dump->is_name[i] = dump->is_name[i] || strcmp(word, name) == 0;
    }
}

/* Leaves a structure out of the dump, with a reason. */
static void omit(struct dump *dump, const struct found *found, int status, const char *reason)
{
    const struct output *output = &dump->session->output;
    if (!output->quiet || status > STATUS_NO)
        complain(output, "dump: %s '%.200s' is left out: %s", found->noun->word, found->name,
                 reason);
    writer_omit(&dump->writer, found->noun->word, found->name);
    note_met(dump, found->name);
    if (dump->status <= STATUS_NO)
        dump->status = status;
}

static bool has_found(const struct dump *dump)
{
    return dump->writer.structures + dump->writer.omitted > 0;
}

/* A failure of one structure, not of the store or of this process. */
static bool is_of_the_structure(int result)
{
    return result == MCDS_CORRUPT || result == MCDS_INVALID || result == MCDS_UNSUPPORTED ||
           result == MCDS_OVERFLOW || result == MCDS_LOST;
}

/* False: the dump cannot continue, and why is said. */
static bool take_result(struct dump *dump, const struct found *found, int result)
{
    struct output *output = &dump->session->output;
    char sentence[SENTENCE_MAX];
    char said[FAILURE_CAPACITY];
    if (dump->writer.error != 0)
        return false;
    if (result == MCDS_NOT_FOUND) /* dropped since the listing, or another noun has the name */
        return true;
    describe_failure(said, NULL);
    if (is_unreached(result) && !dump->has_listing && !has_found(dump)) {
        (void)refuse_unreached(dump, found->name, result);
        return false;
    }
    if (result == MCDS_LOST) {
        complain(output, "dump: %s '%.200s': a part of it is lost; the dump has the rest",
                 found->noun->word, found->name);
        dump->status = dump->status <= STATUS_NO ? status_of(result) : dump->status;
    } else if (result != MCDS_OK && is_of_the_structure(result) && !dump->writer.has_begun) {
        omit(dump, found, status_of(result), said);
    } else if (result != MCDS_OK) {
        (void)snprintf(sentence, sizeof sentence, "dump: %s%s; the dump is not whole", said,
                       advice_on(result));
        (void)refuse(dump, status_of(result), mcds_result_name(result), sentence);
        return false;
    }
    note_met(dump, found->name);
    return true;
}

#define ONLY_A_HASH "the store has only a hash of its name, which has more than 100 bytes"

static bool dump_one(struct dump *dump, const struct found *found)
{
    mcds_store *store = dump->session->store;
    const char *reason = why_omitted(found->noun);
    if (reason != NULL) {
        omit(dump, found, STATUS_NO, reason);
        return dump->writer.error == 0;
    }
    int result = fetch(store, found->noun, found->name, &dump->writer, &dump->progress);
    if (result == MCDS_NOT_FOUND && is_hash(found->name) && dump->has_listing) {
        omit(dump, found, STATUS_NO, ONLY_A_HASH ": dump it by its NAME");
        return dump->writer.error == 0;
    }
    return take_result(dump, found, result);
}

/* The same structure may have been found by its name and by a pattern. */
static bool is_again(const struct dump *dump, size_t i)
{
    const struct found *found = &dump->listing.found[i];
    return i > 0 && found->noun == found[-1].noun && strcmp(found->name, found[-1].name) == 0;
}

static bool see_unmet(void *context, const mcds_listed *listed)
{
    struct dump *dump = context;
    const struct noun *noun = find_noun(dump->session->nouns, listed->noun);
    const char *reason = noun != NULL ? why_omitted(noun) : NULL;
    for (size_t i = 0; i < dump->command->element_count && reason != NULL; i++)
        if (!dump->is_met[i] && is_like(dump->command->elements[i].data, listed->name))
            dump->is_out_of_memory = !listing_keep(&dump->listing, noun, UNMET, listed->name);
    return !dump->is_out_of_memory;
}

/* Leaves out the views and free locks among the names that were not found, in the order of names. */
static void omit_unmet(struct dump *dump)
{
    size_t first = dump->listing.count;
    bool is_unmet = false;
    for (size_t i = 0; i < dump->command->element_count; i++)
        is_unmet = is_unmet || !dump->is_met[i];
    if (is_unmet && !dump->has_listing)
        (void)!mcds_scan(dump->session->store, see_unmet, dump);
    listing_sort(&dump->listing); /* these come last */
    for (size_t i = first; i < dump->listing.count; i++) {
        const struct found *found = &dump->listing.found[i];
        if (!is_again(dump, i))
            omit(dump, found, STATUS_NO, why_omitted(found->noun));
    }
}

/* Leaves out what a pattern may match, unless each pattern is also a name that was found. */
static void omit_hashes(struct dump *dump)
{
    const struct command *command = dump->command;
    bool is_unsure = false;
    for (size_t i = 0; i < command->element_count; i++)
        is_unsure = is_unsure ||
                    (may_match_hashed(command->elements[i].data) && !dump->is_name[i]);
    for (size_t i = 0; is_unsure && i < dump->listing.count; i++) {
        const struct found *found = &dump->listing.found[i];
        if (found->place == MAY_MATCH && !is_again(dump, i))
            omit(dump, found, STATUS_NO,
                 ONLY_A_HASH ", so a pattern may match it: dump it by its NAME");
    }
}

static bool dump_all(struct dump *dump)
{
    for (size_t i = 0; i < dump->listing.count; i++)
        if (dump->listing.found[i].place == WANTED && !is_again(dump, i) &&
            !dump_one(dump, &dump->listing.found[i]))
            return false;
    omit_hashes(dump);
    omit_unmet(dump);
    return !has_found(dump) || writer_end(&dump->writer);
}

/* Names the words that nothing matches. */
static void complain_of_unmet(struct dump *dump)
{
    const struct command *command = dump->command;
    for (size_t i = 0; i < command->element_count; i++) {
        const char *word = command->elements[i].data;
        if (dump->is_met[i])
            continue;
        if (!dump->session->output.quiet)
            complain(&dump->session->output, "dump: there is no '%.200s'", word);
        dump->status = dump->status == STATUS_DONE ? STATUS_NO : dump->status;
    }
}

static int complain_of_output(struct dump *dump)
{
    char sentence[SENTENCE_MAX];
    const char *path = dump->command->options[OPTION_OUTPUT].text;
    int reason = dump->writer.error;
    dump->session->output.is_error_told = true;
    if (path == NULL && reason == EPIPE)
        return dump->status = STATUS_IO; /* its reader knows */
    (void)snprintf(sentence, sizeof sentence, "dump: %.300s cannot be written: %s%s",
                   path != NULL ? path : "standard output",
                   reason == EEXIST
                       ? "not a regular file; without -o, the dump goes to standard output"
                       : strerror(reason),
                   advice_on_errno(reason));
    return refuse(dump, STATUS_IO, "MCDS_IO", sentence);
}

static void print_summary(struct dump *dump)
{
    struct output *output = &dump->session->output;
    if (!is_given(dump->command, OPTION_OUTPUT))
        return;
    output_begin(output);
    output_text(output, "noun", "dump", HIDDEN);
    output_word(output, "done", "dumped");
    output_unsigned(output, "structures", dump->writer.structures, SHOWN);
    output_unsigned(output, "elements", dump->writer.elements, SHOWN);
    output_unsigned(output, "omitted", dump->writer.omitted, HIDDEN);
    output_end(output);
}

static int refuse_nothing(struct dump *dump)
{
    char sentence[SENTENCE_MAX];
    const char *ns = dump->command->store_ns;
    (void)snprintf(sentence, sizeof sentence,
                   "dump: namespace '%.40s' has no structure%s; nothing was written",
                   ns != NULL ? ns : "mcds",
                   is_given(dump->command, OPTION_ALL) ? "" : " with such a name");
    return refuse(dump, STATUS_NO, "MCDS_NOT_FOUND", sentence);
}

/* To standard output, or into a file that gets its name at the end. */
static int write_dump(struct dump *dump)
{
    const char *path = dump->command->options[OPTION_OUTPUT].text;
    bool is_fine = path == NULL || new_file_open(&dump->file, path);
    if (!is_fine)
        dump->writer.error = errno;
    FILE *file = path != NULL ? dump->file.file : stdout;
    if (!is_fine || !writer_open(&dump->writer, file) || !dump_all(dump))
        return dump->writer.error != 0 ? complain_of_output(dump) : dump->status;
    progress_end(&dump->progress);
    if (!has_found(dump))
        return refuse_nothing(dump);
    complain_of_unmet(dump);
    if (path != NULL && !new_file_commit(&dump->file)) {
        dump->writer.error = errno;
        return complain_of_output(dump);
    }
    print_summary(dump);
    return dump->status;
}

/* Returns a sentence if the words do not say what to dump, or NULL. */
static const char *why_not(const struct command *command)
{
    bool is_all = is_given(command, OPTION_ALL);
    if (!is_all && command->element_count == 0)
        return "dump: the NAME is missing; --all dumps the whole namespace";
    if (is_all && command->element_count > 0)
        return "dump: give NAMEs, or --all without a NAME";
    if (is_given(command, OPTION_OUTPUT) && command->options[OPTION_OUTPUT].text[0] == '\0')
        return "dump: the FILE of -o is empty; without -o, the dump goes to standard output";
    if (is_given(command, OPTION_JSON) && !is_given(command, OPTION_OUTPUT))
        return "dump: --json is for the summary, as standard output has the dump; write that "
               "into a file with -o FILE";
    return NULL;
}

int dump_run(struct session *session, const struct command *command)
{
    struct dump *dump = calloc(1,
                               sizeof *dump + 2 * (command->element_count + 1) * sizeof(bool));
    if (dump == NULL)
        return STATUS_INTERNAL;
    dump->session = session;
    dump->command = command;
    dump->is_met = (bool *)(dump + 1);
    dump->is_name = dump->is_met + command->element_count + 1;
    const char *against = why_not(command);
    int status = against != NULL ? refuse(dump, STATUS_USAGE, "MCDS_INVALID", against)
                                 : session_open_store(session);
    if (status == STATUS_DONE)
        status = find_all(dump);
    progress_begin(
        &dump->progress, "elements", "dumped",
        progress_is_wanted(session->output.quiet, !is_given(command, OPTION_OUTPUT)));
    if (status == STATUS_DONE && dump->listing.count == 0)
        status = refuse_nothing(dump);
    else if (status == STATUS_DONE)
        status = write_dump(dump);
    progress_end(&dump->progress);
    new_file_close(&dump->file);
    writer_close(&dump->writer);
    listing_free(&dump->listing);
    free(dump);
    return status;
}
