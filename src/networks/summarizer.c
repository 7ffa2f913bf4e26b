/* docs/spec/model.md 3.2, steps 1 to 11, one function each. */
#include "networks/summarizer.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>

typedef struct work { /* of one history, axes [B,N,l,...] */
    ll_graph                   *g;
    const ll_summarizer_config *cfg;
    int64_t                     B, l, N, D;
    ll_tensor                  *x, *dx, *seen;     /* [B,N,l,D] */
    ll_tensor                  *e;                 /* [B,N,1,1] */
    ll_tensor                  *u;                 /* [B,l,N] */
    ll_tensor                  *mix;               /* [B,N,l,d_mix] */
    ll_tensor                  *v_sig, *t_sig, *o; /* [B,N,l,1] */
    ll_tensor                  *times;             /* Time2Vec, [B,N,l,d_t] */
    ll_tensor                  *bias;              /* of the pooling scores, [B,l,S]; or NULL */
} work;

static ll_tensor *entity_first(ll_graph *g, ll_tensor *x) /* [B,l,N,...] -> [B,N,l,...] */
{
    if (x == NULL) return NULL;
    return ll_permute(g, x, (const int[]){ 0, 2, 1, 3 }); /* its own inverse */
}

static ll_tensor *by_entity(ll_graph *g, ll_tensor *t) /* [B,l,N] -> [B,N,l] */
{
    return t == NULL ? NULL : ll_permute(g, t, (const int[]){ 0, 2, 1 });
}

/* entmean: mean over the present entities. a [B,N,l,W] -> [B,l,W] */
static ll_tensor *entity_mean(const work *w, ll_tensor *a)
{
    ll_tensor *mean = ll_masked_mean(w->g, a, w->e, LL_AXIS(1));
    return ll_squeeze(w->g, mean, LL_AXIS(1));
}

static void add_bias(work *w, ll_tensor *per_entity) /* [B,N,l,S] */
{
    ll_tensor *mean = entity_mean(w, per_entity);
    w->bias = w->bias == NULL ? mean : ll_add(w->g, w->bias, mean);
}

/* Times 0, 1, .., l-1 for everyone. -> [B,l,N] */
static ll_tensor *grid(ll_graph *g, int64_t B, int64_t l, int64_t N)
{
    double *step = ll_new((size_t)l, sizeof *step);
    if (step == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t j = 0; j < l; j++) step[j] = (double)j;
    ll_tensor *t = ll_constant(g, LL_SHAPE(1, l, 1), step);
    ll_free(step);
    return ll_expand(g, t, LL_SHAPE(B, l, N));
}

/* rel_j = dt_j - dt_0 */
static ll_tensor *times_since_first(ll_graph *g, ll_tensor *dt, int64_t B, int64_t l, int64_t N)
{
    if (dt == NULL) dt = grid(g, B, l, N);
    return ll_sub(g, dt, ll_slice(g, dt, 1, 0, 1));
}

ll_tensor *ll_unit_times(ll_graph *g, ll_tensor *dt, int64_t B, int64_t l, int64_t N)
{
    ll_tensor *rel = times_since_first(g, dt, B, l, N);
    ll_tensor *span = ll_max(g, rel, LL_AXIS(1));
    return ll_div(g, rel, ll_maximum(g, span, ll_full(g, LL_SCALAR, 1.0)));
}

/* x_{j-1}, and x_0 for the first. x [B,N,l,D] */
static ll_tensor *before(ll_graph *g, ll_tensor *x)
{
    const int64_t l = ll_dim(x, 2);
    ll_tensor    *part[] = { ll_slice(g, x, 2, 0, 1), ll_slice(g, x, 2, 0, l - 1) };
    return l > 1 ? ll_concat(g, part, 2, 2) : x;
}

/* Step 1: only present entities; the observation mask is applied to x and dx only as an option. */
static work prepare(ll_graph *g, const ll_summarizer_config *cfg, const ll_history *h)
{
    work w = { .g = g, .cfg = cfg, .B = ll_dim(h->x, 0), .l = ll_dim(h->x, 1) };
    w.N = ll_dim(h->x, 2);
    w.D = ll_dim(h->x, 3);
    ll_tensor *ent = h->ent, *obs = h->obs;
    if (ent == NULL) ent = ll_full(g, LL_SHAPE(w.B, w.N), 1.0);
    if (obs == NULL) obs = ll_full(g, LL_SHAPE(w.B, w.l, w.N, w.D), 1.0);
    w.e = ll_reshape(g, ent, LL_SHAPE(w.B, w.N, 1, 1));
    w.x = ll_mask(g, entity_first(g, h->x), w.e);
    w.dx = ll_mask(g, entity_first(g, h->dx), w.e);
    w.seen = ll_mul(g, entity_first(g, obs), w.e);
    if (!cfg->masked_input) return w;
    w.x = ll_mask(g, w.x, w.seen);
    w.dx = ll_mask(g, w.dx, ll_mul(g, w.seen, before(g, w.seen)));
    return w;
}

/* mix_j = GELU(LN(b + sum_k W_k x_{j+k-(K-1)/2})) along time */
static ll_tensor *mixer(const work *w, const char *conv, const char *norm, ll_tensor *x)
{
    ll_tensor *c = ll_nn_conv1d(w->g, conv, x, w->cfg->mix, w->cfg->kernel);
    return ll_gelu(w->g, ll_nn_norm(w->g, norm, c)); /* [B,N,l,d_mix] */
}

/* Step 3: the differences join the mixed values, or shift the pooling. The projection is part of
 * the checkpoint in every mode but none. */
static void add_t_tokens(work *w)
{
    ll_graph        *g = w->g;
    const ll_t_token mode = w->cfg->t_token;
    if (mode == LL_T_TOKEN_NONE) return;
    ll_tensor *tm = mixer(w, "t_input_mixer", "t_mixer_norm", w->dx);
    ll_tensor *shift = ll_nn_linear_from(g, "t_pool_bias_proj", tm, w->cfg->tokens,
                                         LL_INIT_NORMAL(0.01), LL_INIT_ZERO);
    if (mode != LL_T_TOKEN_BIAS) w->mix = ll_add(g, w->mix, ll_scale(g, tm, w->cfg->t_scale));
    if (mode != LL_T_TOKEN_RESIDUAL) add_bias(w, shift);
}

/* Step 4: a scalar per step and entity. x [B,N,l,D] -> [B,N,l,1] */
static ll_tensor *proxy(const work *w, const char *name, ll_tensor *x)
{
    const ll_nn_mlp_opts opts = { .hidden = w->cfg->proxy_hidden, .width = 1, .norm = true };
    return ll_nn_mlp(w->g, name, x, &opts);
}

/* Step 7: gaps and missingness join the mixed values and shift the pooling. */
static void add_irregular(work *w)
{
    if (!w->cfg->irregular_pooling) return;
    ll_graph      *g = w->g;
    ll_nn_mlp_opts opts = { .hidden = w->cfg->irregular_hidden, .norm = true, .last_std = 0.01 };
    ll_tensor     *parts[] = { w->t_sig, w->o, w->times };
    ll_tensor     *q = ll_concat(g, parts, 3, -1); /* [B,N,l,2+d_t] */
    opts.width = w->cfg->mix;
    ll_tensor *residual = ll_nn_mlp(g, "irreg_proj", q, &opts);
    w->mix = ll_add(g, w->mix, ll_scale(g, residual, w->cfg->irregular_scale));
    opts.width = w->cfg->tokens;
    add_bias(w, ll_nn_mlp(g, "pool_bias_proj", q, &opts));
}

/* A token that the ablation takes away is there and 0. */
static ll_tensor *without(ll_graph *g, bool off, ll_tensor *x)
{
    return off ? ll_scale(g, x, 0.0) : x;
}

/* Step 8: f = [mix, v_sig, t_sig, o, T2V], to a width that the heads divide, with positions. */
static ll_tensor *features(const work *w)
{
    ll_graph     *g = w->g;
    ll_tensor    *parts[] = { without(g, w->cfg->no_port_token, w->mix),
                              without(g, w->cfg->no_dynamics_token, w->v_sig),
                              without(g, w->cfg->no_dynamics_token, w->t_sig),
                              without(g, w->cfg->no_temporal_token, w->o),
                              without(g, w->cfg->no_temporal_token, w->times) };
    ll_tensor    *f = ll_concat(g, parts, 5, -1); /* [B,N,l,d_enc] */
    const int64_t n = w->cfg->n_heads > 0 ? w->cfg->n_heads : 1, d = ll_dim(f, -1);
    if (d % n != 0) f = ll_nn_linear(g, "input_pad", f, (d / n + 1) * n);
    else ll_note(g, "input_pad", f);
    if (w->cfg->position == LL_POSITION_ROTARY) return f;
    ll_tensor *table =
        ll_param(g, "pos_embedding", LL_SHAPE(1, w->l, ll_dim(f, -1)), LL_INIT_NORMAL(0.02));
    return ll_add(g, f, table);
}

/* Step 9: post-norm layers over time, for each entity by itself. */
static ll_tensor *encode_history(const work *w, ll_tensor *f)
{
    ll_graph          *g = w->g;
    const double       steps = w->l > 2 ? (double)(w->l - 1) : 1.0;
    ll_nn_encoder_opts opts = { .attn = { .n_heads = w->cfg->n_heads, .dropout = w->cfg->dropout },
                                .ff = 4 * ll_dim(f, -1),
                                .dropout = w->cfg->dropout,
                                .rotary_base = w->cfg->rotary_base };
    if (w->cfg->position != LL_POSITION_LEARNED)
        opts.times = ll_note(g, "rope_t", ll_scale(g, by_entity(g, w->u), steps));
    for (int i = 0; i < w->cfg->n_layers; i++) {
        ll_scope_pushf(g, "history_encoder.layers.%d", i);
        f = ll_nn_encoder_layer(g, "", f, &opts);
        ll_scope_pop(g);
    }
    return f;
}

/* Step 11: E_s = sum_j softmax_j(LN(tok_j) . LN0(query_s) / sqrt(H) + bias) tok_j. That is one head
 * of attention from the queries to the steps, too wide for kernels of heads. tok [B,l,H] -> [B,S,H]
 */
static ll_tensor *pool(const work *w, ll_tensor *tok)
{
    ll_graph     *g = w->g;
    const int64_t S = w->cfg->tokens, H = w->cfg->width;
    const double  scale = 1.0 / sqrt((double)(H > 0 ? H : 1));
    ll_tensor    *queries = ll_param(g, "queries", LL_SHAPE(S, H), LL_INIT_NORMAL(scale));
    ll_tensor    *keys = ll_nn_norm(g, "norm", tok);
    queries = ll_scale(g, ll_nn_norm0(g, queries), scale);
    ll_tensor *scores = ll_matmul(g, queries, false, keys, true); /* [B,S,l] */
    if (w->bias != NULL) scores = ll_add(g, scores, ll_transpose(g, w->bias));
    return ll_matmul(g, ll_softmax(g, scores), false, tok, false);
}

static void check_sizes(const work *w)
{
    const ll_summarizer_config *c = w->cfg;
    if (ll_graph_status(w->g) != LLAP_OK) return;
    if (w->N == c->n_entities && w->D == c->features && w->l == c->context) return;
    ll_graph_fail(w->g, LLAP_EINVAL,
                  "history: expected [B,%lld,%lld,%lld], found [B,%lld,%lld,%lld]",
                  (long long)c->context, (long long)c->n_entities, (long long)c->features,
                  (long long)w->l, (long long)w->N, (long long)w->D);
}

static ll_tensor *time_first(ll_graph *g, ll_tensor *x) /* [B,N,l,1] -> [B,l,N] */
{
    return ll_squeeze(g, entity_first(g, x), LL_AXIS(3));
}

ll_summary ll_summarize(ll_graph *g, const ll_summarizer_config *cfg, const ll_history *history)
{
    work w = prepare(g, cfg, history);
    check_sizes(&w);
    w.mix = mixer(&w, "input_mixer.0", "mixer_norm", w.x);
    add_t_tokens(&w);
    w.v_sig = proxy(&w, "v_head.net", w.x);
    w.t_sig = proxy(&w, "t_head.net", w.dx);
    w.u = ll_unit_times(g, history->dt, w.B, w.l, w.N);
    ll_tensor *rel = times_since_first(g, history->dt, w.B, w.l, w.N);
    ll_tensor *t = cfg->absolute_time ? rel : w.u;
    w.times = ll_nn_time2vec(g, "time2vec", by_entity(g, t), cfg->time2vec);
    w.o = ll_mean(g, w.seen, LL_AXIS(3));
    add_irregular(&w);
    ll_tensor *f = encode_history(&w, features(&w));
    ll_tensor *tok = ll_nn_linear(g, "token_proj", entity_mean(&w, f), cfg->width);

    return (ll_summary){ .context = pool(&w, tok),
                         .x = entity_first(g, w.x),
                         .seen = entity_first(g, w.seen),
                         .ent = ll_reshape(g, w.e, LL_SHAPE(w.B, w.N)),
                         .v_sig = time_first(g, w.v_sig),
                         .t_sig = time_first(g, w.t_sig),
                         .rel = rel,
                         .u = w.u,
                         .seen_part = time_first(g, w.o) };
}

void ll_summarizer_start(ll_params *p, const ll_summarizer_config *cfg, const char *prefix)
{
    if (cfg->position != LL_POSITION_LEARNED) return;
    for (int i = 1; i < cfg->n_layers; i++) {
        char from[256], to[256];
        snprintf(from, sizeof from, "%shistory_encoder.layers.0", prefix);
        snprintf(to, sizeof to, "%shistory_encoder.layers.%d", prefix, i);
        ll_params_copy(p, from, to);
    }
}
