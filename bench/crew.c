/* Processes that share out operations. */
#include "crew.h"

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

/* Until the line is shut. */
static void live(const struct crew_job *job, int line)
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

static bool begin(struct crew *crew, const struct crew_job *job)
{
    int line[2];
    if (crew->count == CREW_MAX ||
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
    crew->members[crew->count].pid = pid;
    crew->members[crew->count++].line = line[0];
    return true;
}

/* One word from each. */
static bool hear_all(const struct crew *crew)
{
    bool fine = true;
    for (uint32_t i = 0; i < crew->count; i++) {
        uint64_t word;
        fine = hear(crew->members[i].line, &word) && word && fine;
    }
    return fine;
}

bool crew_open(struct crew *crew, uint32_t count, const struct crew_job *job)
{
    crew->count = 0;
    while (crew->count < count)
        if (!begin(crew, job))
            return false;
    return hear_all(crew);
}

void crew_close(struct crew *crew)
{
    /* Those who came later hold copies of the line, so that closing alone would tell nobody. */
    for (uint32_t i = 0; i < crew->count; i++) {
        (void)shutdown(crew->members[i].line, SHUT_RDWR);
        (void)close(crew->members[i].line);
    }
    for (uint32_t i = 0; i < crew->count; i++)
        (void)waitpid(crew->members[i].pid, NULL, 0);
    crew->count = 0;
}

bool crew_run(void *state, uint64_t operations)
{
    struct crew *crew = state;
    for (uint32_t i = 0; i < crew->count; i++) {
        uint64_t share = operations / crew->count + (i < operations % crew->count ? 1 : 0);
        if (!tell(crew->members[i].line, share))
            return false;
    }
    return hear_all(crew);
}
