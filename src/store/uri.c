/* Parses SCHEME:PLACE?OPTION=VALUE&... */
#include "store/uri.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

#define HEX "two hexadecimal digits after each %, not 00"
#define TEXT_OF_TOKEN(token) #token
#define TEXT_OF(number) TEXT_OF_TOKEN(number)

/* The byte that the %XX at `in` means; 0: it is malformed or means a NUL. */
static int byte_of(const char *in)
{
    int high = mcds__hex_value(in[1]);
    int low = high < 0 ? -1 : mcds__hex_value(in[2]);
    return low < 0 ? 0 : high << 4 | low;
}

/* Decode %XX in place. False: one is malformed or means a NUL, and `text` is as it was. */
static bool uri_decode(char *text)
{
    char *out = text;
    for (const char *in = strchr(text, '%'); in != NULL; in = strchr(in + 1, '%'))
        if (byte_of(in) == 0)
            return false;
    for (const char *in = text; *in != '\0';) {
        bool is_encoded = *in == '%';
        *out++ = (char)(is_encoded ? byte_of(in) : *in);
        in += is_encoded ? 3 : 1;
    }
    assert(out <= text + strlen(text));
    *out = '\0';
    return true;
}

static const char *find_option(const struct mcds_uri *uri, const char *name)
{
    for (uint32_t i = 0; i < uri->option_count; i++)
        if (strcmp(uri->options[i].name, name) == 0)
            return uri->options[i].value;
    return NULL;
}

static int add_option(struct mcds_uri *uri, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return mcds__fail_uri(equals == NULL ? text : "", text, "NAME=VALUE",
                              "the URI's option '%.100s' is not NAME=VALUE", text);
    *equals = '\0';
    if (!uri_decode(equals + 1))
        return mcds__fail_uri(text, equals + 1, HEX,
                              "the URI's option '%.100s' has a bad %%XX; write %% as %%25",
                              text);
    if (find_option(uri, text) != NULL)
        return mcds__fail_uri(text, equals + 1, "one value",
                              "the URI's option '%.100s' is given twice", text);
    if (uri->option_count == MCDS__URI_OPTIONS_MAX)
        return mcds__fail_uri(text, equals + 1, TEXT_OF(MCDS__URI_OPTIONS_MAX) " options",
                              "the URI has more than %d options", MCDS__URI_OPTIONS_MAX);
    assert(uri->option_count < MCDS__URI_OPTIONS_MAX && text < equals);
    uri->options[uri->option_count].name = text;
    uri->options[uri->option_count].value = equals + 1;
    uri->option_count++;
    return MCDS_OK;
}

static int parse_options(struct mcds_uri *uri, char *text)
{
    while (text != NULL && *text != '\0') {
        char *next = strchr(text, '&');
        if (next != NULL)
            *next++ = '\0';
        int result = add_option(uri, text);
        if (result != MCDS_OK)
            return result;
        text = next;
    }
    return MCDS_OK;
}

int mcds__uri_parse(const char *text, struct mcds_uri *uri)
{
    size_t length = strlen(text);
    _Static_assert(MCDS__URI_MAX - 1 == 4095, "the sentence names it");
    if (length >= MCDS__URI_MAX)
        return mcds__fail(MCDS_INVALID, BAD_URI, .noun = "store", .option = "uri",
                          .wanted = "at most 4095 bytes", MCDS__FOUND(length),
                          .wanted_max = MCDS__URI_MAX - 1,
                          .reason = "the URI is longer than 4095 bytes");
    memcpy(uri->text, text, length + 1);
    uri->option_count = 0;
    char *colon = strchr(uri->text, ':');
    if (colon == NULL || colon == uri->text)
        return mcds__fail_uri("uri", text, MCDS__URI_SCHEMES,
                              "the URI '%.100s' must begin with " MCDS__URI_SCHEMES, text);
    *colon = '\0';
    uri->scheme = uri->text;
    char *place = colon + 1;
    bool has_authority = strncmp(place, "//", 2) == 0;
    place += has_authority ? 2 : 0;
    uri->place = place;
    /* After "//" a relative path would be read as a host. */
    if (has_authority && *place != '/' && strcmp(uri->scheme, "lmdb") == 0)
        return mcds__fail_uri("uri", text, "lmdb:///PATH or lmdb:PATH",
                              "'%.100s' has a host, and an lmdb: file has none; write "
                              "lmdb:///PATH for an absolute path, lmdb:PATH for a relative one",
                              text);
    char *options = strchr(place, '?');
    if (options != NULL)
        *options++ = '\0';
    if (!uri_decode(place))
        return mcds__fail_uri("uri", text, HEX, "'%.100s' has a bad %%XX; write %% as %%25",
                              place);
    assert(uri->place > uri->scheme);
    return parse_options(uri, options);
}

const char *mcds_uri_place(const struct mcds_uri *uri)
{
    return uri != NULL ? uri->place : "";
}

const char *mcds_uri_option(const struct mcds_uri *uri, const char *name)
{
    return uri != NULL && name != NULL ? find_option(uri, name) : NULL;
}

bool mcds__uri_number(const struct mcds_uri *uri, const char *name, uint64_t min, uint64_t max,
                      uint64_t fallback, uint64_t *out)
{
    const char *text = mcds_uri_option(uri, name);
    uint64_t number = 0;
    *out = fallback;
    if (text == NULL)
        return true;
    bool is_number = mcds__parse_u64(text, strlen(text), &number);
    *out = number;
    if (is_number && number >= min && number <= max)
        return true;
    char wanted[2 * MCDS__U64_DIGITS + sizeof " to "];
    (void)snprintf(wanted, sizeof wanted, "%llu to %llu", (unsigned long long)min,
                   (unsigned long long)max);
    (void)mcds__fail_saying(
        MCDS__ERROR(MCDS_INVALID, BAD_URI, .noun = "store", .option = name, .wanted = wanted,
                    .found = text, .wanted_min = mcds__clamped(min),
                    .wanted_max = mcds__clamped(max), .found_number = mcds__clamped(number)),
        "the URI's %s=%.40s is not a whole number from %s", name, text, wanted);
    return false;
}

bool mcds__uri_word(const struct mcds_uri *uri, const char *name, const char *const *words,
                    const char *allowed, uint32_t *index_out)
{
    const char *text = mcds_uri_option(uri, name);
    *index_out = 0;
    if (text == NULL)
        return true;
    for (; words[*index_out] != NULL; ++*index_out)
        if (strcmp(text, words[*index_out]) == 0)
            return true;
    (void)mcds__fail_uri(name, text, allowed, "the URI's %s=%.40s must be %s", name, text,
                         allowed);
    return false;
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Append to a list. */
static void add_name(char *names, size_t capacity, const char *name)
{
    size_t length = strlen(names);
    assert(length < capacity);
    (void)snprintf(names + length, capacity - length, "%s%s", length > 0 ? ", " : "", name);
}

bool mcds__uri_knows(const struct mcds_uri *uri, const char *const *known)
{
    static const char *const common[] = {"ns", "timeout", NULL};
    for (uint32_t i = 0; i < uri->option_count; i++) {
        const char *name = uri->options[i].name;
        if (is_listed(name, common) || is_listed(name, known))
            continue;
        char names[160] = "";
        for (size_t at = 0; known[at] != NULL; at++)
            add_name(names, sizeof names, known[at]);
        for (size_t at = 0; common[at] != NULL; at++)
            add_name(names, sizeof names, common[at]);
        (void)mcds__fail_uri(name, uri->options[i].value, names,
                             "%s: has no option '%.100s'; it has %s", uri->scheme, name, names);
        return false;
    }
    return true;
}
