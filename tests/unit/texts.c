/* The texts that a program gets from the library and gives back: one that was cut, or of which a
 * byte was changed, is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash/text_sum.h"
#include "mcds.h"
#include "support/fake_env.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define TEXT_MAX 1024
#define CLAIMS 12 /* so that the tries of the receipt have two digits */

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_log *log;
    mcds_queue *queue;
};

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    memset(world, 0, sizeof *world);
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    OK(mcds_open("memory:", &options, &world->store));
    OK(mcds_log_open(world->store, "a log", NULL, &world->log));
    OK(mcds_queue_open(world->store, "q", NULL, &world->queue));
}

static void end(struct world *world)
{
    mcds_queue_close(world->queue);
    mcds_log_close(world->log);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

static int load_cursor(struct world *world, const char *text)
{
    mcds_log_cursor cursor, before;
    (void)world;
    memset(&cursor, 0x5a, sizeof cursor);
    before = cursor;
    int result = mcds_log_cursor_load(&cursor, text);
    assert_true(result == MCDS_OK || memcmp(&cursor, &before, sizeof cursor) == 0);
    return result;
}

static int load_receipt(struct world *world, const char *text)
{
    mcds_job job = MCDS_JOB_INIT;
    (void)world;
    int result = mcds_queue_job_load(&job, text);
    assert_true(job.is_held == (result == MCDS_OK));
    return result;
}

static int import_lease(struct world *world, const char *text)
{
    mcds_lock *lock = NULL;
    mcds_lease lease = MCDS_LEASE_INIT;
    int result = mcds_lock_import(world->store, "l", text, &lock, &lease);
    assert_true((lock != NULL) == (result == MCDS_OK));
    mcds_lock_close(lock);
    return result;
}

/* The whole text is read, also twice. Nothing that differs from it is. */
static void check_text(struct world *world, const char *text,
                       int (*load)(struct world *world, const char *text))
{
    char changed[TEXT_MAX + 1];
    size_t length = strlen(text);
    assert_true(length > 0 && length < sizeof changed);
    OK(load(world, text));
    OK(load(world, text));
    memcpy(changed, text, length + 1);
    for (size_t cut = 0; cut < length; cut++) {
        changed[cut] = '\0';
        if (load(world, changed) != MCDS_INVALID)
            fail_msg("it was cut, and read: %s", changed);
        changed[cut] = text[cut];
    }
    for (size_t at = 0; at < length; at++) {
        for (int byte = 1; byte < 256; byte++) {
            changed[at] = (char)byte;
            if (changed[at] != text[at] && load(world, changed) != MCDS_INVALID)
                fail_msg("byte %zu was changed, and it was read: %s", at, changed);
        }
        changed[at] = text[at];
    }
    static const char more[] = ".: 0a\n";
    for (size_t i = 0; i < sizeof more - 1; i++) {
        changed[length] = more[i];
        changed[length + 1] = '\0';
        assert_int_equal(load(world, changed), MCDS_INVALID);
    }
}

static bool pass_event(void *context, const mcds_log_event *event)
{
    (void)context;
    (void)event;
    return true;
}

static void a_cursor_is_read_whole(void **state)
{
    struct world world;
    char text[MCDS_LOG_CURSOR_TEXT];
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    (void)state;
    begin(&world);
    mcds_log_cursor_save(&cursor, text);
    check_text(&world, text, load_cursor);
    cursor.from_ms = 1;
    for (int i = 0; i < 10; i++)
        OK(mcds_log_put(world.log, 0, mcds_text("event")));
    OK(mcds_log_tail(world.log, &cursor, pass_event, NULL, NULL));
    mcds_log_cursor_save(&cursor, text);
    check_text(&world, text, load_cursor);
    end(&world);
}

/* The forms before the checksum, also the first one, which named no log. */
static void a_cursor_without_a_checksum_is_refused(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    assert_int_equal(load_cursor(&world, "2:1700000000000:0:0"), MCDS_INVALID);
    assert_int_equal(load_cursor(&world, "3:mcds:l:0:0:0:1:7:2833333:0.5.9"), MCDS_INVALID);
    assert_string_equal(
        mcds_errmsg(), "log: cursor_load: the text is not a cursor, or a part of it is missing "
                       "or changed; begin a new cursor");
    end(&world);
}

/* A checksum makes no cursor of other text. */
static void sealed_text_is_no_cursor(void **state)
{
    static const char *const others[] = {
        "x",
        "4:",
        "3:mcds:l:0:0:0:1:7:2833333:0.5.9",
        "4:mcds:l:0:0:0:1:7",
        "4:mcds:l:0:0:0:1:7:2833333:",
        "4:mcds:l:0:0:0:1:7:2833333:0.5",
        "4:mcds:l:0:0:0:1:7:2833333:0.5.",
        "4:mcds:l:0:0:0:1:7:2833333:0.5.9:",
        "4:mcds:l:0:0:0:1:7:2833333:0.5.9.1",
        "4:mcds:l:0:0:0:1:7:2833333:0.5.9:1.2.3x",
        "4:mcds:l:0:0:9223372036854775808:1:7:2833333:0.5.9",
        "4:mcds:l:4294967296:0:0:1:7:2833333:0.5.9",
        "4:a b:l:0:0:0:1:7:2833333:0.5.9",
        "4:mcds::0:0:0:1:7:2833333:0.5.9",
    };
    struct world world;
    char text[TEXT_MAX];
    (void)state;
    begin(&world);
    (void)snprintf(text, sizeof text, "4:mcds:l:0:0:0:1:7:2833333:0.5.9:1.2.3");
    mcds__text_seal(text, strlen(text));
    OK(load_cursor(&world, text));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)snprintf(text, sizeof text, "%s", others[i]);
        mcds__text_seal(text, strlen(text));
        if (load_cursor(&world, text) != MCDS_INVALID)
            fail_msg("it was read: %s", text);
    }
    end(&world);
}

static void a_receipt_is_read_whole(void **state)
{
    struct world world;
    char text[MCDS_QUEUE_JOB_TEXT];
    mcds_job job = MCDS_JOB_INIT;
    mcds_value value = MCDS_VALUE_INIT;
    (void)state;
    begin(&world);
    for (int i = 0; i < CLAIMS; i++)
        OK(mcds_queue_push(world.queue, mcds_text("job"), 0));
    for (int i = 0; i < CLAIMS; i++)
        OK(mcds_queue_next(world.queue, 0, &job, &value));
    for (int i = 1; i < CLAIMS; i++) {
        OK(mcds_queue_again(world.queue, &job, 0));
        OK(mcds_queue_next(world.queue, 0, &job, &value));
    }
    assert_int_equal(job.tries, CLAIMS);
    mcds_queue_job_save(&job, text);
    check_text(&world, text, load_receipt);
    mcds_value_free(&value);
    end(&world);
}

static void sealed_text_is_no_receipt(void **state)
{
    static const char *const others[] = {
        "0123456789abcdef",
        "0123456789abcdef.0.1.abcdef01",
        "0123456789abcdef.0.1.0.abcdef01",
        "0123456789abcdef.0.1.65536.abcdef01",
        "0123456789abcdef.0.1.1",
        "0123456789abcdef.0.1.1.",
        "0123456789abcdef.0.1.1.abcdef0",
        "0123456789abcdef.0.1.1.abcdef01.",
        "0123456789abcdef.0.1.1.abcdef012",
        "0123456789abcdef.0.1.1.abcdef0g",
        "0123456789abcdef.0.1099511627776.1.abcdef01",
        "0123456789abcdef.18446744073709551616.1.1.abcdef01",
        "0123456789abcdef.-1.1.1.abcdef01",
        "123456789abcdef.0.1.1.abcdef01",
        "0000000000000000.0.1.1.abcdef01",
        "0123456789abcdeg.0.1.1.abcdef01",
    };
    struct world world;
    char text[TEXT_MAX];
    (void)state;
    begin(&world);
    (void)snprintf(text, sizeof text, "0123456789abcdef.0.1.1.abcdef01");
    assert_int_equal(load_receipt(&world, text), MCDS_INVALID);
    mcds__text_seal(text, strlen(text));
    OK(load_receipt(&world, text));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)snprintf(text, sizeof text, "%s", others[i]);
        mcds__text_seal(text, strlen(text));
        if (load_receipt(&world, text) != MCDS_INVALID)
            fail_msg("it was read: %s", text);
    }
    end(&world);
}

static void a_lease_is_read_whole(void **state)
{
    struct world world;
    char text[MCDS_LEASE_TEXT];
    mcds_lock *lock;
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    mcds_lease lease = MCDS_LEASE_INIT;
    (void)state;
    begin(&world);
    options.label = "host 1";
    OK(mcds_lock_open(world.store, "l", &options, &lock));
    OK(mcds_lock_try_acquire(lock, &lease));
    OK(mcds_lock_export(lock, &lease, text));
    check_text(&world, text, import_lease);
    mcds_lock_close(lock);
    end(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_cursor_is_read_whole),
    cmocka_unit_test(a_cursor_without_a_checksum_is_refused),
    cmocka_unit_test(sealed_text_is_no_cursor),
    cmocka_unit_test(a_receipt_is_read_whole),
    cmocka_unit_test(sealed_text_is_no_receipt),
    cmocka_unit_test(a_lease_is_read_whole),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
