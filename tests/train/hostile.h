/* Model files with one word changed. */
#ifndef TESTS_TRAIN_HOSTILE_H
#define TESTS_TRAIN_HOSTILE_H

#include "base/alloc.h"
#include "base/file.h"
#include "check.h"
#include <llapdiff/model.h>
#include <stdio.h>
#include <string.h>

/* Saves the model under path with the first `from` replaced by `to`, of the same length, and checks
 * that it is refused. */
static inline void check_refused(const llap_model *model, const char *path, const char *from,
                                 const char *to)
{
    char  *bytes;
    size_t n, at = 0;
    assert_int_equal(strlen(from), strlen(to));
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(ll_file_read(path, SIZE_MAX, &bytes, &n));
    while (at + strlen(from) < n && memcmp(bytes + at, from, strlen(from)) != 0) at++;
    assert_true(at + strlen(from) < n);
    memcpy(bytes + at, to, strlen(to));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    llap_model *m;
    assert_int_equal(llap_model_load(path, &m), LLAP_EFORMAT);
    assert_null(m);
    ll_free(bytes);
}

#endif
