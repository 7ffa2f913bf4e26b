/* What a stream that judges its rows adds to the file of a stream (stream_file.c): in the
 * configuration "watch" (rate, join, late in ticks), and tensors, E entities, C targets, S series
 * of the model, T tests, K knots, M running means
 *
 *     watch.judged     I64 [E,2]            whether a row was judged, and the time of the newest
 *     watch.integers   I64 [E,C,15]         where a series stands: the order is in give_integers
 *     watch.numbers    F64 [E,C,27]         likewise, in give_numbers
 *     watch.learnt     I64 [C]              rows that what is usual was learnt from
 *     watch.usual      F64 [C,T,5 + 2 K]    knots, scale, top, above, limit; values, surprises
 *     watch.habit      F64 [C,S + 1,3 + 2 M]
 *
 * Alarms that nobody has looked at are not in it. */
#include "stream/watching.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/safetensors.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

enum { PEAK = 8, NUMBERS = 2 * LL_MEANS + 3 + 2 * PEAK, INTEGERS = 15 };
enum { TAIL = 5 + 2 * LL_TAIL_KNOTS, HABIT = 3 + 2 * LL_MEANS, TENSORS = 6 };

/* One list says what is written and read: pointers to the members in their order. */
typedef struct number_list {
    double *of[NUMBERS];
} number_list;

static int list_judgement(llap_judgement *j, double **to)
{
    double *const of[PEAK] = { &j->value, &j->expected, &j->low,      &j->high,
                               &j->score, &j->p,        &j->surprise, &j->margin };
    memcpy(to, of, sizeof of);
    return PEAK;
}

static number_list numbers_of(ll_watched *w, llap_judgement *last)
{
    number_list l;
    int         n = 0;
    for (int k = 0; k < LL_MEANS; k++) l.of[n++] = &w->runs.of[k];
    for (int k = 0; k < LL_MEANS; k++) l.of[n++] = &w->runs.weight[k];
    l.of[n++] = &w->runs.y;
    l.of[n++] = &w->eased;
    l.of[n++] = &w->peak;
    n += list_judgement(&w->alarm.peak, l.of + n);
    list_judgement(last, l.of + n);
    return l;
}

static void give_integers(const ll_watched *w, const llap_judgement *last, int64_t *to)
{
    const llap_alarm *a = &w->alarm;
    const int64_t     v[INTEGERS] = { w->runs.last,      w->runs.equal, w->open,
                                      w->quiet,          w->rows,       w->alarms,
                                      a->condition,      a->from,       a->to,
                                      a->time,           a->rows,       a->peak.time,
                                      a->peak.condition, last->time,    last->condition };
    memcpy(to, v, sizeof v);
}

static void take_integers(const int64_t *v, ll_watched *w, llap_judgement *last)
{
    llap_alarm *a = &w->alarm;
    w->runs.last = v[0];
    w->runs.equal = v[1];
    w->open = v[2] != 0;
    w->quiet = v[3];
    w->rows = v[4];
    w->alarms = v[5];
    a->condition = (llap_condition)v[6];
    a->from = v[7];
    a->to = v[8];
    a->time = v[9];
    a->rows = v[10];
    a->peak.time = v[11];
    a->peak.condition = (llap_condition)v[12];
    last->time = v[13];
    last->condition = (llap_condition)v[14];
    a->open = w->open;
}

llap_status ll_detect_how_text(const ll_detect_how *how, char **text)
{
    ll_json_writer w = { .indent = 0 };
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_double(&w, "rate", how->rate);
    ll_json_put_int(&w, "join", how->join);
    ll_json_put_int(&w, "late", how->late);
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}

/* ---- writing ---- */

void ll_watch_tensors_deinit(ll_watch_tensors *t)
{
    void *const arrays[] = { t->numbers, t->usual, t->habit, t->integers, t->judged };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

static void give_usual(const ll_stream_watch *w, ll_watch_tensors *t, int64_t *learnt)
{
    double *usual = t->usual, *habit = t->habit;
    for (int64_t c = 0; c < w->n_targets; c++) {
        const ll_usual *u = &w->usual[c];
        learnt[c] = u->rows;
        for (int k = 0; k < LL_TESTS; k++, usual += TAIL) {
            const ll_tail *tail = &u->tail[k];
            const double   head[5] = { (double)tail->n, tail->scale, tail->top, tail->above,
                                       u->limit[k] };
            memcpy(usual, head, sizeof head);
            memcpy(usual + 5, tail->v, sizeof tail->v);
            memcpy(usual + 5 + LL_TAIL_KNOTS, tail->c, sizeof tail->c);
        }
        for (int64_t e = 0; e <= u->n_series; e++, habit += HABIT) {
            habit[0] = u->habit[e].sd;
            habit[1] = u->habit[e].far_sd;
            habit[2] = u->habit[e].gap;
            memcpy(habit + 3, u->habit[e].mean, sizeof u->habit[e].mean);
            memcpy(habit + 3 + LL_MEANS, u->habit[e].spread, sizeof u->habit[e].spread);
        }
    }
}

static void give_series(const llap_stream *s, ll_watch_tensors *t)
{
    const ll_stream_watch *w = s->watch;
    for (int64_t i = 0; i < s->n; i++) {
        t->judged[2 * i] = w->any[i];
        t->judged[2 * i + 1] = w->judged[i];
    }
    for (int64_t k = 0; k < s->n * w->n_targets; k++) {
        const number_list l = numbers_of(&w->series[k], &w->last[k]);
        give_integers(&w->series[k], &w->last[k], t->integers + k * INTEGERS);
        for (int n = 0; n < NUMBERS; n++) t->numbers[k * NUMBERS + n] = *l.of[n];
    }
}

llap_status ll_stream_watch_save(const llap_stream *s, ll_watch_tensors *t, ll_tensors_writer *to)
{
    const ll_stream_watch *w = s->watch;
    const int64_t          C = w->n_targets, E = s->n, S = w->usual[0].n_series + 1;
    *t = (ll_watch_tensors){ .numbers = ll_new((size_t)(E * C), NUMBERS * sizeof(double)),
                             .integers = ll_new((size_t)(E * C), INTEGERS * sizeof(int64_t)),
                             .judged = ll_new((size_t)(2 * E + C), sizeof(int64_t)),
                             .usual = ll_new((size_t)(C * LL_TESTS), TAIL * sizeof(double)),
                             .habit = ll_new((size_t)(C * S), HABIT * sizeof(double)) };
    if (t->numbers == NULL || t->integers == NULL || t->judged == NULL || t->usual == NULL ||
        t->habit == NULL)
        return LLAP_ENOMEM;
    int64_t *learnt = t->judged + 2 * E;
    give_usual(w, t, learnt);
    give_series(s, t);
    llap_status st =
        ll_tensors_writer_add(to, "watch.judged", LL_I64, 2, (int64_t[]){ E, 2 }, t->judged);
    if (st == LLAP_OK)
        st = ll_tensors_writer_add(to, "watch.integers", LL_I64, 3, (int64_t[]){ E, C, INTEGERS },
                                   t->integers);
    if (st == LLAP_OK)
        st = ll_tensors_writer_add(to, "watch.numbers", LL_F64, 3, (int64_t[]){ E, C, NUMBERS },
                                   t->numbers);
    if (st == LLAP_OK) st = ll_tensors_writer_add(to, "watch.learnt", LL_I64, 1, &C, learnt);
    if (st == LLAP_OK)
        st = ll_tensors_writer_add(to, "watch.usual", LL_F64, 3, (int64_t[]){ C, LL_TESTS, TAIL },
                                   t->usual);
    if (st == LLAP_OK)
        st = ll_tensors_writer_add(to, "watch.habit", LL_F64, 3, (int64_t[]){ C, S, HABIT },
                                   t->habit);
    return st;
}

/* ---- reading ---- */

static llap_status get_how(const char *text, ll_detect_how *how)
{
    static const char *const keys[] = { "rate", "join", "late", NULL };
    ll_json                 *j = NULL;
    llap_status              st = ll_json_parse(text, strlen(text), "llapdiff.watch", NULL, &j);
    if (st == LLAP_OK) st = ll_json_keys(j, "", keys);
    for (int i = 0; st == LLAP_OK && keys[i] != NULL; i++) st = ll_json_need(j, keys[i]);
    if (st == LLAP_OK) st = ll_json_double(j, "rate", 1e-7, 0.1, &how->rate);
    if (st == LLAP_OK) st = ll_json_int(j, "join", 1, 1000000, &how->join);
    if (st == LLAP_OK) st = ll_json_int(j, "late", 0, INT64_MAX, &how->late);
    ll_json_destroy(j);
    return st;
}

static bool within(double x, double low, double high) { return x >= low && x <= high; }

/* Values increase, surprises do not fall, nothing is infinite. */
static bool take_tail(const double *from, ll_tail *t, double *limit)
{
    const double *v = from + 5, *c = v + LL_TAIL_KNOTS;
    if (!(within(from[0], 0, LL_TAIL_KNOTS) && from[0] == floor(from[0]))) return false;
    *t = (ll_tail){ .n = (int64_t)from[0], .scale = from[1], .top = from[2], .above = from[3] };
    *limit = from[4];
    memcpy(t->v, v, sizeof t->v);
    memcpy(t->c, c, sizeof t->c);
    bool ok = within(t->scale, 1e-9, 1e30) && within(t->top, -1e300, 1e300) &&
              within(t->above, 0, 1e6) && within(*limit, -1e6, 1e6);
    for (int k = 0; k < LL_TAIL_KNOTS; k++)
        ok = ok && within(v[k], -1e300, 1e300) && within(c[k], 0, 1e6);
    for (int64_t k = 1; k < t->n; k++) ok = ok && v[k] > v[k - 1] && c[k] >= c[k - 1];
    return ok;
}

static bool take_habit(const double *from, ll_habit *h)
{
    h->sd = from[0];
    h->far_sd = from[1];
    h->gap = from[2];
    memcpy(h->mean, from + 3, sizeof h->mean);
    memcpy(h->spread, from + 3 + LL_MEANS, sizeof h->spread);
    bool ok =
        within(h->sd, 1e-9, 1e9) && within(h->far_sd, 1e-9, 1e9) && within(h->gap, 1e-9, 1e300);
    for (int k = 0; k < LL_MEANS; k++)
        ok = ok && within(h->mean[k], -1e9, 1e9) && within(h->spread[k], 1e-9, 1e9);
    return ok;
}

static llap_status take_usual(ll_stream_watch *w, const double *usual, const double *habit,
                              const int64_t *learnt)
{
    bool ok = true;
    for (int64_t c = 0; c < w->n_targets; c++) {
        ll_usual *u = &w->usual[c];
        for (int k = 0; k < LL_TESTS; k++, usual += TAIL)
            ok = ok && take_tail(usual, &u->tail[k], &u->limit[k]);
        for (int64_t e = 0; e <= u->n_series; e++, habit += HABIT)
            ok = ok && take_habit(habit, &u->habit[e]);
        u->rows = learnt[c];
        ok = ok && u->rows >= 0;
    }
    return ok ? LLAP_OK
              : ll_fail(LLAP_EFORMAT, "watch.usual, watch.habit: no such numbers can be learnt");
}

static bool is_sound(const ll_watched *w, const llap_judgement *last, int64_t open)
{
    bool ok = (open == 0 || open == 1) && w->runs.equal >= 0 && w->quiet >= 0 && w->rows >= 0 &&
              w->alarms >= 0 && w->alarm.rows >= 0 && within(w->eased, -100, 100) &&
              isfinite(w->runs.y) && isfinite(w->peak);
    for (int k = 0; k < LL_MEANS; k++)
        ok = ok && within(w->runs.of[k], -1e9, 1e9) && within(w->runs.weight[k], 0, 1);
    const llap_condition c[] = { w->alarm.condition, w->alarm.peak.condition, last->condition };
    for (int k = 0; k < 3; k++)
        ok = ok && (int)c[k] >= LLAP_CONDITION_NORMAL && c[k] <= LLAP_CONDITION_SILENT;
    return ok;
}

static llap_status take_series(llap_stream *s, const int64_t *judged, const int64_t *integers,
                               const double *numbers)
{
    ll_stream_watch *w = s->watch;
    for (int64_t i = 0; i < s->n; i++) {
        if (judged[2 * i] != 0 && judged[2 * i] != 1)
            return ll_fail(LLAP_EFORMAT, "watch.judged: expected 0 or 1, found %lld",
                           (long long)judged[2 * i]);
        w->any[i] = judged[2 * i] != 0;
        w->judged[i] = judged[2 * i + 1];
    }
    for (int64_t k = 0; k < s->n * w->n_targets; k++) {
        const number_list l = numbers_of(&w->series[k], &w->last[k]);
        const int64_t    *v = integers + k * INTEGERS;
        const int         conditions[] = { 6, 12, 14 };
        for (int n = 0; n < 3; n++)
            if (v[conditions[n]] < 0 || v[conditions[n]] > LLAP_CONDITION_SILENT)
                return ll_fail(LLAP_EFORMAT, "watch.integers: no condition has the number %lld",
                               (long long)v[conditions[n]]);
        for (int n = 0; n < NUMBERS; n++) *l.of[n] = numbers[k * NUMBERS + n];
        take_integers(v, &w->series[k], &w->last[k]);
        if (!is_sound(&w->series[k], &w->last[k], v[2]))
            return ll_fail(LLAP_EFORMAT, "watch.numbers: series %lld cannot stand so",
                           (long long)k);
    }
    return LLAP_OK;
}

llap_status ll_stream_watch_load(llap_stream *s, const ll_tensors *t, const char *how_text,
                                 size_t *n)
{
    ll_detect_how    how;
    ll_stream_watch *w = NULL;
    ll_tensor_info   judged, integers, numbers, learnt, usual, habit;
    const int64_t    C = s->shape.n_targets, E = s->n;
    llap_status      st = get_how(how_text, &how);
    if (st == LLAP_OK) st = ll_stream_watch_create(s->m, &how, &w);
    if (st == LLAP_OK) st = ll_learn_nothing(s->m, &how, w->usual);
    if (st != LLAP_OK) {
        ll_stream_watch_destroy(w);
        return st;
    }
    const int64_t S = w->usual[0].n_series + 1;
    ll_stream_widen(s, &how);
    st = ll_stream_start_watch(s, w);
    if (st != LLAP_OK) return st;
    st = ll_tensors_require(t, "watch.judged", LL_I64, 2, (int64_t[]){ E, 2 }, &judged);
    if (st == LLAP_OK)
        st = ll_tensors_require(t, "watch.integers", LL_I64, 3, (int64_t[]){ E, C, INTEGERS },
                                &integers);
    if (st == LLAP_OK)
        st = ll_tensors_require(t, "watch.numbers", LL_F64, 3, (int64_t[]){ E, C, NUMBERS },
                                &numbers);
    if (st == LLAP_OK) st = ll_tensors_require(t, "watch.learnt", LL_I64, 1, &C, &learnt);
    if (st == LLAP_OK)
        st = ll_tensors_require(t, "watch.usual", LL_F64, 3, (int64_t[]){ C, LL_TESTS, TAIL },
                                &usual);
    if (st == LLAP_OK)
        st = ll_tensors_require(t, "watch.habit", LL_F64, 3, (int64_t[]){ C, S, HABIT }, &habit);
    if (st == LLAP_OK) st = take_usual(w, usual.data, habit.data, learnt.data);
    if (st == LLAP_OK) st = take_series(s, judged.data, integers.data, numbers.data);
    *n = TENSORS;
    return st;
}
