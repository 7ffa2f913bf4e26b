#include "bench/rig.h"

#include "backend/cpu/cpu.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "networks/patches.h"
#include "networks/summarizer.h"
#include "networks/vae.h"
#include "nn/optim.h"

#include <stdio.h>
#include <string.h>

const char *const ll_rig_sizes[] = { "tiny", "small", "paper", NULL };

enum {
    MOST_ARRAYS = 24,
    PAPER_TOKENS = 336,
    TOKENS = 56,
    TIMESTEPS = 1000,
    ENTITIES = 9,
    FEATURES = 5
};

typedef struct array { /* made-up data, or a result */
    char     name[24];
    ll_shape shape;
    ll_elem  elem;
    void    *data;
    void    *device_data; /* a copy in the backend's memory, or NULL */
} array;

struct ll_rig {
    ll_rig_opts           o;
    ll_denoiser_config    c;
    ll_patch_config       p;   /* default profile */
    int64_t               S;   /* summary tokens */
    ll_schedule          *sch; /* reference profile */
    ll_params            *params;
    ll_plan              *plan; /* forward, step; of a forecast: the summary */
    ll_run               *run;
    ll_prepared_denoiser *denoiser;
    ll_points             list;
    array                 in[MOST_ARRAYS];
    int                   n_in;
    float                *samples; /* of a forecast, [rows,samples,h,Z] */
    double                products;
};

static bool is_apart(const ll_rig *r) { return r->o.backend->memory != NULL; }
static bool is_reference(const ll_rig *r) { return r->o.size == LL_RIG_PAPER; }

/* -------- made-up data -------- */

/* An input of that name: uniform noise, or what the name asks for. Its place, or NULL. */
static void *make_up(ll_rig *r, const char *name, ll_shape shape, ll_elem elem)
{
    for (int i = 0; i < r->n_in; i++)
        if (strcmp(r->in[i].name, name) == 0) return r->in[i].data;
    if (r->n_in == MOST_ARRAYS) return NULL;
    array        *a = &r->in[r->n_in];
    const int64_t n = ll_shape_count(&shape), h = shape.rank > 0 ? shape.dim[shape.rank - 1] : 1;
    float        *x = ll_new_aligned((size_t)n, sizeof *x);
    if (x == NULL) return NULL;
    *a = (array){ .shape = shape, .elem = elem, .data = x };
    snprintf(a->name, sizeof a->name, "%s", name);
    r->n_in++;
    const ll_rng g = ll_rng_make(1, LL_STREAM_TEST, ll_hash(0, name, strlen(name)), 0, 0);
    ll_rng_fill_normal(&g, 0, (size_t)n, x);
    for (int64_t i = 0; i < n; i++) {
        if (strstr(name, "pad") != NULL) x[i] = 0.0f;
        else if (strcmp(name, "mask") == 0) x[i] = i % 7 != 3 ? 1.0f : 0.0f;
        else if (strcmp(name, "tq") == 0) x[i] = (float)(1 + i % h);
        else if (strcmp(name, "time") == 0) x[i] = (0.5f + (float)i) / (float)n;
        else if (strcmp(name, "conditional") == 0) x[i] = i % 5 == 4 ? 0.0f : 1.0f;
        else if (strcmp(name, "lr") == 0) x[i] = 1e-4f;
        else if (strcmp(name, "step") == 0) ((int32_t *)(void *)x)[i] = 1;
        else if (elem == LL_INT)
            ((int32_t *)(void *)x)[i] = (int32_t)(1 + (i * 397 + 131) % (TIMESTEPS - 1));
    }
    return x;
}

/* Binds a copy that lies where the backend computes. */
static llap_status bind_copy(ll_rig *r, ll_run *run, const char *name, const void *x, int64_t n)
{
    for (int i = 0; i < r->n_in; i++) {
        array *a = &r->in[i];
        if (a->data != x) continue;
        const size_t n_bytes = (size_t)n * sizeof(float);
        llap_status  st = LLAP_OK;
        if (a->device_data == NULL) st = ll_device_alloc(r->o.backend, n_bytes, &a->device_data);
        if (st == LLAP_OK) st = ll_device_put(r->o.backend, a->device_data, x, n_bytes);
        return st == LLAP_OK ? ll_run_bind_device(run, name, a->device_data, n) : st;
    }
    return LLAP_ENOTFOUND;
}

static llap_status bind_inputs(ll_rig *r, const ll_plan *p, ll_run *run)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_plan_n_slots(p) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(p, i);
        if (s->leaf != LL_LEAF_INPUT) continue;
        const int64_t n = ll_shape_count(&s->shape);
        void         *x = make_up(r, s->name, s->shape, s->elem);
        if (x == NULL) return LLAP_ENOMEM;
        st = is_apart(r) ? bind_copy(r, run, s->name, x, n) : ll_run_bind(run, s->name, x, n);
    }
    return st;
}

/* Beginnings are zeros in places, where a comparison would not see a mistake: moved a little. */
static void stir(ll_params *p)
{
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *a = ll_params_at(p, i);
        if (a->leaf != LL_LEAF_PARAM) continue;
        const ll_rng g = ll_rng_make(2, LL_STREAM_TEST, ll_hash(0, a->name, strlen(a->name)), 0, 0);
        for (int64_t k = 0; k < a->count; k++)
            ((float *)a->data)[k] += 0.02f * ll_rng_normal(&g, (uint64_t)k);
    }
}

/* -------- networks -------- */

static ll_tensor *summary(const ll_rig *r, ll_graph *g, bool training, ll_tensor **pad)
{
    const int64_t B = r->o.rows;
    *pad = ll_input(g, "E_pad", LL_SHAPE(B, r->S));
    const ll_patch_in in = { .tokens = ll_input(g, "tokens", LL_SHAPE(B, r->S, r->p.token_dim)),
                             .pad = *pad,
                             .training = training };
    ll_scope_push(g, "summarizer");
    ll_tensor *E = ll_patch_summary(g, &r->p, &in);
    ll_scope_pop(g);
    return E;
}

static ll_tensor *network(const ll_rig *r, ll_graph *g, bool training)
{
    const int64_t  B = r->o.rows, h = r->o.horizon, F = r->c.query_features;
    const ll_shape z = LL_SHAPE(B, h, r->c.data_dim), row = LL_SHAPE(B, h);
    ll_loss_in     in = { .z0 = ll_input(g, "z0", z),
                          .eps = ll_input(g, "eps", z),
                          .mask = ll_input(g, "mask", row),
                          .tq = ll_input(g, "tq", row),
                          .training = training };
    if (is_reference(r)) {
        const ll_loss_opts o = { .predict = LL_PREDICT_V, .min_snr = true, .gamma = 5.0 };
        in.t = ll_input_int(g, "t", LL_SHAPE(B));
        in.E = ll_input(g, "E", LL_SHAPE(B, r->S, r->c.hidden_dim));
        if (training) in.conditional = ll_input(g, "conditional", LL_SHAPE(B));
        return ll_diffusion_loss(g, &r->c, r->sch, &o, &in);
    }
    const ll_loss_opts o = { .predict = LL_PREDICT_V };
    in.time = ll_input(g, "time", LL_SHAPE(B));
    in.f = ll_input(g, "f", LL_SHAPE(B, h, F));
    in.pad = ll_input(g, "pad", row);
    in.E = summary(r, g, training, &in.E_pad);
    return ll_diffusion_loss(g, &r->c, NULL, &o, &in);
}

/* The reference's summarizer and decoder, of ENTITIES entities. */
static ll_tensor *paper_summary(const ll_rig *r, ll_graph *g)
{
    ll_summarizer_config c = LL_SUMMARIZER_PAPER;
    const int64_t        B = r->o.rows, l = PAPER_TOKENS;
    const ll_shape       all = LL_SHAPE(B, l, ENTITIES, FEATURES);
    const ll_history h = { .x = ll_input(g, "values", all), .dx = ll_input(g, "differences", all) };
    c.n_entities = ENTITIES;
    c.features = FEATURES;
    c.context = c.tokens = l;
    return ll_summarize(g, &c, &h).context;
}

static ll_tensor *decoded(const ll_rig *r, ll_graph *g)
{
    ll_vae_config c = LL_VAE_PAPER;
    const int64_t B = r->o.rows * r->o.samples;
    c.latent = r->c.data_dim;
    c.n_entities = ENTITIES;
    return ll_vae_decode(g, &c, ll_input(g, "z", LL_SHAPE(B, r->o.horizon, c.latent)),
                         ll_full(g, LL_SHAPE(B, ENTITIES), 1.0));
}

static ll_tensor *one_part(const ll_rig *r, ll_graph *g)
{
    ll_tensor *pad;
    if (r->o.what == LL_RIG_DECODE) return decoded(r, g);
    return is_reference(r) ? paper_summary(r, g) : summary(r, g, false, &pad);
}

static llap_status make_plan(ll_rig *r, ll_graph *g)
{
    const ll_plan_opts o = { .backend = r->o.backend,
                             .n_threads = r->o.n_threads,
                             .beside = r->o.what == LL_RIG_STEP };
    llap_status        st = ll_plan_create(g, &o, &r->plan);
    if (st == LLAP_OK) st = ll_run_create(r->plan, &r->run);
    if (st == LLAP_OK) st = ll_params_bind(r->params, LL_PARAMS_MODEL, r->plan, r->run);
    return st == LLAP_OK ? bind_inputs(r, r->plan, r->run) : st;
}

static llap_status make_params(ll_rig *r, const ll_graph *g)
{
    llap_status st = ll_params_create(g, r->o.backend, &r->params);
    if (st != LLAP_OK) return st;
    ll_params_init(r->params, 1);
    const bool denoiser = r->o.what < LL_RIG_SUMMARY;
    if (denoiser) st = ll_denoiser_init(r->params, "", 1);
    stir(r->params);
    if (st == LLAP_OK && denoiser && is_reference(r)) st = ll_params_power_iterate(r->params, 20);
    ll_params_start_ema(r->params);
    return st == LLAP_OK ? ll_params_push(r->params) : st;
}

static llap_status make_network(ll_rig *r)
{
    const bool  train = r->o.what == LL_RIG_STEP;
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    const bool part = r->o.what == LL_RIG_SUMMARY || r->o.what == LL_RIG_DECODE;
    ll_tensor *loss = part ? one_part(r, g) : network(r, g, train);
    ll_output(g, part ? "y" : "loss", loss);
    if (train) ll_nn_train(g, loss, &LL_TRAIN_DEFAULT);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = make_params(r, g);
    if (st == LLAP_OK) st = make_plan(r, g);
    ll_graph_destroy(g);
    return st;
}

/* -------- a forecast -------- */

static llap_status make_list(ll_rig *r)
{
    const int         n = r->o.steps > 0 ? r->o.steps : is_reference(r) ? 64 : 12;
    const llap_status st = !is_reference(r) ? ll_points_continuous(n, 0.995, 0.005, false, &r->list)
                           : r->o.honest    ? ll_points_honest(r->sch, n, &r->list)
                                         : ll_points_reference(r->sch, n, LL_KARRAS_RHO, &r->list);
    if (st == LLAP_OK && r->o.first > 0 && r->o.first < r->list.n) r->list.n = r->o.first;
    return st;
}

/* The summary of the default profile is a plan of its own. */
static llap_status make_summary(ll_rig *r)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *pad;
    ll_output(g, "E", summary(r, g, false, &pad));
    st = make_plan(r, g);
    ll_graph_destroy(g);
    return st;
}

static ll_sampler_opts sampler_of(const ll_rig *r)
{
    ll_sampler_opts o = is_reference(r) ? LL_SAMPLER_REFERENCE : LL_SAMPLER_DEFAULT;
    o.solver = r->o.solver;
    return o;
}

static llap_status make_forecast(ll_rig *r)
{
    const int64_t B = r->o.rows, h = r->o.horizon, Z = r->c.data_dim, R = r->o.samples;
    const ll_prepared_denoiser_opts o = { .extent = { B, R, h, Z },
                                          .S = r->S,
                                          .backend = r->o.backend,
                                          .n_threads = r->o.n_threads,
                                          .folded = !r->o.whole,
                                          .whole = r->o.whole,
                                          .sampler = sampler_of(r) };
    ll_graph                       *g;
    llap_status                     st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    (void)network(r, g, false);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = make_params(r, g);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = make_list(r);
    if (st == LLAP_OK)
        st = ll_prepared_denoiser_create(&r->c, r->params, &o, &r->list, &r->denoiser);
    if (st == LLAP_OK && !is_reference(r)) st = make_summary(r);
    r->samples = ll_new((size_t)(B * R * h * Z), sizeof *r->samples);
    if (st == LLAP_OK && r->samples == NULL) st = LLAP_ENOMEM;
    return st;
}

static llap_status run_forecast(ll_rig *r)
{
    const int64_t   B = r->o.rows, h = r->o.horizon;
    const ll_shape  row = LL_SHAPE(B, h);
    const ll_extent e = { B, r->o.samples, h, r->c.data_dim };
    const float    *E;
    llap_status     st = LLAP_OK;
    r->products = 0.0;
    if (is_reference(r)) E = make_up(r, "E", LL_SHAPE(B, r->S, r->c.hidden_dim), LL_REAL);
    else {
        st = ll_run_exec(r->run);
        E = ll_run_output(r->run, "E", NULL);
        r->products += ll_plan_products(r->plan);
    }
    const ll_prepared_denoiser_batch w = {
        .tq = make_up(r, "tq", row, LL_REAL),
        .E = E,
        .f = is_reference(r) ? NULL : make_up(r, "f", LL_SHAPE(B, h, r->c.query_features), LL_REAL),
        .pad = is_reference(r) ? NULL : make_up(r, "pad", row, LL_REAL)
    };
    const ll_sample_io io = { .init = make_up(r, "x", LL_SHAPE(e.B, e.R, e.h, e.Z), LL_REAL) };
    if (st == LLAP_OK && (w.tq == NULL || w.E == NULL || io.init == NULL)) st = LLAP_ENOMEM;
    const double before = ll_prepared_denoiser_products(r->denoiser);
    if (st == LLAP_OK) st = ll_prepared_denoiser_sample(r->denoiser, &w, &io, r->samples);
    r->products += ll_prepared_denoiser_products(r->denoiser) - before;
    return st;
}

/* -------- the interface -------- */

static void configure(ll_rig *r)
{
    ll_rig_opts *o = &r->o;
    const bool   ref = is_reference(r);
    if (o->rows < 1) o->rows = 1;
    if (o->samples < 1) o->samples = 1;
    if (o->horizon < 1) o->horizon = 168;
    if (o->n_threads < 1) o->n_threads = 1;
    if (o->latent < 1) o->latent = ref ? 24 : 1;
    const int64_t Z = o->latent, tokens = Z > 1 ? 8 * Z + 5 : 24; /* docs/spec/anchor.md 8.2 */
    if (ref) r->c = LL_DENOISER_PAPER(Z);
    else r->c = LL_DENOISER_DEFAULT(Z, 2 + 2 * Z);
    r->p = LL_PATCH_DEFAULT(tokens, TOKENS);
    if (o->size == LL_RIG_TINY) {
        r->c.hidden_dim = r->p.hidden_dim = 32;
        r->c.laplace_k = 8;
        r->c.num_layers = r->p.num_layers = 1;
    }
    if (o->poles > 0) r->c.laplace_k = o->poles;
    if (o->no_dropout) r->c.dropout = r->p.dropout = 0.0;
    r->S = ref ? PAPER_TOKENS : TOKENS;
}

llap_status ll_rig_create(const ll_rig_opts *o, ll_rig **out)
{
    *out = NULL;
    ll_rig *r = ll_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->o = *o;
    if (r->o.backend == NULL) r->o.backend = &ll_backend_cpu;
    configure(r);
    llap_status st =
        is_reference(r) ? ll_schedule_create(LL_SCHEDULE_COSINE, TIMESTEPS, &r->sch) : LLAP_OK;
    if (st == LLAP_OK) st = o->what == LL_RIG_FORECAST ? make_forecast(r) : make_network(r);
    if (st == LLAP_OK) *out = r;
    else ll_rig_destroy(r);
    return st;
}

void ll_rig_destroy(ll_rig *r)
{
    if (r == NULL) return;
    ll_prepared_denoiser_destroy(r->denoiser);
    ll_run_destroy(r->run);
    ll_plan_release(r->plan);
    ll_params_destroy(r->params);
    ll_points_deinit(&r->list);
    ll_schedule_destroy(r->sch);
    for (int i = 0; i < r->n_in; i++) {
        ll_device_release(r->o.backend, r->in[i].device_data);
        ll_free(r->in[i].data);
    }
    ll_free(r->samples);
    ll_free(r);
}

llap_status ll_rig_run(ll_rig *r)
{
    const bool first = r->products == 0.0;
    if (r->o.what == LL_RIG_FORECAST) return run_forecast(r);
    return first ? ll_run_exec_counted(r->run, &r->products) : ll_run_exec(r->run);
}

void ll_rig_forget(ll_rig *r)
{
    if (r->denoiser != NULL) ll_prepared_denoiser_forget(r->denoiser);
}

double ll_rig_products(const ll_rig *r) { return r->products; }
int    ll_rig_steps(const ll_rig *r) { return r->list.n > 0 ? r->list.n : 1; }

size_t ll_rig_bytes(const ll_rig *r)
{
    size_t n = r->plan == NULL ? 0 : ll_plan_workspace(r->plan);
    if (r->denoiser != NULL) n += ll_prepared_denoiser_bytes(r->denoiser);
    for (int i = 0; i < ll_params_count(r->params); i++)
        n += (size_t)ll_params_at(r->params, i)->count * sizeof(float);
    return n;
}

const ll_plan *ll_rig_plan(const ll_rig *r)
{
    return r->o.what == LL_RIG_FORECAST ? NULL : r->plan;
}

ll_run *ll_rig_inner_run(ll_rig *r) { return r->o.what == LL_RIG_FORECAST ? NULL : r->run; }

ll_params *ll_rig_params(const ll_rig *r) { return r->params; }

static llap_status export_one(ll_tensors_writer *w, const char *kind, const char *name,
                              ll_elem elem, const ll_shape *s, const void *data)
{
    char full[256];
    snprintf(full, sizeof full, "%s.%s", kind, name);
    return ll_tensors_writer_add(w, full, elem == LL_INT ? LL_I32 : LL_F32, s->rank, s->dim, data);
}

llap_status ll_rig_export(const ll_rig *r, ll_tensors_writer *w)
{
    llap_status    st = ll_params_save(r->params, LL_PARAMS_MODEL, "w.", w);
    const ll_shape one = LL_SHAPE(1);
    for (int i = 0; i < r->n_in && st == LLAP_OK; i++)
        st = export_one(w, "in", r->in[i].name, r->in[i].elem, &r->in[i].shape, r->in[i].data);
    if (st == LLAP_OK && r->samples != NULL) {
        const ll_shape s = LL_SHAPE(r->o.rows, r->o.samples, r->o.horizon, r->c.data_dim);
        return export_one(w, "out", "samples", LL_REAL, &s, r->samples);
    }
    static const char *const names[] = { "loss", "grad_norm" };
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        const void *x = ll_run_output(r->run, names[i], NULL);
        if (x != NULL) st = export_one(w, "out", names[i], LL_REAL, &one, x);
    }
    return st;
}
