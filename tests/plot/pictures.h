/* A folder for the pictures of a test program, and a look at them. The program includes this once
 * and runs its group with make_folder and drop_folder. */
#ifndef LLAP_TESTS_PLOT_PICTURES_H
#define LLAP_TESTS_PLOT_PICTURES_H

#include "folder.h"

static inline int drop_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails where a test left a file */
}

/* The whole file, which is removed; caller frees. */
static inline char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) fail_msg("%s is not there", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *text = test_malloc(*n + 1);
    assert_int_equal(fread(text, 1, *n, f), *n);
    text[*n] = '\0';
    fclose(f);
    unlink(path);
    return text;
}

static inline int occurrences(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
    return n;
}

#endif
