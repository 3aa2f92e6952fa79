/* The verbs of queue. */
#include "table/queue_commands.h"

#include "table/drop.h"
#include "table/nouns.h"
#include "table/parameters.h"

#define RAW BIT(OPTION_RAW_LINES)

/* The columns of `queue ls`. */
static const struct column job_columns[] = {{.title = "state"},
                                            {.title = "tries", .is_number = true},
                                            {.title = "seconds", .is_number = true},
                                            {.title = "job", .ink = INK_NOUN},
                                            {.is_end = true}};

const struct verb queue_verbs[] = {
    {.word = "push",
     .arguments = takes_jobs,
     .options = BIT(OPTION_DELAY) | BIT(OPTION_FILE) | BIT(OPTION_MAY_LOSE) | RAW,
     .overlap = OVERLAP_NEVER,
     .feed = FEED_CHUNKS,
     .makes = true,
     .start = queue_push,
     .print = queue_print_push,
     .done = "pushed",
     .help = "Add each JOB at the end. Makes the queue when there is none."},
    {.word = "work",
     .arguments = takes_name,
     .options = BIT(OPTION_VISIBLE) | BIT(OPTION_TRIES) | BIT(OPTION_JOB_WAIT) |
                BIT(OPTION_DELAY) | BIT(OPTION_UNTIL_EMPTY) | BIT(OPTION_JOBS_MAX) |
                BIT(OPTION_MAY_LOSE),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = queue_work,
     .runs_program = true,
     .help =
         "Run COMMAND for each job, one after the other; start it several times, on any number "
         "of hosts, and each gets other jobs. COMMAND has the job on standard input, and in "
         "MCDS_JOB unless it has a NUL byte. If it exits with 0, the job is done; with another "
         "code, the job is due again after --delay, and dead after --tries. The claim is "
         "renewed "
         "meanwhile. If that fails, or mcds or the host dies, COMMAND and all its descendants "
         "are ended, as by 'mcds lock', and the job comes again when the claim has ended. "
         "MCDS_JOB_TRIES is 1 when a job is handed out for the first time. A signal is passed "
         "on to COMMAND and ends mcds after it. While the store does not answer, it says so "
         "once "
         "and waits. Exits with the code of the last COMMAND, or with 79 if the store has lost "
         "jobs."},
    {.word = "next",
     .arguments = takes_name,
     .options = BIT(OPTION_VISIBLE) | BIT(OPTION_TRIES) | BIT(OPTION_JOB_WAIT) |
                BIT(OPTION_MAY_LOSE) | RAW,
     .overlap = OVERLAP_NEVER,
     .run = queue_next,
     .print = queue_print_next,
     .done = "claimed",
     .help =
         "Claim a job for --visible and print its RECEIPT, a tab and the job, or exit with 1. "
         "Then say done, again or longer. Without that, the job comes again when the claim "
         "ends."},
    {.word = "done",
     .arguments = takes_receipt,
     .overlap = OVERLAP_FREELY,
     .start = queue_done,
     .print = queue_print_settled,
     .done = "done",
     .help =
         "End the job that next has claimed. Exits with 79 where the claim had ended before: "
         "the job is done then too, but another worker may have had it."},
    {.word = "again",
     .arguments = takes_receipt,
     .options = BIT(OPTION_DELAY),
     .overlap = OVERLAP_FREELY,
     .start = queue_again,
     .print = queue_print_settled,
     .done = "given back",
     .help = "Give a job back that next has claimed: it is due after --delay, and keeps its "
             "tries."},
    {.word = "longer",
     .arguments = takes_receipt,
     .options = BIT(OPTION_VISIBLE),
     .overlap = OVERLAP_FREELY,
     .start = queue_longer,
     .print = queue_print_settled,
     .done = "extended",
     .help =
         "Extend the claim of a job to --visible from now. Exits with 79 where another worker "
         "has claimed the job since: then stop the work."},
    {.word = "ls",
     .arguments = takes_name,
     .options = BIT(OPTION_LIMIT) | RAW,
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = queue_ls,
     .columns = job_columns,
     .help = "Print the jobs in their order, and claim none: waiting, delayed or claimed, how "
             "often it was handed out, the seconds until it is due or its claim ends, and the "
             "job, with tabs between them."},
    {.word = "count",
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .start = queue_count,
     .print = queue_print_count,
     .help =
         "Print how many jobs are waiting, delayed, claimed and dead, with tabs between them. "
         "Reads all of them."},
    {.word = "dead",
     .arguments = takes_name,
     .options = BIT(OPTION_LIMIT) | RAW,
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = queue_dead,
     .help =
         "Print the dead jobs, in no order: the ID, how often it was handed out, and the job, "
         "with tabs between them."},
    {.word = "retry",
     .arguments = takes_dead_job,
     .overlap = OVERLAP_NEVER,
     .run = queue_retry,
     .print = queue_print_dead,
     .done = "retried",
     .help = "Push a dead job again, or all of them, and print how many."},
    {.word = "discard",
     .erases = true,
     .arguments = takes_dead_job,
     .options = BIT(OPTION_ALL),
     .overlap = OVERLAP_NEVER,
     .run = queue_discard,
     .print = queue_print_dead,
     .done = "discarded",
     .help = "Erase a dead job, or with --all every dead job, and print how many."},
    {DROP, .start = queue_drop,
     .help = "Erase the queue with all its jobs, also those that are claimed or dead."},
    {.word = NULL},
};
