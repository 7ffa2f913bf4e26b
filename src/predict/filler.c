#include "predict/filler.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "predict/network_members.h"
#include "predict/reference.h"
#include "predict/view/gap_windows.h"
#include "predict/view/panel_view.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { SAMPLES_AT_ONCE = 64, PATHS_AT_ONCE = 256, WINDOWS_AT_ONCE = 64 };
enum { PATHS_ON_GPU = 8192, WINDOWS_ON_GPU = 512 };
static const size_t VALUES_AT_ONCE = (size_t)1 << 22;

typedef struct filler {
    const ll_gap_cells      *g;
    const ll_fill_gaps_opts *o;
    ll_network_members       n;
    ll_panel_view            view;
    ll_gap_windows           gaps;
    int64_t                  C, Z, h;
    ll_put_filled_cell       put;
    void                    *user;
} filler;

/* ---- cells ---- */

/* Row of the panel that channel z of a window has at a time; -1: none. */
static int64_t row_at(const filler *f, const ll_gap_series *l, int64_t z, int64_t time)
{
    const int64_t e = l->entity >= 0 ? l->entity : f->view.entity[z / f->C];
    return e < 0 ? -1 : ll_panel_find_row(f->g->p, e, time);
}

static int64_t target_at(const filler *f, const ll_gap_series *l, int64_t z)
{
    return l->target >= 0 ? l->target : z % f->C;
}

/* A number of windows that are worked on together. */
typedef struct chunk {
    const ll_gap_window *window;
    size_t               n;
    ll_feature_example  *example; /* [n] */
    uint32_t            *index;   /* [n] */
    double              *t;       /* [n,h] */
    ll_feature_set      *set;
    ll_anchor_request   *request; /* [n,Z] */
    ll_law              *law;     /* [n,Z,h] */
    double              *missing; /* [n,Z,h] times */
    float               *known;   /* [n,h,Z] */
    float               *guess;   /* [n,n_samples,h,Z] */
    float               *x;       /* likewise */
    double              *y;       /* [2,n_samples] */
} chunk;

static void chunk_deinit(chunk *k)
{
    void *const arrays[] = { k->example, k->index, k->t,     k->request, k->law,
                             k->missing, k->known, k->guess, k->x,       k->y };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static llap_status chunk_init(chunk *k, const filler *f, size_t n)
{
    const size_t h = (size_t)f->h, Z = (size_t)f->Z, R = (size_t)f->o->n_samples;
    *k = (chunk){ .example = ll_new(n, sizeof *k->example),
                  .index = ll_new(n, sizeof *k->index),
                  .t = ll_new(n, h * sizeof *k->t),
                  .request = ll_new(n, Z * sizeof *k->request),
                  .law = ll_new(n, Z * h * sizeof *k->law),
                  .missing = ll_new(n, Z * h * sizeof *k->missing),
                  .known = ll_new(n, h * Z * sizeof *k->known),
                  .guess = ll_new(n, R * h * Z * sizeof *k->guess),
                  .x = ll_new(n, R * h * Z * sizeof *k->x),
                  .y = ll_new(2, R * sizeof *k->y) };
    return k->example == NULL || k->index == NULL || k->t == NULL || k->request == NULL ||
                   k->law == NULL || k->missing == NULL || k->known == NULL || k->guess == NULL ||
                   k->x == NULL || k->y == NULL
               ? LLAP_ENOMEM
               : LLAP_OK;
}

static void make_examples(const filler *f, chunk *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const ll_gap_window *s = &k->window[i];
        const ll_gap_series *l = &f->gaps.series[s->series];
        double              *t = k->t + i * (size_t)f->h;
        assert(s->first < s->end && s->end - s->first <= f->h);
        for (int64_t q = s->first; q < s->end; q++)
            t[q - s->first] = ll_model_time(f->g->m, l->time[q]);
        const char *entity = l->entity < 0 ? NULL : f->g->p->entity[l->entity];
        k->example[i] = (ll_feature_example){ .origin = ll_model_time(f->g->m, s->origin),
                                              .entity = l->entity < 0 ? 0 : (size_t)l->entity,
                                              .target = l->target < 0 ? 0 : (size_t)l->target,
                                              .n_query = (size_t)(s->end - s->first),
                                              .t_query = t,
                                              .id = ll_example_id(s->origin, entity, l->target) };
        k->index[i] = (uint32_t)i;
    }
}

/* The anchor's answers to what is missing in the windows: request number i Z + z has the queries of
 * channel z of window i that are not known. */
static llap_status ask_anchors(const filler *f, chunk *k)
{
    const ll_feature_source *source = &f->view.source;
    const int64_t            Z = f->Z;
    llap_status              st = LLAP_OK;
    for (int64_t c = 0; c < f->C && st == LLAP_OK; c++) {
        size_t count = 0;
        for (size_t i = 0; i < k->n; i++)
            for (int64_t z = 0; z < Z; z++) {
                const ll_gap_series *l = &f->gaps.series[k->window[i].series];
                const size_t         e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
                double              *t = k->missing + ((int64_t)i * Z + z) * f->h;
                size_t               n = 0;
                if (target_at(f, l, z) != c) continue;
                for (size_t q = 0; q < k->example[i].n_query; q++)
                    if (isnan(k->set->r[((int64_t)i * k->set->h + (int64_t)q) * Z + z]))
                        t[n++] = k->example[i].t_query[q];
                k->request[count++] =
                    (ll_anchor_request){ .history = source->series[c][e],
                                         .series = source->known[e],
                                         .n_query = n,
                                         .t_query = t,
                                         .law = k->law + ((int64_t)i * Z + z) * f->h,
                                         .all = source->all ? source->all[c] : NULL };
            }
        st = ll_anchor_model_fill(f->g->m->anchor[c], k->request, count, f->o->from);
    }
    return st;
}

/* What is known of channel z of window i; draws from the anchor's answer of the rest. */
static void guess_channel(const filler *f, chunk *k, size_t i, int64_t z)
{
    const int64_t n = f->h * f->Z;
    const ll_law *law = k->law + ((int64_t)i * f->Z + z) * f->h;
    const ll_rng  rng = ll_rng_make(f->o->seed, LL_STREAM_FILL, k->example[i].id, (uint32_t)z, 0);
    for (int64_t q = 0; q < f->h; q++) {
        const int64_t at = q * f->Z + z;
        float        *known = &k->known[(int64_t)i * n + at];
        float        *guess = k->guess + (int64_t)i * f->o->n_samples * n + at;
        const bool    query = q < (int64_t)k->example[i].n_query;
        double        mean, sd;
        *known = query ? ll_residual_held(k->set->r[((int64_t)i * k->set->h + q) * f->Z + z]) : NAN;
        if (query) ll_feature_law(k->set, i, q, z, &mean, &sd);
        for (int64_t r = 0; r < f->o->n_samples; r++) {
            guess[r * n] = 0.0f;
            if (!query || !isnan(*known)) continue;
            double x = (double)ll_rng_normal(&rng, (uint64_t)(q * f->o->n_samples + r));
            if (law->shape != NULL) x = ll_calibration_bend(law->shape, x);
            x = (law->mean + law->sd * x - mean) / sd;
            guess[r * n] = ll_residual_held((float)x);
        }
        if (query && isnan(*known)) law++;
    }
}

static void put_cell(const filler *f, chunk *k, size_t i, int64_t q, int64_t z, int64_t row)
{
    const ll_feature_example *r = &k->example[i];
    const int64_t             R = f->o->n_samples, n = f->h * f->Z, at = q * f->Z + z;
    const ll_gap_series      *l = &f->gaps.series[k->window[i].series];
    const size_t              e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
    const int64_t             c = target_at(f, l, z);
    const ll_anchor_model    *a = f->g->m->anchor[c];
    const size_t              known = f->view.source.known[e];
    const ll_inputs          *in = f->view.source.series[c][e].in;
    const double              climate = ll_chain_mean(a->chain, known, in, r->t_query[q]);
    double                    mean, sd;
    assert(q >= 0 && q < (int64_t)r->n_query);
    ll_feature_law(k->set, i, q, z, &mean, &sd);
    for (int64_t j = 0; j < 2 * R; j++) {
        const float *from = (j < R ? k->x : k->guess) + ((int64_t)i * R + j % R) * n + at;
        k->y[j] = ll_chain_y_back(
            a->chain, known,
            ll_chain_z_back_given(a->chain, known, climate, mean + sd * (double)*from));
    }
    const ll_filled_cell cell = { .window = (int64_t)i + (k->window - f->gaps.window),
                                  .row = row,
                                  .target = c,
                                  .y = k->y,
                                  .guess = k->y + R,
                                  .n = R };
    f->put(f->user, &cell);
}

static llap_status do_chunk(filler *f, ll_residual_sampler *sampler, chunk *k)
{
    make_examples(f, k);
    llap_status st =
        ll_feature_set_create(&f->view.layout, &f->view.source, k->example, k->n, &k->set);
    if (st == LLAP_OK) st = ask_anchors(f, k);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < k->n; i++)
        for (int64_t z = 0; z < f->Z && st == LLAP_OK; z++) guess_channel(f, k, i, z);
    const ll_residual_given given = { k->known, k->guess };
    if (st == LLAP_OK)
        st = ll_residual_complete(sampler, k->set, k->index, (int64_t)k->n, &given, f->o->seed,
                                  f->o->n_samples, k->x);
    for (size_t i = 0; i < k->n && st == LLAP_OK; i++) {
        const ll_gap_window *s = &k->window[i];
        const ll_gap_series *l = &f->gaps.series[s->series];
        for (int64_t q = s->from - s->first; q < s->to - s->first; q++)
            for (int64_t z = 0; z < f->Z; z++) {
                const int64_t row = row_at(f, l, z, l->time[s->first + q]);
                if (row >= 0 && f->g->asked[row * f->C + target_at(f, l, z)])
                    put_cell(f, k, i, q, z, row);
            }
    }
    ll_feature_set_destroy(k->set);
    k->set = NULL;
    return st;
}

/* ---- all of it ---- */

static llap_status do_all(filler *f)
{
    const int64_t        M = f->n.n_members, mine = (f->o->n_samples + M - 1) / M;
    const int64_t        R = mine < SAMPLES_AT_ONCE ? mine : SAMPLES_AT_ONCE;
    const ll_backend    *backend = f->o->backend != NULL ? f->o->backend : &ll_backend_cpu;
    const bool           gpu = backend->memory != NULL;
    const int64_t        paths = gpu ? PATHS_ON_GPU : PATHS_AT_ONCE;
    const size_t         most = gpu ? WINDOWS_ON_GPU : WINDOWS_AT_ONCE;
    int64_t              rows = paths * 64 / (R * (f->h > 64 ? f->h : 64));
    const size_t         each = (size_t)(f->o->n_samples * f->h * f->Z);
    size_t               n = each < VALUES_AT_ONCE ? VALUES_AT_ONCE / each : 1;
    ll_residual_sampler *sampler = NULL;
    chunk                k;
    if (n > most) n = most;
    if (n > f->gaps.n) n = f->gaps.n;
    if (gpu && rows > (int64_t)n) rows = (int64_t)n; /* empty ones cost as much */
    ll_draw_plan o = ll_networks_plan(&f->n, backend);
    o.rows = rows < 1 ? 1 : rows;
    o.samples = R;
    o.h = f->h;
    o.given = true;
    o.begin = (int)f->o->first;
    llap_status st = chunk_init(&k, f, n);
    if (st == LLAP_OK) st = ll_networks_sampler(&f->n, &o, f->o->log, &sampler);
    for (size_t i = 0; i < f->gaps.n && st == LLAP_OK; i += n) {
        if (!ll_ranks_mine(f->o->ranks, (int64_t)(i / n))) continue;
        k.window = f->gaps.window + i;
        k.n = f->gaps.n - i < n ? f->gaps.n - i : n;
        st = ll_report(
            f->o->progress,
            &(llap_progress_event){ "filling", (int64_t)i, (int64_t)f->gaps.n, "windows", NULL });
        if (st == LLAP_OK) st = do_chunk(f, sampler, &k);
    }
    ll_residual_sampler_destroy(sampler);
    chunk_deinit(&k);
    return st;
}

llap_status ll_fill_gaps(const ll_gap_cells *g, const ll_fill_gaps_opts *o, ll_put_filled_cell put,
                         void *user, size_t *n_windows)
{
    static const ll_gap_grouping grouping[] = { LL_GAPS_BY_SERIES, LL_GAPS_BY_ENTITY,
                                                LL_GAPS_TOGETHER };
    assert((g->m->rival != NULL || g->m->network != NULL) && o->first >= 0 && o->n_samples > 0);
    if (g->m->anchor == NULL) return ll_reference_fill(g, o, put, user, n_windows);
    filler f = { .g = g, .o = o, .C = g->m->frame.n_targets, .put = put, .user = user };
    ll_network_members_init(&f.n, g->m);
    const ll_layout          *layout = &f.n.config.layout;
    const ll_gap_windows_opts where = { .grouping = grouping[layout->view],
                                        .from = o->from,
                                        .most = o->most };
    llap_status               st = ll_gap_windows_init(&f.gaps, g->m, g->p, g->asked, &where);
    if (n_windows != NULL) *n_windows = f.gaps.n_all;
    if (st == LLAP_OK) st = ll_panel_view_init(&f.view, g->m, g->p, layout, &f.n.inputs);
    if (st == LLAP_OK && f.gaps.n > 0) {
        f.Z = ll_feature_channels(&f.view.layout);
        f.h = f.gaps.longest <= 8 ? 8 : (f.gaps.longest + 31) / 32 * 32;
        st = do_all(&f);
    }
    ll_gap_windows_deinit(&f.gaps);
    ll_panel_view_deinit(&f.view);
    return st;
}

llap_status ll_fill_can(const llap_model *m)
{
    if (m->rival == NULL || ll_rival_fills(&m->rival->task)) return LLAP_OK;
    return ll_fail(LLAP_EUNSUPPORTED, "%s forecasts, but does not fill gaps",
                   m->rival->task.kind->title);
}

int64_t ll_fill_first_point(const llap_model *m, ll_anchor_from from)
{
    if (m->anchor == NULL) return 0;
    if (m->network == NULL) return -1;
    const ll_feature_config *c = &m->network->config.features;
    const int64_t            first = from == LL_ANCHOR_PAST ? c->fill_past : c->fill_both;
    return first > 0 ? first : -1;
}
