/* Text of any bytes as a JSON string. */
#ifndef WEBLOG_JSON_H
#define WEBLOG_JSON_H

#include <stdio.h>

#include "parse.h"

/* With its quotes. Lossless: see report_json(). */
void json_string(FILE *out, struct text text);

#endif
