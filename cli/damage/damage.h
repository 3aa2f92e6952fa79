/* Damage: reads the keys of an lmdb: store in a child process, because LMDB aborts or crashes a
 * process that reads overwritten pages. */
#ifndef MCDS_CLI_DAMAGE_DAMAGE_H
#define MCDS_CLI_DAMAGE_DAMAGE_H

#include "run/session.h"

enum damage {
    DAMAGE_NONE,  /* all keys were read, or the store has no file */
    DAMAGE_FOUND, /* LMDB reported it, or the child crashed */
    DAMAGE_UNREAD /* not all keys were read: the time was over, the store did not open, or it was
                   * open before */
};

#define DAMAGE_FIX "restore a backup; 'mcds dump' may still read a part of it"

/* Reads all keys of the namespace, for at most `limit_s` seconds of processor time and five times
 * as many of waiting. A child cannot use a store that the session opened before the fork. */
enum damage damage_look(const struct session *session, unsigned limit_s);

#endif
