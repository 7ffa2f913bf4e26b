#include "rivals/dlinear.h"

#include "nn/nn.h"

/* One of the two maps: z [B,C,K] -> [B,C,H p] */
static ll_tensor *map(ll_graph *g, const ll_dlinear_config *cfg, const char *name, ll_tensor *z)
{
    const int64_t width = cfg->horizon * cfg->head.p, C = ll_dim(z, 1);
    if (!cfg->individual || cfg->mix) return ll_nn_linear(g, name, z, width);
    ll_tensor *y = NULL;
    ll_scope_push(g, name);
    for (int64_t c = 0; c < C; c++) {
        ll_scope_pushf(g, "%lld", (long long)c);
        ll_tensor *one = ll_nn_linear(g, "", ll_slice(g, z, 1, c, 1), width);
        y = c == 0 ? one : ll_concat(g, (ll_tensor *[]){ y, one }, 2, 1);
        ll_scope_pop(g);
    }
    ll_scope_pop(g);
    return y;
}

/* All channels of a row side by side, [B,C,K] -> [B,1,K C] */
static ll_tensor *rows_of(ll_graph *g, ll_tensor *z)
{
    return ll_reshape(g, ll_transpose(g, z),
                      LL_SHAPE(ll_dim(z, 0), 1, ll_dim(z, 1) * ll_dim(z, 2)));
}

ll_tensor *ll_dlinear(ll_graph *g, const ll_dlinear_config *cfg, const ll_dlinear_in *in)
{
    const int64_t B = ll_dim(in->x, 0);
    ll_tensor    *x = in->x;
    ll_revin      revin = { 0 };
    if (cfg->revin) {
        revin = ll_revin_of(g, in->x, in->m, false);
        ll_note(g, "mean", revin.mean);
        ll_note(g, "std", revin.sd);
        x = ll_revin_apply(g, &revin, x);
    }
    if (cfg->mix) x = ll_concat(g, (ll_tensor *[]){ x, in->m }, 2, 2);
    ll_tensor *z = ll_transpose(g, x); /* [B,C,K] */
    ll_tensor *trend = ll_moving_average(g, z, cfg->kernel), *rest = ll_sub(g, z, trend);
    ll_note(g, "trend", ll_transpose(g, trend));
    if (cfg->mix) {
        trend = rows_of(g, trend);
        rest = rows_of(g, rest);
    }
    ll_tensor *y =
        ll_add(g, map(g, cfg, "Linear_Seasonal", rest), map(g, cfg, "Linear_Trend", trend));
    ll_tensor *a = ll_reshape(g, y, LL_SHAPE(B, ll_dim(y, 1), cfg->horizon, cfg->head.p));
    a = ll_permute(g, a, (const int[]){ 0, 2, 1, 3 }); /* [B,H,C,p] */
    if (in->calendar != NULL) {
        ll_tensor *w = ll_param(g, "cal.weight", LL_SHAPE(cfg->head.p, ll_dim(in->calendar, -1)),
                                LL_INIT_ZERO);
        a = ll_add(g, a, ll_unsqueeze(g, ll_linear(g, in->calendar, w, NULL), 2));
    }
    ll_tensor *answer = ll_head_answer(g, cfg->head, ll_note(g, "a", a));
    if (!cfg->revin) return answer;
    if (cfg->mix) revin = ll_revin_channel(g, &revin, cfg->target);
    return ll_revin_undo(g, &revin, answer);
}
