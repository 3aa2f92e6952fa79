/* Finds the configuration file and reads its text. Others may not write it, because it selects the
 * store. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "io/exit.h"
#include "run/default_store.h"

#define FILE_NAME "mcds/config"

/* Writes the path of the file, "" where there is no place for one. Returns whether it fits. */
static bool find_path(struct config *config)
{
    const char *named = trusted_environment("MCDS_CONFIG");
    const char *base = trusted_environment("XDG_CONFIG_HOME");
    const char *between = "/";
    int length = 0;
    if (base == NULL || base[0] != '/') {
        base = trusted_environment("HOME");
        between = "/.config/";
    }
    config->path[0] = '\0';
    config->is_named = named != NULL && named[0] != '\0';
    if (config->is_named)
        length = snprintf(config->path, sizeof config->path, "%s", named);
    else if (base != NULL && base[0] == '/')
        length = snprintf(config->path, sizeof config->path, "%s%s" FILE_NAME,
                          strspn(base, "/") == strlen(base) ? "" : base, between);
    return length >= 0 && (size_t)length < sizeof config->path;
}

static int refuse_file(const struct config *config, int reason, char *sentence, size_t capacity)
{
    (void)snprintf(sentence, capacity, "configuration: %s cannot be read: %s%s", config->path,
                   strerror(reason),
                   config->is_named ? "; correct $MCDS_CONFIG, or leave it out" : "");
    return is_shortage(reason) ? STATUS_INTERNAL : STATUS_IO;
}

/* Whether the file may be used. */
static int judge(struct config *config, int file, char *sentence, size_t capacity)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return refuse_file(config, errno, sentence, capacity);
    if (S_ISDIR(status.st_mode))
        return refuse_file(config, EISDIR, sentence, capacity);
    const char *why = NULL;
    if (!S_ISREG(status.st_mode))
        why = "it is not a regular file";
    else if (status.st_uid != geteuid() && status.st_uid != 0)
        why = "it belongs to another user, who would choose the store; copy it";
    else if ((status.st_mode & S_IWOTH) != 0)
        why = "all users can write it; chmod o-w it";
    else if (status.st_size > CONFIG_TEXT_MAX)
        why = "it is longer than 64 KB";
    config->is_shared = (status.st_mode & S_IWGRP) != 0;
    if (why == NULL)
        return STATUS_DONE;
    (void)snprintf(sentence, capacity, "configuration: %s: %s", config->path, why);
    return STATUS_IO;
}

static int read_all(struct config *config, int file, char *sentence, size_t capacity)
{
    int status = judge(config, file, sentence, capacity);
    if (status != STATUS_DONE)
        return status;
    config->text = malloc(CONFIG_TEXT_MAX + 1);
    if (config->text == NULL)
        return refuse_file(config, ENOMEM, sentence, capacity);
    for (;;) {
        ssize_t got = read(file, config->text + config->length,
                           CONFIG_TEXT_MAX - config->length);
        if (got < 0 && errno != EINTR)
            return refuse_file(config, errno, sentence, capacity);
        if (got == 0)
            break;
        config->length += got > 0 ? (size_t)got : 0;
        assert(config->length <= CONFIG_TEXT_MAX);
    }
    config->text[config->length] = '\0';
    return STATUS_DONE;
}

void config_free(struct config *config)
{
    free(config->text);
    config->text = NULL;
}

/* A home that this user may not search is that of another user (su, sudo): there is no file. */
static bool may_be_missing(const struct config *config, int reason)
{
    struct stat status;
    return !config->is_named && (reason == ENOENT || reason == ENOTDIR ||
                                 (reason == EACCES && stat(config->path, &status) != 0));
}

int config_load(struct config *config, char *sentence, size_t capacity)
{
    config->length = 0;
    config->text = NULL;
    config->is_there = false;
    if (!find_path(config)) {
        (void)snprintf(sentence, capacity,
                       "configuration: the path of the file is longer than %d bytes; set "
                       "$MCDS_CONFIG",
                       CONFIG_PATH_CAPACITY - 1);
        return STATUS_USAGE;
    }
    if (config->path[0] == '\0' || strcmp(config->path, "/dev/null") == 0)
        return STATUS_DONE;
    /* A pipe does not block the open. */
    int file = open(config->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return may_be_missing(config, errno) ? STATUS_DONE
                                             : refuse_file(config, errno, sentence, capacity);
    int status = read_all(config, file, sentence, capacity);
    (void)close(file);
    config->is_there = status == STATUS_DONE;
    return status;
}
