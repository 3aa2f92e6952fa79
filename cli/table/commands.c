/* The table of all commands. */
#include "table/commands.h"

#include "table/collections.h"
#include "table/drop.h"
#include "table/leases.h"
#include "table/nouns.h"
#include "table/parameters.h"
#include "table/queue_commands.h"
#include "table/whole_commands.h"

#define STRIPES OPTION_STRIPES
#define EXACT OPTION_EXACT, OPTION_COPIES
#define COUNTER OPTION_SIGNED, OPTION_PLAIN, STRIPES, EXACT, OPTION_TTL
#define MEMBERS OPTION_EXACT, OPTION_ESTIMATED
#define PERIOD OPTION_PERIOD, MEMBERS
#define WINDOW OPTION_BUCKETS, OPTION_WIDTH, MEMBERS
#define VIEWS OPTION_DATABASE, OPTION_FLUSH
#define RATES OPTION_RATE, OPTION_BURST
#define IDS OPTION_BITS, OPTION_SPREAD
#define RAW OPTION_RAW_LINES

/* Of several names. */
static const struct column number_columns[] = {
    {.title = "name"}, {.title = "number", .is_number = true}, {.is_end = true}};

/* Of a page. */
static const struct column page_columns[] = {{.title = "page", .ink = INK_NOUN},
                                             {.title = "views", .is_number = true},
                                             {.is_end = true}};

static const struct verb counter_verbs[] = {
    {.word = "add",
     .arguments = takes_delta,
     .options = OPTIONS(COUNTER),
     .overlap = OVERLAP_SETTLED,
     .makes = true,
     .start = counter_add,
     .print = counter_print_add,
     .done = "added",
     .help =
         "Add N and print the new value; with --stripes, --exact or --copies, print 'added' "
         "instead. Makes the counter when there is none."},
    {.word = "get",
     .arguments = takes_names,
     .options = OPTIONS(STRIPES, EXACT),
     .overlap = OVERLAP_FREELY,
     .start = counter_get,
     .columns = number_columns,
     .print = counter_print_get,
     .help = "Print the value."},
    {.word = "take",
     .erases = true,
     .arguments = takes_name,
     .options = OPTIONS(STRIPES),
     .overlap = OVERLAP_NEVER,
     .start = counter_take,
     .print = counter_print_take,
     .done = "taken",
     .help = "Print the value and subtract it; additions made meanwhile stay. Several takers "
             "at once get different parts."},
    {DROP, .options = OPTIONS(STRIPES, EXACT), .start = counter_drop,
     .help = "Erase the counter."},
    {.word = NULL},
};

static const struct verb cache_verbs[] = {
    {.word = "get",
     .arguments = takes_one_key,
     .options = OPTIONS(OPTION_ENTRY_TTL, OPTION_STALE, OPTION_TAG, OPTION_NOTHING),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = cache_get,
     .runs_program = true,
     .help =
         "Print the value of KEY, unchanged. If there is none, run COMMAND, print its output "
         "and store it when COMMAND exits with 0. Of all callers on all machines, one runs "
         "COMMAND; the others wait for its output, or print the stale value. If COMMAND fails, "
         "print the stale value, or exit with its code, as the other callers do; no caller "
         "runs it again for 1s, then 2s, at most 1m. The output is stored and printed as a "
         "whole, up to 64 MB. A "
         "caller that is killed blocks KEY for 10s, on memcached 12s. A caller waits a day at "
         "most. Without COMMAND, only print what there is, without waiting."},
    {.word = "forget",
     .erases = true,
     .arguments = takes_maybe_key,
     .options = OPTIONS(OPTION_TAG),
     .overlap = OVERLAP_NEVER,
     .start = cache_forget,
     .print = cache_print_forget,
     .done = "forgotten",
     .help =
         "Forget the value of KEY, or all values with a --tag. No call after this prints an "
         "older value; the output of a COMMAND that runs now is not stored. Exits with 0 also "
         "where there is no value."},
    {.word = "expire",
     .erases = true,
     .arguments = takes_one_key,
     .overlap = OVERLAP_NEVER,
     .start = cache_expire,
     .print = cache_print_expire,
     .done = "expired",
     .help =
         "Make the value of KEY stale: for the rest of its --stale the callers of get print "
         "it while one of them runs COMMAND. A value without --stale is forgotten. The output "
         "of a COMMAND that runs now is not stored. Exits with 0 also where there is no "
         "value."},
    {.word = "hold",
     .arguments = takes_maybe_key,
     .options = OPTIONS(OPTION_TAG, OPTION_FOR),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = cache_hold,
     .runs_program = true,
     .help =
         "Run COMMAND, which changes the source, and then forget KEY and the tags. Until then "
         "no output is stored for them. If this host dies before it has forgotten them, "
         "their values end after --for, on memcached up to 3 s later."},
    {.word = "clear",
     .erases = true,
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .start = cache_clear,
     .print = cache_print_clear,
     .done = "cleared",
     .help =
         "Forget all values. Makes the cache when there is none: the store may have lost it, "
         "and a COMMAND that runs now must not store its output."},
    {DROP, .start = cache_drop,
     .help = "Forget all values, and erase the other keys of the cache. The store drops the "
             "keys of the values when their ttl ends."},
    {.word = NULL},
};

static const struct verb visitors_verbs[] = {
    {.word = "hit",
     .arguments = takes_maybe_visitor,
     .options = OPTIONS(PERIOD, RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_EACH,
     .makes = true,
     .start = visitors_hit,
     .print = print_counted,
     .done = "counted",
     .help = "Count a visit. Prints 'counted', or 'known' when this period has counted "
             "VISITOR before."},
    {.word = "get",
     .arguments = takes_names,
     .options = OPTIONS(PERIOD, OPTION_CLOSED),
     .overlap = OVERLAP_FREELY,
     .start = visitors_get,
     .columns = number_columns,
     .print = visitors_print_get,
     .help = "Print the number of visitors in the current period."},
    {.word = "estimate",
     .arguments = takes_names,
     .options = OPTIONS(PERIOD),
     .overlap = OVERLAP_FREELY,
     .start = visitors_get,
     .columns = number_columns,
     .print = visitors_print_estimate,
     .help = "Print an estimate of the number of visitors within one period before now."},
    {DROP, .options = OPTIONS(PERIOD), .start = visitors_drop,
     .help = "Erase the current period and the one before it. Without --exact or --estimated, "
             "visitors that they have counted stay known until the period is over."},
    {.word = NULL},
};

static const struct verb online_verbs[] = {
    {.word = "beat",
     .arguments = takes_visitor,
     .options = OPTIONS(WINDOW, RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_EACH,
     .makes = true,
     .start = online_beat,
     .print = print_counted,
     .done = "counted",
     .help =
         "Report that VISITOR is active. Prints 'counted', or 'known' when this bucket has "
         "counted VISITOR before. Exits with 74, and counts nothing, if a beat of VISITOR is "
         "more than 31 buckets later: then a clock is wrong."},
    {.word = "get",
     .arguments = takes_names,
     .options = OPTIONS(WINDOW),
     .overlap = OVERLAP_FREELY,
     .start = online_count,
     .columns = number_columns,
     .print = online_print_count,
     .help = "Print the number of visitors with a beat in the window, the N buckets before "
             "now. Each visitor counts once."},
    {DROP, .options = OPTIONS(WINDOW), .start = online_drop,
     .help = "Erase the counts of the window. Without --exact or --estimated, visitors that it "
             "has counted stay known until the window has passed."},
    {.word = NULL},
};

static const struct verb views_verbs[] = {
    {.word = "hit",
     .arguments = takes_page_count,
     .options = OPTIONS(VIEWS, RAW),
     .overlap = OVERLAP_FREELY,
     .feed = FEED_EACH,
     .makes = true,
     .start = views_hit,
     .print = views_print_hit,
     .done = "counted",
     .help = "Count N views of PAGE."},
    {.word = "get",
     .arguments = takes_page,
     .options = OPTIONS(VIEWS),
     .overlap = OVERLAP_FREELY,
     .start = views_get,
     .print = views_print_get,
     .help = "Print the total number of views of PAGE."},
    {.word = "top",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_DATABASE, OPTION_LIMIT),
     .overlap = OVERLAP_NEVER,
     .run = views_top,
     .columns = page_columns,
     .help =
         "Print the pages with the most views, the most first, at most --limit of them, "
         "otherwise 10: PAGE, a tab, the number. Reads all pages of the database, and counts "
         "the views that 'views flush' has saved there."},
    {.word = "flush",
     .arguments = takes_name,
     .options = OPTIONS(VIEWS),
     .overlap = OVERLAP_NEVER,
     .start = views_flush,
     .print = views_print_flush,
     .done = "flushed",
     .help = "Save the views of the intervals that have ended into the database. Run it about "
             "every minute, and at least once a day; more often does no harm."},
    {DROP, .options = OPTIONS(VIEWS), .start = views_drop,
     .help =
         "Erase what the store holds of the views. The database keeps what was saved: before "
         "this, erase its table, 'table drop views:NAME'."},
    {.word = NULL},
};

static const struct verb limit_verbs[] = {
    {.word = "take",
     .arguments = takes_tokens,
     .options = OPTIONS(RATES, OPTION_PATIENCE),
     .overlap = OVERLAP_FREELY,
     .makes = true,
     .start = limit_take,
     .print = limit_print_take,
     .done = "taken",
     .help =
         "Take N tokens of IDENTITY. Prints 'taken' and the number that is left, or 'refused' "
         "and the seconds after which the same take passes, and then exits with 1. A refused "
         "take takes no token. --burst window cannot be combined with --patience."},
    {.word = "get",
     .arguments = takes_identity,
     .options = OPTIONS(RATES),
     .overlap = OVERLAP_FREELY,
     .start = limit_get,
     .print = limit_print_get,
     .help = "Print the number of tokens that IDENTITY has left, and take none."},
    {.word = "give",
     .arguments = takes_tokens,
     .options = OPTIONS(OPTION_RATE, OPTION_BURST),
     .overlap = OVERLAP_FREELY,
     .start = limit_give,
     .print = limit_print_give,
     .done = "given",
     .help = "Give back N tokens of IDENTITY that were taken and not used."},
    {.word = "run",
     .arguments = takes_maybe_identity,
     .options = OPTIONS(RATES, OPTION_PATIENCE),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .start = limit_take,
     .run = limit_run,
     .help =
         "Take a token, wait until it is available, then run COMMAND in place of mcds. If the "
         "wait would be longer than --patience, take no token and exit with 75. A signal "
         "during the wait gives the token back; SIGKILL does not. With --burst window it tries "
         "again whenever the window may have a free token: those that wait have no order."},
    {.word = "ls",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_CURSOR, OPTION_LIMIT),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = limit_ls,
     .print = limit_print_ls,
     .has_more = limit_has_more,
     .help = "Print the identities whose bucket is not full, in no order: IDENTITY, a tab, the "
             "seconds until it is full. When --limit leaves some, standard error names the "
             "CURSOR that continues; with --json, the last line does."},
    {DROP, .start = limit_drop, .help = "Erase the limit: every bucket is then full."},
    {.word = NULL},
};

static const struct verb ids_verbs[] = {
    {.word = "next",
     .arguments = takes_name,
     .options = OPTIONS(IDS, OPTION_HOW_MANY),
     .overlap = OVERLAP_FREELY,
     .makes = true,
     .start = ids_next,
     .print = ids_print_next,
     .done = "taken",
     .help =
         "Print ids that nobody else gets, on any machine, also after the store has lost its "
         "data: numbers that rise with time, with gaps. The first ids of a NAME come after "
         "--spread, and so do the first ones after a loss."},
    {DROP, .start = ids_drop,
     .help = "Erase what the store holds of NAME. The next ids are above all earlier ones."},
    {.word = NULL},
};

#define NOUN(noun, none, text)                                                                 \
    .word = #noun, .missing = none, .open = noun##_open, .close = noun##_close,                \
    .verbs = noun##_verbs, .help = text

const struct noun all_nouns[] = {
    {NOUN(counter, "there is none", "a number that many processes add to"),
     .shape = OPTIONS(COUNTER), .keeps_options = true, .shows_options = true},
    {NOUN(cache, "there is none", "values by key; one caller makes each value"),
     .why_not = cache_why_not},
    {NOUN(lock, "nobody holds it", "run a command on one host at a time"),
     .shape = OPTIONS(OPTION_LEASE)},
    {NOUN(semaphore, "there is none", "run a command on at most N hosts at a time"),
     .shape = OPTIONS(OPTION_PERMITS, OPTION_LEASE)},
    {NOUN(leader, "there is none", "keep a command running on one of many hosts"),
     .shape = OPTIONS(OPTION_LEASE)},
    {NOUN(once, "there is nothing", "run a command once for each key, on all hosts together"),
     .shape = OPTIONS(ONCE_KEY), .why_not = once_why_not},
    {NOUN(visitors, "there is none", "number of visitors in each period"),
     .shape = OPTIONS(PERIOD), .keeps_options = true},
    {NOUN(online, "there is none", "number of visitors active now"), .shape = OPTIONS(WINDOW),
     .keeps_options = true},
    {NOUN(views, "there is none", "total number of views of each page"),
     .shape = OPTIONS(VIEWS), .why_not = views_why_not, .keeps_options = true},
    {NOUN(set, "there is none", "elements that many processes add and remove"),
     .shape = OPTIONS(FORM), .keeps_options = true},
    {NOUN(table, "there is none", "values by key")},
    {NOUN(limit,
          "there is none with buckets; with --burst window, a limit has no ls and no drop: its "
          "numbers expire",
          "rate limits for identities"),
     .shape = OPTIONS(RATES), .why_not = limit_why_not},
    {NOUN(queue, "there is none", "jobs that workers take in turn"), .shape = OPTIONS(STRIPES),
     .why_not = queue_why_not},
    {NOUN(ids, "there is none", "unique numbers that rise"), .shape = OPTIONS(IDS)},
    {NOUN(list, "there is none", "values in the order in which they were pushed")},
    {NOUN(log, "there is none", "events with a time, kept for a retention time"),
     .shape = OPTIONS(LOG)},
    {NOUN(array, "there is none", "elements in order, changed as a whole")},
    {.word = "batch", .verbs = batch_verbs, .help = "many commands from standard input"},
    {.word = "shell",
     .verbs = shell_verbs,
     .help = "a prompt for commands, or a script of them"},
    {.word = "ls", .verbs = ls_verbs, .help = "list the structures"},
    {.word = "rm", .verbs = rm_verbs, .help = "drop structures by name"},
    {.word = "watch", .verbs = watch_verbs, .help = "print each change of structures"},
    {.word = "top", .verbs = top_verbs, .help = "show what a store does and what changes"},
    {.word = "backup", .verbs = backup_verbs, .help = "copy a store in use to a new file"},
    {.word = "dump", .verbs = dump_verbs, .help = "write structures into a file of text"},
    {.word = "load", .verbs = load_verbs, .help = "make the structures of a dump again"},
    {.word = "doctor", .verbs = doctor_verbs, .help = "describe the store and its problems"},
    {.word = "help", .verbs = help_verbs, .help = "explain a command, or the exit codes"},
    {.word = "completion", .verbs = completion_verbs, .help = "completion for a shell"},
    {.word = NULL},
};
