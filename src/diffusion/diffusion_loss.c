/* The training loss as part of the graph, docs/spec/model.md 5.4. */
#include "diffusion/diffusion.h"

#include "base/alloc.h"

#include <assert.h>

/* Row t of a table of the schedule; [B,1,1] */
static ll_tensor *at_step(ll_graph *g, const float *table, int64_t T, ll_tensor *t)
{
    double *wide = ll_new((size_t)T, sizeof *wide);
    if (wide == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < T; i++) wide[i] = (double)table[i];
    ll_tensor *x = ll_embedding(g, ll_constant(g, LL_SHAPE(T, 1), wide), t);
    ll_free(wide);
    return ll_unsqueeze(g, x, -1);
}

/* Of signal and noise, [B,1,1]: by the schedule, or in continuous time */
static void levels(ll_graph *g, const ll_schedule *s, const ll_loss_in *in, ll_tensor **a,
                   ll_tensor **sigma)
{
    if (s != NULL) {
        *a = at_step(g, s->sqrt_alpha_bar, s->T, in->t);
        *sigma = at_step(g, s->sqrt_one_minus_alpha_bar, s->T, in->t);
        return;
    }
    ll_tensor *angle = ll_scale(g, in->time, 1.57079632679489661923);
    angle = ll_unsqueeze(g, ll_unsqueeze(g, angle, -1), -1);
    *a = ll_cos(g, angle);
    *sigma = ll_sin(g, angle);
}

static ll_tensor *mix(ll_graph *g, ll_tensor *a, ll_tensor *x, ll_tensor *s, ll_tensor *y)
{
    return ll_add(g, ll_mul(g, a, x), ll_mul(g, s, y));
}

/* What the network should say: v = a eps - s z0, z0, or eps */
static ll_tensor *target(ll_graph *g, ll_prediction p, ll_tensor *a, ll_tensor *s,
                         const ll_loss_in *in)
{
    if (p == LL_PREDICT_X0) return in->z0;
    if (p == LL_PREDICT_EPS) return in->eps;
    return ll_sub(g, ll_mul(g, a, in->eps), ll_mul(g, s, in->z0));
}

/* What its answer says about z0 */
static ll_tensor *estimate(ll_graph *g, ll_prediction p, ll_tensor *a, ll_tensor *s, ll_tensor *z_t,
                           ll_tensor *pred)
{
    if (p == LL_PREDICT_X0) return pred;
    if (p == LL_PREDICT_V) return ll_sub(g, ll_mul(g, a, z_t), ll_mul(g, s, pred));
    return ll_div(g, ll_sub(g, z_t, ll_mul(g, s, pred)), ll_affine(g, a, 1.0, 1e-12));
}

/* e_b = sum_(r,z) m (pred - target)^2 / max(Z sum_r m, 1); [B] */
static ll_tensor *row_error(ll_graph *g, ll_tensor *pred, ll_tensor *wanted, ll_tensor *mask)
{
    const ll_shape s = ll_shape_of(wanted);
    ll_tensor *m = mask == NULL ? ll_full(g, LL_SHAPE(1, 1, 1), 1.0) : ll_unsqueeze(g, mask, -1);
    m = ll_expand(g, m, s);
    ll_tensor *e = ll_nn_masked_mse(g, pred, wanted, m, LL_AXIS(1) | LL_AXIS(2));
    return ll_reshape(g, e, LL_SHAPE(s.dim[0]));
}

/* sum(x part) / max(sum(part), 1) */
static ll_tensor *part_mean(ll_graph *g, ll_tensor *x, ll_tensor *part)
{
    return ll_reshape(g, ll_masked_mean(g, x, part, LL_ALL_AXES), LL_SCALAR);
}

/* What the raw weights of a part are divided by. */
static ll_tensor *divisor(ll_graph *g, const ll_schedule *s, const ll_loss_opts *o, ll_tensor *raw,
                          ll_tensor *part)
{
    ll_tensor *batch = part_mean(g, raw, part), *use = NULL;
    ll_tensor *global = ll_full(g, LL_SCALAR, ll_min_snr_mean(s, o->gamma, o->predict));
    ll_tensor *n = ll_reshape(g, ll_sum(g, part, LL_ALL_AXES), LL_SCALAR);
    if (o->normalize == LL_WEIGHT_NONE) return ll_full(g, LL_SCALAR, 1.0);
    if (o->normalize == LL_WEIGHT_BATCH) use = batch;
    else if (o->normalize == LL_WEIGHT_GLOBAL) use = global;
    else {
        ll_tensor *several = ll_at_least(g, n, ll_full(g, LL_SCALAR, 1.5));
        ll_tensor *single = ll_affine(g, several, -1.0, 1.0);
        use = ll_add(g, ll_mul(g, several, batch), ll_mul(g, single, global));
    }
    return ll_maximum(g, use, ll_full(g, LL_SCALAR, 1e-8));
}

/* w_b of the rows, each part normalised by itself; [B], no gradient */
static ll_tensor *weights(ll_graph *g, const ll_schedule *s, const ll_loss_opts *o, ll_tensor *t,
                          ll_tensor *part[2])
{
    const int64_t rows = ll_dim(part[0], 0);
    if (!o->min_snr) return ll_full(g, LL_SHAPE(rows), 1.0);
    assert(s != NULL);
    ll_tensor *alpha_bar = at_step(g, s->alpha_bar, s->T, t);
    ll_tensor *raw = ll_nn_min_snr(g, alpha_bar, o->gamma, o->predict);
    raw = ll_note(g, "weights_raw", ll_reshape(g, raw, LL_SHAPE(rows)));
    ll_tensor *by = ll_add(g, ll_mul(g, part[0], divisor(g, s, o, raw, part[0])),
                           ll_mul(g, part[1], divisor(g, s, o, raw, part[1])));
    return ll_note(g, "weights", ll_detach(g, ll_div(g, raw, by)));
}

/* share_c mean_c(w e) + share_u mean_u(w e) */
static ll_tensor *of_parts(ll_graph *g, const ll_loss_opts *o, ll_tensor *we, ll_tensor *part[2])
{
    static const char *const names[] = { "loss_c", "loss_u" };
    ll_tensor               *sum[2];
    const double             rows = (double)ll_dim(we, 0);
    for (int i = 0; i < 2; i++) {
        ll_tensor *mean = ll_note(g, names[i], part_mean(g, we, part[i]));
        ll_tensor *n = ll_reshape(g, ll_sum(g, part[i], LL_ALL_AXES), LL_SCALAR);
        const bool by_number = o->share[0] == 0.0 && o->share[1] == 0.0;
        sum[i] = by_number ? ll_scale(g, ll_mul(g, n, mean), 1.0 / rows)
                           : ll_scale(g, mean, o->share[i]);
    }
    return ll_add(g, sum[0], sum[1]);
}

ll_tensor *ll_diffusion_loss(ll_graph *g, const ll_denoiser_config *c, const ll_schedule *s,
                             const ll_loss_opts *o, const ll_loss_in *in)
{
    ll_tensor *a, *sigma;
    if (s == NULL && o->min_snr) {
        ll_graph_fail(g, LLAP_EINVAL, "loss: min-SNR weights need a schedule");
        return NULL;
    }
    levels(g, s, in, &a, &sigma);
    ll_tensor *z_t = ll_note(g, "x_t", mix(g, a, in->z0, sigma, in->eps));

    ll_denoiser_in d = { .z = z_t,
                         .t = in->t,
                         .tq = in->tq,
                         .E = in->E,
                         .E_raw = in->E_raw,
                         .conditional = in->conditional,
                         .kinds = in->kinds,
                         .training = in->training,
                         .time = in->time,
                         .f = in->f,
                         .pad = in->pad,
                         .E_pad = in->E_pad };
    if (o->self_condition) {
        ll_tensor *first = ll_denoiser(g, c, &d);
        d.sc = ll_note(g, "sc_feat", ll_detach(g, estimate(g, o->predict, a, sigma, z_t, first)));
    }
    ll_tensor *pred = ll_denoiser(g, c, &d);
    ll_tensor *wanted = ll_note(g, "target", target(g, o->predict, a, sigma, in));
    ll_tensor *e = ll_note(g, "error", row_error(g, pred, wanted, in->mask));

    ll_tensor *part[2] = { in->conditional, NULL };
    if (part[0] == NULL) part[0] = ll_full(g, ll_shape_of(e), in->E == NULL ? 0.0 : 1.0);
    part[1] = ll_affine(g, part[0], -1.0, 1.0);
    ll_tensor *w = in->weight != NULL ? in->weight : weights(g, s, o, in->t, part);
    return of_parts(g, o, ll_mul(g, w, e), part);
}
