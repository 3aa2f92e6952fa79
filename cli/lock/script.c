/* mcds lock acquire, renew and release: a lease that a script holds over several commands. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/exit.h"
#include "io/report.h"
#include "lock/runner.h"
#include "lock/token.h"
#include "table/nouns.h"

#define DAY_MS UINT64_C(86400000)
#define WHY_MAX 512

static int refuse(struct session *session, const struct command *command, int status,
                  const char *what)
{
    char sentence[SENTENCE_MAX];
    const char *name = status == STATUS_NO                               ? "MCDS_NOT_FOUND"
                       : status == STATUS_USAGE || status == STATUS_DATA ? "MCDS_INVALID"
                                                                         : "MCDS_IO";
    (void)snprintf(sentence, sizeof sentence, "lock '%.200s': %s", command->arguments[0], what);
    report_failure(&session->output, command, status, name, sentence);
    return status;
}

/* Prints the fence; --json also prints the time left, and `token` unless it is NULL. */
static int report_lease(struct session *session, const struct command *command, mcds_lock *lock,
                        const mcds_lease *lease, const char *token)
{
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    answer.holder = (mcds_lock_holder){.fence = lease->fence,
                                       .remaining_ms = mcds_lock_remaining_ms(lock, lease)};
    answer.gathered = token;
    return report(&session->output, command, &answer, MCDS_OK, NULL);
}

/* Releases the lease if its token cannot be written: without the token, nobody else could release
 * it. */
static int release_unwritten(struct runner *runner, int reason)
{
    char why[WHY_MAX];
    int result = runner_release(runner);
    bool has_ended = result == MCDS_LOST || result == MCDS_EXPIRED;
    const char *outcome = has_ended           ? "the lease has ended"
                          : result == MCDS_OK ? "the lock was released"
                                              : "the lock may be held until its lease ends";
    (void)snprintf(why, sizeof why, "the token cannot be written: %s; %s", strerror(reason),
                   outcome);
    return refuse(runner->session, runner->command, STATUS_IO, why);
}

/* Prints the token, or with --json the answer that contains it. False: with errno set. */
static bool print_token(struct runner *runner, const char *token)
{
    struct output *output = &runner->session->output;
    if (!output->json)
        output_print("%s\n", token);
    else
        (void)report_lease(runner->session, runner->command, runner->tenure.handle,
                           &runner->tenure.permit.lease, token);
    bool is_printed = output_pass_on(output);
    output->is_error_told = !is_printed;
    errno = output->error;
    return is_printed;
}

/* Writes the token of the lease that was acquired. */
static int hand_over(struct runner *runner, const struct token_place *place)
{
    char token[MCDS_LEASE_TEXT];
    mcds_lock *lock = runner->tenure.handle;
    mcds_lease *lease = &runner->tenure.permit.lease;
    struct session *session = runner->session;
    bool is_own = place->path == NULL && place->fd == STDOUT_FILENO;
    int result = mcds_lock_export(lock, lease, token);
    if (result != MCDS_OK)
        return report(&session->output, runner->command, NULL, result, NULL);
    if (is_own ? !print_token(runner, token) : !token_write(place, token))
        return release_unwritten(runner, errno);
    return is_own ? STATUS_DONE : report_lease(session, runner->command, lock, lease, NULL);
}

int lock_acquire(struct session *session, const struct command *command)
{
    struct runner runner;
    char why[WHY_MAX];
    bool is_limited = is_given(command, OPTION_WAIT);
    const struct token_place place = token_place_of(command, STDOUT_FILENO);
    struct patience patience = {
        .begun_ns = clock_ns(),
        .wait_ms = is_given(command, OPTION_NOWAIT) ? 0
                                                    : number_of(command, OPTION_WAIT, DAY_MS),
        .outlasts_silence = is_limited,
        .advice = is_limited ? "" : ", -w TIME limits it",
    };
    int status = token_check(&place, why, sizeof why);
    if (status != STATUS_DONE)
        return refuse(session, command, status, why);
    status = runner_open(&runner, session, command, &tenure_of_lock);
    if (status != STATUS_DONE)
        return status;
    if (runner_acquire(&runner, &patience, &status))
        status = hand_over(&runner, &place);
    runner_close(&runner);
    return status;
}

/* Reads the token, and the lease in it. Returns 0, or an exit code with the sentence printed. */
static int import(struct session *session, const struct command *command,
                  const struct token_place *place, mcds_lock **lock_out, mcds_lease *lease_out)
{
    char token[MCDS_LEASE_TEXT];
    char why[WHY_MAX];
    int status = token_read(place, token, why, sizeof why);
    if (status != STATUS_DONE)
        return refuse(session, command, status, why);
    status = session_open_store(session);
    if (status != STATUS_DONE)
        return status;
    int result = mcds_lock_import(session->store, command->arguments[0], token, lock_out,
                                  lease_out);
    if (result == MCDS_INVALID) {
        token_blame(place, mcds_last_error()->reason, why, sizeof why);
        return refuse(session, command, STATUS_DATA, why);
    }
    return result == MCDS_OK ? STATUS_DONE
                             : report(&session->output, command, NULL, result, NULL);
}

int lock_renew(struct session *session, const struct command *command)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    const struct token_place place = token_place_of(command, STDIN_FILENO);
    int status = import(session, command, &place, &lock, &lease);
    if (status != STATUS_DONE)
        return status;
    int result = mcds_lock_renew(lock, &lease);
    status = result == MCDS_OK ? report_lease(session, command, lock, &lease, NULL)
                               : report(&session->output, command, NULL, result, NULL);
    mcds_lock_close(lock);
    return status;
}

/* Removes the token file after the lease has ended. After a release in doubt the token is kept,
 * so that the release can be repeated. */
int lock_release(struct session *session, const struct command *command)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    struct answer answer;
    memset(&answer, 0, sizeof answer);
    const struct token_place place = token_place_of(command, STDIN_FILENO);
    int status = import(session, command, &place, &lock, &lease);
    if (status != STATUS_DONE)
        return status;
    int result = mcds_lock_release(lock, &lease);
    status = report(&session->output, command, &answer, result, NULL);
    if (result == MCDS_OK || result == MCDS_LOST)
        token_remove(&place);
    mcds_lock_close(lock);
    return status;
}

void lock_print_lease(struct output *output, const struct command *command,
                      const struct answer *answer, int result)
{
    (void)result;
    (void)command;
    output_unsigned(output, "fence", answer->holder.fence, SHOWN);
    output_number(output, "remaining_ms", answer->holder.remaining_ms, HIDDEN);
    if (answer->gathered != NULL)
        output_text(output, "token", answer->gathered, HIDDEN);
}

void lock_print_released(struct output *output, const struct command *command,
                         const struct answer *answer, int result)
{
    (void)command;
    (void)answer;
    (void)result;
    output_word(output, "done", "released");
}
