/* Open handles: a hash table of subjects with a least-recently-used list; the subject that was idle
 * longest is evicted. */
#include "batch/open_handles.h"

#include <stdlib.h>
#include <string.h>

#include "run/made_with.h"

#define BUCKETS 4096 /* a power of two */
#define SUBJECTS_MAX 4096
/* Handles of one name with different options. */
#define HANDLES_MAX 4

struct opened {
    void *handle;
    bool is_as_made; /* by takes_as_made */
    bool is_stale;   /* and something has changed since */
    struct value options[OPTION_COUNT];
};

struct subject {
    struct subject *chain;
    struct subject *older;
    struct subject *newer;
    struct opened opened[HANDLES_MAX];
    uint32_t opened_count;
    const struct noun *noun;
    uint32_t in_flight;
    const struct verb *verb; /* of the last operation */
    bool is_settled;         /* that verb has succeeded since another one was in flight */
    uint32_t bucket;
    int64_t paused_until_ns;
    char name[];
};

struct subjects {
    struct subject *buckets[BUCKETS];
    struct subject *oldest;
    struct subject *newest;
    uint32_t count;
};

struct subjects *subjects_new(void)
{
    return calloc(1, sizeof(struct subjects));
}

static void close_handles(struct subject *subject)
{
    for (uint32_t i = 0; i < subject->opened_count; i++)
        subject->noun->close(subject->opened[i].handle);
    subject->opened_count = 0;
}

static void leave_ring(struct subjects *subjects, struct subject *subject)
{
    *(subject->older != NULL ? &subject->older->newer : &subjects->oldest) = subject->newer;
    *(subject->newer != NULL ? &subject->newer->older : &subjects->newest) = subject->older;
}

static void join_ring(struct subjects *subjects, struct subject *subject)
{
    subject->older = subjects->newest;
    subject->newer = NULL;
    *(subject->older != NULL ? &subject->older->newer : &subjects->oldest) = subject;
    subjects->newest = subject;
}

static void forget(struct subjects *subjects, struct subject *subject)
{
    struct subject **at = &subjects->buckets[subject->bucket];
    while (*at != subject)
        at = &(*at)->chain;
    *at = subject->chain;
    leave_ring(subjects, subject);
    close_handles(subject);
    subjects->count--;
    free(subject);
}

void subjects_free(struct subjects *subjects)
{
    if (subjects == NULL)
        return;
    while (subjects->oldest != NULL)
        forget(subjects, subjects->oldest);
    free(subjects);
}

static uint32_t bucket_of(const struct noun *noun, const char *name)
{
    uint32_t hash = UINT32_C(2166136261) ^ (uint32_t)noun->word[0];
    for (const char *at = name; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT32_C(16777619);
    return (hash ^ hash >> 16) % BUCKETS;
}

/* Evicts the subject that has been idle longest. False when none is idle. */
static bool make_room(struct subjects *subjects)
{
    struct subject *subject = subjects->oldest;
    while (subject != NULL && subject->in_flight > 0)
        subject = subject->newer;
    if (subject != NULL)
        forget(subjects, subject);
    return subject != NULL;
}

static struct subject *add(struct subjects *subjects, const struct noun *noun, const char *name,
                           uint32_t bucket)
{
    if (subjects->count == SUBJECTS_MAX && !make_room(subjects))
        return NULL;
    size_t length = strlen(name) + 1;
    struct subject *subject = calloc(1, sizeof *subject + length);
    if (subject == NULL)
        return NULL;
    memcpy(subject->name, name, length);
    subject->noun = noun;
    subject->bucket = bucket;
    subject->chain = subjects->buckets[bucket];
    subjects->buckets[bucket] = subject;
    join_ring(subjects, subject);
    subjects->count++;
    return subject;
}

struct subject *subjects_find(struct subjects *subjects, const struct command *command)
{
    const char *name = command->arguments[0];
    uint32_t bucket = bucket_of(command->noun, name);
    struct subject *subject = subjects->buckets[bucket];
    while (subject != NULL &&
           (subject->noun != command->noun || strcmp(subject->name, name) != 0))
        subject = subject->chain;
    if (subject == NULL)
        return add(subjects, command->noun, name, bucket);
    leave_ring(subjects, subject);
    join_ring(subjects, subject);
    return subject;
}

static bool has_same_shape(const struct opened *opened, const struct command *command)
{
    if (opened->is_stale || opened->is_as_made != takes_as_made(command))
        return false;
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct value *a = &opened->options[id];
        const struct value *b = &command->options[id];
        if (is_among(command->noun->shape, id) &&
            (a->given != b->given || (a->given && a->number != b->number)))
            return false;
    }
    return true;
}

static struct opened *find_opened(struct subject *subject, const struct command *command)
{
    for (uint32_t i = 0; i < subject->opened_count; i++)
        if (has_same_shape(&subject->opened[i], command))
            return &subject->opened[i];
    return NULL;
}

bool subject_is_free_for(const struct subject *subject, const struct command *command)
{
    if (subject->in_flight == 0)
        return true;
    if (find_opened((struct subject *)subject, command) == NULL)
        return false;
    enum overlap overlap = command->verb->overlap;
    if (subject->verb != command->verb)
        return overlap == OVERLAP_APART && subject->verb->overlap == OVERLAP_APART &&
               command->bytes[1].length > 0;
    return overlap == OVERLAP_FREELY || overlap == OVERLAP_APART ||
           (overlap == OVERLAP_SETTLED && subject->is_settled);
}

bool subject_must_read(const struct subject *subject, const struct command *command)
{
    return takes_as_made(command) && find_opened((struct subject *)subject, command) == NULL;
}

int subject_open(struct subject *subject, mcds_store *store, const struct command *command,
                 void **handle_out)
{
    struct opened *opened = find_opened(subject, command);
    if (opened != NULL) {
        *handle_out = opened->handle;
        return MCDS_OK;
    }
    if (subject->opened_count == HANDLES_MAX)
        close_handles(subject); /* no operation is in flight: see subject_is_free_for */
    void *handle = NULL;
    int result = command->noun->open(store, command, &handle);
    if (result != MCDS_OK)
        return result;
    opened = &subject->opened[subject->opened_count++];
    opened->handle = handle;
    opened->is_as_made = takes_as_made(command);
    opened->is_stale = false;
    memcpy(opened->options, command->options, sizeof opened->options);
    *handle_out = handle;
    return MCDS_OK;
}

/* Whether a later command may have to open the structure with other options. */
static bool may_replace(const struct verb *verb)
{
    return verb->makes || (verb->erases && verb->overlap == OVERLAP_NEVER);
}

void subject_begin(struct subject *subject, const struct command *command)
{
    subject->is_settled = subject->is_settled && subject->verb == command->verb;
    if (may_replace(command->verb))
        for (uint32_t i = 0; i < subject->opened_count; i++)
            subject->opened[i].is_stale = subject->opened[i].is_as_made;
    subject->verb = command->verb;
    subject->in_flight++;
}

void subject_pause(struct subject *subject, int64_t until_ns)
{
    subject->paused_until_ns = until_ns;
}

int64_t subject_paused_until_ns(const struct subject *subject)
{
    return subject->paused_until_ns;
}

void subject_end(struct subject *subject, int result)
{
    subject->in_flight--;
    subject->is_settled = result == MCDS_OK;
}
