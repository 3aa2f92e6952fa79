/* Passwords: memcached with -Y, alone and below TLS. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tls/world.h"

static struct world world;
static char password_file[64];
static char *asks[] = {"-Y", password_file, NULL};

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(password_file, sizeof password_file, "%s/memcached-users", world.folder);
    world_write(&world, "memcached-users", "ann:se:same\nbob:other\n", 0600);
    world_write(&world, "ann", "ann:se:same\n", 0600);
    world_run(&world, asks);
    return 0;
}

static void a_right_password_is_accepted(void **state)
{
    (void)state;
    world_write(&world, "bob", "bob:other", 0400); /* a line without an end */
    world_write(&world, "windows", "ann:se:same\r\n", 0600);
    world_expect(&world, "auth_file=@/ann&" PATIENT, MCDS_OK, NULL);
    world_expect(&world, "auth_file=@/bob&" PATIENT, MCDS_OK, NULL);
    world_expect(&world, "auth_file=@/windows&" PATIENT, MCDS_OK, NULL);
    world_expect(&world, "auth_file=@/ann&protocol=classic&" PATIENT, MCDS_OK, NULL);
    world_expect(&world, "auth_file=@/ann&protocol=meta&" PATIENT, MCDS_OK, NULL);
}

static void a_wrong_password_is_refused(void **state)
{
    (void)state;
    world_write(&world, "wrong", "ann:sesame\n", 0600);
    world_expect(&world, "auth_file=@/wrong&" PATIENT, MCDS_PROTOCOL,
                 "does not accept the user and the password of auth_file=");
    assert_int_equal(mcds_last_error()->cause, MCDS_CAUSE_PASSWORD);
    assert_null(strstr(mcds_errmsg(), "sesame"));
}

static void without_a_password_the_way_to_one_is_said(void **state)
{
    (void)state;
    world_expect(
        &world, PATIENT, MCDS_PROTOCOL,
        "the server requires a password: write USER:PASSWORD into a file with mode 0600, "
        "and add auth_file=PATH to the URI");
}

/* Sent to a server that does not ask, it would be stored as a value that all can read. */
static void a_server_that_asks_for_none_is_not_told(void **state)
{
    (void)state;
    static char *plain[] = {NULL};
    world_run(&world, plain);
    world_expect(&world, "auth_file=@/ann&" PATIENT, MCDS_OK, NULL);
    char answer[64] = "";
    int fd = server_connect(&world.server);
    assert_int_equal(write(fd, "get mcds-login\r\n", 16), 16);
    assert_true(read(fd, answer, sizeof answer - 1) > 0);
    (void)close(fd);
    assert_string_equal(answer, "END\r\n");
}

static void a_file_that_others_may_use_is_refused(void **state)
{
    (void)state;
    static const unsigned modes[] = {0640, 0604, 0620, 0644, 0601};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        world_write(&world, "open", "ann:se:same\n", modes[i]);
        world_expect(&world, "auth_file=@/open", MCDS_IO,
                     "other users can access the file of auth_file=: change its mode");
    }
}

static void a_file_of_another_user_is_refused(void **state)
{
    (void)state;
    char path[64];
    if (geteuid() != 0) {
        print_message("skipped: only root can give files away\n");
        skip();
    }
    (void)snprintf(path, sizeof path, "%s/foreign", world.folder);
    world_write(&world, "foreign", "ann:se:same\n", 0600);
    assert_int_equal(chown(path, 12345, 12345), 0);
    world_expect(&world, "auth_file=@/foreign", MCDS_IO, "must belong to this user or to root");
}

static void a_file_that_is_no_password_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "ann", "ann:\n", ":x\n", "ann:a b\n", "ann:x\nbob:y\n", "ann:x\n\n", "a\tb:c",
    };
    static char big[600];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        world_write(&world, "bad", texts[i], 0600);
        world_expect(&world, "auth_file=@/bad", MCDS_IO, "must have one line, USER:PASSWORD");
    }
    memset(big, 'x', sizeof big - 1);
    big[3] = ':';
    world_write(&world, "bad", big, 0600);
    world_expect(&world, "auth_file=@/bad", MCDS_IO, "of at most 250 bytes");
    world_expect(&world, "auth_file=@", MCDS_IO, "must name a plain file");
    world_expect(&world, "auth_file=@/none", MCDS_IO, "does not exist");
    world_expect(&world, "auth_file=@/ann/x", MCDS_IO, "does not exist");
    world_expect(&world, "auth_file=", MCDS_IO, "does not exist");
}

/* The pause after a refusal answers with its sentence. */
static void ask_until_unsent(mcds_store *store)
{
    mcds_request get = {.command = MCDS_GET, .key = {"k", 1}};
    do
        world_ask(store, &get, 1, INT64_C(60000000000), NULL);
    while (get.reply.outcome == MCDS_OUT_PROTOCOL);
}

/* The next connection reads the file again. */
static void a_new_password_needs_no_new_store(void **state)
{
    (void)state;
    mcds_store *store = world_open(&world, world.server.port, "auth_file=@/ann&" PATIENT, NULL);
    assert_int_equal(world_add(store), MCDS_OK);
    world_write(&world, "memcached-users", "ann:new\n", 0600);
    assert_true(server_restart(&world.server));
    assert_int_equal(world_add(store), MCDS_PROTOCOL);
    world_write(&world, "ann", "ann:new\n", 0644);
    ask_until_unsent(store);
    world_expect_unsent(store, "other users can access the file of auth_file=");
    world_write(&world, "ann", "ann:new\n", 0600);
    assert_int_equal(world_add(store), MCDS_OK);
    mcds_close(store);
}

static void a_password_goes_through_tls(void **state)
{
    (void)state;
    world_run_tls(&world, NULL, asks);
    world_expect(&world, "tls=1&ca=@/ca.pem&auth_file=@/ann&" PATIENT, MCDS_OK, NULL);
    world_expect(&world, "tls=1&ca=@/ca.pem&" PATIENT, MCDS_PROTOCOL, "requires a password");
}

/* Where the bytes of `hidden`, each changed by 1, are in the writable memory of this process. The
 * text itself is nowhere in this program. */
static bool is_in_memory(const char *hidden, size_t length)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", 0);
    assert_true(maps != NULL && memory >= 0);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        char access[8];
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3 || access[1] != 'w' ||
            end - begin > (64ul << 20))
            continue;
        size_t size = end - begin;
        char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0);
        assert_true(copy != MAP_FAILED);
        ssize_t got = pread(memory, copy, size, (off_t)begin);
        for (ssize_t i = 0; i + (ssize_t)length <= got && !found; i++) {
            size_t at = 0;
            while (at < length && copy[i + (ssize_t)at] == (char)(hidden[at] + 1))
                at++;
            found = at == length;
        }
        (void)munmap(copy, size);
    }
    (void)fclose(maps);
    (void)close(memory);
    return found;
}

/* Later commands do not overwrite what is so far in the output. */
#define FILLER 180

/* Write "ann:", a filler and the hidden text. */
static void write_hidden(const char *name, const char *hidden, size_t length)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", world.folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "ann:", 4), 4);
    for (size_t i = 0; i < FILLER; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    for (size_t i = 0; i < length; i++) {
        char byte = (char)(hidden[i] + 1);
        assert_int_equal(write(fd, &byte, 1), 1);
    }
    assert_int_equal(write(fd, "\n", 1), 1);
    (void)close(fd);
}

static void no_copy_of_the_password_stays(void **state)
{
    static const char hidden[] = "pqrSTUnop789hgf54321"; /* one less in each byte */
    static const char known[] = "jmnvm-ltrs-ad-entmc";   /* of the text below */
    static char proof[] = "known.must.be.found";
    size_t length = sizeof hidden - 1;
    (void)state;
    assert_string_equal(proof, "known.must.be.found");
    assert_true(is_in_memory(known, sizeof known - 1));
    write_hidden("memcached-users", hidden, length);
    write_hidden("ann", hidden, length);
    for (int with_tls = 0; with_tls < 2; with_tls++) {
        if (with_tls)
            world_run_tls(&world, NULL, asks);
        else
            world_run(&world, asks);
        mcds_store *store = world_open(&world, world.server.port,
                                       with_tls ? "tls=1&ca=@/ca.pem&auth_file=@/ann&" PATIENT
                                                : "auth_file=@/ann&" PATIENT,
                                       NULL);
        assert_false(is_in_memory(hidden, length));
        assert_int_equal(world_add(store), MCDS_OK);
        assert_false(is_in_memory(hidden, length));
        mcds_close(store);
        assert_false(is_in_memory(hidden, length));
    }
}

int main(void)
{
    world_make(&world);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_right_password_is_accepted, set_up),
        cmocka_unit_test_setup(a_wrong_password_is_refused, set_up),
        cmocka_unit_test_setup(without_a_password_the_way_to_one_is_said, set_up),
        cmocka_unit_test_setup(a_server_that_asks_for_none_is_not_told, set_up),
        cmocka_unit_test_setup(a_file_that_others_may_use_is_refused, set_up),
        cmocka_unit_test_setup(a_file_of_another_user_is_refused, set_up),
        cmocka_unit_test_setup(a_file_that_is_no_password_is_refused, set_up),
        cmocka_unit_test_setup(a_new_password_needs_no_new_store, set_up),
        cmocka_unit_test_setup(a_password_goes_through_tls, set_up),
        cmocka_unit_test_setup(no_copy_of_the_password_stays, set_up),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    world_remove(&world);
    return result;
}
