#include "stream/stream.h"

#include "anchor/chain/known.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "predict/tables/numbers.h"
#include "predict/view/frame.h"
#include "predict/view/only.h"
#include "stream/watching.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROWS_MOST = 65536, ENTITIES_MOST = 100000 };

/* ---- making one ---- */

/* Whatever an answer looks at lies within a context, and a mean over a day of known inputs before
 * it. */
static int64_t span_of(const llap_model *m)
{
    const int64_t day = INT64_C(86400000000000);
    int64_t       span = m->frame.context;
    if (m->frame.n_known > 0 && m->frame.axis == LL_AXIS_CALENDAR &&
        __builtin_add_overflow(span, day, &span))
        span = INT64_MAX;
    return span;
}

static llap_status copy_axis(llap_stream *s, const ll_axis *a)
{
    s->axis = *a;
    s->axis.zone = ll_arena_strndup(&s->arena, a->zone, strlen(a->zone));
    s->axis.format = ll_arena_strndup(&s->arena, a->format, strlen(a->format));
    s->axis.unit = ll_arena_strndup(&s->arena, a->unit, strlen(a->unit));
    const bool ok = s->axis.zone != NULL && s->axis.format != NULL && s->axis.unit != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static llap_status find_targets(llap_stream *s)
{
    for (int64_t c = 0; c < s->m->frame.n_targets; c++) {
        int64_t v = 0;
        while (v < s->shape.n_vars && strcmp(s->var[v], s->m->frame.target[c]) != 0) v++;
        if (v == s->shape.n_vars)
            return ll_fail(LLAP_EINVAL, "the model forecasts '%s', which the stream does not have",
                           ll_text_show(s->m->frame.target[c]).text);
        s->target[c] = v;
    }
    return LLAP_OK;
}

static llap_status fill_stream(llap_stream *s, const ll_axis *axis, const char *const *var,
                               int64_t n_vars, const llap_stream_opts *o)
{
    const llap_model *m = s->m;
    s->var = ll_arena_new(&s->arena, (size_t)n_vars + 1, sizeof *s->var);
    s->target = ll_arena_new(&s->arena, (size_t)m->frame.n_targets, sizeof *s->target);
    if (s->var == NULL || s->target == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < n_vars; v++) {
        s->var[v] = ll_arena_strndup(&s->arena, var[v], strlen(var[v]));
        if (s->var[v] == NULL) return LLAP_ENOMEM;
    }
    s->shape = (ll_past_shape){ .n_vars = n_vars,
                                .n_targets = m->frame.n_targets,
                                .target = s->target,
                                .anchor = (const ll_anchor_model *const *)m->anchor,
                                .unit = m->frame.unit,
                                .span = span_of(m),
                                .most = o->rows > 0 ? o->rows : ROWS_MOST,
                                .observed = m->frame.n_known > 0 };
    s->most = o->entities > 0 ? o->entities : ENTITIES_MOST;
    s->first_counts = m->stack != NULL && m->stack->layout.elapsed;
    if (o->log != NULL) s->log = *o->log;
    const llap_status st = copy_axis(s, axis);
    return st == LLAP_OK ? find_targets(s) : st;
}

llap_status ll_stream_make(const llap_model *m, const ll_axis *axis, const char *const *var,
                           int64_t n_vars, const llap_stream_opts *o, llap_stream **out)
{
    *out = NULL;
    if (o->rows < 0 || o->entities < 0)
        return ll_fail(LLAP_EOPTION, "%s: expected 1 or more, found %lld",
                       o->rows < 0 ? "rows" : "entities",
                       (long long)(o->rows < 0 ? o->rows : o->entities));
    llap_stream *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->m = m;
    const llap_status st = fill_stream(s, axis, var, n_vars, o);
    if (st == LLAP_OK) *out = s;
    else llap_stream_destroy(s);
    return st;
}

/* The model's targets, then its known inputs. */
static llap_status make_plain(const llap_model *m, const llap_stream_opts *o, llap_stream **out)
{
    const ll_model_frame *f = &m->frame;
    ll_axis               axis = LL_AXIS_UTC;
    if (f->axis == LL_AXIS_NUMBER)
        axis = (ll_axis){ LL_AXIS_NUMBER, .zone = "", .format = "", .unit = "",
                          .unit_ns = f->axis_unit };
    const char **var = ll_new((size_t)(f->n_targets + f->n_known), sizeof *var);
    if (var == NULL) return LLAP_ENOMEM;
    for (int64_t c = 0; c < f->n_targets; c++) var[c] = f->target[c];
    for (int64_t c = 0; c < f->n_known; c++) var[f->n_targets + c] = f->known[c];
    const llap_status st =
        ll_stream_make(m, &axis, (const char *const *)var, f->n_targets + f->n_known, o, out);
    ll_free((void *)var);
    return st;
}

llap_status llap_stream_create(const llap_model *m, const llap_stream_opts *o, llap_stream **out)
{
    const llap_panel *p = o->like;
    *out = NULL;
    if (p == NULL) return make_plain(m, o, out);
    const llap_status st = ll_check_axis(m, p);
    return st == LLAP_OK ? ll_stream_make(m, &p->axis, p->var, p->n_vars, o, out) : st;
}

void llap_stream_destroy(llap_stream *s)
{
    if (s == NULL) return;
    for (int64_t i = 0; i < s->n; i++) {
        ll_past_deinit(&s->past[i]);
        ll_free(s->name[i]);
    }
    llap_sampler_destroy(s->sampler);
    ll_stream_watch_destroy(s->watch);
    ll_free(s->past);
    ll_free(s->name);
    ll_free(s->sorted);
    ll_arena_deinit(&s->arena);
    ll_free(s);
}

/* ---- entities ---- */

/* Place of the name among the sorted ones; *found: it is there. */
static int64_t place_of(const llap_stream *s, const char *name, size_t len, bool *found)
{
    int64_t low = 0, high = s->n;
    *found = false;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const char   *other = s->name[s->sorted[mid]];
        const int     c = strncmp(other, name, len);
        if (c == 0 && other[len] == '\0') {
            *found = true;
            return mid;
        }
        if (c < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

int64_t ll_stream_find(const llap_stream *s, const char *name, size_t len)
{
    bool          found;
    const int64_t at = place_of(s, name, len, &found);
    return found ? s->sorted[at] : -1;
}

static llap_status grow(llap_stream *s)
{
    if (s->n < s->room) return LLAP_OK;
    const size_t more = (size_t)(2 * s->room + 8);
    ll_past     *past = ll_grow(s->past, more, sizeof *past);
    if (past != NULL) s->past = past;
    char **name = past == NULL ? NULL : ll_grow(s->name, more, sizeof *name);
    if (name != NULL) s->name = name;
    int64_t *sorted = name == NULL ? NULL : ll_grow(s->sorted, more, sizeof *sorted);
    if (sorted == NULL) return LLAP_ENOMEM;
    s->sorted = sorted;
    s->room = (int64_t)more;
    return LLAP_OK;
}

/* As ll_model_series_of: a model of one series does not ask what the only one is called, until
 * there is another. */
static void name_series(llap_stream *s)
{
    const int64_t i = s->n - 1;
    s->past[i].series = ll_model_series(s->m, s->name[i]);
    if (s->m->frame.n_entities != 1 || s->m->n_more > 0 || i > 1) return;
    if (i == 0) s->past[0].series = 0;
    else ll_past_set_series(&s->past[0], &s->shape, ll_model_series(s->m, s->name[0]));
}

llap_status ll_stream_entity_of(llap_stream *s, const char *name, size_t len, int64_t *out)
{
    bool          found;
    const int64_t at = place_of(s, name, len, &found);
    if (found) {
        *out = s->sorted[at];
        return LLAP_OK;
    }
    if (memchr(name, '\0', len) != NULL || ll_utf8_prefix(name, len) != len)
        return ll_fail(LLAP_EINVAL, "the name of an entity is no valid UTF-8");
    if (s->n >= s->most)
        return ll_fail(LLAP_ELIMIT, "more than %lld entities; a stream of more says so (entities)",
                       (long long)s->most);
    llap_status st = grow(s);
    if (st == LLAP_OK && s->watch != NULL) st = ll_stream_watch_grow(s->watch, s->room);
    char *copy = st == LLAP_OK ? ll_strndup(name, len) : NULL;
    if (copy == NULL) return LLAP_ENOMEM;
    const int64_t i = s->n;
    s->name[i] = copy;
    s->past[i] = (ll_past){ 0 };
    memmove(s->sorted + at + 1, s->sorted + at, (size_t)(s->n - at) * sizeof *s->sorted);
    s->sorted[at] = i;
    s->n++;
    name_series(s);
    *out = i;
    return LLAP_OK;
}

/* ---- readings ---- */

static llap_status take(llap_stream *s, int64_t i, int64_t time, const float *value)
{
    ll_past_row       row;
    const llap_status st = ll_past_take(&s->past[i], &s->shape, time, value, &row);
    if (st != LLAP_OK) return st;
    if (s->counts.taken == 0 || time > s->latest) s->latest = time;
    s->counts.taken++;
    s->counts.late += row.late && row.at >= 0;
    s->counts.dropped += row.late && row.at < 0;
    s->counts.repeated += row.repeated;
    if (row.cut > 0 && s->counts.cut == 0)
        ll_logf(&s->log, LLAP_LOG_WARNING,
                "stream: '%s' has more than %lld rows in a context: the oldest are left out",
                ll_text_show(s->name[i]).text, (long long)s->shape.most);
    s->counts.cut += row.cut;
    return s->watch == NULL ? LLAP_OK : ll_stream_judge_rows(s, i);
}

llap_status llap_stream_take(llap_stream *s, const char *entity, int64_t time, const float *value,
                             int64_t n)
{
    int64_t i = -1;
    if (n != s->shape.n_vars)
        return ll_fail(LLAP_EINVAL, "a row of the stream has %lld variables, found %lld",
                       (long long)s->shape.n_vars, (long long)n);
    const llap_status st = ll_stream_entity_of(s, entity, strlen(entity), &i);
    return st == LLAP_OK ? take(s, i, time, value) : st;
}

/* Which variable of the panel each one of the stream is. */
static llap_status columns_of(const llap_stream *s, const llap_panel *p, int64_t *column)
{
    for (int64_t v = 0; v < s->shape.n_vars; v++) {
        column[v] = ll_panel_find_var(p, s->var[v]);
        if (column[v] < 0)
            return ll_fail(LLAP_EINVAL, "the stream has a variable '%s', which the data has not",
                           ll_text_show(s->var[v]).text);
    }
    return LLAP_OK;
}

llap_status llap_stream_take_panel(llap_stream *s, const llap_panel *p)
{
    const int64_t V = s->shape.n_vars;
    int64_t      *column = ll_new((size_t)V, sizeof *column);
    float        *value = ll_new((size_t)V, sizeof *value);
    llap_status   st = column == NULL || value == NULL ? LLAP_ENOMEM : ll_check_axis(s->m, p);
    if (st == LLAP_OK) st = columns_of(s, p, column);
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        int64_t i = -1;
        st = ll_stream_entity_of(s, p->entity[e], strlen(p->entity[e]), &i);
        for (int64_t r = p->start[e]; st == LLAP_OK && r < p->start[e + 1]; r++) {
            for (int64_t v = 0; v < V; v++) {
                const bool there = ll_panel_observed(p, r, column[v]);
                value[v] = there ? p->value[r * p->n_vars + column[v]] : NAN;
            }
            st = take(s, i, p->time[r], value);
        }
    }
    ll_free(column);
    ll_free(value);
    return st;
}

void llap_stream_count(const llap_stream *s, llap_stream_counts *out)
{
    *out = s->counts;
    out->entities = s->n;
    for (int64_t i = 0; i < s->n; i++) {
        out->rows += s->past[i].n;
        out->bytes += (int64_t)(ll_past_bytes(&s->past[i], &s->shape) + strlen(s->name[i]) + 1 +
                                sizeof *s->name + sizeof *s->sorted);
    }
    if (s->watch != NULL) out->bytes += s->n * (int64_t)ll_stream_watch_bytes(s->watch);
}

const char *const *llap_stream_variables(const llap_stream *s)
{
    return (const char *const *)s->var;
}

const char *llap_stream_entity(const llap_stream *s, int64_t i)
{
    return i >= 0 && i < s->n ? s->name[i] : NULL;
}

int llap_stream_newest(const llap_stream *s, const char *entity, int64_t *time)
{
    if (entity == NULL) {
        *time = s->latest;
        return s->counts.taken > 0;
    }
    const int64_t i = ll_stream_find(s, entity, strlen(entity));
    if (i < 0 || s->past[i].n == 0) return 0;
    *time = s->past[i].time[s->past[i].from + s->past[i].n - 1];
    return 1;
}

/* ---- answers ---- */

/* Whether the panel begins with a row that only says when the entity began. */
static bool begins(const llap_stream *s, const ll_past *k)
{
    return s->first_counts && k->n > 0 && k->time[k->from] > k->first;
}

static void put_rows(const llap_stream *s, const ll_past *k, ll_panel_draft *d, int64_t row)
{
    const int64_t V = s->shape.n_vars;
    if (begins(s, k)) d->time[row++] = k->first;
    for (int64_t r = 0; r < k->n; r++, row++) {
        const float *from = k->value + (k->from + r) * V;
        d->time[row] = k->time[k->from + r];
        for (int64_t v = 0; v < V; v++) {
            d->value[row * V + v] = from[v];
            if (!isnan(from[v])) ll_bit_set(d->observed, row * V + v);
        }
    }
}

/* Of the entities which [n], in order of their names. */
static llap_status make_panel(const llap_stream *s, const int64_t *which, int64_t n,
                              llap_panel **out)
{
    const char   **name = ll_new((size_t)n, sizeof *name);
    int64_t       *start = ll_new((size_t)n + 1, sizeof *start);
    ll_panel_draft d = { .axis = s->axis, .n_entities = n, .n_vars = s->shape.n_vars };
    llap_status    st = name == NULL || start == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) {
        const ll_past *k = &s->past[which[i]];
        name[i] = s->name[which[i]];
        start[i + 1] = start[i] + k->n + begins(s, k);
    }
    d.entity = (const char *const *)name;
    d.var = (const char *const *)s->var;
    d.start = start;
    if (st == LLAP_OK) st = ll_panel_create(&d, out);
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) put_rows(s, &s->past[which[i]], &d, start[i]);
    ll_free((void *)name);
    ll_free(start);
    return st;
}

llap_status llap_stream_panel(const llap_stream *s, const char *only, llap_panel **out)
{
    *out = NULL;
    int64_t    *which = ll_new((size_t)s->n, sizeof *which), n = 0;
    llap_status st = which == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < s->n; i++) {
        const int64_t e = s->sorted[i];
        if (s->past[e].n > 0 && ll_only_has(only, s->name[e])) which[n++] = e;
    }
    if (st == LLAP_OK && n == 0)
        st = ll_fail(LLAP_EINVAL, "the stream has no row%s",
                     only == NULL || s->n == 0 ? " yet" : " of such an entity");
    if (st == LLAP_OK) st = make_panel(s, which, n, out);
    ll_free(which);
    return st;
}

llap_status ll_stream_panel_of(const llap_stream *s, int64_t i, llap_panel **out, int64_t *before)
{
    *before = begins(s, &s->past[i]);
    *out = NULL;
    return make_panel(s, &i, 1, out);
}

/* Entities that look at each other are all there. */
static bool look_at_each_other(const llap_model *m)
{
    if (m->anchor == NULL || m->network != NULL || m->stack != NULL || m->joint != NULL)
        return true;
    if (m->frame.n_entities == 1) return true; /* is there another? */
    for (int64_t c = 0; c < m->frame.n_targets; c++)
        if (m->anchor[c]->link.rank > 0) return true;
    return m->filling != NULL;
}

llap_status llap_stream_forecast(llap_stream *s, const llap_forecast_opts *o, llap_answer **out)
{
    llap_panel *p = NULL;
    llap_status st = LLAP_OK;
    *out = NULL;
    if (s->sampler == NULL) st = llap_sampler_create(s->m, o->device, o->precision, &s->sampler);
    if (st == LLAP_OK) st = llap_stream_panel(s, look_at_each_other(s->m) ? NULL : o->only, &p);
    if (st == LLAP_OK) st = llap_sampler_forecast(s->sampler, p, o, out);
    llap_panel_destroy(p);
    return st;
}

llap_status llap_stream_impute(llap_stream *s, const llap_impute_opts *o, llap_answer **out)
{
    llap_panel *p = NULL;
    *out = NULL;
    llap_status st = llap_stream_panel(s, NULL, &p);
    if (st == LLAP_OK) st = llap_impute(s->m, p, o, out);
    llap_panel_destroy(p);
    return st;
}

/* What llap_stream_quantiles can answer, and about what. */
static llap_status check_quantiles(const llap_stream *s, const char *entity, const char *target,
                                   int64_t *i, int64_t *c)
{
    const llap_model *m = s->m;
    *i = ll_stream_find(s, entity, strlen(entity));
    *c = ll_model_target(m, target);
    if (*i < 0 || s->past[*i].n == 0)
        return ll_fail(LLAP_EINVAL, "the stream has no row of an entity '%s'",
                       ll_text_show(entity).text);
    if (*c < 0)
        return ll_fail(LLAP_EINVAL, "'%s' is no target of the model", ll_text_show(target).text);
    if (m->anchor == NULL || m->stack != NULL || m->network != NULL ||
        m->anchor[*c]->link.rank > 0 || m->anchor[*c]->chain->known != NULL || m->filling != NULL ||
        (m->anchor[*c]->chain->statics != NULL && s->past[*i].series == SIZE_MAX))
        return ll_fail(LLAP_EUNSUPPORTED,
                       "'%s' is answered by more than the anchor and its own readings: ask for a "
                       "forecast",
                       ll_text_show(target).text);
    return LLAP_OK;
}

llap_status llap_stream_quantiles(const llap_stream *s, const char *entity, const char *target,
                                  const int64_t *time, int64_t n_times, const double *level,
                                  int64_t n_levels, double *out)
{
    int64_t     i, c;
    llap_status st = check_quantiles(s, entity, target, &i, &c);
    if (st != LLAP_OK) return st;
    const ll_past *k = &s->past[i];
    const int64_t  newest = k->time[k->from + k->n - 1];
    for (int64_t q = 0; q < n_times; q++)
        if (time[q] <= newest)
            return ll_fail(LLAP_EINVAL, "time number %lld is not after the newest row of '%s'",
                           (long long)q, ll_text_show(entity).text);
    for (int64_t q = 0; q < n_levels; q++)
        if (!(level[q] > 0 && level[q] < 1))
            return ll_fail(LLAP_EINVAL, "level number %lld: expected a number between 0 and 1",
                           (long long)q);
    double *t = ll_new((size_t)n_times, sizeof *t);
    ll_law *law = ll_new((size_t)n_times, sizeof *law);
    if (t == NULL || law == NULL) st = LLAP_ENOMEM;
    for (int64_t q = 0; st == LLAP_OK && q < n_times; q++) t[q] = ll_model_time(s->m, time[q]);
    const ll_anchor_request r = { .history = ll_past_series(k, &s->shape, c, k->n),
                                  .series = k->series,
                                  .origin = ll_model_time(s->m, newest),
                                  .n_query = (size_t)n_times,
                                  .t_query = t,
                                  .law = law };
    if (st == LLAP_OK) st = ll_anchor_model_forecast(s->m->anchor[c], &r, 1);
    for (int64_t q = 0; st == LLAP_OK && q < n_times * n_levels; q++)
        out[q] = ll_anchor_quantile(s->m->anchor[c], k->series, &law[q / n_levels],
                                    ll_normal_score(level[q % n_levels]));
    ll_free(t);
    ll_free(law);
    return st;
}
