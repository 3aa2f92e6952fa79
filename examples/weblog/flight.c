/* Operations on their way to the store, many at once. */
#include "flight.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 1024
/* 50 ms, doubled each time: 12.75 s in all. */
#define ATTEMPTS_MAX 8
#define ATTEMPT_PAUSE_NS INT64_C(50000000)

struct operation {
    struct wish wish;
    uint32_t attempts;
    char name[FIGURES_FIT_MAX];
};

bool flight_may_repeat(int result)
{
    return result == MCDS_TIMEOUT || result == MCDS_UNAVAILABLE || result == MCDS_BUSY;
}

bool flight_pause(uint32_t attempts)
{
    if (attempts >= ATTEMPTS_MAX)
        return false;
    int64_t pause_ns = ATTEMPT_PAUSE_NS << attempts;
    struct timespec pause = {.tv_sec = (time_t)(pause_ns / 1000000000),
                             .tv_nsec = (long)(pause_ns % 1000000000)};
    (void)nanosleep(&pause, NULL);
    return true;
}

int flight_open(struct flight *flight, struct sheet *sheet)
{
    memset(flight, 0, sizeof *flight);
    flight->sheet = sheet;
    flight->operations = calloc(DEPTH, sizeof *flight->operations);
    flight->idle = calloc(DEPTH, sizeof *flight->idle);
    if (flight->operations == NULL || flight->idle == NULL)
        return MCDS_NO_MEMORY;
    for (uint32_t i = 0; i < DEPTH; i++)
        flight->idle[flight->idle_count++] = i;
    mcds_pipeline_options options = MCDS_PIPELINE_OPTIONS_INIT;
    options.depth = DEPTH;
    return mcds_pipeline_open(sheet->store, &options, &flight->pipeline);
}

void flight_close(struct flight *flight)
{
    mcds_pipeline_close(flight->pipeline);
    free(flight->operations);
    free(flight->idle);
}

static int start(struct flight *flight, uint32_t index)
{
    const struct operation *operation = &flight->operations[index];
    const struct wish *wish = &operation->wish;
    const struct sheet *sheet = flight->sheet;
    mcds_pipeline *pipeline = flight->pipeline;
    switch (wish->kind) {
    case VIEW:
        return mcds_views_hit_start(sheet->views, operation->name, (uint32_t)wish->delta,
                                    pipeline, index);
    case HOST:
        return mcds_visitors_hit_start(sheet->hosts, operation->name, wish->at_ms, pipeline,
                                       index);
    case HOST_OF_DAY:
        return mcds_visitors_hit_start(sheet->daily, operation->name, wish->at_ms, pipeline,
                                       index);
    case ONLINE:
        return mcds_online_beat_start(sheet->online, operation->name, wish->at_ms, pipeline,
                                      index);
    case REQUESTS:
        return mcds_table_incr_start(sheet->requests, mcds_text(operation->name), wish->delta,
                                     NULL, pipeline, index);
    case REFERRER:
        return mcds_set_add_start(sheet->referrers, mcds_text(operation->name), NULL, pipeline,
                                  index);
    case ERROR_LOG:
        return mcds_log_put_start(sheet->error_log, wish->at_ms,
                                  (mcds_bytes){wish->text.at, wish->text.length}, pipeline,
                                  index);
    default:
        return mcds_counter_add_start(wish->counter, wish->delta, NULL, pipeline, index);
    }
}

/* Take one finished operation back. MCDS_IDLE: none is in flight. */
static int finish_one(struct flight *flight)
{
    mcds_completion done;
    int result = mcds_pipeline_next(flight->pipeline, &done);
    if (result != MCDS_OK)
        return result;
    uint32_t index = (uint32_t)done.tag;
    if (flight_may_repeat(done.result) && flight_pause(flight->operations[index].attempts++))
        return start(flight, index);
    flight->idle[flight->idle_count++] = index;
    if (done.result == MCDS_AMBIGUOUS) {
        flight->uncertain++;
        return MCDS_OK;
    }
    return done.result < 0 ? done.result : MCDS_OK;
}

int flight_begin(struct flight *flight, struct wish wish)
{
    while (flight->idle_count == 0) {
        int result = finish_one(flight);
        if (result != MCDS_OK)
            return result;
    }
    uint32_t index = flight->idle[flight->idle_count - 1];
    struct operation *operation = &flight->operations[index];
    operation->wish = wish;
    operation->attempts = 0;
    operation->name[0] = '\0';
    if (wish.kind != COUNT && wish.kind != ERROR_LOG)
        figures_fit(wish.text, operation->name);
    int result = start(flight, index);
    if (result == MCDS_OK)
        flight->idle_count--;
    return result;
}

int flight_end(struct flight *flight)
{
    int result;
    do
        result = finish_one(flight);
    while (result == MCDS_OK);
    return result == MCDS_IDLE ? MCDS_OK : result;
}
