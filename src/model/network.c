#include "model/network_store.h"

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -------- which tensors there are: small inputs, the real networks -------- */

static void declare_pair(llap_graph *g, const char *name, llap_shape shape)
{
    llap_scope_push(g, name);
    llap_state(g, "mean", shape, LLAP_INIT_ZERO);
    llap_state(g, "std", shape, LLAP_INIT_FILL(1.0));
    llap_scope_pop(g);
}

static void declare_vae(llap_graph *g, const llap_network_config *c)
{
    const llap_vae_config v = llap_network_vae(c, false);
    const int64_t         n = v.n_entities > 0 ? v.n_entities : 1;
    llap_tensor          *ent = llap_input(g, "ent", LLAP_SHAPE(1, n));
    llap_scope_push(g, "vae");
    llap_vae_encode(g, &v, llap_input(g, "tok", LLAP_SHAPE(1, 1, n, 2 * v.channels)), ent);
    llap_vae_decode(g, &v, llap_input(g, "z", LLAP_SHAPE(1, 1, v.latent)), ent);
    llap_scope_pop(g);
}

static void declare_summarizer(llap_graph *g, const llap_network_config *c)
{
    const llap_summarizer_config s = llap_network_summarizer(c, false);
    const llap_shape             x = LLAP_SHAPE(1, s.context, s.n_entities, s.features);
    const llap_history           h = { .x = llap_input(g, "x", x),
                                       .dx = llap_input(g, "dx", x),
                                       .dt = llap_input(g, "dt", LLAP_SHAPE(1, s.context, s.n_entities)) };
    llap_scope_push(g, "summarizer");
    llap_summarize(g, &s, &h);
    llap_scope_pop(g);
}

static void declare_denoiser(llap_graph *g, const llap_network_config *c, int64_t S)
{
    const llap_denoiser_config *d = &c->denoiser;
    const bool                  stream = d->stream == LLAP_STREAM_TOKENS;
    const int64_t               F = d->query_features;
    llap_scope_push(g, "denoiser");
    llap_denoiser_in in = { .z = llap_input(g, "z", LLAP_SHAPE(1, 1, d->data_dim)),
                            .tq = llap_input(g, "tq", LLAP_SHAPE(1, 1)) };
    if (S > 0) in.E = llap_input(g, "E", LLAP_SHAPE(1, S, d->hidden_dim));
    if (S > 0 && !stream) in.E_raw = llap_input(g, "E_raw", LLAP_SHAPE(1, S, d->hidden_dim));
    if (d->self_conditioning) in.sc = llap_input(g, "sc", LLAP_SHAPE(1, 1, d->data_dim));
    if (stream) in.time = llap_input(g, "time", LLAP_SHAPE(1));
    else in.t = llap_input_int(g, "t", LLAP_SHAPE(1));
    if (stream && F > 0) in.f = llap_input(g, "f", LLAP_SHAPE(1, 1, F));
    llap_denoiser(g, d, &in);
    if (c->options.cond_adapter) {
        llap_scope_push(g, "cond_adapter");
        llap_context_adapt(g, &c->adapter, in.E_raw, llap_input(g, "stats", LLAP_SHAPE(1, S, 3)));
        llap_scope_pop(g);
    }
    llap_scope_pop(g);
}

/* The reference's checkpoints carry the tables of the noise process. */
static const char *const schedule_tables[] = { "betas",           "alphas",
                                               "alpha_bars",      "sqrt_alphas",
                                               "sqrt_alpha_bars", "sqrt_one_minus_alpha_bars" };
enum { N_TABLES = sizeof schedule_tables / sizeof *schedule_tables, BETAS = 0, ALPHA_BARS = 2 };

/* "ema.X" for every parameter X that training averages. */
static void declare_ema(llap_graph *g, const llap_network_config *c)
{
    const int n = llap_graph_n_leaves(g);
    for (int i = 0; i < n; i++) {
        const llap_leaf_info l = llap_graph_leaf(g, i);
        const bool           mine = strncmp(l.name, "denoiser.", 9) == 0 ||
                          (c->options.joint_summarizer && strncmp(l.name, "summarizer.", 11) == 0);
        if (l.leaf != LLAP_LEAF_PARAM || !mine) continue;
        char name[256];
        snprintf(name, sizeof name, "ema.%s", l.name);
        llap_state(g, name, l.shape, l.init);
    }
}

static void declare_reference(llap_graph *g, const llap_network_config *c)
{
    const llap_network_options *o = &c->options;
    const llap_denoiser_config *d = &c->denoiser;
    if (o->latent == LLAP_LATENT_SET_VAE) {
        declare_vae(g, c);
        declare_pair(g, "latent", LLAP_SHAPE(o->latent_rows, d->data_dim));
    }
    if (o->conditioning) declare_summarizer(g, c);
    if (o->conditioning && o->cond_norm == LLAP_COND_NORM_FIXED)
        declare_pair(g, "cond", LLAP_SHAPE(d->hidden_dim));
    declare_denoiser(g, c, o->conditioning ? c->summarizer.tokens : 0);
    llap_scope_push(g, "denoiser.scheduler");
    for (int i = 0; i < N_TABLES; i++)
        llap_state(g, schedule_tables[i], LLAP_SHAPE(d->timesteps), LLAP_INIT_ZERO);
    llap_scope_pop(g);
    if (o->ema) declare_ema(g, c);
    declare_pair(g, "scale.y", LLAP_SHAPE(c->n_entities + 1, c->n_targets));
}

static void declare_member(llap_graph *g, const llap_network_config *c)
{
    const llap_patch_config *p = &c->patches;
    const llap_patch_in      in = {
             .tokens = llap_input(g, "tokens", LLAP_SHAPE(1, p->tokens, p->token_dim)),
             .entity = p->entities > 0 ? llap_input_int(g, "entity", LLAP_SHAPE(1)) : NULL
    };
    llap_scope_push(g, "summarizer");
    if (c->options.conditioning) llap_patch_summary(g, p, &in);
    llap_scope_pop(g);
    declare_denoiser(g, c, c->options.conditioning ? p->tokens : 0);
}

void llap_network_declare(llap_graph *g, const llap_network_config *c)
{
    if (c->profile == LLAP_PROFILE_REFERENCE) declare_reference(g, c);
    for (int64_t i = 0; c->profile == LLAP_PROFILE_DEFAULT && i < c->options.members; i++) {
        llap_scope_pushf(g, "member.%lld", (long long)i);
        declare_member(g, c);
        llap_scope_pop(g);
    }
    if (c->n_inputs > 0) declare_pair(g, "scale.x", LLAP_SHAPE(c->n_entities + 1, c->n_inputs));
}

/* -------- the container -------- */

/* A store of the same layout as every backend's that computes in floats. */
static const llap_backend floats = { .name = "floats", .real_bytes = sizeof(float) };

static llap_status copy_inputs(llap_network *n, const char *const *input)
{
    const char **copy = llap_arena_new(&n->arena, (size_t)n->config.n_inputs, sizeof *copy);
    if (copy == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n->config.n_inputs; i++)
        if ((copy[i] = llap_arena_strndup(&n->arena, input[i], strlen(input[i]))) == NULL)
            return LLAP_ENOMEM;
    n->input = copy;
    n->n_inputs = n->config.n_inputs;
    return LLAP_OK;
}

static void fill(llap_params *p, const char *name, float v)
{
    const llap_param_info *i = llap_params_find(p, name);
    for (int64_t k = 0; i != NULL && k < i->count; k++) ((float *)i->data)[k] = v;
}

llap_status llap_network_create_from(const llap_network_config *c, const llap_graph *g,
                                     const char *const *input, llap_network **out)
{
    *out = NULL;
    llap_network *n = llap_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    n->config = *c;
    n->config.sampling.solver.predict = c->noise.prediction;
    llap_status st = copy_inputs(n, input);
    if (st == LLAP_OK) st = llap_params_create(g, &floats, &n->params);
    if (st == LLAP_OK) {
        static const char *const ones[] = { "scale.x.std", "scale.y.std", "latent.std",
                                            "cond.std" };
        for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) fill(n->params, ones[i], 1.0f);
        *out = n;
    } else {
        llap_network_destroy(n);
    }
    return st;
}

llap_status llap_network_create(const llap_network_config *c, const char *const *input,
                                llap_network **out)
{
    *out = NULL;
    llap_graph *g = NULL;
    llap_status st = llap_network_config_check(c);
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_network_declare(g, c);
    st = llap_graph_status(g);
    if (st == LLAP_OK) st = llap_network_create_from(c, g, input, out);
    llap_graph_destroy(g);
    if (st == LLAP_OK && (st = llap_network_noise(*out)) != LLAP_OK) {
        llap_network_destroy(*out);
        *out = NULL;
    }
    return st;
}

void llap_network_destroy(llap_network *n)
{
    if (n == NULL) return;
    llap_params_destroy(n->params);
    llap_schedule_destroy(n->schedule);
    llap_arena_deinit(&n->arena);
    llap_free(n);
}

/* -------- the noise process -------- */

static float *schedule_table(const llap_network *n, int i)
{
    char name[64];
    snprintf(name, sizeof name, "denoiser.scheduler.%s", schedule_tables[i]);
    const llap_param_info *p = llap_params_find(n->params, name);
    return p == NULL ? NULL : p->data;
}

static void tables_of(const llap_schedule *s, const float *out[N_TABLES])
{
    const float *all[N_TABLES] = { s->beta,       s->alpha,          s->alpha_bar,
                                   s->sqrt_alpha, s->sqrt_alpha_bar, s->sqrt_one_minus_alpha_bar };
    memcpy((void *)out, (const void *)all, sizeof all);
}

llap_status llap_network_noise(llap_network *n)
{
    if (n->config.profile != LLAP_PROFILE_REFERENCE) return LLAP_OK;
    const int64_t     T = n->config.denoiser.timesteps;
    const float      *table[N_TABLES];
    const llap_status st = llap_schedule_create(n->config.noise.schedule, T, &n->schedule);
    if (st != LLAP_OK) return st;
    tables_of(n->schedule, table);
    for (int i = 0; i < N_TABLES; i++)
        memcpy(schedule_table(n, i), table[i], (size_t)T * sizeof(float));
    return LLAP_OK;
}

llap_status llap_network_noise_loaded(llap_network *n)
{
    if (n->config.profile != LLAP_PROFILE_REFERENCE) return LLAP_OK;
    const int64_t T = n->config.denoiser.timesteps;
    const float  *expected[N_TABLES];
    llap_schedule_destroy(n->schedule); /* of a container that was fresh before */
    n->schedule = NULL;
    llap_status st = llap_schedule_from(schedule_table(n, BETAS), schedule_table(n, ALPHA_BARS), T,
                                        &n->schedule);
    if (st != LLAP_OK) return llap_fail_in(st, "denoiser.scheduler");
    tables_of(n->schedule, expected);
    for (int i = 0; i < N_TABLES && st == LLAP_OK; i++) {
        const float *found = schedule_table(n, i);
        for (int64_t t = 0; t < T && st == LLAP_OK; t++)
            if (!(fabsf(found[t] - expected[i][t]) <= 1e-5f))
                st = llap_fail(LLAP_EFORMAT,
                               "denoiser.scheduler.%s: element %lld: expected %g by the betas and "
                               "alpha_bars, found %g",
                               schedule_tables[i], (long long)t, (double)expected[i][t],
                               (double)found[t]);
    }
    return st;
}

/* -------- a fresh model -------- */

/* Members differ by their names: what a name draws depends on seed and name. */
llap_status llap_network_start(llap_network *n, uint64_t seed, double unit_hours)
{
    const llap_network_config *c = &n->config;
    llap_status                st = LLAP_OK;
    llap_params_init(n->params, seed);
    for (int64_t i = 0; st == LLAP_OK && i < c->options.members; i++) {
        const llap_network_prefix p = llap_network_prefix_of(c, i);
        const uint64_t            own = seed + 0x9e3779b97f4a7c15u * (uint64_t)i;
        if (c->profile == LLAP_PROFILE_REFERENCE)
            llap_summarizer_start(n->params, &c->summarizer, p.summarizer);
        st = c->profile == LLAP_PROFILE_DEFAULT && unit_hours > 0
                 ? llap_denoiser_init_calendar(n->params, p.denoiser, own, unit_hours)
                 : llap_denoiser_init(n->params, p.denoiser, own);
    }
    if (st != LLAP_OK) return st;
    llap_params_start_ema(n->params);
    llap_schedule_destroy(n->schedule);
    n->schedule = NULL;
    return llap_network_noise(n);
}

/* -------- looking at it -------- */

llap_network_prefix llap_network_prefix_of(const llap_network_config *c, int64_t member)
{
    llap_network_prefix p = { "denoiser.", "summarizer." };
    if (c->profile == LLAP_PROFILE_REFERENCE) return p;
    snprintf(p.denoiser, sizeof p.denoiser, "member.%lld.denoiser.", (long long)member);
    snprintf(p.summarizer, sizeof p.summarizer, "member.%lld.summarizer.", (long long)member);
    return p;
}

llap_params_part llap_network_part(const llap_network_config *c)
{
    return c->options.answer_ema ? LLAP_PARAMS_EMA : LLAP_PARAMS_MODEL;
}

llap_status llap_network_points(const llap_network *n, int64_t steps, llap_points *out)
{
    const llap_sampling *s = &n->config.sampling;
    const int            count = (int)(steps > 0 ? steps : s->steps);
    switch (s->list) {
    case LLAP_LIST_REFERENCE:
        return llap_points_reference(n->schedule, count, s->rho, out);
    case LLAP_LIST_HONEST:
        return llap_points_honest(n->schedule, count, out);
    case LLAP_LIST_GATHERED:
        if (n->config.profile == LLAP_PROFILE_DEFAULT) break;
        return llap_points_gathered(n->schedule, count, out);
    case LLAP_LIST_CONTINUOUS:
        break;
    }
    return llap_points_continuous(count, s->first, s->last, s->list == LLAP_LIST_GATHERED, out);
}

void llap_network_origin(const llap_network_config *c, float *tq, int64_t B, int64_t h)
{
    for (int64_t b = 0; c->options.query_origin == LLAP_ORIGIN_FIRST_QUERY && b < B; b++)
        for (int64_t r = h - 1; r >= 0; r--) tq[b * h + r] -= tq[b * h];
}
