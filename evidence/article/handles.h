/* Opens the structures of mcds for a row; the row's world closes them. NULL: refused. */
#ifndef MCDS_EVIDENCE_ARTICLE_HANDLES_H
#define MCDS_EVIDENCE_ARTICLE_HANDLES_H

#include "article/world.h"
#include "mcds.h"

mcds_lock *open_lock(struct actor *actor, const char *name, uint32_t lease_ms);
mcds_counter *open_counter(struct actor *actor, const char *name, uint32_t flags,
                           uint32_t stripes);
mcds_visitors *open_visitors(struct actor *actor, const char *name, uint64_t period_ms);
/* Five buckets of a minute. */
mcds_online *open_online(struct actor *actor, const char *name);
mcds_table *open_table(struct actor *actor, const char *name);
mcds_views *open_views(struct actor *actor, const char *name,
                       const mcds_views_options *options);
mcds_array *open_array(struct actor *actor, const char *name);
/* Kept for `retention_ms` in chunks of ten seconds; events may be as old as that. */
mcds_log *open_log(struct actor *actor, const char *name, uint64_t retention_ms);
mcds_list *open_list(struct actor *actor, const char *name);
mcds_set *open_set(struct actor *actor, const char *name, mcds_set_form form);
/* Of this actor's store. */
mcds_pipeline *open_pipeline(struct actor *actor);

#endif
