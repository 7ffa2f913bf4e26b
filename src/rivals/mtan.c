#include "rivals/mtan.h"

#include "base/alloc.h"
#include "nn/nn.h"

#include <math.h>

const char *const ll_mtan_spreads[] = { "fixed", "scalar", "head", NULL };

double ll_mtan_weight(int64_t epoch)
{
    return epoch < 10 ? 0.0 : 1.0 - pow(0.99, (double)(epoch - 10));
}

/* t [...] -> [...,embed] */
static ll_tensor *time_embedding(ll_graph *g, const ll_mtan_config *cfg, ll_tensor *t)
{
    if (!cfg->learned) return ll_time_waves(g, t, cfg->embed, cfg->units, 10.0);
    t = ll_unsqueeze(g, t, -1);
    ll_tensor *part[] = { ll_nn_linear(g, "linear", t, 1),
                          ll_sin(g, ll_nn_linear(g, "periodic", t, cfg->embed - 1)) };
    return ll_concat(g, part, 2, -1);
}

/* Equally spaced on [0,1], [1,n] */
static ll_tensor *reference_times(ll_graph *g, int64_t n)
{
    double *at = ll_new((size_t)n, sizeof *at);
    if (at == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) at[i] = n > 1 ? (double)i / (double)(n - 1) : 0.0;
    ll_tensor *x = ll_constant(g, LL_SHAPE(1, n), at);
    ll_free(at);
    return x;
}

/* [B,L,E] -> [B,heads,L,E/heads] */
static ll_tensor *heads_of(ll_graph *g, ll_tensor *x, int heads)
{
    const ll_shape s =
        LL_SHAPE(ll_dim(x, 0), ll_dim(x, 1), heads, ll_dim(x, 2) / (heads > 0 ? heads : 1));
    return ll_permute(g, ll_reshape(g, x, s), (const int[]){ 0, 2, 1, 3 });
}

/* The sum over keys of the softmax of score among those with m = 1, for each channel of its own,
 * times v; 0 where there is none. With weights e^(score - top) that is (w (m v))/(w m), two
 * products. They are bounded from below, so that a channel whose keys all lie far under the top
 * still has a sum: its keys then count alike.
 * score [B,h,Lq,Lk], v and m [B,Lk,C], m NULL: all -> [B,h,Lq,C] */
static ll_tensor *channel_softmax(ll_graph *g, ll_tensor *score, ll_tensor *v, ll_tensor *m)
{
    v = ll_unsqueeze(g, v, 1);
    if (m == NULL) return ll_matmul(g, ll_softmax(g, score), false, v, false);
    m = ll_unsqueeze(g, m, 1);                  /* [B,1,Lk,C] */
    ll_tensor *some = ll_max(g, m, LL_AXIS(3)); /* [B,1,Lk,1]: keys of any channel */
    ll_tensor *absent = ll_transpose(g, ll_affine(g, some, 1e30, -1e30));
    ll_tensor *top = ll_detach(g, ll_max(g, ll_add(g, score, absent), LL_AXIS(3)));
    ll_tensor *w = ll_exp(g, ll_clamp(g, ll_sub(g, score, top), -80.0, 0.0));
    ll_tensor *none = ll_affine(g, ll_max(g, m, LL_AXIS(2)), -1.0, 1.0); /* [B,1,1,C] */
    ll_tensor *sum = ll_matmul(g, w, false, ll_mul(g, m, v), false);
    return ll_div(g, sum, ll_add(g, ll_matmul(g, w, false, m, false), none));
}

/* q [B or 1,Lq,E], k [B or 1,Lk,E], v and m [B,Lk,C] -> [B,Lq,width] */
static ll_tensor *time_attention(ll_graph *g, const ll_mtan_config *cfg, int heads, ll_tensor *q,
                                 ll_tensor *k, ll_tensor *v, ll_tensor *m, int64_t width)
{
    const int64_t E = cfg->embed, B = ll_dim(v, 0), Lq = ll_dim(q, 1), C = ll_dim(v, 2);
    ll_scope_push(g, "att");
    q = heads_of(g, ll_nn_linear(g, "linears.0", q, E), heads);
    k = heads_of(g, ll_nn_linear(g, "linears.1", k, E), heads);
    ll_tensor *score =
        ll_scale(g, ll_matmul(g, q, false, k, true), sqrt((double)heads / (double)E));
    ll_tensor *o = channel_softmax(g, score, v, m);
    o = ll_reshape(g, ll_permute(g, o, (const int[]){ 0, 2, 1, 3 }), LL_SHAPE(B, Lq, heads * C));
    o = ll_nn_linear(g, "linears.2", o, width);
    ll_scope_pop(g);
    return o;
}

/* Linear, ReLU, Linear, numbered as a Sequential. */
static ll_tensor *mlp(ll_graph *g, const char *name, ll_tensor *x, int64_t hidden, int64_t width)
{
    ll_scope_push(g, name);
    x = ll_nn_linear(g, "2", ll_relu(g, ll_nn_linear(g, "0", x, hidden)), width);
    ll_scope_pop(g);
    return x;
}

ll_mtan_code ll_mtan_encode(ll_graph *g, const ll_mtan_config *cfg, ll_tensor *x, ll_tensor *m,
                            ll_tensor *t)
{
    ll_tensor        *value[] = { ll_mul(g, x, m), m }, *seen[] = { m, m };
    const ll_gru_opts o = { .width = cfg->rec, .n_layers = 1, .both_ways = true };
    ll_scope_push(g, "enc");
    ll_tensor *ref = time_embedding(g, cfg, reference_times(g, cfg->n_ref));
    ll_tensor *a = time_attention(g, cfg, cfg->enc_heads, ref, time_embedding(g, cfg, t),
                                  ll_concat(g, value, 2, 2), ll_concat(g, seen, 2, 2), cfg->rec);
    ll_tensor *h = ll_gru_layers(g, "gru_rnn", a, &o), *code[2] = { NULL, NULL };
    ll_split_axis(g, mlp(g, "hiddens_to_z0", h, cfg->mlp, 2 * cfg->latent), -1, 2, code);
    ll_scope_pop(g);
    ll_note(g, "enc_att", a);
    return (ll_mtan_code){ code[0], code[1] };
}

ll_tensor *ll_mtan_latent(ll_graph *g, const ll_mtan_code *code, ll_tensor *eps)
{
    ll_tensor *sd = ll_exp(g, ll_scale(g, code->logvar, 0.5));
    return ll_add(g, code->mu, ll_mul(g, sd, eps));
}

ll_mtan_answer ll_mtan_decode(ll_graph *g, const ll_mtan_config *cfg, ll_tensor *z,
                              ll_tensor *query)
{
    const int64_t     k = ll_dim(z, 0), B = ll_dim(z, 1), L = ll_dim(query, 1), n = cfg->n_out;
    const bool        head = cfg->spread == LL_MTAN_HEAD;
    const ll_gru_opts o = { .width = cfg->gen, .n_layers = 1, .both_ways = true };
    ll_scope_push(g, "dec");
    z = ll_reshape(g, z, LL_SHAPE(k * B, cfg->n_ref, cfg->latent));
    ll_tensor *h = ll_gru_layers(g, "gru_rnn", z, &o);
    ll_tensor *asked = time_embedding(g, cfg, query); /* [B,L,E], and again for each draw */
    asked = ll_reshape(g, ll_expand(g, asked, LL_SHAPE(k, B, L, cfg->embed)),
                       LL_SHAPE(k * B, L, cfg->embed));
    ll_tensor *ref = time_embedding(g, cfg, reference_times(g, cfg->n_ref));
    ll_tensor *a = time_attention(g, cfg, cfg->dec_heads, asked, ref, h, NULL, 2 * cfg->gen);
    ll_tensor *y = mlp(g, "z0_to_obs", a, cfg->mlp, head ? 2 * n : n);
    y = ll_reshape(g, y, LL_SHAPE(k, B, L, head ? 2 * n : n));
    ll_mtan_answer answer = { .mean = ll_slice(g, y, 3, 0, n) };
    if (head) {
        answer.logvar = ll_clamp(g, ll_slice(g, y, 3, n, n), -8.0, 4.0);
    } else if (cfg->spread == LL_MTAN_SCALAR) {
        ll_tensor *log_sd = ll_param(g, "log_std", LL_SHAPE(n), LL_INIT_FILL(log(cfg->sd)));
        answer.logvar = ll_expand(g, ll_scale(g, log_sd, 2.0), LL_SHAPE(k, B, L, n));
    } else answer.logvar = ll_full(g, LL_SHAPE(k, B, L, n), 2.0 * log(cfg->sd));
    ll_scope_pop(g);
    ll_note(g, "dec_rnn", h);
    return answer;
}

ll_tensor *ll_mtan_draw(ll_graph *g, const ll_mtan_answer *a, ll_tensor *noise)
{
    return ll_add(g, a->mean, ll_mul(g, ll_exp(g, ll_scale(g, a->logvar, 0.5)), noise));
}

/* log sum exp over the first axis of x [k,B] -> [1,B] */
static ll_tensor *log_sum_exp(ll_graph *g, ll_tensor *x)
{
    ll_tensor *top = ll_detach(g, ll_max(g, x, LL_AXIS(0)));
    return ll_add(g, top, ll_ln(g, ll_sum(g, ll_exp(g, ll_sub(g, x, top)), LL_AXIS(0))));
}

ll_tensor *ll_mtan_loss(ll_graph *g, const ll_mtan_code *code, const ll_mtan_answer *a,
                        ll_tensor *y, ll_tensor *m, ll_tensor *weight, ll_tensor **logp,
                        ll_tensor **kl)
{
    const int64_t k = ll_dim(a->mean, 0), B = ll_dim(a->mean, 1);
    const double  log_two_pi = 1.8378770664093453;
    ll_tensor    *n = ll_maximum(g, ll_sum(g, m, LL_AXIS(1) | LL_AXIS(2)),
                                 ll_full(g, LL_SCALAR, 1.0)); /* [B,1,1] */
    n = ll_reshape(g, n, LL_SHAPE(B));
    ll_tensor *square = ll_square(g, ll_sub(g, y, a->mean));
    ll_tensor *scaled = ll_div(g, square, ll_exp(g, a->logvar));
    ll_tensor *law = ll_scale(g, ll_affine(g, ll_add(g, a->logvar, scaled), 1.0, log_two_pi), -0.5);
    ll_tensor *lp = ll_masked_sum(g, law, m, LL_AXIS(2) | LL_AXIS(3)); /* [k,B,1,1] */
    lp = ll_div(g, ll_reshape(g, lp, LL_SHAPE(k, B)), n);
    ll_tensor *own = ll_sub(g, ll_add(g, ll_exp(g, code->logvar), ll_square(g, code->mu)),
                            ll_affine(g, code->logvar, 1.0, 1.0));
    ll_tensor *gap = ll_scale(g, ll_sum(g, own, LL_AXIS(1) | LL_AXIS(2)), 0.5);
    gap = ll_div(g, ll_reshape(g, gap, LL_SHAPE(B)), n);
    if (logp != NULL) *logp = lp;
    if (kl != NULL) *kl = gap;
    ll_tensor *bound = log_sum_exp(g, ll_sub(g, lp, ll_mul(g, gap, weight)));
    ll_tensor *mean = ll_reshape(g, ll_mean(g, bound, LL_ALL_AXES), LL_SCALAR);
    return ll_affine(g, mean, -1.0, log((double)(k > 0 ? k : 1)));
}
