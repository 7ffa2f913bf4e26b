#include "model/resident.h"

#include "backend/near.h"
#include "base/alloc.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>

enum { TOKENS, TOKEN_PAD, GAP, TQ, F, PAD, Z0, MASK, ENTITY, IDS, TABLES };
enum { CHUNK = 256 }; /* rows that are put there at once */

static const char *const names[TABLES] = { "tokens", "token_pad", "gap",  "tq",     "f",
                                           "pad",    "z0",        "mask", "entity", "ids" };

struct llap_resident {
    const llap_backend *backend;
    llap_layout         c;
    int64_t             n, h;
    int64_t             width[TABLES]; /* numbers of a row, of four bytes each */
    void               *near[TABLES];  /* [n,width] */
};

void llap_resident_destroy(llap_resident *r)
{
    if (r == NULL) return;
    for (int i = 0; i < TABLES; i++) llap_near_release(r->backend, r->near[i]);
    llap_free(r);
}

/* ---- the tables ---- */

static llap_status put_rows(llap_resident *r, int table, int64_t first, int64_t n, const void *from)
{
    const size_t each = (size_t)r->width[table] * 4;
    return llap_near_put(r->backend, (char *)r->near[table] + (size_t)first * each, from,
                         (size_t)n * each);
}

/* Rows first .. first + n - 1 as they are, by way of a batch; and as what entity a row is learned
 * that is taken for a stranger's. */
static llap_status put_batch(llap_resident *r, const llap_feature_set *set, int64_t first,
                             int64_t n, llap_feature_batch *b, float *gap, uint32_t *list)
{
    const llap_feature_noise strange = { .strange = 2.0 }; /* more than any chance */
    float                    entity[2 * CHUNK];
    const void              *from[TABLES] = { [TOKENS] = b->tokens, [TOKEN_PAD] = b->token_pad,
                                              [GAP] = gap,          [TQ] = b->tq,
                                              [F] = b->f,           [PAD] = b->pad,
                                              [Z0] = b->z0,         [MASK] = b->mask,
                                              [ENTITY] = entity,    [IDS] = list };
    llap_status              st = LLAP_OK;
    for (int64_t i = 0; i < n; i++) list[i] = (uint32_t)(first + i);
    llap_feature_fill(set, list, n, NULL, b);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t id = set->row[first + i].id;
        llap_feature_gaps(set, (size_t)(first + i), gap + i * r->width[GAP]);
        entity[2 * i] = (float)b->entity[i];
        entity[2 * i + 1] = (float)llap_feature_choose(set, (size_t)(first + i), &strange).entity;
        list[2 * i] = (uint32_t)id;
        list[2 * i + 1] = (uint32_t)(id >> 32);
    }
    for (int t = 0; t < TABLES && st == LLAP_OK; t++) st = put_rows(r, t, first, n, from[t]);
    return st;
}

static llap_status put_all(llap_resident *r, const llap_feature_set *set)
{
    llap_feature_batch *b = NULL;
    uint32_t           *list = llap_new(2 * CHUNK, sizeof *list);
    float              *gap = llap_new((size_t)(CHUNK * r->width[GAP]), sizeof *gap);
    llap_status         st = list == NULL || gap == NULL
                                 ? LLAP_ENOMEM
                                 : llap_feature_batch_create(&set->c, CHUNK, set->h, &b);
    for (int64_t at = 0; at < r->n && st == LLAP_OK; at += CHUNK)
        st = put_batch(r, set, at, r->n - at < CHUNK ? r->n - at : CHUNK, b, gap, list);
    if (st == LLAP_OK) st = llap_near_finish(r->backend);
    llap_feature_batch_destroy(b);
    llap_free(list);
    llap_free(gap);
    return st;
}

llap_status llap_resident_create(const llap_feature_set *set, const llap_backend *backend,
                                 llap_resident **out)
{
    const llap_layout *c = &set->c;
    const int64_t      h = set->h, S = c->tokens, Z = llap_feature_channels(c);
    llap_resident     *r = llap_new(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return LLAP_ENOMEM;
    *r = (llap_resident){ .backend = backend,
                          .c = *c,
                          .n = (int64_t)set->n,
                          .h = h,
                          .width = { [TOKENS] = S * llap_feature_token_dim(c),
                                     [TOKEN_PAD] = S,
                                     [GAP] = S * Z,
                                     [TQ] = h,
                                     [F] = h * llap_feature_query_dim(c),
                                     [PAD] = h,
                                     [Z0] = h * Z,
                                     [MASK] = h * Z,
                                     [ENTITY] = 2,
                                     [IDS] = 2 } };
    llap_status st = LLAP_OK;
    for (int i = 0; i < TABLES && st == LLAP_OK; i++)
        st = llap_near_alloc(backend, (size_t)(r->n * r->width[i]) * 4, &r->near[i]);
    if (st == LLAP_OK) st = put_all(r, set);
    if (st == LLAP_OK) *out = r;
    else llap_resident_destroy(r);
    return st;
}

llap_status llap_resident_bind(const llap_resident *r, llap_run *run)
{
    for (int i = 0; i < TABLES; i++) {
        char name[32];
        snprintf(name, sizeof name, "rows.%s", names[i]);
        const llap_status st = llap_run_bind_near(run, name, r->near[i], r->n * r->width[i]);
        if (st != LLAP_OK && st != LLAP_ENOTFOUND) return st;
    }
    return LLAP_OK;
}

/* ---- the graph ---- */

typedef struct making {
    llap_graph          *g;
    const llap_resident *r;
    int64_t              B;
    llap_tensor         *index, *key, *ids;
    llap_tensor         *shift; /* [B,1]; 0: the row's own origin */
} making;

static llap_tensor *rows(const making *m, int table, llap_shape shape)
{
    llap_tensor *all = llap_input(m->g, names[table], LLAP_SHAPE(m->r->n, m->r->width[table]));
    return llap_reshape(m->g, llap_embedding(m->g, all, m->index), shape);
}

static llap_tensor *draw(const making *m, llap_stream stream, uint32_t use, bool normal,
                         llap_shape shape)
{
    const llap_draw_attr a = { .width = llap_shape_count(&shape) / m->B,
                               .stream = (uint32_t)stream,
                               .sample = use,
                               .normal = normal };
    return llap_reshape(m->g, llap_draw(m->g, m->key, m->ids, m->index, &a), shape);
}

static llap_tensor *one_less(const making *m, llap_tensor *x)
{
    return llap_affine(m->g, x, -1.0, 1.0);
}

/* log(1 + x) of what is above 0, else 0 */
static llap_tensor *age(const making *m, llap_tensor *x)
{
    llap_tensor *above = llap_maximum(m->g, x, llap_full(m->g, LLAP_SCALAR, 0.0));
    return llap_ln(m->g, llap_affine(m->g, above, 1.0, 1.0));
}

/* x with the numbers from column `at` on replaced where the row is shifted; the others keep their
 * bits. */
static llap_tensor *replace(const making *m, llap_tensor *x, int64_t at, llap_tensor *by)
{
    llap_graph   *g = m->g;
    const int64_t n = llap_dim(by, -1), width = llap_dim(x, -1);
    llap_tensor  *old = llap_slice(g, x, -1, at, n), *part[3];
    int           k = 0;
    llap_tensor  *moved = llap_mask(g, llap_sub(g, by, old), llap_unsqueeze(g, m->shift, -1));
    if (at > 0) part[k++] = llap_slice(g, x, -1, 0, at);
    part[k++] = llap_add(g, old, moved);
    if (at + n < width) part[k++] = llap_slice(g, x, -1, at + n, width - at - n);
    return llap_concat(g, part, k, -1);
}

static llap_tensor *make_tokens(const making *m, const llap_feature_noise *vary)
{
    const llap_layout *c = &m->r->c;
    const int64_t      S = c->tokens, Z = llap_feature_channels(c);
    const llap_shape   shape = LLAP_SHAPE(m->B, S, llap_feature_token_dim(c));
    llap_tensor       *x = rows(m, TOKENS, shape);
    if (vary->shift > 0) {
        llap_tensor *gap = rows(m, GAP, LLAP_SHAPE(m->B, S, Z));
        gap = llap_add(m->g, gap, llap_unsqueeze(m->g, m->shift, -1));
        x = replace(m, x, llap_feature_age(c), age(m, gap));
    }
    if (vary->noise > 0) {
        llap_tensor *z = draw(m, LLAP_STREAM_MASK, LLAP_USE_TOKEN_NOISE, true, shape);
        x = llap_add(m->g, x, llap_scale(m->g, z, (double)(float)vary->noise));
    }
    return x;
}

/* Uniforms are multiples of 2^-24, so that this bound separates them as p does. */
static llap_tensor *bound(const making *m, double p)
{
    return llap_full(m->g, LLAP_SCALAR, ceil(p * 0x1p24) * 0x1p-24);
}

static llap_tensor *make_token_pad(const making *m, const llap_feature_noise *vary)
{
    const int64_t    S = m->r->c.tokens;
    const llap_shape shape = LLAP_SHAPE(m->B, S);
    llap_tensor     *pad = rows(m, TOKEN_PAD, shape);
    if (!(vary->drop > 0) || S < 2) return pad;
    llap_tensor *u = draw(m, LLAP_STREAM_MASK, LLAP_USE_TOKEN_DROP, false, shape);
    llap_tensor *dropped = one_less(m, llap_at_least(m->g, u, bound(m, vary->drop)));
    /* Never the last. */
    llap_tensor *part[] = { llap_slice(m->g, dropped, 1, 0, S - 1),
                            llap_full(m->g, LLAP_SHAPE(m->B, 1), 0.0) };
    return llap_maximum(m->g, pad, llap_concat(m->g, part, 2, 1));
}

/* Offsets and what else depends on a shift. */
static void make_times(const making *m, const llap_feature_noise *vary, llap_resident_rows *out)
{
    const llap_layout *c = &m->r->c;
    llap_graph        *g = m->g;
    out->tq = rows(m, TQ, LLAP_SHAPE(m->B, m->r->h));
    out->f = rows(m, F, LLAP_SHAPE(m->B, m->r->h, llap_feature_query_dim(c)));
    if (!(vary->shift > 0)) return;
    llap_tensor *zero = llap_full(g, LLAP_SCALAR, 0.0);
    out->tq = llap_maximum(g, llap_sub(g, out->tq, m->shift), zero);
    llap_tensor *part[] = { llap_scale(g, out->tq, 1.0 / c->horizon),
                            llap_scale(g, age(m, out->tq), 1.0 / 5.0) };
    for (int i = 0; i < 2; i++) part[i] = llap_unsqueeze(g, part[i], -1);
    out->f = replace(m, out->f, 0, llap_concat(g, part, 2, -1));
}

/* What is to be predicted: unknown residuals are draws, and some queries are left out. */
static void make_targets(const making *m, const llap_feature_noise *vary, llap_tensor *subset,
                         llap_resident_rows *out)
{
    llap_graph      *g = m->g;
    const int64_t    h = m->r->h, Z = llap_feature_channels(&m->r->c);
    const llap_shape shape = LLAP_SHAPE(m->B, h, Z);
    out->pad = rows(m, PAD, LLAP_SHAPE(m->B, h));
    out->mask = rows(m, MASK, shape);
    llap_tensor *asked = llap_unsqueeze(g, one_less(m, out->pad), -1);
    llap_tensor *unknown = llap_mul(g, one_less(m, out->mask), asked);
    llap_tensor *drawn = draw(m, LLAP_STREAM_MASK, LLAP_USE_UNKNOWN, true, shape);
    out->z0 = llap_add(g, rows(m, Z0, shape), llap_mask(g, drawn, unknown));
    out->eps = draw(m, LLAP_STREAM_DIFFUSE, 0, true, shape);
    if (!(vary->subset > 0)) return;
    /* Those below the row's own first number; so never the first. */
    llap_tensor *u = draw(m, LLAP_STREAM_MASK, LLAP_USE_QUERY, false, LLAP_SHAPE(m->B, h));
    llap_tensor *below = one_less(m, llap_at_least(g, u, llap_slice(g, u, 1, 0, 1)));
    llap_tensor *left = llap_mul(g, below, subset);
    out->pad = llap_maximum(g, out->pad, left);
    out->mask = llap_mul(g, out->mask, llap_unsqueeze(g, one_less(m, left), -1));
}

/* What is of the whole row, as llap_feature_choose has it. */
typedef struct choices {
    llap_tensor *strange, *shifted, *subset,
        *part; /* [B,1]; ones and zeros, but for part of a slot */
} choices;

static choices choose(const making *m, const llap_feature_noise *vary)
{
    llap_tensor *chance[4];
    llap_split_axis(m->g, draw(m, LLAP_STREAM_MASK, LLAP_USE_ROW, false, LLAP_SHAPE(m->B, 4)), -1,
                    4, chance);
    return (choices){ one_less(m, llap_at_least(m->g, chance[0], bound(m, vary->strange))),
                      one_less(m, llap_at_least(m->g, chance[1], bound(m, vary->shift))),
                      one_less(m, llap_at_least(m->g, chance[2], bound(m, vary->subset))),
                      chance[3] };
}

static llap_tensor *make_entity(const making *m, llap_tensor *strange)
{
    llap_tensor *of[2];
    llap_split_axis(m->g, rows(m, ENTITY, LLAP_SHAPE(m->B, 2)), -1, 2, of);
    llap_tensor *other = llap_mul(m->g, strange, llap_sub(m->g, of[1], of[0]));
    return llap_reshape(m->g, llap_whole(m->g, llap_add(m->g, of[0], other)), LLAP_SHAPE(m->B));
}

llap_resident_rows llap_resident_rows_of(llap_graph *g, const llap_resident *r, int64_t B,
                                         const llap_feature_noise *vary)
{
    llap_resident_rows out = { 0 };
    making             m = { .g = g, .r = r, .B = B };
    m.index = llap_input_int(g, "index", LLAP_SHAPE(B));
    m.key = llap_input_int(g, "key", LLAP_SHAPE(4));
    llap_scope_push(g, "rows");
    m.ids = llap_input_int(g, names[IDS], LLAP_SHAPE(r->n, 2));
    const choices c = choose(&m, vary);
    m.shift = llap_mask(g, llap_scale(g, c.part, 0.999 * r->c.slot), c.shifted);
    out.entity = make_entity(&m, c.strange);
    out.tokens = make_tokens(&m, vary);
    out.token_pad = make_token_pad(&m, vary);
    make_times(&m, vary, &out);
    make_targets(&m, vary, c.subset, &out);
    llap_scope_pop(g);
    return out;
}
