/* The surroundings of a stress program. */
#include "stress/stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Enough for a minute of all that a play can put into it: what is evicted would be told as lost. */
static char *const options[] = {"-m", "2048", NULL};

static int open_memcached(struct stage *stage)
{
    stage->memcached.options = options;
    (void)snprintf(stage->memcached.path, sizeof stage->memcached.path, "%s/m.sock",
                   stage->folder);
    if (!server_start_memcached(&stage->memcached)) {
        (void)printf("skipped: memcached does not start\n");
        (void)rmdir(stage->folder);
        return STAGE_SKIPPED;
    }
    server_uri(&stage->memcached, stage->uri, sizeof stage->uri);
    size_t used = strlen(stage->uri);
    (void)snprintf(stage->uri + used, sizeof stage->uri - used, "?connect_timeout=10000");
    return 0;
}

int stage_open(struct stage *stage, const char *backend)
{
    memset(stage, 0, sizeof *stage);
    (void)snprintf(stage->folder, sizeof stage->folder, "/tmp/mcds-stress-XXXXXX");
    if (mkdtemp(stage->folder) == NULL) {
        perror("mkdtemp");
        return EXIT_FAILURE;
    }
    if (strcmp(backend, "memcached") == 0)
        return open_memcached(stage);
    stage->one_process = strcmp(backend, "memory") == 0;
    if (stage->one_process)
        (void)snprintf(stage->uri, sizeof stage->uri, "memory:stress");
    else
        (void)snprintf(stage->uri, sizeof stage->uri, "lmdb:%s/store.mdb", stage->folder);
    return 0;
}

void stage_close(struct stage *stage)
{
    static const char *const names[] = {"store.mdb", "store.mdb-lock", "store.mdb-writer",
                                        "m.sock"};
    server_stop(&stage->memcached);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, "%s/%s", stage->folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(stage->folder);
}

uint64_t stage_number(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : usual;
}

void *stage_share(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

int64_t stage_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void stage_sleep_ns(int64_t length_ns)
{
    struct timespec pause = {(time_t)(length_ns / 1000000000), (long)(length_ns % 1000000000)};
    (void)nanosleep(&pause, NULL);
}

bool stage_complain(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "%s:%d: ", file, line);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    return false;
}
