/* Structs of the caller with private bytes that the library has not written: a call with one
 * returns a result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcds.h"
#include "support/fake_env.h"

#define OK(call) assert_int_equal(MCDS_OK, call)
#define STRUCT_MAX 2048
/* A byte is changed alone, and with the seven after it. */
#define WIDE 8
/* Each byte of the first and last this many; between them are texts, of which every few are enough. */
#define EDGE 160
#define STEP 13

static const uint8_t fillings[] = {0x00, 0x01, 0x3a, 0x7f, 0x80, 0xff};
#define FILLINGS (sizeof fillings / sizeof fillings[0])

struct world {
    struct fake_env fake;
    mcds_store *store;
    mcds_lock *lock;
    mcds_semaphore *semaphore;
    mcds_once *once;
    mcds_cache *cache;
    mcds_queue *queue;
    mcds_log *log;
    mcds_value value;
    uint64_t uses;
};

/* A field that must keep a value of its type, which the call that fills the struct has written. */
struct kept {
    size_t at;
    size_t length;
};
#define KEPT(type, member)                                                                     \
    {                                                                                          \
        offsetof(type, member), sizeof(((type *)NULL)->member)                                 \
    }
#define KEPT_MAX 4

struct subject {
    const char *name;
    size_t size;
    void (*fill)(struct world *world, void *out);
    /* Calls the verb with this number. False: there are no more. */
    bool (*use)(struct world *world, void *used, int verb, int *result_out);
    struct kept kept[KEPT_MAX];
};

static bool pass_event(void *context, const mcds_log_event *event)
{
    (void)context;
    (void)event;
    return true;
}

static void fill_lease(struct world *world, void *out)
{
    mcds_lease lease = MCDS_LEASE_INIT;
    (void)mcds_lock_break(world->lock);
    OK(mcds_lock_try_acquire(world->lock, &lease));
    memcpy(out, &lease, sizeof lease);
}

static bool use_lease(struct world *world, void *used, int verb, int *result_out)
{
    char text[MCDS_LEASE_TEXT];
    switch (verb) {
    case 0:
        *result_out = mcds_lock_renew(world->lock, used);
        return true;
    case 1:
        *result_out = mcds_lock_release(world->lock, used);
        return true;
    case 2:
        *result_out = mcds_lock_export(world->lock, used, text);
        return true;
    case 3:
        *result_out = mcds_lock_try_acquire(world->lock, used);
        return true;
    case 4:
        *result_out = mcds_lock_try_acquire_shared(world->lock, used);
        return true;
    case 5:
        *result_out = mcds_lock_remaining_ms(world->lock, used) >= 0 ? MCDS_OK : MCDS_IO;
        return true;
    default:
        return false;
    }
}

static void fill_permit(struct world *world, void *out)
{
    mcds_permit permit = MCDS_PERMIT_INIT;
    fake_env_advance_ms(&world->fake, 20000); /* the lease before has ended */
    OK(mcds_semaphore_try_acquire(world->semaphore, &permit));
    memcpy(out, &permit, sizeof permit);
}

static bool use_permit(struct world *world, void *used, int verb, int *result_out)
{
    switch (verb) {
    case 0:
        *result_out = mcds_semaphore_renew(world->semaphore, used);
        return true;
    case 1:
        *result_out = mcds_semaphore_release(world->semaphore, used);
        return true;
    case 2:
        *result_out = mcds_semaphore_try_acquire(world->semaphore, used);
        return true;
    case 3:
        *result_out = mcds_semaphore_remaining_ms(world->semaphore, used) >= 0 ? MCDS_OK
                                                                               : MCDS_IO;
        return true;
    default:
        return false;
    }
}

static mcds_bytes next_key(struct world *world, char key[32])
{
    (void)snprintf(key, 32, "k%llu", (unsigned long long)world->uses++ % 64);
    return mcds_text(key);
}

static void fill_run(struct world *world, void *out)
{
    char text[32];
    mcds_once_run run = MCDS_ONCE_RUN_INIT;
    mcds_bytes key = next_key(world, text);
    assert_true(mcds_once_forget(world->once, key) >= 0);
    OK(mcds_once_begin(world->once, key, mcds_text("r"), 0, &run, &world->value, NULL));
    assert_true(run.mine);
    memcpy(out, &run, sizeof run);
}

static bool use_run(struct world *world, void *used, int verb, int *result_out)
{
    switch (verb) {
    case 0:
        *result_out = mcds_once_renew(world->once, used);
        return true;
    case 1:
        *result_out = mcds_once_finish(world->once, used, 1, mcds_text("x"));
        return true;
    case 2:
        *result_out = mcds_once_abandon(world->once, used);
        return true;
    case 3:
        *result_out = mcds_once_begin(world->once, mcds_text("k"), mcds_text("r"), 0, used,
                                      &world->value, NULL);
        return true;
    default:
        return false;
    }
}

static void fill_claim(struct world *world, void *out)
{
    char text[32];
    const mcds_bytes tags[] = {mcds_text("t"), mcds_text("u")};
    mcds_cache_claim claim = MCDS_CACHE_CLAIM_INIT;
    mcds_bytes key = next_key(world, text);
    fake_env_advance_ms(&world->fake, 3600000); /* claims and values have ended */
    int result = mcds_cache_look(world->cache, key, tags, 2, 0, &world->value, &claim);
    assert_true(result >= 0 && claim.mine);
    memcpy(out, &claim, sizeof claim);
}

static bool use_claim(struct world *world, void *used, int verb, int *result_out)
{
    const mcds_bytes bytes = mcds_text("x");
    switch (verb) {
    case 0:
        *result_out = mcds_cache_put(world->cache, used, &bytes);
        return true;
    case 1:
        *result_out = mcds_cache_put(world->cache, used, NULL);
        return true;
    case 2:
        *result_out = mcds_cache_fail(world->cache, used, bytes);
        return true;
    case 3:
        *result_out = mcds_cache_renew(world->cache, used);
        return true;
    case 4:
        *result_out = mcds_cache_release(world->cache, used);
        return true;
    case 5:
        *result_out = mcds_cache_look(world->cache, bytes, NULL, 0, 0, &world->value, used);
        return true;
    default:
        return false;
    }
}

static void fill_job(struct world *world, void *out)
{
    mcds_job job = MCDS_JOB_INIT;
    OK(mcds_queue_push(world->queue, mcds_text("j"), 0));
    OK(mcds_queue_next(world->queue, 0, &job, &world->value));
    memcpy(out, &job, sizeof job);
}

static bool use_job(struct world *world, void *used, int verb, int *result_out)
{
    char text[MCDS_QUEUE_JOB_TEXT];
    switch (verb) {
    case 0:
        *result_out = mcds_queue_longer(world->queue, used);
        return true;
    case 1:
        *result_out = mcds_queue_done(world->queue, used);
        return true;
    case 2:
        *result_out = mcds_queue_again(world->queue, used, 0);
        return true;
    case 3:
        *result_out = mcds_queue_next(world->queue, 0, used, &world->value);
        return true;
    case 4:
        mcds_queue_job_save(used, text);
        *result_out = MCDS_OK;
        return true;
    default:
        return false;
    }
}

static void fill_cursor(struct world *world, void *out)
{
    mcds_log_cursor cursor = MCDS_LOG_CURSOR_INIT;
    cursor.from_ms = 1;
    fake_env_advance_ms(&world->fake, 1);
    OK(mcds_log_put(world->log, 0, mcds_text("e")));
    OK(mcds_log_tail(world->log, &cursor, pass_event, NULL, NULL));
    memcpy(out, &cursor, sizeof cursor);
}

static bool use_cursor(struct world *world, void *used, int verb, int *result_out)
{
    char text[MCDS_LOG_CURSOR_TEXT];
    switch (verb) {
    case 0:
        *result_out = mcds_log_tail(world->log, used, pass_event, NULL, NULL);
        return true;
    case 1:
        mcds_log_cursor_save(used, text);
        assert_non_null(memchr(text, '\0', sizeof text));
        *result_out = MCDS_OK;
        return true;
    default:
        return false;
    }
}

static const struct subject subjects[] = {
    {"lease", sizeof(mcds_lease), fill_lease, use_lease, {{0, 0}}},
    {"permit", sizeof(mcds_permit), fill_permit, use_permit, {{0, 0}}},
    {"run",
     sizeof(mcds_once_run),
     fill_run,
     use_run,
     {KEPT(mcds_once_run, mine), KEPT(mcds_once_run, doubt), KEPT(mcds_once_run, strict)}},
    {"claim",
     sizeof(mcds_cache_claim),
     fill_claim,
     use_claim,
     {KEPT(mcds_cache_claim, mine), KEPT(mcds_cache_claim, refreshes),
      KEPT(mcds_cache_claim, stores), KEPT(mcds_cache_claim, state)}},
    {"job",
     sizeof(mcds_job),
     fill_job,
     use_job,
     {KEPT(mcds_job, is_held), KEPT(mcds_job, was_lost)}},
    {"cursor", sizeof(mcds_log_cursor), fill_cursor, use_cursor, {{0, 0}}},
};
#define SUBJECTS (sizeof subjects / sizeof subjects[0])

static void begin(struct world *world)
{
    mcds_options options = MCDS_OPTIONS_INIT;
    mcds_semaphore_options permits = MCDS_SEMAPHORE_OPTIONS_INIT;
    *world = (struct world){.value = MCDS_VALUE_INIT};
    fake_env_init(&world->fake, 1);
    options.env = &world->fake.env;
    permits.permits = 1;
    OK(mcds_open("memory:", &options, &world->store));
    OK(mcds_lock_open(world->store, "l", NULL, &world->lock));
    OK(mcds_semaphore_open(world->store, "s", &permits, &world->semaphore));
    OK(mcds_once_open(world->store, "o", NULL, &world->once));
    OK(mcds_cache_open(world->store, "c", NULL, &world->cache));
    OK(mcds_queue_open(world->store, "q", NULL, &world->queue));
    OK(mcds_log_open(world->store, "g", NULL, &world->log));
}

static void end(struct world *world)
{
    mcds_value_free(&world->value);
    mcds_log_close(world->log);
    mcds_queue_close(world->queue);
    mcds_cache_close(world->cache);
    mcds_once_close(world->once);
    mcds_semaphore_close(world->semaphore);
    mcds_lock_close(world->lock);
    mcds_close(world->store);
    assert_int_equal(world->fake.blocks, 0);
}

/* Fills bytes of a struct that a call has filled, and uses it. Returns the result. */
static int play(struct world *world, const struct subject *subject, size_t from, size_t length,
                uint8_t filling, int verb, bool *is_last_out)
{
    _Alignas(max_align_t) uint8_t filled[STRUCT_MAX];
    uint8_t before[STRUCT_MAX];
    int result = MCDS_OK;
    subject->fill(world, filled);
    memcpy(before, filled, subject->size);
    memset(filled + from, filling, length);
    for (size_t i = 0; i < KEPT_MAX; i++)
        memcpy(filled + subject->kept[i].at, before + subject->kept[i].at,
               subject->kept[i].length);
    *is_last_out = !subject->use(world, filled, verb, &result);
    return result;
}

static void play_verbs(struct world *world, const struct subject *subject, size_t from,
                       size_t length)
{
    for (size_t i = 0; i < FILLINGS; i++) {
        bool is_last = false;
        for (int verb = 0; !is_last; verb++) {
            int result = play(world, subject, from, length, fillings[i], verb, &is_last);
            if (mcds_result_name(result)[0] == '\0' || result == MCDS_IO)
                fail_msg("%s: %zu bytes from %zu are 0x%02x, verb %d: result %d", subject->name,
                         length, from, fillings[i], verb, result);
        }
    }
}

static size_t next_of(size_t at, size_t size)
{
    return at < EDGE || at + EDGE >= size ? at + 1 : at + STEP;
}

static void changed_bytes_have_a_result(void **state)
{
    (void)state;
    for (size_t i = 0; i < SUBJECTS; i++) {
        struct world world;
        begin(&world);
        assert_true(subjects[i].size <= STRUCT_MAX);
        for (size_t at = 0; at < subjects[i].size; at = next_of(at, subjects[i].size)) {
            play_verbs(&world, &subjects[i], at, 1);
            if (at % WIDE == 0 && at + WIDE <= subjects[i].size)
                play_verbs(&world, &subjects[i], at, WIDE);
        }
        play_verbs(&world, &subjects[i], 0, subjects[i].size);
        end(&world);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(changed_bytes_have_a_result),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
