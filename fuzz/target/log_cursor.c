/* Cursors of a log as text: any text is a cursor or refused, and a cursor comes back as it was. */
#include "target.h"

#include <string.h>

#include "base/hash/text_sum.h"
#include "mcds.h"

/* Fields from bytes: what is saved is loaded again as it was. */
static void save(const uint8_t *data, size_t size)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_cursor loaded = MCDS_LOG_CURSOR_INIT;
    uint64_t from_ms = 0;
    for (size_t i = 0; i + 6 <= size && cursor.count < MCDS_LOG_CURSOR_CHUNKS; i += 6) {
        uint32_t at = cursor.count++;
        from_ms = from_ms << 7 ^ data[i];
        cursor.chunk = (cursor.chunk << 5 ^ data[i + 1]) & 0xFFFFFFFFFF;
        cursor.at[at].segment = (uint64_t)data[i + 2] << data[i + 3] % 32;
        cursor.at[at].size = (uint32_t)data[i + 3] << data[i + 2] % 16;
        cursor.at[at].incarnation = (uint32_t)data[i + 4] << 24 | data[i + 5];
    }
    cursor.from_ms = (int64_t)(from_ms & INT64_MAX);
    if (size % 2 == 1)
        memcpy(cursor.log, "mcds:name", sizeof "mcds:name");
    cursor.store = (uint32_t)size;
    cursor.polled_ms = cursor.from_ms;
    mcds_log_cursor_save(&cursor, text);
    MUST(memchr(text, '\0', sizeof text) != NULL);
    MUST(mcds_log_cursor_load(&loaded, text) == MCDS_OK);
    MUST(loaded.from_ms == cursor.from_ms && loaded.chunk == cursor.chunk);
    MUST(loaded.count == cursor.count && loaded.store == cursor.store);
    MUST(strcmp(loaded.log, cursor.log) == 0 && loaded.polled_ms == cursor.polled_ms);
    for (uint32_t i = 0; i < cursor.count; i++) {
        MUST(loaded.at[i].segment == cursor.at[i].segment);
        MUST(loaded.at[i].size == cursor.at[i].size);
        MUST(loaded.at[i].incarnation == cursor.at[i].incarnation);
    }
}

static void load(const char *text)
{
    char again[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    mcds_log_cursor twice = MCDS_LOG_CURSOR_INIT;
    if (mcds_log_cursor_load(&cursor, text) != MCDS_OK) {
        MUST(mcds_errmsg()[0] != '\0');
        MUST(cursor.count == 0 && cursor.from_ms == 0);
        return;
    }
    MUST(cursor.count <= MCDS_LOG_CURSOR_CHUNKS && cursor.from_ms >= 0);
    mcds_log_cursor_save(&cursor, again);
    MUST(mcds_log_cursor_load(&twice, again) == MCDS_OK);
    MUST(twice.count == cursor.count && twice.chunk == cursor.chunk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char begin[] = "4:mcds:name:1:0:0:";
    char text[1024];
    const size_t room = sizeof text - sizeof begin - MCDS__TEXT_SUM;
    size_t length = size < room ? size : room;
    memcpy(text, data, length);
    text[length] = '\0';
    load(text);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + sizeof begin - 1, data, length);
    text[sizeof begin - 1 + length] = '\0';
    load(text);
    mcds__text_seal(text, strlen(text));
    load(text);
    save(data, size);
    return 0;
}
