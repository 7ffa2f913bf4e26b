/* The tensors of a batch, docs/spec/anchor.md 8.2, 8.3. */
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "residual/features.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_SLOTS = 56 * LL_FEATURE_SLOTS, CALENDAR = LL_FEATURE_CALENDAR };
static const double COVARIATE_MAX = 5.0;
static const double FIRST_GAP = 24.0; /* since the last reading, before the window */

void ll_feature_batch_destroy(ll_feature_batch *b)
{
    if (b == NULL) return;
    void *const arrays[] = {
        b->tokens, b->token_pad, b->entity, b->tq, b->f, b->pad, b->z0, b->mask
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    ll_free(b);
}

llap_status ll_feature_batch_create(const ll_layout *c, int64_t B, int64_t h,
                                    ll_feature_batch **out)
{
    const int64_t     Z = ll_feature_channels(c), S = c->tokens;
    ll_feature_batch *b = ll_new(1, sizeof *b);
    *out = NULL;
    if (b == NULL) return LLAP_ENOMEM;
    b->B = B;
    b->h = h;
    b->tokens = ll_new_aligned((size_t)(B * S * ll_feature_token_dim(c)), sizeof(float));
    b->token_pad = ll_new_aligned((size_t)(B * S), sizeof(float));
    b->entity = ll_new_aligned((size_t)B, sizeof(int32_t));
    b->tq = ll_new_aligned((size_t)(B * h), sizeof(float));
    b->f = ll_new_aligned((size_t)(B * h * ll_feature_query_dim(c)), sizeof(float));
    b->pad = ll_new_aligned((size_t)(B * h), sizeof(float));
    b->z0 = ll_new_aligned((size_t)(B * h * Z), sizeof(float));
    b->mask = ll_new_aligned((size_t)(B * h * Z), sizeof(float));
    if (b->tokens == NULL || b->token_pad == NULL || b->entity == NULL || b->tq == NULL ||
        b->f == NULL || b->pad == NULL || b->z0 == NULL || b->mask == NULL) {
        ll_feature_batch_destroy(b);
        return LLAP_ENOMEM;
    }
    *out = b;
    return LLAP_OK;
}

/* ---- tokens ---- */

/* The context of one entity: rows first .. last - 1, and the slots they fall in. */
typedef struct context {
    const ll_layout *c;
    const ll_record *h;
    size_t           first, last;
    double           origin;
} context;

static context context_of(const ll_feature_set *s, const ll_feature_example *r, size_t e)
{
    assert(e < s->source.n);
    const ll_record *h = &s->source.history[e];
    const double     length = s->source.anchor[0]->spec.context;
    return (context){ .c = &s->c,
                      .h = h,
                      .first = anchor_after(h->t, h->n, r->origin - length),
                      .last = anchor_after(h->t, h->n, r->origin),
                      .origin = r->origin };
}

/* Sums and counts of (x - m) / s by slot, the oldest slot first. */
typedef struct slots {
    float sum[MAX_SLOTS], n[MAX_SLOTS];
} slots;

static void add_slots(const context *k, size_t v, double m, double s, double limit, slots *out)
{
    const int64_t n = k->c->tokens * k->c->slots;
    const double  per = 1.0 / k->c->slot;
    const float  *x = k->h->x[v];
    assert(n <= MAX_SLOTS && s > 0.0);
    for (size_t i = k->first; i < k->last; i++) {
        const int64_t back = (int64_t)((k->origin - k->h->t[i]) * per + 1e-6);
        if (isnan(x[i]) || back >= n) continue;
        assert(back >= 0); /* the context ends at the origin */
        const double w = ((double)x[i] - m) / s;
        out->sum[n - 1 - back] += (float)fmax(-limit, fmin(limit, w));
        out->n[n - 1 - back] += 1.0f;
    }
}

static void clear(const ll_layout *c, slots *x)
{
    const size_t n = (size_t)(c->tokens * c->slots) * sizeof(float);
    memset(x->sum, 0, n);
    memset(x->n, 0, n);
}

static float slot_mean(const slots *x, int64_t i) { return x->n[i] > 0 ? x->sum[i] / x->n[i] : 0; }

/* Mean of a token's readings, and the share of its slots that have one. */
static float token_mean(const slots *x, int64_t s, int64_t P, float *share)
{
    float sum = 0, n = 0, filled = 0;
    for (int64_t i = s * P; i < (s + 1) * P; i++) {
        sum += x->sum[i];
        n += x->n[i];
        filled += x->n[i] > 0;
    }
    *share = filled / (float)P;
    return n > 0 ? sum / n : 0;
}

/* Readings of a token, for each of its slots. */
static float token_count(const slots *x, int64_t s, int64_t P)
{
    float n = 0;
    for (int64_t i = s * P; i < (s + 1) * P; i++) n += x->n[i];
    return n / (float)P;
}

static double age_of(double gap) { return log1p(fmax(0.0, gap)); }
static double itself(double gap) { return gap; }

/* of(time since the last reading of v) at the end of every token, at out[s * stride]; shift is how
 * far the origin lies past the row's. */
static void put_gaps(const context *k, size_t v, double shift, double (*of)(double), float *out,
                     int64_t stride)
{
    const ll_layout *c = k->c;
    const double     token = c->slot * (double)c->slots;
    const double     start = k->origin - token * (double)c->tokens;
    double           last = start - FIRST_GAP;
    size_t           i = k->first;
    for (int64_t s = 0; s < c->tokens; s++) {
        const double end = s + 1 == c->tokens ? k->origin : start + token * (double)(s + 1);
        for (; i < k->last && k->h->t[i] <= end + 1e-6 * c->slot; i++)
            if (!isnan(k->h->x[v][i])) last = k->h->t[i];
        out[s * stride] = (float)of(end + shift - last);
    }
}

static void put_calendar(double t, float *out)
{
    double terms[1 + CALENDAR];
    ll_climate_terms(t, 1 + CALENDAR, terms);
    for (int i = 0; i < CALENDAR; i++) out[i] = (float)terms[1 + i];
}

static void put_token_calendar(const ll_layout *c, double origin, float *out, int64_t stride)
{
    const double token = c->slot * (double)c->slots;
    for (int64_t s = 0; s < c->tokens; s++)
        put_calendar(origin - token * ((double)(c->tokens - s) - 0.5), out + s * stride);
}

/* Level and scale that a variable is seen on: those of its window, or none for new entities, whose
 * covariates are on one scale already. */
static void covariate_norm(const ll_feature_set *s, const context *k, size_t v, double *m,
                           double *scale)
{
    *m = 0.0;
    *scale = 1.0;
    if (s->c.entities > 0)
        ll_feature_norm(k->h, v, k->first, k->last, s->source.anchor[0]->kappa, m, scale);
}

/* The mean over entities of the target, slot by slot, at out[s * stride]. */
static void put_others(const ll_feature_set *s, const ll_feature_example *r, float *out,
                       int64_t stride)
{
    const int64_t P = s->c.slots, n = s->c.tokens * P;
    slots         one, all;
    clear(&s->c, &all);
    for (size_t e = 0; e < s->source.n; e++) {
        if (s->source.known[e] >= s->source.anchor[r->target]->chain->n_series) continue;
        const context k = context_of(s, r, e);
        double        m, scale;
        ll_feature_norm(k.h, r->target, k.first, k.last, s->source.anchor[r->target]->kappa, &m,
                        &scale);
        clear(&s->c, &one);
        add_slots(&k, r->target, m, scale, INFINITY, &one);
        for (int64_t i = 0; i < n; i++) {
            all.sum[i] += slot_mean(&one, i);
            all.n[i] += one.n[i] > 0;
        }
    }
    for (int64_t i = 0; i < n; i++) out[i / P * stride + i % P] = slot_mean(&all, i);
}

static void single_tokens(const ll_feature_set *s, size_t i, float *out)
{
    const ll_layout          *c = &s->c;
    const ll_feature_example *r = &s->example[i];
    const int64_t             F = ll_feature_token_dim(c), P = c->slots, S = c->tokens;
    const context             k = context_of(s, r, r->entity);
    slots                     x;
    clear(c, &x);
    add_slots(&k, r->target, (double)s->m[i], (double)s->s[i], INFINITY, &x);
    for (int64_t j = 0; j < S * P; j++) {
        float *token = out + j / P * F;
        token[j % P] = slot_mean(&x, j);
        token[P + j % P] = log2f(1.0f + x.n[j]);
    }
    float *at = out + 2 * P + 1;
    if (c->entities > 1) {
        put_others(s, r, at, F);
        at += P;
    }
    for (size_t v = 0; v < (size_t)(c->targets + c->covariates); v++) {
        double m, scale;
        if (v == r->target) continue;
        covariate_norm(s, &k, v, &m, &scale);
        clear(c, &x);
        add_slots(&k, v, m, scale, COVARIATE_MAX, &x);
        for (int64_t j = 0; j < S; j++) at[j * F] = token_mean(&x, j, P, &at[j * F + 1]);
        at += 2;
    }
    assert(at - out + (c->calendar ? CALENDAR : 0) == F);
    if (c->calendar) put_token_calendar(c, r->origin, at, F);
}

/* Means of covariate v, averaged over the row's entities that have any, at out[s * stride]. */
static void put_covariate(const ll_feature_set *s, const ll_feature_example *r, size_t v,
                          float *out, int64_t stride)
{
    const int64_t P = s->c.slots, S = s->c.tokens;
    float         n[56] = { 0 }, share;
    slots         x;
    assert(S <= (int64_t)(sizeof n / sizeof *n));
    for (int64_t j = 0; j < S; j++) out[j * stride] = 0;
    for (size_t e = 0; e < s->source.n; e++) {
        if (s->c.view != LL_FEATURE_JOINT && e != r->entity) continue;
        const context k = context_of(s, r, e);
        double        m, scale;
        covariate_norm(s, &k, v, &m, &scale);
        clear(&s->c, &x);
        add_slots(&k, v, m, scale, COVARIATE_MAX, &x);
        for (int64_t j = 0; j < S; j++) {
            const float mean = token_mean(&x, j, P, &share);
            if (share > 0) {
                out[j * stride] += mean;
                n[j] += 1;
            }
        }
    }
    for (int64_t j = 0; j < S; j++)
        if (n[j] > 0) out[j * stride] /= n[j];
}

static void wide_tokens(const ll_feature_set *s, size_t i, float *out)
{
    const ll_layout          *c = &s->c;
    const ll_feature_example *r = &s->example[i];
    const int64_t             F = ll_feature_token_dim(c), P = c->slots, S = c->tokens;
    const int64_t             Z = ll_feature_channels(c);
    slots                     x;
    for (int64_t z = 0; z < Z; z++) {
        const context k = context_of(s, r, ll_feature_entity(c, r, z));
        const size_t  v = ll_feature_target(c, r, z), at = i * (size_t)Z + (size_t)z;
        clear(c, &x);
        add_slots(&k, v, (double)s->m[at], (double)s->s[at], INFINITY, &x);
        for (int64_t j = 0; j < S * P; j++) out[j / P * F + z * P + j % P] = slot_mean(&x, j);
        for (int64_t j = 0; j < S; j++) {
            float *share = &out[j * F + Z * P + z];
            token_mean(&x, j, P, share);
            if (c->view == LL_FEATURE_ENTITY) *share = log2f(1.0f + token_count(&x, j, P));
        }
    }
    assert(Z * (P + 2) + c->covariates + (c->calendar ? CALENDAR : 0) == F);
    float *at = out + Z * (P + 2);
    for (int64_t v = 0; v < c->covariates; v++)
        put_covariate(s, r, (size_t)(c->targets + v), at + v, F);
    if (c->calendar) put_token_calendar(c, r->origin, at + c->covariates, F);
}

int64_t ll_feature_age(const ll_layout *c)
{
    const int64_t Z = ll_feature_channels(c);
    return c->view == LL_FEATURE_SINGLE ? 2 * c->slots : Z * (c->slots + 1);
}

/* The times since the last readings, all that depends on the shift. */
static void put_ages(const ll_feature_set *s, size_t i, double shift, double (*of)(double),
                     float *out, int64_t stride)
{
    const ll_feature_example *r = &s->example[i];
    for (int64_t z = 0; z < ll_feature_channels(&s->c); z++) {
        const context k = context_of(s, r, ll_feature_entity(&s->c, r, z));
        put_gaps(&k, ll_feature_target(&s->c, r, z), shift, of, out + z, stride);
    }
}

void ll_feature_gaps(const ll_feature_set *s, size_t i, float *gap)
{
    put_ages(s, i, 0.0, itself, gap, ll_feature_channels(&s->c));
}

static void make_tokens(const ll_feature_set *s, size_t i, float *out)
{
    if (s->c.view == LL_FEATURE_SINGLE) single_tokens(s, i, out);
    else wide_tokens(s, i, out);
    put_ages(s, i, 0.0, age_of, out + ll_feature_age(&s->c), ll_feature_token_dim(&s->c));
}

llap_status ll_feature_set_remember(ll_feature_set *s, size_t n_bytes)
{
    const size_t each = (size_t)(s->c.tokens * ll_feature_token_dim(&s->c));
    if (s->tokens != NULL || s->n * each > n_bytes / sizeof(float)) return LLAP_OK;
    s->tokens = ll_new(s->n, each * sizeof *s->tokens);
    if (s->tokens == NULL) return LLAP_ENOMEM;
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < s->n; i++) make_tokens(s, i, s->tokens + i * each);
    return LLAP_OK;
}

/* Tokens that lie before the record are none; the last always is one. */
static void put_token_pad(const ll_feature_set *s, const ll_feature_example *r, float *pad)
{
    const ll_layout *c = &s->c;
    double           first = INFINITY;
    for (size_t e = 0; e < s->source.n; e++) {
        const bool       joint = c->view == LL_FEATURE_JOINT;
        const ll_record *h = &s->source.history[joint ? e : r->entity];
        if (h->n > 0 && h->t[0] < first) first = h->t[0];
        if (!joint) break;
    }
    const double token = c->slot * (double)c->slots;
    for (int64_t j = 0; j < c->tokens; j++) {
        const double end = r->origin - token * (double)(c->tokens - 1 - j);
        pad[j] = j + 1 < c->tokens && end < first - 1e-6 * c->slot ? 1.0f : 0.0f;
    }
}

/* ---- queries ---- */

static void put_query(const ll_feature_set *s, size_t i, size_t q, double tq, float *f)
{
    const int64_t Z = ll_feature_channels(&s->c), at = ((int64_t)i * s->h + (int64_t)q) * Z;
    f[0] = (float)(tq / s->c.horizon);
    f[1] = (float)(log1p(tq) / 5.0);
    memcpy(f + 2, s->a + at, (size_t)Z * sizeof *f);
    memcpy(f + 2 + Z, s->log_b + at, (size_t)Z * sizeof *f);
    f += 2 + 2 * Z;
    if (s->c.calendar) {
        put_calendar(s->example[i].t_query[q], f);
        f += CALENDAR;
    }
    for (int64_t z = 0; s->c.level && z < Z; z++) {
        f[z] = s->m[(int64_t)i * Z + z];
        f[Z + z] = logf(s->s[(int64_t)i * Z + z]);
    }
}

static void put_queries(const ll_feature_set *s, size_t i, double shift, ll_feature_batch *b,
                        int64_t row)
{
    const int64_t             Z = ll_feature_channels(&s->c), Q = ll_feature_query_dim(&s->c);
    const ll_feature_example *r = &s->example[i];
    assert((int64_t)r->n_query <= b->h && b->h >= 0);
    for (size_t q = 0; q < r->n_query; q++) {
        const int64_t at = row * b->h + (int64_t)q;
        const double  tq = fmax(0.0, r->t_query[q] - r->origin - shift);
        b->tq[at] = (float)tq;
        b->pad[at] = 0.0f;
        put_query(s, i, q, tq, b->f + at * Q);
        for (int64_t z = 0; z < Z; z++) {
            const float x = s->r[((int64_t)i * s->h + (int64_t)q) * Z + z];
            b->z0[at * Z + z] = isnan(x) ? 0.0f : ll_residual_held(x);
            b->mask[at * Z + z] = isnan(x) ? 0.0f : 1.0f;
        }
    }
}

/* ---- rows ---- */

static ll_rng draws(const ll_feature_noise *o, uint64_t id, ll_feature_use what)
{
    return ll_rng_make(o->seed, LL_STREAM_MASK, id, (uint32_t)what, o->step);
}

static void vary_tokens(const ll_layout *c, const ll_feature_noise *o, uint64_t id, float *tokens,
                        float *pad)
{
    const int64_t F = ll_feature_token_dim(c);
    const ll_rng  drop = draws(o, id, LL_USE_TOKEN_DROP), noise = draws(o, id, LL_USE_TOKEN_NOISE);
    for (int64_t j = 0; j < c->tokens; j++) {
        if (o->drop > 0 && (double)ll_rng_uniform(&drop, (uint64_t)j) < o->drop &&
            j + 1 < c->tokens)
            pad[j] = 1.0f;
        for (int64_t k = 0; o->noise > 0 && k < F; k++)
            tokens[j * F + k] += (float)o->noise * ll_rng_normal(&noise, (uint64_t)(j * F + k));
    }
}

/* Leaves out queries with a probability of the row's own, but never the first. */
static void vary_queries(const ll_feature_noise *o, uint64_t id, int64_t n, int64_t Z, float *pad,
                         float *mask)
{
    const ll_rng r = draws(o, id, LL_USE_QUERY);
    const float  out = ll_rng_uniform(&r, 0);
    for (int64_t q = 1; q < n; q++) {
        if (ll_rng_uniform(&r, (uint64_t)q) >= out) continue;
        pad[q] = 1.0f;
        for (int64_t z = 0; z < Z; z++) mask[q * Z + z] = 0.0f;
    }
}

/* Residuals that are not known become draws of what the anchor expects of them: sampling asks for
 * all channels, so that the network must not learn to tell these from the others. */
static void vary_unknown(const ll_feature_noise *o, uint64_t id, int64_t n, const float *mask,
                         float *z0)
{
    const ll_rng r = draws(o, id, LL_USE_UNKNOWN);
    for (int64_t k = 0; k < n; k++)
        if (mask[k] == 0.0f) z0[k] = ll_rng_normal(&r, (uint64_t)k);
}

ll_feature_choice ll_feature_choose(const ll_feature_set *s, size_t i, const ll_feature_noise *o)
{
    const ll_layout          *c = &s->c;
    const ll_feature_example *r = &s->example[i];
    size_t                    known = c->view == LL_FEATURE_JOINT ? 0 : s->source.known[r->entity];
    ll_feature_choice         a = { 0 };
    if (o != NULL) {
        float        chance[4];
        const ll_rng rng = draws(o, r->id, LL_USE_EXAMPLE);
        ll_rng_fill_uniform(&rng, 0, 4, chance);
        if ((double)chance[0] < o->strange) known = SIZE_MAX;
        if ((double)chance[1] < o->shift) a.shift = 0.999 * (double)chance[3] * c->slot;
        a.subset = (double)chance[2] < o->subset;
    }
    if (known >= (size_t)c->entities) known = (size_t)c->entities;
    a.entity =
        (int32_t)(c->view == LL_FEATURE_SINGLE ? known * (size_t)c->targets + r->target : known);
    assert(ll_feature_embeddings(c) == 0 || a.entity < ll_feature_embeddings(c));
    return a;
}

static void fill_row(const ll_feature_set *s, size_t i, const ll_feature_noise *o,
                     ll_feature_batch *b, int64_t row)
{
    const ll_layout          *c = &s->c;
    const ll_feature_example *r = &s->example[i];
    const int64_t             Z = ll_feature_channels(c), F = ll_feature_token_dim(c);
    float                    *tokens = b->tokens + row * c->tokens * F;
    float                    *token_pad = b->token_pad + row * c->tokens;
    const ll_feature_choice   choice = ll_feature_choose(s, i, o);
    const size_t              each = (size_t)(c->tokens * F);
    assert(i < s->n && row < b->B);
    if (s->tokens != NULL) memcpy(tokens, s->tokens + i * each, each * sizeof *tokens);
    else make_tokens(s, i, tokens);
    if (choice.shift > 0) put_ages(s, i, choice.shift, age_of, tokens + ll_feature_age(c), F);
    put_token_pad(s, r, token_pad);
    put_queries(s, i, choice.shift, b, row);
    b->entity[row] = choice.entity;
    if (o == NULL) return;
    vary_tokens(c, o, r->id, tokens, token_pad);
    vary_unknown(o, r->id, (int64_t)r->n_query * Z, b->mask + row * b->h * Z,
                 b->z0 + row * b->h * Z);
    if (choice.subset)
        vary_queries(o, r->id, (int64_t)r->n_query, Z, b->pad + row * b->h,
                     b->mask + row * b->h * Z);
}

static void clear_row(const ll_layout *c, ll_feature_batch *b, int64_t row)
{
    const int64_t Z = ll_feature_channels(c), Q = ll_feature_query_dim(c);
    for (int64_t q = 0; q < b->h; q++) b->pad[row * b->h + q] = 1.0f;
    memset(b->tq + row * b->h, 0, (size_t)b->h * sizeof(float));
    memset(b->f + row * b->h * Q, 0, (size_t)(b->h * Q) * sizeof(float));
    memset(b->z0 + row * b->h * Z, 0, (size_t)(b->h * Z) * sizeof(float));
    memset(b->mask + row * b->h * Z, 0, (size_t)(b->h * Z) * sizeof(float));
}

void ll_feature_fill(const ll_feature_set *s, const uint32_t *index, int64_t n,
                     const ll_feature_noise *noise, ll_feature_batch *b)
{
    assert(n <= b->B);
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t row = 0; row < b->B; row++) {
        clear_row(&s->c, b, row);
        if (row < n) fill_row(s, index[row], noise, b, row);
    }
}
