/* Where things stand in JSON text, for messages. The text is closed by a NUL and has been parsed
 * without complaint; what is not found is taken to stand where the last thing on the way does. */
#ifndef LL_BASE_JSON_JSON_PLACE_H
#define LL_BASE_JSON_JSON_PLACE_H

#include <stddef.h>

/* As jansson counts: lines from 1, columns in characters from 1. */
typedef struct json_place {
    size_t line, column;
} json_place;

json_place json_place_of(const char *text, size_t at); /* of a byte */

/* Of the value at path ("a.b[2]"), or, with a key, of that key in the object there. */
json_place json_place_find(const char *text, const char *path, const char *key);

#endif
