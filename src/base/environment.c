/* The environment: clocks, randomness and memory of the system. */
#include "base/environment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "base/sized.h"
#include "mcds/backend.h"

#define RANDOM_AHEAD 256 /* getrandom returns at most this many bytes in one call */
#define RANDOM_TRIES 64  /* a signal before the kernel's pool is ready costs one */
#define STEP UINT64_C(0x9e3779b97f4a7c15)
#define LOCK_PIECE_NS (100 * NS_PER_MS)
#define NS_PER_HOUR (3600 * NS_PER_S)

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* CLOCK_BOOTTIME where it exists: a lease also runs while the machine is suspended. */
static int64_t system_monotonic_ns(void *self)
{
    (void)self;
#ifdef CLOCK_BOOTTIME
    return clock_ns(CLOCK_BOOTTIME);
#else
    return clock_ns(CLOCK_MONOTONIC);
#endif
}

static int64_t system_wall_ns(void *self)
{
    (void)self;
    return clock_ns(CLOCK_REALTIME);
}

_Atomic uint64_t mcds__fork_count;

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
    (void)pthread_mutex_lock(&registry_mutex);
}

void mcds__registry_unlock(void)
{
    (void)pthread_mutex_unlock(&registry_mutex);
}

static void begin_child(void)
{
    (void)atomic_fetch_add(&mcds__fork_count, 1);
    mcds__registry_unlock();
}

static void environment_watch_forks(void)
{
    (void)pthread_atfork(before_fork, mcds__registry_unlock, begin_child);
}

uint64_t mcds__watch_forks(void)
{
    static pthread_once_t watching = PTHREAD_ONCE_INIT;
    (void)pthread_once(&watching, environment_watch_forks);
    return mcds__forks();
}

void mcds__registry_lock(void)
{
    (void)mcds__watch_forks();
    before_fork();
}

/* Random bytes that this thread has drawn ahead: a system call for each number would be a
 * large fraction of an operation in memory. */
static _Thread_local struct {
    uint64_t forks; /* a child must not use the bytes of its parent */
    size_t left;
    uint8_t bytes[RANDOM_AHEAD];
} ahead;

/* False with errno set: a sandbox refuses the call, or the kernel does not have it. */
static bool draw_by_call(uint8_t *out, size_t length)
{
    size_t drawn = 0;
    for (int tries = 0; drawn < length && tries < RANDOM_TRIES; tries++) {
        ssize_t got = getrandom(out + drawn, length - drawn, 0);
        if (got < 0 && errno != EINTR)
            return false;
        drawn += got > 0 ? (size_t)got : 0;
    }
    return drawn == length;
}

static bool draw_from_device(uint8_t *out, size_t length)
{
    struct stat status;
    size_t drawn = 0;
    int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (device < 0)
        return false;
    if (fstat(device, &status) == 0 && S_ISCHR(status.st_mode)) {
        for (int tries = 0; drawn < length && tries < RANDOM_TRIES; tries++) {
            ssize_t got = read(device, out + drawn, length - drawn);
            drawn += got > 0 ? (size_t)got : 0;
        }
    }
    (void)close(device);
    return drawn == length;
}

/* A sandbox may remove the source of random numbers after mcds_open has found it. Numbers must
 * still differ between threads, processes and calls; they may be predictable. */
static void draw_from_circumstances(uint8_t *out, size_t length)
{
    assert(length % sizeof(uint64_t) == 0); /* whole words are mixed */
    uint64_t state = (uint64_t)clock_ns(CLOCK_REALTIME) ^ (uint64_t)getpid() << 40 ^
                     (uint64_t)(uintptr_t)out;
    for (size_t at = 0; at < length; at += sizeof state) {
        uint64_t before;
        memcpy(&before, out + at, sizeof before);
        state = (state ^ before ^ (uint64_t)clock_ns(CLOCK_MONOTONIC)) + STEP;
        state = (state ^ state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        state = (state ^ state >> 27) * UINT64_C(0x94d049bb133111eb);
        state ^= state >> 31;
        memcpy(out + at, &state, sizeof state);
    }
}

/* False: the system provides none. */
static bool draw_ahead(void)
{
    ahead.forks = mcds__watch_forks();
    ahead.left = sizeof ahead.bytes;
    return draw_by_call(ahead.bytes, sizeof ahead.bytes) ||
           draw_from_device(ahead.bytes, sizeof ahead.bytes);
}

static void system_random(void *self, void *out, size_t length)
{
    (void)self;
    uint8_t *at = out;
    while (length > 0) {
        if ((ahead.left == 0 || ahead.forks != mcds__forks()) && !draw_ahead())
            draw_from_circumstances(ahead.bytes, sizeof ahead.bytes);
        size_t part = length < ahead.left ? length : ahead.left;
        assert(part > 0 && ahead.left <= sizeof ahead.bytes);
        memcpy(at, ahead.bytes + sizeof ahead.bytes - ahead.left, part);
        ahead.left -= part;
        at += part;
        length -= part;
    }
}

static void system_sleep_until_ns(void *self, int64_t monotonic_ns)
{
    int64_t left_ns = monotonic_ns - system_monotonic_ns(self);
    if (left_ns <= 0)
        return;
    struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void *system_reallocate(void *self, void *memory, size_t length)
{
    (void)self;
    if (length == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, length);
}

static const mcds_env system_env = {
    sizeof(mcds_env),  NULL,          system_monotonic_ns,
    system_wall_ns,    system_random, system_sleep_until_ns,
    system_reallocate,
};

const mcds_env *mcds_env_system(void)
{
    return &system_env;
}

bool mcds__has_random(const mcds_env *env)
{
    bool is_drawn = ahead.left > 0 && ahead.forks == mcds__forks();
    if (env->random != system_random || is_drawn || draw_ahead())
        return true;
    ahead.left = 0;
    return false;
}

void *mcds__allocate(const mcds_env *env, size_t length)
{
    return env->reallocate(env->self, NULL, length > 0 ? length : 1);
}

void *mcds__allocate_zero(const mcds_env *env, size_t length)
{
    void *memory = mcds__allocate(env, length);
    if (memory != NULL)
        memset(memory, 0, length);
    return memory;
}

void mcds__free(const mcds_env *env, void *memory)
{
    if (memory != NULL)
        (void)env->reallocate(env->self, memory, 0);
}

char *mcds__copy_string(const mcds_env *env, const char *string)
{
    size_t length = strlen(string) + 1;
    char *copy = mcds__allocate(env, length);
    if (copy != NULL)
        memcpy(copy, string, length);
    return copy;
}

int mcds__env_complete(const mcds_env *given, mcds_env *env)
{
    const mcds_env *system = mcds_env_system();
    int result = mcds__sized_read(MCDS__SIZED_mcds_env, given, env);
    if (result != MCDS_OK)
        return result;
    if (env->monotonic_ns == NULL)
        env->monotonic_ns = system->monotonic_ns;
    if (env->wall_ns == NULL)
        env->wall_ns = system->wall_ns;
    if (env->random == NULL)
        env->random = system->random;
    if (env->sleep_until_ns == NULL)
        env->sleep_until_ns = system->sleep_until_ns;
    if (env->reallocate == NULL)
        env->reallocate = system->reallocate;
    return MCDS_OK;
}

bool mcds__env_is_same(const mcds_env *one, const mcds_env *other)
{
    return one->self == other->self && one->monotonic_ns == other->monotonic_ns &&
           one->wall_ns == other->wall_ns && one->random == other->random &&
           one->sleep_until_ns == other->sleep_until_ns && one->reallocate == other->reallocate;
}

int64_t mcds__monotonic_ns(const mcds_env *env)
{
    return env->monotonic_ns(env->self);
}

int mcds__ms_until(const mcds_env *env, int64_t monotonic_ns, int ms_max)
{
    int64_t left_ns = monotonic_ns - mcds__monotonic_ns(env);
    int64_t left_ms = left_ns > 0 ? (left_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
    return left_ms < ms_max ? (int)left_ms : ms_max;
}

int64_t mcds__wall_ns(const mcds_env *env)
{
    return env->wall_ns(env->self);
}

int64_t mcds__wall_ms(const mcds_env *env)
{
    int64_t now_ns = mcds__wall_ns(env);
    return now_ns > 0 ? now_ns / NS_PER_MS : 0;
}

uint32_t mcds__wall_s(const mcds_env *env)
{
    int64_t now_s = mcds__wall_ns(env) / NS_PER_S;
    return now_s > 0 && now_s <= UINT32_MAX ? (uint32_t)now_s : 1;
}

uint64_t mcds__random_u64(const mcds_env *env)
{
    uint64_t value;
    env->random(env->self, &value, sizeof value);
    return value;
}

void mcds__sleep_until_ns(const mcds_env *env, int64_t monotonic_ns)
{
    env->sleep_until_ns(env->self, monotonic_ns);
}

bool mcds__condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    return made;
}

/* Waits on the system's clock for the time that remains on the environment's clock. The two
 * clocks may have different zeros, and an injected clock may have another speed. */
bool mcds__condition_wait(const mcds_env *env, pthread_cond_t *condition,
                          pthread_mutex_t *mutex, int64_t monotonic_ns)
{
    int64_t now_ns = mcds__monotonic_ns(env);
    if (now_ns >= monotonic_ns)
        return false;
    int64_t left_ns = monotonic_ns - NS_PER_HOUR > now_ns ? NS_PER_HOUR : monotonic_ns - now_ns;
    assert(left_ns > 0 && left_ns <= NS_PER_HOUR);
    int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + left_ns;
    struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
    (void)pthread_cond_timedwait(condition, mutex, &until);
    return true;
}

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

/* pthread_mutex_timedlock uses the wall clock, so each call waits only briefly: a step of that
 * clock then does not matter. The thread sanitizer does not recognize that this call acquires
 * the mutex of a dead owner; it recognizes trylock. */
static int lock_within(pthread_mutex_t *mutex, int64_t piece_ns)
{
#ifdef THREAD_SANITIZER
    struct timespec pause = {0, piece_ns < NS_PER_MS ? (long)piece_ns : (long)NS_PER_MS};
    (void)nanosleep(&pause, NULL);
    return pthread_mutex_trylock(mutex);
#else
    assert(piece_ns > 0 && piece_ns <= LOCK_PIECE_NS);
    int64_t until_ns = clock_ns(CLOCK_REALTIME) + piece_ns;
    struct timespec until = {(time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S)};
    return pthread_mutex_timedlock(mutex, &until);
#endif
}

int mcds__mutex_lock_until(const mcds_env *env, pthread_mutex_t *mutex, int64_t monotonic_ns)
{
    int result = pthread_mutex_trylock(mutex);
    while (result == EBUSY || result == ETIMEDOUT) {
        int64_t left_ns = monotonic_ns - mcds__monotonic_ns(env);
        if (left_ns <= 0)
            return ETIMEDOUT;
        result = lock_within(mutex, left_ns < LOCK_PIECE_NS ? left_ns : LOCK_PIECE_NS);
    }
    return result;
}

bool mcds__mutex_init_shared(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    bool made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(mutex, &attributes) == 0;
    (void)pthread_mutexattr_destroy(&attributes);
    return made;
}

void mcds__word_wait(const mcds_env *env, _Atomic uint32_t *word, uint32_t expected,
                     int64_t monotonic_ns)
{
    int64_t left_ns = monotonic_ns - mcds__monotonic_ns(env);
    if (left_ns <= 0)
        return;
#ifdef __linux__
    struct timespec left = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
    (void)syscall(SYS_futex, word, FUTEX_WAIT, expected, &left, NULL, 0);
#else
    /* Without futexes it polls. */
    struct timespec pause = {0, left_ns < NS_PER_MS / 4 ? (long)left_ns : (long)NS_PER_MS / 4};
    if (atomic_load(word) == expected)
        (void)nanosleep(&pause, NULL);
#endif
}

bool mcds__word_wake(_Atomic uint32_t *word)
{
#ifdef __linux__
    return syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0) > 0;
#else
    (void)word;
    return true;
#endif
}
