/* The verbs of the nouns that hold a lease: lock, semaphore, once and leader. */
#include "table/leases.h"

#include "table/drop.h"
#include "table/nouns.h"
#include "table/parameters.h"

#define LOCK                                                                                   \
    OPTION_LEASE, OPTION_WAIT, OPTION_NOWAIT, OPTION_EXIT, OPTION_SHARED, OPTION_LABEL,        \
        OPTION_INFO, OPTION_BREAK, OPTION_DROP, OPTION_ON_LOST
#define TOKEN OPTION_TOKEN, OPTION_TOKEN_FD
#define PERMIT                                                                                 \
    OPTION_PERMITS, OPTION_LEASE, OPTION_WAIT, OPTION_NOWAIT, OPTION_EXIT, OPTION_LABEL,       \
        OPTION_ON_LOST
#define ONCE ONCE_KEY, OPTION_WAIT, OPTION_NOWAIT, OPTION_EXIT, OPTION_INFO, OPTION_ON_LOST
#define LEADER OPTION_LEASE, OPTION_LABEL, OPTION_REST, OPTION_ONCE, OPTION_ON_LOST

const struct verb lock_verbs[] = {
    {.word = "",
     .arguments = takes_name,
     .options = OPTIONS(LOCK),
     .overlap = OVERLAP_NEVER,
     .start = lock_look,
     .print = lock_print,
     .run = lock_run,
     .done = "broken",
     .help =
         "Run COMMAND while holding the lock NAME, in its own process group, and renew the "
         "lease meanwhile. If that fails, or mcds is killed, COMMAND and all its descendants "
         "are ended before another host can get the lock. A process that runs as another "
         "user (sudo) cannot be ended: it is named, and the lock is held until it ends. With "
         "--shared, several COMMANDs run at the same time, for example if they only read; a "
         "COMMAND without --shared waits for their end and then runs alone. While it waits, no "
         "further COMMAND with --shared begins. The "
         "environment of COMMAND has MCDS_LOCK_NAME, MCDS_LOCK_FENCE (a number larger than "
         "that of every earlier holder) and MCDS_LOCK_DEADLINE (Unix time in ms at which the "
         "lease ends without a renewal). The default store is a file of this user on this "
         "machine: other users and machines do not see its locks; name a store that they "
         "share with -s."},
    {.word = "acquire",
     .arguments = takes_name,
     .options = OPTIONS(TOKEN, OPTION_LEASE, OPTION_WAIT, OPTION_NOWAIT, OPTION_EXIT,
                        OPTION_SHARED, OPTION_LABEL),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = lock_acquire,
     .done = "acquired",
     .print = lock_print_lease,
     .help =
         "Acquire the lock NAME for a script that has no single COMMAND, and write a token, "
         "with which 'lock renew' and 'lock release' act on this lease and on no other. With "
         "--token or --token-fd, print the fence. Nothing renews the lease by itself, and "
         "nothing ends the script when the lease ends: where one COMMAND is enough, give it "
         "to 'mcds lock NAME --'."},
    {.word = "renew",
     .arguments = takes_name,
     .options = OPTIONS(TOKEN),
     .overlap = OVERLAP_NEVER,
     .run = lock_renew,
     .print = lock_print_lease,
     .done = "renewed",
     .help =
         "Extend the lease of the token to the --lease of 'lock acquire', counted from now, "
         "and print the fence. The token does not change. Exits with 1 if there is no token "
         "file, and with 79 if the lease has ended."},
    {.word = "release",
     .arguments = takes_name,
     .options = OPTIONS(TOKEN),
     .overlap = OVERLAP_NEVER,
     .run = lock_release,
     .print = lock_print_released,
     .done = "released",
     .help = "Release the lease of the token. Exits with 1 if there is no token file, and "
             "with 79 if the lease had ended or was released before."},
    {.word = NULL},
};

const struct verb semaphore_verbs[] = {
    {.word = "run",
     .arguments = takes_name,
     .options = OPTIONS(PERMIT),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = semaphore_run,
     .runs_program = true,
     .help =
         "Run COMMAND while holding one of the permits of NAME, on all hosts together. It is "
         "run, renewed and ended as by 'mcds lock', whose environment COMMAND has too: "
         "MCDS_LOCK_FENCE grows with each holder of a slot. MCDS_SLOT is the slot, from 0, and "
         "is that of no other holder."},
    {.word = "holders",
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = semaphore_holders,
     .print = semaphore_print_holders,
     .help = "Print the holders: the slot, the label, the seconds left and the newest fence of "
             "the slot, with tabs between them."},
    {.word = "resize",
     .arguments = takes_permits,
     .overlap = OVERLAP_NEVER,
     .start = semaphore_resize,
     .print = semaphore_print_resize,
     .done = "resized",
     .help = "Change the number of permits to N, 1 to 60, for all hosts. Holders in slots from "
             "N on keep their permits until they end: it prints how many there are, so call it "
             "again to wait for them."},
    {DROP, .start = semaphore_drop,
     .help = "Erase the semaphore and the fences of its slots, unless a permit is held; those "
             "of the last minute are erased after a minute."},
    {.word = NULL},
};

const struct verb once_verbs[] = {
    {.word = "",
     .arguments = takes_work,
     .options = OPTIONS(ONCE),
     .overlap = OVERLAP_NEVER,
     .start = once_look,
     .print = once_print,
     .run = once_run,
     .refused = "has a result",
     .done = "settled",
     .help =
         "Run COMMAND if no caller on any machine has run it for KEY, and keep its output and "
         "exit code. Every other caller prints the same output to the same streams and exits "
         "with the same code; one that comes while COMMAND runs waits. As 'mcds "
         "lock' does, mcds renews the claim while COMMAND runs, and COMMAND is ended if mcds "
         "dies. Then the next caller runs its COMMAND; with --strict, none does. The result "
         "of a COMMAND that fails is kept too, but not of one that a signal from outside has "
         "ended. Of the output, 1 MB is kept. The "
         "environment of COMMAND has MCDS_ONCE_KEY. The default store is a file of this user "
         "on "
         "this machine; name a store that all callers share with -s."},
    {.word = NULL},
};

const struct verb leader_verbs[] = {
    {.word = "run",
     .arguments = takes_name,
     .options = OPTIONS(LEADER),
     .overlap = OVERLAP_NEVER,
     .makes = true,
     .run = leader_run,
     .runs_program = true,
     .help =
         "Run COMMAND on one of all hosts that run this, the leader of NAME; the others wait. "
         "The leader holds the lock NAME, and COMMAND is run, renewed and ended as by 'mcds "
         "lock', whose environment it has too: MCDS_LOCK_FENCE is larger than that of every "
         "earlier leader. When COMMAND ends, all its descendants are ended, another host "
         "becomes the leader, and this one waits again after --rest. SIGINT, SIGTERM, SIGHUP "
         "and "
         "SIGQUIT are passed on to COMMAND, and mcds ends when COMMAND has ended. SIGUSR1 and "
         "SIGUSR2 are passed on too, and mcds continues. mcds also ends if Ctrl-C or Ctrl-\\ "
         "on "
         "the terminal kills COMMAND, or if COMMAND cannot be run. While the store does not "
         "answer, mcds says so once and waits."},
    {.word = "who",
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .start = leader_who,
     .print = leader_print_who,
     .help = "Print the label of the leader, the seconds left unless it renews, and the newest "
             "fence, with tabs between them. Exits with 1 where there is none."},
    {.word = "watch",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_ONCE),
     .overlap = OVERLAP_NEVER,
     .run = leader_watch,
     .help =
         "Print the leader, and a line for each change, until a signal: the time; "
         "leads, "
         "nobody or LOST; the label and the newest fence. LOST: the store has lost the fence, "
         "and later ones are smaller than earlier ones. A leader of less than 0.1 s can be "
         "missed. While the store does not answer, it says so once and waits."},
    {.word = NULL},
};
