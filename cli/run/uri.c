/* URI: the options in the text of a store URI, after its `?`. */
#include "run/uri.h"

#include <string.h>

const char *uri_value(const char *uri, const char *word)
{
    const char *at = strchr(uri, '?');
    while (at != NULL && strncmp(at + 1, word, strlen(word)) != 0)
        at = strchr(at + 1, '&');
    return at != NULL ? at + 1 + strlen(word) : NULL;
}

void uri_cut(char *uri, const char *word)
{
    const char *value;
    while ((value = uri_value(uri, word)) != NULL) {
        char *option = uri + (value - uri) - strlen(word);
        const char *next = strchr(option, '&');
        if (next != NULL)
            memmove(option, next + 1, strlen(next + 1) + 1);
        else
            option[-1] = '\0'; /* its ? or & too */
    }
}
