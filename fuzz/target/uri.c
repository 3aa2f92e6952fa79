/* Store URIs: any text is taken apart or refused with a sentence. */
#include "target.h"

#include <string.h>

#include "store/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const known[] = {"bytes", "strict", NULL};
    static struct mcds_uri uri;
    char text[MCDS__URI_MAX + 16];
    size_t length = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    if (mcds__uri_parse(text, &uri) != MCDS_OK) {
        MUST(mcds_errmsg()[0] != '\0');
        return 0;
    }
    MUST(uri.option_count <= MCDS__URI_OPTIONS_MAX);
    MUST(strlen(uri.scheme) + strlen(uri.place) < MCDS__URI_MAX);
    for (uint32_t i = 0; i < uri.option_count; i++) {
        uint64_t number;
        (void)mcds__uri_number(&uri, uri.options[i].name, 0, 1000, 0, &number);
    }
    (void)mcds__uri_knows(&uri, known);
    return 0;
}
