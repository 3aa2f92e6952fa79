/* URI: the options in the text of a store URI, after its `?`. The library checks them. */
#ifndef MCDS_CLI_RUN_URI_H
#define MCDS_CLI_RUN_URI_H

/* The value of the option, up to the next & or the end; NULL: the URI does not have it. `word` ends
 * with =, as "ns=". */
const char *uri_value(const char *uri, const char *word);

/* Removes the option from the URI. */
void uri_cut(char *uri, const char *word);

#endif
