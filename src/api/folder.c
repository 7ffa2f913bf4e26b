#include "folder.h"

#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool ll_folder_is(const char *path)
{
    struct stat  s;
    const size_t n = strlen(path);
    return (n > 0 && path[n - 1] == '/') || (stat(path, &s) == 0 && S_ISDIR(s.st_mode));
}

llap_status ll_folder_make(const char *path, bool *made)
{
    struct stat s;
    *made = mkdir(path, 0777) == 0;
    if (*made || (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode))) return LLAP_OK;
    return ll_fail_errno(errno, "%s", path);
}

void ll_folder_file(const char *folder, const char *entity, int64_t number, char *out, size_t room)
{
    enum { LONGEST = 120 };
    const size_t slash = strlen(folder) - (folder[strlen(folder) - 1] == '/');
    size_t       n = strlen(entity);
    bool         same = n > 0 && n <= LONGEST && entity[0] != '.' && entity[0] != '-';
    char         name[LONGEST + 1];
    if (n > LONGEST) n = LONGEST;
    for (size_t i = 0; i < n; i++) {
        const char c = entity[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
        name[i] = !plain || (i == 0 && (c == '.' || c == '-')) ? '_' : c;
        same = same && plain;
    }
    name[n] = '\0';
    if (same) snprintf(out, room, "%.*s/%s.svg", (int)slash, folder, name);
    else
        snprintf(out, room, "%.*s/%s+%lld.svg", (int)slash, folder, n == 0 ? "series" : name,
                 (long long)number);
}
