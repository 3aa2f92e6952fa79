/* Lines of an access log: any bytes are an entry that lies in them, or are refused with a phrase;
 * an entry that is written as a line is read as the same; and its names survive JSON. */
#include "target.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "parse.h"

#define LINE_CAPACITY 8192
#define YEAR_10000_MS INT64_C(253402300800000)

static bool lies_in(struct text text, const char *line, size_t length)
{
    return text.length == 0 || (text.at >= line && text.at + text.length <= line + length);
}

static void must_equal(struct text one, struct text other)
{
    MUST(one.length == other.length && memcmp(one.at, other.at, one.length) == 0);
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* JSON of any bytes is ASCII or UTF-8 without control characters, and tells them all. */
static void through_json(struct text text)
{
    char *made = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&made, &length);
    MUST(out != NULL);
    json_string(out, text);
    MUST(fclose(out) == 0);
    MUST(length >= 2 && made[0] == '"' && made[length - 1] == '"');
    size_t count = 0;
    for (size_t at = 1; at < length - 1; count++) {
        char byte = made[at];
        MUST((unsigned char)byte >= ' ' && byte != '"' && byte != 0x7f);
        if (byte != '\\') {
            at++;
        } else if (made[at + 1] == 'u') {
            MUST(at + 6 < length);
            byte = (char)(hex(made[at + 4]) << 4 | hex(made[at + 5]));
            at += 6;
        } else {
            byte = made[at + 1];
            at += 2;
        }
        MUST(count < text.length && text.at[count] == byte);
    }
    MUST(count == text.length);
    free(made);
}

static void write_line(const struct entry *entry)
{
    static char line[LINE_CAPACITY];
    char when[64];
    struct entry again;
    struct tm at;
    time_t seconds = (time_t)(entry->at_ms / 1000);
    if (entry->at_ms >= YEAR_10000_MS)
        return;
    MUST(entry->at_ms >= 1 && gmtime_r(&seconds, &at) != NULL);
    MUST(strftime(when, sizeof when, "%d/%b/%Y:%H:%M:%S +0000", &at) > 0);
    int length = snprintf(
        line, sizeof line, "%.*s - x [%s] \"GET %.*s HTTP/1.1\" %03d %llu \"%.*s\" \"agent\"\r",
        (int)entry->host.length, entry->host.at, when, (int)entry->page.length, entry->page.at,
        entry->status, (unsigned long long)entry->size, (int)entry->referrer.length,
        entry->referrer.at);
    MUST(length > 0 && (size_t)length < sizeof line);
    char *copy = malloc((size_t)length);
    MUST(copy != NULL);
    memcpy(copy, line, (size_t)length);
    MUST(parse_line(copy, (size_t)length, &again) == NULL);
    must_equal(again.host, entry->host);
    must_equal(again.page, entry->page);
    must_equal(again.referrer, entry->referrer);
    MUST(again.at_ms == entry->at_ms && again.status == entry->status);
    MUST(again.size == entry->size);
    free(copy);
}

static void read_line(const char *line, size_t length)
{
    struct entry entry;
    char *copy = malloc(length > 0 ? length : 1);
    MUST(copy != NULL);
    memcpy(copy, line, length);
    const char *reason = parse_line(copy, length, &entry);
    MUST(reason == NULL || reason[0] != '\0');
    if (reason == NULL) {
        MUST(lies_in(entry.host, copy, length) && entry.host.length > 0);
        MUST(lies_in(entry.page, copy, length) && entry.page.length > 0);
        MUST(lies_in(entry.referrer, copy, length));
        MUST(entry.status >= 0 && entry.status <= 999);
        through_json(entry.host);
        through_json(entry.page);
        write_line(&entry);
    }
    free(copy);
}

/* The bytes as a line, and as each end of one that begins well. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const begins[] = {
        "",
        "h - - [",
        "h - - [29/Feb/2016:00:00:00 +0000] \"",
        "h - - [29/Feb/2016:00:00:00 +0000] \"GET / HTTP/1.1\" ",
        "h - - [29/Feb/2016:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 ",
    };
    static char line[LINE_CAPACITY];
    if (size > LINE_CAPACITY / 2)
        return 0;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        size_t begun = strlen(begins[i]);
        memcpy(line, begins[i], begun);
        memcpy(line + begun, data, size);
        read_line(line, begun + size);
    }
    through_json((struct text){(const char *)data, size});
    return 0;
}
