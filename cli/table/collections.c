/* The verbs of set, table, list, log and array. */
#include "table/collections.h"

#include "table/drop.h"
#include "table/nouns.h"
#include "table/parameters.h"

#define RAW OPTION_RAW_LINES

static const struct column entry_columns[] = {
    {.title = "key", .ink = INK_NOUN}, {.title = "value"}, {.is_end = true}};

const struct verb set_verbs[] = {
    {.word = "add",
     .arguments = takes_elements,
     .options = OPTIONS(FORM, RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_EACH,
     .makes = true,
     .start = set_add,
     .print = set_print_add,
     .change = CHANGE_TOLD,
     .done = "added",
     .help = "Add ELEMENT. Prints 'added', or 'known' when the set had it. Makes the set when "
             "there is none."},
    {.word = "remove",
     .erases = true,
     .arguments = takes_elements,
     .options = OPTIONS(FORM, RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_EACH,
     .start = set_remove,
     .print = set_print_remove,
     .change = CHANGE_DEMANDED,
     .done = "removed",
     .help = "Remove ELEMENT. Exits with 1 when the set does not have it."},
    {.word = "has",
     .arguments = takes_element,
     .options = OPTIONS(FORM),
     .overlap = OVERLAP_FREELY,
     .start = set_has,
     .print = set_print_has,
     .help = "Print 'yes', or exit with 1."},
    {.word = "scan",
     .arguments = takes_name,
     .options = OPTIONS(FORM, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = set_scan,
     .help = "Print all elements, one per line: those of a bag with their counts, those of a "
             "list in order, others in no order."},
    {.word = "count",
     .arguments = takes_names,
     .options = OPTIONS(FORM),
     .overlap = OVERLAP_NEVER,
     .start = set_count,
     .print = print_count,
     .help =
         "Print the number of elements, each of a bag once. Reads all of them, as scan does."},
    {DROP, .options = OPTIONS(FORM), .start = set_drop, .help = "Erase the set."},
    {.word = NULL},
};

const struct verb table_verbs[] = {
    {.word = "put",
     .arguments = takes_entries,
     .options = OPTIONS(OPTION_ENTRY_TTL, OPTION_IF_ABSENT, OPTION_IF_IS, RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_IN_ORDER,
     .start = table_put,
     .print = table_print_put,
     .refused = "has another value",
     .done = "put",
     .help = "Set the value of KEY. Makes the table when there is none."},
    {.word = "get",
     .arguments = takes_key,
     .options = OPTIONS(OPTION_RAW),
     .overlap = OVERLAP_FREELY,
     .start = table_get,
     .print = table_print_get,
     .help = "Print the value of KEY, or exit with 1."},
    {.word = "has",
     .arguments = takes_key,
     .overlap = OVERLAP_FREELY,
     .start = table_has,
     .print = table_print_has,
     .help = "Print 'yes', or exit with 1 when there is no value for KEY."},
    {.word = "remove",
     .erases = true,
     .arguments = takes_keys,
     .options = OPTIONS(RAW),
     .overlap = OVERLAP_APART,
     .feed = FEED_EACH,
     .start = table_remove,
     .print = table_print_remove,
     .change = CHANGE_DEMANDED,
     .done = "removed",
     .help = "Remove KEY and its value. Exits with 1 when there is none."},
    {.word = "incr",
     .arguments = takes_key_delta,
     .overlap = OVERLAP_APART,
     .start = table_incr,
     .print = table_print_incr,
     .done = "added",
     .help = "Add N to a value that is a number and print the new value; no value counts as "
             "0."},
    {.word = "scan",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_CURSOR, OPTION_LIMIT, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = table_scan,
     .columns = entry_columns,
     .print = table_print_scan,
     .has_more = table_has_more,
     .help = "Print all entries in no order, one per line: KEY, a tab, the value. When --limit "
             "leaves entries, standard error names the CURSOR that continues the scan; with "
             "--json, the last line does."},
    {.word = "top",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_LIMIT),
     .overlap = OVERLAP_NEVER,
     .run = table_top,
     .columns = entry_columns,
     .help =
         "Print the entries with the greatest numbers as values, the greatest first, at "
         "most --limit of them, otherwise 10: KEY, a tab, the number. Reads all entries, as "
         "scan does. Values that are no numbers are left out, and standard error counts "
         "them."},
    {.word = "count",
     .arguments = takes_names,
     .overlap = OVERLAP_NEVER,
     .start = table_count,
     .print = print_count,
     .help = "Print the number of entries. Reads all of them, as scan does."},
    {DROP, .start = table_drop, .help = "Erase the table."},
    {.word = NULL},
};

const struct verb list_verbs[] = {
    {.word = "push",
     .arguments = takes_values,
     .options = OPTIONS(RAW),
     .overlap = OVERLAP_NEVER,
     .feed = FEED_CHUNKS,
     .start = list_push,
     .print = list_print_push,
     .done = "pushed",
     .help = "Add values at the end. Makes the list when there is none."},
    {.word = "scan",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_SKIP, OPTION_LIMIT, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = list_scan,
     .help = "Print the values in the order in which they were pushed, one per line."},
    {.word = "count",
     .arguments = takes_names,
     .overlap = OVERLAP_NEVER,
     .start = list_count,
     .print = print_count,
     .help = "Print the number of values. Reads all of them, as scan does."},
    {.word = "clear",
     .erases = true,
     .arguments = takes_name,
     .overlap = OVERLAP_NEVER,
     .start = list_clear,
     .print = list_print_clear,
     .done = "cleared",
     .help = "Remove all values. The list exists and is empty."},
    {DROP, .start = list_drop, .help = "Erase the list."},
    {.word = NULL},
};

const struct verb log_verbs[] = {
    {.word = "put",
     .arguments = takes_events,
     .options = OPTIONS(OPTION_AT, OPTION_TIMED, LOG, RAW),
     .overlap = OVERLAP_NEVER,
     .feed = FEED_CHUNKS,
     .start = log_put,
     .print = log_print_put,
     .done = "put",
     .help =
         "Put events into the log. The first put makes the log and sets its options; a "
         "later put with other options is refused. Exits with 65 if the log refuses the time "
         "that was given with --at or --timed: the event is not put. With the default "
         "options the clocks of writers and readers may differ by up to 70 minutes."},
    {.word = "scan",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_FROM, OPTION_TO, OPTION_LIMIT, OPTION_NEWEST_FIRST, RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = log_scan,
     .help = "Print the events, one per line: the time, a tab, the event. The log keeps the "
             "events of a chunk of time (--chunk) together. Earlier chunks come first; the "
             "events of one chunk come in the order in which they were put, so an event put "
             "with an earlier time (--at) follows those put before it."},
    {.word = "tail",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_FOLLOW, OPTION_LAST, OPTION_FROM, OPTION_CURSOR_FILE, RAW),
     .overlap = OVERLAP_NEVER,
     .run = log_tail,
     .help =
         "Print the last 10 events, or those that --last, --from or --cursor names, in the "
         "order of scan: the last event is the one put last into the newest chunk. With -f, "
         "then wait for new events and print each once."},
    {DROP, .start = log_drop, .help = "Erase the log."},
    {.word = NULL},
};

const struct verb array_verbs[] = {
    {.word = "scan",
     .arguments = takes_name,
     .options = OPTIONS(RAW),
     .overlap = OVERLAP_NEVER,
     .is_many = true,
     .start = array_scan,
     .help = "Print all elements in order, one per line."},
    {.word = "set",
     .arguments = takes_array,
     .options = OPTIONS(RAW),
     .overlap = OVERLAP_NEVER,
     .feed = FEED_ALL,
     .start = array_set,
     .print = array_print_set,
     .done = "set",
     .help = "Replace all elements by these."},
    {.word = "change",
     .arguments = takes_name,
     .options = OPTIONS(OPTION_ADD, OPTION_REMOVE),
     .overlap = OVERLAP_NEVER,
     .start = array_change,
     .print = array_print_change,
     .done = "changed",
     .help =
         "Remove the first element equal to each of some, and add others at the end, in one "
         "step. Makes the array when there is none. Prints 'unchanged' when nothing was to be "
         "changed."},
    {DROP, .start = array_drop, .help = "Erase the array."},
    {.word = NULL},
};
