/* The verbs of queue. */
#include "table/queue_commands.h"

#include "table/drop.h"
#include "table/nouns.h"
#include "table/parameters.h"

#define RAW OPTION_RAW_LINES

/* The columns of `queue ls`. */
static const struct column job_columns[] = {{.title = "state"},
                                            {.title = "tries", .is_number = true},
                                            {.title = "seconds", .is_number = true},
                                            {.title = "job", .ink = INK_NOUN},
                                            {.is_end = true}};

const struct verb queue_verbs[] = {
    {.word = "push",
     .arguments = takes_jobs,
     .options = OPTIONS(OPTION_DELAY, OPTION_FILE, OPTION_STRIPES, OPTION_MAY_LOSE, RAW),
     .overlap = OVERLAP_NEVER,
     .feed = FEED_CHUNKS,
     .makes = true,
     .start = queue_push,
     .print = queue_print_push,
     .done = "pushed",
     .help = "Add each JOB at the end of the queue, which is made if it does not exist. If it "
             "is made with --stripes, the claims of many workers read less, and jobs of "
             "different stripes "
             "are handed out in any order."},
    {.word = "work",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_VISIBLE, OPTION_TRIES, OPTION_JOB_WAIT, OPTION_DELAY,
                        OPTION_UNTIL_EMPTY, OPTION_JOBS_MAX, OPTION_MAY_LOSE, OPTION_ON_LOST),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = queue_work,
     .runs_program = true,
     .help =
         "Run COMMAND for each job, one job at a time. To work on several jobs at once, "
         "start several workers, on any number of hosts: each job is handed out to one of "
         "them. COMMAND has the job on standard input, and in MCDS_JOB unless the job has "
         "a NUL byte. MCDS_JOB_TRIES is the number of this try, from 1. If COMMAND exits "
         "with 0, the job is done. If COMMAND exits with another code, or a signal kills it, "
         "the job is due again after --delay, or dead after --tries. After SIGINT, SIGTERM, "
         "SIGHUP or SIGQUIT to mcds, or if Ctrl-C or Ctrl-\\ on the terminal kills COMMAND, "
         "the "
         "job is due at once unless COMMAND exits with 0. mcds "
         "renews the claim "
         "while COMMAND runs. If it cannot, "
         "or if mcds dies, COMMAND and all its descendants are ended, as by 'mcds lock'. "
         "The job is handed out again when the claim ends, also after the host has died. "
         "mcds passes these signals on to COMMAND, and exits when COMMAND has ended. It also "
         "passes SIGUSR1 and SIGUSR2 on, and continues. mcds "
         "claims a job only if COMMAND can be run, and exits otherwise. While the "
         "store does not answer, mcds prints one message and waits. Exits with the code "
         "of the last COMMAND; if that is 0 and the store has not carried out that the job is "
         "done, with the code of this failure. Exits with 79 if the store has lost jobs. If a "
         "signal ends mcds, the "
         "exit code does not show a loss: the message on standard error does."},
    {.word = "next",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_VISIBLE, OPTION_TRIES, OPTION_JOB_WAIT, OPTION_MAY_LOSE, RAW),
     .overlap = OVERLAP_NEVER,
     .run = queue_next,
     .print = queue_print_next,
     .done = "claimed",
     .help = "Claim the first job that is due, for the time of --visible, and print its "
             "RECEIPT, a tab and the job. Exits with 1 if no job is due. 'queue done' and "
             "'queue again' end the claim, and 'queue longer' extends it. If none of them is "
             "run in time, the job is handed out again. If the store has lost parts of the "
             "queue, next passes over them and reports the loss on standard error; the exit "
             "code is still 0 with a job, and 1 if none is due. Exits with 79, without a "
             "job, if the store has lost the list of the parts, or more than 64 parts."},
    {.word = "done",
     .arguments = takes_receipt,
     .overlap = OVERLAP_FREELY,
     .start = queue_done,
     .print = queue_print_changed,
     .done = "done",
     .help =
         "Report that the job of RECEIPT is done, and erase it, even if it has become dead. "
         "Exits with 79 if the job has become dead, if another worker has claimed it "
         "since, if it was done before, or if the store has lost it. The job is not handed "
         "out again in any of these cases."},
    {.word = "again",
     .arguments = takes_receipt,
     .options = OPTIONS(OPTION_DELAY),
     .overlap = OVERLAP_FREELY,
     .start = queue_again,
     .print = queue_print_changed,
     .done = "given back",
     .help = "Give the job of RECEIPT back: it is due after --delay, and keeps its number of "
             "tries. Exits with 79, and changes nothing, if another worker has claimed the "
             "job since, if the job was done or given back before, if it has become dead, or "
             "if the store has lost it."},
    {.word = "longer",
     .arguments = takes_receipt,
     .options = OPTIONS(OPTION_VISIBLE),
     .overlap = OVERLAP_FREELY,
     .start = queue_longer,
     .print = queue_print_changed,
     .done = "extended",
     .help = "Extend the claim of RECEIPT to the time of --visible, counted from now. Exits "
             "with 79, and changes nothing, in the same cases as 'queue again': then stop the "
             "work."},
    {.word = "ls",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_LIMIT, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = queue_ls,
     .columns = job_columns,
     .help = "Print the jobs in their order, one stripe after the other, without claiming "
             "them: the state (waiting, "
             "delayed or claimed), the number of tries, the seconds until the job is due or "
             "its claim ends by the clock of this machine, and the job, with tabs between "
             "them."},
    {.word = "count",
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .start = queue_count,
     .print = queue_print_count,
     .help = "Print the numbers of waiting, delayed, claimed and dead jobs, with tabs between "
             "them. Reads all jobs."},
    {.word = "dead",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_LIMIT, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = queue_dead,
     .help = "Print the dead jobs, in no order: the ID, the number of tries, and the job, "
             "with tabs between them."},
    {.word = "retry",
     .arguments = takes_dead_job,
     .overlap = OVERLAP_NEVER,
     .run = queue_retry,
     .print = queue_print_dead,
     .done = "retried",
     .help = "Push the dead job ID, or without ID every dead job, and print their number."},
    {.word = "discard",
     .erases = true,
     .arguments = takes_dead_job,
     .options = OPTIONS(OPTION_ALL),
     .overlap = OVERLAP_NEVER,
     .run = queue_discard,
     .print = queue_print_dead,
     .done = "discarded",
     .help = "Erase the dead job ID, or with --all every dead job, and print their number."},
    {DROP, .start = queue_drop,
     .help = "Erase the queue with all its jobs, including claimed and dead ones."},
    {.word = NULL},
};
