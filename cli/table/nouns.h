/* The functions that the table names. */
#ifndef MCDS_CLI_TABLE_NOUNS_H
#define MCDS_CLI_TABLE_NOUNS_H

#include "table/command.h"

#define START(name)                                                                            \
    int name(void *handle, const struct command *command, struct answer *answer,               \
             mcds_pipeline *pipeline, uint64_t tag)
#define PRINT(name)                                                                            \
    void name(struct output *output, const struct command *command,                            \
              const struct answer *answer, int result)
#define OPEN(name) int name(mcds_store *store, const struct command *command, void **handle_out)
#define CLOSE(name) void name(void *handle)
#define RUN(name) int name(struct session *session, const struct command *command)

OPEN(counter_open);
CLOSE(counter_close);
START(counter_add);
PRINT(counter_print_add);
START(counter_get);
PRINT(counter_print_get);
START(counter_take);
PRINT(counter_print_take);
START(counter_drop);
void print_which(struct output *output, const struct command *command);
PRINT(print_dropped);
PRINT(print_count);

OPEN(cache_open);
CLOSE(cache_close);
const char *cache_why_not(const struct command *command);
RUN(cache_get);
RUN(cache_hold);
START(cache_forget);
PRINT(cache_print_forget);
START(cache_expire);
PRINT(cache_print_expire);
START(cache_clear);
PRINT(cache_print_clear);
START(cache_drop);

OPEN(lock_open);
CLOSE(lock_close);
START(lock_look);
PRINT(lock_print);
RUN(lock_run);
RUN(lock_acquire);
RUN(lock_renew);
RUN(lock_release);
PRINT(lock_print_lease);
PRINT(lock_print_released);

OPEN(semaphore_open);
/* The same, but first contacts the server, as lock_open_known does. */
OPEN(semaphore_open_known);
CLOSE(semaphore_close);
RUN(semaphore_run);
START(semaphore_holders);
PRINT(semaphore_print_holders);
START(semaphore_resize);
PRINT(semaphore_print_resize);
START(semaphore_drop);

OPEN(leader_open);
CLOSE(leader_close);
RUN(leader_run);
START(leader_who);
PRINT(leader_print_who);
RUN(leader_watch);

/* The form that --exact and --estimated select. */
uint32_t members_of(const struct command *command);
OPEN(visitors_open);
CLOSE(visitors_close);
START(visitors_hit);
PRINT(print_counted);
START(visitors_get);
PRINT(visitors_print_get);
PRINT(visitors_print_estimate);
START(visitors_drop);

OPEN(online_open);
CLOSE(online_close);
START(online_beat);
START(online_count);
PRINT(online_print_count);
START(online_drop);

OPEN(set_open);
CLOSE(set_close);
/* The set of a handle of set_open. */
mcds_set *set_of(void *handle);
START(set_add);
PRINT(set_print_add);
START(set_remove);
PRINT(set_print_remove);
START(set_has);
PRINT(set_print_has);
START(set_scan);
START(set_count);
START(set_drop);

OPEN(table_open);
CLOSE(table_close);
START(table_put);
PRINT(table_print_put);
START(table_get);
PRINT(table_print_get);
START(table_has);
PRINT(table_print_has);
START(table_remove);
PRINT(table_print_remove);
START(table_incr);
PRINT(table_print_incr);
START(table_scan);
RUN(table_top);
START(table_count);
bool table_has_more(const struct answer *answer);
PRINT(table_print_scan);
START(table_drop);

OPEN(limit_open);
CLOSE(limit_close);
const char *limit_why_not(const struct command *command);
START(limit_take);
PRINT(limit_print_take);
START(limit_get);
PRINT(limit_print_get);
START(limit_give);
PRINT(limit_print_give);
START(limit_ls);
bool limit_has_more(const struct answer *answer);
PRINT(limit_print_ls);
RUN(limit_run);
START(limit_drop);

OPEN(once_open);
CLOSE(once_close);
const char *once_why_not(const struct command *command);
START(once_look);
PRINT(once_print);
RUN(once_run);

OPEN(queue_open);
CLOSE(queue_close);
const char *queue_why_not(const struct command *command);
START(queue_push);
PRINT(queue_print_push);
RUN(queue_work);
RUN(queue_next);
PRINT(queue_print_next);
START(queue_done);
START(queue_again);
START(queue_longer);
PRINT(queue_print_changed);
START(queue_ls);
START(queue_count);
PRINT(queue_print_count);
START(queue_dead);
RUN(queue_retry);
RUN(queue_discard);
PRINT(queue_print_dead);
START(queue_drop);

OPEN(ids_open);
CLOSE(ids_close);
START(ids_next);
PRINT(ids_print_next);
START(ids_drop);

OPEN(list_open);
CLOSE(list_close);
START(list_push);
PRINT(list_print_push);
START(list_scan);
START(list_count);
START(list_clear);
PRINT(list_print_clear);
START(list_drop);

OPEN(log_open);
CLOSE(log_close);
START(log_put);
PRINT(log_print_put);
START(log_scan);
RUN(log_tail);
START(log_drop);

OPEN(views_open);
CLOSE(views_close);
const char *views_why_not(const struct command *command);
START(views_hit);
PRINT(views_print_hit);
START(views_get);
PRINT(views_print_get);
RUN(views_top);
START(views_flush);
PRINT(views_print_flush);
START(views_drop);

OPEN(array_open);
CLOSE(array_close);
bool print_element(void *context, mcds_bytes element);
START(array_scan);
START(array_set);
PRINT(array_print_set);
START(array_change);
PRINT(array_print_change);
START(array_drop);

RUN(batch_run);
RUN(shell_run);
RUN(rm_run);
RUN(ls_run);
RUN(watch_run);
RUN(top_run);
RUN(doctor_run);
RUN(backup_run);
RUN(dump_run);
RUN(load_run);
RUN(help_run);
RUN(completion_run);

#endif
