/* Dump reader: reads the lines of a dump and checks all that a dump says about itself. */
#ifndef MCDS_CLI_LOAD_DUMP_READER_H
#define MCDS_CLI_LOAD_DUMP_READER_H

#include <sys/types.h>

#include "dump/format.h"
#include "dump/sum.h"
#include "io/lines.h"
#include "io/report.h"
#include "table/command.h"

enum record {
    RECORD_STRUCTURE, /* reader->structure */
    RECORD_ELEMENT,   /* reader->element, of that structure */
    RECORD_SUM,       /* its end */
    RECORD_END,       /* of the dump, which is whole */
    RECORD_BAD        /* reader->status and reader->sentence */
};

/* Its fields depend on the noun. Valid until the next record. */
struct element {
    int64_t number;   /* counter: value; bag: count; log: the event's own time; queue: tries */
    int64_t filed_ms; /* log */
    int64_t due_ms;   /* queue; 0: at once */
    mcds_job_state state; /* queue */
    mcds_bytes key;       /* table */
    mcds_bytes bytes;     /* all others but counter: element, value or event */
};

struct dump_reader {
    const struct noun *nouns;
    const char *path; /* for sentences */
    int fd;
    off_t begin; /* in the file */
    struct lines lines;
    unsigned long line;
    struct sum *all;
    struct sum *one; /* of the structure */
    bool may_lose;   /* jobs that are loaded */
    bool is_within;  /* a structure */
    struct command structure;
    char name[ELEMENT_MAX + 1];
    const struct noun *noun_before; /* of the structure before, to compare the order */
    char name_before[ELEMENT_MAX + 1];
    struct element element;
    uint64_t here; /* elements of the structure */
    uint64_t structures;
    uint64_t elements;
    uint64_t omitted;
    char *fields[FIELDS_MAX];
    size_t lengths[FIELDS_MAX];
    size_t field_count;
    char *parts; /* the beginning of the last field of the next element */
    size_t parts_length;
    size_t parts_capacity;
    char end_sum[SUM_TEXT]; /* after RECORD_END */
    int status;
    char sentence[SENTENCE_MAX];
};

/* Begins where the file is now. False: out of memory. */
bool dump_reader_open(struct dump_reader *reader, const struct noun *nouns, int fd,
                      const char *path);
void dump_reader_close(struct dump_reader *reader);
/* Goes back to the first line. */
void dump_reader_rewind(struct dump_reader *reader);

/* Returns the next record. RECORD_END and RECORD_BAD are the last. */
enum record dump_reader_next(struct dump_reader *reader);

#endif
