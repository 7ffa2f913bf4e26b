#include "task/filler.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng.h"
#include "task/reference.h"
#include "task/spots.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { SAMPLES_AT_ONCE = 64, PATHS_AT_ONCE = 256, WINDOWS_AT_ONCE = 64 };
enum { PATHS_ON_GPU = 8192, WINDOWS_ON_GPU = 512 };
static const size_t VALUES_AT_ONCE = (size_t)1 << 22;

typedef struct filler {
    const task_gaps      *g;
    const task_fill_opts *o;
    task_networks         n;
    task_sight            sight;
    task_spots            spots;
    int64_t               C, Z, h;
    task_put_cell         put;
    void                 *user;
} filler;

/* ---- cells ---- */

/* Row of the panel that channel z of a window has at a time; -1: none. */
static int64_t row_at(const filler *f, const task_lane *l, int64_t z, int64_t time)
{
    const int64_t e = l->entity >= 0 ? l->entity : f->sight.entity[z / f->C];
    return e < 0 ? -1 : task_row_at(f->g->p, e, time);
}

static int64_t target_at(const filler *f, const task_lane *l, int64_t z)
{
    return l->target >= 0 ? l->target : z % f->C;
}

/* A number of windows that are worked on together. */
typedef struct chunk {
    const task_spot     *spot;
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
    double              *y;       /* [2,n_samples] */
} chunk;

static void chunk_deinit(chunk *k)
{
    void *const arrays[] = { k->row,     k->index, k->t,     k->request, k->law,
                             k->missing, k->known, k->guess, k->x,       k->y };
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
                  .y = llap_new(2, R * sizeof *k->y) };
    return k->row == NULL || k->index == NULL || k->t == NULL || k->request == NULL ||
                   k->law == NULL || k->missing == NULL || k->known == NULL || k->guess == NULL ||
                   k->x == NULL || k->y == NULL
               ? LLAP_ENOMEM
               : LLAP_OK;
}

static void make_rows(const filler *f, chunk *k)
{
    for (size_t i = 0; i < k->n; i++) {
        const task_spot *s = &k->spot[i];
        const task_lane *l = &f->spots.lane[s->lane];
        double          *t = k->t + i * (size_t)f->h;
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
                const task_lane *l = &f->spots.lane[k->spot[i].lane];
                const size_t     e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
                double          *t = k->missing + ((int64_t)i * Z + z) * f->h;
                size_t           n = 0;
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
    const task_lane         *l = &f->spots.lane[k->spot[i].lane];
    const size_t             e = l->entity >= 0 ? (size_t)l->entity : (size_t)(z / f->C);
    const int64_t            c = target_at(f, l, z);
    const llap_anchor_model *a = f->g->m->anchor[c];
    const size_t             known = f->sight.source.known[e];
    const double             climate = llap_chain_climate(a->chain, known, r->t_query[q]);
    double                   mean, sd;
    llap_feature_law(k->set, i, q, z, &mean, &sd);
    for (int64_t j = 0; j < 2 * R; j++) {
        const float *from = (j < R ? k->x : k->guess) + ((int64_t)i * R + j % R) * n + at;
        k->y[j] = llap_chain_y_back(
            a->chain, known,
            llap_chain_z_back_given(a->chain, known, climate, mean + sd * (double)*from));
    }
    const task_filled cell = { .window = (int64_t)i + (k->spot - f->spots.spot),
                               .row = row,
                               .target = c,
                               .y = k->y,
                               .guess = k->y + R,
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
    const llap_residual_given given = { k->known, k->guess };
    if (st == LLAP_OK)
        st = llap_residual_complete(sampler, k->set, k->index, (int64_t)k->n, &given, f->o->seed,
                                    f->o->n_samples, k->x);
    for (size_t i = 0; i < k->n && st == LLAP_OK; i++) {
        const task_spot *s = &k->spot[i];
        const task_lane *l = &f->spots.lane[s->lane];
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
    const llap_backend    *backend = f->o->backend != NULL ? f->o->backend : &llap_backend_cpu;
    const bool             gpu = backend->memory != NULL;
    const int64_t          paths = gpu ? PATHS_ON_GPU : PATHS_AT_ONCE;
    const size_t           most = gpu ? WINDOWS_ON_GPU : WINDOWS_AT_ONCE;
    int64_t                rows = paths * 64 / (R * (f->h > 64 ? f->h : 64));
    const size_t           each = (size_t)(f->o->n_samples * f->h * f->Z);
    size_t                 n = each < VALUES_AT_ONCE ? VALUES_AT_ONCE / each : 1;
    llap_residual_sampler *sampler = NULL;
    chunk                  k;
    if (n > most) n = most;
    if (n > f->spots.n) n = f->spots.n;
    if (gpu && rows > (int64_t)n) rows = (int64_t)n; /* empty ones cost as much */
    llap_status          st = chunk_init(&k, f, n);
    const llap_draw_plan o = { .rows = rows < 1 ? 1 : rows,
                               .samples = R,
                               .h = f->h,
                               .solver = f->n.sampling.solver.solver,
                               .steps = (int)f->n.sampling.steps,
                               .first = f->n.sampling.first,
                               .last = f->n.sampling.last,
                               .gathered = f->n.sampling.list == LLAP_LIST_GATHERED,
                               .n_threads = omp_get_max_threads(),
                               .backend = backend,
                               .given = true,
                               .begin = (int)f->o->first };
    if (st == LLAP_OK)
        st = llap_residual_sampler_create(&f->n.config, f->n.member, f->n.n_members, &o, &sampler);
    if (st == LLAP_OK && llap_residual_sampler_rows(sampler) < o.rows)
        llap_logf(f->o->log, LLAP_LOG_WARNING,
                  "%s: too little memory for %lld windows at once: %lld at a time", backend->name,
                  (long long)o.rows, (long long)llap_residual_sampler_rows(sampler));
    for (size_t i = 0; i < f->spots.n && st == LLAP_OK; i += n) {
        k.spot = f->spots.spot + i;
        k.n = f->spots.n - i < n ? f->spots.n - i : n;
        st = llap_report(
            f->o->progress,
            &(llap_progress_event){ "filling", (int64_t)i, (int64_t)f->spots.n, "windows", NULL });
        if (st == LLAP_OK) st = do_chunk(f, sampler, &k);
    }
    llap_residual_sampler_destroy(sampler);
    chunk_deinit(&k);
    return st;
}

llap_status task_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put, void *user,
                      size_t *n_windows)
{
    static const task_lanes lanes[] = { TASK_LANE_SERIES, TASK_LANE_ENTITY, TASK_LANE_ALL };
    if (g->m->anchor == NULL) return task_reference_fill(g, o, put, user, n_windows);
    filler f = { .g = g, .o = o, .C = g->m->frame.n_targets, .put = put, .user = user };
    task_networks_init(&f.n, g->m);
    const llap_layout    *layout = &f.n.config.layout;
    const task_spots_opts where = { .lanes = lanes[layout->view],
                                    .from = o->from,
                                    .most = o->most };
    llap_status           st = task_spots_init(&f.spots, g->m, g->p, g->asked, &where);
    if (n_windows != NULL) *n_windows = f.spots.n_all;
    if (st == LLAP_OK) st = task_sight_init(&f.sight, g->m, g->p, layout, &f.n.inputs);
    if (st == LLAP_OK && f.spots.n > 0) {
        f.Z = llap_feature_channels(&f.sight.layout);
        f.h = f.spots.longest <= 8 ? 8 : (f.spots.longest + 31) / 32 * 32;
        st = do_all(&f);
    }
    task_spots_deinit(&f.spots);
    task_sight_deinit(&f.sight);
    return st;
}
