#include "score/against_models.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/pool.h"
#include "predict/view/frame.h"

#include <stdio.h>
#include <string.h>

#define ENDING ".safetensors"

bool ll_against_names_models(const char *list)
{
    const size_t ending = strlen(ENDING);
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        if (n <= ending || strncmp(at + n - ending, ENDING, ending) != 0) return false;
        at += n;
        if (*at == '\0') return true;
    }
}

/* Model number i of the file whose name has n bytes. */
static llap_status add(ll_against_models *a, const char *path, size_t n, const llap_model *m,
                       const llap_panel *panel, const ll_backend *backend, const llap_log *log)
{
    const int   i = a->n;
    char       *file = ll_strndup(path, n);
    const char *what = NULL;
    llap_status st = file == NULL ? LLAP_ENOMEM : llap_model_load(file, &a->model[i]);
    a->n++; /* whatever is there of it is destroyed */
    if (st == LLAP_OK) what = ll_pool_differs(&m->frame, &a->model[i]->frame, true);
    if (what != NULL)
        st = ll_fail(LLAP_EINVAL, "against: %s has %s", ll_text_show(file).text, what);
    if (st == LLAP_OK) st = ll_static_view_init(&a->view[i], a->model[i], panel, NULL, log);
    if (st == LLAP_OK) {
        const llap_model *asked = a->view[i].m;
        a->var[i] = ll_new((size_t)asked->frame.n_targets, sizeof *a->var[i]);
        st = a->var[i] == NULL ? LLAP_ENOMEM : ll_target_columns(asked, panel, a->var[i]);
        if (st == LLAP_OK)
            st = ll_model_forecaster(asked, panel, a->var[i], backend, NULL, &a->f[i]);
    }
    if (st == LLAP_OK) {
        ll_against_name(file, a->name[i]);
        a->f[i].name = a->name[i];
    }
    ll_free(file);
    return st;
}

llap_status ll_against_models_init(ll_against_models *a, const char *list, const llap_model *m,
                                   const llap_panel *panel, const ll_backend *backend,
                                   const llap_log *log)
{
    llap_status st = LLAP_OK;
    *a = (ll_against_models){ 0 };
    for (const char *at = list; st == LLAP_OK; at++) {
        const size_t n = strcspn(at, ",");
        if (a->n == LL_AGAINST_MODELS)
            return ll_fail(LLAP_EOPTION, "against: expected at most %d models", LL_AGAINST_MODELS);
        st = add(a, at, n, m, panel, backend, log);
        at += n;
        if (*at == '\0') break;
    }
    return st;
}

void ll_against_models_deinit(ll_against_models *a)
{
    for (int i = 0; i < a->n; i++) {
        ll_forecaster_deinit(&a->f[i]);
        if (a->view[i].m != NULL) ll_static_view_deinit(&a->view[i]);
        ll_free(a->var[i]);
        llap_model_destroy(a->model[i]);
    }
    *a = (ll_against_models){ 0 };
}
