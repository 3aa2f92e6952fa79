/* The table of all options. */
#include "table/commands.h"

#define MINUTE_MS UINT64_C(60000)
#define DAY_MS UINT64_C(86400000)
#define YEAR_MS (366 * DAY_MS)

#define NONE '\0'
#define FLAG(c, w, text)                                                                       \
    {                                                                                          \
        .letter = c, .word = w, .kind = KIND_FLAG, .help = text                                \
    }
#define TEXT(c, w, p, most, text)                                                              \
    {                                                                                          \
        .letter = c, .word = w, .placeholder = p, .kind = KIND_TEXT, .max = most, .help = text \
    }
#define TIME(c, w, p, least, most, text)                                                       \
    {                                                                                          \
        .letter = c, .word = w, .placeholder = p, .kind = KIND_DURATION, .min = least,         \
        .max = most, .help = text                                                              \
    }
#define NUMBER(c, w, p, least, most, text)                                                     \
    {                                                                                          \
        .letter = c, .word = w, .placeholder = p, .kind = KIND_NUMBER, .min = least,           \
        .max = most, .help = text                                                              \
    }
#define CHOICE(w, p, words, text)                                                              \
    {                                                                                          \
        .word = w, .placeholder = p, .kind = KIND_CHOICE, .choices = words, .help = text       \
    }
#define MOMENT(w, text)                                                                        \
    {                                                                                          \
        .word = w, .placeholder = "WHEN", .kind = KIND_MOMENT, .help = text                    \
    }
#define TAG(w, text)                                                                           \
    {                                                                                          \
        .word = w, .placeholder = "TAG", .kind = KIND_TEXT, .many = true, .help = text         \
    }
#define ELEMENT(w, text)                                                                       \
    {                                                                                          \
        .word = w, .placeholder = "ELEMENT", .kind = KIND_TEXT, .many = true, .help = text     \
    }

static const char *const whens[] = {"auto", "always", "never", NULL};
static const char *const bits[] = {"53", "63", NULL};

const struct parameter options[OPTION_COUNT] = {
    [OPTION_STORE] = TEXT(
        's', "store", "URI", 0,
        "the store: memory: or lmdb:PATH or memcached://HOST[:PORT][,...]; otherwise "
        "$MCDS_STORE, otherwise that of the configuration file, otherwise a file under "
        "$XDG_STATE_HOME/mcds"),
    [OPTION_NAMESPACE] = TEXT(
        'N', "namespace", "NS", 0,
        "prefix of all keys, at most 32 bytes of a-z A-Z 0-9 _ - . (mcds)"),
    [OPTION_TIMEOUT] = TIME(NONE, "timeout", "TIME", 1, 60 * MINUTE_MS,
                            "longest time of one operation (1s)"),
    [OPTION_PROFILE] = TEXT(NONE, "profile", "NAME", 64,
                            "the profile of the configuration file (~/.config/mcds/config or "
                            "$MCDS_CONFIG), which has the store, namespace and timeout "
                            "($MCDS_PROFILE)"),
    [OPTION_JSON] = FLAG(NONE, "json",
                         "print one JSON object per line; numbers beyond 2^53 are strings"),
    [OPTION_QUIET] = FLAG(
        'q', "quiet",
        "values only: no confirming words, and no sentence for exit codes 1 and "
        "75"),
    [OPTION_COLOR] = CHOICE("color", "WHEN", whens,
                            "colours and aligned columns: auto (on a terminal; no colours with "
                            "$NO_COLOR or TERM=dumb), "
                            "always, or never, which prints columns without colours"),
    [OPTION_HELP] = FLAG('h', "help", "help on the command before it"),
    [OPTION_VERSION] = FLAG('V', "version", "print the version"),
    [OPTION_SIGNED] = FLAG(NONE, "signed",
                           "a new counter may go below zero (this is the default)"),
    [OPTION_PLAIN] = FLAG(NONE, "plain",
                          "a new counter only grows, and other memcached clients can read it"),
    [OPTION_STRIPES] = NUMBER(
        NONE, "stripes", "K", 1, 32,
        "counter: spread it over K keys; all that change it must give the same K (1); queue: "
        "make a "
        "new queue with K stripes, about one for each eight workers (1); a queue that exists "
        "keeps its number, and another K is refused"),
    [OPTION_EXACT] = FLAG(
        NONE, "exact",
        "count each addition, or each visitor, exactly once, even if replies are lost; all "
        "that change it must give the same"),
    [OPTION_COPIES] = NUMBER(
        NONE, "copies", "R", 1, 7,
        "keep the counter on R servers, exact; any minority of them may die and restart "
        "empty; all that change it must give the same (1)"),
    [OPTION_TTL] = TIME(NONE, "ttl", "TIME", 1000, YEAR_MS,
                        "a new counter expires this long after its first add (never)"),
    [OPTION_LEASE] = TIME(
        't', "lease", "TIME", 50, DAY_MS,
        "time of the lease, on memcached at least 3s; renewed at a third of it (15s)"),
    [OPTION_WAIT] = TIME('w', "wait", "TIME", 0, DAY_MS,
                         "wait at most this long for the lock, permit or result, also while "
                         "the store does not answer "
                         "(without -w 1d, but not for a store that does not answer)"),
    [OPTION_NOWAIT] = FLAG('n', "no-wait",
                           "do not wait: when others hold or run it, exit with 75"),
    [OPTION_EXIT] = NUMBER('E', "busy-exit", "CODE", 0, 255,
                           "exit code when it cannot be acquired (75)"),
    [OPTION_SHARED] = FLAG(NONE, "shared",
                           "share the lock with other callers that give this option, at most "
                           "64 in total; without this option, the caller has the lock alone"),
    [OPTION_LABEL] = TEXT(
        NONE, "label", "TEXT", 200,
        "name of this holder, which --info, holders, ls -l and a wait that ends without the "
        "lock print (HOST:PID)"),
    [OPTION_INFO] = FLAG(
        NONE, "info",
        "of a lock: print the label of the holder, the seconds left, the newest fence (that of "
        "the holder, or a larger one that an attempt to acquire the held lock has drawn), and, "
        "if the lock is shared, the number of holders; of "
        "once: print done, running or vanished, the exit code, and the seconds left of the "
        "result or the claim (- if a clock is slow)"),
    [OPTION_BREAK] = FLAG(
        NONE, "break",
        "take the lock from its holder; a command run by 'mcds lock' is stopped at "
        "its next renewal"),
    [OPTION_DROP] = FLAG(
        NONE, "drop",
        "erase a free lock and its fence, which is otherwise kept for ever; a lock held "
        "within the last minute is erased after a minute"),
    [OPTION_PERIOD] = TIME(
        NONE, "period", "TIME", 0, YEAR_MS,
        "length of a period, at least 1s, or 0 for all time; all that change it must give "
        "the same (1d)"),
    [OPTION_CLOSED] = FLAG(NONE, "closed",
                           "print the last complete period instead of the current one"),
    [OPTION_BUCKETS] = NUMBER(NONE, "buckets", "N", 1, 32,
                              "number of buckets of the window (5)"),
    [OPTION_WIDTH] = TIME(NONE, "width", "TIME", 1000, DAY_MS,
                          "length of a bucket; all that change it must give the same (60s)"),
    [OPTION_PERMITS] = NUMBER(NONE, "permits", "N", 1, 60,
                              "number of permits of a new semaphore; for one that exists, the "
                              "number it was made with or its present one (any that exists)"),
    [OPTION_ESTIMATED] = FLAG(
        NONE, "estimated",
        "keep about 30 KB for any number of visitors, and estimate the number with a standard "
        "error of 1.6 %; all that change it must give the same"),
    [OPTION_BAG] = FLAG(
        NONE, "bag",
        "the set keeps a count of each element: additions minus removals; all that change it "
        "must give the same"),
    [OPTION_LIST] = FLAG(
        NONE, "list",
        "the set keeps every addition in order, and a removal removes the first equal "
        "element; all that change it must give the same"),
    [OPTION_ENTRY_TTL] = TIME(NONE, "ttl", "TIME", 1, YEAR_MS,
                              "it expires after this long (an entry: never; a value of a "
                              "cache: 60s)"),
    [OPTION_IF_ABSENT] = FLAG(
        NONE, "if-absent", "only where the table has no value for KEY; otherwise exit with 1"),
    [OPTION_IF_IS] = TEXT(NONE, "if-is", "OLD", 0,
                          "only where the value is OLD; otherwise exit with 1"),
    [OPTION_RAW] = FLAG(NONE, "raw", "write the value unchanged, with no line end after it"),
    [OPTION_RAW_LINES] = FLAG(
        NONE, "raw", "unchanged bytes: output is not quoted, and input is not unquoted"),
    [OPTION_CURSOR] = NUMBER(NONE, "cursor", "CURSOR", 0, UINT64_MAX,
                             "continue where an earlier scan stopped"),
    [OPTION_LIMIT] = NUMBER(NONE, "limit", "N", 1, UINT64_MAX, "at most N (all; of top: 10)"),
    [OPTION_SKIP] = NUMBER(NONE, "skip", "N", 0, UINT64_MAX, "skip the first N (0)"),
    [OPTION_AT] = MOMENT("at", "time of the event (now)"),
    [OPTION_TIMED] = FLAG(NONE, "timed",
                          "each line of standard input is the time of the event, a tab and the "
                          "event, as scan prints it"),
    [OPTION_BY_ARRIVAL] = FLAG(
        NONE, "by-arrival",
        "a new log sorts events by the time of their arrival, and accepts events of any age"),
    [OPTION_RETENTION] = TIME(NONE, "retention", "TIME", 1000, YEAR_MS,
                              "a new log keeps each event this long (7d)"),
    [OPTION_CHUNK] = TIME(NONE, "chunk", "TIME", 1000, DAY_MS,
                          "a new log stores the events of this much time together, and erases "
                          "them together (a thousandth of the retention)"),
    [OPTION_LATE] = TIME(NONE, "late", "TIME", 1, 49 * DAY_MS,
                         "a new log refuses events older than this (60s)"),
    [OPTION_AHEAD] = TIME(
        NONE, "ahead", "TIME", 1, 49 * DAY_MS,
        "a new log refuses events further ahead of this machine's clock than this (5s)"),
    [OPTION_FROM] = MOMENT(
        "from", "begin with the first event at or after this time (scan: the oldest event)"),
    [OPTION_TO] = MOMENT("to", "end before this time (after the newest event)"),
    [OPTION_NEWEST_FIRST] = FLAG(NONE, "newest-first",
                                 "print in the opposite order: the newest chunk first, and of "
                                 "each chunk the event put last first"),
    [OPTION_FOLLOW] = FLAG('f', "follow", "then wait for new events and print each"),
    [OPTION_LAST] = NUMBER(NONE, "last", "N", 0, 1000000,
                           "begin with the last N events of a scan (10)"),
    [OPTION_CURSOR_FILE] = TEXT(NONE, "cursor", "FILE", 0,
                                "begin where the call ended that wrote FILE (with the oldest "
                                "event if there is no FILE), and write FILE at the end"),
    [OPTION_DATABASE] = TEXT(
        NONE, "database", "URI", 0,
        "the durable store for the views, lmdb:PATH, in the table views:NAME; all users of it "
        "must give the same (the store itself if it is lmdb:)"),
    [OPTION_FLUSH] = TIME(
        NONE, "flush-every", "TIME", 1000, DAY_MS,
        "length of the intervals of views; all users of it must give the same (1m)"),
    [OPTION_ADD] = ELEMENT("add", "add ELEMENT; may be given again"),
    [OPTION_REMOVE] = ELEMENT("remove", "remove ELEMENT; may be given again"),
    [OPTION_ALL] = FLAG(NONE, "all",
                        "every structure of the namespace (-N); of a queue, every dead job"),
    [OPTION_LONG] = FLAG(
        'l', "long",
        "also print three fields. The size: the value of a counter, the visitors of the "
        "period, how many are online, or the mode of a lock that is held, exclusive or "
        "shared:N. The seconds until a counter expires or the lease of a lock ends. The holder "
        "of a lock, or one of N (of a semaphore, 'semaphore holders' prints them). Prints - "
        "for what a structure does not have"),
    [OPTION_NOUN] = TEXT(NONE, "noun", "NOUN", 0, "only structures of this noun"),
    [OPTION_INTERVAL] = TIME(NONE, "interval", "TIME", 10, DAY_MS,
                             "pause between two reads of the store (1s)"),
    [OPTION_ONCE] = FLAG(NONE, "once",
                         "watch: end after the first changes; top: print one reading; leader "
                         "run: end when COMMAND has ended"),
    [OPTION_REST] = TIME(NONE, "rest", "TIME", 0, DAY_MS,
                         "pause after COMMAND has ended, in which another can become the "
                         "leader (5s)"),
    [OPTION_OUTPUT] = TEXT(
        'o', "output", "FILE", 0,
        "write into FILE, which has its name only when the dump is whole and on the disk, and "
        "replaces an earlier one; mode 0600"),
    [OPTION_REPLACE] = FLAG(NONE, "replace",
                            "drop what has the name of a structure of the dump"),
    [OPTION_RESUME] = FLAG(
        NONE, "resume",
        "continue a load of the same dump that was interrupted, even killed: what it has begun "
        "and not finished is dropped and loaded again; without such a load, begin"),
    [OPTION_TAG] = TAG("tag",
                       "a tag of the value, 1 to 1024 bytes; forget takes one, get and hold up "
                       "to 16"),
    [OPTION_STALE] = TIME(
        NONE, "stale", "TIME", 1, 30 * DAY_MS,
        "how long to print the value after its ttl, while one caller runs COMMAND (0)"),
    [OPTION_NOTHING] = NUMBER(
        NONE, "nothing", "CODE", 1, 255,
        "COMMAND exits with CODE where there is nothing for KEY: this is stored too, and the "
        "exit code (1 without COMMAND)"),
    [OPTION_FOR] = TIME(NONE, "for", "TIME", 50, 60 * MINUTE_MS,
                        "the longest time of the hold, at least 3s on memcached (30s)"),
    [OPTION_RATE] = {.word = "rate",
                     .placeholder = "RATE",
                     .kind = KIND_TEXT,
                     .many = true,
                     .help = "tokens per time: 10/s, 1000/h or 5/10s; may be given up to four "
                             "times, and a take needs tokens of all"},
    [OPTION_BURST] =
        {.word = "burst",
         .placeholder = "N",
         .kind = KIND_TEXT,
         .many = true,
         .help = "tokens at once of the --rate before it (the number of that rate); window: at "
                 "most the number of the rate in any such time"},
    [OPTION_PATIENCE] = TIME(
        NONE, "patience", "TIME", 0, 49 * DAY_MS,
        "also take tokens that are available within this time, and print the seconds to wait; "
        "with "
        "-q, print only the seconds (0); run: the longest wait (1d)"),
    [OPTION_HOW_MANY] = NUMBER(NONE, "count", "N", 1, MCDS_IDS_TAKE_MAX,
                               "how many ids, each one more than the one before (1)"),
    [OPTION_BITS] = CHOICE(
        "bits", "N", bits,
        "53, which JSON and JavaScript keep exactly, or 63; all callers must "
        "give the same (63)"),
    [OPTION_SPREAD] = TIME(NONE, "spread", "TIME", 1, MINUTE_MS,
                           "the clocks of two machines never differ by more (1s)"),
    [OPTION_IN] = TEXT(NONE, "in", "NAME", 1024,
                       "the name to which KEY belongs, and which ls lists (once)"),
    [OPTION_KEEP] = TIME(NONE, "keep", "TIME", 1, YEAR_MS,
                         "how long the result is kept for later callers (1d)"),
    [OPTION_RUN] = TIME(
        NONE, "run", "TIME", 50, DAY_MS,
        "how long the claim of a caller lasts that has died, on memcached at least 3s and 2s "
        "longer; renewed at a third of it (1m)"),
    [OPTION_STRICT] = FLAG(
        NONE, "strict",
        "when a caller has died or COMMAND was ended, nobody runs it again for the time of "
        "--keep: later callers exit with 79 until the key is settled or forgotten"),
    [OPTION_RETRY_FAILED] = FLAG(
        NONE, "retry-failed",
        "when COMMAND exits with another code than 0, keep nothing: the next caller runs it"),
    [OPTION_SETTLE] = NUMBER(NONE, "settle", "CODE", 0, 255,
                             "store a result, of work that was done elsewhere or that a strict "
                             "caller has begun: the exit code for later callers"),
    [OPTION_FORGET] = FLAG(
        NONE, "forget",
        "erase the result or the claim: the next caller runs its COMMAND, and "
        "a COMMAND that runs now is stopped at its next renewal"),
    [OPTION_DELAY] = TIME(
        NONE, "delay", "TIME", 0, 7 * DAY_MS,
        "time until the job is due (0); work: time until the job of a COMMAND that has "
        "failed is due again (30s)"),
    [OPTION_FILE] = TEXT(NONE, "file", "FILE", 0,
                         "the job is the content of FILE, unchanged; - is standard input"),
    [OPTION_VISIBLE] = TIME(NONE, "visible", "TIME", 100, 7 * DAY_MS,
                            "how long a claim lasts; when it ends, the job is handed out "
                            "again. work renews its claim after each third of this time (1m)"),
    [OPTION_TRIES] = NUMBER(NONE, "tries", "N", 0, 10000,
                            "how many times a job is handed out before it is dead, and "
                            "'queue dead' prints it; 0: no limit. Give all workers of a "
                            "queue the same number (5)"),
    [OPTION_JOB_WAIT] = TIME(NONE, "wait", "TIME", 0, DAY_MS,
                             "longest wait for a job (next: 0; work: no limit); after it, next "
                             "exits with 1, and work with the code of its last COMMAND"),
    [OPTION_UNTIL_EMPTY] = FLAG(
        NONE, "until-empty",
        "exit when the queue has no job that is waiting, delayed or claimed"),
    [OPTION_JOBS_MAX] = NUMBER(NONE, "max-jobs", "N", 1, UINT32_MAX, "exit after N jobs"),
    [OPTION_MAY_LOSE] = FLAG(
        NONE, "may-lose",
        "accept that the store may lose jobs; needed on memcached, which may evict them"),
    [OPTION_TOKEN] = TEXT(
        NONE, "token", "FILE", 0,
        "file of the token, with mode 0600. acquire makes it, and refuses a "
        "file that is not empty; release removes it (- or none: for acquire standard "
        "output, for renew and release standard input)"),
    [OPTION_TOKEN_FD] = NUMBER(NONE, "token-fd", "N", 0, 1023,
                               "open file descriptor of the token"),
    [OPTION_ON_LOST] = TEXT(
        NONE, "on-lost", "CMD", 0,
        "run 'sh -c CMD' once when the lease is lost or cannot be renewed, but not when mcds "
        "crashes; killed after 10s"),
    [OPTION_BAIL] = FLAG(NONE, "bail", "end at the first line whose exit code is not 0"),
    [OPTION_YES] = FLAG('y', "yes", "do not ask; needed where there is no terminal"),
};
