/* What the two sides of `mcds lock` share. */
#ifndef MCDS_CLI_LOCK_H
#define MCDS_CLI_LOCK_H

#define LABEL_ROOM 201

#endif
