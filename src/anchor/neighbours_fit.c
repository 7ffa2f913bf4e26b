/* Learning what the other series say about a gap: windows of all series at the same times, three in
 * ten readings of each hidden. The covariance of residuals comes from training, whether it is used
 * from validation. */
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    WINDOWS = ANCHOR_SCENES,
    THIN = 3 /* every third time, where each needs a filter of its own */
};

static const double share = 0.3, gain = 0.003;

static const char *const neighbours_names[] = { "near.0", "near.1" }; /* by ll_anchor_from */

/* One window of all series, and its hidden readings in the middle half of the context. */
typedef struct scene {
    size_t             n_series, n;
    ll_series         *all; /* [n_series] with readings hidden, views into y */
    double            *y;
    ll_anchor_request *request;   /* [n_series] for the hidden */
    double            *t, *u, *z; /* [n] of the hidden, and their truth */
    ll_law            *law;       /* [n] by each series itself */
    double            *residual;  /* [n,n_series] of the others, NaN: not read */
    bool              *drop;      /* room for the glitches of one series */
} scene;

static void scene_deinit(scene *s)
{
    void *const all[] = {
        s->all, s->y, s->request, s->t, s->u, s->z, s->law, s->residual, s->drop
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ll_free(all[i]);
}

/* Rows within the context before T; returns their number. */
static size_t cut(scene *s, const ll_anchor_model *m, const ll_series *series, double T)
{
    size_t n = 0;
    for (size_t e = 0; e < s->n_series; e++) {
        const ll_series *h = &series[e];
        const size_t     first = anchor_after(h->t, h->n, T - m->spec.context);
        s->all[e].n = anchor_after(h->t, h->n, T) - first;
        s->all[e].t = h->t + first;
        n += s->all[e].n;
    }
    return n;
}

/* Hides a part of the readings of series e, and asks for every so many-th in the middle. */
static void hide(scene *s, const ll_anchor_model *m, const ll_series *h, size_t e, double T,
                 const ll_rng *rng, size_t thin)
{
    const double       c = m->spec.context;
    ll_anchor_request *r = &s->request[e];
    const double      *full = h->y + (s->all[e].t - h->t);
    double            *y = s->y;
    ll_chain_mark(m->chain, e, full, s->all[e].n, s->drop);
    for (size_t k = 0; k < e; k++) y += s->all[k].n;
    s->all[e].y = y;
    *r = (ll_anchor_request){ .history = s->all[e],
                              .series = e,
                              .t_query = s->t + s->n,
                              .law = s->law + s->n,
                              .all = s->all };
    for (size_t i = 0; i < s->all[e].n; i++) {
        const double t = s->all[e].t[i];
        y[i] = full[i];
        if (isnan(y[i]) || !((double)ll_rng_uniform(rng, i) < share)) continue;
        y[i] = NAN;
        if (s->drop[i] || i % thin != 0 || !(t > T - 0.75 * c && t <= T - 0.25 * c)) continue;
        s->z[s->n] = ll_chain_unit_of(m->chain, e, full[i]);
        s->u[s->n] = ll_chain_target(m->chain, e, (size_t)(s->all[e].t - h->t) + i, t, full[i]);
        s->t[s->n++] = t;
        r->n_query++;
    }
}

static void keep_residual(void *user, size_t i, size_t q, const double *residual)
{
    scene       *s = user;
    const size_t at = (size_t)(s->request[i].law - s->law) + q;
    memcpy(s->residual + at * s->n_series, residual, s->n_series * sizeof *residual);
}

static llap_status scene_init(scene *s, const ll_anchor_model *m, const ll_series *series, double T,
                              ll_anchor_from from, uint64_t seed, uint64_t window)
{
    *s = (scene){ .n_series = m->chain->n_series };
    s->all = ll_new(s->n_series, sizeof *s->all);
    s->request = ll_new(s->n_series, sizeof *s->request);
    if (s->all == NULL || s->request == NULL) return LLAP_ENOMEM;
    const size_t n = cut(s, m, series, T);
    s->y = ll_new(n, sizeof *s->y);
    s->t = ll_new(n, sizeof *s->t);
    s->u = ll_new(n, sizeof *s->u);
    s->z = ll_new(n, sizeof *s->z);
    s->law = ll_new(n, sizeof *s->law);
    s->drop = ll_new(n, sizeof *s->drop);
    if (s->y == NULL || s->t == NULL || s->u == NULL || s->z == NULL || s->law == NULL ||
        s->drop == NULL)
        return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (size_t e = 0; e < s->n_series; e++) {
        const ll_rng rng = ll_rng_make(seed, LL_STREAM_MASK, window, (uint32_t)e, 1);
        hide(s, m, &series[e], e, T, &rng, from == LL_ANCHOR_PAST ? THIN : 1);
    }
    s->residual = ll_new(s->n * s->n_series, sizeof *s->residual);
    if (s->residual == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < s->n * s->n_series; i++) s->residual[i] = NAN;
    for (size_t e = 0; st == LLAP_OK && e < s->n_series; e++)
        if (s->request[e].n_query > 0) st = anchor_fill_alone(m, &s->request[e], from);
    if (st == LLAP_OK && s->n > 0)
        st = anchor_neighbours_each(m, s->request, s->n_series, from, keep_residual, s);
    return st;
}

/* Sums of products of residuals at the time of a gap, and their numbers. */
static void add_products(const scene *s, double *sum, double *count)
{
    const size_t n = s->n_series;
    for (size_t e = 0, at = 0; e < n; e++)
        for (size_t q = 0; q < s->request[e].n_query; q++, at++) {
            double      *r = s->residual + at * n;
            const double own = (s->u[at] - s->law[at].mean) / s->law[at].sd;
            r[e] = fmin(fmax(own, -ANCHOR_NEIGHBOURS_CLIP), ANCHOR_NEIGHBOURS_CLIP);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j <= i; j++) {
                    if (isnan(r[i] * r[j])) continue;
                    sum[i * n + j] += r[i] * r[j];
                    count[i * n + j] += 1;
                }
        }
}

/* Covariances of few products are held down; those of different gaps need not be of any one
 * covariance matrix, and are held down until they are. */
static void finish_cov(double *cov, const double *count, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const double few = i == j ? 0.0 : 10.0 * (double)n;
            const double c = count[i * n + j] > 0 ? cov[i * n + j] / (count[i * n + j] + few) : 0.0;
            cov[i * n + j] = cov[j * n + i] = i == j ? fmax(c, 1e-3) : c;
        }
    while (!anchor_neighbours_definite(cov, n))
        for (size_t i = 0; i < n * n; i++)
            if (i % (n + 1) != 0) cov[i] *= 0.95;
}

/* Scene number i is over, WINDOWS and more: of validation. */
static llap_status tell(const ll_anchor_model_opts *o, size_t n_series, int from, size_t i)
{
    const int64_t before = anchor_course_of(o, n_series, true).neighbours + 2 * WINDOWS * from;
    return anchor_tell(o, neighbours_names[from], before + (int64_t)i + 1);
}

static llap_status fit_cov(const ll_anchor_model *m, const ll_anchor_data *d, ll_anchor_from from,
                           const ll_anchor_model_opts *o, double *cov)
{
    const size_t n = d->n_series, windows = d->n_train < WINDOWS ? d->n_train : WINDOWS;
    double      *count = ll_new(n * n, sizeof *count);
    llap_status  st = count == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < windows; i++) {
        scene s;
        st = scene_init(&s, m, d->series, d->train[i * d->n_train / windows].t, from, o->seed, i);
        if (st == LLAP_OK) add_products(&s, cov, count);
        scene_deinit(&s);
        if (st == LLAP_OK) st = tell(o, n, (int)from, i);
    }
    if (st == LLAP_OK) finish_cov(cov, count, n);
    ll_free(count);
    return st;
}

/* Hidden readings of validation: the law of each alone, and with the others. */
typedef struct trial {
    ll_law *own, *with; /* [n] */
    double *z, *residual, *lead;
    size_t  n, room;
} trial;

static void trial_deinit(trial *t)
{
    void *const all[] = { t->own, t->with, t->z, t->residual, t->lead };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ll_free(all[i]);
}

static llap_status trial_init(trial *t, size_t room)
{
    *t = (trial){ .own = ll_new(room, sizeof *t->own),
                  .with = ll_new(room, sizeof *t->with),
                  .z = ll_new(room, sizeof *t->z),
                  .residual = ll_new(room, sizeof *t->residual),
                  .lead = ll_new(room, sizeof *t->lead),
                  .room = room };
    const bool ok =
        t->own != NULL && t->with != NULL && t->z != NULL && t->residual != NULL && t->lead != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static void ask_hidden(trial *t, const scene *s, const double *cov,
                       const ll_anchor_neighbours *neighbours)
{
    for (size_t e = 0, at = 0; e < s->n_series; e++)
        for (size_t q = 0; q < s->request[e].n_query; q++, at++) {
            if (t->n == t->room) return;
            ll_law *law = &t->with[t->n];
            t->own[t->n] = *law = s->law[at];
            anchor_neighbours_law(cov, s->n_series, e, s->residual + at * s->n_series,
                                  neighbours->calibration.factor[0], law);
            t->residual[t->n] = (s->u[at] - law->mean) / law->sd;
            t->z[t->n++] = s->z[at];
        }
}

/* CRPS of the laws with the others' help, as a share of those without. */
static double compare(const trial *t, const ll_anchor_model *m)
{
    double own = 0.0, with = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        own += ll_anchor_crps_z(m, &t->own[i], t->z[i], NULL);
        with += ll_anchor_crps_z(m, &t->with[i], t->z[i], NULL);
    }
    return own > 0.0 ? with / own : 1.0;
}

/* Calibrates near, and says whether it pays. */
static llap_status validate(const ll_anchor_model *m, const ll_anchor_data *d, ll_anchor_from from,
                            const ll_anchor_model_opts *o, const double *cov,
                            ll_anchor_neighbours *neighbours, bool *pays)
{
    enum { MOST = 200000 };
    const size_t windows = d->n_valid < WINDOWS ? d->n_valid : WINDOWS;
    size_t       rows = 0;
    trial        t;
    for (size_t e = 0; e < d->n_series; e++) rows += d->series[e].n;
    llap_status st = trial_init(&t, windows * rows < MOST ? windows * rows : MOST);
    neighbours->calibration = ll_calibration_none(0, 0);
    for (size_t i = 0; st == LLAP_OK && i < windows; i++) {
        scene s;
        st = scene_init(&s, m, d->series, d->valid[i * d->n_valid / windows].t, from, o->seed,
                        WINDOWS + i);
        if (st == LLAP_OK) ask_hidden(&t, &s, cov, neighbours);
        scene_deinit(&s);
        if (st == LLAP_OK) st = tell(o, d->n_series, (int)from, WINDOWS + i);
    }
    if (st == LLAP_OK)
        st = ll_calibration_fit(t.lead, t.residual, t.n, 0, 0, 1.0, &neighbours->calibration);
    if (st == LLAP_OK) *pays = compare(&t, m) < 1.0 - gain;
    trial_deinit(&t);
    return st;
}

/* What is found, as a watch keeps it: whether it pays, its calibration, the covariance. */
enum { PAYS, SHAPE, COV = SHAPE + sizeof(ll_calibration) / sizeof(double) };

static llap_status check_near(const char *name, const double *found, size_t n)
{
    ll_calibration shape;
    const double  *cov = found + COV;
    memcpy(&shape, found + SHAPE, sizeof shape);
    llap_status st = anchor_note_check(name, "whether it pays", found + PAYS, 1, 0, 1);
    if (st == LLAP_OK) st = anchor_note_calibration(name, &shape, 0, 0);
    if (st == LLAP_OK) st = anchor_note_check(name, "covariance", cov, n * n, -DBL_MAX, DBL_MAX);
    for (size_t k = 0; st == LLAP_OK && k < n * n; k++) {
        const double other = cov[k % n * n + k / n];
        st = anchor_note_check(name, "covariance", cov + k, 1, other, other);
    }
    if (st == LLAP_OK && !anchor_neighbours_definite(cov, n))
        st = ll_fail(LLAP_EFORMAT, "note '%s': is no covariance of %zu entities", name, n);
    return st;
}

static llap_status find_near(const ll_anchor_model *m, const ll_anchor_data *d, int from,
                             const ll_anchor_model_opts *o, double *found)
{
    const size_t         n = d->n_series;
    ll_anchor_neighbours neighbours;
    bool                 pays = false;
    if (anchor_found(o, neighbours_names[from], found, COV + n * n))
        return check_near(neighbours_names[from], found, n);
    memset(found, 0, (COV + n * n) * sizeof *found);
    llap_status st = fit_cov(m, d, (ll_anchor_from)from, o, found + COV);
    if (st == LLAP_OK)
        st = validate(m, d, (ll_anchor_from)from, o, found + COV, &neighbours, &pays);
    if (st != LLAP_OK) return st;
    found[PAYS] = pays;
    memcpy(found + SHAPE, &neighbours.calibration, sizeof neighbours.calibration);
    return anchor_keep(o, neighbours_names[from], found, COV + n * n);
}

llap_status anchor_fit_neighbours(ll_anchor_model *m, const ll_anchor_data *d,
                                  const ll_anchor_model_opts *o)
{
    const size_t n = d->n_series;
    llap_status  st = LLAP_OK;
    if (n < 2 || n > LL_ANCHOR_LINKED_MAX) return LLAP_OK;
    double *found = ll_new(COV + n * n, sizeof *found);
    if (found == NULL) return LLAP_ENOMEM;
    for (int from = 0; st == LLAP_OK && from < 2; from++) {
        ll_anchor_neighbours *neighbours = &m->neighbours[from];
        st = find_near(m, d, from, o, found);
        if (st != LLAP_OK) break;
        memcpy(&neighbours->calibration, found + SHAPE, sizeof neighbours->calibration);
        if (found[PAYS] != 1.0) continue;
        neighbours->cov = ll_new(n * n, sizeof *neighbours->cov);
        if (neighbours->cov == NULL) st = LLAP_ENOMEM;
        else memcpy(neighbours->cov, found + COV, n * n * sizeof *neighbours->cov);
    }
    ll_free(found);
    return st;
}
