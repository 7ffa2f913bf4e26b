#include "stream/watch.h"

#include "anchor/chain/chain_kinds.h"
#include "predict/tables/numbers.h"

#include <assert.h>
#include <math.h>

/* Limits move by this much of a surprise with every alarm, and back by the share of it that is
 * wanted with every row; so in the long run alarms are as frequent as wanted. */
static const double EASE = 0.25, EASED_LEAST = -1.0, EASED_MOST = 3.0;

/* ---- score ---- */

static double below(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

/* The score that has half of what lies between two others below it. */
static double between(double low, double high)
{
    const double down = 0.5 * (below(low) + below(high));
    const double up = 0.5 * (below(-low) + below(-high));
    if (down < up) return down > 1e-300 ? ll_normal_score(down) : high;
    return up > 1e-300 ? -ll_normal_score(up) : low;
}

double ll_reading_score(const ll_anchor_model *a, const ll_law *law, double y)
{
    const ll_chain *c = a->chain;
    const double    MOST = 60.0;
    const bool      whole = chain_is_whole(c) && c->curve != LL_CURVE_COUNTS;
    const bool      at_low = y <= c->y_min, at_high = y >= c->y_max;
    double          x;
    if (isnan(y)) return NAN;
    if ((!whole && !at_low && !at_high) || c->curve == LL_CURVE_COUNTS) {
        x = ll_anchor_score(a, law, y); /* of counts it is in the middle already */
    } else {
        const double low = at_low ? -INFINITY : ll_anchor_score(a, law, whole ? y - 0.5 : y);
        const double high = at_high ? INFINITY : ll_anchor_score(a, law, whole ? y + 0.5 : y);
        x = between(low, high);
    }
    return isnan(x) ? NAN : fmin(fmax(x, -MOST), MOST);
}

/* ---- rows ---- */

static const llap_condition condition_of[LL_TESTS] = {
    [LL_TEST_READING] = LLAP_CONDITION_UNUSUAL, [LL_TEST_CHANGE] = LLAP_CONDITION_DRIFTING,
    [LL_TEST_FAR] = LLAP_CONDITION_DRIFTING,    [LL_TEST_LEVEL] = LLAP_CONDITION_DRIFTING,
    [LL_TEST_STUCK] = LLAP_CONDITION_STUCK,     [LL_TEST_SILENT] = LLAP_CONDITION_SILENT,
};

/* What was expected of the reading, and between what there would be no alarm. */
static void describe(llap_judgement *j, const ll_watching *of, size_t series, const ll_law *law,
                     double sd, double eased)
{
    const ll_usual *u = of->usual;
    const double    far =
        sd * ll_tail_value(&u->tail[LL_TEST_READING], u->limit[LL_TEST_READING] + eased);
    j->expected = ll_anchor_quantile(of->anchor, series, law, 0.0);
    j->low = ll_anchor_quantile(of->anchor, series, law, -far);
    j->high = ll_anchor_quantile(of->anchor, series, law, far);
}

static void begin(ll_watched *w, const llap_judgement *j, int64_t since)
{
    w->open = true;
    w->peak = j->margin;
    w->alarms++;
    w->alarm = (llap_alarm){ .condition = j->condition,
                             .from = since,
                             .to = j->time,
                             .time = j->time,
                             .peak = *j,
                             .rows = 1,
                             .open = 1 };
}

static void go_on(ll_watched *w, const llap_judgement *j)
{
    w->alarm.to = j->time;
    w->alarm.rows++;
    if (j->margin <= w->peak) return;
    w->peak = j->margin;
    w->alarm.peak = *j;
    w->alarm.condition = j->condition;
}

void ll_watched_take(ll_watched *w, const ll_watching *of, size_t series, const ll_watch_row *in,
                     const ll_law *law, ll_watch_step *out)
{
    const ll_habit *habit = ll_usual_habit(of->usual, series);
    const int64_t   before = w->runs.equal > 0 ? w->runs.last : in->time;
    double          stat[LL_TESTS];
    ll_test         which = LL_TEST_READING;
    llap_judgement *j = &out->judged;
    *out = (ll_watch_step){ .judged = { .time = in->time, .value = in->y } };
    ll_runs_step(&w->runs, habit, in, stat);
    j->margin = ll_usual_margin(of->usual, stat, &which);
    const double over = j->margin - w->eased;
    j->score = in->x;
    j->surprise = ll_tail_surprise(&of->usual->tail[LL_TEST_READING], stat[LL_TEST_READING]);
    j->p = isnan(in->x) ? NAN : exp(-j->surprise);
    j->condition = over > 0.0 ? condition_of[which] : LLAP_CONDITION_NORMAL;
    j->expected = j->low = j->high = NAN;
    if (law != NULL) describe(j, of, series, law, habit->sd, w->eased);
    w->rows++;
    w->eased = fmax(w->eased - EASE * of->rate, EASED_LEAST);
    if (w->open && (w->quiet = over > -LL_USUAL_HOLD ? 0 : w->quiet + 1) >= of->join) {
        w->open = false;
        out->ended = true;
        out->end = w->alarm;
        out->end.open = 0;
    }
    if (!(over > 0.0)) return;
    if (w->open) {
        go_on(w, j);
        return;
    }
    begin(w, j, which == LL_TEST_SILENT ? before : in->time);
    w->quiet = 0;
    w->eased = fmin(w->eased + EASE, EASED_MOST);
    out->begun = true;
}

void ll_watched_clock(ll_watched *w, const ll_watching *of, size_t series, int64_t now,
                      ll_watch_step *out)
{
    const ll_watch_row row = { .time = now, .y = NAN, .x = NAN, .far = NAN, .u = NAN };
    ll_runs            runs = w->runs;
    double             stat[LL_TESTS];
    ll_test            which;
    *out = (ll_watch_step){ .judged = { .time = now } };
    if (w->runs.equal == 0 || now <= w->runs.last) return;
    ll_runs_step(&runs, ll_usual_habit(of->usual, series), &row, stat);
    if (ll_usual_margin(of->usual, stat, &which) - w->eased <= 0.0) return;
    if (w->open && w->alarm.condition == LLAP_CONDITION_SILENT) return; /* it is known */
    ll_watched_take(w, of, series, &row, NULL, out);
}
