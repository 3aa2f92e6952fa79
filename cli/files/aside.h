/* A new file in the directory of the file that it replaces once it is complete. */
#ifndef MCDS_CLI_FILES_ASIDE_H
#define MCDS_CLI_FILES_ASIDE_H

/* Makes a file. `path` ends with XXXXXX; the call replaces these letters, as mkstemp does. Only
 * the owner can read and write the file, whatever the umask is. Returns the descriptor, or -1
 * with errno. */
int aside_make(char *path);

#endif
