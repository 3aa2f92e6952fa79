/* A program that, when it is set-uid, becomes its owner for good, as sudo does: the user that has started it
 * cannot signal it. Prints its process id and waits; with an argument, prints the user instead. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argv;
    if (setresuid(geteuid(), geteuid(), geteuid()) != 0)
        return 1;
    (void)printf("%ld\n", argc > 1 ? (long)getuid() : (long)getpid());
    (void)fflush(stdout);
    (void)signal(SIGTERM, SIG_IGN);
    while (argc == 1)
        (void)pause();
    return 0;
}
