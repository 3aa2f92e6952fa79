/* The arguments of all verbs. */
#include "table/parameters.h"

#define NAME_HELP "any name of 1 to 1024 bytes"

static const struct parameter name = {
    .placeholder = "NAME", .kind = KIND_NAME, .help = NAME_HELP};
static const struct parameter names = {
    .placeholder = "NAME", .kind = KIND_NAME, .each = true, .help = NAME_HELP};
static const struct parameter dropped_names = {
    .placeholder = "NAME",
    .kind = KIND_NAME,
    .optional = true,
    .each = true,
    .help = "any name of 1 to 1024 bytes; the listing has no name of more than about 100"};
static const struct parameter visitor = {
    .placeholder = "VISITOR",
    .kind = KIND_NAME,
    .each = true,
    .input = INPUT_LINES,
    .needs_dash = true,
    .help = "1 to 1024 bytes; for -, each line of standard input is one"};
static const struct parameter maybe_visitor = {
    .placeholder = "VISITOR",
    .kind = KIND_NAME,
    .optional = true,
    .each = true,
    .input = INPUT_LINES,
    .needs_dash = true,
    .help = "counted once per period; without it every call counts; for -, each line of "
            "standard input is one"};
static const struct parameter delta = {.placeholder = "N",
                                       .kind = KIND_DELTA,
                                       .optional = true,
                                       .max = (uint64_t)MCDS_COUNTER_MAX - 1,
                                       .help = "number to add (1); may be negative"};
static const struct parameter field_delta = {.placeholder = "N",
                                             .kind = KIND_DELTA,
                                             .optional = true,
                                             .max = INT64_MAX,
                                             .help = "number to add (1); may be negative"};
static const struct parameter pattern = {
    .placeholder = "PATTERN",
    .kind = KIND_TEXT,
    .optional = true,
    .help = "only names that match PATTERN: * is any text, ? a character, [a-z] one of "
            "these; without any of * ? [ those that begin with it"};
static const struct parameter shell = {
    .placeholder = "SHELL", .kind = KIND_TEXT, .help = "bash, zsh or fish"};
static const struct parameter file = {
    .placeholder = "FILE", .kind = KIND_TEXT, .help = "a new file"};
static const struct parameter dumped_names = {
    .placeholder = "NAME",
    .kind = KIND_NAME,
    .optional = true,
    .each = true,
    .help = "a name, of any noun; with * ? or [ also a pattern, as that of ls; after a "
            "backslash these are only characters of the name; a pattern skips names of more "
            "than 100 bytes, and the exit code is then 1"};
static const struct parameter dump_file = {
    .placeholder = "FILE",
    .kind = KIND_TEXT,
    .help = "a file that dump has written; - is standard input"};
static const struct parameter topic = {.placeholder = "TOPIC",
                                       .kind = KIND_TEXT,
                                       .optional = true,
                                       .help = "a noun, or one of: exit man"};
static const struct parameter subtopic = {
    .placeholder = "VERB", .kind = KIND_TEXT, .optional = true, .help = "a verb of that noun"};
static const struct parameter element = {
    .placeholder = "ELEMENT", .kind = KIND_NAME, .each = true, .help = "1 to 1024 bytes"};
static const struct parameter fed_element = {
    .placeholder = "ELEMENT",
    .kind = KIND_NAME,
    .optional = true,
    .each = true,
    .input = INPUT_LINES,
    .help = "1 to 1024 bytes; without it, or for -, each line of standard input is one"};
static const struct parameter fed_values = {
    .placeholder = "VALUE",
    .kind = KIND_TEXT,
    .optional = true,
    .many = true,
    .input = INPUT_LINES,
    .help = "any text; without it, or for -, each line of standard input is one"};
static const struct parameter fed_events = {
    .placeholder = "EVENT",
    .kind = KIND_TEXT,
    .optional = true,
    .many = true,
    .input = INPUT_LINES,
    .help = "any text; without it, or for -, each line of standard input is one"};
static const struct parameter page = {
    .placeholder = "PAGE", .kind = KIND_NAME, .each = true, .help = NAME_HELP};
static const struct parameter fed_page = {
    .placeholder = "PAGE",
    .kind = KIND_NAME,
    .input = INPUT_LINES,
    .needs_dash = true,
    .help = "1 to 1024 bytes; for -, each line of standard input is one"};
static const struct parameter view_count = {.placeholder = "N",
                                            .kind = KIND_NUMBER,
                                            .min = 1,
                                            .max = UINT32_MAX,
                                            .optional = true,
                                            .help = "number of views (1)"};
static const struct parameter array_elements = {
    .placeholder = "ELEMENT",
    .kind = KIND_TEXT,
    .optional = true,
    .many = true,
    .input = INPUT_LINES,
    .help = "any text; without it, or for -, each line of standard input is one"};
static const struct parameter key = {
    .placeholder = "KEY", .kind = KIND_NAME, .help = "1 to 1024 bytes"};
static const struct parameter maybe_key = {.placeholder = "KEY",
                                           .kind = KIND_NAME,
                                           .optional = true,
                                           .help = "1 to 1024 bytes; without it, a --tag"};
static const struct parameter keys = {
    .placeholder = "KEY", .kind = KIND_NAME, .each = true, .help = "1 to 1024 bytes"};
static const struct parameter fed_key = {
    .placeholder = "KEY",
    .kind = KIND_NAME,
    .optional = true,
    .each = true,
    .input = INPUT_LINES,
    .help = "1 to 1024 bytes; without it, or for -, each line of standard input is one"};
static const struct parameter fed_entry = {
    .placeholder = "KEY",
    .kind = KIND_NAME,
    .optional = true,
    .input = INPUT_LINES,
    .help = "1 to 1024 bytes; without it, or for -, each line of standard input is KEY, tab, "
            "VALUE"};
static const struct parameter value = {
    .placeholder = "VALUE",
    .kind = KIND_TEXT,
    .input = INPUT_WHOLE,
    .help = "at most a quarter of the largest value of the store, 255 KB on memcached; for -, "
            "all of standard input, unchanged"};

static const struct parameter identity = {
    .placeholder = "IDENTITY",
    .kind = KIND_NAME,
    .help = "the identity, such as an address or a user, 1 to 1024 bytes"};
static const struct parameter maybe_identity = {.placeholder = "IDENTITY",
                                                .kind = KIND_NAME,
                                                .optional = true,
                                                .help = "the identity (NAME)"};
static const struct parameter work = {
    .placeholder = "KEY",
    .kind = KIND_NAME,
    .help = "what identifies the work: the id of an order, or of a request; 1 to 1024 bytes"};
static const struct parameter output = {
    .placeholder = "OUTPUT",
    .kind = KIND_TEXT,
    .optional = true,
    .input = INPUT_WHOLE,
    .help = "of --settle: what later callers print (nothing); for -, all of standard input"};
static const struct parameter fed_jobs = {
    .placeholder = "JOB",
    .kind = KIND_TEXT,
    .optional = true,
    .many = true,
    .input = INPUT_LINES,
    .help =
        "any text of at most 64 KB; without it, or for -, each line of standard input is one"};
static const struct parameter receipt = {
    .placeholder = "RECEIPT", .kind = KIND_TEXT, .help = "as next has printed it"};
static const struct parameter dead_job = {
    .placeholder = "ID",
    .kind = KIND_TEXT,
    .optional = true,
    .help = "of a dead job, as dead prints it (retry: every dead job)"};
static const struct parameter permits = {
    .placeholder = "N", .kind = KIND_NUMBER, .min = 1, .max = 60, .help = "number of permits"};
static const struct parameter tokens = {.placeholder = "N",
                                        .kind = KIND_NUMBER,
                                        .min = 1,
                                        .max = UINT32_MAX,
                                        .optional = true,
                                        .help = "number of tokens (1)"};

const struct parameter *const takes_nothing[] = {NULL};
const struct parameter *const takes_name[] = {&name, NULL};
const struct parameter *const takes_names[] = {&names, NULL};
const struct parameter *const takes_dropped_names[] = {&dropped_names, NULL};
const struct parameter *const takes_delta[] = {&name, &delta, NULL};
const struct parameter *const takes_visitor[] = {&name, &visitor, NULL};
const struct parameter *const takes_maybe_visitor[] = {&name, &maybe_visitor, NULL};
const struct parameter *const takes_element[] = {&name, &element, NULL};
const struct parameter *const takes_elements[] = {&name, &fed_element, NULL};
const struct parameter *const takes_key[] = {&name, &keys, NULL};
const struct parameter *const takes_one_key[] = {&name, &key, NULL};
const struct parameter *const takes_maybe_key[] = {&name, &maybe_key, NULL};
const struct parameter *const takes_keys[] = {&name, &fed_key, NULL};
const struct parameter *const takes_entries[] = {&name, &fed_entry, &value, NULL};
const struct parameter *const takes_key_delta[] = {&name, &key, &field_delta, NULL};
const struct parameter *const takes_values[] = {&name, &fed_values, NULL};
const struct parameter *const takes_events[] = {&name, &fed_events, NULL};
const struct parameter *const takes_page[] = {&name, &page, NULL};
const struct parameter *const takes_page_count[] = {&name, &fed_page, &view_count, NULL};
const struct parameter *const takes_identity[] = {&name, &identity, NULL};
const struct parameter *const takes_maybe_identity[] = {&name, &maybe_identity, NULL};
const struct parameter *const takes_permits[] = {&name, &permits, NULL};
const struct parameter *const takes_work[] = {&work, &output, NULL};
const struct parameter *const takes_tokens[] = {&name, &identity, &tokens, NULL};
const struct parameter *const takes_jobs[] = {&name, &fed_jobs, NULL};
const struct parameter *const takes_receipt[] = {&name, &receipt, NULL};
const struct parameter *const takes_dead_job[] = {&name, &dead_job, NULL};
const struct parameter *const takes_array[] = {&name, &array_elements, NULL};
const struct parameter *const takes_pattern[] = {&pattern, NULL};
const struct parameter *const takes_shell[] = {&shell, NULL};
const struct parameter *const takes_file[] = {&file, NULL};
const struct parameter *const takes_dumped_names[] = {&dumped_names, NULL};
const struct parameter *const takes_dump_file[] = {&dump_file, NULL};
const struct parameter *const takes_topic[] = {&topic, &subtopic, NULL};
