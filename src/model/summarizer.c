/* Spec 3.2, steps 1 to 11, one function each. */
#include "model/summarizer.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>
#include <stdio.h>

typedef struct work { /* of one history, axes [B,N,l,...] */
    llap_graph                   *g;
    const llap_summarizer_config *cfg;
    int64_t                       B, l, N, D;
    llap_tensor                  *x, *dx, *seen;     /* [B,N,l,D] */
    llap_tensor                  *e;                 /* [B,N,1,1] */
    llap_tensor                  *u;                 /* [B,l,N] */
    llap_tensor                  *mix;               /* [B,N,l,d_mix] */
    llap_tensor                  *v_sig, *t_sig, *o; /* [B,N,l,1] */
    llap_tensor                  *times;             /* Time2Vec, [B,N,l,d_t] */
    llap_tensor                  *bias;              /* of the pooling scores, [B,l,S]; or NULL */
} work;

static llap_tensor *entity_first(llap_graph *g, llap_tensor *x) /* [B,l,N,...] -> [B,N,l,...] */
{
    if (x == NULL) return NULL;
    return llap_permute(g, x, (const int[]){ 0, 2, 1, 3 }); /* its own inverse */
}

static llap_tensor *by_entity(llap_graph *g, llap_tensor *t) /* [B,l,N] -> [B,N,l] */
{
    return t == NULL ? NULL : llap_permute(g, t, (const int[]){ 0, 2, 1 });
}

/* entmean: mean over the present entities. a [B,N,l,W] -> [B,l,W] */
static llap_tensor *entity_mean(const work *w, llap_tensor *a)
{
    llap_tensor *mean = llap_masked_mean(w->g, a, w->e, LLAP_AXIS(1));
    return llap_squeeze(w->g, mean, LLAP_AXIS(1));
}

static void add_bias(work *w, llap_tensor *per_entity) /* [B,N,l,S] */
{
    llap_tensor *mean = entity_mean(w, per_entity);
    w->bias = w->bias == NULL ? mean : llap_add(w->g, w->bias, mean);
}

/* Times 0, 1, .., l-1 for everyone. -> [B,l,N] */
static llap_tensor *grid(llap_graph *g, int64_t B, int64_t l, int64_t N)
{
    double *step = llap_new((size_t)l, sizeof *step);
    if (step == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t j = 0; j < l; j++) step[j] = (double)j;
    llap_tensor *t = llap_constant(g, LLAP_SHAPE(1, l, 1), step);
    llap_free(step);
    return llap_expand(g, t, LLAP_SHAPE(B, l, N));
}

/* rel_j = dt_j - dt_0 */
static llap_tensor *times_since_first(llap_graph *g, llap_tensor *dt, int64_t B, int64_t l,
                                      int64_t N)
{
    if (dt == NULL) dt = grid(g, B, l, N);
    return llap_sub(g, dt, llap_slice(g, dt, 1, 0, 1));
}

llap_tensor *llap_unit_times(llap_graph *g, llap_tensor *dt, int64_t B, int64_t l, int64_t N)
{
    llap_tensor *rel = times_since_first(g, dt, B, l, N);
    llap_tensor *span = llap_max(g, rel, LLAP_AXIS(1));
    return llap_div(g, rel, llap_maximum(g, span, llap_full(g, LLAP_SCALAR, 1.0)));
}

/* x_{j-1}, and x_0 for the first. x [B,N,l,D] */
static llap_tensor *before(llap_graph *g, llap_tensor *x)
{
    const int64_t l = llap_dim(x, 2);
    llap_tensor  *part[] = { llap_slice(g, x, 2, 0, 1), llap_slice(g, x, 2, 0, l - 1) };
    return l > 1 ? llap_concat(g, part, 2, 2) : x;
}

/* Step 1: only present entities; the observation mask is applied to x and dx only as an option. */
static work prepare(llap_graph *g, const llap_summarizer_config *cfg, const llap_history *h)
{
    work w = { .g = g, .cfg = cfg, .B = llap_dim(h->x, 0), .l = llap_dim(h->x, 1) };
    w.N = llap_dim(h->x, 2);
    w.D = llap_dim(h->x, 3);
    llap_tensor *ent = h->ent, *obs = h->obs;
    if (ent == NULL) ent = llap_full(g, LLAP_SHAPE(w.B, w.N), 1.0);
    if (obs == NULL) obs = llap_full(g, LLAP_SHAPE(w.B, w.l, w.N, w.D), 1.0);
    w.e = llap_reshape(g, ent, LLAP_SHAPE(w.B, w.N, 1, 1));
    w.x = llap_mask(g, entity_first(g, h->x), w.e);
    w.dx = llap_mask(g, entity_first(g, h->dx), w.e);
    w.seen = llap_mul(g, entity_first(g, obs), w.e);
    if (!cfg->masked_input) return w;
    w.x = llap_mask(g, w.x, w.seen);
    w.dx = llap_mask(g, w.dx, llap_mul(g, w.seen, before(g, w.seen)));
    return w;
}

/* mix_j = GELU(LN(b + sum_k W_k x_{j+k-(K-1)/2})) along time */
static llap_tensor *mixer(const work *w, const char *conv, const char *norm, llap_tensor *x)
{
    llap_tensor *c = llap_nn_conv1d(w->g, conv, x, w->cfg->mix, w->cfg->kernel);
    return llap_gelu(w->g, llap_nn_norm(w->g, norm, c)); /* [B,N,l,d_mix] */
}

/* Step 3: the differences join the mixed values, or shift the pooling. The projection is part of
 * the checkpoint in every mode but none. */
static void add_t_tokens(work *w)
{
    llap_graph        *g = w->g;
    const llap_t_token mode = w->cfg->t_token;
    if (mode == LLAP_T_TOKEN_NONE) return;
    llap_tensor *tm = mixer(w, "t_input_mixer", "t_mixer_norm", w->dx);
    llap_tensor *shift = llap_nn_linear_from(g, "t_pool_bias_proj", tm, w->cfg->tokens,
                                             LLAP_INIT_NORMAL(0.01), LLAP_INIT_ZERO);
    if (mode != LLAP_T_TOKEN_BIAS) w->mix = llap_add(g, w->mix, llap_scale(g, tm, w->cfg->t_scale));
    if (mode != LLAP_T_TOKEN_RESIDUAL) add_bias(w, shift);
}

/* Step 4: a scalar per step and entity. x [B,N,l,D] -> [B,N,l,1] */
static llap_tensor *proxy(const work *w, const char *name, llap_tensor *x)
{
    const llap_nn_mlp_opts opts = { .hidden = w->cfg->proxy_hidden, .width = 1, .norm = true };
    return llap_nn_mlp(w->g, name, x, &opts);
}

/* Step 7: gaps and missingness join the mixed values and shift the pooling. */
static void add_irregular(work *w)
{
    if (!w->cfg->irregular_pooling) return;
    llap_graph      *g = w->g;
    llap_nn_mlp_opts opts = { .hidden = w->cfg->irregular_hidden, .norm = true, .last_std = 0.01 };
    llap_tensor     *parts[] = { w->t_sig, w->o, w->times };
    llap_tensor     *q = llap_concat(g, parts, 3, -1); /* [B,N,l,2+d_t] */
    opts.width = w->cfg->mix;
    llap_tensor *residual = llap_nn_mlp(g, "irreg_proj", q, &opts);
    w->mix = llap_add(g, w->mix, llap_scale(g, residual, w->cfg->irregular_scale));
    opts.width = w->cfg->tokens;
    add_bias(w, llap_nn_mlp(g, "pool_bias_proj", q, &opts));
}

/* A token that the ablation takes away is there and 0. */
static llap_tensor *without(llap_graph *g, bool off, llap_tensor *x)
{
    return off ? llap_scale(g, x, 0.0) : x;
}

/* Step 8: f = [mix, v_sig, t_sig, o, T2V], to a width that the heads divide, with positions. */
static llap_tensor *features(const work *w)
{
    llap_graph   *g = w->g;
    llap_tensor  *parts[] = { without(g, w->cfg->no_port_token, w->mix),
                              without(g, w->cfg->no_dynamics_token, w->v_sig),
                              without(g, w->cfg->no_dynamics_token, w->t_sig),
                              without(g, w->cfg->no_temporal_token, w->o),
                              without(g, w->cfg->no_temporal_token, w->times) };
    llap_tensor  *f = llap_concat(g, parts, 5, -1); /* [B,N,l,d_enc] */
    const int64_t n = w->cfg->n_heads > 0 ? w->cfg->n_heads : 1, d = llap_dim(f, -1);
    if (d % n != 0) f = llap_nn_linear(g, "input_pad", f, (d / n + 1) * n);
    else llap_note(g, "input_pad", f);
    if (w->cfg->position == LLAP_POSITION_ROTARY) return f;
    llap_tensor *table = llap_param(g, "pos_embedding", LLAP_SHAPE(1, w->l, llap_dim(f, -1)),
                                    LLAP_INIT_NORMAL(0.02));
    return llap_add(g, f, table);
}

/* Step 9: post-norm layers over time, for each entity by itself. */
static llap_tensor *encode_history(const work *w, llap_tensor *f)
{
    llap_graph          *g = w->g;
    const double         steps = w->l > 2 ? (double)(w->l - 1) : 1.0;
    llap_nn_encoder_opts opts = { .attn = { .n_heads = w->cfg->n_heads,
                                            .dropout = w->cfg->dropout },
                                  .ff = 4 * llap_dim(f, -1),
                                  .dropout = w->cfg->dropout,
                                  .rotary_base = w->cfg->rotary_base };
    if (w->cfg->position != LLAP_POSITION_LEARNED)
        opts.times = llap_note(g, "rope_t", llap_scale(g, by_entity(g, w->u), steps));
    for (int i = 0; i < w->cfg->n_layers; i++) {
        llap_scope_pushf(g, "history_encoder.layers.%d", i);
        f = llap_nn_encoder_layer(g, "", f, &opts);
        llap_scope_pop(g);
    }
    return f;
}

/* Step 11: E_s = sum_j softmax_j(LN(tok_j) . LN0(query_s) / sqrt(H) + bias) tok_j. That is one head
 * of attention from the queries to the steps, too wide for kernels of heads. tok [B,l,H] -> [B,S,H]
 */
static llap_tensor *pool(const work *w, llap_tensor *tok)
{
    llap_graph   *g = w->g;
    const int64_t S = w->cfg->tokens, H = w->cfg->width;
    const double  scale = 1.0 / sqrt((double)(H > 0 ? H : 1));
    llap_tensor  *queries = llap_param(g, "queries", LLAP_SHAPE(S, H), LLAP_INIT_NORMAL(scale));
    llap_tensor  *keys = llap_nn_norm(g, "norm", tok);
    queries = llap_scale(g, llap_nn_norm0(g, queries), scale);
    llap_tensor *scores = llap_matmul(g, queries, false, keys, true); /* [B,S,l] */
    if (w->bias != NULL) scores = llap_add(g, scores, llap_transpose(g, w->bias));
    return llap_matmul(g, llap_softmax(g, scores), false, tok, false);
}

static void check_sizes(const work *w)
{
    const llap_summarizer_config *c = w->cfg;
    if (llap_graph_status(w->g) != LLAP_OK) return;
    if (w->N == c->n_entities && w->D == c->features && w->l == c->context) return;
    llap_graph_fail(w->g, LLAP_EINVAL,
                    "history: expected [B,%lld,%lld,%lld], found [B,%lld,%lld,%lld]",
                    (long long)c->context, (long long)c->n_entities, (long long)c->features,
                    (long long)w->l, (long long)w->N, (long long)w->D);
}

static llap_tensor *time_first(llap_graph *g, llap_tensor *x) /* [B,N,l,1] -> [B,l,N] */
{
    return llap_squeeze(g, entity_first(g, x), LLAP_AXIS(3));
}

llap_summary llap_summarize(llap_graph *g, const llap_summarizer_config *cfg,
                            const llap_history *history)
{
    work w = prepare(g, cfg, history);
    check_sizes(&w);
    w.mix = mixer(&w, "input_mixer.0", "mixer_norm", w.x);
    add_t_tokens(&w);
    w.v_sig = proxy(&w, "v_head.net", w.x);
    w.t_sig = proxy(&w, "t_head.net", w.dx);
    w.u = llap_unit_times(g, history->dt, w.B, w.l, w.N);
    llap_tensor *rel = times_since_first(g, history->dt, w.B, w.l, w.N);
    llap_tensor *t = cfg->absolute_time ? rel : w.u;
    w.times = llap_nn_time2vec(g, "time2vec", by_entity(g, t), cfg->time2vec);
    w.o = llap_mean(g, w.seen, LLAP_AXIS(3));
    add_irregular(&w);
    llap_tensor *f = encode_history(&w, features(&w));
    llap_tensor *tok = llap_nn_linear(g, "token_proj", entity_mean(&w, f), cfg->width);

    return (llap_summary){ .context = pool(&w, tok),
                           .x = entity_first(g, w.x),
                           .seen = entity_first(g, w.seen),
                           .ent = llap_reshape(g, w.e, LLAP_SHAPE(w.B, w.N)),
                           .v_sig = time_first(g, w.v_sig),
                           .t_sig = time_first(g, w.t_sig),
                           .rel = rel,
                           .u = w.u,
                           .seen_part = time_first(g, w.o) };
}

void llap_summarizer_start(llap_params *p, const llap_summarizer_config *cfg, const char *prefix)
{
    if (cfg->position != LLAP_POSITION_LEARNED) return;
    for (int i = 1; i < cfg->n_layers; i++) {
        char from[256], to[256];
        snprintf(from, sizeof from, "%shistory_encoder.layers.0", prefix);
        snprintf(to, sizeof to, "%shistory_encoder.layers.%d", prefix, i);
        llap_params_copy(p, from, to);
    }
}
