#include "task/filler.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "base/rng.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_AT_ONCE = 64, PATHS_AT_ONCE = 256, QUERIES_MAX = 512, WINDOWS_AT_ONCE = 64 };
static const size_t VALUES_AT_ONCE = (size_t)1 << 22;

/* Times at which something of a group was or might have been read: all entities of a joint model,
 * one entity and target of another. */
typedef struct lane {
    int64_t  entity, target; /* single: of the panel; joint: -1 */
    int64_t *time;           /* [n] increasing */
    uint8_t *asked;          /* [n] */
    int64_t  n;
} lane;

typedef struct spot { /* a window: queries first .. end - 1 of the lane, answers from .. to - 1 */
    int64_t lane, origin, first, end, from, to;
} spot;

typedef struct filler {
    const task_gaps      *g;
    const task_fill_opts *o;
    task_networks         n;
    task_sight            sight;
    lane                 *lane;
    int64_t               n_lanes;
    spot                 *spot;
    size_t                n_spots, room, n_windows; /* n_windows: before the limit */
    int64_t               C, Z, h;
    task_put_cell         put;
    void                 *user;
} filler;

static void filler_deinit(filler *f)
{
    for (int64_t i = 0; f->lane != NULL && i < f->n_lanes; i++) {
        llap_free(f->lane[i].time);
        llap_free(f->lane[i].asked);
    }
    llap_free(f->lane);
    llap_free(f->spot);
    task_sight_deinit(&f->sight);
}

/* ---- lanes ---- */

typedef struct moment {
    int64_t time;
    uint8_t asked;
} moment;

static int by_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* Rows of entities first .. last - 1, targets c .. c_end - 1. */
static llap_status lane_init(const filler *f, lane *l, int64_t first, int64_t last, int64_t c,
                             int64_t c_end)
{
    const llap_panel *p = f->g->p;
    const int64_t     begin = p->start[first], n = p->start[last] - begin;
    moment           *at = llap_new((size_t)n, sizeof *at);
    l->time = llap_new((size_t)n, sizeof *l->time);
    l->asked = llap_new((size_t)n, sizeof *l->asked);
    const llap_status st =
        at == NULL || l->time == NULL || l->asked == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        at[i] = (moment){ .time = p->time[begin + i] };
        for (int64_t k = c; k < c_end; k++) at[i].asked |= f->g->asked[(begin + i) * f->C + k];
    }
    if (st == LLAP_OK && last - first > 1) qsort(at, (size_t)n, sizeof *at, by_time);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        if (l->n == 0 || l->time[l->n - 1] != at[i].time) {
            l->time[l->n] = at[i].time;
            l->asked[l->n++] = 0;
        }
        l->asked[l->n - 1] |= at[i].asked;
    }
    llap_free(at);
    return st;
}

static llap_status make_lanes(filler *f)
{
    const int64_t E = f->g->p->n_entities;
    const bool    joint = f->sight.layout.joint;
    llap_status   st = LLAP_OK;
    f->n_lanes = joint ? 1 : E * f->C;
    f->lane = llap_new((size_t)f->n_lanes, sizeof *f->lane);
    if (f->lane == NULL) return LLAP_ENOMEM;
    if (joint) {
        f->lane[0] = (lane){ .entity = -1, .target = -1 };
        return lane_init(f, &f->lane[0], 0, E, 0, f->C);
    }
    for (int64_t i = 0; i < f->n_lanes && st == LLAP_OK; i++) {
        const int64_t e = i / f->C, c = i % f->C;
        f->lane[i] = (lane){ .entity = e, .target = c };
        st = lane_init(f, &f->lane[i], e, e + 1, c, c + 1);
    }
    return st;
}

/* ---- windows ---- */

/* The first time of the lane after t. */
static int64_t after(const lane *l, int64_t t)
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (l->time[mid] <= t) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The window that answers time number i of the lane first. */
static spot lay(const filler *f, int64_t which, int64_t i)
{
    const lane   *l = &f->lane[which];
    const int64_t L = f->g->m->frame.horizon, now = l->time[i];
    const bool    both = f->o->from == LLAP_ANCHOR_BOTH;
    const int64_t before = both ? after(l, now - L / 4) - 1 : i - 1;
    spot          s = { .lane = which, .from = i, .to = i + 1, .first = i, .end = i + 1 };
    s.origin = before >= 0 && before < i ? l->time[before] : now - f->g->m->frame.step;
    if (now - s.origin > L) s.origin = now - f->g->m->frame.step;
    if (!both) return s;
    s.first = after(l, s.origin);
    s.end = after(l, s.origin + L);
    s.to = after(l, s.origin + L / 4 * 3);
    if (s.to <= i) s.to = i + 1;
    if (s.end - s.first > QUERIES_MAX) s.end = s.first + QUERIES_MAX;
    if (i >= s.end) { /* many rows before it: this one first */
        s.origin = l->time[i - 1];
        s.first = i;
        s.end = after(l, s.origin + L) < i + QUERIES_MAX ? after(l, s.origin + L) : i + QUERIES_MAX;
        if (s.end <= i) s.end = i + 1;
    }
    if (s.to > s.end) s.to = s.end;
    return s;
}

static llap_status make_spots(filler *f)
{
    for (int64_t k = 0; k < f->n_lanes; k++)
        for (int64_t i = 0; i < f->lane[k].n;) {
            if (!f->lane[k].asked[i]) {
                i++;
                continue;
            }
            if (f->n_spots == f->room) {
                const size_t more = f->room == 0 ? 256 : 2 * f->room;
                spot        *s = llap_grow(f->spot, more, sizeof *s);
                if (s == NULL) return LLAP_ENOMEM;
                f->spot = s;
                f->room = more;
            }
            f->spot[f->n_spots] = lay(f, k, i);
            i = f->spot[f->n_spots++].to;
        }
    const size_t most = f->o->most;
    f->n_windows = f->n_spots;
    for (size_t i = 0; most > 0 && most < f->n_spots && i < most; i++)
        f->spot[i] = f->spot[(size_t)((double)i * (double)f->n_spots / (double)most)];
    if (most > 0 && most < f->n_spots) f->n_spots = most;
    for (size_t i = 0; i < f->n_spots; i++)
        if (f->spot[i].end - f->spot[i].first > f->h) f->h = f->spot[i].end - f->spot[i].first;
    f->h = f->h <= 8 ? 8 : (f->h + 31) / 32 * 32;
    return LLAP_OK;
}

/* ---- cells ---- */

/* Row of the panel that channel z of a window has at a time; -1: none. */
static int64_t row_at(const filler *f, const lane *l, int64_t z, int64_t time)
{
    const llap_panel *p = f->g->p;
    const int64_t     e = l->entity >= 0 ? l->entity : f->sight.entity[z / f->C];
    if (e < 0) return -1;
    int64_t low = p->start[e], high = p->start[e + 1];
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (p->time[mid] < time) low = mid + 1;
        else high = mid;
    }
    return low < p->start[e + 1] && p->time[low] == time ? low : -1;
}

static int64_t target_at(const filler *f, const lane *l, int64_t z)
{
    return l->entity >= 0 ? l->target : z % f->C;
}

/* A number of windows that are worked on together. */
typedef struct chunk {
    const spot          *spot;
    size_t               n;
    llap_feature_row    *row;   /* [n] */
    uint32_t            *index; /* [n] */
    double              *t;     /* [n,h] */
    llap_feature_set    *set;
    llap_anchor_request *request; /* [n,Z] */
    llap_law            *law;     /* [n,Z,h] */
    double              *missing; /* [n,Z,h] times */
    float               *known;   /* [n,h,Z] */
    float               *guess;   /* [n,n_samples,h,Z] */
    float               *x;       /* likewise */
    double              *u;       /* [2,n_samples] */
} chunk;

static void chunk_deinit(chunk *k)
{
    void *const arrays[] = { k->row,     k->index, k->t,     k->request, k->law,
                             k->missing, k->known, k->guess, k->x,       k->u };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) llap_free(arrays[i]);
}

static llap_status chunk_init(chunk *k, const filler *f, size_t n)
{
    const size_t h = (size_t)f->h, Z = (size_t)f->Z, R = (size_t)f->o->n_samples;
    *k = (chunk){ .row = llap_new(n, sizeof *k->row),
                  .index = llap_new(n, sizeof *k->index),
                  .t = llap_new(n, h * sizeof *k->t),
                  .request = llap_new(n, Z * sizeof *k->request),
                  .law = llap_new(n, Z * h * sizeof *k->law),
                  .missing = llap_new(n, Z * h * sizeof *k->missing),
                  .known = llap_new(n, h * Z * sizeof *k->known),
                  .guess = llap_new(n, R * h * Z * sizeof *k->guess),
                  .x = llap_new(n, R * h * Z * sizeof *k->x),
                  .u = llap_new(2, R * sizeof *k->u) };
    return k->row == NULL || k->index == NULL || k->t == NULL || k->request == NULL ||
                   k->law == NULL || k->missing == NULL || k->known == NULL || k->guess == NULL ||
                   k->x == NULL || k->u == NULL
               ? LLAP_ENOMEM
               : LLAP_OK;
}

static void make_rows(const filler *f, chunk *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const spot *s = &k->spot[i];
        const lane *l = &f->lane[s->lane];
        double     *t = k->t + i * (size_t)f->h;
        for (int64_t q = s->first; q < s->end; q++)
            t[q - s->first] = llap_model_time(f->g->m, l->time[q]);
        const char *entity = l->entity < 0 ? NULL : f->g->p->entity[l->entity];
        k->row[i] = (llap_feature_row){ .origin = llap_model_time(f->g->m, s->origin),
                                        .entity = l->entity < 0 ? 0 : (size_t)l->entity,
                                        .target = l->target < 0 ? 0 : (size_t)l->target,
                                        .n_query = (size_t)(s->end - s->first),
                                        .t_query = t,
                                        .id = task_row_id(s->origin, entity, l->target) };
        k->index[i] = (uint32_t)i;
    }
}

/* The anchor's answers to what is missing in the windows: request number i Z + z has the queries of
 * channel z of window i that are not known. */
static llap_status ask_anchors(const filler *f, chunk *k)
{
    const llap_feature_source *source = &f->sight.source;
    const int64_t              Z = f->Z;
    llap_status                st = LLAP_OK;
    for (int64_t c = 0; c < f->C && st == LLAP_OK; c++) {
        size_t count = 0;
        for (size_t i = 0; i < k->n; i++)
            for (int64_t z = 0; z < Z; z++) {
                const lane  *l = &f->lane[k->spot[i].lane];
                const size_t e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
                double      *t = k->missing + ((int64_t)i * Z + z) * f->h;
                size_t       n = 0;
                if (target_at(f, l, z) != c) continue;
                for (size_t q = 0; q < k->row[i].n_query; q++)
                    if (isnan(k->set->r[((int64_t)i * k->set->h + (int64_t)q) * Z + z]))
                        t[n++] = k->row[i].t_query[q];
                k->request[count++] =
                    (llap_anchor_request){ .history = source->series[c][e],
                                           .series = source->known[e],
                                           .n_query = n,
                                           .t_query = t,
                                           .law = k->law + ((int64_t)i * Z + z) * f->h,
                                           .all = source->all ? source->all[c] : NULL };
            }
        st = llap_anchor_model_fill(f->g->m->anchor[c], k->request, count, f->o->from);
    }
    return st;
}

/* What is known of channel z of window i; draws from the anchor's answer of the rest. */
static void guess_channel(const filler *f, chunk *k, size_t i, int64_t z)
{
    const int64_t   n = f->h * f->Z;
    const llap_law *law = k->law + ((int64_t)i * f->Z + z) * f->h;
    const llap_rng  rng = llap_rng_make(f->o->seed, LLAP_STREAM_FILL, k->row[i].id, (uint32_t)z, 0);
    for (int64_t q = 0; q < f->h; q++) {
        const int64_t at = q * f->Z + z;
        float        *known = &k->known[(int64_t)i * n + at];
        float        *guess = k->guess + (int64_t)i * f->o->n_samples * n + at;
        const bool    query = q < (int64_t)k->row[i].n_query;
        double        mean, sd;
        *known = query ? k->set->r[((int64_t)i * k->set->h + q) * f->Z + z] : NAN;
        if (query) llap_feature_law(k->set, i, q, z, &mean, &sd);
        for (int64_t r = 0; r < f->o->n_samples; r++) {
            guess[r * n] = 0.0f;
            if (!query || !isnan(*known)) continue;
            double x = (double)llap_rng_normal(&rng, (uint64_t)(q * f->o->n_samples + r));
            if (law->shape != NULL) x = llap_calibration_bend(law->shape, x);
            x = (law->mean + law->sd * x - mean) / sd;
            guess[r * n] = (float)fmax(-LLAP_RESIDUAL_MAX, fmin(LLAP_RESIDUAL_MAX, x));
        }
        if (query && isnan(*known)) law++;
    }
}

static void put_cell(const filler *f, chunk *k, size_t i, int64_t q, int64_t z, int64_t row)
{
    const llap_feature_row  *r = &k->row[i];
    const int64_t            R = f->o->n_samples, n = f->h * f->Z, at = q * f->Z + z;
    const lane              *l = &f->lane[k->spot[i].lane];
    const size_t             e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
    const int64_t            c = target_at(f, l, z);
    const llap_anchor_model *a = f->g->m->anchor[c];
    double                   mean, sd;
    llap_feature_law(k->set, i, q, z, &mean, &sd);
    for (int64_t j = 0; j < R; j++) {
        k->u[j] = mean + sd * (double)k->x[((int64_t)i * R + j) * n + at];
        k->u[R + j] = mean + sd * (double)k->guess[((int64_t)i * R + j) * n + at];
    }
    const task_filled cell = { .window = (int64_t)i + (k->spot - f->spot),
                               .row = row,
                               .target = c,
                               .climate = llap_chain_climate(a->chain, f->sight.source.known[e],
                                                             r->t_query[q]),
                               .u = k->u,
                               .guess = k->u + R,
                               .n = R };
    f->put(f->user, &cell);
}

static llap_status do_chunk(filler *f, llap_residual_sampler *sampler, chunk *k)
{
    make_rows(f, k);
    llap_status st =
        llap_feature_set_create(&f->sight.layout, &f->sight.source, k->row, k->n, &k->set);
    if (st == LLAP_OK) st = ask_anchors(f, k);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < k->n; i++)
        for (int64_t z = 0; z < f->Z && st == LLAP_OK; z++) guess_channel(f, k, i, z);
    const llap_residual_given given = { k->known, k->guess, (int)f->o->first };
    if (st == LLAP_OK)
        st = llap_residual_complete(sampler, k->set, k->index, (int64_t)k->n, &given, f->o->seed,
                                    f->o->n_samples, k->x);
    for (size_t i = 0; i < k->n && st == LLAP_OK; i++) {
        const spot *s = &k->spot[i];
        const lane *l = &f->lane[s->lane];
        for (int64_t q = s->from - s->first; q < s->to - s->first; q++)
            for (int64_t z = 0; z < f->Z; z++) {
                const int64_t row = row_at(f, l, z, l->time[s->first + q]);
                if (row >= 0 && f->g->asked[row * f->C + target_at(f, l, z)])
                    put_cell(f, k, i, q, z, row);
            }
    }
    llap_feature_set_destroy(k->set);
    k->set = NULL;
    return st;
}

/* ---- all of it ---- */

static llap_status do_all(filler *f)
{
    const int64_t          M = f->n.n_members, mine = (f->o->n_samples + M - 1) / M;
    const int64_t          R = mine < SAMPLES_AT_ONCE ? mine : SAMPLES_AT_ONCE;
    const int64_t          rows = PATHS_AT_ONCE * 64 / (R * (f->h > 64 ? f->h : 64));
    const size_t           each = (size_t)(f->o->n_samples * f->h * f->Z);
    size_t                 n = each < VALUES_AT_ONCE ? VALUES_AT_ONCE / each : 1;
    llap_residual_sampler *sampler = NULL;
    chunk                  k;
    if (n > WINDOWS_AT_ONCE) n = WINDOWS_AT_ONCE;
    if (n > f->n_spots) n = f->n_spots;
    llap_status          st = chunk_init(&k, f, n);
    const llap_draw_plan o = { .rows = rows < 1 ? 1 : rows,
                               .samples = R,
                               .h = f->h,
                               .solver = f->n.sampling.solver.solver,
                               .steps = (int)f->n.sampling.steps,
                               .first = f->n.sampling.first,
                               .last = f->n.sampling.last,
                               .n_threads = omp_get_max_threads(),
                               .backend = &llap_backend_cpu,
                               .given = true };
    if (st == LLAP_OK)
        st = llap_residual_sampler_create(&f->n.config, f->n.member, f->n.n_members, &o, &sampler);
    for (size_t i = 0; i < f->n_spots && st == LLAP_OK; i += n) {
        k.spot = f->spot + i;
        k.n = f->n_spots - i < n ? f->n_spots - i : n;
        st = llap_report(
            f->o->progress,
            &(llap_progress_event){ "filling", (int64_t)i, (int64_t)f->n_spots, "windows", NULL });
        if (st == LLAP_OK) st = do_chunk(f, sampler, &k);
    }
    llap_residual_sampler_destroy(sampler);
    chunk_deinit(&k);
    return st;
}

llap_status task_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put, void *user,
                      size_t *n_windows)
{
    filler f = { .g = g, .o = o, .C = g->m->frame.n_targets, .put = put, .user = user };
    task_networks_init(&f.n, g->m);
    llap_status st = task_sight_init(&f.sight, g->m, g->p, &f.n.config.layout, &f.n.inputs);
    if (st == LLAP_OK) {
        f.Z = llap_feature_channels(&f.sight.layout);
        st = make_lanes(&f);
    }
    if (st == LLAP_OK) st = make_spots(&f);
    if (n_windows != NULL) *n_windows = f.n_windows;
    if (st == LLAP_OK && f.n_spots > 0) st = do_all(&f);
    filler_deinit(&f);
    return st;
}
