/* Training rows of the default profile's networks, made by hand from the panel's values: which rows
 * there are, and what the networks see of one. */
#ifndef LLAP_TESTS_TRAIN_ROWS_BY_HAND_H
#define LLAP_TESTS_TRAIN_ROWS_BY_HAND_H

#include "sensors.h"

#include "base/rng/rng.h"

/* Of the networks; a line of the log is the mean of two steps. */
enum {
    N = 2,
    CONTEXT = 60,
    QUERIES = 6,
    STEPS = 16,
    TEN = 10,
    WARM = 2,
    BATCH = 4,
    SEED = 9,
    EACH = 2
};
enum { HOURS = 480, P = 2, S = CONTEXT / P, CALENDAR = 10, MOST = 1000, WIDTH = 64 };
static const double AUGMENT = 0.6, RATE = 2e-3;

static llap_panel *panel;

/* ---- the data: value by value ---- */

typedef struct sensors {
    const llap_model *m;
    bool              joint;
    double            u[N][HOURS], wind[N][HOURS];         /* NaN: missing */
    int64_t           n;                                   /* training rows of the networks */
    int64_t           origin[MOST];                        /* hours */
    int               entity[MOST];                        /* rows of one series */
    int               n_query[MOST], query[MOST][QUERIES]; /* hours from the origin */
    uint64_t          id[MOST];
    int               shifted, shortened, strangers, dropped; /* how often each was seen */
} sensors;

static uint64_t row_id(int64_t origin, const char *entity, int64_t target)
{
    const int64_t ticks = origin * HOUR;
    uint64_t      h = ll_hash(0, &ticks, sizeof ticks);
    if (entity != NULL) h = ll_hash(h, entity, strlen(entity));
    return ll_hash(h, &target, sizeof target);
}

static void add_row(sensors *s, int64_t origin, int entity)
{
    const int64_t k = s->n;
    assert_true(k < MOST);
    s->origin[k] = origin;
    s->entity[k] = entity;
    s->id[k] = s->joint ? row_id(origin, NULL, -1) : row_id(origin, panel->entity[entity], 0);
    for (int q = 1; q <= QUERIES; q++)
        if (s->joint || !isnan(s->u[entity][origin + q])) s->query[k][s->n_query[k]++] = q;
    if (s->n_query[k] > 0) s->n++; /* a series without a reading has no row */
}

static void sensors_init(sensors *s, const llap_model *m, bool joint)
{
    const ll_chain *chain = m->anchor[0]->chain;
    const float    *mean = ll_params_find(m->network->params, "scale.x.mean")->data;
    const float    *std = ll_params_find(m->network->params, "scale.x.std")->data;
    const int64_t   last = m->frame.val_start / HOUR; /* of validation is the first query */
    *s = (sensors){ .m = m, .joint = joint };
    for (size_t e = 0; e < N; e++)
        for (int64_t i = 0; i < HOURS; i++) {
            const float *x = panel->value + ((int64_t)e * HOURS + i) * 2;
            const double z = ll_chain_z(chain, e, (double)x[0]);
            s->u[e][i] = isnan(x[0]) ? NAN : ll_chain_u(chain, e, (double)i, z);
            s->wind[e][i] = fmax(-5, fmin(5, ((double)x[1] - (double)mean[e]) / (double)std[e]));
        }
    /* the record reaches over a whole context, and training over all queries */
    for (int e = 0; e < (joint ? 1 : N); e++)
        for (int64_t t = CONTEXT; t + QUERIES < last; t++) add_row(s, t, e);
}

/* ---- a row as the networks see it ---- */

typedef struct seen {
    double token[S][WIDTH], dropped[S]; /* dropped: no token */
    double tq[QUERIES], f[QUERIES][WIDTH], asked[QUERIES];
    double z0[QUERIES][N], mask[QUERIES][N];
    int    embedding;
} seen;

/* Level and scale of what a context has read, docs/spec/anchor.md 2.5. */
static void level(const double *x, int64_t origin, double kappa, double *m, double *s)
{
    double n = 0, sum = 0, squares = 0;
    for (int64_t i = origin - CONTEXT + 1; i <= origin; i++)
        if (!isnan(x[i])) n += 1, sum += x[i];
    *m = sum / (n + kappa);
    for (int64_t i = origin - CONTEXT + 1; i <= origin; i++)
        if (!isnan(x[i])) squares += (x[i] - *m) * (x[i] - *m);
    *s = sqrt((squares + 8) / (n + 8));
}

/* The hour that a slot holds, and its value on the scale of the context. */
static double scaled(const double *x, int64_t origin, double kappa, int slot)
{
    double m, s;
    level(x, origin, kappa, &m, &s);
    return (x[origin - CONTEXT + 1 + slot] - m) / s;
}

static int put_calendar(double t, double *to)
{
    static const struct {
        double period;
        int    n;
    } cycle[] = { { 24, 3 }, { 168, 2 } };
    int at = 0;
    for (int c = 0; c < 2; c++)
        for (int k = 1; k <= cycle[c].n; k++) {
            to[at++] = sin(2 * acos(-1) * k * t / cycle[c].period);
            to[at++] = cos(2 * acos(-1) * k * t / cycle[c].period);
        }
    return at;
}

/* Hours since the last reading at the end of a token. */
static double age(const double *x, int64_t origin, int token, double shift)
{
    const int64_t end = origin - (int64_t)(S - 1 - token) * P, start = origin - CONTEXT;
    int64_t       last = start - 24;
    for (int64_t i = start + 1; i <= end; i++)
        if (!isnan(x[i])) last = i;
    return log1p((double)(end - last) + shift);
}

/* Mean over the entities of the row of the input's means in a token. */
static double wind_of(const sensors *s, int64_t row, int token, double kappa)
{
    double sum = 0, n = 0;
    for (int e = 0; e < N; e++) {
        double mean = 0;
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double w = scaled(s->wind[e], s->origin[row], kappa, token * P + k);
            mean += fmax(-5, fmin(5, w)) / P;
        }
        sum += mean, n += 1;
    }
    return sum / n;
}

static int put_token(const sensors *s, int64_t row, int token, double shift, double *to)
{
    const double  kappa = s->m->anchor[0]->kappa;
    const int64_t o = s->origin[row];
    int           at = 0;
    for (int e = 0; e < N; e++) { /* readings slot by slot */
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double w = scaled(s->u[e], o, kappa, token * P + k);
            to[at++] = isnan(w) ? 0 : w;
        }
    }
    for (int e = 0; e < N; e++) { /* how many: of every slot, or of the token */
        double share = 0;
        if (!s->joint && e != s->entity[row]) continue;
        for (int k = 0; k < P; k++) {
            const double here = !isnan(s->u[e][o - CONTEXT + 1 + token * P + k]);
            share += here / P;
            if (!s->joint) to[at++] = here;
        }
        if (s->joint) to[at++] = share;
    }
    for (int e = 0; e < N; e++)
        if (s->joint || e == s->entity[row]) to[at++] = age(s->u[e], o, token, shift);
    for (int k = 0; k < P && !s->joint; k++) { /* mean of all entities */
        double sum = 0, n = 0;
        for (int e = 0; e < N; e++) {
            const double w = scaled(s->u[e], o, kappa, token * P + k);
            if (!isnan(w)) sum += w, n += 1;
        }
        to[at++] = n > 0 ? sum / n : 0;
    }
    to[at++] = wind_of(s, row, token, kappa);
    if (!s->joint) to[at++] = 1; /* the input is never missing */
    if (s->m->network->config.features.calendar)
        at += put_calendar((double)o - P * ((double)(S - token) - 0.5), to + at);
    return at;
}

/* Queries: what is known about them, and the residual of the anchor's answer. */
static int put_queries(const sensors *s, int64_t row, double shift, seen *x)
{
    const ll_anchor_model *a = s->m->anchor[0];
    const int64_t          o = s->origin[row];
    const int              n = s->n_query[row], Z = s->joint ? N : 1;
    static double          hour[HOURS], y[N][HOURS];
    ll_law                 law[N][QUERIES];
    ll_series              series[N];
    double                 t[QUERIES];
    int                    at = 0;
    for (int q = 0; q < n; q++) t[q] = (double)(o + s->query[row][q]);
    for (int e = 0; e < N; e++) {
        for (int64_t i = 0; i < HOURS; i++) {
            hour[i] = (double)i;
            y[e][i] = (double)panel->value[((int64_t)e * HOURS + i) * 2];
        }
        series[e] = (ll_series){ .n = HOURS, .t = hour, .y = y[e] };
    }
    for (int e = 0; e < N; e++) {
        const ll_anchor_request r = { .history = series[e],
                                      .series = (size_t)e,
                                      .origin = (double)o,
                                      .n_query = (size_t)n,
                                      .t_query = t,
                                      .law = law[e],
                                      .all = series };
        CHECK_OK(ll_anchor_model_forecast(a, &r, 1));
    }
    for (int q = 0; q < n; q++) {
        const double tq = fmax(0, t[q] - (double)o - shift);
        double       m[N], scale[N];
        x->tq[q] = tq;
        x->asked[q] = 1;
        x->f[q][0] = tq / QUERIES;
        x->f[q][1] = log1p(tq) / 5;
        for (int z = 0; z < Z; z++) {
            const int     e = s->joint ? z : s->entity[row];
            const ll_law *l = &law[e][q];
            level(s->u[e], o, a->kappa, &m[z], &scale[z]);
            x->f[q][2 + z] = (l->mean - m[z]) / scale[z];
            x->f[q][2 + Z + z] = log(l->sd / scale[z]);
            const double r = (s->u[e][o + s->query[row][q]] - l->mean) / l->sd;
            x->mask[q][z] = !isnan(r);
            x->z0[q][z] = isnan(r) ? 0 : fmax(-6, fmin(6, r));
        }
        at = 2 + 2 * Z;
        if (s->m->network->config.features.calendar) at += put_calendar(t[q], x->f[q] + at);
        assert_false(s->m->network->config.features.level); /* less than two years of data */
    }
    return at;
}

/* What training varies, each draw by its name (seed, row, what for, step). */
static void see(sensors *s, int64_t row, uint64_t seed, uint32_t step, seen *x)
{
    enum { OF_ROW, OF_DROP, OF_NOISE, OF_QUERY, OF_UNKNOWN };
    const int Z = s->joint ? N : 1, n = s->n_query[row];
    ll_rng    r[OF_UNKNOWN + 1];
    *x = (seen){ 0 };
    for (uint32_t k = 0; k <= OF_UNKNOWN; k++)
        r[k] = ll_rng_make(seed, LL_STREAM_MASK, s->id[row], k, step);
    const bool   shifted = (double)ll_rng_uniform(&r[OF_ROW], 1) < 0.1;
    const double shift = shifted ? 0.999 * (double)ll_rng_uniform(&r[OF_ROW], 3) : 0;
    const bool   strange = (double)ll_rng_uniform(&r[OF_ROW], 0) < 0.05;
    x->embedding = strange ? N : s->entity[row];
    for (int j = 0; j < S; j++) {
        const int F = put_token(s, row, j, shift, x->token[j]);
        for (int k = 0; k < F; k++)
            x->token[j][k] +=
                0.3 * AUGMENT * (double)ll_rng_normal(&r[OF_NOISE], (uint64_t)(j * F + k));
        x->dropped[j] =
            j + 1 < S && (double)ll_rng_uniform(&r[OF_DROP], (uint64_t)j) < 0.5 * AUGMENT;
        s->dropped += x->dropped[j] > 0;
    }
    put_queries(s, row, shift, x);
    for (int q = 0; q < n; q++)
        for (int z = 0; z < Z; z++)
            if (x->mask[q][z] == 0)
                x->z0[q][z] = (double)ll_rng_normal(&r[OF_UNKNOWN], (uint64_t)(q * Z + z));
    const bool few = (double)ll_rng_uniform(&r[OF_ROW], 2) < 0.1;
    for (int q = 1; q < n && few; q++) {
        if (ll_rng_uniform(&r[OF_QUERY], (uint64_t)q) >= ll_rng_uniform(&r[OF_QUERY], 0)) continue;
        x->asked[q] = 0;
        for (int z = 0; z < Z; z++) x->mask[q][z] = 0;
    }
    s->shifted += shifted, s->shortened += few, s->strangers += strange;
}

#endif
