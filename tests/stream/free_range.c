/* What a forecast knows outside the range of its training, a stream knows too: whatever chain,
 * kernel and inputs a model has, the rows that a stream keeps give the bytes that the whole history
 * gives, at quiet hours, right behind a glitch, and after a shift that wakes the level. */
#include "folder.h"
#include "sensors.h"
#include "stream/stream.h"

#include "base/time/time.h"

#include <llapdiff/llapdiff.h>

#include <string.h>

enum { SERIES = 2, HOURS = 620, GLITCH = 440, SHIFT = 500, JUDGED = 480, AHEAD = 24 };

static double normal(uint64_t what, int e, int i)
{
    const ll_rng r = ll_rng_make(21, LL_STREAM_TEST, what, (uint32_t)e, 0);
    return (double)ll_rng_normal(&r, (uint64_t)i);
}

/* What is measured. */
typedef struct made {
    int64_t first, step; /* of its rows */
    double (*value)(int e, int i);
    bool heat; /* a second column that is known ahead: it moves what is measured, and is missing now
                  and then */
} made;

static llap_panel *make_panel_of(const made *m)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          id;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "y", 1, &id));
    if (m->heat) CHECK_OK(ll_panel_builder_var(b, "heat", 4, &id));
    for (int e = 0; e < SERIES; e++) {
        double heat = 0;
        CHECK_OK(ll_panel_builder_entity(b, e == 0 ? "a" : "b", 1, &id));
        for (int i = 0; i < HOURS; i++) {
            heat = .9 * heat + .4 * normal(1, e, i);
            const double y = m->value(e, i) + (m->heat ? 3 * heat : 0);
            const float  row[] = { (i + e) % 11 == 0 ? NAN : (float)y,
                                  i % 13 == 5 ? NAN : (float)heat };
            CHECK_OK(ll_panel_builder_row(b, id, m->first + i * m->step, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

/* A day, noise, one reading far off, and a level that falls for good. */
static double shifting(int e, int i)
{
    return (i == GLITCH ? 900 : 40) + 3 * sin(.2617993878 * i + e) + .4 * normal(2, e, i) -
           (i > SHIFT ? 25 : 0);
}

static double growing(int e, int i)
{
    return (i == GLITCH ? 20 : 1) * exp(.004 * i) * (2 + e + .2 * sin(.8975979 * i)) *
           (1 + .03 * normal(3, e, i));
}

static double working(int e, int i) /* of a week that begins on a Thursday */
{
    const int day = (i / 24 + 4) % 7, hour = i % 24;
    return 20 + e + (day % 6 != 0 && hour > 7 && hour < 18 ? 9 + hour % 3 : 0) +
           .3 * normal(4, e, i);
}

static double selling(int e, int i)
{
    const ll_rng r = ll_rng_make(22, LL_STREAM_TEST, (uint64_t)e, 0, 0);
    const double limit = exp(i % 7 == 6 ? -2.2 : -1.1 - .3 * e);
    int          n = 0;
    for (double p = (double)ll_rng_uniform(&r, (uint64_t)(16 * i)); p > limit && n < 15; n++)
        p *= (double)ll_rng_uniform(&r, (uint64_t)(16 * i + n + 1));
    return n;
}

static double sharing(int e, int i)
{
    return 1 / (1 + exp(-(2.5 * sin(.2617993878 * i) + e + .8 * normal(5, e, i))));
}

/* ---- what is compared ---- */

static void same_answers(const llap_answer *a, const llap_answer *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_numbers, b->n_numbers);
    assert_true(a->n_rows > 0);
    assert_memory_equal(a->rows.time, b->rows.time, a->n_rows * sizeof *a->rows.time);
    assert_memory_equal(a->number, b->number, a->n_rows * (size_t)a->n_numbers * sizeof *a->number);
}

/* Forecasts of both series made at that time, and the same by quantiles where they can be had. */
static void compare_at(llap_stream *s, const llap_model *m, const llap_panel *p, int64_t t, int i)
{
    char               at[LL_TIME_TEXT_MAX];
    const double       level[] = { 0.025, 0.5, 0.9 };
    llap_forecast_opts o = { .horizon = "24", .quantiles = "0.025,0.5,0.9", .at = at };
    llap_answer       *live, *batch;
    o.samples = 6;
    o.keep_samples = i % 2;
    ll_time_format(t, NULL, 0, at);
    CHECK_OK(llap_stream_forecast(s, &o, &live));
    CHECK_OK(llap_forecast(m, p, &o, &batch));
    same_answers(live, batch);
    if (m->frame.n_known == 0 && !o.keep_samples) {
        double  q[3];
        int64_t newest = 0;
        assert_true(llap_stream_newest(s, "a", &newest));
        CHECK_OK(llap_stream_quantiles(s, "a", "y", batch->rows.time, 1, level, 3, q));
        assert_memory_equal(q, batch->number + 1, sizeof q);
    }
    llap_answer_destroy(live);
    llap_answer_destroy(batch);
}

/* Rows come one by one; known inputs of a day ahead of them, so that a row comes twice. */
static void take_rows(llap_stream *s, const llap_panel *p, int i)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t r = p->start[e] + i, last = p->start[e + 1] - 1;
        CHECK_OK(
            llap_stream_take(s, p->entity[e], p->time[r], p->value + r * p->n_vars, p->n_vars));
        if (p->n_vars < 2) continue;
        const int64_t ahead = r + AHEAD < last ? r + AHEAD : last;
        for (int64_t k = i == 0 ? r + 1 : ahead; k <= ahead; k++) {
            const float row[2] = { NAN, p->value[2 * k + 1] };
            if (k > r) CHECK_OK(llap_stream_take(s, p->entity[e], p->time[k], row, 2));
        }
    }
}

static void check_stream(const llap_model *m, const llap_panel *p)
{
    static const int at[] = { 30, 200, GLITCH, GLITCH + 1, SHIFT + 1, SHIFT + 3, SHIFT + 30, 590 };
    llap_stream     *s;
    CHECK_OK(llap_stream_create(m, &(llap_stream_opts){ .like = p }, &s));
    for (int i = 0, k = 0; i < HOURS && k < (int)(sizeof at / sizeof *at); i++) {
        take_rows(s, p, i);
        if (i != at[k]) continue;
        compare_at(s, m, p, p->time[i], k);
        if (k == 4) { /* and goes on from its file */
            llap_stream *again;
            CHECK_OK(llap_stream_save(s, in_folder("half")));
            CHECK_OK(llap_stream_restore(m, in_folder("half"), &(llap_stream_opts){ 0 }, &again));
            llap_stream_destroy(s);
            s = again;
        }
        k++;
    }
    llap_stream_destroy(s);
}

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* What is unusual about every row of the last weeks, in the stream and in the batch. */
static void check_judgements(const llap_model *m, const llap_panel *p)
{
    const int         from = 1000;
    char              begin[LL_TIME_TEXT_MAX];
    llap_detection   *d;
    llap_stream      *s;
    llap_panel       *history;
    ll_panel_builder *b;
    uint32_t          id;
    ll_time_format(p->time[from], NULL, 0, begin);
    CHECK_OK(llap_detect(m, p, &(llap_detect_opts){ .from = begin, .rows = 1 }, &d));
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    for (int64_t v = 0; v < p->n_vars; v++)
        CHECK_OK(ll_panel_builder_var(b, p->var[v], strlen(p->var[v]), &id));
    for (int64_t e = 0; e < p->n_entities; e++) {
        CHECK_OK(ll_panel_builder_entity(b, p->entity[e], 1, &id));
        for (int64_t r = p->start[e]; r < p->start[e] + from; r++)
            CHECK_OK(ll_panel_builder_row(b, id, p->time[r], p->value + r * p->n_vars));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &history));
    ll_panel_builder_destroy(b);
    CHECK_OK(llap_stream_create(m, &(llap_stream_opts){ .like = p }, &s));
    CHECK_OK(llap_stream_learn(s, history, &(llap_detect_opts){ 0 }));
    for (int i = from; i < HOURS; i++)
        for (int64_t e = 0; e < p->n_entities; e++) {
            const int64_t         r = p->start[e] + i;
            int64_t               n;
            const llap_judgement *x = llap_detection_rows(d, e, 0, &n) + (i - from), *y;
            CHECK_OK(
                llap_stream_take(s, p->entity[e], p->time[r], p->value + r * p->n_vars, p->n_vars));
            y = llap_stream_judged(s, p->entity[e], "y");
            assert_non_null(y);
            if (x->time != y->time || x->condition != y->condition ||
                !same_number(x->expected, y->expected) || !same_number(x->low, y->low) ||
                !same_number(x->high, y->high) || !same_number(x->score, y->score) ||
                !same_number(x->margin, y->margin))
                fail_msg("row %d of %s: score %g, in the stream %g", i, p->entity[e], x->score,
                         y->score);
        }
    llap_panel_destroy(history);
    llap_detection_destroy(d);
    llap_stream_destroy(s);
}

static llap_model *train(const llap_panel *p, llap_train_opts o)
{
    llap_model *m;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "y";
    o.context = "48";
    o.horizon = "24";
    o.training = "{\"anchor\": {\"steps\": 10, \"rows\": 8}}";
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* The model with a chain fitted as o says: which one a training would choose is not the point. */
static void take_chain(llap_model *m, const llap_panel *p, const ll_chain_opts *o)
{
    const int64_t V = p->n_vars;
    ll_series     series[SERIES];
    double        t[SERIES][HOURS], y[SERIES][HOURS];
    for (int e = 0; e < SERIES; e++) {
        for (int i = 0; i < HOURS; i++) {
            const int64_t r = p->start[e] + i;
            t[e][i] = ll_model_time(m, p->time[r]);
            y[e][i] = ll_panel_observed(p, r, 0) ? (double)p->value[r * V] : NAN;
        }
        series[e] = (ll_series){ .n = GLITCH, .t = t[e], .y = y[e] };
    }
    ll_chain_destroy(m->anchor[0]->chain);
    m->anchor[0]->chain = NULL;
    CHECK_OK(ll_chain_fit(series, SERIES, o, &m->anchor[0]->chain));
    assert_int_equal(m->anchor[0]->chain->curve, o->curve);
}

/* ---- the kinds ---- */

/* One chain, and every kernel that a choice can end with. */
static void drifts_walks_and_scales(void **state)
{
    (void)state;
    llap_panel            *p = make_panel_of(&(made){ .step = HOUR, .value = shifting });
    llap_model            *m = train(p, (llap_train_opts){ 0 });
    ll_anchor_kernel      *k = &m->anchor[0]->kernel;
    const ll_anchor_kernel fitted = *k;
    take_chain(m, p,
               &(ll_chain_opts){ .curve = LL_CURVE_TAILS,
                                 .transform = LL_TRANSFORM_YEO_JOHNSON,
                                 .climate = true,
                                 .z_clip = 5 });
    assert_non_null(m->anchor[0]->chain->glitch);
    for (int which = 0; which < 7; which++) { /* still, level, slope in both scales; walk */
        *k = fitted;
        k->innovation = which % 2 > 0 || which == 6;
        k->drift = which < 2                  ? LL_ANCHOR_STILL
                   : which == 4 || which == 5 ? LL_ANCHOR_SLOPE
                                              : LL_ANCHOR_LEVEL;
        k->start = which < 2 ? 0 : 25;
        k->monitor = 5;
        m->anchor[0]->reach = which < 2 ? 1.5 : 0;
        k->q = .1 / 24;
        k->v = 1e-3 / (24 * 24 * 24);
        k->damping = .02 / 24;
        if (which == 6) { /* a level and next to nothing else */
            k->n_terms = 1;
            k->a[0] = 1e-4;
            k->rho[0] = .1 / 24;
            k->omega[0] = 0;
            k->nu = .006;
        }
        CHECK_OK(ll_anchor_kernel_check(k));
        check_stream(m, p);
    }
    *k = fitted;
    check_judgements(m, p);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* Curves, kinds of values, bounds, a weekly profile with holidays, periods of no clock. */
static void chains(void **state)
{
    (void)state;
    struct ll_holiday     day[] = { { 8 * 24, 9 * 24, 72 }, { 21 * 24, 22 * 24, 48 } };
    const ll_holiday_list holidays = { 2, day };
    const struct {
        const char   *name;
        made          of;
        ll_chain_opts chain;
    } kind[] = {
        { "log", { .step = 24 * HOUR, .value = growing }, { .curve = LL_CURVE_LOG } },
        { "counts",
          { .step = 24 * HOUR, .value = selling },
          { .curve = LL_CURVE_COUNTS,
            .values = { .kind = LL_KIND_COUNT, .has_min = true, .week = 7 } } },
        { "shares",
          { .step = HOUR, .value = sharing },
          { .curve = LL_CURVE_LOGIT,
            .values = { .kind = LL_KIND_SHARE, .has_min = true, .has_max = true, .max = 1 } } },
        { "bounds",
          { .step = HOUR, .value = shifting },
          { .curve = LL_CURVE_TAILS,
            .values = { .has_min = true, .min = 38, .has_max = true, .max = 43 } } },
        { "whole",
          { .step = HOUR, .value = shifting },
          { .curve = LL_CURVE_TAILS, .values = { .kind = LL_KIND_WHOLE } } },
        { "profile and holidays",
          { .step = HOUR, .value = working },
          { .curve = LL_CURVE_TAILS,
            .climate = true,
            .profile = true,
            .gap = 1,
            .holidays = &holidays } },
        { "periods",
          { .step = HOUR, .value = sharing },
          { .curve = LL_CURVE_TAILS,
            .climate = true,
            .periods = { .n = 1, .span = { 23.3 }, .harmonics = { 3 } } } },
    };
    llap_model *trained[2]; /* by the hour, by the day */
    for (int k = 0; k < 2; k++) {
        llap_panel *p = make_panel_of(&(made){ .step = k ? 24 * HOUR : HOUR, .value = shifting });
        trained[k] = train(p, (llap_train_opts){ 0 });
        llap_panel_destroy(p);
    }
    for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
        llap_panel   *p = make_panel_of(&kind[k].of);
        llap_model   *m = trained[kind[k].of.step > HOUR];
        ll_chain_opts o = kind[k].chain;
        o.transform = LL_TRANSFORM_YEO_JOHNSON;
        o.z_clip = 5;
        print_message("%s\n", kind[k].name);
        take_chain(m, p, &o);
        assert_int_equal(m->anchor[0]->chain->profile.daily > 0, o.profile);
        assert_int_equal(m->anchor[0]->chain->holidays != NULL, o.holidays != NULL);
        check_stream(m, p);
        check_judgements(m, p);
        llap_panel_destroy(p);
    }
    for (int k = 0; k < 2; k++) llap_model_destroy(trained[k]);
}

/* Known a day ahead, and now and then missing. */
static void known_inputs(void **state)
{
    (void)state;
    llap_panel *p = make_panel_of(&(made){ .step = HOUR, .value = shifting, .heat = true });
    llap_model *m = train(p, (llap_train_opts){ .known = "heat" });
    assert_non_null(m->anchor[0]->chain->known);
    check_stream(m, p);
    check_judgements(m, p);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static int set_up(void **state) { return make_folder(state); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drifts_walks_and_scales),
        cmocka_unit_test(chains),
        cmocka_unit_test(known_inputs),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
