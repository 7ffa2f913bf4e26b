/* What models answer, as text, and model files with one word changed. */
#ifndef TESTS_TRAIN_SAVED_H
#define TESTS_TRAIN_SAVED_H

#include "base/alloc.h"
#include "base/file.h"
#include "check.h"
#include <llapdiff/model.h>
#include <stdio.h>
#include <string.h>

/* Takes the answer. Caller frees the text, or same_text does. */
static inline char *answer_text(llap_answer *a)
{
    char *text;
    CHECK_OK(llap_answer_json(a, &text));
    llap_answer_destroy(a);
    return text;
}

/* Takes both. */
static inline void same_text(char *a, char *b)
{
    assert_string_equal(a, b);
    llap_text_free(a);
    llap_text_free(b);
}

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
