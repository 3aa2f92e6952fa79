/* Who counts: this process, or worker processes fed through pipes.
 *
 * The parent never blocks on one worker: blocks wait in an outbox for each, and poll() tells
 * whose pipe has room. A worker writes nothing before its input has ended, so neither side can
 * wait for the other in a circle. */
#include "crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader.h"

/* A block without its bytes, which follow. */
struct head {
    uint64_t first_line;
    uint32_t length;
    uint32_t lines;
    uint32_t file;
    bool live;
};

static bool fail(struct crew *crew, const char *what, const char *why)
{
    (void)snprintf(crew->failure, sizeof crew->failure, "%s: %.400s", what, why);
    return false;
}

/* Exactly `length` bytes from a blocking pipe. */
static bool read_all(int fd, void *out, size_t length)
{
    char *at = out;
    while (length > 0) {
        ssize_t got = read(fd, at, length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        length -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t put = write(fd, at, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

/* The worker's side. */
static void work(struct tally *tally, int jobs)
{
    char *capacity = malloc(READER_CAPACITY);
    struct head head;
    while (capacity != NULL && tally->summary.result == MCDS_OK &&
           read_all(jobs, &head, sizeof head)) {
        if (head.length > READER_CAPACITY || !read_all(jobs, capacity, head.length))
            break;
        struct block block = {.bytes = capacity,
                              .length = head.length,
                              .first_line = head.first_line,
                              .lines = head.lines,
                              .file = head.file,
                              .live = head.live};
        (void)tally_block(tally, &block);
    }
    if (capacity == NULL)
        tally->summary.result = MCDS_NO_MEMORY;
    free(capacity);
}

/* Summary, number of pages, and each page as length and bytes. */
static bool tell(const struct tally *tally, int findings)
{
    bool fine = write_all(findings, &tally->summary, sizeof tally->summary) &&
                write_all(findings, &tally->pages.count, sizeof tally->pages.count);
    FILE *out = fine ? fdopen(findings, "wb") : NULL;
    if (out == NULL)
        return false;
    for (uint32_t i = 0; i < tally->pages.count && fine; i++) {
        const struct name *page = &tally->pages.at[i];
        fine = fwrite(&page->length, sizeof page->length, 1, out) == 1 &&
               fwrite(page->bytes, 1, page->length, out) == page->length;
    }
    return fclose(out) == 0 && fine;
}

static int live_as_worker(const struct figures *figures, int jobs, int findings)
{
    struct tally tally = {0};
    mcds_store *store = NULL;
    int result = figures_open_store(figures, &store);
    if (result == MCDS_OK) {
        result = tally_open(&tally, figures, store);
    } else {
        tally.summary.result = result;
        (void)snprintf(tally.summary.failure, sizeof tally.summary.failure, "%s",
                       mcds_errmsg());
    }
    if (result == MCDS_OK)
        work(&tally, jobs);
    (void)close(jobs);
    bool told = tell(&tally, findings);
    tally_close(&tally);
    mcds_close(store);
    return told ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Pipes of the workers hired before are none of the new one's business: were they open there,
 * the older would never see the end of its input. */
static void forget_others(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        (void)close(crew->workers[i].jobs);
        (void)close(crew->workers[i].findings);
    }
}

static bool hire_one(struct crew *crew, const struct figures *figures)
{
    struct worker *worker = &crew->workers[crew->worker_count];
    int jobs[2];
    int findings[2];
    worker->outbox = malloc(sizeof(struct head) + READER_CAPACITY);
    if (worker->outbox == NULL)
        return fail(crew, "workers", "out of memory");
    if (pipe2(jobs, O_CLOEXEC) != 0 || pipe2(findings, O_CLOEXEC) != 0)
        return fail(crew, "workers: pipe", strerror(errno));
    worker->pid = fork();
    if (worker->pid < 0)
        return fail(crew, "workers: fork", strerror(errno));
    if (worker->pid == 0) {
        /* ^C goes to the whole group; the parent alone decides when the input is over. */
        (void)signal(SIGINT, SIG_IGN);
        (void)signal(SIGPIPE, SIG_IGN);
        forget_others(crew);
        (void)close(jobs[1]);
        (void)close(findings[0]);
        _exit(live_as_worker(figures, jobs[0], findings[1]));
    }
    (void)close(jobs[0]);
    (void)close(findings[1]);
    worker->jobs = jobs[1];
    worker->findings = findings[0];
    crew->worker_count++;
    int flags = fcntl(worker->jobs, F_GETFL);
    if (flags < 0 || fcntl(worker->jobs, F_SETFL, flags | O_NONBLOCK) != 0)
        return fail(crew, "workers: pipe", strerror(errno));
    return true;
}

bool crew_hire(struct crew *crew, const struct figures *figures, uint32_t workers)
{
    memset(crew, 0, sizeof *crew);
    names_init(&crew->tally.pages);
    (void)signal(SIGPIPE, SIG_IGN);
    if (workers == 1) {
        crew->capacity = malloc(READER_CAPACITY);
        return crew->capacity != NULL ? true : fail(crew, "input", "out of memory");
    }
    for (uint32_t i = 0; i < workers; i++)
        if (!hire_one(crew, figures))
            return false;
    return true;
}

bool crew_work_in(struct crew *crew, const struct figures *figures, mcds_store *store)
{
    crew->tally_open = true;
    if (tally_open(&crew->tally, figures, store) != MCDS_OK)
        return fail(crew, "store", crew->tally.summary.failure);
    return true;
}

/* Write what the pipe takes. */
static bool push(struct crew *crew, struct worker *worker)
{
    ssize_t put = write(worker->jobs, worker->outbox + worker->sent,
                        worker->filled - worker->sent);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (put < 0) /* its findings say why it went */
        return fail(crew, "a worker has stopped", strerror(errno));
    worker->sent += (size_t)put;
    if (worker->sent == worker->filled)
        worker->sent = worker->filled = 0;
    return true;
}

/* Wait until some full outbox can be emptied a little, and do so. */
static bool push_some(struct crew *crew)
{
    struct pollfd wanted[CREW_WORKERS_MAX];
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        bool full = crew->workers[i].filled > 0;
        wanted[i] = (struct pollfd){.fd = full ? crew->workers[i].jobs : -1, .events = POLLOUT};
    }
    if (poll(wanted, crew->worker_count, -1) < 0 && errno != EINTR)
        return fail(crew, "workers: poll", strerror(errno));
    for (uint32_t i = 0; i < crew->worker_count; i++)
        if (wanted[i].fd >= 0 && wanted[i].revents != 0 && !push(crew, &crew->workers[i]))
            return false;
    return true;
}

char *crew_room(struct crew *crew)
{
    if (crew->worker_count == 0)
        return crew->capacity;
    for (;;) {
        for (uint32_t i = 0; i < crew->worker_count; i++)
            if (crew->workers[i].filled == 0)
                return crew->workers[i].outbox + sizeof(struct head);
        if (!push_some(crew))
            return NULL;
    }
}

bool crew_give(struct crew *crew, const char *capacity, const struct block *block)
{
    if (crew->worker_count == 0)
        return tally_block(&crew->tally, block) == MCDS_OK
                   ? true
                   : fail(crew, "store", crew->tally.summary.failure);
    struct head head = {.first_line = block->first_line,
                        .length = (uint32_t)block->length,
                        .lines = block->lines,
                        .file = block->file,
                        .live = block->live};
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        struct worker *worker = &crew->workers[i];
        if (worker->outbox + sizeof head != capacity)
            continue;
        memcpy(worker->outbox, &head, sizeof head);
        worker->filled = sizeof head + block->length;
        return push(crew, worker);
    }
    return fail(crew, "workers", "a block that nobody made room for");
}

bool crew_flush(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->worker_count; i++)
        while (crew->workers[i].filled > 0)
            if (!push_some(crew))
                return false;
    return true;
}

static bool gather_pages(struct crew *crew, FILE *in)
{
    uint32_t count = 0;
    bool fine = fread(&count, sizeof count, 1, in) == 1;
    char *bytes = malloc(PARSE_LINE_MAX);
    for (uint32_t i = 0; i < count && fine && bytes != NULL; i++) {
        uint32_t length;
        fine = fread(&length, sizeof length, 1, in) == 1 && length <= PARSE_LINE_MAX &&
               fread(bytes, 1, length, in) == length &&
               names_find(&crew->tally.pages, (struct text){bytes, length}) != NAMES_NONE;
    }
    fine = fine && bytes != NULL;
    free(bytes);
    return fine;
}

/* What one worker found, and its end. */
static bool gather_one(struct crew *crew, struct worker *worker)
{
    struct summary summary;
    FILE *in = fdopen(worker->findings, "rb");
    bool fine = in != NULL && fread(&summary, sizeof summary, 1, in) == 1;
    if (fine)
        summary_merge(&crew->tally.summary, &summary);
    fine = fine && gather_pages(crew, in);
    if (in != NULL)
        (void)fclose(in);
    else
        (void)close(worker->findings);
    worker->findings = -1;
    int status = 0;
    (void)waitpid(worker->pid, &status, 0);
    worker->pid = 0;
    if (!fine || !WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS)
        return fail(crew, "workers", "one has died; its part is counted only in part");
    return true;
}

bool crew_gather(struct crew *crew)
{
    bool fine = crew_flush(crew);
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        (void)close(crew->workers[i].jobs);
        crew->workers[i].jobs = -1;
    }
    for (uint32_t i = 0; i < crew->worker_count; i++)
        if (!gather_one(crew, &crew->workers[i]))
            fine = false;
    if (crew->tally.summary.result != MCDS_OK)
        return fail(crew, "store", crew->tally.summary.failure);
    return fine;
}

void crew_close_pages(struct crew *crew)
{
    if (crew->tally_open)
        tally_close_pages(&crew->tally);
}

void crew_dismiss(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->worker_count; i++) {
        struct worker *worker = &crew->workers[i];
        if (worker->pid > 0) {
            (void)close(worker->jobs);
            (void)close(worker->findings);
            (void)waitpid(worker->pid, NULL, 0);
        }
        free(worker->outbox);
    }
    if (crew->tally_open)
        tally_close(&crew->tally);
    else
        names_free(&crew->tally.pages);
    free(crew->capacity);
}
