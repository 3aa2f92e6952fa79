/* Read back: one scan of each structure of the dump, as a dump of it would make. */
#include "load/read_back.h"

#include <stdio.h>

#include "dump/fetch.h"
#include "signals/interrupt.h"
#include "table/nouns.h"

/* The events of a log may have expired since they were loaded, and the jobs of a queue may be done.
 * If they were lost instead, the result is LOST. */
static bool may_shrink(const struct noun *noun)
{
    return noun->open == log_open || noun->open == queue_open;
}

/* Other programs may have added to a structure. */
static int compare(const struct dump_reader *reader, mcds_store *store, struct writer *writer,
                   struct progress *progress)
{
    const struct noun *noun = reader->structure.noun;
    int result = fetch(store, noun, reader->name, writer, progress);
    if (result == MCDS_NOT_FOUND)
        result = reader->here > 0 && !may_shrink(noun) ? MCDS_LOST : MCDS_OK;
    if (result == MCDS_OK && writer->here < reader->here && !may_shrink(noun))
        result = MCDS_LOST;
    return result;
}

static int compare_all(struct dump_reader *reader, mcds_store *store, struct writer *writer,
                       struct progress *progress)
{
    int result = MCDS_OK;
    dump_reader_rewind(reader);
    while (result == MCDS_OK && interrupt_number() == 0) {
        enum record record = dump_reader_next(reader);
        if (record == RECORD_END)
            return MCDS_OK;
        if (record == RECORD_BAD)
            return MCDS_CORRUPT;
        if (record == RECORD_SUM)
            result = compare(reader, store, writer, progress);
    }
    return result;
}

int read_back(struct dump_reader *reader, mcds_store *store, struct progress *progress,
              uint64_t *there_out)
{
    struct writer writer;
    int result = MCDS_NO_MEMORY;
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL)
        return MCDS_NO_MEMORY;
    if (writer_open(&writer, nowhere))
        result = compare_all(reader, store, &writer, progress);
    *there_out = writer.here;
    writer_close(&writer);
    (void)fclose(nowhere);
    return result;
}
