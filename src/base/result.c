/* Result codes in words. */
#include "mcds.h"

const char *mcds_strerror(int result)
{
    switch (result) {
#define RESULT_TEXT(name, code, text)                                                          \
    case code:                                                                                 \
        return text;
        MCDS_RESULT_MAP(RESULT_TEXT)
#undef RESULT_TEXT
    default:
        return "no result of mcds";
    }
}

const char *mcds_result_name(int result)
{
    switch (result) {
#define RESULT_NAME(name, code, text)                                                          \
    case code:                                                                                 \
        return #name;
        MCDS_RESULT_MAP(RESULT_NAME)
#undef RESULT_NAME
    default:
        return "?";
    }
}

const char *mcds_version(void)
{
#define TEXT(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)
    return VERSION_TEXT(MCDS_VERSION_MAJOR, MCDS_VERSION_MINOR, MCDS_VERSION_PATCH);
}
