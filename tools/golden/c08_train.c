/* One step of training: c08_train_step. Loss, gradients, clipping, AdamW and EMA in training mode.
 */
#include "golden.h"

#include "nn/optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static ll_loss_in inputs(golden *c)
{
    return (ll_loss_in){ .z0 = golden_input(c, "mu_norm"),
                         .eps = golden_input(c, "noise"),
                         .t = golden_input_int(c, "t"),
                         .mask = golden_input(c, "obs_any"),
                         .tq = golden_input(c, "dt"),
                         .E = golden_input(c, "cond_summary"),
                         .E_raw = golden_input(c, "cond_summary_raw"),
                         .conditional = golden_input(c, "m_cond"),
                         .training = true };
}

static ll_loss_opts loss_options(golden *c)
{
    return (ll_loss_opts){
        .predict = (ll_prediction)golden_choice(c, "predict_type", ll_prediction_names),
        .min_snr = true,
        .gamma = golden_real(c, "minsnr_gamma"),
        .normalize = (ll_weight_norm)golden_choice(c, "minsnr_normalize", ll_weight_norm_names),
        .self_condition = golden_int(c, "use_sc") != 0,
    };
}

/* Outputs, gradients and the step. */
static void describe(golden *c, ll_tensor *loss)
{
    static const char *const noted[] = { "error", "weights_raw", "weights", "sc_feat" };
    ll_graph                *g = c->graph;
    ll_train_attr            attr = LL_TRAIN_DEFAULT;
    golden_output(c, "out.loss", loss);
    golden_mid(c, "out.loss_c", "loss_c");
    golden_mid(c, "out.loss_u", "loss_u");
    golden_mid(c, "mid.v_target", "target");
    golden_output(c, "out.raw_loss", ll_mean(g, ll_noted(g, "error"), LL_ALL_AXES));
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++)
        if (ll_noted(g, noted[i]) != NULL) ll_output(g, noted[i], ll_noted(g, noted[i]));
    golden_noted(c);

    const int   n = ll_graph_n_params(g);
    ll_tensor **all = ll_arena_new(&c->arena, 2 * (size_t)n + 1, sizeof *all);
    for (int i = 0; all != NULL && i < n; i++) all[i] = ll_graph_param(g, i);
    if (all == NULL) return;
    ll_gradients(g, loss, all, n, all + n);
    for (int i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof name, "grad.%s", ll_tensor_name(all[i]));
        golden_output(c, name, all[n + i]);
    }
    attr.weight_decay = golden_real(c, "weight_decay");
    attr.clip = golden_real(c, "grad_clip");
    attr.ema = golden_real(c, "ema_decay");
    ll_nn_step(g, loss, all, all + n, n, &attr);
}

/* The rows of one kind of a noted value, as mid.<to>_c and mid.<to>_u. */
static void compare_rows(golden *c, const char *noted, const char *to)
{
    int64_t       count = 0, B = golden_dim(c, "in.m_cond", 0);
    const double *x = golden_result(c, noted, &count), *flags = golden_values(c, "in.m_cond");
    double       *part = golden_new(c, count);
    for (int kind = 0; kind < 2 && x != NULL && part != NULL; kind++) {
        char          name[64];
        int64_t       n = 0;
        const int64_t one = count / B;
        for (int64_t k = 0; k < count; k++)
            if ((flags[k / one] != 0.0) == (kind == 0)) part[n++] = x[k];
        snprintf(name, sizeof name, "mid.%s_%c", to, kind == 0 ? 'c' : 'u');
        golden_compare(c, name, part, n, NULL);
    }
}

/* README: the move is near lr sign(gradient); where the gradient is rounding noise, so is the move.
 * The value itself rounds by half a unit in its last place. */
static void compare_after(golden *c, const ll_param_info *p, double lr)
{
    static const double noise[] = { 1e-5, 1e-3, 3e-2 }; /* of the largest gradient, by precision */
    char                name[256], grad[256];
    snprintf(name, sizeof name, "%s%s", strncmp(p->name, "ema.", 4) == 0 ? "" : "after.", p->name);
    snprintf(grad, sizeof grad, "grad.%s", p->name);
    double *found = golden_new(c, p->count), *allowed = NULL;
    for (int64_t k = 0; found != NULL && k < p->count; k++)
        found[k] = ll_param_get(c->params, p, k);
    if (golden_has(c, grad)) {
        const double *g = golden_values(c, grad);
        allowed = golden_new(c, p->count);
        for (int64_t k = 0; g != NULL && allowed != NULL && k < p->count; k++)
            allowed[k] = (fabs(g[k]) > noise[c->precision] * c->top_grad ? 0.02 : 2.0) * lr +
                         1.2e-7 * fabs(found[k]);
    }
    golden_compare(c, name, found, p->count, allowed);
}

void golden_train_step(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    const ll_loss_in         in = inputs(c);
    const ll_loss_opts       o = loss_options(c);
    ll_schedule             *s = golden_schedule(c, "scheduler.");
    const ll_lr              schedule = { .kind = LL_LR_WARMUP_CONSTANT,
                                          .base = golden_real(c, "base_lr"),
                                          .min = golden_real(c, "min_lr"),
                                          .warmup = golden_real(c, "warmup_frac"),
                                          .total = golden_int(c, "total_steps") };
    double                   lr = ll_lr_at(&schedule, 0), step = 1.0, next;
    if (c->status == LLAP_OK) describe(c, ll_diffusion_loss(c->graph, &cfg, s, &o, &in));
    ll_schedule_destroy(s);
    golden_plan(c);
    golden_load(c);
    if (c->status != LLAP_OK) return;
    ll_params_start_ema(c->params);
    for (int i = 0; i < ll_params_count(c->params); i++) { /* the shadow starts at a half */
        const ll_param_info *p = ll_params_at(c->params, i);
        for (int64_t k = 0; strncmp(p->name, "ema.", 4) == 0 && k < p->count; k++)
            ll_param_set(c->params, p, k, 0.5 * ll_param_get(c->params, p, k));
    }
    golden_bind(c);
    golden_bind_values(c, "lr", &lr, 1);
    golden_bind_values(c, "step", &step, 1);
    golden_exec(c);
    golden_compare_outputs(c);
    int64_t       one = 0;
    const double *norm = golden_result(c, "grad_norm", &one);
    next = ll_lr_at(&schedule, 1);
    golden_compare(c, "out.grad_norm", norm, one, NULL);
    golden_compare(c, "out.lr", &lr, 1, NULL);
    golden_compare(c, "out.lr_next", &next, 1, NULL);
    compare_rows(c, "error", "per_sample_raw");
    compare_rows(c, "weights_raw", "weights_raw");
    compare_rows(c, "weights", "weights");
    compare_rows(c, "sc_feat", "sc_feat");
    for (int i = 0; i < ll_params_count(c->params); i++)
        compare_after(c, ll_params_at(c->params, i), lr);
}
