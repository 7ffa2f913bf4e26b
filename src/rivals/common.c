/* Common pieces: layers, RevIN, quantile heads. */
#include "rivals/common.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

void ll_fill_forward(const float *x, const float *m, int64_t rows, int64_t vars, float *out)
{
    for (int64_t v = 0; v < vars; v++) {
        float   last = 0.0f;
        int64_t first = 0;
        while (first < rows && m[first * vars + v] == 0.0f) first++;
        if (first < rows) last = x[first * vars + v];
        for (int64_t r = 0; r < rows; r++) {
            if (m[r * vars + v] != 0.0f) last = x[r * vars + v];
            out[r * vars + v] = last;
        }
    }
}

double ll_normal_quantile(double p)
{
    assert(p > 0.0 && p < 1.0);
    double low = -40.0, high = 40.0;
    for (int i = 0; i < 200; i++) { /* as many as there are doubles between */
        const double middle = 0.5 * (low + high);
        if (0.5 * erfc(-middle / sqrt(2.0)) < p) low = middle;
        else high = middle;
    }
    return 0.5 * (low + high);
}

/* -------- activations, layers -------- */

ll_tensor *ll_relu(ll_graph *g, ll_tensor *x)
{
    return ll_maximum(g, x, ll_full(g, LL_SCALAR, 0.0));
}

ll_tensor *ll_leaky_relu(ll_graph *g, ll_tensor *x, double a)
{
    return ll_maximum(g, x, ll_scale(g, x, a));
}

ll_init ll_kaiming(int64_t fan_in)
{
    return LL_INIT_NORMAL(sqrt(2.0 / (double)(fan_in > 0 ? fan_in : 1)));
}

ll_init ll_init_usual(int64_t fan_in)
{
    return LL_INIT_UNIFORM(1.0 / sqrt((double)(fan_in > 0 ? fan_in : 1)));
}

ll_tensor *ll_pointwise(ll_graph *g, const char *name, ll_tensor *x, int64_t width, bool kaiming)
{
    const int64_t in = ll_dim(x, -1);
    ll_scope_push(g, name);
    ll_tensor *w =
        ll_param(g, "weight", LL_SHAPE(width, in, 1), kaiming ? ll_kaiming(in) : ll_init_usual(in));
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(width), ll_init_usual(in));
    ll_scope_pop(g);
    return ll_linear(g, x, ll_reshape(g, w, LL_SHAPE(width, in)), b);
}

/* The state moves a tenth of the way to what the batch has. */
static void move_on(ll_graph *g, ll_tensor *state, ll_tensor *found)
{
    ll_tensor *flat = ll_reshape(g, ll_detach(g, found), ll_shape_of(state));
    ll_update(g, state, ll_add(g, ll_scale(g, ll_updated(g, state), 0.9), ll_scale(g, flat, 0.1)));
}

ll_tensor *ll_batch_norm(ll_graph *g, const char *name, ll_tensor *x, bool training)
{
    const int64_t  d = ll_dim(x, -1);
    const int      rank = ll_shape_of(x).rank;
    const ll_shape all = ll_shape_of(x);
    ll_scope_push(g, name);
    ll_tensor *w = ll_param(g, "weight", LL_SHAPE(d), LL_INIT_ONE);
    ll_tensor *b = ll_param(g, "bias", LL_SHAPE(d), LL_INIT_ZERO);
    ll_tensor *mean = ll_state(g, "running_mean", LL_SHAPE(d), LL_INIT_ZERO);
    ll_tensor *variance = ll_state(g, "running_var", LL_SHAPE(d), LL_INIT_ONE);
    if (training && rank > 0) {
        const unsigned rows = LL_AXIS(rank - 1) - 1;
        const double   n = (double)(ll_shape_count(&all) / (d > 0 ? d : 1));
        ll_tensor     *m = ll_mean(g, x, rows);
        ll_tensor     *v = ll_mean(g, ll_square(g, ll_sub(g, x, m)), rows);
        move_on(g, mean, m);
        move_on(g, variance, ll_scale(g, v, n / fmax(n - 1.0, 1.0)));
        mean = m;
        variance = v;
    }
    ll_tensor *sd = ll_sqrt(g, ll_affine(g, variance, 1.0, 1e-5));
    ll_tensor *y = ll_add(g, ll_mul(g, ll_div(g, ll_sub(g, x, mean), sd), w), b);
    ll_scope_pop(g);
    return y;
}

ll_tensor *ll_moving_average(ll_graph *g, ll_tensor *x, int64_t kernel)
{
    const int64_t n = ll_dim(x, -1), half = (kernel - 1) / 2;
    if (x == NULL) return NULL;
    if (kernel < 1 || kernel % 2 == 0) {
        ll_graph_fail(g, LLAP_EINVAL, "moving average: the kernel must be odd, found %lld",
                      (long long)kernel);
        return NULL;
    }
    double *share = ll_new((size_t)(n * n), sizeof *share);
    if (share == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i - half; j <= i + half; j++) {
            const int64_t at = j < 0 ? 0 : j >= n ? n - 1 : j;
            share[i * n + at] += 1.0 / (double)kernel;
        }
    ll_tensor *averages = ll_constant(g, LL_SHAPE(n, n), share);
    ll_free(share);
    return ll_linear(g, x, averages, NULL);
}

ll_tensor *ll_time_waves(ll_graph *g, ll_tensor *x, int64_t d, double scale, double base)
{
    const int64_t half = (d + 1) / 2;
    double       *f = x == NULL ? NULL : ll_new((size_t)half, sizeof *f);
    if (x != NULL && f == NULL) ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
    if (f == NULL) return NULL;
    for (int64_t i = 0; i < half; i++) f[i] = scale * pow(base, -2.0 * (double)i / (double)d);
    ll_tensor *angle = ll_mul(g, ll_unsqueeze(g, x, -1), ll_constant(g, LL_SHAPE(half), f));
    ll_free(f);
    if (angle == NULL) return NULL;
    ll_tensor *wave[] = { ll_unsqueeze(g, ll_sin(g, angle), -1),
                          ll_unsqueeze(g, ll_cos(g, angle), -1) };
    ll_shape   s = ll_shape_of(angle);
    s.dim[s.rank - 1] = 2 * half;
    return ll_slice(g, ll_reshape(g, ll_concat(g, wave, 2, -1), s), -1, 0, d);
}

/* -------- GRU -------- */

static ll_tensor *one_way(ll_graph *g, ll_tensor *x, int64_t h, int layer, bool back,
                          ll_tensor *first)
{
    const ll_init init = ll_init_usual(h);
    const char   *way = back ? "_reverse" : "";
    char          name[4][40];
    const char   *part[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%s_l%d%s", part[i], layer, way);
    ll_tensor *w_in = ll_param(g, name[0], LL_SHAPE(3 * h, ll_dim(x, -1)), init);
    ll_tensor *w = ll_param(g, name[1], LL_SHAPE(3 * h, h), init);
    ll_tensor *b_in = ll_param(g, name[2], LL_SHAPE(3 * h), init);
    ll_tensor *b = ll_param(g, name[3], LL_SHAPE(3 * h), init);
    return ll_gru(g, ll_linear(g, x, w_in, b_in), w, b, first, back);
}

ll_tensor *ll_gru_layers(ll_graph *g, const char *name, ll_tensor *x, const ll_gru_opts *o)
{
    ll_scope_push(g, name);
    for (int i = 0; i < o->n_layers; i++) {
        if (i > 0) x = ll_dropout(g, x, o->dropout);
        ll_tensor *y = one_way(g, x, o->width, i, false, o->state == NULL ? NULL : o->state[i]);
        if (o->state != NULL)
            o->state[i] = ll_reshape(g, ll_slice(g, y, 1, ll_dim(y, 1) - 1, 1),
                                     LL_SHAPE(ll_dim(y, 0), o->width));
        x = !o->both_ways
                ? y
                : ll_concat(g, (ll_tensor *[]){ y, one_way(g, x, o->width, i, true, NULL) }, 2, -1);
    }
    ll_scope_pop(g);
    return x;
}

/* -------- RevIN -------- */

ll_revin ll_revin_of(ll_graph *g, ll_tensor *x, ll_tensor *m, bool affine)
{
    const unsigned rows = LL_AXIS(1);
    ll_revin       r = { 0 };
    ll_tensor     *n = ll_sum(g, m, rows), *one = ll_full(g, LL_SCALAR, 1.0);
    ll_tensor     *divisor = ll_maximum(g, n, one);
    r.mean = ll_detach(g, ll_div(g, ll_masked_sum(g, x, m, rows), divisor));
    ll_tensor *square = ll_square(g, ll_sub(g, x, r.mean));
    ll_tensor *variance = ll_div(g, ll_masked_sum(g, square, m, rows), divisor);
    ll_tensor *sd = ll_sqrt(g, ll_affine(g, variance, 1.0, 1e-5));
    ll_tensor *enough = ll_at_least(g, n, ll_full(g, LL_SCALAR, 1.5)); /* two readings */
    sd = ll_add(g, ll_mul(g, sd, enough), ll_affine(g, enough, -1.0, 1.0));
    r.sd = ll_detach(g, sd);
    if (!affine) return r;
    const ll_shape c = LL_SHAPE(ll_dim(x, -1));
    r.weight = ll_param(g, "affine_weight", c, LL_INIT_ONE);
    r.bias = ll_param(g, "affine_bias", c, LL_INIT_ZERO);
    return r;
}

ll_revin ll_revin_channel(ll_graph *g, const ll_revin *r, int64_t channel)
{
    ll_revin one = *r;
    one.mean = ll_slice(g, r->mean, 2, channel, 1);
    one.sd = ll_slice(g, r->sd, 2, channel, 1);
    if (r->weight == NULL) return one;
    one.weight = ll_slice(g, r->weight, 0, channel, 1);
    one.bias = ll_slice(g, r->bias, 0, channel, 1);
    return one;
}

ll_tensor *ll_revin_apply(ll_graph *g, const ll_revin *r, ll_tensor *x)
{
    ll_tensor *y = ll_div(g, ll_sub(g, x, r->mean), r->sd);
    return r->weight == NULL ? y : ll_add(g, ll_mul(g, y, r->weight), r->bias);
}

ll_tensor *ll_revin_undo(ll_graph *g, const ll_revin *r, ll_tensor *y)
{
    const bool quantiles = ll_shape_of(y).rank == 4;
    ll_tensor *part[] = { r->mean, r->sd, r->weight, r->bias };
    for (int i = 0; i < 4 && quantiles; i++)
        if (part[i] != NULL) part[i] = ll_unsqueeze(g, part[i], -1);
    if (r->weight != NULL) y = ll_div(g, ll_sub(g, y, part[3]), ll_affine(g, part[2], 1.0, 1e-10));
    return ll_add(g, ll_mul(g, y, part[1]), part[0]);
}

/* -------- heads -------- */

static double level(int64_t k, int64_t q) { return ((double)k + 0.5) / (double)q; }

ll_tensor *ll_head_numbers(ll_graph *g, ll_rival_head h, const char *name, ll_tensor *x,
                           int64_t targets)
{
    ll_tensor *a = ll_nn_linear(g, name, x, (targets > 0 ? targets : 1) * h.p);
    ll_shape   s = ll_shape_of(a);
    if (a == NULL || targets == 0) return a;
    s.dim[s.rank - 1] = targets;
    s.dim[s.rank++] = h.p;
    return ll_reshape(g, a, s);
}

ll_tensor *ll_head_answer(ll_graph *g, ll_rival_head h, ll_tensor *a)
{
    if (a == NULL) return NULL;
    if (h.q > 0) return ll_nn_linear_from(g, "quant", a, h.q, LL_INIT_NORMAL(0.02), LL_INIT_ZERO);
    return ll_squeeze(g, a, LL_AXIS(ll_shape_of(a).rank - 1));
}

ll_tensor *ll_head_loss(ll_graph *g, ll_rival_head h, ll_tensor *answer, ll_tensor *y, ll_tensor *m)
{
    if (h.q == 0 || answer == NULL || y == NULL)
        return ll_nn_masked_mse(g, answer, y, m, LL_ALL_AXES);
    double *u = ll_new((size_t)h.q, sizeof *u);
    if (u == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t k = 0; k < h.q; k++) u[k] = level(k, h.q);
    ll_tensor *levels = ll_constant(g, LL_SHAPE(h.q), u);
    ll_free(u);
    ll_tensor *e = ll_sub(g, ll_unsqueeze(g, y, -1), answer);
    ll_tensor *pinball =
        ll_maximum(g, ll_mul(g, levels, e), ll_mul(g, ll_affine(g, levels, 1.0, -1.0), e));
    if (pinball == NULL) return NULL;
    const int  last = ll_shape_of(pinball).rank - 1;
    ll_tensor *each = ll_squeeze(g, ll_sum(g, pinball, LL_AXIS(last)), LL_AXIS(last));
    return ll_masked_mean(g, ll_scale(g, each, 2.0 / (double)h.q), m, LL_ALL_AXES);
}

void ll_head_start(ll_params *p)
{
    const ll_param_info *w = ll_params_find(p, "quant.weight");
    if (w == NULL) return;
    const int64_t q = w->shape.dim[0], n = w->shape.dim[1];
    for (int64_t k = 0; k < q; k++) {
        ll_param_set(p, w, k * n, ll_param_get(p, w, k * n) + 1.0);
        if (n > 1)
            ll_param_set(p, w, k * n + 1,
                         ll_param_get(p, w, k * n + 1) + ll_normal_quantile(level(k, q)));
    }
}
