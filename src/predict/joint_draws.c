#include "predict/joint_draws.h"

#include "base/alloc.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { PATHS_AT_ONCE = 256 };

bool ll_joint_holds(const llap_model *m, size_t known)
{
    return m->joint != NULL && (m->frame.by_entity || known < (size_t)m->frame.n_entities);
}

/* ---- which queries are of one time ---- */

typedef struct place { /* a query, and what its normals are keyed by */
    uint64_t time;
    int64_t  window, query;
} place;

static int by_time(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->window != y->window) return x->window < y->window ? -1 : 1;
    return (x->query > y->query) - (x->query < y->query);
}

static int64_t list_places(const llap_model *m, const size_t *known, const ll_forecast_window *w,
                           int64_t n, place *out)
{
    const int64_t step = m->frame.step;
    int64_t       count = 0;
    for (int64_t i = 0; i < n; i++) {
        struct {
            int64_t draw, bin, number;
        } key = { .draw = w[i].draw, .bin = INT64_MIN };
        if (!ll_joint_holds(m, known[w[i].entity])) continue;
        for (int64_t q = 0; q < w[i].n_query; q++) {
            const int64_t bin = w[i].time[q] / step - (w[i].time[q] % step < 0);
            key.number = bin == key.bin ? key.number + 1 : 0;
            key.bin = bin;
            out[count++] = (place){ ll_hash(0, &key, sizeof key), i, q };
        }
    }
    return count;
}

/* ---- drawing ---- */

typedef struct job {
    const llap_model         *m;
    const llap_panel         *p;
    const size_t             *known;
    int64_t                   target;
    const ll_forecast_window *w;
    const place              *at;
    uint64_t                  seed;
    int64_t                   n_samples;
    const uint64_t           *name; /* [series of the law]; of an entity of its own: not used */
    size_t                    rows; /* of eta */
    double *const            *out;
} job;

static uint64_t name_of(const llap_model *m, const char *entity, int64_t target)
{
    const char *t = m->frame.target[target];
    return ll_hash(ll_hash(0, entity, strlen(entity) + 1), t, strlen(t));
}

/* A query of independent entities: its targets alone share normals. */
static void draw_apart(const job *j, const place *x, int64_t first, int64_t n, float *eta,
                       double *xi)
{
    const ll_joint *law = j->m->joint;
    const size_t    c = (size_t)j->target;
    const char     *entity = j->p->entity[j->w[x->window].entity];
    uint64_t        name[LL_JOINT_DENSE] = { 0 };
    assert(law->n <= LL_JOINT_DENSE && c < law->n);
    for (size_t k = 0; k <= c; k++) name[k] = name_of(j->m, entity, (int64_t)k);
    ll_joint_eta(law, name, j->seed, x->time, (size_t)first, (size_t)n, c + 1, eta);
    ll_joint_xi(law, c, name[c], j->seed, x->time, (size_t)first, (size_t)n, eta, xi);
}

/* Queries number first .. end - 1, all of one time. */
static void draw_time(const job *j, int64_t from, int64_t end, float *eta, double *xi)
{
    const ll_joint *law = j->m->joint;
    const bool      apart = j->m->frame.by_entity;
    const size_t    C = (size_t)j->m->frame.n_targets;
    for (int64_t done = 0; done < j->n_samples; done += PATHS_AT_ONCE) {
        const int64_t left = j->n_samples - done;
        const int64_t n = left < PATHS_AT_ONCE ? left : PATHS_AT_ONCE;
        if (!apart)
            ll_joint_eta(law, j->name, j->seed, j->at[from].time, (size_t)done, (size_t)n, j->rows,
                         eta);
        for (int64_t i = from; i < end; i++) {
            const place              *x = &j->at[i];
            const ll_forecast_window *w = &j->w[x->window];
            const size_t              s = j->known[w->entity] * C + (size_t)j->target;
            if (apart) draw_apart(j, x, done, n, eta, xi);
            else
                ll_joint_xi(law, s, j->name[s], j->seed, x->time, (size_t)done, (size_t)n, eta, xi);
            for (int64_t k = 0; k < n; k++)
                j->out[x->window][(done + k) * w->n_query + x->query] = xi[k];
        }
    }
}

/* Runs of equal times: first [n + 1]. */
static int64_t find_times(const place *at, int64_t n, int64_t *first)
{
    int64_t times = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || at[i].time != at[i - 1].time) first[times++] = i;
    first[times] = n;
    return times;
}

static llap_status draw_all(job *j, const int64_t *first, int64_t n_times)
{
    const int n_threads = omp_get_max_threads();
    float    *eta = ll_new((size_t)n_threads * j->rows, PATHS_AT_ONCE * sizeof *eta);
    double   *xi = ll_new((size_t)n_threads, PATHS_AT_ONCE * sizeof *xi);
    if (eta != NULL && xi != NULL) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
        for (int64_t t = 0; t < n_times; t++) {
            const size_t me = (size_t)omp_get_thread_num();
            draw_time(j, first[t], first[t + 1], eta + me * j->rows * PATHS_AT_ONCE,
                      xi + me * PATHS_AT_ONCE);
        }
    }
    const bool ok = eta != NULL && xi != NULL;
    ll_free(eta);
    ll_free(xi);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* Names of the law's series, and how many rows of normals the windows need. */
static void name_series(job *j, int64_t n, uint64_t *name)
{
    const ll_model_frame *f = &j->m->frame;
    const ll_joint       *law = j->m->joint;
    size_t                most = (size_t)j->target + 1;
    for (int64_t i = 0; !f->by_entity && i < f->n_entities * f->n_targets; i++)
        name[i] = name_of(j->m, f->entity[i / f->n_targets], i % f->n_targets);
    for (int64_t i = 0; !f->by_entity && i < n; i++) {
        const size_t e = j->known[j->w[i].entity];
        const size_t s =
            e >= (size_t)f->n_entities ? 0 : e * (size_t)f->n_targets + (size_t)j->target;
        if (s + 1 > most) most = s + 1;
    }
    assert(most <= law->n);
    j->rows = ll_joint_rows(law, most);
    j->name = name;
}

llap_status ll_joint_normals(const llap_model *m, const llap_panel *p, const size_t *known,
                             int64_t target, const ll_forecast_window *w, int64_t n,
                             const ll_forecast_request *ask, double *const *out)
{
    size_t n_query = 0;
    for (int64_t i = 0; i < n; i++) n_query += (size_t)w[i].n_query;
    place      *at = ll_new(n_query, sizeof *at);
    int64_t    *first = ll_new(n_query + 1, sizeof *first);
    uint64_t   *name = ll_new(m->joint->n, sizeof *name);
    llap_status st = at == NULL || first == NULL || name == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        const int64_t count = list_places(m, known, w, n, at);
        qsort(at, (size_t)count, sizeof *at, by_time);
        job j = { .m = m,
                  .p = p,
                  .known = known,
                  .target = target,
                  .w = w,
                  .at = at,
                  .seed = ask->seed,
                  .n_samples = ask->n_samples,
                  .out = out };
        name_series(&j, n, name);
        st = draw_all(&j, first, find_times(at, count, first));
    }
    ll_free(at);
    ll_free(first);
    ll_free(name);
    return st;
}

/* ---- members by ranks ---- */

typedef struct ranked {
    double  x;
    int64_t row;
} ranked;

static int in_order(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->x != y->x) return x->x < y->x ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

llap_status ll_joint_reorder(double *y, const double *by, int64_t n, int64_t n_query, int64_t start,
                             int64_t stride)
{
    ranked *to = ll_new(2 * (size_t)n, sizeof *to), *from = to + n;
    if (to == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < n_query; q++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = (i * stride + start) * n_query + q;
            to[i] = (ranked){ by[at], at };
            from[i] = (ranked){ y[at], i };
        }
        qsort(to, (size_t)n, sizeof *to, in_order);
        qsort(from, (size_t)n, sizeof *from, in_order);
        for (int64_t i = 0; i < n; i++) y[to[i].row] = from[i].x;
    }
    ll_free(to);
    return LLAP_OK;
}
