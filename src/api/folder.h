/* A folder with a picture for each entity. */
#ifndef LL_API_FOLDER_H
#define LL_API_FOLDER_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the path end in /, or is it a folder that is there? */
bool ll_folder_is(const char *path);
/* *made: it was not there. */
llap_status ll_folder_make(const char *path, bool *made);

/* Room for a path in it. */
static inline size_t ll_folder_room(size_t length) { return length + 160; }
/* A name of its own for every entity: bytes that file systems, shells or pages take amiss are _,
 * and then the entity's number follows. */
void ll_folder_file(const char *folder, const char *entity, int64_t number, char *out, size_t room);

#endif
