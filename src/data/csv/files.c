#include "data/csv/files.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/text/names.h"
#include "data/text/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

void ll_csv_stem(const char *path, const char **stem, size_t *n)
{
    static const char *const endings[] = { ".gz", ".csv", ".tsv", ".txt", ".dat", ".psv", ".data" };
    const char              *slash = strrchr(path, '/');
    *stem = slash == NULL ? path : slash + 1;
    *n = strlen(*stem);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t len = strlen(endings[i]);
        if (*n <= len || strncasecmp(*stem + *n - len, endings[i], len) != 0) continue;
        *n -= len;
        if (i > 0) break; /* one ending behind .gz */
    }
}

static llap_status add_file(ll_csv_files *f, const char *path, bool in_folder, size_t *capacity)
{
    if (f->n == *capacity) {
        void *larger = ll_grow(f->file, *capacity * 2 + 16, sizeof *f->file);
        if (larger == NULL) return LLAP_ENOMEM;
        f->file = larger;
        *capacity = *capacity * 2 + 16;
    }
    f->file[f->n++] = (ll_csv_file){ path, in_folder };
    return LLAP_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const ll_csv_file *)a)->path, ((const ll_csv_file *)b)->path);
}

static llap_status add_folder(ll_csv_files *f, const char *path, size_t *capacity)
{
    DIR *folder = opendir(path);
    if (folder == NULL) return ll_fail_errno(errno, "%s", path);
    const size_t first = f->n, len = strlen(path);
    llap_status  st = LLAP_OK;
    for (struct dirent *e; st == LLAP_OK && (e = readdir(folder)) != NULL;) {
        struct stat info;
        if (e->d_name[0] == '.') continue;
        const char *file = ll_arena_printf(&f->text, "%s%s%s", path,
                                           len > 0 && path[len - 1] == '/' ? "" : "/", e->d_name);
        if (file == NULL) st = LLAP_ENOMEM;
        else if (stat(file, &info) == 0 && S_ISREG(info.st_mode))
            st = add_file(f, file, true, capacity);
    }
    closedir(folder);
    if (st == LLAP_OK && f->n == first)
        st = ll_fail(LLAP_EINVAL, "%s: a folder without files", path);
    if (st == LLAP_OK) qsort(f->file + first, f->n - first, sizeof *f->file, by_path);
    return st;
}

/* The first line of a file, at most max bytes; nothing of one that cannot be read. */
static llap_status first_line(const char *path, char *out, size_t max, size_t *n)
{
    ll_source *s;
    *n = 0;
    llap_status st = ll_source_open(path, &s);
    if (st == LLAP_OK) st = ll_source_read(s, out, max, n);
    ll_source_close(s);
    if (st != LLAP_OK || *n == 0 || memchr(out, '\0', *n) != NULL) {
        *n = 0;
        return st == LLAP_ENOMEM ? st : LLAP_OK;
    }
    const char *end = memchr(out, '\n', *n);
    if (end != NULL) *n = (size_t)(end - out);
    return LLAP_OK;
}

/* Names the first lines; the most frequent one shows the kind of file that the folder is about. */
static llap_status find_lead(ll_csv_files *f)
{
    enum { MOST = 4096, LINE = 4096 };
    ll_names    lines = { 0 };
    size_t     *count = ll_new(f->n, sizeof *count), *where = ll_new(f->n, sizeof *where);
    char       *line = ll_new(LINE, 1);
    llap_status st = count == NULL || where == NULL || line == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < f->n && i < MOST && st == LLAP_OK; i++) {
        uint32_t id;
        size_t   n;
        st = first_line(f->file[i].path, line, LINE, &n);
        if (st != LLAP_OK || n == 0) continue;
        st = ll_names_add(&lines, line, n, &id);
        if (st == LLAP_OK && count[id]++ == 0) where[id] = i;
    }
    uint32_t best = 0;
    for (uint32_t id = 1; st == LLAP_OK && id < lines.n; id++)
        if (count[id] > count[best]) best = id;
    if (st == LLAP_OK && lines.n > 0) f->lead = where[best];
    ll_names_deinit(&lines);
    ll_free(count);
    ll_free(where);
    ll_free(line);
    return st;
}

llap_status ll_csv_files_init(ll_csv_files *f, const char *const *paths, size_t n_paths)
{
    *f = (ll_csv_files){ 0 };
    size_t      capacity = 0;
    bool        any_folder = false;
    llap_status st = LLAP_OK;
    if (n_paths == 0) return ll_fail(LLAP_EINVAL, "no file to read");
    for (size_t i = 0; i < n_paths && st == LLAP_OK; i++) {
        struct stat info;
        const bool  standard = strcmp(paths[i], "-") == 0;
        if (!standard && stat(paths[i], &info) != 0) st = ll_fail_errno(errno, "%s", paths[i]);
        else if (!standard && S_ISDIR(info.st_mode)) {
            any_folder = true;
            st = add_folder(f, paths[i], &capacity);
        } else st = add_file(f, paths[i], false, &capacity);
    }
    if (st == LLAP_OK && any_folder) st = find_lead(f);
    return st;
}

void ll_csv_files_deinit(ll_csv_files *f)
{
    ll_free(f->file);
    ll_arena_deinit(&f->text);
    *f = (ll_csv_files){ 0 };
}
