/* The words and limits of a dump. docs/formats.md defines the format. */
#ifndef MCDS_CLI_DUMP_FORMAT_H
#define MCDS_CLI_DUMP_FORMAT_H

#include <stdint.h>

/* The first fields of the lines. */
#define WORD_HEAD "mcds-dump"
#define WORD_STRUCTURE "structure"
#define WORD_PART "-"
#define WORD_ELEMENT "+"
#define WORD_SUM "sum"
#define WORD_OMITTED "omitted"
#define WORD_END "end"

#define DUMP_VERSION UINT64_C(1)

/* A longer last field has lines of its own for its beginning. */
#define PART_BYTES 16384
/* A key and a part, of which each byte is quoted with four, and the rest of the line. */
#define DUMP_LINE_MAX 80000
#define VALUE_MAX (UINT64_C(64) << 20)
#define ELEMENT_MAX 1024
#define FIELDS_MAX 12

/* The table that a load keeps in the store until it has ended: this and the sum of the dump. */
#define MARK_NAME "mcds-load:"

#endif
