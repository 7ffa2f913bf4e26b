/* The training loss as part of the graph, spec 5.4. */
#include "model/diffusion.h"

#include "base/alloc.h"

/* Row t of a table of the schedule; [B,1,1] */
static llap_tensor *at_step(llap_graph *g, const float *table, int64_t T, llap_tensor *t)
{
    double *wide = llap_new((size_t)T, sizeof *wide);
    if (wide == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < T; i++) wide[i] = (double)table[i];
    llap_tensor *x = llap_embedding(g, llap_constant(g, LLAP_SHAPE(T, 1), wide), t);
    llap_free(wide);
    return llap_unsqueeze(g, x, -1);
}

/* Of signal and noise, [B,1,1]: by the schedule, or in continuous time */
static void levels(llap_graph *g, const llap_schedule *s, const llap_loss_in *in, llap_tensor **a,
                   llap_tensor **sigma)
{
    if (s != NULL) {
        *a = at_step(g, s->sqrt_alpha_bar, s->T, in->t);
        *sigma = at_step(g, s->sqrt_one_minus_alpha_bar, s->T, in->t);
        return;
    }
    llap_tensor *angle = llap_scale(g, in->time, 1.57079632679489661923);
    angle = llap_unsqueeze(g, llap_unsqueeze(g, angle, -1), -1);
    *a = llap_cos(g, angle);
    *sigma = llap_sin(g, angle);
}

static llap_tensor *mix(llap_graph *g, llap_tensor *a, llap_tensor *x, llap_tensor *s,
                        llap_tensor *y)
{
    return llap_add(g, llap_mul(g, a, x), llap_mul(g, s, y));
}

/* What the network should say: v = a eps - s z0, z0, or eps */
static llap_tensor *target(llap_graph *g, llap_prediction p, llap_tensor *a, llap_tensor *s,
                           const llap_loss_in *in)
{
    if (p == LLAP_PREDICT_X0) return in->z0;
    if (p == LLAP_PREDICT_EPS) return in->eps;
    return llap_sub(g, llap_mul(g, a, in->eps), llap_mul(g, s, in->z0));
}

/* What its answer says about z0 */
static llap_tensor *estimate(llap_graph *g, llap_prediction p, llap_tensor *a, llap_tensor *s,
                             llap_tensor *z_t, llap_tensor *pred)
{
    if (p == LLAP_PREDICT_X0) return pred;
    if (p == LLAP_PREDICT_V) return llap_sub(g, llap_mul(g, a, z_t), llap_mul(g, s, pred));
    return llap_div(g, llap_sub(g, z_t, llap_mul(g, s, pred)), llap_affine(g, a, 1.0, 1e-12));
}

/* e_b = sum_(r,z) m (pred - target)^2 / max(Z sum_r m, 1); [B] */
static llap_tensor *row_error(llap_graph *g, llap_tensor *pred, llap_tensor *wanted,
                              llap_tensor *mask)
{
    const llap_shape s = llap_shape_of(wanted);
    llap_tensor     *m =
        mask == NULL ? llap_full(g, LLAP_SHAPE(1, 1, 1), 1.0) : llap_unsqueeze(g, mask, -1);
    m = llap_expand(g, m, s);
    llap_tensor *e = llap_nn_masked_mse(g, pred, wanted, m, LLAP_AXIS(1) | LLAP_AXIS(2));
    return llap_reshape(g, e, LLAP_SHAPE(s.dim[0]));
}

/* sum(x part) / max(sum(part), 1) */
static llap_tensor *part_mean(llap_graph *g, llap_tensor *x, llap_tensor *part)
{
    return llap_reshape(g, llap_masked_mean(g, x, part, LLAP_ALL_AXES), LLAP_SCALAR);
}

/* What the raw weights of a part are divided by. */
static llap_tensor *divisor(llap_graph *g, const llap_schedule *s, const llap_loss_opts *o,
                            llap_tensor *raw, llap_tensor *part)
{
    llap_tensor *batch = part_mean(g, raw, part), *use = NULL;
    llap_tensor *global = llap_full(g, LLAP_SCALAR, llap_min_snr_mean(s, o->gamma, o->predict));
    llap_tensor *n = llap_reshape(g, llap_sum(g, part, LLAP_ALL_AXES), LLAP_SCALAR);
    if (o->normalize == LLAP_WEIGHT_NONE) return llap_full(g, LLAP_SCALAR, 1.0);
    if (o->normalize == LLAP_WEIGHT_BATCH) use = batch;
    else if (o->normalize == LLAP_WEIGHT_GLOBAL) use = global;
    else {
        llap_tensor *several = llap_at_least(g, n, llap_full(g, LLAP_SCALAR, 1.5));
        llap_tensor *single = llap_affine(g, several, -1.0, 1.0);
        use = llap_add(g, llap_mul(g, several, batch), llap_mul(g, single, global));
    }
    return llap_maximum(g, use, llap_full(g, LLAP_SCALAR, 1e-8));
}

/* w_b of the rows, each part normalised by itself; [B], no gradient */
static llap_tensor *weights(llap_graph *g, const llap_schedule *s, const llap_loss_opts *o,
                            llap_tensor *t, llap_tensor *part[2])
{
    const int64_t rows = llap_dim(part[0], 0);
    if (!o->min_snr) return llap_full(g, LLAP_SHAPE(rows), 1.0);
    llap_tensor *alpha_bar = at_step(g, s->alpha_bar, s->T, t);
    llap_tensor *raw = llap_nn_min_snr(g, alpha_bar, o->gamma, o->predict);
    raw = llap_note(g, "weights_raw", llap_reshape(g, raw, LLAP_SHAPE(rows)));
    llap_tensor *by = llap_add(g, llap_mul(g, part[0], divisor(g, s, o, raw, part[0])),
                               llap_mul(g, part[1], divisor(g, s, o, raw, part[1])));
    return llap_note(g, "weights", llap_detach(g, llap_div(g, raw, by)));
}

/* share_c mean_c(w e) + share_u mean_u(w e) */
static llap_tensor *of_parts(llap_graph *g, const llap_loss_opts *o, llap_tensor *we,
                             llap_tensor *part[2])
{
    static const char *const names[] = { "loss_c", "loss_u" };
    llap_tensor             *sum[2];
    const double             rows = (double)llap_dim(we, 0);
    for (int i = 0; i < 2; i++) {
        llap_tensor *mean = llap_note(g, names[i], part_mean(g, we, part[i]));
        llap_tensor *n = llap_reshape(g, llap_sum(g, part[i], LLAP_ALL_AXES), LLAP_SCALAR);
        const bool   by_number = o->share[0] == 0.0 && o->share[1] == 0.0;
        sum[i] = by_number ? llap_scale(g, llap_mul(g, n, mean), 1.0 / rows)
                           : llap_scale(g, mean, o->share[i]);
    }
    return llap_add(g, sum[0], sum[1]);
}

llap_tensor *llap_diffusion_loss(llap_graph *g, const llap_denoiser_config *c,
                                 const llap_schedule *s, const llap_loss_opts *o,
                                 const llap_loss_in *in)
{
    llap_tensor *a, *sigma;
    if (s == NULL && o->min_snr) {
        llap_graph_fail(g, LLAP_EINVAL, "loss: min-SNR weights need a schedule");
        return NULL;
    }
    levels(g, s, in, &a, &sigma);
    llap_tensor *z_t = llap_note(g, "x_t", mix(g, a, in->z0, sigma, in->eps));

    llap_denoiser_in d = { .z = z_t,
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
        llap_tensor *first = llap_denoiser(g, c, &d);
        d.sc =
            llap_note(g, "sc_feat", llap_detach(g, estimate(g, o->predict, a, sigma, z_t, first)));
    }
    llap_tensor *pred = llap_denoiser(g, c, &d);
    llap_tensor *wanted = llap_note(g, "target", target(g, o->predict, a, sigma, in));
    llap_tensor *e = llap_note(g, "error", row_error(g, pred, wanted, in->mask));

    llap_tensor *part[2] = { in->conditional, NULL };
    if (part[0] == NULL) part[0] = llap_full(g, llap_shape_of(e), in->E == NULL ? 0.0 : 1.0);
    part[1] = llap_affine(g, part[0], -1.0, 1.0);
    llap_tensor *w = in->weight != NULL ? in->weight : weights(g, s, o, in->t, part);
    return of_parts(g, o, llap_mul(g, w, e), part);
}
