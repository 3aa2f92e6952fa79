/* A dump after whose last line the file cannot be read is not called damaged. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/exit.h"
#include "load/dump_reader.h"
#include "table/commands.h"

static const char dump[] = "mcds-dump\t1\n"
                           "structure\tcounter\thits\n"
                           "+\t41\n"
                           "sum\t1\tdfd7786e0ed61a04\n"
                           "end\t1\t1\t0\t1264e26ee29d9f1e\n";

/* A terminal whose other end is closed: all bytes can be read, and then EIO comes, not the end. */
static int open_terminal(const char *bytes, size_t length)
{
    struct termios mode;
    int reader = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(reader >= 0 && grantpt(reader) == 0 && unlockpt(reader) == 0);
    int writer = open(ptsname(reader), O_RDWR | O_NOCTTY);
    assert_true(writer >= 0 && tcgetattr(writer, &mode) == 0);
    cfmakeraw(&mode);
    assert_int_equal(tcsetattr(writer, TCSANOW, &mode), 0);
    assert_int_equal(write(writer, bytes, length), length);
    assert_int_equal(close(writer), 0);
    return reader;
}

static void a_read_error_is_no_damage(void **state)
{
    struct dump_reader *reader = calloc(1, sizeof *reader);
    int fd = open_terminal(dump, sizeof dump - 1);
    (void)state;
    assert_non_null(reader);
    assert_true(dump_reader_open(reader, all_nouns, fd, "the file"));
    assert_int_equal(dump_reader_next(reader), RECORD_STRUCTURE);
    assert_int_equal(dump_reader_next(reader), RECORD_ELEMENT);
    assert_int_equal(dump_reader_next(reader), RECORD_SUM);
    assert_int_equal(dump_reader_next(reader), RECORD_BAD);
    assert_int_equal(reader->status, STATUS_IO);
    assert_non_null(strstr(reader->sentence, "cannot be read: Input/output error"));
    dump_reader_close(reader);
    free(reader);
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_read_error_is_no_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
