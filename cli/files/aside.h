/* A new file beside the one that it replaces when it is whole. */
#ifndef MCDS_CLI_FILES_ASIDE_H
#define MCDS_CLI_FILES_ASIDE_H

/* Makes a file of this name, which ends with XXXXXX, and replaces these by the end that it gets. Only
 * its owner can read and write it, whatever the umask is. Returns the descriptor, or -1 with errno. */
int aside_make(char *path);

#endif
