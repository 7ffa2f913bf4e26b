/* Neural CDE: the path of time, values and counts. */
#include "base/alloc.h"
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <string.h>

static int64_t channels(const ll_rival_task *k) { return 1 + 2 * k->vars; }

static bool on_grid(const ll_rival_task *k) { return !k->config.neuralcde.query; }

static llap_status check(const ll_rival_task *k)
{
    const ll_neuralcde_config *c = &k->config.neuralcde;
    enum { MOST = 1 << 16 }; /* evaluations of layers, all of which are steps of one graph */
    if ((k->data.context - 1) * c->n_sub > MOST ||
        (k->data.context - 1) * c->n_sub * c->n_layers > MOST)
        return ll_fail(LLAP_EINVAL,
                       "neuralcde: steps: %lld intervals of %d steps of %d layers are "
                       "more than %d",
                       (long long)k->data.context - 1, c->n_sub, c->n_layers, MOST);
    if (c->query || c->horizon == k->data.horizon) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "neuralcde: horizon: expected %lld rows, found %lld",
                   (long long)k->data.horizon, (long long)c->horizon);
}

static ll_rival_head head(const ll_rival_task *k) { return k->config.neuralcde.head; }

static ll_tensor *answer(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    ll_neuralcde_config c = k->config.neuralcde;
    const int64_t       C = channels(k), places = ll_cde_places(&c, k->data.context);
    const ll_shape      features = LL_SHAPE(B, k->data.horizon, ll_feed_features(k));
    (void)training; /* nothing is dropped */
    c.targets = k->targets;
    const ll_neuralcde_in in = { .first = ll_input(g, "first", LL_SHAPE(B, C)),
                                 .slopes = ll_input(g, "slopes", LL_SHAPE(B, places, C)),
                                 .query = c.query ? ll_input(g, "features", features) : NULL };
    return ll_neuralcde(g, &c, &in);
}

/* Rows that are not there repeat the time of the first one: the path stands still. */
static void lay_path(const ll_rival_task *k, const ll_rival_example *e, float *x, float *m)
{
    const int64_t K = k->data.context, F = k->vars, C = channels(k);
    for (int64_t j = 0; j < K; j++) {
        float *at = x + j * C, *seen = m + j * C;
        at[0] = ll_feed_clock(k, (double)e->at[j]);
        for (int64_t v = 0; v < F; v++) {
            const float here = e->m[j * F + v];
            at[1 + v] = here * e->x[j * F + v];
            seen[1 + v] = here;
            at[1 + F + v] = (j == 0 ? 0.0f : at[1 + F + v - C]) + here / (float)K;
        }
        seen[0] = 1.0f;
        for (int64_t v = 0; v < F; v++) seen[1 + F + v] = 1.0f;
    }
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net)
{
    const ll_neuralcde_config *c = &k->config.neuralcde;
    const int64_t              K = k->data.context, C = channels(k), n = (K - 1) * C;
    const int64_t              places = ll_cde_places(c, K);
    float  *x = ll_new((size_t)(2 * K * C), sizeof *x), *first = ll_feed_row(net, "first", row, C);
    double *a = ll_new((size_t)(4 * n), sizeof *a), *coeffs[4];
    float  *slopes = ll_feed_row(net, "slopes", row, places * C);
    llap_status st = x == NULL || a == NULL ? LLAP_ENOMEM : LLAP_OK;
    assert(first != NULL && slopes != NULL);
    for (int i = 0; i < 4; i++) coeffs[i] = a == NULL ? NULL : a + i * n;
    if (st == LLAP_OK) {
        lay_path(k, e, x, x + K * C);
        st = ll_cde_coefficients(c->spline, x, x + K * C, K, C, coeffs);
    }
    if (st == LLAP_OK) {
        for (int64_t v = 0; v < C; v++) first[v] = (float)coeffs[0][v];
        ll_cde_slopes(c, (const double *const *)coeffs, K, C, slopes);
        ll_feed_put_features(k, e, "features", row, net);
    }
    ll_free(x);
    ll_free(a);
    return st;
}

const ll_rival_feed ll_feed_neuralcde = { .name = "neuralcde",
                                          .on_grid = on_grid,
                                          .check = check,
                                          .head = head,
                                          .answer = answer,
                                          .fill = fill };
