/* Runs programs as contestants. */
#include "process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

bool run_program(char *const *arguments, const char *out)
{
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
            _exit(127);
        (void)execvp(arguments[0], arguments);
        _exit(127);
    }
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
