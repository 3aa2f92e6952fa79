/* A new file in the directory of the file that it replaces once it is complete. */
#include "files/aside.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

int aside_make(char *path)
{
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)fchmod(fd, S_IRUSR | S_IWUSR);
    return fd;
}
