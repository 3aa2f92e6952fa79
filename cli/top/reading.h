/* Reading: the figures of a store and the values of its structures, read at each interval.
 *
 *   mcds_scan, now and then --> rows --get, count--> pipeline --> values and their rates
 *   mcds_inspect -----------> figures of the servers or the file
 *   mcds_log_scan ----------> the last events of one log
 *
 * Bounded: at most ROWS_MAX structures are read. A store has at most SERVERS_MAX servers. */
#ifndef MCDS_CLI_TOP_READING_H
#define MCDS_CLI_TOP_READING_H

#include "run/session.h"

#define ROWS_MAX 4096
#define EVENTS_MAX 50
#define SERVERS_MAX 64
#define FIGURES_MAX (2 * SERVERS_MAX) /* each server has two, a file has fewer */

/* A structure. */
struct row {
    struct command command;
    char *name;
    char *shown; /* the name as plain output has it */
    void *handle;
    struct answer answer;
    char value[48]; /* as its get prints it, the mode of a lock, or the waiting jobs of a queue;
                     * "" = not known */
    double number;
    double rate; /* each second */
    bool has_number;
    bool has_rate;
    int64_t begun_ns;  /* the last read; 0: none */
    int64_t passed_ns; /* from the beginning of the read before; 0: none */
    int64_t took_ns;
    int64_t left_ms; /* of a lock that is held; less than 0: not known */
    char *holder;    /* as plain output has it, or NULL */
};

/* A number of a server or a file. */
struct figure {
    char subject[256];
    char name[16];
    uint64_t number;
    double rate;
    bool has_rate;
    bool is_current; /* the last reading has it */
    int64_t at_ns;   /* of the number */
};

/* A memcached server. */
struct server {
    char subject[256];
    char trouble[200]; /* the first problem that the last reading has found */
    bool is_silent;    /* the last reading found no answer */
    bool has_fact;     /* the reading under way has found one */
    int64_t since_ms;  /* when the silence began */
};

struct reading {
    struct session *session;
    const struct command *command;
    mcds_pipeline *pipeline;
    struct row *rows; /* in the order of noun and name */
    size_t count;
    size_t listed; /* how many structures match, also beyond ROWS_MAX */
    struct figure figures[FIGURES_MAX];
    size_t figure_count;
    struct server servers[SERVERS_MAX];
    size_t server_count;
    size_t silent_count; /* of the servers */
    int64_t listed_ns;
    int64_t list_took_ns;
    char log[1100];     /* the name of the log to show; "" = none */
    bool has_log;       /* one was chosen, or none */
    char *events;       /* its last ones, the newest first, one per line */
    char trouble[300];  /* why a part was not read, or all; "" = all was */
    int trouble_result; /* of that, of the library */
    bool is_out_of_memory;
};

/* False: out of memory. */
bool reading_open(struct reading *reading, struct session *session,
                  const struct command *command);
void reading_close(struct reading *reading);
/* Reads the figures. Returns whether another set of servers is silent than before. */
bool reading_take_figures(struct reading *reading);
/* Whether no server has answered. */
bool reading_is_silent(const struct reading *reading);
/* Reads the structures, after the figures. */
void reading_take_rows(struct reading *reading);
/* Reads everything once. */
void reading_take(struct reading *reading);
/* The row of the log to show; NULL: none. */
const struct row *reading_find_log(const struct reading *reading);
/* Shows the next log, and none after the last. */
void reading_next_log(struct reading *reading);

#endif
