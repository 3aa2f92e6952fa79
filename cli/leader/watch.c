/* mcds leader watch: a line for each change of the leader, until a signal comes or standard output is
 * closed. */
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/failure.h"
#include "io/outage.h"
#include "io/report.h"
#include "parse/values.h"
#include "run/session.h"
#include "table/nouns.h"
#include "watch/read_copy.h"

/* How long a wait continues before it checks whether standard output has a reader. */
#define SLICE_MS 500
/* In an empty store, a holder has the lock a round trip before its fence: so long, and so often, the
 * line waits for the fence. */
#define SETTLE_MS 20
#define SETTLE_MAX 25

struct leader_watch {
    struct session *session;
    const struct command *command;
    mcds_lock *lock;
    mcds_lock_holder holder;
    uint64_t lines; /* printed */
    uint64_t told;  /* the fence of the last leader in them */
    int settling;   /* looks since the leader was seen, whose line is not printed; 0: it is */
    struct outage outage;
};

static void print_line(struct leader_watch *watch, const char *change, bool has_holder)
{
    char at[MOMENT_CAPACITY];
    struct output *output = &watch->session->output;
    format_moment(clock_wall_ms(), at);
    output_begin(output);
    output_text(output, "time", at, SHOWN);
    output_text(output, "noun", watch->command->noun->word, HIDDEN);
    output_name(output, "name", watch->command->arguments[0], HIDDEN);
    output_text(output, "change", change, SHOWN);
    if (has_holder) {
        bool is_named = watch->holder.label[0] != '\0' || output->json;
        output_name(output, "holder", is_named ? watch->holder.label : "-", SHOWN);
        output_unsigned(output, "fence", watch->holder.fence, SHOWN);
        watch->told = watch->holder.fence;
    }
    output_end(output);
    watch->lines++;
}

static void print_leader(struct leader_watch *watch)
{
    bool is_held = watch->holder.tenure != 0;
    uint64_t fence = watch->holder.fence;
    bool is_settled = !is_held || (fence != 0 && fence != watch->told);
    watch->settling = is_settled || watch->settling == SETTLE_MAX ? 0 : watch->settling + 1;
    if (watch->settling == 0)
        print_line(watch, is_held ? "leads" : "nobody", is_held);
}

static void complain_of_loss(struct leader_watch *watch)
{
    char said[FAILURE_CAPACITY];
    describe_failure(said, watch->command);
    complain(&watch->session->output, "%s", said);
    print_line(watch, "LOST", false);
}

/* Whether a later look may succeed. */
static bool is_passing(int result)
{
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE ||
           (result == MCDS_IO && !is_of_a_lost_file(result));
}

/* Returns 0 to wait on, or the exit code. */
static int note_failure(struct leader_watch *watch, int result)
{
    char said[FAILURE_CAPACITY];
    if (!is_passing(result))
        return report(&watch->session->output, watch->command, NULL, result, NULL);
    describe_failure(said, watch->command);
    outage_begin(&watch->outage, &watch->session->output, said);
    return STATUS_DONE;
}

/* Waits a slice for a change, and prints it. Returns 0, or the exit code. */
static int go_round(struct leader_watch *watch)
{
    uint64_t tenure = watch->holder.tenure;
    uint32_t wait_ms = watch->settling > 0 ? SETTLE_MS : watch->lines > 0 ? SLICE_MS : 0;
    int result = mcds_lock_watch(watch->lock, wait_ms, &watch->holder);
    if (result < 0 && result != MCDS_LOST)
        return note_failure(watch, result);
    outage_end(&watch->outage, &watch->session->output);
    if (result == MCDS_LOST)
        complain_of_loss(watch);
    if (watch->holder.tenure != tenure || watch->lines == 0 || watch->settling > 0)
        print_leader(watch);
    return STATUS_DONE;
}

static int follow(struct leader_watch *watch)
{
    struct output *output = &watch->session->output;
    bool is_once = is_given(watch->command, OPTION_ONCE);
    while (!(is_once && watch->lines > 1) && output_is_read(0)) {
        int status = go_round(watch);
        if (status != STATUS_DONE)
            return status;
        if (!output_flush(output))
            return STATUS_IO;
    }
    return STATUS_DONE;
}

/* Nobody leads in a store that does not exist yet. */
static int wait_for_store(struct leader_watch *watch)
{
    struct session *session = watch->session;
    if (!session->is_absent)
        return STATUS_DONE;
    print_leader(watch);
    if (!output_flush(&session->output))
        return STATUS_IO;
    return session_wait_for_store(session, watch->command, SLICE_MS);
}

int leader_watch(struct session *session, const struct command *command)
{
    struct leader_watch watch = {
        .session = session, .command = command, .holder = MCDS_LOCK_HOLDER_INIT};
    void *handle = NULL;
    if (session_is_private(session)) {
        report_failure(&session->output, command, STATUS_USAGE, "MCDS_INVALID",
                       "leader watch: only this command sees a memory: store, in which nobody "
                       "leads; name a shared store with -s");
        return STATUS_USAGE;
    }
    int status = session_open_store(session);
    if (status == STATUS_DONE)
        status = refuse_copy(session, command);
    if (status != STATUS_DONE)
        return status;
    if (isatty(STDERR_FILENO) == 1 && !session->output.quiet)
        complain(&session->output, "waiting for changes; Ctrl-C ends");
    status = wait_for_store(&watch);
    if (status != STATUS_DONE || session->is_absent)
        return status;
    int result = leader_open(session->store, command, &handle);
    if (result != MCDS_OK)
        return report(&session->output, command, NULL, result, NULL);
    watch.lock = handle;
    status = follow(&watch);
    leader_close(handle);
    return status;
}
