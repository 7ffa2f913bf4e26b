/* Series in as many points as a screen shows, filled gaps, coverage. */
#include "serve/charts.h"
#include "serve/decimate.h"
#include "serve/streams.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_MAX = 500, COVERAGE_ROWS_MAX = 200, POINTS = 800 };

/* ---- numbers ---- */

double ll_charts_time(const ll_axis *a, int64_t t)
{
    return a->kind == LL_AXIS_CALENDAR ? (double)t / 1e6 : (double)t / (double)a->unit_ns;
}

void ll_charts_put_time(ll_json_writer *w, const char *key, const ll_axis *a, int64_t t)
{
    const double shown = ll_charts_time(a, t);
    if (shown == floor(shown) && fabs(shown) < 9e15) ll_json_put_int(w, key, (int64_t)shown);
    else ll_json_put_double(w, key, shown);
}

/* Seven digits are what single precision has. */
void ll_charts_put_number(ll_json_writer *w, double v)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", v);
    ll_json_put_double(w, NULL, isfinite(v) ? strtod(text, NULL) : NAN);
}

llap_status ll_charts_read_time(const ll_request *r, const char *name, const ll_axis *a, int64_t *t)
{
    const char   *text = ll_request_argument(r, name);
    char         *end = NULL;
    const int64_t unit = a->kind == LL_AXIS_CALENDAR ? 1000000 : a->unit_ns;
    if (text == NULL) return LLAP_OK;
    const double v = strtod(text, &end), whole = floor(v);
    if (*text == '\0' || *end != '\0' || !(fabs(v) * (double)unit < 9.1e18))
        return ll_fail(LLAP_EOPTION, "%s: expected a number as the answer has them, found '%s'",
                       name, ll_text_show(text).text);
    *t = (int64_t)whole * unit + (int64_t)((v - whole) * (double)unit); /* whole ones exactly */
    return LLAP_OK;
}

llap_status ll_charts_read_points(const ll_request *r, int64_t *points)
{
    const char *text = ll_request_argument(r, "points");
    char       *end = NULL;
    *points = POINTS;
    if (text == NULL) return LLAP_OK;
    *points = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && *points >= 1 && *points <= LL_STRETCHES_MAX
               ? LLAP_OK
               : ll_fail(LLAP_EOPTION, "points: expected a number in 1..%d, found '%s'",
                         LL_STRETCHES_MAX, ll_text_show(text).text);
}

void ll_charts_put_axis(ll_json_writer *w, const ll_axis *a)
{
    const bool calendar = a->kind == LL_AXIS_CALENDAR;
    ll_json_put_string(w, "time", calendar ? "calendar" : "number");
    ll_json_put_string(w, "zone", a->zone);
    ll_json_put_string(w, "unit", calendar ? "ms" : a->unit);
}

/* ---- which series ---- */

typedef struct chosen {
    const llap_panel *p;
    int64_t           entity, variable; /* -1: all */
    int64_t           from, to, points;
} chosen;

static llap_status choose(const ll_request *r, const llap_panel *p, chosen *c)
{
    const char *entity = ll_request_argument(r, "entity");
    const char *variable = ll_request_argument(r, "variable");
    *c = (chosen){ .p = p, .entity = -1, .variable = -1, .from = INT64_MAX, .to = INT64_MIN };
    if (entity != NULL && (c->entity = ll_panel_find_entity(p, entity)) < 0)
        return ll_fail(LLAP_ENOTFOUND, "no entity '%s'", ll_text_show(entity).text);
    if (variable != NULL && (c->variable = ll_panel_find_var(p, variable)) < 0)
        return ll_fail(LLAP_ENOTFOUND, "no variable '%s'", ll_text_show(variable).text);
    for (int64_t e = 0; e < p->n_entities; e++) {
        if ((c->entity >= 0 && e != c->entity) || p->start[e] == p->start[e + 1]) continue;
        if (p->time[p->start[e]] < c->from) c->from = p->time[p->start[e]];
        if (p->time[p->start[e + 1] - 1] > c->to) c->to = p->time[p->start[e + 1] - 1];
    }
    if (c->from > c->to) c->from = c->to = 0;
    llap_status st = ll_charts_read_time(r, "from", &p->axis, &c->from);
    if (st == LLAP_OK) st = ll_charts_read_time(r, "to", &p->axis, &c->to);
    if (st == LLAP_OK) st = ll_charts_read_points(r, &c->points);
    if (st == LLAP_OK && c->from > c->to) st = ll_fail(LLAP_EOPTION, "from: later than to");
    return st;
}

/* Rows of an entity within the window, and one more at each side, to which lines go on. */
static void rows_within(const chosen *c, int64_t entity, int64_t *first, int64_t *last)
{
    const llap_panel *p = c->p;
    *last = ll_panel_row_after(p, entity, c->to);
    *first = c->from == INT64_MIN ? p->start[entity] : ll_panel_row_after(p, entity, c->from - 1);
    if (*first > p->start[entity]) (*first)--;
    if (*last < p->start[entity + 1]) (*last)++;
}

/* ---- points ---- */

static void put_column(ll_json_writer *w, const char *key, const ll_decimated *d, size_t offset)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < d->n; i++)
        ll_charts_put_number(w,
                             *(const double *)(const void *)((const char *)&d->point[i] + offset));
    ll_json_close(w, ']');
}

void ll_charts_put_points(ll_json_writer *w, const char *key, const ll_axis *a, ll_decimated *d,
                          bool band)
{
    ll_decimate_end(d);
    ll_json_open(w, key, '{');
    ll_json_put_bool(w, "exact", d->exact);
    ll_json_open(w, "time", '(');
    for (int64_t i = 0; i < d->n; i++) ll_charts_put_time(w, NULL, a, d->point[i].time);
    ll_json_close(w, ']');
    put_column(w, "mean", d, offsetof(ll_decimated_point, mean));
    if (!d->exact || band) {
        put_column(w, "low", d, offsetof(ll_decimated_point, low));
        put_column(w, "high", d, offsetof(ll_decimated_point, high));
    }
    ll_json_close(w, '}');
}

static llap_status put_measured(ll_json_writer *w, const chosen *c, int64_t e, int64_t v)
{
    const llap_panel *p = c->p;
    int64_t           first, last;
    ll_decimated      d = { 0 };
    rows_within(c, e, &first, &last);
    const bool    any = first < last;
    const int64_t from = any ? p->time[first] : 0, to = any ? p->time[last - 1] : 0;
    llap_status   st = ll_decimate_begin(&d, from, to, last - first, c->points);
    for (int64_t i = first; st == LLAP_OK && i < last; i++) {
        const double y = ll_panel_observed(p, i, v) ? (double)p->value[i * p->n_vars + v] : NAN;
        ll_decimate_add(&d, p->time[i], y, y, y);
    }
    if (st == LLAP_OK) ll_charts_put_points(w, "points", &p->axis, &d, false);
    ll_decimate_deinit(&d);
    return st;
}

/* ---- filled gaps ---- */

/* A list of names with * and ?: NULL where the name would be read as such a list. */
const char *ll_charts_only(const char *entity)
{
    return entity == NULL || strpbrk(entity, ",*?") != NULL || *entity == '\0' ? NULL : entity;
}

/* Filled gaps of an entity. Those of the last one are kept with the set, so that the next part of
 * the chart is there at once. Who finds them locked, because another request fills, fills for
 * itself: nobody waits for a worker that works. */
typedef struct filling {
    llap_answer *a;
    bool         locked;
} filling;

static bool is_kept(const ll_set *k, const ll_served *m, const char *entity)
{
    return k->filled != NULL && k->filled_by == m->hash && strcmp(k->filled_entity, entity) == 0;
}

static llap_status fill(ll_request *r, ll_set *k, const ll_served *m, const char *entity,
                        filling *f)
{
    llap_log         log = ll_journal_log(r->server);
    llap_impute_opts o = { .quantiles = "0.1,0.9",
                           .only = ll_charts_only(entity),
                           .log = &log,
                           .progress = ll_request_progress(r) };
    f->locked = pthread_mutex_trylock(&k->filling) == 0;
    if (!f->locked || !is_kept(k, m, entity)) return llap_impute(m->model, k->panel, &o, &f->a);
    f->a = k->filled;
    return LLAP_OK;
}

/* What all sets keep is bounded together. */
static bool may_keep(const ll_request *r, const llap_answer *a)
{
    return llap_answer_view(a)->n_rows < (r->server->o.max_memory << 20) / LL_SETS_MAX / 64;
}

/* Takes what was filled, to keep or to forget. */
static void filled(ll_request *r, ll_set *k, const ll_served *m, const char *entity, filling *f)
{
    char *name = NULL;
    if (f->locked && f->a != NULL && f->a != k->filled && may_keep(r, f->a) &&
        (name = ll_strndup(entity, strlen(entity))) != NULL) {
        llap_answer *before = k->filled;
        ll_free(k->filled_entity);
        k->filled = f->a;
        k->filled_by = m->hash;
        k->filled_entity = name;
        f->a = before;
    }
    if (!f->locked || f->a != k->filled) llap_answer_destroy(f->a);
    if (f->locked) (void)pthread_mutex_unlock(&k->filling);
}

static llap_status put_filled(ll_json_writer *w, const chosen *c, int64_t v,
                              const llap_answer *answer)
{
    const llap_answer_columns *a = llap_answer_view(answer);
    const char                *entity = c->p->entity[c->entity], *variable = c->p->var[v];
    int64_t                    n = 0;
    ll_decimated               d = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            const llap_status st = ll_decimate_begin(&d, c->from, c->to, n, c->points);
            if (st != LLAP_OK) return st;
        }
        for (int64_t i = 0; i < a->n_rows; i++) {
            const double *y = a->number + i * a->n_numbers;
            if (a->time[i] < c->from || a->time[i] > c->to || a->observed[i] ||
                strcmp(a->variables[a->variable[i]], variable) != 0 ||
                strcmp(a->entities[a->entity[i]], entity) != 0)
                continue;
            if (pass == 0) n++;
            else ll_decimate_add(&d, a->time[i], y[1], y[0], y[2]);
        }
    }
    ll_charts_put_points(w, "filled", &c->p->axis, &d, true);
    ll_decimate_deinit(&d);
    return LLAP_OK;
}

/* ---- a chart ---- */

static void put_extent(ll_json_writer *w, const chosen *c, int64_t e, int64_t v)
{
    const llap_panel *p = c->p;
    ll_json_put_string(w, "entity", p->entity[e]);
    ll_json_put_string(w, "variable", p->var[v]);
    ll_json_put_int(w, "rows", p->start[e + 1] - p->start[e]);
    if (p->start[e] == p->start[e + 1]) return;
    ll_charts_put_time(w, "first", &p->axis, p->time[p->start[e]]);
    ll_charts_put_time(w, "last", &p->axis, p->time[p->start[e + 1] - 1]);
}

/* gaps NULL: nothing is filled. */
static llap_status put_series(ll_json_writer *w, const chosen *c, const llap_answer *gaps)
{
    const llap_panel *p = c->p;
    int64_t           n = 0;
    bool              more = false;
    llap_status       st = LLAP_OK;
    ll_json_open(w, "series", '[');
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t v = 0; st == LLAP_OK && v < p->n_vars; v++) {
            if ((c->entity >= 0 && e != c->entity) || (c->variable >= 0 && v != c->variable))
                continue;
            more = more || n == SERIES_MAX;
            if (n == SERIES_MAX) continue;
            n++;
            ll_json_open(w, NULL, '{');
            put_extent(w, c, e, v);
            st = put_measured(w, c, e, v);
            if (st == LLAP_OK && gaps != NULL) st = put_filled(w, c, v, gaps);
            ll_json_close(w, '}');
        }
    ll_json_close(w, ']');
    ll_json_put_bool(w, "more", more);
    return st;
}

llap_status ll_charts_reply(ll_request *r, ll_json_writer *w, llap_status st)
{
    char             *text = NULL;
    size_t            n = 0;
    const llap_status written = ll_json_finish(w, &text, &n);
    if (st == LLAP_OK) st = written;
    if (st == LLAP_OK) ll_reply_take(r, 200, "application/json", text, n);
    else ll_free(text);
    return st;
}

static llap_status write_chart(ll_request *r, const chosen *c, int64_t usual_gap,
                               const llap_answer *gaps)
{
    ll_json_writer w = { 0 };
    ll_json_open(&w, NULL, '{');
    ll_charts_put_axis(&w, &c->p->axis);
    ll_json_put_double(&w, "usual_gap", ll_charts_time(&c->p->axis, usual_gap));
    const llap_status st = put_series(&w, c, gaps);
    ll_json_close(&w, '}');
    return ll_charts_reply(r, &w, st);
}

llap_status ll_answer_set_chart(ll_request *r)
{
    const char *model = ll_request_argument(r, "model");
    chosen      c = { 0 };
    ll_set     *k = NULL;
    ll_served  *m = NULL;
    llap_status st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = ll_set_of(r, r->name, &k);
    if (st == LLAP_OK) st = choose(r, k->panel, &c);
    if (st == LLAP_OK && model == NULL) st = write_chart(r, &c, k->usual_gap, NULL);
    else if (st == LLAP_OK) {
        st = ll_model_for(r, model, &m);
        if (st == LLAP_OK) st = ll_set_check_words(k, m->model);
        if (st == LLAP_OK && c.entity < 0)
            st = ll_fail(LLAP_EINVAL, "entity: gaps are filled of one at a time");
        if (st == LLAP_OK) {
            const char *name = k->panel->entity[c.entity];
            filling     f = { 0 };
            st = fill(r, k, m, name, &f);
            if (st == LLAP_OK) st = write_chart(r, &c, k->usual_gap, f.a);
            filled(r, k, m, name, &f);
        }
    }
    ll_served_release(m);
    ll_set_release(k);
    return st;
}

llap_status ll_answer_stream_chart(ll_request *r)
{
    llap_status st;
    chosen      c = { 0 };
    llap_panel *p = NULL;
    ll_served  *m = NULL;
    ll_live    *k = ll_live_of(r, &st);
    if (st == LLAP_OK) st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = ll_live_copy(k, &p, &m);
    if (st == LLAP_OK) st = choose(r, p, &c);
    if (st == LLAP_OK) st = write_chart(r, &c, 0, NULL);
    llap_panel_destroy(p);
    ll_served_release(m);
    return st;
}

/* ---- coverage ---- */

/* Observed share of the cells in each stretch; where rows are missing at the usual gap, they count
 * as cells without a value. n_vars 1: of variable v alone. */
static void put_shares(ll_json_writer *w, const chosen *c, int64_t e, int64_t v, int64_t n_vars,
                       double usual_rows, int64_t *count)
{
    const llap_panel *p = c->p;
    const uint64_t    least = ll_elapsed(c->from, c->to) / (uint64_t)c->points;
    const uint64_t    width = least < UINT64_MAX ? least + 1 : least;
    int64_t          *rows = count, *seen = count + c->points;
    memset(count, 0, (size_t)(2 * c->points) * sizeof *count);
    for (int64_t i = p->start[e]; i < p->start[e + 1]; i++) {
        if (p->time[i] < c->from || p->time[i] > c->to) continue;
        int64_t at = (int64_t)(ll_elapsed(c->from, p->time[i]) / width);
        if (at == c->points) at--;
        rows[at]++;
        for (int64_t j = v; j < v + n_vars; j++) seen[at] += ll_panel_observed(p, i, j);
    }
    ll_json_open(w, "share", '(');
    for (int64_t at = 0; at < c->points; at++) {
        const double cells = fmax((double)rows[at], floor(usual_rows)) * (double)n_vars;
        char         text[16];
        snprintf(text, sizeof text, "%.3f", cells > 0 ? (double)seen[at] / cells : 0);
        ll_json_put_double(w, NULL, strtod(text, NULL));
    }
    ll_json_close(w, ']');
}

/* Of one entity its variables, else the entities with all of theirs. */
static llap_status put_coverage(ll_json_writer *w, const chosen *c, int64_t usual_gap)
{
    const llap_panel *p = c->p;
    const double      width = (double)ll_elapsed(c->from, c->to) / (double)c->points;
    const double      usual = usual_gap > 0 ? width / (double)usual_gap : 0;
    const int64_t     one = c->entity >= 0 ? c->entity : p->n_entities == 1 ? 0 : -1;
    const int64_t     n = one >= 0 ? p->n_vars : p->n_entities;
    int64_t          *count = ll_new(2 * (size_t)c->points, sizeof *count);
    if (count == NULL) return LLAP_ENOMEM;
    ll_json_put_string(w, "rows_are", one >= 0 ? "variables" : "entities");
    ll_json_open(w, "rows", '[');
    for (int64_t i = 0; i < n && i < COVERAGE_ROWS_MAX; i++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_string(w, "name", one >= 0 ? p->var[i] : p->entity[i]);
        if (one >= 0) put_shares(w, c, one, i, 1, usual, count);
        else put_shares(w, c, i, 0, p->n_vars, usual, count);
        ll_json_close(w, '}');
    }
    ll_json_close(w, ']');
    ll_json_put_bool(w, "more", n > COVERAGE_ROWS_MAX);
    ll_free(count);
    return LLAP_OK;
}

llap_status ll_answer_coverage(ll_request *r)
{
    chosen         c = { 0 };
    ll_set        *k = NULL;
    ll_json_writer w = { 0 };
    llap_status    st = ll_query_read(r, &(ll_asked){ 0 });
    if (st == LLAP_OK) st = ll_set_of(r, r->name, &k);
    if (st == LLAP_OK) st = choose(r, k->panel, &c);
    if (st == LLAP_OK) {
        ll_json_open(&w, NULL, '{');
        ll_charts_put_axis(&w, &k->panel->axis);
        ll_charts_put_time(&w, "from", &k->panel->axis, c.from);
        ll_charts_put_time(&w, "to", &k->panel->axis, c.to);
        st = put_coverage(&w, &c, k->usual_gap);
        ll_json_close(&w, '}');
        st = ll_charts_reply(r, &w, st);
    }
    ll_set_release(k);
    return st;
}
