/* One backend under test, with short functions to call and to check. */
#include "structures/suite.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/environment.h"
#include "base/error.h"
#include "support/first_key.h"

#define CROWD 5
#define CROWD_TAG UINT64_C(1000000000)
#define PATIENCE_NS (20 * NS_PER_S)
#define LONG_NAME 300
#define LONGEST_NAME 1024

const char *fresh_name(struct suite *suite, const char *word)
{
    char *name = suite->names[suite->name_serial++ % 32];
    (void)snprintf(name, sizeof suite->names[0], "case%u.%u:%s", suite->case_serial,
                   suite->name_serial, word);
    return name;
}

void skip_because(const char *reason)
{
    print_message("skipped: %s\n", reason);
    skip();
}

void skip_if_unsupported(int result)
{
    if (result == MCDS_UNSUPPORTED)
        skip_because(mcds_errmsg());
}

void pass_ms(struct suite *suite, int64_t ms)
{
    const mcds_env *env = &suite->fake.env;
    mcds__sleep_until_ns(env, mcds__monotonic_ns(env) + ms * NS_PER_MS);
}

void shift_wall_ms(struct suite *suite, int64_t ms)
{
    suite->fake.wall_ns += ms * NS_PER_MS;
}

int64_t wall_ms(const struct suite *suite)
{
    return mcds__wall_ms(&suite->fake.env);
}

void gather_crowd(struct suite *suite, mcds_pipeline *pipeline)
{
    static mcds_counter_value value;
    suite->tag++;
    if (suite->mode != CROWDED)
        return;
    mcds_counter *crowd = pipeline == suite->pipeline ? suite->crowd : suite->other_crowd;
    for (uint64_t i = 0; i < CROWD; i++)
        assert_int_equal(mcds_counter_get_start(crowd, &value, pipeline, CROWD_TAG + i),
                         MCDS_OK);
}

/* The others of a crowd come back too, before this one or after it. The sentence that is left
 * is that of the one asked for. */
int finish_started(struct suite *suite, mcds_pipeline *pipeline, int started)
{
    struct mcds__failure failure;
    int result = started;
    mcds_completion done;
    bool seen = started != MCDS_OK;
    mcds__failure_save(&failure);
    while (mcds_pipeline_next(pipeline, &done) == MCDS_OK) {
        if (done.tag >= CROWD_TAG) {
            check_result(done.result, MCDS_OK, __FILE__, __LINE__);
            continue;
        }
        assert_int_equal(done.tag, suite->tag);
        assert_false(seen);
        seen = true;
        result = done.result;
        mcds__failure_save(&failure);
    }
    assert_true(seen);
    mcds__failure_restore(&failure);
    return result;
}

/* Each failure, and each answer that has several causes, says what failed, and why. */
static void check_explained(int result, const char *file, int line)
{
    const mcds_error *error = mcds_last_error();
    bool has_cause = result < 0 || result == MCDS_BUSY || result == MCDS_TOO_OLD ||
                     result == MCDS_TOO_FUTURE;
    bool is_explained = error->result == result && error->cause != MCDS_CAUSE_OTHER &&
                        error->noun[0] != '\0' && error->reason[0] != '\0';
    if (!has_cause || is_explained)
        return;
    print_error("%s has no cause: %s, %s: %s\n", mcds_result_name(result),
                mcds_result_name(error->result), mcds_cause_name((int)error->cause),
                mcds_errmsg());
    _fail(file, line);
}

void check_result(int result, int expected, const char *file, int line)
{
    if (result == expected) {
        check_explained(result, file, line);
        return;
    }
    print_error("expected %s, got %s: %s\n", mcds_result_name(expected),
                mcds_result_name(result), result < 0 ? mcds_errmsg() : "");
    _fail(file, line);
}

void check_sentence(const char *word, const char *file, int line)
{
    if (strstr(mcds_errmsg(), word) == NULL) {
        print_error("no \"%s\" in: %s\n", word, mcds_errmsg());
        _fail(file, line);
    }
}

void check_near(double value, double expected, const char *file, int line)
{
    if (value - expected < 1e-9 && expected - value < 1e-9)
        return;
    print_error("expected %g, got %g\n", expected, value);
    _fail(file, line);
}

struct raw_key raw_key(const struct suite *suite, const char *tag, const char *name,
                       int64_t number)
{
    struct raw_key raw;
    mcds__key_begin(&raw.key, mcds__store_ns(suite->store), tag, name);
    if (number >= 0)
        mcds__key_add_number(&raw.key, (uint64_t)number);
    raw.route = raw.key;
    return raw;
}

struct raw_key raw_first(struct suite *suite, const struct raw_key *root)
{
    return (struct raw_key){first_key(suite->store, &root->key), root->key};
}

void raw_add_number(struct raw_key *key, uint64_t number)
{
    mcds__key_add_number(&key->key, number);
    key->route = key->key;
}

struct raw_key raw_fence(const struct suite *suite, const char *name)
{
    struct raw_key raw = raw_key(suite, MCDS__TAG_FENCE, name, -1);
    raw.route = raw_key(suite, MCDS__TAG_LOCK, name, -1).key;
    return raw;
}

static mcds_outcome run(struct suite *suite, mcds_request *request, mcds_buffer *values)
{
    mcds_batch batch = {
        .requests = request,
        .count = 1,
        .deadline_ns = mcds__monotonic_ns(&suite->fake.env) + PATIENCE_NS,
        .values = values,
    };
    mcds__store_execute(suite->store, 0, &batch);
    return request->reply.outcome;
}

mcds_outcome raw_set_flags(struct suite *suite, const struct raw_key *key, mcds_bytes value,
                           uint32_t flags)
{
    mcds_request request = {.command = MCDS_SET,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route),
                            .value = value,
                            .flags = flags};
    return run(suite, &request, NULL);
}

mcds_outcome raw_set_bytes(struct suite *suite, const struct raw_key *key, mcds_bytes value)
{
    return raw_set_flags(suite, key, value, 0);
}

mcds_outcome raw_set(struct suite *suite, const struct raw_key *key, const char *value)
{
    return raw_set_bytes(suite, key, (mcds_bytes){value, strlen(value)});
}

mcds_outcome raw_append(struct suite *suite, const struct raw_key *key, mcds_bytes value)
{
    mcds_request request = {.command = MCDS_APPEND,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route),
                            .value = value};
    return run(suite, &request, NULL);
}

mcds_outcome raw_delete(struct suite *suite, const struct raw_key *key)
{
    mcds_request request = {.command = MCDS_DELETE,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route)};
    return run(suite, &request, NULL);
}

struct raw_key raw_chunk(struct suite *suite, const char *name, uint64_t chunk_ms,
                         int64_t at_ms)
{
    struct raw_key root = raw_key(suite, MCDS__TAG_LOG, name, -1);
    struct raw_key raw = raw_key(suite, MCDS__TAG_LOG_SEGMENT, name, (int64_t)chunk_ms);
    mcds_request request = {.command = MCDS_GET,
                            .options = MCDS_NO_VALUE,
                            .key = mcds__key_bytes(&root.key),
                            .route = mcds__key_bytes(&root.route)};
    assert_int_equal(run(suite, &request, NULL), MCDS_OUT_OK);
    mcds__key_add_number(&raw.key, mcds__descriptor_stem(request.reply.flags));
    raw_add_number(&raw, (uint64_t)at_ms / chunk_ms);
    return raw;
}

uint32_t raw_flags(struct suite *suite, const struct raw_key *key)
{
    mcds_request request = {.command = MCDS_GET,
                            .options = MCDS_NO_VALUE,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route)};
    assert_int_equal(run(suite, &request, NULL), MCDS_OUT_OK);
    return request.reply.flags;
}

bool raw_read(struct suite *suite, const struct raw_key *key, uint8_t *out, size_t capacity,
              size_t *length_out)
{
    mcds_request request = {.command = MCDS_GET,
                            .key = mcds__key_bytes(&key->key),
                            .route = mcds__key_bytes(&key->route)};
    mcds_buffer values;
    mcds__buffer_init(&values, mcds_env_system(), capacity);
    bool found = run(suite, &request, &values) == MCDS_OUT_OK;
    *length_out = found ? request.reply.value_length : 0;
    if (*length_out > 0)
        memcpy(out, values.data + request.reply.value_at, *length_out);
    mcds__buffer_free(&values);
    return found;
}

bool raw_get(struct suite *suite, const struct raw_key *key, char *out, size_t capacity)
{
    size_t length;
    bool found = raw_read(suite, key, (uint8_t *)out, capacity - 1, &length);
    while (length > 0 && out[length - 1] == ' ')
        length--;
    out[length] = '\0';
    return found;
}

const char *hard_name(uint32_t i)
{
    /* The fifth from the end is what the hash of the 300 bytes looks like as a key. */
    static const char *const names[HARD_NAMES - 3] = {
        "a b",  " a",       "a ",   "a\r\nb", "a\r\nset x 0 0 1\r\n1",
        "a\tb", "%",        "%41",  "A",      "a:b",
        "a",    "\xff\xfe", "\x01", "~",      "~abc",
        "\x7f", "\xc3\xa4",
    };
    static char long_name[LONG_NAME + 1];
    static char longest_name[LONGEST_NAME + 1];
    static char looks_hashed[MCDS__KEY_MAX + 1];
    if (i < HARD_NAMES - 3)
        return names[i];
    memset(long_name, 'n', LONG_NAME);
    memset(longest_name, '\xff', LONGEST_NAME);
    if (i == HARD_NAMES - 3)
        return long_name;
    if (i == HARD_NAMES - 2)
        return longest_name;
    struct mcds__key key;
    mcds__key_begin(&key, "", "c1", long_name);
    (void)snprintf(looks_hashed, sizeof looks_hashed, "%s", strrchr(key.bytes, ':') + 1);
    return looks_hashed;
}
