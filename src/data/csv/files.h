/* The files that paths stand for: a folder is the files in it. */
#ifndef LL_DATA_CSV_FILES_H
#define LL_DATA_CSV_FILES_H

#include "base/arena.h"

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct ll_csv_file {
    const char *path;
    bool        in_folder; /* named by its folder only: may be left out when it does not fit */
} ll_csv_file;

typedef struct ll_csv_files {
    ll_csv_file *file;
    size_t       n;
    size_t       lead; /* the one to find the schema from: of a folder's files, the first of those
                          whose first line most of them share */
    ll_arena text;
} ll_csv_files;

/* Folders are not searched deeper; hidden files in them are passed over; their files are sorted by
 * name. LLAP_ENOTFOUND: a path is not there. LLAP_EINVAL: an empty folder, or no path at all. The
 * caller owns *f, also after a failure. */
llap_status ll_csv_files_init(ll_csv_files *f, const char *const *paths, size_t n_paths);
void        ll_csv_files_deinit(ll_csv_files *f);

/* The part of a path that names an entity: a/b/132539.txt.gz gives 132539. */
void ll_csv_stem(const char *path, const char **stem, size_t *n);

#endif
