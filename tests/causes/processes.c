/* Causes that lie in this process: its memory, its limits, its sandbox, its functions. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include "causes/causes.h"
#include "support/pass_over.h"

static int open_without_memory(struct world *world)
{
    mcds_counter *counter;
    open_memory(world);
    fake_env_refuse(&world->fake, 0, true);
    int result = mcds_counter_open(world->store, "x", NULL, &counter);
    (void)fake_env_grant(&world->fake);
    return result;
}

/* Sets how many descriptors there may be; returns how many there could be before. */
static rlim_t allow_descriptors(rlim_t count)
{
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = count;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return before;
}

static int get_without_descriptors(struct world *world)
{
    open_uri(world, "memcached:///tmp/none");
    rlim_t before = allow_descriptors(0);
    int result = get_counter(world);
    (void)allow_descriptors(before);
    return result;
}

static int open_file_without_descriptors(struct world *world)
{
    char uri[128];
    (void)snprintf(uri, sizeof uri, "lmdb:%s", world->file);
    rlim_t before = allow_descriptors(0);
    int result = mcds_open(uri, NULL, &world->store);
    (void)allow_descriptors(before);
    return result;
}

static int back_up_without_descriptors(struct world *world)
{
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%s-copy", world->file);
    open_file(world, "");
    rlim_t before = allow_descriptors(0);
    int result = mcds_backup(world->store, copy);
    (void)allow_descriptors(before);
    return result;
}

/* A sandbox that does not know getrandom, and has no files. */
static int open_without_random(struct world *world)
{
#ifdef __linux__
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip_row("this system has no seccomp filters");
    rlim_t before = allow_descriptors(0);
    int result = mcds_open("memory:", NULL, &world->store);
    (void)allow_descriptors(before);
    return result;
#else
    (void)world;
    skip_row("this system has no seccomp filters");
#endif
}

static int load_below_0(void *context, const char *page, uint64_t upto_slot, int64_t *views)
{
    (void)context;
    (void)page;
    (void)upto_slot;
    *views = -7;
    return 0;
}

static int refuse_to_load(void *context, const char *page, uint64_t upto_slot, int64_t *views)
{
    (void)context, (void)page, (void)upto_slot, (void)views;
    return 3;
}

static int refuse_to_save(void *context, const char *page, uint64_t slot, int64_t views)
{
    (void)context, (void)page, (void)slot, (void)views;
    return -7;
}

static mcds_views *open_views(struct world *world)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views;
    options.load = refuse_to_load;
    options.save = refuse_to_save;
    open_memory(world);
    MUST_DO(mcds_views_open(world->store, "v", &options, &views));
    MUST_DO(mcds_views_hit(views, "page", 1));
    return views;
}

static int flush_without_a_database(struct world *world)
{
    mcds_views *views = open_views(world);
    int result = mcds_views_flush_final(views);
    mcds_views_close(views);
    return result;
}

static int get_without_a_database(struct world *world)
{
    int64_t value;
    mcds_views *views = open_views(world);
    int result = mcds_views_get(views, "page", &value);
    mcds_views_close(views);
    return result;
}

static int get_below_0(struct world *world)
{
    mcds_views_options options = MCDS_VIEWS_OPTIONS_INIT;
    mcds_views *views;
    int64_t value;
    options.load = load_below_0;
    options.save = refuse_to_save;
    open_memory(world);
    MUST_DO(mcds_views_open(world->store, "v", &options, &views));
    int result = mcds_views_get(views, "page", &value);
    mcds_views_close(views);
    return result;
}

static int refuse_to_change(void *context, const mcds_bytes *old, size_t old_count,
                            mcds_elements *fresh)
{
    (void)context, (void)old, (void)old_count, (void)fresh;
    return MCDS_TIMEOUT;
}

/* The number is one of mcds, and the failure is the program's. */
static int refuse_a_change(struct world *world)
{
    mcds_array *array;
    open_memory(world);
    MUST_DO(mcds_array_open(world->store, "a", NULL, &array));
    int result = mcds_array_change_by(array, refuse_to_change, NULL);
    mcds_array_close(array);
    return result;
}

static int back_up_memory(struct world *world)
{
    open_memory(world);
    return mcds_backup(world->store, "copy");
}

static int scan_a_backend_that_cannot(struct world *world)
{
    open_hooked(world, NULL);
    return mcds_scan(world->store, pass_listed, NULL);
}

static int open_a_newer_backend(struct world *world)
{
    mcds_backend backend = {.size = sizeof backend, .version = MCDS_BACKEND_VERSION + 1};
    return mcds_open_backend(&backend, NULL, NULL, &world->store);
}

static const struct row rows[] = {
    {open_without_memory,
     {.result = MCDS_NO_MEMORY, .cause = MCDS_CAUSE_NO_MEMORY, .noun = "counter", .name = "x"},
     "counter 'x': out of memory"},
    {get_without_descriptors,
     {.result = MCDS_UNAVAILABLE,
      .cause = MCDS_CAUSE_NO_DESCRIPTORS,
      .os_error = EMFILE,
      .noun = "counter",
      .name = "x",
      .verb = "get",
      .peer = "/tmp/none"},
     "counter 'x': get: /tmp/none: this process has too many files open (ulimit -n); "
     "close some, or raise the limit"},
    {open_file_without_descriptors,
     {.result = MCDS_NO_MEMORY,
      .cause = MCDS_CAUSE_NO_DESCRIPTORS,
      .os_error = EMFILE,
      .noun = "store",
      .peer = "/tmp/mcds-causes-*/store"},
     "store: /tmp/mcds-causes-*/store: it cannot be opened: this process has too many files "
     "open (ulimit -n); close some, or raise the limit"},
    {back_up_without_descriptors,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_NO_DESCRIPTORS,
      .os_error = EMFILE,
      .noun = "store",
      .verb = "backup",
      .peer = "/tmp/mcds-causes-*/store-copy"},
     "store: backup: /tmp/mcds-causes-*/store-copy: it cannot be made: this process has too "
     "many "
     "files open (ulimit -n); close some, or raise the limit"},
    {open_without_random,
     {.result = MCDS_IO, .cause = MCDS_CAUSE_NO_RANDOM, .noun = "store"},
     "store: the system gives no random numbers: getrandom is refused, and /dev/urandom cannot "
     "be read; allow one of them in this sandbox"},
    {flush_without_a_database,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_CALLBACK_FAILED,
      .noun = "views",
      .name = "v",
      .verb = "flush_final",
      .found = "-7",
      .found_number = -7},
     "views 'v': flush_final: page 'page' is not saved; correct the cause and flush again; "
     "the program's save callback has failed: it returned -7"},
    {get_without_a_database,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_CALLBACK_FAILED,
      .noun = "views",
      .name = "v",
      .verb = "get",
      .found = "3",
      .found_number = 3},
     "views 'v': get: the program's load callback has failed: it returned 3"},
    {get_below_0,
     {.result = MCDS_IO,
      .cause = MCDS_CAUSE_CALLBACK_FAILED,
      .noun = "views",
      .name = "v",
      .verb = "get",
      .found = "0"},
     "views 'v': get: the program's load callback has given a sum below 0"},
    {refuse_a_change,
     {.result = MCDS_TIMEOUT,
      .cause = MCDS_CAUSE_CALLBACK_FAILED,
      .noun = "array",
      .name = "a",
      .verb = "change",
      .found = "-3",
      .found_number = -3},
     "array 'a': change: the program's change callback has refused the change: it returned -3"},
    {back_up_memory,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_UNSUPPORTED,
      .noun = "store",
      .verb = "backup"},
     "store: backup: only an lmdb: store can be copied to a file"},
    {scan_a_backend_that_cannot,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_UNSUPPORTED,
      .noun = "store",
      .verb = "scan"},
     "store: scan: it cannot list its keys"},
    {open_a_newer_backend,
     {.result = MCDS_UNSUPPORTED,
      .cause = MCDS_CAUSE_UNSUPPORTED,
      .noun = "store",
      .option = "version",
      .wanted = "1",
      .found = "2",
      .wanted_max = 1,
      .found_number = 2},
     "store: the backend was compiled with another mcds/backend.h"},
};

const struct table causes_of_processes = {rows, sizeof rows / sizeof rows[0]};
