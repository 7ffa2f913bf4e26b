#include "data/synth/synth.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <string.h>

static const double  TWO_PI = 6.283185307179586476925286766559;
static const int64_t EPOCH_2000 = INT64_C(946684800000000000);
static const double  HOUR_NS = 3.6e12;

/* Draws of the truth and of the measurements are told apart by the step. */
enum { DRAW_SHARED = 1, DRAW_SENSOR, DRAW_SHARED_PATH, DRAW_OWN_PATH, DRAW_ROWS, DRAW_CELLS };

double ll_synth_hours(int64_t time) { return (double)(time - EPOCH_2000) / HOUR_NS; }

double ll_synth_mean(const ll_synth *s, const ll_synth_point *a)
{
    const int64_t i = a->entity * s->o.n_vars + a->var;
    return s->level[i] + s->season[i] * cos(TWO_PI * a->hours / s->o.season_period + s->phase[i]);
}

static double between(const ll_rng *r, uint64_t i, double low, double high)
{
    return low + (high - low) * (double)ll_rng_uniform(r, i);
}

/* ---- the truth --------------------------------------------------------------------------------
 */

void ll_synth_destroy(ll_synth *s)
{
    if (s == NULL) return;
    ll_free(s->shared);
    ll_free(s->own);
    ll_free(s->load);
    ll_free(s->level);
    ll_free(s->season);
    ll_free(s->phase);
    ll_free(s);
}

static llap_status check_opts(const ll_synth_opts *o)
{
    const bool sizes = o->n_entities >= 1 && o->n_entities <= 1000000 && o->n_vars >= 1 &&
                       o->n_vars <= 10000 && o->n_rows >= 1 && o->n_rows <= 100000000 &&
                       o->n_shared >= 0 && o->n_shared <= 1000 && o->n_own >= 0 && o->n_own <= 1000;
    const bool scales = o->step_hours > 0 && o->jitter >= 0 && o->jitter < 0.5 &&
                        o->min_period > 0 && o->max_period >= o->min_period && o->min_life > 0 &&
                        o->max_life >= o->min_life && o->season_period > 0 && o->noise >= 0 &&
                        o->gap_rows >= 0;
    const bool shares = o->row_loss >= 0 && o->row_loss < 1 && o->cell_loss >= 0 &&
                        o->cell_loss < 1 && o->gap_start >= 0 && o->gap_start < 1 && o->dead >= 0 &&
                        o->dead <= 1;
    if (!sizes) return ll_fail(LLAP_EINVAL, "synthetic panel: a size or number of modes");
    if (!scales) return ll_fail(LLAP_EINVAL, "synthetic panel: a time, period, life or deviation");
    if (!shares) return ll_fail(LLAP_EINVAL, "synthetic panel: a probability or share");
    return LLAP_OK;
}

static ll_synth_mode draw_mode(const ll_synth_opts *o, const ll_rng *r, uint64_t i, double power)
{
    return (ll_synth_mode){ .rho = 1 / between(r, i, o->min_life, o->max_life),
                            .omega = TWO_PI / between(r, i + 1, o->min_period, o->max_period),
                            .power = power };
}

static void draw_sensor(ll_synth *s, int64_t sensor)
{
    const ll_synth_opts *o = &s->o;
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)sensor, 0, DRAW_SENSOR);
    uint64_t     k = 0;
    s->level[sensor] = between(&r, k++, -5, 5);
    s->season[sensor] = between(&r, k++, 0, o->season);
    s->phase[sensor] = between(&r, k++, 0, TWO_PI);
    for (int m = 0; m < o->n_shared; m++)
        s->load[sensor * o->n_shared + m] = between(&r, k++, -1, 1);
    for (int m = 0; m < o->n_own; m++, k += 3)
        s->own[sensor * o->n_own + m] = draw_mode(o, &r, k, between(&r, k + 2, 0.05, 0.5));
}

llap_status ll_synth_create(const ll_synth_opts *o, ll_synth **out)
{
    *out = NULL;
    llap_status st = check_opts(o);
    if (st != LLAP_OK) return st;
    ll_synth *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    const size_t sensors = (size_t)(o->n_entities * o->n_vars);
    s->o = *o;
    s->shared = ll_new((size_t)o->n_shared, sizeof *s->shared);
    s->own = ll_new(sensors * (size_t)o->n_own, sizeof *s->own);
    s->load = ll_new(sensors * (size_t)o->n_shared, sizeof *s->load);
    s->level = ll_new(sensors, sizeof *s->level);
    s->season = ll_new(sensors, sizeof *s->season);
    s->phase = ll_new(sensors, sizeof *s->phase);
    if (s->shared == NULL || s->own == NULL || s->load == NULL || s->level == NULL ||
        s->season == NULL || s->phase == NULL) {
        ll_synth_destroy(s);
        return LLAP_ENOMEM;
    }
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_SYNTH, 0, 0, DRAW_SHARED);
    for (int m = 0; m < o->n_shared; m++) s->shared[m] = draw_mode(o, &r, 2 * (uint64_t)m, 1);
    for (int64_t i = 0; i < o->n_entities * o->n_vars; i++) draw_sensor(s, i);
    *out = s;
    return LLAP_OK;
}

/* ---- what is measured of it --------------------------------------------------------------------
 */

/* One oscillator on its way: a complex Ornstein-Uhlenbeck process, of which the real part counts.
 */
typedef struct path {
    double re, im, hours;
} path;

/* Moves to a later time; the draws are numbered by call. */
static double advance(const ll_synth_mode *m, path *p, double hours, const ll_rng *r, uint64_t call)
{
    const double dt = hours - p->hours, keep = call == 0 ? 0 : exp(-m->rho * dt);
    const double c = cos(m->omega * dt), s = sin(m->omega * dt);
    const double fresh = sqrt(m->power * (1 - keep * keep));
    const double re = keep * (c * p->re - s * p->im), im = keep * (s * p->re + c * p->im);
    p->re = re + fresh * (double)ll_rng_normal(r, 2 * call);
    p->im = im + fresh * (double)ll_rng_normal(r, 2 * call + 1);
    p->hours = hours;
    return p->re;
}

/* Row times: entity e, row k, in nanoseconds. */
static int64_t row_time(const ll_synth_opts *o, int64_t e, int64_t k)
{
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)e, 0, DRAW_ROWS);
    const double j = o->jitter * (2 * (double)ll_rng_uniform(&r, 4 * (uint64_t)k) - 1);
    return EPOCH_2000 + llrint(((double)k + j) * o->step_hours * HOUR_NS);
}

/* Which rows of entity e are left; returns how many. The first and the last always are. */
static int64_t surviving_rows(const ll_synth_opts *o, int64_t e, uint8_t *left)
{
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)e, 0, DRAW_ROWS);
    int64_t      n = 0, gap = 0;
    for (int64_t k = 0; k < o->n_rows; k++) {
        const uint64_t i = 4 * (uint64_t)k;
        if (gap == 0 && (double)ll_rng_uniform(&r, i + 1) < o->gap_start)
            gap = 1 + llrint(-o->gap_rows * log1p(-(double)ll_rng_uniform(&r, i + 2)));
        const bool lost = gap > 0 || (double)ll_rng_uniform(&r, i + 3) < o->row_loss;
        left[k] = !lost || k == 0 || k == o->n_rows - 1;
        n += left[k];
        if (gap > 0) gap--;
    }
    return n;
}

/* All shared modes, on a common clock: entity e meets row k at its own jittered time, so the modes
 * are followed along the sorted times of step k of all entities. value is [n_entities] x [n_rows] x
 * [n_shared] in that order. */
typedef struct visit {
    double  hours;
    int64_t entity;
} visit;

static void sort_visits(visit *v, int64_t n)
{
    for (int64_t i = 1; i < n; i++) { /* few, and nearly sorted */
        const visit x = v[i];
        int64_t     j = i;
        for (; j > 0 && v[j - 1].hours > x.hours; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

static void follow_shared(const ll_synth *s, visit *v, path *p, float *value)
{
    const ll_synth_opts *o = &s->o;
    uint64_t             call = 0;
    for (int64_t k = 0; k < o->n_rows; k++) {
        for (int64_t e = 0; e < o->n_entities; e++)
            v[e] = (visit){ .hours = ll_synth_hours(row_time(o, e, k)), .entity = e };
        sort_visits(v, o->n_entities);
        for (int64_t i = 0; i < o->n_entities; i++, call++)
            for (int m = 0; m < o->n_shared; m++) {
                const ll_rng r =
                    ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)m, 0, DRAW_SHARED_PATH);
                value[(v[i].entity * o->n_rows + k) * o->n_shared + m] =
                    (float)advance(&s->shared[m], &p[m], v[i].hours, &r, call);
            }
    }
}

/* Row from which on the sensor is silent. */
static int64_t silent_from(const ll_synth_opts *o, const ll_rng *r)
{
    if ((double)ll_rng_uniform(r, 0) >= o->dead) return o->n_rows;
    return (int64_t)((double)o->n_rows * (double)ll_rng_uniform(r, 1));
}

/* The column of one sensor. */
static void measure_sensor(const ll_synth *s, int64_t e, int64_t v, const uint8_t *left,
                           const float *shared, path *p, const ll_panel_draft *d)
{
    const ll_synth_opts *o = &s->o;
    const int64_t        sensor = e * o->n_vars + v;
    const ll_rng  own = ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)sensor, 0, DRAW_OWN_PATH);
    const ll_rng  cells = ll_rng_make(o->seed, LL_STREAM_SYNTH, (uint64_t)sensor, 0, DRAW_CELLS);
    const int64_t dies = silent_from(o, &cells);
    int64_t       row = d->start[e];
    for (int64_t k = 0; k < o->n_rows; k++) {
        const int64_t        time = row_time(o, e, k);
        const ll_synth_point at = { .entity = e, .var = v, .hours = ll_synth_hours(time) };
        double               x = ll_synth_mean(s, &at);
        for (int m = 0; m < o->n_shared; m++)
            x += s->load[sensor * o->n_shared + m] *
                 (double)shared[(e * o->n_rows + k) * o->n_shared + m];
        for (int m = 0; m < o->n_own; m++) {
            ll_rng r = own;
            r.sample = (uint32_t)m;
            x += advance(&s->own[sensor * o->n_own + m], &p[m], at.hours, &r, (uint64_t)k);
        }
        const uint64_t i = 4 * (uint64_t)k + 4;
        x += o->noise * (double)ll_rng_normal(&cells, i);
        const bool lost = (double)ll_rng_uniform(&cells, i + 3) < o->cell_loss || k >= dies;
        if (!left[k]) continue;
        d->time[row] = time;
        if (!lost) {
            d->value[row * o->n_vars + v] = (float)x;
            ll_bit_set(d->observed, row * o->n_vars + v);
        }
        row++;
    }
}

/* Names of fixed width, so that their order is that of their numbers. */
static llap_status make_names(int64_t n, char letter, int digits, char **text, const char ***name)
{
    const size_t width = (size_t)digits + 2;
    *text = ll_new((size_t)n * width, 1);
    *name = ll_new((size_t)n, sizeof **name);
    if (*text == NULL || *name == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        char *s = *text + (size_t)i * width;
        s[0] = letter;
        int64_t rest = i;
        for (int k = digits; k > 0; k--, rest /= 10) s[k] = (char)('0' + rest % 10);
        (*name)[i] = s;
    }
    return LLAP_OK;
}

static int digits_for(int64_t n)
{
    int d = 1;
    for (; n > 10; n = (n + 9) / 10) d++;
    return d;
}

typedef struct scratch {
    char        *entity_text, *var_text;
    const char **entity, **var;
    int64_t     *start;
    uint8_t     *left;
    float       *shared;
    visit       *visit;
    path        *path;
} scratch;

static llap_status make_scratch(const ll_synth_opts *o, scratch *k)
{
    const size_t n = (size_t)o->n_entities, rows = (size_t)o->n_rows;
    const int    modes = o->n_shared > o->n_own ? o->n_shared : o->n_own;
    llap_status  st = make_names(o->n_entities, 's',
                                digits_for(o->n_entities) > 3 ? digits_for(o->n_entities) : 3,
                                 &k->entity_text, &k->entity);
    if (st == LLAP_OK)
        st = make_names(o->n_vars, 'v', digits_for(o->n_vars), &k->var_text, &k->var);
    if (st != LLAP_OK) return st;
    k->start = ll_new(n + 1, sizeof *k->start);
    k->left = ll_new(n * rows, sizeof *k->left);
    k->shared = ll_new(n * rows * (size_t)o->n_shared, sizeof *k->shared);
    k->visit = ll_new(n, sizeof *k->visit);
    k->path = ll_new((size_t)modes, sizeof *k->path);
    return k->start != NULL && k->left != NULL && k->shared != NULL && k->visit != NULL &&
                   k->path != NULL
               ? LLAP_OK
               : LLAP_ENOMEM;
}

static void free_scratch(scratch *k)
{
    ll_free(k->entity_text);
    ll_free(k->var_text);
    ll_free(k->entity);
    ll_free(k->var);
    ll_free(k->start);
    ll_free(k->left);
    ll_free(k->shared);
    ll_free(k->visit);
    ll_free(k->path);
}

llap_status ll_synth_panel(const ll_synth *s, llap_panel **out)
{
    *out = NULL;
    const ll_synth_opts *o = &s->o;
    scratch              k = { 0 };
    llap_status          st = make_scratch(o, &k);
    if (st == LLAP_OK) {
        for (int64_t e = 0; e < o->n_entities; e++)
            k.start[e + 1] = k.start[e] + surviving_rows(o, e, k.left + e * o->n_rows);
        ll_panel_draft d = { .axis = LL_AXIS_UTC,
                             .n_entities = o->n_entities,
                             .n_vars = o->n_vars,
                             .entity = k.entity,
                             .var = k.var,
                             .start = k.start };
        follow_shared(s, k.visit, k.path, k.shared);
        st = ll_panel_create(&d, out);
        for (int64_t i = 0; st == LLAP_OK && i < o->n_entities * o->n_vars; i++)
            measure_sensor(s, i / o->n_vars, i % o->n_vars, k.left + i / o->n_vars * o->n_rows,
                           k.shared, k.path, &d);
    }
    free_scratch(&k);
    return st;
}
