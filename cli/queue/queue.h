/* What the files of mcds queue share. */
#ifndef MCDS_CLI_QUEUE_QUEUE_H
#define MCDS_CLI_QUEUE_QUEUE_H

#include "queue/losses.h"
#include "run/session.h"
#include "table/command.h"

/* How often a job is handed out before it is dead, unless --tries says otherwise. */
#define QUEUE_TRIES UINT64_C(5)
/* Lost parts in a row that one command passes over. */
#define QUEUE_LOSSES_MAX 64

/* The word for a state, and back. False: no state has the word. */
const char *job_state_word(mcds_job_state state);
bool job_state_of(const char *word, mcds_job_state *state_out);

/* Claims a job, and passes over parts that the store has lost. Counts and reports them. MCDS_LOST:
 * the list of the parts is lost, which is the thread's last failure and is not counted; or there are
 * too many lost parts in a row, which are counted and not reported. */
int queue_claim(const struct session *session, const struct command *command, mcds_queue *queue,
                uint32_t wait_ms, mcds_job *job, mcds_value *value, struct losses *losses);

#endif
