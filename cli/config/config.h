/* Configuration: a file that selects the store, the namespace and the timeout, by profile.
 *
 *   # for every profile
 *   timeout = 2s
 *   [web]
 *   store = memcached://cache1,cache2
 *
 * The file is that of $MCDS_CONFIG, otherwise mcds/config under $XDG_CONFIG_HOME or $HOME/.config. */
#ifndef MCDS_CLI_CONFIG_CONFIG_H
#define MCDS_CLI_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_TEXT_MAX 65536
#define CONFIG_PATH_CAPACITY 1024
#define PROFILES_MAX 64

enum setting_id { SETTING_STORE, SETTING_NAMESPACE, SETTING_TIMEOUT, SETTING_COUNT };

struct setting {
    unsigned line;    /* 0: the file does not have it */
    const char *text; /* lives as long as the configuration */
};

struct config {
    char path[CONFIG_PATH_CAPACITY]; /* "": there is no place for a file */
    bool is_there;
    bool is_named;  /* by $MCDS_CONFIG */
    bool is_shared; /* the group of the file may write it */
    struct setting settings[SETTING_COUNT];
    uint64_t timeout_ms; /* of SETTING_TIMEOUT */
    size_t length;
    char *text; /* of `length` bytes, then '\0'; NULL: there is no file */
};

/* Finds and reads the file, which may be missing unless $MCDS_CONFIG names it. Takes the settings of
 * the top of the file and of `profile` (NULL: only the top). Returns 0 or, with the sentence, an exit
 * code. */
int config_read(struct config *config, const char *profile, char *sentence, size_t capacity);

/* For config_read: reads the text, without its settings. */
int config_load(struct config *config, char *sentence, size_t capacity);

/* Frees the text, into which the settings point. */
void config_free(struct config *config);

#endif
