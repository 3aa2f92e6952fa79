/* Runs programs as contestants. */
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Not fork: a copy of the page tables of this process takes longer than most programs run. */
static bool start_program(char *const *arguments, const char *out, pid_t *pid_out)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    bool fine = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out,
                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
                posix_spawnp(pid_out, arguments[0], &actions, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    return fine;
}

bool run_program(char *const *arguments, const char *out)
{
    pid_t pid;
    int status;
    return start_program(arguments, out, &pid) && waitpid(pid, &status, 0) == pid &&
           WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
