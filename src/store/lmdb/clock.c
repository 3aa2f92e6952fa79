/* The clock by which the records of a file expire.
 *
 * Leases must not overlap because somebody set the wall clock. So the clock of a file is
 * CLOCK_BOOTTIME, which nobody can set, plus an offset that is fixed once for each boot of the
 * system. The first process that writes after a boot stores the offset in the file, together
 * with the boot id; all other processes use that one. The offset makes the clock equal to the
 * wall clock of that moment, or to the latest time recorded in the file if that is later. So
 * the clock does not go back across a boot either.
 *
 * If the system reports no boot id, the wall clock is used. It is also used for an injected
 * clock other than the one with which the process opened the file. The offset of an injected
 * clock is fixed for as long as the process has the file open. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/lmdb/file.h"

#define BOOT_ID_TEXT 36 /* hexadecimal digits and dashes */

static bool is_system(const mcds_env *env)
{
    return env->monotonic_ns == mcds_env_system()->monotonic_ns;
}

/* Read the boot id and the time namespace, on which CLOCK_BOOTTIME depends; *reported: the system
 * reports them. Where a descriptor is missing the opening fails: other processes do read them, and
 * two clocks would expire the same records. 0 or a code. */
static int read_boot(uint8_t boot[MCDS__LMDB_BOOT_BYTES], bool *reported)
{
    uint8_t text[BOOT_ID_TEXT];
    struct stat status;
    int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    *reported = false;
    if (descriptor < 0)
        return errno == EMFILE || errno == ENFILE ? errno : 0;
    ssize_t got = read(descriptor, text, sizeof text);
    (void)close(descriptor);
    if (got != BOOT_ID_TEXT)
        return 0;
    memset(boot, 0, MCDS__LMDB_BOOT_BYTES);
    size_t digit = 0;
    for (size_t i = 0; i < sizeof text && digit < 2 * (size_t)MCDS__LMDB_BOOT_BYTES; i++) {
        if (text[i] == '-')
            continue;
        uint8_t value = (uint8_t)(text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10);
        assert(digit / 2 < MCDS__LMDB_BOOT_BYTES);
        boot[digit / 2] |= (uint8_t)((value & 15) << (digit % 2 == 0 ? 4 : 0));
        digit++;
    }
    uint64_t namespace = stat("/proc/self/ns/time", &status) == 0 ? (uint64_t)status.st_ino : 0;
    for (size_t i = 0; i < sizeof namespace; i++)
        boot[i] ^= (uint8_t)(namespace >> 8 * i);
    *reported = true;
    return 0;
}

/* Take the offset from the file if it belongs to this boot; *taken reports whether it does. */
static int take_offset(struct mcds__lmdb_file *file, MDB_txn *txn, bool *taken)
{
    mcds_bytes bytes;
    struct mcds__lmdb_clock_record record;
    int code = mcds__lmdb_entry_get(txn, file->root, "clock", &bytes);
    *taken = code == 0 && mcds__lmdb_clock_read(bytes, &record) &&
             memcmp(record.boot, file->clock.boot, sizeof record.boot) == 0;
    if (*taken)
        file->clock.offset_ns = record.offset_ns;
    return code;
}

/* The latest time of the file's clock that any commit has recorded. */
static int read_latest(struct mcds__lmdb_file *file, MDB_txn *txn, int64_t *latest_ns)
{
    mcds_bytes bytes;
    struct mcds__lmdb_cas cas;
    *latest_ns = 0;
    int code = mcds__lmdb_entry_get(txn, file->root, "cas", &bytes);
    if (code == 0 && mcds__lmdb_cas_read(bytes, &cas) &&
        cas.latest_ms < (uint64_t)(INT64_MAX / NS_PER_MS))
        *latest_ns = (int64_t)cas.latest_ms * NS_PER_MS;
    return code;
}

int mcds__lmdb_clock_begin(struct mcds__lmdb_file *file, const mcds_env *env, MDB_txn *txn)
{
    struct mcds__lmdb_clock *clock = &file->clock;
    bool taken = false;
    int64_t latest_ns;
    int64_t wall_ns = mcds__wall_ns(env);
    bool shared = false;
    int code = is_system(env) ? read_boot(clock->boot, &shared) : 0;
    if (code != 0)
        return code;
    clock->monotonic_ns = is_system(env) && !shared ? NULL : env->monotonic_ns;
    clock->self = is_system(env) ? NULL : env->self;
    code = shared ? take_offset(file, txn, &taken) : 0;
    clock->fixed = taken || !shared;
    if (code != 0 || taken)
        return code;
    code = read_latest(file, txn, &latest_ns);
    clock->offset_ns = (wall_ns > latest_ns ? wall_ns : latest_ns) - mcds__monotonic_ns(env);
    return code;
}

int mcds__lmdb_clock_agree(struct mcds__lmdb_work *work)
{
    struct mcds__lmdb_file *file = work->file;
    assert(!file->clock.fixed && work->requests == 0);
    struct mcds__lmdb_clock_record record = {.offset_ns = file->clock.offset_ns};
    uint8_t bytes[MCDS__LMDB_CLOCK_BYTES];
    int code = take_offset(file, work->txn, &file->clock.fixed);
    if (code != 0 || file->clock.fixed)
        return code;
    memcpy(record.boot, file->clock.boot, sizeof record.boot);
    mcds__lmdb_clock_write(&record, bytes);
    return mcds__lmdb_entry_put(work->txn, file->root, "clock", bytes, sizeof bytes);
}

uint64_t mcds__lmdb_ms_at(const struct mcds__lmdb_file *file, const mcds_env *env,
                          int64_t monotonic_ns)
{
    const struct mcds__lmdb_clock *clock = &file->clock;
    bool its_own = clock->monotonic_ns == env->monotonic_ns &&
                   (clock->self == env->self || is_system(env));
    int64_t now_ns = its_own ? monotonic_ns +
                                   atomic_load_explicit(&clock->offset_ns, memory_order_relaxed)
                             : mcds__wall_ns(env);
    return now_ns > 0 ? (uint64_t)(now_ns / NS_PER_MS) : 0;
}

uint64_t mcds__lmdb_now_ms(const struct mcds__lmdb_file *file, const mcds_env *env)
{
    return mcds__lmdb_ms_at(file, env, mcds__monotonic_ns(env));
}
