/* A program compiled with the header of version 0.1: it includes no header of mcds and declares
 * what it uses as that version did. It must run with every later library of the same soname.
 * Never change a declaration here. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct options {
    size_t size;
    const char *ns;
    uint32_t timeout_ms;
    const void *env;
};
struct counter_options {
    size_t size;
    uint32_t flags, stripes;
    uint64_t ttl_ms;
    uint32_t copies, flush_ms;
};
struct counter_value {
    size_t size;
    int64_t value;
    uint32_t since_s;
    bool reborn;
    bool reserved[3];
    int64_t ttl_ms;
};
struct pipeline_options {
    size_t size;
    uint32_t depth, reserved;
};
struct completion {
    uint64_t tag;
    int result;
};

int mcds_open(const char *uri, const struct options *options, void **store_out);
void mcds_close(void *store);
int mcds_counter_open(void *store, const char *name, const struct counter_options *options,
                      void **counter_out);
void mcds_counter_close(void *counter);
int mcds_counter_add_start(void *counter, int64_t delta, int64_t *value_out, void *pipeline,
                           uint64_t tag);
int mcds_counter_get(void *counter, struct counter_value *value_out);
int mcds_pipeline_open(void *store, const struct pipeline_options *options,
                       void **pipeline_out);
int mcds_pipeline_next(void *pipeline, struct completion *done);
void mcds_pipeline_close(void *pipeline);

/* With the sizes of the structs, or with size 0, which means the members declared above. */
static int run(bool has_sizes)
{
    struct options options = {has_sizes ? sizeof options : 0, "old", 0, NULL};
    struct counter_options of_counter = {
        .size = has_sizes ? sizeof of_counter : 0, .flags = 1, .stripes = 4, .ttl_ms = 60000};
    struct pipeline_options of_pipeline = {.size = has_sizes ? sizeof of_pipeline : 0,
                                           .depth = 8};
    struct {
        struct counter_value value;
        uint64_t after; /* must stay as it is */
    } out = {{.size = has_sizes ? sizeof out.value : 0}, UINT64_C(0x5a5a5a5a5a5a5a5a)};
    size_t size = out.value.size;
    struct completion done;
    void *store, *counter, *pipeline;
    if (mcds_open("memory:", &options, &store) != 0 ||
        mcds_counter_open(store, "x", &of_counter, &counter) != 0 ||
        mcds_pipeline_open(store, &of_pipeline, &pipeline) != 0)
        return 1;
    for (uint64_t tag = 0; tag < 20; tag++)
        if (mcds_counter_add_start(counter, tag % 2 == 0 ? 5 : -3, NULL, pipeline, tag) != 0)
            return 2;
    int finished = 0;
    while (mcds_pipeline_next(pipeline, &done) == 0)
        finished += done.result == 0;
    if (mcds_counter_get(counter, &out.value) != 0)
        return 3;
    mcds_close(store);
    mcds_pipeline_close(pipeline);
    mcds_counter_close(counter);
    printf("%d finished, %lld, %lld ms left\n", finished, (long long)out.value.value,
           (long long)out.value.ttl_ms);
    return finished == 20 && out.value.value == 20 && out.value.ttl_ms > 0 &&
                   out.value.size == size && out.after == UINT64_C(0x5a5a5a5a5a5a5a5a)
               ? 0
               : 4;
}

int main(void)
{
    int failed = run(true);
    return failed != 0 ? failed : run(false);
}
