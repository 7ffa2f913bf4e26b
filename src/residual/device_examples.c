#include "residual/device_examples.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { TOKENS, TOKEN_PAD, GAP, TQ, F, PAD, Z0, MASK, ENTITY, IDS, TABLES };
enum { CHUNK = 256 }; /* rows that are put there at once */

static const char *const names[TABLES] = { "tokens", "token_pad", "gap",  "tq",     "f",
                                           "pad",    "z0",        "mask", "entity", "ids" };

struct ll_device_examples {
    const ll_backend *backend;
    ll_layout         c;
    int64_t           n, h;
    int64_t           width[TABLES];       /* numbers of a row, of four bytes each */
    void             *device_data[TABLES]; /* [n,width] */
};

void ll_device_examples_destroy(ll_device_examples *r)
{
    if (r == NULL) return;
    for (int i = 0; i < TABLES; i++) ll_device_release(r->backend, r->device_data[i]);
    ll_free(r);
}

/* ---- the tables ---- */

static llap_status put_rows(ll_device_examples *r, int table, int64_t first, int64_t n,
                            const void *from)
{
    const size_t each = (size_t)r->width[table] * 4;
    assert(first >= 0 && first + n <= r->n);
    return ll_device_put(r->backend, (char *)r->device_data[table] + (size_t)first * each, from,
                         (size_t)n * each);
}

/* Rows first .. first + n - 1 as they are, by way of a batch; and as what entity a row is learned
 * that is taken for a stranger's. */
static llap_status put_batch(ll_device_examples *r, const ll_feature_set *set, int64_t first,
                             int64_t n, ll_feature_batch *b, float *gap, uint32_t *list)
{
    const ll_feature_noise strange = { .strange = 2.0 }; /* more than any chance */
    float                  entity[2 * CHUNK];
    const void            *from[TABLES] = { [TOKENS] = b->tokens, [TOKEN_PAD] = b->token_pad,
                                            [GAP] = gap,          [TQ] = b->tq,
                                            [F] = b->f,           [PAD] = b->pad,
                                            [Z0] = b->z0,         [MASK] = b->mask,
                                            [ENTITY] = entity,    [IDS] = list };
    llap_status            st = LLAP_OK;
    assert(n <= CHUNK);
    for (int64_t i = 0; i < n; i++) list[i] = (uint32_t)(first + i);
    ll_feature_fill(set, list, n, NULL, b);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t id = set->example[first + i].id;
        ll_feature_gaps(set, (size_t)(first + i), gap + i * r->width[GAP]);
        entity[2 * i] = (float)b->entity[i];
        entity[2 * i + 1] = (float)ll_feature_choose(set, (size_t)(first + i), &strange).entity;
        list[2 * i] = (uint32_t)id;
        list[2 * i + 1] = (uint32_t)(id >> 32);
    }
    for (int t = 0; t < TABLES && st == LLAP_OK; t++) st = put_rows(r, t, first, n, from[t]);
    return st;
}

static llap_status put_all(ll_device_examples *r, const ll_feature_set *set)
{
    ll_feature_batch *b = NULL;
    uint32_t         *list = ll_new(2 * CHUNK, sizeof *list);
    float            *gap = ll_new((size_t)(CHUNK * r->width[GAP]), sizeof *gap);
    llap_status       st = list == NULL || gap == NULL
                               ? LLAP_ENOMEM
                               : ll_feature_batch_create(&set->c, CHUNK, set->h, &b);
    for (int64_t at = 0; at < r->n && st == LLAP_OK; at += CHUNK)
        st = put_batch(r, set, at, r->n - at < CHUNK ? r->n - at : CHUNK, b, gap, list);
    if (st == LLAP_OK) st = ll_device_finish(r->backend);
    ll_feature_batch_destroy(b);
    ll_free(list);
    ll_free(gap);
    return st;
}

llap_status ll_device_examples_create(const ll_feature_set *set, const ll_backend *backend,
                                      ll_device_examples **out)
{
    const ll_layout    *c = &set->c;
    const int64_t       h = set->h, S = c->tokens, Z = ll_feature_channels(c);
    ll_device_examples *r = ll_new(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return LLAP_ENOMEM;
    *r = (ll_device_examples){ .backend = backend,
                               .c = *c,
                               .n = (int64_t)set->n,
                               .h = h,
                               .width = { [TOKENS] = S * ll_feature_token_dim(c),
                                          [TOKEN_PAD] = S,
                                          [GAP] = S * Z,
                                          [TQ] = h,
                                          [F] = h * ll_feature_query_dim(c),
                                          [PAD] = h,
                                          [Z0] = h * Z,
                                          [MASK] = h * Z,
                                          [ENTITY] = 2,
                                          [IDS] = 2 } };
    llap_status st = LLAP_OK;
    for (int i = 0; i < TABLES && st == LLAP_OK; i++)
        st = ll_device_alloc(backend, (size_t)(r->n * r->width[i]) * 4, &r->device_data[i]);
    if (st == LLAP_OK) st = put_all(r, set);
    if (st == LLAP_OK) *out = r;
    else ll_device_examples_destroy(r);
    return st;
}

llap_status ll_device_examples_place(const ll_device_examples *r, ll_session *net)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < TABLES && st == LLAP_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, LL_SESSION_ROWS "%s", names[i]);
        st = ll_session_place(net, name, r->device_data[i]);
    }
    return st;
}

/* ---- the graph ---- */

typedef struct making {
    ll_graph                 *g;
    const ll_device_examples *r;
    int64_t                   B;
    ll_tensor                *index, *key, *ids;
    ll_tensor                *shift; /* [B,1]; 0: the row's own origin */
} making;

static ll_tensor *rows(const making *m, int table, ll_shape shape)
{
    ll_tensor *all = ll_input(m->g, names[table], LL_SHAPE(m->r->n, m->r->width[table]));
    return ll_reshape(m->g, ll_embedding(m->g, all, m->index), shape);
}

static ll_tensor *draw(const making *m, ll_stream stream, uint32_t use, bool normal, ll_shape shape)
{
    assert(ll_shape_count(&shape) % m->B == 0);
    const ll_draw_attr a = { .width = ll_shape_count(&shape) / m->B,
                             .stream = (uint32_t)stream,
                             .sample = use,
                             .normal = normal };
    return ll_reshape(m->g, ll_draw(m->g, m->key, m->ids, m->index, &a), shape);
}

static ll_tensor *one_less(const making *m, ll_tensor *x) { return ll_affine(m->g, x, -1.0, 1.0); }

/* log(1 + x) of what is above 0, else 0 */
static ll_tensor *age(const making *m, ll_tensor *x)
{
    ll_tensor *above = ll_maximum(m->g, x, ll_full(m->g, LL_SCALAR, 0.0));
    return ll_ln(m->g, ll_affine(m->g, above, 1.0, 1.0));
}

/* x with the numbers from column `at` on replaced where the row is shifted; the others keep their
 * bits. */
static ll_tensor *replace(const making *m, ll_tensor *x, int64_t at, ll_tensor *by)
{
    ll_graph     *g = m->g;
    const int64_t n = ll_dim(by, -1), width = ll_dim(x, -1);
    ll_tensor    *old = ll_slice(g, x, -1, at, n), *part[3];
    int           k = 0;
    ll_tensor    *moved = ll_mask(g, ll_sub(g, by, old), ll_unsqueeze(g, m->shift, -1));
    assert(x == NULL || at + n <= width);
    if (at > 0) part[k++] = ll_slice(g, x, -1, 0, at);
    part[k++] = ll_add(g, old, moved);
    if (at + n < width) part[k++] = ll_slice(g, x, -1, at + n, width - at - n);
    return ll_concat(g, part, k, -1);
}

static ll_tensor *make_tokens(const making *m, const ll_feature_noise *vary)
{
    const ll_layout *c = &m->r->c;
    const int64_t    S = c->tokens, Z = ll_feature_channels(c);
    const ll_shape   shape = LL_SHAPE(m->B, S, ll_feature_token_dim(c));
    ll_tensor       *x = rows(m, TOKENS, shape);
    if (vary->shift > 0) {
        ll_tensor *gap = rows(m, GAP, LL_SHAPE(m->B, S, Z));
        gap = ll_add(m->g, gap, ll_unsqueeze(m->g, m->shift, -1));
        x = replace(m, x, ll_feature_age(c), age(m, gap));
    }
    if (vary->noise > 0) {
        ll_tensor *z = draw(m, LL_STREAM_MASK, LL_USE_TOKEN_NOISE, true, shape);
        x = ll_add(m->g, x, ll_scale(m->g, z, (double)(float)vary->noise));
    }
    return x;
}

/* Uniforms are multiples of 2^-24, so that this bound separates them as p does. */
static ll_tensor *bound(const making *m, double p)
{
    return ll_full(m->g, LL_SCALAR, ceil(p * 0x1p24) * 0x1p-24);
}

static ll_tensor *make_token_pad(const making *m, const ll_feature_noise *vary)
{
    const int64_t  S = m->r->c.tokens;
    const ll_shape shape = LL_SHAPE(m->B, S);
    ll_tensor     *pad = rows(m, TOKEN_PAD, shape);
    if (!(vary->drop > 0) || S < 2) return pad;
    ll_tensor *u = draw(m, LL_STREAM_MASK, LL_USE_TOKEN_DROP, false, shape);
    ll_tensor *dropped = one_less(m, ll_at_least(m->g, u, bound(m, vary->drop)));
    /* Never the last. */
    ll_tensor *part[] = { ll_slice(m->g, dropped, 1, 0, S - 1),
                          ll_full(m->g, LL_SHAPE(m->B, 1), 0.0) };
    return ll_maximum(m->g, pad, ll_concat(m->g, part, 2, 1));
}

/* Offsets and what else depends on a shift. */
static void make_times(const making *m, const ll_feature_noise *vary, ll_device_examples_set *out)
{
    const ll_layout *c = &m->r->c;
    ll_graph        *g = m->g;
    out->tq = rows(m, TQ, LL_SHAPE(m->B, m->r->h));
    out->f = rows(m, F, LL_SHAPE(m->B, m->r->h, ll_feature_query_dim(c)));
    if (!(vary->shift > 0)) return;
    ll_tensor *zero = ll_full(g, LL_SCALAR, 0.0);
    out->tq = ll_maximum(g, ll_sub(g, out->tq, m->shift), zero);
    ll_tensor *part[] = { ll_scale(g, out->tq, 1.0 / c->horizon),
                          ll_scale(g, age(m, out->tq), 1.0 / 5.0) };
    for (int i = 0; i < 2; i++) part[i] = ll_unsqueeze(g, part[i], -1);
    out->f = replace(m, out->f, 0, ll_concat(g, part, 2, -1));
}

/* What is to be predicted: unknown residuals are draws, and some queries are left out. */
static void make_targets(const making *m, const ll_feature_noise *vary, ll_tensor *subset,
                         ll_device_examples_set *out)
{
    ll_graph      *g = m->g;
    const int64_t  h = m->r->h, Z = ll_feature_channels(&m->r->c);
    const ll_shape shape = LL_SHAPE(m->B, h, Z);
    out->pad = rows(m, PAD, LL_SHAPE(m->B, h));
    out->mask = rows(m, MASK, shape);
    ll_tensor *asked = ll_unsqueeze(g, one_less(m, out->pad), -1);
    ll_tensor *unknown = ll_mul(g, one_less(m, out->mask), asked);
    ll_tensor *drawn = draw(m, LL_STREAM_MASK, LL_USE_UNKNOWN, true, shape);
    out->z0 = ll_add(g, rows(m, Z0, shape), ll_mask(g, drawn, unknown));
    out->eps = draw(m, LL_STREAM_DIFFUSE, 0, true, shape);
    if (!(vary->subset > 0)) return;
    /* Those below the row's own first number; so never the first. */
    ll_tensor *u = draw(m, LL_STREAM_MASK, LL_USE_QUERY, false, LL_SHAPE(m->B, h));
    ll_tensor *below = one_less(m, ll_at_least(g, u, ll_slice(g, u, 1, 0, 1)));
    ll_tensor *left = ll_mul(g, below, subset);
    out->pad = ll_maximum(g, out->pad, left);
    out->mask = ll_mul(g, out->mask, ll_unsqueeze(g, one_less(m, left), -1));
}

/* What is of the whole row, as ll_feature_choose has it. */
typedef struct choices {
    ll_tensor *strange, *shifted, *subset,
        *part; /* [B,1]; ones and zeros, but for part of a slot */
} choices;

static choices choose(const making *m, const ll_feature_noise *vary)
{
    ll_tensor *chance[4];
    ll_split_axis(m->g, draw(m, LL_STREAM_MASK, LL_USE_EXAMPLE, false, LL_SHAPE(m->B, 4)), -1, 4,
                  chance);
    return (choices){ one_less(m, ll_at_least(m->g, chance[0], bound(m, vary->strange))),
                      one_less(m, ll_at_least(m->g, chance[1], bound(m, vary->shift))),
                      one_less(m, ll_at_least(m->g, chance[2], bound(m, vary->subset))),
                      chance[3] };
}

static ll_tensor *make_entity(const making *m, ll_tensor *strange)
{
    ll_tensor *of[2];
    ll_split_axis(m->g, rows(m, ENTITY, LL_SHAPE(m->B, 2)), -1, 2, of);
    ll_tensor *other = ll_mul(m->g, strange, ll_sub(m->g, of[1], of[0]));
    return ll_reshape(m->g, ll_whole(m->g, ll_add(m->g, of[0], other)), LL_SHAPE(m->B));
}

ll_device_examples_set ll_device_examples_set_of(ll_graph *g, const ll_device_examples *r,
                                                 int64_t B, const ll_feature_noise *vary)
{
    ll_device_examples_set out = { 0 };
    making                 m = { .g = g, .r = r, .B = B };
    m.key = ll_input_int(g, "key", LL_SHAPE(4));
    ll_scope_push(g, "rows");
    m.index = ll_input_int(g, "index", LL_SHAPE(B));
    m.ids = ll_input_int(g, names[IDS], LL_SHAPE(r->n, 2));
    const choices c = choose(&m, vary);
    m.shift = ll_mask(g, ll_scale(g, c.part, 0.999 * r->c.slot), c.shifted);
    out.entity = make_entity(&m, c.strange);
    out.tokens = make_tokens(&m, vary);
    out.token_pad = make_token_pad(&m, vary);
    make_times(&m, vary, &out);
    make_targets(&m, vary, c.subset, &out);
    ll_scope_pop(g);
    return out;
}
