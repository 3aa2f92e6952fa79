/* SCHEME:PLACE?OPTION=VALUE&... taken apart. */
#include "store/uri.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"

/* Decode %XX in place. False when it is malformed or gives a NUL. */
static bool decode(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        if (*in != '%') {
            *out++ = *in;
            continue;
        }
        int high = mcds__hex_value(in[1]);
        int low = high < 0 ? -1 : mcds__hex_value(in[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *out++ = (char)(high << 4 | low);
        in += 2;
    }
    *out = '\0';
    return true;
}

static int add_option(struct mcds_uri *uri, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: option '%.100s' is not NAME=VALUE", text);
    *equals = '\0';
    if (!decode(equals + 1))
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: option '%.100s' has a bad %%XX", text);
    if (mcds_uri_option(uri, text) != NULL)
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI: option '%.100s' is given twice", text);
    if (uri->option_count == MCDS__URI_OPTIONS_MAX)
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL, "store URI: more than %d options",
                             MCDS__URI_OPTIONS_MAX);
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
    if (length >= MCDS__URI_MAX)
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL, "store URI: longer than %d bytes",
                             MCDS__URI_MAX - 1);
    memcpy(uri->text, text, length + 1);
    uri->option_count = 0;
    char *colon = strchr(uri->text, ':');
    if (colon == NULL || colon == uri->text)
        return mcds__fail_at(
            MCDS_INVALID, BAD_URI, NULL,
            "store URI '%.100s': must begin with memory:, lmdb: or memcached://", text);
    *colon = '\0';
    uri->scheme = uri->text;
    char *place = colon + 1;
    bool has_authority = strncmp(place, "//", 2) == 0;
    place += has_authority ? 2 : 0;
    uri->place = place;
    /* Where a host would be, a path would be relative to wherever the program runs. */
    if (has_authority && *place != '/' && strcmp(uri->scheme, "lmdb") == 0)
        return mcds__fail_at(
            MCDS_INVALID, BAD_URI, NULL,
            "store URI '%.100s': an lmdb: file has no host; write lmdb:///PATH for "
            "an absolute path, lmdb:PATH for a relative one",
            text);
    char *options = strchr(place, '?');
    if (options != NULL)
        *options++ = '\0';
    if (!decode(place))
        return mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                             "store URI '%.100s': bad %%XX in the place", text);
    return parse_options(uri, options);
}

const char *mcds_uri_place(const struct mcds_uri *uri)
{
    return uri->place;
}

const char *mcds_uri_option(const struct mcds_uri *uri, const char *name)
{
    for (uint32_t i = 0; i < uri->option_count; i++)
        if (strcmp(uri->options[i].name, name) == 0)
            return uri->options[i].value;
    return NULL;
}

bool mcds__uri_number(const struct mcds_uri *uri, const char *name, uint64_t min, uint64_t max,
                      uint64_t fallback, uint64_t *out)
{
    const char *text = mcds_uri_option(uri, name);
    *out = fallback;
    if (text == NULL)
        return true;
    if (mcds__parse_u64(text, strlen(text), out) && *out >= min && *out <= max)
        return true;
    (void)mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                        "store URI: %s=%.40s is not a whole number from %llu to %llu", name,
                        text, (unsigned long long)min, (unsigned long long)max);
    return false;
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

bool mcds__uri_knows(const struct mcds_uri *uri, const char *const *known)
{
    static const char *const common[] = {"ns", "timeout", NULL};
    for (uint32_t i = 0; i < uri->option_count; i++) {
        const char *name = uri->options[i].name;
        if (is_listed(name, common) || is_listed(name, known))
            continue;
        (void)mcds__fail_at(MCDS_INVALID, BAD_URI, NULL,
                            "store URI: %s: has no option '%.100s'", uri->scheme, name);
        return false;
    }
    return true;
}
