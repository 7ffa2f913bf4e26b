#include "model/network_store.h"

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* -------- which tensors there are: small inputs, the real networks -------- */

static void declare_pair(ll_graph *g, const char *name, ll_shape shape)
{
    ll_scope_push(g, name);
    ll_state(g, "mean", shape, LL_INIT_ZERO);
    ll_state(g, "std", shape, LL_INIT_FILL(1.0));
    ll_scope_pop(g);
}

static void declare_vae(ll_graph *g, const ll_network_config *c)
{
    const ll_vae_config v = ll_network_vae(c, false);
    const int64_t       n = v.n_entities > 0 ? v.n_entities : 1;
    ll_tensor          *ent = ll_input(g, "ent", LL_SHAPE(1, n));
    ll_scope_push(g, "vae");
    ll_vae_encode(g, &v, ll_input(g, "tok", LL_SHAPE(1, 1, n, 2 * v.channels)), ent);
    ll_vae_decode(g, &v, ll_input(g, "z", LL_SHAPE(1, 1, v.latent)), ent);
    ll_scope_pop(g);
}

static void declare_summarizer(ll_graph *g, const ll_network_config *c)
{
    const ll_summarizer_config s = ll_network_summarizer(c, false);
    const ll_shape             x = LL_SHAPE(1, s.context, s.n_entities, s.features);
    const ll_history           h = { .x = ll_input(g, "x", x),
                                     .dx = ll_input(g, "dx", x),
                                     .dt = ll_input(g, "dt", LL_SHAPE(1, s.context, s.n_entities)) };
    ll_scope_push(g, "summarizer");
    ll_summarize(g, &s, &h);
    ll_scope_pop(g);
}

static void declare_denoiser(ll_graph *g, const ll_network_config *c, int64_t S)
{
    const ll_denoiser_config *d = &c->denoiser;
    const bool                stream = d->stream == LL_STREAM_TOKENS;
    const int64_t             F = d->query_features;
    assert(S > 0 || !c->options.cond_adapter);
    ll_scope_push(g, "denoiser");
    ll_denoiser_in in = { .z = ll_input(g, "z", LL_SHAPE(1, 1, d->data_dim)),
                          .tq = ll_input(g, "tq", LL_SHAPE(1, 1)) };
    if (S > 0) in.E = ll_input(g, "E", LL_SHAPE(1, S, d->hidden_dim));
    if (S > 0 && !stream) in.E_raw = ll_input(g, "E_raw", LL_SHAPE(1, S, d->hidden_dim));
    if (d->self_conditioning) in.sc = ll_input(g, "sc", LL_SHAPE(1, 1, d->data_dim));
    if (stream) in.time = ll_input(g, "time", LL_SHAPE(1));
    else in.t = ll_input_int(g, "t", LL_SHAPE(1));
    if (stream && F > 0) in.f = ll_input(g, "f", LL_SHAPE(1, 1, F));
    ll_denoiser(g, d, &in);
    if (c->options.cond_adapter) {
        ll_scope_push(g, "cond_adapter");
        ll_context_adapt(g, &c->adapter, in.E_raw, ll_input(g, "stats", LL_SHAPE(1, S, 3)));
        ll_scope_pop(g);
    }
    ll_scope_pop(g);
}

/* The reference's checkpoints carry the tables of the noise process. */
static const char *const schedule_tables[] = { "betas",           "alphas",
                                               "alpha_bars",      "sqrt_alphas",
                                               "sqrt_alpha_bars", "sqrt_one_minus_alpha_bars" };
enum { N_TABLES = sizeof schedule_tables / sizeof *schedule_tables, BETAS = 0, ALPHA_BARS = 2 };

/* "ema.X" for every parameter X that training averages. */
static void declare_ema(ll_graph *g, const ll_network_config *c)
{
    const int n = ll_graph_n_leaves(g);
    for (int i = 0; i < n; i++) {
        const ll_leaf_info l = ll_graph_leaf(g, i);
        const bool         mine = strncmp(l.name, "denoiser.", 9) == 0 ||
                          (c->options.joint_summarizer && strncmp(l.name, "summarizer.", 11) == 0);
        if (l.leaf != LL_LEAF_PARAM || !mine) continue;
        char name[256];
        snprintf(name, sizeof name, "ema.%s", l.name);
        ll_state(g, name, l.shape, l.init);
    }
}

static void declare_reference(ll_graph *g, const ll_network_config *c)
{
    const ll_network_options *o = &c->options;
    const ll_denoiser_config *d = &c->denoiser;
    if (o->latent == LL_LATENT_SET_VAE) {
        declare_vae(g, c);
        declare_pair(g, "latent", LL_SHAPE(o->latent_rows, d->data_dim));
    }
    if (o->conditioning) declare_summarizer(g, c);
    if (o->conditioning && o->cond_norm == LL_COND_NORM_FIXED)
        declare_pair(g, "cond", LL_SHAPE(d->hidden_dim));
    declare_denoiser(g, c, o->conditioning ? c->summarizer.tokens : 0);
    ll_scope_push(g, "denoiser.scheduler");
    for (int i = 0; i < N_TABLES; i++)
        ll_state(g, schedule_tables[i], LL_SHAPE(d->timesteps), LL_INIT_ZERO);
    ll_scope_pop(g);
    if (o->ema) declare_ema(g, c);
    declare_pair(g, "scale.y", LL_SHAPE(c->n_entities + 1, c->n_targets));
}

static void declare_member(ll_graph *g, const ll_network_config *c)
{
    const ll_patch_config *p = &c->patches;
    assert(c->profile == LL_PROFILE_DEFAULT);
    const ll_patch_in in = { .tokens = ll_input(g, "tokens", LL_SHAPE(1, p->tokens, p->token_dim)),
                             .entity =
                                 p->entities > 0 ? ll_input_int(g, "entity", LL_SHAPE(1)) : NULL };
    ll_scope_push(g, "summarizer");
    if (c->options.conditioning) ll_patch_summary(g, p, &in);
    ll_scope_pop(g);
    declare_denoiser(g, c, c->options.conditioning ? p->tokens : 0);
}

void ll_network_declare(ll_graph *g, const ll_network_config *c)
{
    if (c->profile == LL_PROFILE_REFERENCE) declare_reference(g, c);
    for (int64_t i = 0; c->profile == LL_PROFILE_DEFAULT && i < c->options.members; i++) {
        ll_scope_pushf(g, "member.%lld", (long long)i);
        declare_member(g, c);
        ll_scope_pop(g);
    }
    if (c->n_inputs > 0) declare_pair(g, "scale.x", LL_SHAPE(c->n_entities + 1, c->n_inputs));
}

/* -------- the container -------- */

/* A store of the same layout as every backend's that computes in floats. */
static const ll_backend floats = { .name = "floats", .real_bytes = sizeof(float) };

static llap_status copy_inputs(ll_network *n, const char *const *input)
{
    const char **copy = ll_arena_new(&n->arena, (size_t)n->config.n_inputs, sizeof *copy);
    if (copy == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n->config.n_inputs; i++)
        if ((copy[i] = ll_arena_strndup(&n->arena, input[i], strlen(input[i]))) == NULL)
            return LLAP_ENOMEM;
    n->input = copy;
    n->n_inputs = n->config.n_inputs;
    return LLAP_OK;
}

static void fill(ll_params *p, const char *name, float v)
{
    const ll_param_info *i = ll_params_find(p, name);
    for (int64_t k = 0; i != NULL && k < i->count; k++) ((float *)i->data)[k] = v;
}

llap_status ll_network_create_from(const ll_network_config *c, const ll_graph *g,
                                   const char *const *input, ll_network **out)
{
    *out = NULL;
    ll_network *n = ll_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    n->config = *c;
    n->config.sampling.solver.predict = c->noise.prediction;
    llap_status st = copy_inputs(n, input);
    if (st == LLAP_OK) st = ll_params_create(g, &floats, &n->params);
    if (st == LLAP_OK) {
        static const char *const ones[] = { "scale.x.std", "scale.y.std", "latent.std",
                                            "cond.std" };
        for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) fill(n->params, ones[i], 1.0f);
        *out = n;
    } else {
        ll_network_destroy(n);
    }
    return st;
}

llap_status ll_network_create(const ll_network_config *c, const char *const *input,
                              ll_network **out)
{
    *out = NULL;
    ll_graph   *g = NULL;
    llap_status st = ll_network_config_check(c);
    if (st == LLAP_OK) st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_network_declare(g, c);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_network_create_from(c, g, input, out);
    ll_graph_destroy(g);
    if (st == LLAP_OK && (st = ll_network_noise(*out)) != LLAP_OK) {
        ll_network_destroy(*out);
        *out = NULL;
    }
    return st;
}

void ll_network_destroy(ll_network *n)
{
    if (n == NULL) return;
    ll_params_destroy(n->params);
    ll_schedule_destroy(n->schedule);
    ll_arena_deinit(&n->arena);
    ll_free(n);
}

/* -------- the noise process -------- */

static float *schedule_table(const ll_network *n, int i)
{
    char name[64];
    assert(i >= 0 && i < N_TABLES);
    snprintf(name, sizeof name, "denoiser.scheduler.%s", schedule_tables[i]);
    const ll_param_info *p = ll_params_find(n->params, name);
    return p == NULL ? NULL : p->data;
}

static void tables_of(const ll_schedule *s, const float *out[N_TABLES])
{
    const float *all[N_TABLES] = { s->beta,       s->alpha,          s->alpha_bar,
                                   s->sqrt_alpha, s->sqrt_alpha_bar, s->sqrt_one_minus_alpha_bar };
    memcpy((void *)out, (const void *)all, sizeof all);
}

llap_status ll_network_noise(ll_network *n)
{
    if (n->config.profile != LL_PROFILE_REFERENCE) return LLAP_OK;
    assert(n->schedule == NULL);
    const int64_t     T = n->config.denoiser.timesteps;
    const float      *table[N_TABLES];
    const llap_status st = ll_schedule_create(n->config.noise.schedule, T, &n->schedule);
    if (st != LLAP_OK) return st;
    tables_of(n->schedule, table);
    for (int i = 0; i < N_TABLES; i++) {
        assert(schedule_table(n, i) != NULL); /* as ll_network_declare says */
        memcpy(schedule_table(n, i), table[i], (size_t)T * sizeof(float));
    }
    return LLAP_OK;
}

llap_status ll_network_noise_loaded(ll_network *n)
{
    if (n->config.profile != LL_PROFILE_REFERENCE) return LLAP_OK;
    const int64_t T = n->config.denoiser.timesteps;
    const float  *expected[N_TABLES];
    assert(schedule_table(n, BETAS) != NULL && schedule_table(n, ALPHA_BARS) != NULL);
    ll_schedule_destroy(n->schedule); /* of a container that was fresh before */
    n->schedule = NULL;
    llap_status st =
        ll_schedule_from(schedule_table(n, BETAS), schedule_table(n, ALPHA_BARS), T, &n->schedule);
    if (st != LLAP_OK) return ll_fail_in(st, "denoiser.scheduler");
    tables_of(n->schedule, expected);
    for (int i = 0; i < N_TABLES && st == LLAP_OK; i++) {
        const float *found = schedule_table(n, i);
        for (int64_t t = 0; t < T && st == LLAP_OK; t++)
            if (!(fabsf(found[t] - expected[i][t]) <= 1e-5f))
                st = ll_fail(LLAP_EFORMAT,
                             "denoiser.scheduler.%s: element %lld: expected %g by the betas and "
                             "alpha_bars, found %g",
                             schedule_tables[i], (long long)t, (double)expected[i][t],
                             (double)found[t]);
    }
    return st;
}

/* -------- a fresh model -------- */

/* Members differ by their names: what a name draws depends on seed and name. */
llap_status ll_network_start(ll_network *n, uint64_t seed, double unit_hours)
{
    const ll_network_config *c = &n->config;
    llap_status              st = LLAP_OK;
    ll_params_init(n->params, seed);
    for (int64_t i = 0; st == LLAP_OK && i < c->options.members; i++) {
        const ll_network_prefix p = ll_network_prefix_of(c, i);
        const uint64_t          own = seed + 0x9e3779b97f4a7c15u * (uint64_t)i;
        if (c->profile == LL_PROFILE_REFERENCE)
            ll_summarizer_start(n->params, &c->summarizer, p.summarizer);
        st = c->profile == LL_PROFILE_DEFAULT && unit_hours > 0
                 ? ll_denoiser_init_calendar(n->params, p.denoiser, own, unit_hours)
                 : ll_denoiser_init(n->params, p.denoiser, own);
    }
    if (st != LLAP_OK) return st;
    ll_params_start_ema(n->params);
    ll_schedule_destroy(n->schedule);
    n->schedule = NULL;
    return ll_network_noise(n);
}

/* -------- looking at it -------- */

ll_network_prefix ll_network_prefix_of(const ll_network_config *c, int64_t member)
{
    ll_network_prefix p = { "denoiser.", "summarizer." };
    assert(member >= 0 && member < c->options.members);
    if (c->profile == LL_PROFILE_REFERENCE) return p;
    snprintf(p.denoiser, sizeof p.denoiser, "member.%lld.denoiser.", (long long)member);
    snprintf(p.summarizer, sizeof p.summarizer, "member.%lld.summarizer.", (long long)member);
    return p;
}

ll_params_part ll_network_part(const ll_network_config *c)
{
    return c->options.answer_ema ? LL_PARAMS_EMA : LL_PARAMS_MODEL;
}

llap_status ll_network_points(const ll_network *n, int64_t steps, ll_points *out)
{
    const ll_sampling *s = &n->config.sampling;
    const int          count = (int)(steps > 0 ? steps : s->steps);
    assert(count >= 1);
    assert(n->schedule != NULL || n->config.profile == LL_PROFILE_DEFAULT);
    switch (s->list) {
    case LL_LIST_REFERENCE:
        return ll_points_reference(n->schedule, count, s->rho, out);
    case LL_LIST_HONEST:
        return ll_points_honest(n->schedule, count, out);
    case LL_LIST_GATHERED:
        if (n->config.profile == LL_PROFILE_DEFAULT) break;
        return ll_points_gathered(n->schedule, count, out);
    case LL_LIST_CONTINUOUS:
        break;
    }
    return ll_points_continuous(count, s->first, s->last, s->list == LL_LIST_GATHERED, out);
}

void ll_network_origin(const ll_network_config *c, float *tq, int64_t B, int64_t h)
{
    assert(B >= 0 && h >= 0);
    for (int64_t b = 0; c->options.query_origin == LL_ORIGIN_FIRST_QUERY && b < B; b++)
        for (int64_t r = h - 1; r >= 0; r--) tq[b * h + r] -= tq[b * h];
}
