/* The commands whose noun is the whole command: those of a store, of many structures, and help. */
#include "table/whole_commands.h"

#include "table/nouns.h"
#include "table/parameters.h"

static const struct column listing_columns[] = {
    {.title = "noun", .ink = INK_NOUN},   {.title = "name"},
    {.title = "size", .is_number = true}, {.title = "left", .is_number = true},
    {.title = "holder", .ink = INK_GOOD}, {.is_end = true}};
/* The severity, the subject, the finding and the remedy. */
static const struct column finding_columns[] = {{.ink = INK_NONE},
                                                {.ink = INK_NOUN},
                                                {.is_text = true},
                                                {.is_text = true},
                                                {.is_end = true}};

const struct verb batch_verbs[] = {
    {.word = "",
     .arguments = takes_nothing,
     .run = batch_run,
     .makes = true,
     .takes_lines = true,
     .help =
         "Read commands from standard input, one per line, as typed after 'mcds', quoted as in "
         "a shell, and execute many at once. Each prints one line, in the order of the input; "
         "'-' is a command that failed. Commands on one name take effect in order."},
    {.word = NULL},
};

const struct verb shell_verbs[] = {
    {.word = "",
     .arguments = takes_nothing,
     .options = OPTIONS(OPTION_BAIL),
     .run = shell_run,
     .makes = true,
     .takes_lines = true,
     .help =
         "Read commands from a terminal, one per line, as typed after 'mcds', quoted as in a "
         "shell. The store stays open from line to line. Tab completes commands, options and "
         "names, and there is a history. Ctrl-C gives up a line or a command; 'exit' or Ctrl-D "
         "ends the shell. From a file or a pipe, mcds shell reads a script, and prints what "
         "the commands print; 'batch' executes many commands at once."},
    {.word = NULL},
};

const struct verb ls_verbs[] = {
    {.word = "",
     .arguments = takes_pattern,
     .options = OPTIONS(OPTION_LONG, OPTION_NOUN),
     .run = ls_run,
     .columns = listing_columns,
     .help =
         "Print noun, a tab and name of every structure in the namespace, sorted, except "
         "limits with --burst window, which are never listed. Slow, and on memcached not "
         "complete. A name of more than 100 bytes is printed as ~ and a hash, from which the "
         "name cannot be found; each byte outside ASCII, blank, %, : and ~ at the beginning "
         "counts as three."},
    {.word = NULL},
};

const struct verb rm_verbs[] = {
    {.word = "",
     .erases = true,
     .arguments = takes_dropped_names,
     .options = OPTIONS(OPTION_ALL, OPTION_YES),
     .run = rm_run,
     .done = "dropped",
     .help =
         "Drop every structure of each NAME, whatever its noun, as ls finds it. Names them and "
         "asks first; without a terminal, --yes is needed. --all needs -N on the command line, "
         "even if a profile sets it, so that no namespace is erased by mistake. Prints noun, "
         "name and 'dropped'. As "
         "slow as ls. A name that ls prints as ~ and a hash (over 100 bytes) must be dropped "
         "by its noun's drop with the whole name. ls may list a dropped lock or "
         "semaphore for a minute. "
         "Visitors and online may leave marks: see their drop. It names what it cannot drop: "
         "the "
         "keys of once."},
    {.word = NULL},
};

const struct verb watch_verbs[] = {
    {.word = "",
     .arguments = takes_names,
     .options = OPTIONS(OPTION_INTERVAL, OPTION_ONCE),
     .run = watch_run,
     .help =
         "Print a line for each change of the structures of each NAME, whatever their noun, "
         "until "
         "a signal: the time, noun and name; changed, made, dropped, added, removed, appended, "
         "cleared, acquired or released; and the old and new value, the element, or the holder "
         "of a "
         "lock and its mode: exclusive, or shared:N with N holders, of which it names one. "
         "Reads them every --interval, so of several changes of one value within that time it "
         "prints the last. A structure with more than 262144 elements or 8 MB is too large: "
         "then "
         "it says so and prints the number of elements when it changes, which reads all of "
         "them. "
         "When the store does not answer, it says so once and waits. Of a queue it prints the "
         "numbers of jobs that are waiting, delayed, claimed and dead, as count does, which "
         "reads all of them. Views, caches, limits, ids, semaphores and once are not watched; "
         "it says so of a NAME that only they have. A NAME is no pattern, as that of ls is: it "
         "says so where a NAME with * ? or [ has nothing yet."},
    {.word = NULL},
};

static const struct column reading_columns[] = {{.title = "noun", .ink = INK_NOUN},
                                                {.title = "name"},
                                                {.title = "value", .is_number = true},
                                                {.title = "each s", .is_number = true},
                                                {.title = "left", .is_number = true},
                                                {.title = "holder", .ink = INK_GOOD},
                                                {.is_end = true}};

const struct verb top_verbs[] = {
    {.word = "",
     .arguments = takes_pattern,
     .options = OPTIONS(OPTION_NOUN, OPTION_INTERVAL, OPTION_ONCE),
     .run = top_run,
     .columns = reading_columns,
     .help =
         "Show the store, and read it again every --interval: the commands per second of "
         "the memcached servers, or the commits per second of the lmdb file; the value of "
         "each counter, visitors and online, and the number of waiting jobs of each queue, "
         "with the change per second; the mode (exclusive or shared:N), the holder (of N, "
         "one) and the seconds left of each lock; the name of each semaphore; and the last "
         "events of a log. "
         "Keys: q quits; p pauses; s sorts by change, value or name; / filters by a part "
         "of the name, a pattern or a noun; l shows the next log, and after the last one "
         "none; arrows, page up and page down scroll a list that is longer than the screen. At "
         "most 4096 structures are read. "
         "New ones appear within seconds, or later if a listing takes long. To count a "
         "queue, top reads all its jobs; if that takes long, it does so less often. "
         "--once prints one reading as lines. --json prints each reading as objects; that "
         "of a queue also has the numbers of delayed, claimed and dead jobs. If a server does "
         "not answer, --once prints what the other servers have, and exits with 69."},
    {.word = NULL},
};

const struct verb backup_verbs[] = {
    {.word = "",
     .arguments = takes_file,
     .run = backup_run,
     .help =
         "Copy a whole lmdb: store to FILE, which must not exist, while others use the store: "
         "cp of a store in use makes a damaged copy. The copy is on the disk when the command "
         "ends and has mode 0600; open it as lmdb:FILE. Each page in use is checked first; if "
         "one "
         "is damaged, nothing is copied. Changed bytes inside values are not noticed."},
    {.word = NULL},
};

const struct verb dump_verbs[] = {
    {.word = "",
     .arguments = takes_dumped_names,
     .options = OPTIONS(OPTION_ALL, OPTION_OUTPUT),
     .run = dump_run,
     .help =
         "Write counters, sets, tables, lists, logs, arrays and queues with their options, and "
         "the number "
         "of permits of semaphores, as lines of text, from which load makes them again, in any "
         "store. Others may use the store "
         "meanwhile: of each structure the dump has what a scan sees. What cannot be dumped "
         "(caches, limits, ids, locks, once, visitors, online, views) is named on "
         "standard error, and the "
         "exit code is then 1. A dump has no expiry of entries and counters: what is loaded "
         "does not "
         "expire. With --output it prints 'dumped' and the numbers of structures and "
         "elements."},
    {.word = NULL},
};

const struct verb load_verbs[] = {
    {.word = "",
     .arguments = takes_dump_file,
     .options = OPTIONS(OPTION_REPLACE, OPTION_RESUME, OPTION_MAY_LOSE),
     .makes = true,
     .run = load_run,
     .done = "loaded",
     .help =
         "Make the structures of a dump. The file is checked to its end first, and nothing is "
         "loaded when it is damaged or cut off, or when one of its structures exists. Events "
         "keep their times; those that a log no longer keeps are left out. A job that was "
         "delayed or claimed is due at its time, or up to a second later; tries begin again at "
         "0, except of dead jobs. A queue "
         "needs --may-lose on memcached. Until the load has "
         "ended, no other program should change these structures, and the table mcds-load:SUM "
         "says how far it is; SUM is the checksum of the dump. Prints 'loaded' and the "
         "numbers of structures and elements."},
    {.word = NULL},
};

const struct verb doctor_verbs[] = {
    {.word = "",
     .arguments = takes_nothing,
     .run = doctor_run,
     .columns = finding_columns,
     .help =
         "Describe the store: which one is used and why, and where the namespace and the "
         "timeout come from; what it can do, and its problems. Of an lmdb: store, it checks "
         "the pages in use for at most 2 s, but not the bytes of values. "
         "Exits with 1 when it finds a problem."},
    {.word = NULL},
};

const struct verb help_verbs[] = {
    {.word = "",
     .arguments = takes_topic,
     .run = help_run,
     .help =
         "Explain the commands, one command or the exit codes (exit), or print the source of "
         "the synopses and options of the manual pages (man)."},
    {.word = NULL},
};

const struct verb completion_verbs[] = {
    {.word = "",
     .arguments = takes_shell,
     .run = completion_run,
     .help = "Print a completion script, for example: source <(mcds completion bash)"},
    {.word = NULL},
};
