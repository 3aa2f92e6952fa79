/* Log: what a cursor holds, and a cursor as text: 2:FROM:LIFE:CHUNK and, for each chunk,
 * :PART.SIZE.BIRTH, in decimal. */
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "structures/log.h"

#define FORM 2
#define CHUNKS_HUGE (UINT64_C(1) << 40)
#define SIZE_HUGE (UINT64_C(1) << 27)

static char *put(char *at, char before, uint64_t number)
{
    if (before != '\0')
        *at++ = before;
    return at + mcds__format_u64(number, at);
}

void mcds_log_cursor_save(const mcds_log_cursor *cursor, char text_out[MCDS_LOG_CURSOR_TEXT])
{
    char *at = put(text_out, '\0', FORM);
    at = put(at, ':', (uint64_t)cursor->from_ms);
    at = put(at, ':', cursor->life);
    at = put(at, ':', cursor->chunk);
    for (uint32_t i = 0; i < cursor->count && i < MCDS_LOG_CURSOR_CHUNKS; i++) {
        at = put(at, ':', cursor->at[i].part);
        at = put(at, '.', cursor->at[i].size);
        at = put(at, '.', cursor->at[i].birth);
    }
    *at = '\0';
}

/* A number up to `end`, where the text goes on or ends. */
static bool take(const char **at, const char *ends, uint64_t max, uint64_t *out)
{
    size_t length = strcspn(*at, ends);
    if (!mcds__parse_u64(*at, length, out) || *out > max)
        return false;
    *at += length;
    return true;
}

int mcds_log_cursor_load(mcds_log_cursor *cursor, const char *text)
{
    mcds_log_cursor loaded = MCDS_LOG_CURSOR_INIT;
    uint64_t form;
    uint64_t from_ms;
    uint64_t life;
    const char *at = text;
    if (cursor == NULL || text == NULL)
        return mcds__fail_missing("log", "cursor_load", "a cursor and a text");
    bool fine = take(&at, ":", UINT64_MAX, &form) && form == FORM && *at++ == ':' &&
                take(&at, ":", INT64_MAX, &from_ms) && *at++ == ':' &&
                take(&at, ":", UINT32_MAX, &life) && *at++ == ':' &&
                take(&at, ":", CHUNKS_HUGE, &loaded.chunk);
    while (fine && *at == ':') {
        uint64_t size;
        uint64_t birth;
        at++;
        fine = loaded.count < MCDS_LOG_CURSOR_CHUNKS &&
               take(&at, ".:", CHUNKS_HUGE, &loaded.at[loaded.count].part) && *at++ == '.' &&
               take(&at, ".:", SIZE_HUGE, &size) && *at++ == '.' &&
               take(&at, ".:", UINT32_MAX, &birth);
        if (fine) {
            loaded.at[loaded.count].size = (uint32_t)size;
            loaded.at[loaded.count++].birth = (uint32_t)birth;
        }
    }
    if (!fine || *at != '\0')
        return mcds__fail(MCDS_INVALID, BAD_CURSOR, .noun = "log", .verb = "cursor_load",
                          .found = text, .reason = "the text is not a cursor");
    loaded.from_ms = (int64_t)from_ms;
    loaded.life = (uint32_t)life;
    *cursor = loaded;
    return MCDS_OK;
}

uint64_t mcds__log_cursor_family(const mcds_log_cursor *cursor, uint32_t i)
{
    return mcds__log_family(mcds__log_cursor_stem(cursor), cursor->chunk + i);
}

void mcds__log_cursor_stretch(mcds_log_cursor *cursor, uint64_t newest)
{
    while (cursor->count < MCDS_LOG_CURSOR_CHUNKS && cursor->chunk + cursor->count <= newest) {
        cursor->at[cursor->count].part = 0;
        cursor->at[cursor->count].size = 0;
        cursor->at[cursor->count++].birth = 0;
    }
}

bool mcds__log_cursor_shift(mcds_log_cursor *cursor, uint64_t live, uint64_t newest)
{
    uint32_t passed = 0;
    while (passed < cursor->count && cursor->chunk + passed < live)
        passed++;
    bool was_full = cursor->chunk + cursor->count <= newest;
    memmove(cursor->at, cursor->at + passed, (cursor->count - passed) * sizeof cursor->at[0]);
    cursor->count -= passed;
    cursor->chunk += passed;
    return was_full && passed > 0;
}

void mcds__log_cursor_begin_life(mcds_log_cursor *cursor, uint32_t life)
{
    cursor->life = life;
    memset(cursor->at, 0, sizeof cursor->at);
}
