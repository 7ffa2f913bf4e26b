/* A document inside: what json.c and json_get.c share. jansson's types stay in those two. */
#ifndef LL_BASE_JSON_JSON_DOC_H
#define LL_BASE_JSON_JSON_DOC_H

#include "base/json/json.h"

#include <jansson.h>

struct ll_json {
    json_t     *root;
    char       *name;  /* for messages */
    char       *text;  /* of a file, to say where things stand in it; else NULL */
    llap_status wrong; /* what is not as it should be is of this code */
    struct ll_json_part {
        char    *key;
        ll_json *from;
    } part[LL_JSON_PARTS]; /* whose value under that key the document has; NULL ends */
};

/* The value at path, NULL when absent. LLAP_EFORMAT when something on the way is no object or
 * array, as the path has it. */
llap_status json_find(const ll_json *j, const char *path, json_t **out);

/* "config.json:3:14: 'train.batch': expected WHAT, found "ten"", and perhaps what was meant. */
llap_status json_fail_expected(const ll_json *j, const char *path, const char *what,
                               const json_t *found, const char *meant);

#endif
