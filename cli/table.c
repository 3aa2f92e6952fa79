/* The table of all commands. */
#include "table.h"

#include <string.h>

#include "nouns.h"

#define MINUTE_MS UINT64_C(60000)
#define DAY_MS UINT64_C(86400000)
#define YEAR_MS (366 * DAY_MS)

const struct parameter options[OPTION_COUNT] = {
    [OPTION_STORE] = {'s', "store", "URI", KIND_TEXT, false, 0, 0,
                      "the store: memory: or lmdb:PATH or memcached://HOST[:PORT][,...]; else "
                      "$MCDS_STORE, else a file under $XDG_STATE_HOME/mcds"},
    [OPTION_NAMESPACE] = {'n', "namespace", "NS", KIND_TEXT, false, 0, 0,
                          "prefix of all keys (mcds)"},
    [OPTION_TIMEOUT] = {'\0', "timeout", "TIME", KIND_DURATION, false, 1, 60 * MINUTE_MS,
                        "the most that one operation may take (1s)"},
    [OPTION_JSON] = {'\0', "json", NULL, KIND_FLAG, false, 0, 0,
                     "answer with one JSON object a line; numbers beyond 2^53 are strings"},
    [OPTION_QUIET] = {'q', "quiet", NULL, KIND_FLAG, false, 0, 0,
                      "values only: no confirming words, and no sentence where exit code 1 or "
                      "75 says it"},
    [OPTION_HELP] = {'h', "help", NULL, KIND_FLAG, false, 0, 0,
                     "help on what stands before it"},
    [OPTION_VERSION] = {'V', "version", NULL, KIND_FLAG, false, 0, 0, "print the version"},
    [OPTION_SIGNED] = {'\0', "signed", NULL, KIND_FLAG, false, 0, 0,
                       "a new counter may go below zero (this is the default)"},
    [OPTION_PLAIN] = {'\0', "plain", NULL, KIND_FLAG, false, 0, 0,
                      "a new counter only grows, and other memcached clients can read it"},
    [OPTION_STRIPES] = {'\0', "stripes", "K", KIND_NUMBER, false, 1, 32,
                        "spread the counter over K keys; all who use it must say the same (1)"},
    [OPTION_TTL] = {'\0', "ttl", "TIME", KIND_DURATION, false, 1000, YEAR_MS,
                    "a new counter is forgotten this long after its first add (never)"},
    [OPTION_LEASE] = {'t', "lease", "TIME", KIND_DURATION, false, 50, DAY_MS,
                      "how long the lock stays ours without renewal; renewed at a third of "
                      "it (15s; at least 3s on memcached)"},
    [OPTION_WAIT] = {'w', "wait", "TIME", KIND_DURATION, false, 0, DAY_MS,
                     "wait at most this long for the lock (1d)"},
    [OPTION_NOWAIT] = {'n', "no-wait", NULL, KIND_FLAG, false, 0, 0,
                       "do not wait: when another holds the lock, exit with 75"},
    [OPTION_EXIT] = {'E', "busy-exit", "CODE", KIND_NUMBER, false, 0, 255,
                     "the exit code when the lock is not to be had (75)"},
    [OPTION_LABEL] = {'\0', "label", "TEXT", KIND_TEXT, false, 0, 200,
                      "who we are, shown to those who wait (HOST:PID)"},
    [OPTION_INFO] = {'\0', "info", NULL, KIND_FLAG, false, 0, 0,
                     "print who holds the lock: label, time left, fence"},
    [OPTION_BREAK] = {'\0', "break", NULL, KIND_FLAG, false, 0, 0,
                      "take the lock from whoever holds it; a command run by 'mcds lock' is "
                      "stopped at its next renewal"},
    [OPTION_PERIOD] = {'\0', "period", "TIME", KIND_DURATION, false, 0, YEAR_MS,
                       "length of a period, at least 1s; 0 = all time; all who use it must say "
                       "the same (1d)"},
    [OPTION_CLOSED] = {'\0', "closed", NULL, KIND_FLAG, false, 0, 0,
                       "print the last whole period instead of the one that runs"},
    [OPTION_BUCKETS] = {'\0', "buckets", "N", KIND_NUMBER, false, 1, 32,
                        "how many buckets make the window (5)"},
    [OPTION_WIDTH] = {'\0', "width", "TIME", KIND_DURATION, false, 1000, DAY_MS,
                      "length of a bucket; all who use it must say the same (60s)"},
};

static const struct parameter name = {0,     NULL, "NAME", KIND_NAME,
                                      false, 0,    0,      "any name of 1 to 1024 bytes"};
static const struct parameter visitor = {
    0, NULL, "VISITOR", KIND_NAME, false, 0, 0, "who, any name of 1 to 1024 bytes"};
static const struct parameter maybe_visitor = {
    0,    NULL, "VISITOR", KIND_NAME,
    true, 0,    0,         "who, counted once per period; without it every call counts"};
static const struct parameter delta = {0,
                                       NULL,
                                       "N",
                                       KIND_DELTA,
                                       true,
                                       0,
                                       (uint64_t)MCDS_COUNTER_MAX - 1,
                                       "how many, 1 when not given; may be negative"};
static const struct parameter prefix = {0,    NULL, "PREFIX", KIND_TEXT,
                                        true, 0,    0,        "only names that begin so"};
static const struct parameter shell = {0,     NULL, "SHELL", KIND_TEXT,
                                       false, 0,    0,       "bash, zsh or fish"};
static const struct parameter topic = {0,    NULL, "TOPIC", KIND_TEXT,
                                       true, 0,    0,       "a noun, or one of: exit man"};
static const struct parameter subtopic = {0,    NULL, "VERB", KIND_TEXT,
                                          true, 0,    0,      "a verb of that noun"};

static const struct parameter *const takes_nothing[] = {NULL};
static const struct parameter *const takes_name[] = {&name, NULL};
static const struct parameter *const takes_delta[] = {&name, &delta, NULL};
static const struct parameter *const takes_visitor[] = {&name, &visitor, NULL};
static const struct parameter *const takes_maybe_visitor[] = {&name, &maybe_visitor, NULL};
static const struct parameter *const takes_prefix[] = {&prefix, NULL};
static const struct parameter *const takes_shell[] = {&shell, NULL};
static const struct parameter *const takes_topic[] = {&topic, &subtopic, NULL};

static const struct verb counter_verbs[] = {
    {"add", takes_delta,
     BIT(OPTION_SIGNED) | BIT(OPTION_PLAIN) | BIT(OPTION_STRIPES) | BIT(OPTION_TTL),
     OVERLAP_SETTLED, counter_add, counter_print_add, NULL,
     "Add N and print the value just after. Makes the counter when there is none."},
    {"get", takes_name, BIT(OPTION_STRIPES), OVERLAP_FREELY, counter_get, counter_print_get,
     NULL, "Print the value."},
    {"take", takes_name, BIT(OPTION_STRIPES), OVERLAP_NEVER, counter_take, counter_print_take,
     NULL,
     "Print the value and subtract it, so that what others add meanwhile stays. Of several "
     "takers at once each gets a different part."},
    {"drop", takes_name, BIT(OPTION_STRIPES), OVERLAP_NEVER, counter_drop, print_dropped, NULL,
     "Erase the counter."},
    {.word = NULL},
};

static const struct verb lock_verbs[] = {
    {"", takes_name,
     BIT(OPTION_LEASE) | BIT(OPTION_WAIT) | BIT(OPTION_NOWAIT) | BIT(OPTION_EXIT) |
         BIT(OPTION_LABEL) | BIT(OPTION_INFO) | BIT(OPTION_BREAK),
     OVERLAP_NEVER, lock_look, lock_print, lock_run,
     "Run COMMAND while holding the lock NAME, in a process group of its own. The lease is "
     "renewed meanwhile; if that fails, the whole group is stopped before another host can get "
     "the lock. COMMAND finds MCDS_LOCK_NAME, MCDS_LOCK_FENCE (a number larger than that of "
     "every earlier holder) and MCDS_LOCK_DEADLINE (Unix time in ms at which the lease ends "
     "unless it is renewed; every renewal moves it) in its environment."},
    {.word = NULL},
};

static const struct verb visitors_verbs[] = {
    {"hit", takes_maybe_visitor, BIT(OPTION_PERIOD), OVERLAP_FREELY, visitors_hit,
     print_counted, NULL,
     "Count a visit. Prints 'counted', or 'known' for a VISITOR whom this period has counted."},
    {"get", takes_name, BIT(OPTION_PERIOD) | BIT(OPTION_CLOSED), OVERLAP_FREELY, visitors_get,
     visitors_print_get, NULL, "Print how many came in the period that runs."},
    {"estimate", takes_name, BIT(OPTION_PERIOD), OVERLAP_FREELY, visitors_get,
     visitors_print_estimate, NULL,
     "Print about how many came in the last period's length up to this moment."},
    {"drop", takes_name, BIT(OPTION_PERIOD), OVERLAP_NEVER, visitors_drop, print_dropped, NULL,
     "Erase the period that runs and the one before it."},
    {.word = NULL},
};

static const struct verb online_verbs[] = {
    {"beat", takes_visitor, BIT(OPTION_BUCKETS) | BIT(OPTION_WIDTH), OVERLAP_FREELY,
     online_beat, print_counted, NULL,
     "Say that VISITOR is here. Prints 'counted', or 'known' when this window has counted "
     "VISITOR."},
    {"count", takes_name, BIT(OPTION_BUCKETS) | BIT(OPTION_WIDTH), OVERLAP_FREELY, online_count,
     online_print_count, NULL,
     "Print how many are here: those whose beat fell into the window of N buckets up to this "
     "moment."},
    {"drop", takes_name, BIT(OPTION_BUCKETS) | BIT(OPTION_WIDTH), OVERLAP_NEVER, online_drop,
     print_dropped, NULL, "Erase the counts of the window."},
    {.word = NULL},
};

static const struct verb batch_verbs[] = {
    {"", takes_nothing, 0, OVERLAP_NEVER, NULL, NULL, batch_run,
     "Read commands from standard input, one a line, as typed after 'mcds', quoted as in a "
     "shell, and carry out many at once. Each answers with one line, in the order of the "
     "input; '-' stands for a command that failed. Commands on one name take effect in order."},
    {.word = NULL},
};

static const struct verb list_verbs[] = {
    {"", takes_prefix, 0, OVERLAP_NEVER, NULL, NULL, list_run,
     "Print noun and name of everything in the namespace, a tab between them. Slow, and on "
     "memcached not complete."},
    {.word = NULL},
};

static const struct verb doctor_verbs[] = {
    {"", takes_nothing, 0, OVERLAP_NEVER, NULL, NULL, doctor_run,
     "Say which store is used and why, what it can do and what is wrong with it. Exits with 1 "
     "when it found a problem."},
    {.word = NULL},
};

static const struct verb help_verbs[] = {
    {"", takes_topic, 0, OVERLAP_NEVER, NULL, NULL, help_run,
     "Explain the commands, one command, the exit codes (exit), or print the commands for the "
     "manual page (man)."},
    {.word = NULL},
};

static const struct verb completion_verbs[] = {
    {"", takes_shell, 0, OVERLAP_NEVER, NULL, NULL, completion_run,
     "Print a completion script, for example: source <(mcds completion bash)"},
    {.word = NULL},
};

#define COUNTER_SHAPE                                                                          \
    (BIT(OPTION_SIGNED) | BIT(OPTION_PLAIN) | BIT(OPTION_STRIPES) | BIT(OPTION_TTL))

const struct noun nouns[] = {
    {"counter", "there is none", COUNTER_SHAPE, counter_open, counter_close, counter_verbs,
     "a number that anybody adds to"},
    {"lock", "nobody holds it", BIT(OPTION_LEASE), lock_open, lock_close, lock_verbs,
     "run a command on one host at a time"},
    {"visitors", "there is none", BIT(OPTION_PERIOD), visitors_open, visitors_close,
     visitors_verbs, "how many came in each period"},
    {"online", "there is none", BIT(OPTION_BUCKETS) | BIT(OPTION_WIDTH), online_open,
     online_close, online_verbs, "how many are here"},
    {"batch", NULL, 0, NULL, NULL, batch_verbs, "many commands from standard input"},
    {"ls", NULL, 0, NULL, NULL, list_verbs, "what there is"},
    {"doctor", NULL, 0, NULL, NULL, doctor_verbs, "what the store is, and what is wrong"},
    {"help", NULL, 0, NULL, NULL, help_verbs, "explain a command, or the exit codes"},
    {"completion", NULL, 0, NULL, NULL, completion_verbs, "completion for a shell"},
    {.word = NULL},
};
