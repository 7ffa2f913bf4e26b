/* Samples of the residual: every member's summary, then its reverse process. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "residual/residual.h"
#include "residual/spread.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct ready_member {   /* one member made ready */
    ll_plan              *plan; /* of its summary */
    ll_run               *run;
    ll_prepared_denoiser *denoiser;
    char                  prefix[64];
} ready_member;

struct ll_residual_sampler {
    ll_residual_config c;
    ll_draw_plan       o;
    ready_member      *member; /* [n_members] */
    int                n_members;
    int64_t            asked; /* rows that were asked for; o.rows or more */
    ll_feature_batch  *batch;
    uint64_t          *window; /* [B] */
    float             *x;      /* [B,R,h,Z] */
    float             *guess;  /* likewise; this and the next two if something is given */
    float             *y_obs;  /* [B,h,Z] */
    uint8_t           *keep;   /* likewise */
    float             *noise;  /* [B,R,h,Z]; this and the next if samples are spread */
    ll_spread         *spread;
};

void ll_residual_sampler_destroy(ll_residual_sampler *s)
{
    if (s == NULL) return;
    for (int i = 0; s->member != NULL && i < s->n_members; i++) {
        ll_prepared_denoiser_destroy(s->member[i].denoiser);
        ll_run_destroy(s->member[i].run);
        ll_plan_release(s->member[i].plan);
    }
    ll_free(s->member);
    ll_feature_batch_destroy(s->batch);
    ll_free(s->window);
    ll_free(s->x);
    ll_free(s->guess);
    ll_free(s->y_obs);
    ll_free(s->keep);
    ll_free(s->noise);
    ll_spread_destroy(s->spread);
    ll_free(s);
}

/* Names of the store are prefix + name, or ema.prefix + name. */
static llap_status bind_member(const ll_residual_member *m, const ll_backend *backend,
                               const ll_plan *plan, ll_run *run)
{
    const bool here = ll_params_backend(m->params)->memory == backend->memory;
    for (int i = 0; i < ll_plan_n_slots(plan); i++) {
        const ll_slot *s = ll_plan_slot(plan, i);
        char           name[512];
        if (s->leaf != LL_LEAF_PARAM && s->leaf != LL_LEAF_STATE) continue;
        snprintf(name, sizeof name, "%s%s%s", m->part == LL_PARAMS_EMA ? "ema." : "",
                 m->prefix == NULL ? "" : m->prefix, s->name);
        const ll_param_info *p = ll_params_find(m->params, name);
        if (p == NULL) return ll_fail(LLAP_ENOTFOUND, "networks: no parameter '%s'", name);
        const llap_status st = here ? ll_run_bind_device(run, s->name, p->device_data, p->count)
                                    : ll_run_bind(run, s->name, p->data, p->count);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}

/* The plan of the member's summary, of what is in the batch. */
static llap_status make_summary(const ll_residual_sampler *s, const ll_residual_member *m,
                                ready_member *v)
{
    const ll_patch_config  *c = &s->c.patches;
    const ll_feature_batch *b = s->batch;
    const int64_t           B = s->o.rows, S = c->tokens;
    const ll_plan_opts      how = { .backend = s->o.backend, .n_threads = s->o.n_threads };
    ll_graph               *g = NULL;
    llap_status             st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_patch_in in = { .tokens = ll_input(g, "tokens", LL_SHAPE(B, S, c->token_dim)),
                       .pad = ll_input(g, "token_pad", LL_SHAPE(B, S)) };
    if (c->entities > 0) in.entity = ll_input_int(g, "entity", LL_SHAPE(B));
    ll_scope_push(g, "summarizer");
    ll_output(g, "E", ll_patch_summary(g, c, &in));
    ll_scope_pop(g);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_plan_create(g, &how, &v->plan);
    if (st == LLAP_OK) st = ll_run_create(v->plan, &v->run);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = bind_member(m, s->o.backend, v->plan, v->run);
    if (st == LLAP_OK) st = ll_run_bind(v->run, "tokens", b->tokens, B * S * c->token_dim);
    if (st == LLAP_OK) st = ll_run_bind(v->run, "token_pad", b->token_pad, B * S);
    if (st == LLAP_OK && c->entities > 0) st = ll_run_bind(v->run, "entity", b->entity, B);
    return st;
}

static llap_status member_init(ll_residual_sampler *s, const ll_residual_member *m,
                               const ll_points *points, ready_member *v)
{
    ll_prepared_denoiser_opts o = {
        .extent = { s->o.rows, s->o.samples, s->o.h, s->c.denoiser.data_dim },
        .S = s->c.patches.tokens,
        .part = m->part,
        .prefix = v->prefix,
        .backend = s->o.backend,
        .n_threads = s->o.n_threads,
        .kept = s->o.given,
        .sampler = LL_SAMPLER_DEFAULT,
    };
    o.sampler.solver = s->o.solver;
    snprintf(v->prefix, sizeof v->prefix, "%sdenoiser.", m->prefix == NULL ? "" : m->prefix);
    const llap_status st = make_summary(s, m, v);
    return st == LLAP_OK
               ? ll_prepared_denoiser_create(&s->c.denoiser, m->params, &o, points, &v->denoiser)
               : st;
}

static llap_status voices_init(ll_residual_sampler *s, const ll_residual_member *member)
{
    const ll_draw_plan *o = &s->o;
    ll_points           points;
    llap_status st = ll_points_continuous(o->steps, o->first, o->last, o->gathered, &points);
    if (st != LLAP_OK) return st;
    if (o->begin < 0 || o->begin >= points.n)
        st = ll_fail(LLAP_EINVAL, "networks: begin: expected 0 to %d, found %d", points.n - 1,
                     o->begin);
    const ll_points left = { points.at + o->begin, points.n - o->begin };
    for (int i = 0; i < s->n_members && st == LLAP_OK; i++)
        st = member_init(s, &member[i], &left, &s->member[i]);
    ll_points_deinit(&points);
    return st;
}

static llap_status create(const ll_residual_config *c, const ll_residual_member *member,
                          int n_members, const ll_draw_plan *o, ll_residual_sampler **out)
{
    *out = NULL;
    assert(n_members >= 1 && o->rows >= 1 && o->samples >= 1);
    ll_residual_sampler *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (ll_residual_sampler){ .c = *c, .o = *o, .n_members = n_members };
    s->member = ll_new((size_t)n_members, sizeof *s->member);
    s->window = ll_new((size_t)o->rows, sizeof *s->window);
    s->x = ll_new((size_t)(o->rows * o->samples),
                  (size_t)(o->h * c->denoiser.data_dim) * sizeof *s->x);
    const size_t values = (size_t)(o->rows * o->h * c->denoiser.data_dim);
    if (o->given) {
        s->guess = ll_new(values * (size_t)o->samples, sizeof *s->guess);
        s->y_obs = ll_new(values, sizeof *s->y_obs);
        s->keep = ll_new(values, sizeof *s->keep);
    }
    if (o->spread) s->noise = ll_new(values * (size_t)o->samples, sizeof *s->noise);
    const bool  ok = !o->given || (s->guess != NULL && s->y_obs != NULL && s->keep != NULL);
    llap_status st = s->member == NULL || s->window == NULL || s->x == NULL || !ok ||
                             (o->spread && s->noise == NULL)
                         ? LLAP_ENOMEM
                         : ll_feature_batch_create(&c->layout, o->rows, o->h, &s->batch);
    if (st == LLAP_OK && o->spread) st = ll_spread_create(&s->spread);
    if (st == LLAP_OK) st = voices_init(s, member);
    if (st == LLAP_OK) *out = s;
    else ll_residual_sampler_destroy(s);
    return st;
}

llap_status ll_residual_sampler_create(const ll_residual_config *c,
                                       const ll_residual_member *member, int n_members,
                                       const ll_draw_plan *o, ll_residual_sampler **out)
{
    ll_draw_plan some = *o;
    llap_status  st = create(c, member, n_members, &some, out);
    while (st == LLAP_ENOMEM && some.rows > 1 && o->backend->memory != NULL) {
        some.rows = (some.rows + 1) / 2;
        st = create(c, member, n_members, &some, out);
    }
    if (st == LLAP_OK) (*out)->asked = o->rows;
    return st;
}

bool ll_residual_sampler_serves(const ll_residual_sampler *s, const ll_draw_plan *o)
{
    return s->o.h == o->h && s->o.samples == o->samples && s->o.spread == o->spread &&
           s->asked >= o->rows && s->asked <= 2 * o->rows;
}

int64_t ll_residual_sampler_rows(const ll_residual_sampler *s) { return s->o.rows; }

/* Samples of member v, of n_samples in all: first, first + 1, ... of its own in the run, every
 * members-th of the caller's [rows,n_samples,h,Z]. */
typedef struct turn {
    int     v;
    int64_t rows, n_samples, mine, first;
} turn;

static int64_t place_of(const ll_residual_sampler *s, const turn *t, int64_t b, int64_t r)
{
    assert(b < t->rows && (t->first + r) * s->n_members + t->v < t->n_samples);
    return (b * t->n_samples + (t->first + r) * s->n_members + t->v) * s->o.h *
           s->c.denoiser.data_dim;
}

static void put_known(ll_residual_sampler *s, const float *known, int64_t rows)
{
    const int64_t n = s->o.h * s->c.denoiser.data_dim;
    assert(s->keep != NULL && s->y_obs != NULL && rows <= s->o.rows);
    for (int64_t k = 0; k < s->o.rows * n; k++) {
        s->keep[k] = k < rows * n && !isnan(known[k]);
        s->y_obs[k] = s->keep[k] ? known[k] : 0.0f;
    }
}

static void put_guesses(ll_residual_sampler *s, const float *guess, const turn *t)
{
    const int64_t R = s->o.samples, n = s->o.h * s->c.denoiser.data_dim;
    for (int64_t b = 0; b < s->o.rows; b++)
        for (int64_t r = 0; r < R; r++) {
            float *to = s->guess + (b * R + r) * n;
            if (b >= t->rows || t->first + r >= t->mine) memset(to, 0, (size_t)n * sizeof *to);
            else memcpy(to, guess + place_of(s, t, b, r), (size_t)n * sizeof *to);
        }
}

/* The noise of a member's samples, if one run has them all; NULL: they are drawn one by one. */
static const float *even_noise(ll_residual_sampler *s, const turn *t, uint64_t seed)
{
    const int64_t R = s->o.samples, n = s->o.h * s->c.denoiser.data_dim;
    if (s->spread == NULL || t->mine > R || t->mine > LL_SPREAD_MOST) return NULL;
    for (int64_t b = 0; b < s->o.rows; b++)
        ll_spread_normals(s->spread, seed, s->window[b], t->mine, R, n, s->noise + b * R * n);
    return s->noise;
}

/* Samples of member v for the rows in the batch. */
static llap_status draw_member(ll_residual_sampler *s, int v, int64_t rows, uint64_t seed,
                               int64_t n_samples, const ll_residual_given *given, float *out)
{
    const int64_t                    R = s->o.samples, n = s->o.h * s->c.denoiser.data_dim;
    turn                             t = { v, rows, n_samples, 0, 0 };
    ready_member                    *me = &s->member[v];
    const uint64_t                   own[2] = { seed, (uint64_t)v };
    llap_status                      st = ll_run_exec(me->run);
    const ll_prepared_denoiser_batch w = { .tq = s->batch->tq,
                                           .E = st == LLAP_OK ? ll_run_output(me->run, "E", NULL)
                                                              : NULL,
                                           .f = s->batch->f,
                                           .pad = s->batch->pad,
                                           .E_pad = s->batch->token_pad };
    t.mine = (n_samples - v + s->n_members - 1) / s->n_members;
    for (; t.first < t.mine && st == LLAP_OK; t.first += R) {
        ll_sample_io io = { .seed = ll_hash(0, own, sizeof own),
                            .window = s->window,
                            .first_sample = (uint32_t)t.first };
        io.init = even_noise(s, &t, io.seed);
        if (given != NULL) {
            put_guesses(s, given->guess, &t);
            io.start = s->guess;
            io.y_obs = s->y_obs;
            io.keep = s->keep;
        }
        st = ll_prepared_denoiser_sample(me->denoiser, &w, &io, s->x);
        for (int64_t b = 0; b < rows && st == LLAP_OK; b++)
            for (int64_t r = 0; r < R && t.first + r < t.mine; r++)
                memcpy(out + place_of(s, &t, b, r), s->x + (b * R + r) * n,
                       (size_t)n * sizeof *out);
    }
    return st;
}

static llap_status draw_all(ll_residual_sampler *s, const ll_feature_set *set,
                            const uint32_t *index, int64_t n, const ll_residual_given *given,
                            uint64_t seed, int64_t n_samples, float *out)
{
    const int64_t values = s->o.h * s->c.denoiser.data_dim;
    llap_status   st = LLAP_OK;
    assert(given == NULL || s->o.given);
    for (int64_t first = 0; first < n && st == LLAP_OK; first += s->o.rows) {
        const int64_t     rows = n - first < s->o.rows ? n - first : s->o.rows;
        ll_residual_given mine = given == NULL ? (ll_residual_given){ 0 } : *given;
        ll_feature_fill(set, index + first, rows, NULL, s->batch);
        for (int64_t b = 0; b < s->o.rows; b++)
            s->window[b] = b < rows ? set->example[index[first + b]].id : 0;
        if (given != NULL) {
            mine.guess += first * n_samples * values;
            put_known(s, given->known + first * values, rows);
        }
        for (int v = 0; v < s->n_members && st == LLAP_OK; v++)
            st = draw_member(s, v, rows, seed, n_samples, given == NULL ? NULL : &mine,
                             out + first * n_samples * values);
    }
    return st;
}

llap_status ll_residual_draw(ll_residual_sampler *s, const ll_feature_set *set,
                             const uint32_t *index, int64_t n, uint64_t seed, int64_t n_samples,
                             float *out)
{
    return draw_all(s, set, index, n, NULL, seed, n_samples, out);
}

llap_status ll_residual_complete(ll_residual_sampler *s, const ll_feature_set *set,
                                 const uint32_t *index, int64_t n, const ll_residual_given *given,
                                 uint64_t seed, int64_t n_samples, float *out)
{
    if (!s->o.given) return ll_fail(LLAP_EUNSUPPORTED, "networks: this sampler completes nothing");
    return draw_all(s, set, index, n, given, seed, n_samples, out);
}
