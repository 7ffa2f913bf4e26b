/* Model files with one thing changed, and what loading says about them; answers as texts. */
#ifndef LLAP_TESTS_TRAIN_DAMAGED_H
#define LLAP_TESTS_TRAIN_DAMAGED_H

#include "folder.h"
#include "sensors.h"

#include "base/safetensors.h"

static inline char *forecast_text(const llap_model *m, const llap_panel *p)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    char              *text;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    assert_int_equal(a->n_rows, (size_t)(24 * p->n_entities));
    CHECK_OK(llap_answer_json(a, &text));
    llap_answer_destroy(a);
    return text;
}

/* Copies the model's file with one thing changed. */
typedef struct change {
    const char *tensor, *rename; /* a tensor gets another name */
    const char *shrink;          /* or loses its last element */
    const char *nan;             /* or its first element becomes NaN */
    const char *drop;            /* or this metadata is left out */
    const char *key, *from, *to; /* or in this metadata from becomes to */
    const char *message;         /* what loading must say */
} change;

static inline void expect_refusal(const change *c)
{
    ll_tensors        *t;
    ll_tensors_writer *w;
    double             copy[64];
    char              *text = NULL;
    CHECK_OK(ll_tensors_open(in_folder("a"), &t));
    CHECK_OK(ll_tensors_writer_create(&w));
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        ll_tensor_info x = ll_tensors_at(t, i);
        if (c->tensor != NULL && strcmp(c->tensor, x.name) == 0) x.name = c->rename;
        if (c->shrink != NULL && strcmp(c->shrink, x.name) == 0) x.shape[0]--;
        if (c->nan != NULL && strcmp(c->nan, x.name) == 0) {
            memcpy(copy, x.data, x.n_bytes);
            copy[0] = NAN;
            x.data = copy;
        }
        CHECK_OK(ll_tensors_writer_add(w, x.name, x.dtype, x.rank, x.shape, x.data));
    }
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        const char       *value = m.value;
        if (c->drop != NULL && strcmp(c->drop, m.key) == 0) continue;
        if (c->key != NULL && strcmp(c->key, m.key) == 0) {
            const char *at = strstr(value, c->from);
            assert_non_null(at);
            const size_t n = strlen(value) + strlen(c->to) + 1;
            text = ll_new(n, 1);
            snprintf(text, n, "%.*s%s%s", (int)(at - value), value, c->to, at + strlen(c->from));
            value = text;
        }
        CHECK_OK(ll_tensors_writer_metadata(w, m.key, value));
    }
    CHECK_OK(ll_tensors_writer_save(w, in_folder("changed")));
    llap_model       *m = NULL;
    const llap_status st = llap_model_load(in_folder("changed"), &m);
    assert_null(m);
    if (st == LLAP_OK || strstr(llap_error_detail(), c->message) == NULL)
        fail_msg("expected '%s', found '%s'", c->message, llap_error_detail());
    assert_non_null(strstr(llap_error_detail(), "changed"));
    ll_tensors_writer_destroy(w);
    ll_tensors_close(t);
    ll_free(text);
}

#endif
