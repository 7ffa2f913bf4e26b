/* Whole samplings with the reference's noise: c07; each in one plan, in halves, and folded. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "diffusion/denoiser_steps.h"

#include <stdio.h>
#include <string.h>

typedef struct sampling {
    golden            *c;
    ll_denoiser_config cfg;
    ll_sampler_opts    o;
    ll_extent          e;
    const ll_backend  *backend; /* of floats */
    ll_params         *params;
    ll_points          list;
    ll_sample_io       io;
    const float       *tq, *E, *E_raw;
    int64_t            S, n; /* numbers of a state */
    double            *x_t, *pred_c, *pred_u, *with_u;
    float             *out;
    int                n_u; /* steps with an unconditional pass */
} sampling;

static void read_options(sampling *s)
{
    golden     *c = s->c;
    const char *text = ll_tensors_metadata(c->file, "cfg.guidance");
    double     *g = s->o.guidance;
    s->cfg = golden_denoiser_config(c);
    s->o.predict = (ll_prediction)golden_choice(c, "predict_type", ll_prediction_names);
    s->o.guidance_power = golden_real(c, "guidance_power");
    s->o.guidance_rescale = golden_int(c, "cfg_rescale") != 0;
    s->o.eta = golden_real(c, "eta");
    s->o.threshold_p = golden_real(c, "dynamic_thresh_p");
    s->o.threshold_max = golden_real(c, "dynamic_thresh_max");
    s->o.self_condition = golden_int(c, "self_cond") != 0;
    const int found = text == NULL ? 0 : sscanf(text, "[%lf, %lf]", &g[0], &g[1]);
    if (found == 0 && text != NULL && sscanf(text, "%lf", &g[0]) == 1) g[1] = g[0];
    else if (found != 2) golden_fail(c, LLAP_EFORMAT, "cfg.guidance is not understood");
}

static const float *maybe(sampling *s, const char *tensor)
{
    ll_tensor_info t;
    return ll_tensors_find(s->c->file, tensor, &t) && t.dtype == LL_F32 ? t.data : NULL;
}

static void read_inputs(sampling *s)
{
    const ll_shape shape = golden_shape(s->c, "in.noise_init");
    ll_tensor_info keep;
    s->e = (ll_extent){ shape.dim[0], 1, shape.dim[1], shape.dim[2] };
    s->n = ll_shape_count(&shape);
    s->tq = maybe(s, "in.dt");
    s->E = maybe(s, "in.cond_summary");
    s->E_raw = maybe(s, "in.cond_summary_raw");
    if (s->E != NULL) s->S = golden_dim(s->c, "in.cond_summary", 1);
    s->io.init = maybe(s, "in.noise_init");
    s->io.step = maybe(s, "in.noise_step");
    s->io.obs_init = maybe(s, "in.noise_obs_init");
    s->io.obs_step = maybe(s, "in.noise_obs_step");
    s->io.y_obs = maybe(s, "in.y_obs");
    if (ll_tensors_find(s->c->file, "in.obs_mask", &keep)) { /* [B,h]: all channels of a step */
        uint8_t *each = (uint8_t *)golden_new(s->c, s->n);
        for (int64_t k = 0; each != NULL && k < s->n; k++)
            each[k] = ((const uint8_t *)keep.data)[k / s->e.Z];
        s->io.keep = each;
    }
    if (s->tq == NULL) golden_fail(s->c, LLAP_EFORMAT, "no in.dt");
}

/* A store of all parameters with the file's values. */
static void read_params(sampling *s)
{
    static const char *const ignore[] = { "scheduler.", NULL };
    golden                  *c = s->c;
    ll_graph                *g = c->graph;
    const ll_denoiser_in     in = { .z = ll_input(g, "z", LL_SHAPE(1, 2, s->cfg.data_dim)),
                                    .t = ll_input_int(g, "t", LL_SHAPE(1)),
                                    .E = ll_input(g, "E", LL_SHAPE(1, 2, s->cfg.hidden_dim)) };
    ll_denoiser(g, &s->cfg, &in);
    if (c->status == LLAP_OK) c->status = ll_params_create(g, s->backend, &s->params);
    if (c->status == LLAP_OK)
        c->status = ll_params_load(s->params, LL_PARAMS_MODEL, c->file,
                                   &(ll_load_opts){ .prefix = "param.", .ignore = ignore });
    if (c->status == LLAP_OK) c->status = ll_params_push(s->params);
}

static void watch(void *user, int i, const float *x, const float *pred_c, const float *pred_u)
{
    sampling *s = user;
    for (int64_t k = 0; k < s->n; k++) {
        s->x_t[i * s->n + k] = (double)x[k];
        s->pred_c[i * s->n + k] = (double)pred_c[k];
        if (pred_u != NULL) s->pred_u[s->n_u * s->n + k] = (double)pred_u[k];
    }
    if (pred_u != NULL) s->with_u[s->n_u++] = i;
}

static void compare(sampling *s)
{
    golden *c = s->c;
    double *y = golden_new(c, s->n > s->list.n ? s->n : s->list.n);
    for (int64_t k = 0; y != NULL && k < s->n; k++) y[k] = (double)s->out[k];
    golden_compare(c, "out.sample", y, s->n, NULL);
    golden_compare(c, "mid.x_t", s->x_t, s->n * s->list.n, NULL);
    golden_compare(c, "mid.pred_c", s->pred_c, s->n * s->list.n, NULL);
    golden_compare(c, "mid.pred_u", s->pred_u, s->n * s->n_u, NULL);
    golden_compare(c, "mid.pred_u_step", s->with_u, s->n_u, NULL);
    for (int i = 0; y != NULL && i < s->list.n; i++) y[i] = s->list.at[i].time;
    golden_compare(c, "mid.step_indices", y, s->list.n, NULL);
}

static void sample_once(sampling *s, bool whole, bool folded)
{
    golden                         *c = s->c;
    ll_denoiser_steps              *d = NULL;
    const ll_prepared_denoiser_opts o = { .extent = s->e,
                                          .S = s->S,
                                          .backend = s->backend,
                                          .n_threads = c->n_threads,
                                          .whole = whole,
                                          .folded = folded,
                                          .sampler = s->o };
    s->n_u = 0;
    if (c->status == LLAP_OK) c->status = ll_denoiser_steps_create(&s->cfg, s->params, &o, &d);
    if (c->status == LLAP_OK)
        c->status = ll_denoiser_steps_windows(
            d, &(ll_prepared_denoiser_batch){ .tq = s->tq, .E = s->E, .E_raw = s->E_raw });
    if (c->status == LLAP_OK) {
        const ll_predictor p = ll_denoiser_steps_predictor(d);
        c->status = ll_sample(&s->o, &s->list, s->e, &p, &s->io, s->out);
    }
    if (c->status == LLAP_OK) compare(s);
    ll_denoiser_steps_destroy(d);
}

void golden_generate(golden *c)
{
    sampling s = { .c = c, .backend = c->backend };
    if (c->backend->real_bytes != sizeof(float)) s.backend = &ll_backend_cpu;
    read_options(&s);
    read_inputs(&s);
    read_params(&s);
    ll_schedule *schedule = golden_schedule(c, "scheduler.");
    const int    steps = (int)golden_int(c, "steps");
    if (c->status == LLAP_OK)
        c->status = ll_points_reference(schedule, steps, golden_real(c, "rho"), &s.list);
    s.x_t = golden_new(c, s.n * s.list.n);
    s.pred_c = golden_new(c, s.n * s.list.n);
    s.pred_u = golden_new(c, s.n * s.list.n);
    s.with_u = golden_new(c, s.list.n);
    s.out = (float *)golden_new(c, s.n);
    s.io.watch = watch;
    s.io.watcher = &s;
    sample_once(&s, true, false);
    sample_once(&s, false, false);
    sample_once(&s, false, true);
    ll_points_deinit(&s.list);
    ll_params_destroy(s.params);
    ll_schedule_destroy(schedule);
}
