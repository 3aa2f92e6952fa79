/* mcds lock NAME --info, --break and --drop. */
#include "nouns/lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/clock.h"
#include "table/nouns.h"

#define LEASE_MS UINT64_C(15000)
/* For a look at the capabilities of the server. */
#define LOOK_MS 500

void write_default_label(char out[LABEL_CAPACITY], long pid)
{
    char host[128] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    (void)snprintf(out, LABEL_CAPACITY, "%s:%ld", host[0] != '\0' ? host : "?", pid);
}

void set_number(const char *variable, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    (void)setenv(variable, text, 1);
}

void lock_set_environment(const char *name, uint64_t fence, int64_t left_ms)
{
    (void)setenv("MCDS_LOCK_NAME", name, 1);
    set_number("MCDS_LOCK_FENCE", fence);
    set_number("MCDS_LOCK_DEADLINE", (uint64_t)(clock_wall_ms() + left_ms));
}

void lock_write_mode(char out[MODE_CAPACITY], const mcds_lock_holder *holder)
{
    if (holder->shared > 0)
        (void)snprintf(out, MODE_CAPACITY, "shared:%" PRIu32, holder->shared);
    else
        (void)snprintf(out, MODE_CAPACITY, "exclusive");
}

void lock_print_mode(struct output *output, const mcds_lock_holder *holder)
{
    char mode[MODE_CAPACITY];
    lock_write_mode(mode, holder);
    if (output->json)
        mode[strcspn(mode, ":")] = '\0';
    output_text(output, "mode", mode, SHOWN);
    if (output->json)
        output_unsigned(output, "shared", holder->shared, SHOWN);
}

int lock_open(mcds_store *store, const struct command *command, void **handle_out)
{
    char label[LABEL_CAPACITY];
    mcds_lock_options options = MCDS_LOCK_OPTIONS_INIT;
    /* A lease that outlives this process belongs to the script. */
    write_default_label(label, command->verb->run == lock_acquire ? getppid() : getpid());
    options.lease_ms = (uint32_t)number_of(command, OPTION_LEASE, LEASE_MS);
    options.label = is_given(command, OPTION_LABEL) ? command->options[OPTION_LABEL].text
                                                    : label;
    mcds_lock *lock = NULL;
    int result = mcds_lock_open(store, command->arguments[0], &options, &lock);
    *handle_out = lock;
    return result;
}

void look_briefly(mcds_store *store, const struct command *command, void *handle,
                  int (*look)(void *handle, const struct command *command, mcds_store *store))
{
    uint64_t wait_ms = number_of(command, OPTION_WAIT, 2 * LOOK_MS);
    mcds_limit_timeout(store, wait_ms / 2 < LOOK_MS ? (uint32_t)(wait_ms / 2) + 1 : LOOK_MS);
    int result = look(handle, command, store);
    (void)result; /* the call that follows will say it */
    mcds_limit_timeout(store, 0);
}

static int look_at_holder(void *handle, const struct command *command, mcds_store *store)
{
    mcds_lock_holder holder = MCDS_LOCK_HOLDER_INIT;
    (void)command;
    (void)store;
    return mcds_lock_get_holder(handle, &holder);
}

int lock_open_known(mcds_store *store, const struct command *command, void **handle_out)
{
    int result = lock_open(store, command, handle_out);
    if (result != MCDS_OK)
        return result;
    look_briefly(store, command, *handle_out, look_at_holder);
    lock_close(*handle_out);
    return lock_open(store, command, handle_out);
}

void lock_close(void *handle)
{
    mcds_lock_close(handle);
}

int lock_look(void *handle, const struct command *command, struct answer *answer,
              mcds_pipeline *pipeline, uint64_t tag)
{
    if (is_given(command, OPTION_BREAK))
        return mcds_lock_break_start(handle, pipeline, tag);
    if (is_given(command, OPTION_DROP))
        return mcds_lock_drop_start(handle, pipeline, tag);
    answer->holder = (mcds_lock_holder)MCDS_LOCK_HOLDER_INIT;
    return mcds_lock_get_holder_start(handle, &answer->holder, pipeline, tag);
}

void lock_print(struct output *output, const struct command *command,
                const struct answer *answer, int result)
{
    (void)result;
    if (is_given(command, OPTION_BREAK) || is_given(command, OPTION_DROP)) {
        print_which(output, command);
        output_word(output, "done", is_given(command, OPTION_BREAK) ? "broken" : "dropped");
        return;
    }
    const mcds_lock_holder *holder = &answer->holder;
    const char *label = holder->label;
    if (label[0] == '\0' && !output->json)
        label = "-";
    output_name(output, "holder", label, SHOWN);
    if (output->json || holder->remaining_ms >= 0) {
        if (output->json)
            output_number(output, "remaining_ms", holder->remaining_ms, SHOWN);
        else
            output_real(output, "", (double)holder->remaining_ms / 1000, SHOWN);
    } else {
        output_text(output, "", "?", SHOWN);
    }
    output_unsigned(output, "fence", holder->fence, SHOWN);
    if (output->json)
        lock_print_mode(output, holder);
    else if (holder->shared > 0)
        output_unsigned(output, "", holder->shared, SHOWN);
}
