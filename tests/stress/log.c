/* Eight members write two logs, one ordered by the events' own times, one by arrival: log STORE
 * (memory, lmdb, memcached)
 *
 * All put events, one, several, or through a pipeline, at once, late or ahead of time. They
 * read the newest events by ranges of time, and all events by a cursor of their own, which is
 * sometimes saved and loaded. Both find an acknowledged event once, with its time, and nothing
 * outside of a range. At the end the logs agree with the journals; the unanswered calls of a
 * killed process may count or not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stress/pushed.h"
#include "stress/stage.h"

#define LOGS 2
#define MANY_MAX 6
#define PIPELINED 16
#define RETENTION_MS 3600000
#define CHUNK_MS 4000
#define LATE_MS 8000
#define AHEAD_MS 3000
#define MARGIN_MS 2000 /* for what takes its time between the clock and the library */
#define FETCH_ONE_IN 400
#define TAIL_ONE_IN 60

/* The verb of a note is its log; `time_ms` its time, 0: by the library's clock. */
enum verb { BY_TIME, BY_ARRIVAL };

static const char *const names[LOGS] = {"by time", "by arrival"};

struct player {
    struct crowd_member *member;
    struct crowd_journal *journals[CROWD]; /* its own */
    mcds_pipeline *pipeline;
    mcds_log *logs[LOGS];
    mcds_log_cursor cursors[LOGS];
    struct pushed followed[LOGS];
    uint32_t next; /* value */
    int64_t begun_ms;
};

static int64_t wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool must_be(const char *verb, int result, int expected)
{
    if (result == expected)
        return true;
    return COMPLAIN("%s: %s (%s), must be %s", verb, mcds_result_name(result), mcds_errmsg(),
                    mcds_result_name(expected));
}

/* Now, a while ago, or in a while; by arrival any time will do. */
static int64_t draw_time(struct player *player, int log)
{
    switch (crowd_roll(player->member, 4)) {
    case 0:
        return 0;
    case 1:
        return wall_ms() + (int64_t)crowd_roll(player->member, AHEAD_MS - MARGIN_MS);
    case 2:
        if (log == BY_ARRIVAL)
            return 1 + (int64_t)crowd_roll(player->member, 1000000);
        return wall_ms() - (int64_t)crowd_roll(player->member, LATE_MS / 2);
    default:
        return wall_ms();
    }
}

static struct crowd_note *ask_put(struct player *player, int log, uint32_t count)
{
    int64_t time_ms = draw_time(player, log);
    struct crowd_note *note = crowd_ask(player->member, (unsigned)log, player->next);
    note->number = count;
    note->time_ms = time_ms;
    player->next += count;
    return note;
}

static bool play_put(struct player *player, int log)
{
    char capacity[PUSHED_TEXT_MAX];
    mcds_bytes event = pushed_write(capacity, player->member->number, player->next);
    struct crowd_note *note = ask_put(player, log, 1);
    if (!must_be("put", mcds_log_put(player->logs[log], note->time_ms, event), MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

static bool play_many(struct player *player, int log)
{
    static _Thread_local char rooms[MANY_MAX][PUSHED_TEXT_MAX];
    mcds_bytes events[MANY_MAX];
    uint32_t count = 1 + (uint32_t)crowd_roll(player->member, MANY_MAX);
    for (uint32_t i = 0; i < count; i++)
        events[i] = pushed_write(rooms[i], player->member->number, player->next + i);
    struct crowd_note *note = ask_put(player, log, count);
    int result = mcds_log_put_many(player->logs[log], note->time_ms, events, count, NULL);
    if (!must_be("put_many", result, MCDS_OK))
        return false;
    crowd_answer(note, 1);
    return true;
}

static bool play_pipeline(struct player *player, int log)
{
    struct crowd_note *notes[PIPELINED];
    for (uint64_t i = 0; i < PIPELINED; i++) {
        char capacity[PUSHED_TEXT_MAX];
        mcds_bytes event = pushed_write(capacity, player->member->number, player->next);
        notes[i] = ask_put(player, log, 1);
        int result = mcds_log_put_start(player->logs[log], notes[i]->time_ms, event,
                                        player->pipeline, i);
        if (!must_be("put_start", result, MCDS_OK))
            return false;
    }
    for (int i = 0; i < PIPELINED; i++) {
        mcds_completion done;
        if (!must_be("next", mcds_pipeline_next(player->pipeline, &done), MCDS_OK) ||
            !must_be("put", done.result, MCDS_OK))
            return false;
        crowd_answer(notes[done.tag], 1);
    }
    return true;
}

struct visit {
    struct pushed *pushed;
    int64_t first_ms, last_ms; /* the range */
    bool fine;
};

static bool visit_event(void *context, const mcds_log_event *event)
{
    struct visit *visit = context;
    const struct crowd_note *note;
    if (event->filed_ms < visit->first_ms || event->filed_ms >= visit->last_ms)
        return visit->fine = COMPLAIN("an event from outside of the range");
    visit->fine = pushed_see(visit->pushed, event->event, &note);
    if (visit->fine && note != NULL && note->time_ms != 0 && note->time_ms != event->when_ms)
        visit->fine = COMPLAIN("an event of %lld has the time %lld", (long long)note->time_ms,
                               (long long)event->when_ms);
    return visit->fine;
}

static bool is_whole(const mcds_log_info *info)
{
    return (info->gaps == 0 && info->corrupt == 0) ||
           COMPLAIN("%llu gaps, %llu corrupt stretches, though nothing was lost",
                    (unsigned long long)info->gaps, (unsigned long long)info->corrupt);
}

/* What was put at a time inside of the range is there. */
static bool has_range(const struct pushed *pushed, int member, const struct visit *visit)
{
    const struct crowd_journal *journal = pushed->journals[member];
    for (uint32_t i = 0; i < journal->count; i++) {
        const struct crowd_note *note = &journal->notes[i];
        if (note->verb == BY_TIME && note->answered_ns != 0 &&
            note->time_ms >= visit->first_ms && note->time_ms != 0 &&
            note->time_ms < visit->last_ms && pushed->seen[member][i] != note->number)
            return COMPLAIN("of %lld events from %u of %d on, %u are in the range",
                            (long long)note->number, note->what, member,
                            pushed->seen[member][i]);
    }
    return true;
}

static bool play_range(struct player *player)
{
    struct pushed pushed;
    struct visit visit = {.pushed = &pushed, .fine = true};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int number = player->member->number;
    range.first_ms = player->begun_ms - LATE_MS +
                     (int64_t)crowd_roll(player->member,
                                         (uint64_t)(wall_ms() - player->begun_ms) + LATE_MS);
    range.last_ms = range.first_ms + 1 + (int64_t)crowd_roll(player->member, LATE_MS);
    visit.first_ms = range.first_ms;
    visit.last_ms = range.last_ms;
    pushed_begin(&pushed, BY_TIME, number, player->journals);
    pushed.is_part = true;
    int result = mcds_log_scan(player->logs[BY_TIME], &range, visit_event, &visit, &info);
    bool fine = visit.fine && (result == MCDS_NOT_FOUND || must_be("fetch", result, MCDS_OK)) &&
                is_whole(&info) && has_range(&pushed, number, &visit);
    pushed_end(&pushed);
    return fine;
}

static bool move_cursor(struct player *player, int log)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor fresh = MCDS_LOG_CURSOR_INIT;
    mcds_log_cursor_save(&player->cursors[log], text);
    player->cursors[log] = fresh;
    return must_be("cursor_load", mcds_log_cursor_load(&player->cursors[log], text), MCDS_OK);
}

static bool play_tail(struct player *player, int log)
{
    struct visit visit = {&player->followed[log], INT64_MIN, INT64_MAX, true};
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    if (crowd_roll(player->member, 4) == 0 && !move_cursor(player, log))
        return false;
    int result = mcds_log_tail(player->logs[log], &player->cursors[log], visit_event, &visit,
                               &info);
    return visit.fine && (result == MCDS_NOT_FOUND || must_be("tail", result, MCDS_OK)) &&
           is_whole(&info) && pushed_is_complete(visit.pushed);
}

static bool play(struct player *player)
{
    bool fine = true;
    while (fine && crowd_goes_on(player->member)) {
        uint64_t chance = crowd_roll(player->member, 6);
        int log = (int)crowd_roll(player->member, LOGS);
        if (crowd_roll(player->member, FETCH_ONE_IN) == 0)
            fine = play_range(player);
        else if (crowd_roll(player->member, TAIL_ONE_IN) == 0)
            fine = play_tail(player, log);
        else if (chance == 0)
            fine = play_many(player, log);
        else if (chance == 1)
            fine = play_pipeline(player, log);
        else
            fine = play_put(player, log);
    }
    return fine;
}

static bool open_logs(mcds_store *store, mcds_log **logs)
{
    for (int log = 0; log < LOGS; log++) {
        mcds_log_options options = MCDS_LOG_OPTIONS_INIT;
        options.flags = log == BY_ARRIVAL ? MCDS_LOG_BY_ARRIVAL : 0;
        options.retention_ms = RETENTION_MS;
        options.chunk_ms = CHUNK_MS;
        options.late_ms = LATE_MS;
        options.ahead_ms = AHEAD_MS;
        if (mcds_log_open(store, names[log], &options, &logs[log]) != MCDS_OK)
            return COMPLAIN("open: %s", mcds_errmsg());
    }
    return true;
}

static void close_logs(mcds_log **logs)
{
    for (int log = 0; log < LOGS; log++)
        mcds_log_close(logs[log]);
}

static bool live(struct crowd_member *member)
{
    struct player *player = calloc(1, sizeof *player);
    if (player == NULL)
        abort();
    player->member = member;
    player->journals[member->number] = member->journal;
    player->begun_ms = wall_ms();
    for (int log = 0; log < LOGS; log++) {
        pushed_begin(&player->followed[log], (unsigned)log, member->number, player->journals);
        player->cursors[log] = (mcds_log_cursor)MCDS_LOG_CURSOR_INIT;
        player->cursors[log].from_ms = player->begun_ms - LATE_MS;
    }
    bool fine = mcds_pipeline_open(member->store, NULL, &player->pipeline) == MCDS_OK &&
                open_logs(member->store, player->logs) && play(player);
    mcds_pipeline_close(player->pipeline);
    close_logs(player->logs);
    for (int log = 0; log < LOGS; log++)
        pushed_end(&player->followed[log]);
    free(player);
    return fine;
}

static bool judge_log(mcds_log *log, int which, struct crowd_journal *const *journals)
{
    struct pushed pushed;
    struct visit visit = {&pushed, INT64_MIN, INT64_MAX, true};
    mcds_log_range range = MCDS_LOG_RANGE_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    pushed_begin(&pushed, (unsigned)which, PUSHED_ALL, journals);
    int result = mcds_log_scan(log, &range, visit_event, &visit, &info);
    bool fine = visit.fine && must_be("fetch", result, MCDS_OK) && is_whole(&info) &&
                pushed_is_complete(&pushed);
    (void)printf("  %llu events %s\n", (unsigned long long)pushed.total, names[which]);
    pushed_end(&pushed);
    return fine;
}

static bool judge(mcds_store *store, struct crowd_journal *const *journals)
{
    mcds_log *logs[LOGS] = {NULL};
    bool fine = open_logs(store, logs);
    for (int log = 0; fine && log < LOGS; log++)
        fine = judge_log(logs[log], log, journals);
    close_logs(logs);
    return fine;
}

int main(int argc, char **argv)
{
    static const struct crowd_play log = {live, judge};
    return crowd_main(argc, argv, &log);
}
