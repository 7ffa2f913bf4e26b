/* Whole samplings with the reference's noise: c07; each in one plan, in halves, and folded. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "model/denoise.h"

#include <stdio.h>
#include <string.h>

typedef struct sampling {
    golden              *c;
    llap_denoiser_config cfg;
    llap_sampler_opts    o;
    llap_extent          e;
    const llap_backend  *backend; /* of floats */
    llap_params         *params;
    llap_points          list;
    llap_sample_io       io;
    const float         *tq, *E, *E_raw;
    int64_t              S, n; /* numbers of a state */
    double              *x_t, *pred_c, *pred_u, *with_u;
    float               *out;
    int                  n_u; /* steps with an unconditional pass */
} sampling;

static void read_options(sampling *s)
{
    golden     *c = s->c;
    const char *text = llap_tensors_metadata(c->file, "cfg.guidance");
    double     *g = s->o.guidance;
    s->cfg = golden_denoiser_config(c);
    s->o.predict = (llap_prediction)golden_choice(c, "predict_type", llap_prediction_names);
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
    llap_tensor_info t;
    return llap_tensors_find(s->c->file, tensor, &t) && t.dtype == LLAP_F32 ? t.data : NULL;
}

static void read_inputs(sampling *s)
{
    const llap_shape shape = golden_shape(s->c, "in.noise_init");
    llap_tensor_info keep;
    s->e = (llap_extent){ shape.dim[0], 1, shape.dim[1], shape.dim[2] };
    s->n = llap_shape_count(&shape);
    s->tq = maybe(s, "in.dt");
    s->E = maybe(s, "in.cond_summary");
    s->E_raw = maybe(s, "in.cond_summary_raw");
    if (s->E != NULL) s->S = golden_dim(s->c, "in.cond_summary", 1);
    s->io.init = maybe(s, "in.noise_init");
    s->io.step = maybe(s, "in.noise_step");
    s->io.obs_init = maybe(s, "in.noise_obs_init");
    s->io.obs_step = maybe(s, "in.noise_obs_step");
    s->io.y_obs = maybe(s, "in.y_obs");
    if (llap_tensors_find(s->c->file, "in.obs_mask", &keep)) { /* [B,h]: all channels of a step */
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
    llap_graph              *g = c->graph;
    const llap_denoiser_in   in = { .z = llap_input(g, "z", LLAP_SHAPE(1, 2, s->cfg.data_dim)),
                                    .t = llap_input_int(g, "t", LLAP_SHAPE(1)),
                                    .E = llap_input(g, "E", LLAP_SHAPE(1, 2, s->cfg.hidden_dim)) };
    llap_denoiser(g, &s->cfg, &in);
    if (c->status == LLAP_OK) c->status = llap_params_create(g, s->backend, &s->params);
    if (c->status == LLAP_OK)
        c->status = llap_params_load(s->params, LLAP_PARAMS_MODEL, c->file,
                                     &(llap_load_opts){ .prefix = "param.", .ignore = ignore });
    if (c->status == LLAP_OK) c->status = llap_params_push(s->params);
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
    golden                 *c = s->c;
    llap_denoise           *d = NULL;
    const llap_denoise_opts o = { .extent = s->e,
                                  .S = s->S,
                                  .backend = s->backend,
                                  .n_threads = c->n_threads,
                                  .guided = true,
                                  .whole = whole,
                                  .folded = folded };
    s->n_u = 0;
    if (c->status == LLAP_OK) c->status = llap_denoise_create(&s->cfg, s->params, &o, &d);
    if (c->status == LLAP_OK)
        c->status = llap_denoise_windows(
            d, &(llap_denoise_batch){ .tq = s->tq, .E = s->E, .E_raw = s->E_raw });
    if (c->status == LLAP_OK) {
        const llap_predictor p = llap_denoise_predictor(d);
        c->status = llap_sample(&s->o, &s->list, s->e, &p, &s->io, s->out);
    }
    if (c->status == LLAP_OK) compare(s);
    llap_denoise_destroy(d);
}

void golden_generate(golden *c)
{
    sampling s = { .c = c, .backend = c->backend };
    if (c->backend->real_bytes != sizeof(float)) s.backend = &llap_backend_cpu;
    read_options(&s);
    read_inputs(&s);
    read_params(&s);
    llap_schedule *schedule = golden_schedule(c, "scheduler.");
    const int      steps = (int)golden_int(c, "steps");
    if (c->status == LLAP_OK)
        c->status = llap_points_reference(schedule, steps, golden_real(c, "rho"), &s.list);
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
    llap_points_deinit(&s.list);
    llap_params_destroy(s.params);
    llap_schedule_destroy(schedule);
}
