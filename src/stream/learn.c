#include "stream/learn.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/time/duration.h"
#include "predict/view/span.h"

#include <string.h>

llap_status ll_detect_how_of(const llap_detect_opts *given, ll_detect_how *out)
{
    llap_detect_opts o;
    llap_status      st = llap_options_resolve(llap_detect_options(), given, &o, sizeof o);
    *out = (ll_detect_how){ 0 };
    if (st != LLAP_OK) return st;
    out->rate = o.rate;
    out->join = o.join;
    if (o.late == NULL) return LLAP_OK;
    st = ll_duration_parse(o.late, strlen(o.late), &out->late);
    if (st == LLAP_OK && out->late < 0)
        st = ll_fail(LLAP_EINVAL, "expected a duration of 0 or more");
    return st == LLAP_OK ? st : ll_fail_in(LLAP_EOPTION, "late");
}

llap_status ll_learn_nothing(const llap_model *m, const ll_detect_how *how, ll_usual *usual)
{
    llap_status st = LLAP_OK;
    for (int64_t c = 0; st == LLAP_OK && c < m->frame.n_targets; c++)
        st = ll_usual_init(&usual[c], m->frame.by_entity ? 0 : m->frame.n_entities, ll_watch_gap(m),
                           how->rate);
    return st;
}

/* The rows of each entity that are learnt from: those before `until`, and, where they are longer
 * than a context, not the first one, of which nothing came before. */
static size_t list_rows(const llap_model *m, const llap_panel *p, const ll_scored *s, int64_t c,
                        int64_t until, ll_usual_rows *out)
{
    size_t rows = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t first = p->start[e], end = first;
        while (end < p->start[e + 1] && p->time[end] < until) end++;
        if (end > first &&
            ll_elapsed(p->time[first], p->time[end - 1]) >= 2 * (uint64_t)m->frame.context)
            while (ll_elapsed(p->time[p->start[e]], p->time[first]) < (uint64_t)m->frame.context)
                first++;
        out[e] = (ll_usual_rows){ .row = s->row + c * p->n_rows + first,
                                  .n = (size_t)(end - first),
                                  .series = s->series.known[e] };
        rows += out[e].n;
    }
    return rows;
}

llap_status ll_learn(const llap_model *m, const llap_panel *p, const ll_scored *s, int64_t until,
                     const ll_detect_how *how, ll_usual *usual)
{
    ll_usual_rows *rows = ll_new((size_t)p->n_entities, sizeof *rows);
    llap_status    st = rows == NULL ? LLAP_ENOMEM : ll_learn_nothing(m, how, usual);
    for (int64_t c = 0; st == LLAP_OK && c < m->frame.n_targets; c++) {
        if (list_rows(m, p, s, c, until, rows) == 0)
            st = ll_fail(LLAP_EINVAL, "there is no row before the time from which rows are judged: "
                                      "nothing to learn from what is usual");
        if (st == LLAP_OK)
            st = ll_usual_learn(&usual[c], rows, (size_t)p->n_entities, how->rate, how->join);
    }
    ll_free(rows);
    return st;
}

void ll_run_on(ll_runs *r, const ll_usual *u, size_t series, const ll_watch_row *row, size_t n)
{
    double stat[LL_TESTS];
    for (size_t i = 0; i < n; i++) ll_runs_step(r, ll_usual_habit(u, series), &row[i], stat);
}
