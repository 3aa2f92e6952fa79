/* deploys STORE put TEXT | tail FILE: a log of what was deployed, shared by all machines.
 *
 * "tail" prints the events since its last call with this FILE, which has the position of the
 * reader: every event once, also one that arrives late. */
#include <inttypes.h>
#include <mcds.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int put(mcds_log *log, const char *text)
{
    switch (mcds_log_put(log, 0, mcds_text(text))) {
    case MCDS_OK:
        return 0;
    case MCDS_AMBIGUOUS: /* look before you repeat: a second put would be a second event */
        (void)fprintf(stderr, "deploys: may be in the log: %s\n", mcds_errmsg());
        return 75;
    case MCDS_LOST: /* the log was made again with other options; a new handle reads them */
    case MCDS_BUSY:
    case MCDS_TIMEOUT:
    case MCDS_UNAVAILABLE:
    default:
        (void)fprintf(stderr, "deploys: not in the log: %s\n", mcds_errmsg());
        return 69;
    }
}

static bool print_event(void *context, const mcds_log_event *event)
{
    (void)context;
    char when[32];
    time_t seconds = (time_t)(event->when_ms / 1000);
    struct tm utc;
    (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    return printf("%s %.*s\n", when, (int)event->event.length,
                  (const char *)event->event.data) > 0;
}

/* A FILE that does not exist begins with the oldest event that the log keeps. */
static int load(mcds_log_cursor *cursor, const char *path)
{
    char text[MCDS_LOG_CURSOR_TEXT] = "";
    FILE *file = fopen(path, "r");
    cursor->from_ms = 1;
    if (file == NULL)
        return MCDS_OK;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = '\0'; /* no cursor, which load reports */
    (void)fclose(file);
    return mcds_log_cursor_load(cursor, text);
}

/* A reader that dies before the cursor is saved prints the events again at its next call. */
static int save(const mcds_log_cursor *cursor, const char *path)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor_save(cursor, text);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) == EOF || fclose(file) != 0) {
        perror(path);
        return 73;
    }
    return 0;
}

static int tail(mcds_log *log, const char *path)
{
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_info info = MCDS_LOG_INFO_INIT;
    int result = load(&cursor, path);
    if (result == MCDS_OK)
        result = mcds_log_tail(log, &cursor, print_event, NULL, &info);
    if (info.gaps > 0)
        (void)fprintf(stderr, "deploys: events are lost in %" PRIu64 " places\n", info.gaps);
    if (result != MCDS_OK && result != MCDS_NOT_FOUND) /* NOT_FOUND: nothing was put yet */
        (void)fprintf(stderr, "deploys: call again for the rest: %s\n", mcds_errmsg());
    int status = result < 0 || result == MCDS_BUSY ? 69 : 0;
    return result == MCDS_INVALID || save(&cursor, path) == 0 ? status : 73;
}

int main(int count, char **words)
{
    mcds_store *store = NULL;
    mcds_log *log = NULL;
    int status = 64;
    if (count != 4 || (strcmp(words[2], "put") != 0 && strcmp(words[2], "tail") != 0))
        (void)fputs("usage: deploys STORE put TEXT | tail FILE\n", stderr);
    else if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
             mcds_log_open(store, "deploys", NULL, &log) != MCDS_OK)
        (void)fprintf(stderr, "deploys: %s\n", mcds_errmsg());
    else
        status = strcmp(words[2], "put") == 0 ? put(log, words[3]) : tail(log, words[3]);
    mcds_log_close(log);
    mcds_close(store);
    return status;
}
