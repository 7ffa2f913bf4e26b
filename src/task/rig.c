#include "task/rig.h"

#include "backend/cpu/cpu.h"
#include "backend/near.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "model/patches.h"
#include "model/summarizer.h"
#include "model/vae.h"
#include "nn/optim.h"

#include <stdio.h>
#include <string.h>

const char *const llap_rig_sizes[] = { "tiny", "small", "paper", NULL };

enum {
    MOST_ARRAYS = 24,
    PAPER_TOKENS = 336,
    TOKENS = 56,
    TIMESTEPS = 1000,
    ENTITIES = 9,
    FEATURES = 5
};

typedef struct array { /* made-up data, or a result */
    char       name[24];
    llap_shape shape;
    llap_elem  elem;
    void      *data;
    void      *near; /* a copy in the backend's memory, or NULL */
} array;

struct llap_rig {
    llap_rig_opts        o;
    llap_denoiser_config c;
    llap_patch_config    p;   /* default profile */
    int64_t              S;   /* summary tokens */
    llap_schedule       *sch; /* reference profile */
    llap_params         *params;
    llap_plan           *plan; /* forward, step; of a forecast: the summary */
    llap_run            *run;
    llap_denoise        *denoise;
    llap_planned        *planned; /* instead, on backends with memory of their own */
    llap_points          list;
    array                in[MOST_ARRAYS];
    int                  n_in;
    float               *samples; /* of a forecast, [rows,samples,h,Z] */
    double               products;
};

static bool is_apart(const llap_rig *r) { return r->o.backend->memory != NULL; }
static bool is_reference(const llap_rig *r) { return r->o.size == LLAP_RIG_PAPER; }

/* -------- made-up data -------- */

/* An input of that name: uniform noise, or what the name asks for. Its place, or NULL. */
static void *make_up(llap_rig *r, const char *name, llap_shape shape, llap_elem elem)
{
    for (int i = 0; i < r->n_in; i++)
        if (strcmp(r->in[i].name, name) == 0) return r->in[i].data;
    if (r->n_in == MOST_ARRAYS) return NULL;
    array        *a = &r->in[r->n_in];
    const int64_t n = llap_shape_count(&shape), h = shape.rank > 0 ? shape.dim[shape.rank - 1] : 1;
    float        *x = llap_new_aligned((size_t)n, sizeof *x);
    if (x == NULL) return NULL;
    *a = (array){ .shape = shape, .elem = elem, .data = x };
    snprintf(a->name, sizeof a->name, "%s", name);
    r->n_in++;
    const llap_rng g = llap_rng_make(1, LLAP_STREAM_TEST, llap_hash(0, name, strlen(name)), 0, 0);
    llap_rng_fill_normal(&g, 0, (size_t)n, x);
    for (int64_t i = 0; i < n; i++) {
        if (strstr(name, "pad") != NULL) x[i] = 0.0f;
        else if (strcmp(name, "mask") == 0) x[i] = i % 7 != 3 ? 1.0f : 0.0f;
        else if (strcmp(name, "tq") == 0) x[i] = (float)(1 + i % h);
        else if (strcmp(name, "time") == 0) x[i] = (0.5f + (float)i) / (float)n;
        else if (strcmp(name, "conditional") == 0) x[i] = i % 5 == 4 ? 0.0f : 1.0f;
        else if (strcmp(name, "lr") == 0) x[i] = 1e-4f;
        else if (strcmp(name, "step") == 0) ((int32_t *)(void *)x)[i] = 1;
        else if (elem == LLAP_INT)
            ((int32_t *)(void *)x)[i] = (int32_t)(1 + (i * 397 + 131) % (TIMESTEPS - 1));
    }
    return x;
}

/* Binds a copy that lies where the backend computes. */
static llap_status bind_copy(llap_rig *r, llap_run *run, const char *name, const void *x, int64_t n)
{
    for (int i = 0; i < r->n_in; i++) {
        array *a = &r->in[i];
        if (a->data != x) continue;
        const size_t n_bytes = (size_t)n * sizeof(float);
        llap_status  st = LLAP_OK;
        if (a->near == NULL) st = llap_near_alloc(r->o.backend, n_bytes, &a->near);
        if (st == LLAP_OK) st = llap_near_put(r->o.backend, a->near, x, n_bytes);
        return st == LLAP_OK ? llap_run_bind_near(run, name, a->near, n) : st;
    }
    return LLAP_ENOTFOUND;
}

static llap_status bind_inputs(llap_rig *r, const llap_plan *p, llap_run *run)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < llap_plan_n_slots(p) && st == LLAP_OK; i++) {
        const llap_slot *s = llap_plan_slot(p, i);
        if (s->leaf != LLAP_LEAF_INPUT) continue;
        const int64_t n = llap_shape_count(&s->shape);
        void         *x = make_up(r, s->name, s->shape, s->elem);
        if (x == NULL) return LLAP_ENOMEM;
        st = is_apart(r) ? bind_copy(r, run, s->name, x, n) : llap_run_bind(run, s->name, x, n);
    }
    return st;
}

/* Beginnings are zeros in places, where a comparison would not see a mistake: moved a little. */
static void stir(llap_params *p)
{
    for (int i = 0; i < llap_params_count(p); i++) {
        const llap_param_info *a = llap_params_at(p, i);
        if (a->leaf != LLAP_LEAF_PARAM) continue;
        const llap_rng g =
            llap_rng_make(2, LLAP_STREAM_TEST, llap_hash(0, a->name, strlen(a->name)), 0, 0);
        for (int64_t k = 0; k < a->count; k++)
            ((float *)a->data)[k] += 0.02f * llap_rng_normal(&g, (uint64_t)k);
    }
}

/* -------- networks -------- */

static llap_tensor *summary(const llap_rig *r, llap_graph *g, bool training, llap_tensor **pad)
{
    const int64_t B = r->o.rows;
    *pad = llap_input(g, "E_pad", LLAP_SHAPE(B, r->S));
    const llap_patch_in in = { .tokens =
                                   llap_input(g, "tokens", LLAP_SHAPE(B, r->S, r->p.token_dim)),
                               .pad = *pad,
                               .training = training };
    llap_scope_push(g, "summarizer");
    llap_tensor *E = llap_patch_summary(g, &r->p, &in);
    llap_scope_pop(g);
    return E;
}

static llap_tensor *network(const llap_rig *r, llap_graph *g, bool training)
{
    const int64_t    B = r->o.rows, h = r->o.horizon, F = r->c.query_features;
    const llap_shape z = LLAP_SHAPE(B, h, r->c.data_dim), row = LLAP_SHAPE(B, h);
    llap_loss_in     in = { .z0 = llap_input(g, "z0", z),
                            .eps = llap_input(g, "eps", z),
                            .mask = llap_input(g, "mask", row),
                            .tq = llap_input(g, "tq", row),
                            .training = training };
    if (is_reference(r)) {
        const llap_loss_opts o = { .predict = LLAP_PREDICT_V, .min_snr = true, .gamma = 5.0 };
        in.t = llap_input_int(g, "t", LLAP_SHAPE(B));
        in.E = llap_input(g, "E", LLAP_SHAPE(B, r->S, r->c.hidden_dim));
        if (training) in.conditional = llap_input(g, "conditional", LLAP_SHAPE(B));
        return llap_diffusion_loss(g, &r->c, r->sch, &o, &in);
    }
    const llap_loss_opts o = { .predict = LLAP_PREDICT_V };
    in.time = llap_input(g, "time", LLAP_SHAPE(B));
    in.f = llap_input(g, "f", LLAP_SHAPE(B, h, F));
    in.pad = llap_input(g, "pad", row);
    in.E = summary(r, g, training, &in.E_pad);
    return llap_diffusion_loss(g, &r->c, NULL, &o, &in);
}

/* The reference's summarizer and decoder, of ENTITIES entities. */
static llap_tensor *paper_summary(const llap_rig *r, llap_graph *g)
{
    llap_summarizer_config c = LLAP_SUMMARIZER_PAPER;
    const int64_t          B = r->o.rows, l = PAPER_TOKENS;
    const llap_shape       all = LLAP_SHAPE(B, l, ENTITIES, FEATURES);
    const llap_history     h = { .x = llap_input(g, "values", all),
                                 .dx = llap_input(g, "differences", all) };
    c.n_entities = ENTITIES;
    c.features = FEATURES;
    c.context = c.tokens = l;
    return llap_summarize(g, &c, &h).context;
}

static llap_tensor *decoded(const llap_rig *r, llap_graph *g)
{
    llap_vae_config c = LLAP_VAE_PAPER;
    const int64_t   B = r->o.rows * r->o.samples;
    c.latent = r->c.data_dim;
    c.n_entities = ENTITIES;
    return llap_vae_decode(g, &c, llap_input(g, "z", LLAP_SHAPE(B, r->o.horizon, c.latent)),
                           llap_full(g, LLAP_SHAPE(B, ENTITIES), 1.0));
}

static llap_tensor *one_part(const llap_rig *r, llap_graph *g)
{
    llap_tensor *pad;
    if (r->o.what == LLAP_RIG_DECODE) return decoded(r, g);
    return is_reference(r) ? paper_summary(r, g) : summary(r, g, false, &pad);
}

static llap_status make_plan(llap_rig *r, llap_graph *g)
{
    const llap_plan_opts o = { .backend = r->o.backend,
                               .n_threads = r->o.n_threads,
                               .beside = r->o.what == LLAP_RIG_STEP };
    llap_status          st = llap_plan_create(g, &o, &r->plan);
    if (st == LLAP_OK) st = llap_run_create(r->plan, &r->run);
    if (st == LLAP_OK) st = llap_params_bind(r->params, LLAP_PARAMS_MODEL, r->plan, r->run);
    return st == LLAP_OK ? bind_inputs(r, r->plan, r->run) : st;
}

static llap_status make_params(llap_rig *r, const llap_graph *g)
{
    llap_status st = llap_params_create(g, r->o.backend, &r->params);
    if (st != LLAP_OK) return st;
    llap_params_init(r->params, 1);
    const bool denoiser = r->o.what < LLAP_RIG_SUMMARY;
    if (denoiser) st = llap_denoiser_init(r->params, "", 1);
    stir(r->params);
    if (st == LLAP_OK && denoiser && is_reference(r)) st = llap_params_power_iterate(r->params, 20);
    llap_params_start_ema(r->params);
    return st == LLAP_OK ? llap_params_push(r->params) : st;
}

static llap_status make_network(llap_rig *r)
{
    const bool  train = r->o.what == LLAP_RIG_STEP;
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    const bool   part = r->o.what == LLAP_RIG_SUMMARY || r->o.what == LLAP_RIG_DECODE;
    llap_tensor *loss = part ? one_part(r, g) : network(r, g, train);
    llap_output(g, part ? "y" : "loss", loss);
    if (train) llap_nn_train(g, loss, &LLAP_TRAIN_DEFAULT);
    st = llap_graph_status(g);
    if (st == LLAP_OK) st = make_params(r, g);
    if (st == LLAP_OK) st = make_plan(r, g);
    llap_graph_destroy(g);
    return st;
}

/* -------- a forecast -------- */

static llap_status make_list(llap_rig *r)
{
    const int         n = r->o.steps > 0 ? r->o.steps : is_reference(r) ? 64 : 12;
    const llap_status st =
        !is_reference(r) ? llap_points_continuous(n, 0.995, 0.005, false, &r->list)
        : r->o.honest    ? llap_points_honest(r->sch, n, &r->list)
                         : llap_points_reference(r->sch, n, LLAP_KARRAS_RHO, &r->list);
    if (st == LLAP_OK && r->o.first > 0 && r->o.first < r->list.n) r->list.n = r->o.first;
    return st;
}

/* The summary of the default profile is a plan of its own. */
static llap_status make_summary(llap_rig *r)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *pad;
    llap_output(g, "E", summary(r, g, false, &pad));
    st = make_plan(r, g);
    llap_graph_destroy(g);
    return st;
}

static llap_sampler_opts sampler_of(const llap_rig *r)
{
    llap_sampler_opts o = is_reference(r) ? LLAP_SAMPLER_REFERENCE : LLAP_SAMPLER_DEFAULT;
    o.solver = r->o.solver;
    return o;
}

static llap_status make_forecast(llap_rig *r)
{
    const int64_t           B = r->o.rows, h = r->o.horizon, Z = r->c.data_dim, R = r->o.samples;
    const llap_denoise_opts o = { .extent = { B, R, h, Z },
                                  .S = r->S,
                                  .backend = r->o.backend,
                                  .n_threads = r->o.n_threads,
                                  .guided = is_reference(r),
                                  .folded = !r->o.whole,
                                  .whole = r->o.whole };
    llap_graph             *g;
    llap_status             st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    (void)network(r, g, false);
    st = llap_graph_status(g);
    if (st == LLAP_OK) st = make_params(r, g);
    llap_graph_destroy(g);
    if (st == LLAP_OK) st = make_list(r);
    const llap_sampler_opts sampler = sampler_of(r);
    const bool              in_plans = is_apart(r) && llap_planned_takes(&sampler);
    if (st == LLAP_OK && !in_plans) st = llap_denoise_create(&r->c, r->params, &o, &r->denoise);
    if (st == LLAP_OK && in_plans) {
        const llap_planned_opts planned = { .extent = o.extent,
                                            .S = o.S,
                                            .backend = o.backend,
                                            .n_threads = o.n_threads,
                                            .folded = o.folded,
                                            .sampler = sampler };
        st = llap_planned_create(&r->c, r->params, &planned, &r->list, &r->planned);
    }
    if (st == LLAP_OK && !is_reference(r)) st = make_summary(r);
    r->samples = llap_new((size_t)(B * R * h * Z), sizeof *r->samples);
    if (st == LLAP_OK && r->samples == NULL) st = LLAP_ENOMEM;
    return st;
}

static llap_status run_forecast(llap_rig *r)
{
    const int64_t     B = r->o.rows, h = r->o.horizon;
    const llap_shape  row = LLAP_SHAPE(B, h);
    const llap_extent e = { B, r->o.samples, h, r->c.data_dim };
    const float      *E;
    llap_status       st = LLAP_OK;
    r->products = 0.0;
    if (is_reference(r)) E = make_up(r, "E", LLAP_SHAPE(B, r->S, r->c.hidden_dim), LLAP_REAL);
    else {
        st = llap_run_exec(r->run);
        E = llap_run_output(r->run, "E", NULL);
        r->products += llap_plan_products(r->plan);
    }
    const llap_denoise_batch w = {
        .tq = make_up(r, "tq", row, LLAP_REAL),
        .E = E,
        .f = is_reference(r) ? NULL
                             : make_up(r, "f", LLAP_SHAPE(B, h, r->c.query_features), LLAP_REAL),
        .pad = is_reference(r) ? NULL : make_up(r, "pad", row, LLAP_REAL)
    };
    const llap_sampler_opts o = sampler_of(r);
    const llap_sample_io    io = { .init =
                                       make_up(r, "x", LLAP_SHAPE(e.B, e.R, e.h, e.Z), LLAP_REAL) };
    if (st == LLAP_OK && (w.tq == NULL || w.E == NULL || io.init == NULL)) st = LLAP_ENOMEM;
    if (st == LLAP_OK && r->planned != NULL) {
        r->products += llap_planned_products(r->planned);
        return llap_planned_sample(r->planned, &w, &io, r->samples);
    }
    if (st == LLAP_OK) st = llap_denoise_windows(r->denoise, &w);
    const double before = llap_denoise_products(r->denoise);
    if (st == LLAP_OK) {
        const llap_predictor p = llap_denoise_predictor(r->denoise);
        st = llap_sample(&o, &r->list, e, &p, &io, r->samples);
    }
    r->products += llap_denoise_products(r->denoise) - before;
    return st;
}

/* -------- the interface -------- */

static void configure(llap_rig *r)
{
    llap_rig_opts *o = &r->o;
    const bool     ref = is_reference(r);
    if (o->rows < 1) o->rows = 1;
    if (o->samples < 1) o->samples = 1;
    if (o->horizon < 1) o->horizon = 168;
    if (o->n_threads < 1) o->n_threads = 1;
    if (o->latent < 1) o->latent = ref ? 24 : 1;
    const int64_t Z = o->latent, tokens = Z > 1 ? 8 * Z + 5 : 24; /* spec accuracy.md 4.6 */
    if (ref) r->c = LLAP_DENOISER_PAPER(Z);
    else r->c = LLAP_DENOISER_DEFAULT(Z, 2 + 2 * Z);
    r->p = LLAP_PATCH_DEFAULT(tokens, TOKENS);
    if (o->size == LLAP_RIG_TINY) {
        r->c.hidden_dim = r->p.hidden_dim = 32;
        r->c.laplace_k = 8;
        r->c.num_layers = r->p.num_layers = 1;
    }
    if (o->poles > 0) r->c.laplace_k = o->poles;
    if (o->no_dropout) r->c.dropout = r->p.dropout = 0.0;
    r->S = ref ? PAPER_TOKENS : TOKENS;
}

llap_status llap_rig_create(const llap_rig_opts *o, llap_rig **out)
{
    *out = NULL;
    llap_rig *r = llap_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->o = *o;
    if (r->o.backend == NULL) r->o.backend = &llap_backend_cpu;
    configure(r);
    llap_status st =
        is_reference(r) ? llap_schedule_create(LLAP_SCHEDULE_COSINE, TIMESTEPS, &r->sch) : LLAP_OK;
    if (st == LLAP_OK) st = o->what == LLAP_RIG_FORECAST ? make_forecast(r) : make_network(r);
    if (st == LLAP_OK) *out = r;
    else llap_rig_destroy(r);
    return st;
}

void llap_rig_destroy(llap_rig *r)
{
    if (r == NULL) return;
    llap_denoise_destroy(r->denoise);
    llap_planned_destroy(r->planned);
    llap_run_destroy(r->run);
    llap_plan_release(r->plan);
    llap_params_destroy(r->params);
    llap_points_deinit(&r->list);
    llap_schedule_destroy(r->sch);
    for (int i = 0; i < r->n_in; i++) {
        llap_near_release(r->o.backend, r->in[i].near);
        llap_free(r->in[i].data);
    }
    llap_free(r->samples);
    llap_free(r);
}

llap_status llap_rig_run(llap_rig *r)
{
    const bool first = r->products == 0.0;
    if (r->o.what == LLAP_RIG_FORECAST) return run_forecast(r);
    return first ? llap_run_exec_counted(r->run, &r->products) : llap_run_exec(r->run);
}

void llap_rig_forget(llap_rig *r)
{
    if (r->denoise != NULL) llap_denoise_forget(r->denoise);
}

double llap_rig_products(const llap_rig *r) { return r->products; }
int    llap_rig_steps(const llap_rig *r) { return r->list.n > 0 ? r->list.n : 1; }

size_t llap_rig_bytes(const llap_rig *r)
{
    size_t n = r->plan == NULL ? 0 : llap_plan_workspace(r->plan);
    if (r->denoise != NULL) n += llap_denoise_bytes(r->denoise);
    if (r->planned != NULL) n += llap_planned_bytes(r->planned);
    for (int i = 0; i < llap_params_count(r->params); i++)
        n += (size_t)llap_params_at(r->params, i)->count * sizeof(float);
    return n;
}

const llap_plan *llap_rig_plan(const llap_rig *r)
{
    return r->o.what == LLAP_RIG_FORECAST ? NULL : r->plan;
}

llap_run *llap_rig_inner_run(llap_rig *r) { return r->o.what == LLAP_RIG_FORECAST ? NULL : r->run; }

llap_params *llap_rig_params(const llap_rig *r) { return r->params; }

static llap_status export_one(llap_tensors_writer *w, const char *kind, const char *name,
                              llap_elem elem, const llap_shape *s, const void *data)
{
    char full[256];
    snprintf(full, sizeof full, "%s.%s", kind, name);
    return llap_tensors_writer_add(w, full, elem == LLAP_INT ? LLAP_I32 : LLAP_F32, s->rank, s->dim,
                                   data);
}

llap_status llap_rig_export(const llap_rig *r, llap_tensors_writer *w)
{
    llap_status      st = llap_params_save(r->params, LLAP_PARAMS_MODEL, "w.", w);
    const llap_shape one = LLAP_SHAPE(1);
    for (int i = 0; i < r->n_in && st == LLAP_OK; i++)
        st = export_one(w, "in", r->in[i].name, r->in[i].elem, &r->in[i].shape, r->in[i].data);
    if (st == LLAP_OK && r->samples != NULL) {
        const llap_shape s = LLAP_SHAPE(r->o.rows, r->o.samples, r->o.horizon, r->c.data_dim);
        return export_one(w, "out", "samples", LLAP_REAL, &s, r->samples);
    }
    static const char *const names[] = { "loss", "grad_norm" };
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        const void *x = llap_run_output(r->run, names[i], NULL);
        if (x != NULL) st = export_one(w, "out", names[i], LLAP_REAL, &one, x);
    }
    return st;
}
