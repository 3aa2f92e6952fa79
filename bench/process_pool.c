/* Processes that share operations among them. */
#include "process_pool.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool tell(int line, uint64_t word)
{
    return write(line, &word, sizeof word) == (ssize_t)sizeof word;
}

static bool hear(int line, uint64_t *word_out)
{
    return read(line, word_out, sizeof *word_out) == (ssize_t)sizeof *word_out;
}

/* Execute orders until the parent closes the socket. */
static void live(const struct process_pool_job *job, int line)
{
    uint64_t operations;
    void *state = job->open(job->where);
    if (state == NULL)
        return;
    bool fine = tell(line, true);
    while (fine && hear(line, &operations))
        fine = tell(line, job->run(state, operations));
    job->close(state);
}

static bool begin(struct process_pool *process_pool, const struct process_pool_job *job)
{
    int line[2];
    if (process_pool->count == PROCESS_POOL_MAX ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
            live(job, line[1]);
        _exit(0);
    }
    (void)close(line[1]);
    if (pid < 0) {
        (void)close(line[0]);
        return false;
    }
    process_pool->members[process_pool->count].pid = pid;
    process_pool->members[process_pool->count++].line = line[0];
    return true;
}

/* Read one word from each process. */
static bool hear_all(const struct process_pool *process_pool)
{
    bool fine = true;
    for (uint32_t i = 0; i < process_pool->count; i++) {
        uint64_t word;
        fine = hear(process_pool->members[i].line, &word) && word && fine;
    }
    return fine;
}

bool process_pool_open(struct process_pool *process_pool, uint32_t count,
                       const struct process_pool_job *job)
{
    process_pool->count = 0;
    while (process_pool->count < count)
        if (!begin(process_pool, job))
            return false;
    return hear_all(process_pool);
}

void process_pool_close(struct process_pool *process_pool)
{
    /* Processes started later have copies of the socket, so close() alone would not be
     * noticed. */
    for (uint32_t i = 0; i < process_pool->count; i++) {
        (void)shutdown(process_pool->members[i].line, SHUT_RDWR);
        (void)close(process_pool->members[i].line);
    }
    for (uint32_t i = 0; i < process_pool->count; i++)
        (void)waitpid(process_pool->members[i].pid, NULL, 0);
    process_pool->count = 0;
}

bool process_pool_run(void *state, uint64_t operations)
{
    struct process_pool *process_pool = state;
    for (uint32_t i = 0; i < process_pool->count; i++) {
        uint64_t share = operations / process_pool->count +
                         (i < operations % process_pool->count ? 1 : 0);
        if (!tell(process_pool->members[i].line, share))
            return false;
    }
    return hear_all(process_pool);
}
