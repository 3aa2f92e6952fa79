/* Synonyms: words that users of other programs type. */
#ifndef MCDS_CLI_PARSE_SYNONYMS_H
#define MCDS_CLI_PARSE_SYNONYMS_H

/* The equivalent here of `typed` elsewhere, as a verb of `noun` ("": in place of a noun);
 * NULL when it is not known. */
const char *meant_by(const char *noun, const char *typed);

#endif
