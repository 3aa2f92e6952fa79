/* flags STORE FLAG on|off: prints whether a feature is on. The last word is the default.
 *
 * The flags are entries of the table "flags". A change reaches every program at its next read:
 *
 *     mcds table put flags new_checkout on
 *
 * A flag must not stop the program that asks for it. Whatever goes wrong, the program uses the
 * default of its source, and it waits at most 100 ms for the store. */
#include <mcds.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 100

static bool equals(const mcds_value *value, const char *word)
{
    return value->length == strlen(word) && memcmp(value->data, word, value->length) == 0;
}

static bool flag_is_on(mcds_table *flags, const char *name, bool by_default)
{
    mcds_value value = MCDS_VALUE_INIT;
    bool is_on = by_default;
    int result = mcds_table_get(flags, mcds_text(name), &value);
    switch (result) {
    case MCDS_OK:
        if (equals(&value, "on") || equals(&value, "off"))
            is_on = equals(&value, "on");
        else
            (void)fprintf(stderr, "flags: %s is neither on nor off; the default applies\n",
                          name);
        break;
    case MCDS_NOT_FOUND: /* nobody has set this flag */
        break;
    case MCDS_LOST: /* the store has lost entries: an operator must put the flags again */
        (void)fprintf(stderr, "flags: put the flags again: %s\n", mcds_errmsg());
        break;
    case MCDS_BUSY:        /* others kept changing the table */
    case MCDS_TIMEOUT:     /* the store is slow */
    case MCDS_UNAVAILABLE: /* the store is away */
    default:               /* a read changes nothing, so it is never MCDS_AMBIGUOUS */
        (void)fprintf(stderr, "flags: the default applies: %s\n", mcds_errmsg());
        break;
    }
    mcds_value_free(&value);
    return is_on;
}

int main(int count, char **words)
{
    if (count != 4) {
        (void)fputs("usage: flags STORE FLAG on|off\n", stderr);
        return 64;
    }
    /* A program opens these once and keeps them. Several threads may share them. */
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_store *store = NULL;
    mcds_table *flags = NULL;
    options.timeout_ms = TIMEOUT_MS;
    bool is_on = strcmp(words[3], "on") == 0;
    if (mcds_open(words[1], &options, &store) != MCDS_OK ||
        mcds_table_open(store, "flags", NULL, &flags) != MCDS_OK)
        (void)fprintf(stderr, "flags: the default applies: %s\n", mcds_errmsg());
    else
        is_on = flag_is_on(flags, words[2], is_on);
    (void)puts(is_on ? "on" : "off");
    mcds_table_close(flags);
    mcds_close(store);
    return 0;
}
