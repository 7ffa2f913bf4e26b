#include "stack/features.h"

#include "stack/correlation.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define DAY 24.0
#define WEEK 168.0
static const double pi = 3.14159265358979323846;

void ll_stack_layout_spans(ll_stack_layout *l)
{
    static const double hours[] = { 3, 6, 24, 72, 168, 336 };
    static const double days[] = { 3, 7, 14, 28, 91, 364 };
    static const double share[] = { 1.0 / 12, 0.25, 0.5, 1 };
    const bool          day = l->cycle == LL_STACK_CYCLE_DAY;
    l->n_windows = 0;
    for (int i = 0; i < LL_STACK_WINDOWS && l->cycle != LL_STACK_CYCLE_NONE; i++) {
        const double w = day ? hours[i] : DAY * days[i];
        if (w <= l->context && w >= 2 * l->step) l->window[l->n_windows++] = w;
    }
    for (int i = 0; i < 4 && l->cycle == LL_STACK_CYCLE_NONE; i++)
        l->window[l->n_windows++] = share[i] * l->context;
    if (l->n_windows == 0) l->window[l->n_windows++] = l->context;
    l->brief = day ? 3 : l->cycle == LL_STACK_CYCLE_WEEK ? 3 * DAY : l->context / 8;
    l->longer = day ? DAY : l->cycle == LL_STACK_CYCLE_WEEK ? WEEK : l->context / 4;
}

/* ---- where columns go ---- */

/* One pass of the functions below describes the columns, or fills them: the two cannot differ. */
typedef struct sink {
    const ll_stack_layout *l;
    const ll_stack_source *s; /* NULL: columns are described */
    const ll_stack_query  *q;
    const ll_trace        *own, *all; /* of the target; of the entity [variables] */
    double                 last, oldest;
    double                 base;
    float                 *x;
    ll_stack_column       *column; /* or NULL: they are counted */
    int                    n;
    int64_t                variable; /* whose columns are put, or 0 */
} sink;

static void put_column(sink *k, double x, ll_stack_column c)
{
    c.variable = k->variable;
    if (k->x != NULL) k->x[k->n] = (float)x;
    if (k->column != NULL) k->column[k->n] = c;
    k->n++;
}

static void put(sink *k, double x)
{
    put_column(k, x, (ll_stack_column){ .role = LL_STACK_PLAIN });
}
static void put_level(sink *k, double x)
{
    put_column(k, x, (ll_stack_column){ .role = LL_STACK_PLAIN, .level = true });
}
static void put_relative(sink *k, double x)
{
    put_column(k, x, (ll_stack_column){ .role = LL_STACK_RELATIVE });
}
static void put_flag(sink *k, bool x)
{
    put_column(k, x, (ll_stack_column){ .role = LL_STACK_PLAIN, .flag = true });
}

static const ll_trace nothing = { 0 };

static double at(const sink *k, const ll_trace *r, double before)
{
    return ll_trace_at(r, k->q->origin - before, k->oldest);
}

static ll_stretch over(const sink *k, const ll_trace *r, double span)
{
    return ll_trace_over(r, k->q->origin - fmin(span, k->l->context), k->q->origin);
}

/* ---- groups of columns ---- */

static void put_lead(sink *k)
{
    const ll_stack_query *q = k->q;
    const double          lead = (q->t - q->origin) / k->l->step;
    const double          when = ll_trace_last(k->own, q->origin, k->oldest);
    const double          age = (q->origin - when) / k->l->step;
    put(k, lead);
    put(k, log1p(fmax(lead, 0)));
    put(k, 1 / (1 + fmax(lead, 0)));
    for (int i = 1; i <= 6; i++) put(k, cos(pi * i * lead * k->l->step / k->l->horizon));
    put(k, age);
    put(k, lead + age);
    if (k->l->elapsed)
        put_column(k, k->s == NULL ? 0 : (q->origin - k->s->start[q->entity]) / k->l->step,
                   (ll_stack_column){ .role = LL_STACK_PLAIN, .grows = true });
    for (int64_t c = 0; k->l->targets > 1 && c < k->l->targets; c++) put_flag(k, c == q->target);
}

static void put_anchor(sink *k)
{
    put_column(k, k->q->median, (ll_stack_column){ .role = LL_STACK_MEDIAN, .level = true });
    put_column(k, k->q->spread, (ll_stack_column){ .role = LL_STACK_ANCHOR });
    put_column(k, log(k->q->spread), (ll_stack_column){ .role = LL_STACK_ANCHOR });
    put_column(k, k->q->skew, (ll_stack_column){ .role = LL_STACK_ANCHOR });
}

static void put_own(sink *k)
{
    static const double    steps[] = { 1, 2, 3, 6, 12, 24 };
    const ll_stack_layout *l = k->l;
    ll_stretch             m[LL_STACK_WINDOWS];
    for (int i = 0; i < l->n_windows; i++) m[i] = over(k, k->own, l->window[i]);
    const double longest = m[l->n_windows - 1].mean;
    k->base = !isnan(k->last) ? k->last : !isnan(longest) ? longest : 0;
    put_relative(k, k->last);
    for (int i = 0; i < 6; i++) put(k, k->last - at(k, k->own, steps[i] * l->step));
    for (int i = 0; i < l->n_windows; i++) put_relative(k, m[i].mean);
    for (int i = 0; i < l->n_windows; i++) put(k, m[i].sd);
    for (int i = 0; l->irregular && i < l->n_windows; i++) put(k, m[i].n);
    put_level(k, k->last);
    put_level(k, longest);
}

/* The mean of the readings around time s, of those that were there at the origin. */
static double around(const sink *k, double s)
{
    const double o = k->q->origin, reach = k->l->irregular ? 2 : k->l->step / 2;
    const double tol = k->l->cycle == LL_STACK_CYCLE_DAY ? reach : k->l->step / 2;
    if (s - tol > o || s + tol <= k->oldest) return NAN;
    /* Both ends belong to it. */
    const double from = nextafter(s - tol, -INFINITY);
    return ll_trace_over(k->own, fmax(from, k->oldest), fmin(s + tol, o)).mean;
}

/* Mean and deviation of the first n of x that are not missing. */
static ll_stretch mean_of(const double *x, int n)
{
    double sum = 0, squares = 0, count = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        count++;
        sum += x[i];
        squares += x[i] * x[i];
    }
    if (count == 0) return (ll_stretch){ 0, NAN, NAN };
    const double mean = sum / count, var = squares / count - mean * mean;
    return (ll_stretch){ count, mean, count < 2 ? NAN : sqrt(fmax(var, 0)) };
}

static void put_phase(sink *k)
{
    enum { DAYS = 7 };
    const ll_stack_query *q = k->q;
    if (k->l->cycle == LL_STACK_CYCLE_NONE) return;
    const double week = around(k, q->t - WEEK * ceil((q->t - q->origin) / WEEK));
    if (k->l->cycle == LL_STACK_CYCLE_DAY) {
        double x[DAYS];
        for (int i = 0; i < DAYS; i++)
            x[i] = around(k, q->t - DAY * (ceil((q->t - q->origin) / DAY) + i));
        const ll_stretch some = mean_of(x, 3), every = mean_of(x, DAYS);
        for (int i = 0; i < DAYS; i++) put_relative(k, x[i]);
        put_relative(k, some.mean);
        put_relative(k, every.mean);
        put(k, every.sd);
        put(k, around(k, q->origin - DAY) - k->last);
    }
    put_relative(k, week);
}

static void put_calendar(sink *k)
{
    const ll_stack_layout *l = k->l;
    const double           when[2] = { k->q->t, k->q->origin };
    if (l->cycle == LL_STACK_CYCLE_NONE) return;
    for (int i = 0; i < 2 && l->cycle == LL_STACK_CYCLE_DAY; i++)
        for (int n = 1; n <= 2; n++) {
            put(k, sin(2 * pi * n * fmod(when[i], DAY) / DAY));
            put(k, cos(2 * pi * n * fmod(when[i], DAY) / DAY));
        }
    double day = fmod(floor(when[0] / DAY), 7);
    if (day < 0) day += 7;
    for (int i = 0; i < 7; i++) put_flag(k, (int)day == i);
    if (!l->annual) return;
    put_level(k, sin(2 * pi * when[0] / (365.25 * DAY)));
    put_level(k, cos(2 * pi * when[0] / (365.25 * DAY)));
}

/* The other variables of the entity; with several targets all of them. */
static void put_variables(sink *k)
{
    const ll_stack_layout *l = k->l;
    const bool             clock = l->cycle != LL_STACK_CYCLE_NONE;
    for (int64_t c = l->targets > 1 ? 0 : 1; c < l->targets + l->inputs; c++) {
        const ll_trace *r = k->all == NULL ? &nothing : &k->all[c];
        const double    now = at(k, r, 0), usual = over(k, r, l->context).mean;
        const double    mean = clock ? over(k, r, l->longer).mean : usual;
        k->variable = c;
        put_level(k, now);
        put_level(k, mean);
        if (clock) put(k, now - usual);
        if (clock) put(k, mean - usual);
        put(k, now - at(k, r, l->brief));
        if (clock || c < l->targets) put(k, now - at(k, r, l->longer));
        if (l->irregular)
            put(k, (k->q->origin - ll_trace_last(r, k->q->origin, k->oldest)) / l->step);
    }
    k->variable = 0;
}

/* What is known about the time of the query (now, over the day before it, against what was usual in
 * the context) and about the entity. */
static void put_known(sink *k)
{
    const ll_stack_layout *l = k->l;
    const ll_stack_query  *q = k->q;
    for (int64_t c = 0; c < l->known; c++) {
        const ll_trace *r = k->all == NULL ? &nothing : &k->all[l->targets + l->inputs + c];
        const double    now = ll_trace_at(r, q->t, q->t - l->longer);
        const double    mean = ll_trace_over(r, q->t - l->longer, q->t).mean;
        const double    usual = over(k, r, l->context).mean;
        put_level(k, now);
        put_level(k, mean);
        put(k, now - usual);
        put(k, mean - usual);
        put(k, now - at(k, r, 0));
        if (l->irregular) put(k, (q->t - ll_trace_last(r, q->t, q->t - l->longer)) / l->step);
    }
    if (l->holidays) put_flag(k, q->holiday);
    for (int64_t i = 0; i < l->statics; i++)
        put(k, k->s == NULL ? 0 : (double)k->s->statics[q->entity * l->statics + i]);
}

/* The target of entity number e of the layout; empty where the panel has none. */
static const ll_trace *of_entity(const sink *k, int64_t e)
{
    if (k->s == NULL || e < 0 || k->s->place[e] < 0) return &nothing;
    return &k->s->series[k->s->place[e] * ll_stack_variables(k->l) + k->q->target];
}

static void put_others(sink *k)
{
    const ll_stack_layout *l = k->l;
    const int64_t          E = l->entities;
    const int64_t          me = k->s == NULL ? 0 : k->s->known[k->q->entity];
    const int64_t          n = E < LL_STACK_SOME ? E : LL_STACK_SOME;
    double away[LL_STACK_SOME], now[LL_STACK_SOME], change[LL_STACK_SOME], day[LL_STACK_SOME];
    if (E < 2) return;
    for (int64_t i = 0; i < n; i++) {
        const int64_t   e = i * E / n;
        const ll_trace *r = e == me ? &nothing : of_entity(k, e);
        now[i] = at(k, r, 0);
        away[i] = now[i] - k->last;
        change[i] = now[i] - at(k, r, l->brief);
        day[i] = now[i] - over(k, r, l->longer).mean;
    }
    put(k, mean_of(away, (int)n).mean);
    put(k, mean_of(now, (int)n).sd);
    put(k, mean_of(change, (int)n).mean);
    put(k, mean_of(day, (int)n).mean);
    for (int i = 0; i < LL_STACK_NEIGHBOURS; i++) {
        const int64_t row = (k->q->target * E + me) * LL_STACK_NEIGHBOURS + i;
        const int64_t e =
            k->s == NULL || me < 0 || k->s->neighbour == NULL ? -1 : k->s->neighbour[row];
        const ll_trace *r = of_entity(k, e);
        put(k, at(k, r, 0) - k->last);
        put(k, at(k, r, 0) - at(k, r, l->brief));
    }
    for (int64_t e = 0; E <= LL_STACK_EACH && e < E; e++)
        put(k, at(k, of_entity(k, e), 0) - k->last);
    for (int64_t e = 0; E <= LL_STACK_EACH && e < E; e++) put_flag(k, e == me);
}

static void put_all(sink *k)
{
    put_lead(k);
    put_anchor(k);
    put_own(k);
    put_phase(k);
    put_calendar(k);
    put_variables(k);
    put_known(k);
    put_others(k);
}

int ll_stack_describe(const ll_stack_layout *l, ll_stack_column *column)
{
    const ll_stack_query q = { .t = l->step, .spread = 1 };
    sink                 k = { .l = l, .q = &q, .own = &nothing, .column = column };
    assert(l->n_windows >= 1 && l->n_windows <= LL_STACK_WINDOWS && l->targets >= 1);
    k.last = NAN;
    put_all(&k);
    return k.n;
}

void ll_stack_look(const ll_stack_layout *l, const ll_stack_source *s, const ll_stack_query *q,
                   ll_stack_raw *raw)
{
    sink k = { .l = l, .s = s, .q = q, .x = raw->x };
    assert(q->t > q->origin && q->spread > 0 && q->target >= 0 && q->target < l->targets);
    k.all = s->series + q->entity * ll_stack_variables(l);
    k.own = &k.all[q->target];
    k.oldest = q->origin - l->context;
    k.last = at(&k, k.own, 0);
    put_all(&k);
    raw->query = *q;
    raw->base = k.base;
}

/* ---- neighbours ---- */

enum { LOOKED_AT = 100 }; /* candidates of each, evenly spread */

static void best_of(double *score, const int64_t *who, int64_t n, int32_t *out)
{
    for (int i = 0; i < LL_STACK_NEIGHBOURS; i++) {
        int64_t best = -1;
        for (int64_t j = 0; j < n; j++)
            if (score[j] >= 0 && (best < 0 || score[j] > score[best])) best = j;
        out[i] = best < 0 ? -1 : (int32_t)who[best];
        if (best >= 0) score[best] = -1;
    }
}

void ll_stack_neighbours(const ll_stack_layout *l, const ll_stack_source *s, int64_t target,
                         double first, double end, double every, double ahead, int32_t *neighbour)
{
    const int64_t E = l->entities, V = ll_stack_variables(l), n = E < LOOKED_AT ? E : LOOKED_AT;
    assert(every > 0 && ahead > 0);
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t e = 0; e < E; e++) {
        double         score[LOOKED_AT];
        int64_t        who[LOOKED_AT];
        ll_correlation with[LOOKED_AT];
        memset(with, 0, sizeof with);
        for (int64_t j = 0; j < n; j++) who[j] = j * E / n;
        const ll_trace *own = s->place[e] < 0 ? &nothing : &s->series[s->place[e] * V + target];
        for (double t = first; t + ahead <= end; t += every) {
            const double now = ll_trace_at(own, t, t - l->context);
            const double y = ll_trace_at(own, t + ahead, t) - now;
            for (int64_t j = 0; j < n && !isnan(y); j++) {
                const int64_t p = s->place[who[j]];
                if (who[j] == e || p < 0) continue;
                const double x = ll_trace_at(&s->series[p * V + target], t, t - l->context) - now;
                if (!isnan(x)) ll_correlation_add(&with[j], x, y);
            }
        }
        for (int64_t j = 0; j < n; j++) score[j] = who[j] == e ? -1 : ll_correlation_size(&with[j]);
        best_of(score, who, n, neighbour + e * LL_STACK_NEIGHBOURS);
    }
}
