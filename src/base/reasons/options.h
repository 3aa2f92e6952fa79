/* The reasons that name an option of a structure.
 * base/reason.h explains the form. */
#ifndef MCDS_BASE_REASONS_OPTIONS_H
#define MCDS_BASE_REASONS_OPTIONS_H

/* clang-format off */
#define MCDS__REASONS_OF_OPTIONS(X, O)                                                         \
    O(EXACT_ALONE, CONFLICT, "flags", 0, "EXACT goes with neither stripes nor a ttl")          \
    O(UNSIGNED, CONFLICT, "delta", 0, "a negative delta needs a signed counter")               \
    O(VALUE_OF_EXACT, CONFLICT, "flags", 0,                                                    \
      "an exact counter does not return its value; use get")                                   \
    O(VALUE_OF_STRIPED, CONFLICT, "stripes", 0,                                                \
      "a striped counter does not return its value; use get")                                  \
    O(TAKE_OF_EXACT, CONFLICT, "flags", 0,                                                     \
      "two takers could get the same; hold a lock, and meanwhile use get and a negative add")  \
    O(MEMBERS_NOT_KEPT, OPTION_DIFFERS, "members", 0,                                          \
      "its members are not kept; open it the same way")                                        \
    O(MEMBERS_EXACT, OPTION_DIFFERS, "members", 1,                                             \
      "its members are kept EXACT; open it the same way")                                      \
    O(MEMBERS_ESTIMATED, OPTION_DIFFERS, "members", 2,                                         \
      "its members are ESTIMATED; open it the same way")                                       \
    O(VIEWS_OF_PROGRAM, OPTION_DIFFERS, "database", 0,                                         \
      "a program saves them in a database of its own; ask that program")                       \
    O(VIEWS_OF_COMMAND, OPTION_DIFFERS, "database", 1,                                         \
      "'mcds views' saves them in its table; ask it, or drop them first")                      \
    O(SET_PLAIN, OPTION_DIFFERS, "form", 0,                                                    \
      "it is a plain set; open it with the form MCDS_SET_PLAIN")                               \
    O(SET_BAG, OPTION_DIFFERS, "form", 1, "it is a bag; open it with the form MCDS_SET_BAG")   \
    O(SET_LIST, OPTION_DIFFERS, "form", 2,                                                     \
      "it is a list with removal; open it with the form MCDS_SET_LIST")                        \
    O(TABLE, OPTION_DIFFERS, "form", 0, "it is a table")                                       \
    O(NOT_EXACT, OPTION_DIFFERS, "copies", 0, "this counter was made without EXACT")           \
    O(NO_STRIPES, OPTION_DIFFERS, "stripes", 0,                                                \
      "this counter was made without stripes; open it the same way")                           \
    X(OPTION_DIFFERS, OPTION_DIFFERS, "open it the same way")                                  \
    X(OPTION_DIFFERS_OR_0, OPTION_DIFFERS, "open it with 0 to accept that")                    \
    X(PERMITS_DIFFER, OPTION_DIFFERS, "open it with 0 to accept that")
/* clang-format on */

#endif
