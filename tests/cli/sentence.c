/* Sentences about changes in doubt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/report.h"
#include "table/commands.h"

/* The sentence for a set add that has failed with `message` of the library. */
static void expect(const char *message, const char *sentence)
{
    char seen[SENTENCE_MAX];
    struct command command = {0};
    struct answer answer = {0};
    command.noun = find_noun(all_nouns, "set");
    command.verb = find_verb(command.noun, "add");
    command.arguments[0] = "s";
    write_sentence(seen, &command, &answer, MCDS_AMBIGUOUS, message);
    assert_string_equal(seen, sentence);
}

static void the_doubt_is_named_once(void **state)
{
    (void)state;
    char message[200];
    (void)snprintf(message, sizeof message, "set 's': add: %s", mcds_strerror(MCDS_AMBIGUOUS));
    expect(message,
           "set 's': add: the reply was lost; it may have been added, or may still be: "
           "check before you repeat it");
    expect("set 's': add: the server has closed the connection",
           "set 's': add: the server has closed the connection; it may have been added, or may "
           "still be: check before you repeat it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_doubt_is_named_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
