/* A folder of the test program's own. The program includes this once and runs its group with
 * make_folder and remove_folder, or calls them from what it does before and after. */
#ifndef LLAP_TESTS_FOLDER_H
#define LLAP_TESTS_FOLDER_H

#include "check.h"

#include <dirent.h>
#include <unistd.h>

static char folder[] = "/tmp/llap-test-XXXXXX";

/* The same name, the same string, for as long as the thread runs. */
static inline const char *in_folder(const char *name)
{
    static _Thread_local char path[64][128];
    char                      wanted[128];
    int                       i = 0;
    snprintf(wanted, sizeof wanted, "%s/%s", folder, name);
    while (path[i][0] != '\0' && strcmp(path[i], wanted) != 0) assert_true(++i < 64);
    return strcpy(path[i], wanted);
}

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Those that are not hidden. */
static inline int files_in_folder(void)
{
    int  n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static inline void check_same_file(const char *a, const char *b)
{
    char command[300];
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    assert_int_equal(system(command), 0);
}

#endif
