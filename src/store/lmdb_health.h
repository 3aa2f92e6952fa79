/* For people: what endangers the files of a store. */
#ifndef MCDS_STORE_LMDB_HEALTH_H
#define MCDS_STORE_LMDB_HEALTH_H

#include "store/lmdb_file.h"
#include "store/report.h"

/* Reports the place of the files and the users that may read and write them. */
void mcds__lmdb_tell_files(struct mcds__lmdb_file *file, struct mcds__report *report);
/* Reports readers that keep old pages from being reused. */
void mcds__lmdb_tell_readers(struct mcds__lmdb_file *file, uint64_t last_transaction,
                             struct mcds__report *report);

#endif
