/* Other models, scored beside the model on the same windows.
 *
 *     if (ll_against_names_models("a.safetensors,b.safetensors"))
 *         st = ll_against_models_init(&a, names, model, panel, backend, log);
 *     a.f[0 .. a.n - 1] are forecasters like any other
 *     ll_against_models_deinit(&a);                               also after a failure */
#ifndef LL_SCORE_AGAINST_MODELS_H
#define LL_SCORE_AGAINST_MODELS_H

#include "predict/forecaster.h"
#include "predict/view/static_view.h"
#include "score/against.h"

enum { LL_AGAINST_MODELS = 8 };

typedef struct ll_against_models {
    int            n;
    llap_model    *model[LL_AGAINST_MODELS];
    ll_static_view view[LL_AGAINST_MODELS];
    int64_t       *var[LL_AGAINST_MODELS];
    char           name[LL_AGAINST_MODELS][LL_AGAINST_NAME];
    ll_forecaster  f[LL_AGAINST_MODELS]; /* borrow from this struct, which must not move */
} ll_against_models;

/* Files with commas between them, all of which end in .safetensors. */
bool ll_against_names_models(const char *list);

/* LLAP_EINVAL: a model has other targets, times, horizon or split than m: it may have seen what is
 * scored, or answers something else. Contexts may differ. */
llap_status ll_against_models_init(ll_against_models *a, const char *list, const llap_model *m,
                                   const llap_panel *panel, const ll_backend *backend,
                                   const llap_log *log);
void        ll_against_models_deinit(ll_against_models *a); /* { 0 } is fine */

#endif
