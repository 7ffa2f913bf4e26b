/* The opponents on real data against values that were measured independently: the context's days as
 * an ensemble, and the context's readings. Those came with three digits, other strides or another
 * draw of patients; the tolerances say how far such choices move them. */
#include "data/panels.h"

#include "base/rng/rng.h"
#include "base/sort.h"
#include "oracles/presets.h"
#include "predict/forecaster.h"
#include "predict/view/frame.h"
#include "score/metric.h"
#include "score/opponents.h"
#include "score/scoring.h"

#define HOUR INT64_C(3600000000000)

enum { TARGETS = 8 };

/* A panel, its windows, and everything that evaluation needs of a model. */
typedef struct stage {
    ll_model_frame      frame;
    llap_panel         *p;
    llap_panel         *carried; /* what the opponents see; NULL: p */
    int64_t             var[TARGETS];
    ll_score_scale     *scale; /* [n_targets,n_entities] */
    ll_windows         *w;
    ll_split           *split;
    ll_forecast_window *list;
    int64_t             n;
    uint8_t            *hidden;
} stage;

/* Mean and deviation of training values of one entity, or of all (entity -1). */
static ll_score_scale scale_of(const stage *s, int64_t target, int64_t entity, const int64_t *stop,
                               double tail, double clip)
{
    const llap_panel *p = s->p;
    double           *x = ll_new((size_t)p->n_rows, sizeof *x), sum = 0, square = 0;
    int64_t           n = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e]; r < stop[e] && (entity < 0 || e == entity); r++)
            if (ll_panel_observed(p, r, s->var[target]))
                x[n++] = (double)p->value[r * p->n_vars + s->var[target]];
    assert_true(n > 1);
    ll_score_scale out = { .lo = -INFINITY, .hi = INFINITY, .clip = clip };
    if (tail > 0) {
        ll_sort_doubles(x, (size_t)n);
        out.lo = metric_quantile_inner(x, n, tail);
        out.hi = metric_quantile_inner(x, n, 1 - tail);
    }
    for (int64_t i = 0; i < n; i++) {
        const double v = fmin(fmax(x[i], out.lo), out.hi);
        sum += v / (double)n;
        square += v * v / (double)n;
    }
    out.mean = sum;
    out.sd = sqrt(square - sum * sum);
    ll_free(x);
    return out;
}

static void take_scales(stage *s, bool pooled, double tail, double clip)
{
    const int64_t n = s->p->n_entities;
    int64_t      *stop = ll_new(2 * (size_t)n, sizeof *stop);
    ll_training_rows(s->w, s->split, stop + n, stop);
    s->scale = ll_new((size_t)(s->frame.n_targets * n), sizeof *s->scale);
    for (int64_t k = 0; k < s->frame.n_targets; k++) {
        const ll_score_scale all =
            pooled ? scale_of(s, k, -1, stop, tail, clip) : (ll_score_scale){ 0 };
        for (int64_t e = 0; e < n; e++)
            s->scale[k * n + e] = pooled ? all : scale_of(s, k, e, stop, tail, clip);
    }
    ll_free(stop);
}

static void stage_deinit(stage *s)
{
    ll_free(s->hidden);
    ll_free(s->list);
    ll_free(s->scale);
    ll_split_destroy(s->split);
    ll_windows_destroy(s->w);
    llap_panel_destroy(s->carried);
    llap_panel_destroy(s->p);
}

static llap_panel *carry_forward(const llap_panel *p, int64_t var)
{
    ll_panel_draft d = ll_panel_draft_of(p);
    llap_panel    *out;
    CHECK_OK(ll_panel_create(&d, &out));
    for (int64_t e = 0; e < p->n_entities; e++) {
        float last = NAN;
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            const int64_t c = r * p->n_vars + var;
            if (ll_panel_observed(p, r, var)) last = p->value[c];
            d.time[r] = p->time[r];
            d.value[c] = last;
            if (!isnan(last)) ll_bit_set(d.observed, c);
        }
    }
    return out;
}

/* The tables were measured on values that are held within bounds. */
static void hold_values(const stage *s, const llap_panel *p)
{
    for (int64_t e = 0; p != NULL && e < p->n_entities; e++)
        for (int64_t k = 0; k < s->frame.n_targets; k++)
            for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
                const ll_score_scale *scale = &s->scale[k * p->n_entities + e];
                float *y = &((float *)(uintptr_t)p->value)[r * p->n_vars + s->var[k]];
                *y = (float)ll_score_scale_y(scale, ll_scale_held(scale, (double)*y));
            }
}

static void score(const stage *s, const char *name, scoring *out)
{
    ll_opponents         o;
    const ll_forecaster *f = NULL;
    int32_t             *unit = ll_new((size_t)s->n, sizeof *unit);
    hold_values(s, s->p);
    hold_values(s, s->carried);
    CHECK_OK(ll_opponents_init(&o, &s->frame, s->scale, s->var, s->w, s->split, LL_PART_TEST,
                               &(ll_seasons){ 0 }, NULL));
    for (int i = 0; i < o.n; i++)
        if (strcmp(o.f[i].name, name) == 0) f = &o.f[i];
    assert_non_null(f);
    const scoring_input in = { .panel = s->p,
                               .var = s->var,
                               .n_targets = s->frame.n_targets,
                               .scale = s->scale,
                               .hidden = s->hidden,
                               .w = s->list,
                               .n = s->n,
                               .unit = unit,
                               .n_units = 1,
                               .leads = ll_leads_of_frame(&s->frame),
                               .f = &f,
                               .n_forecasters = 1,
                               .ask = { .n_samples = 25, .seed = 1 } };
    CHECK_OK(scoring_run(&in, out));
    ll_opponents_deinit(&o);
    ll_free(unit);
}

/* ---- hourly sets: days of the context ---- */

typedef struct days {
    const char *preset, *file, *target;
    int64_t     horizon, stride; /* hours */
    double      crps, mse;       /* expected */
    double      within;          /* of the CRPS; of the MSE three times as much */
} days;

static void check_days(const days *d)
{
    stage       s = { 0 };
    const char *path = data_file(d->file);
    CHECK_OK(ll_preset_panel(ll_preset_find(d->preset), &path, 1, NULL, &s.p));
    s.var[0] = ll_panel_find_var(s.p, d->target);
    assert_true(s.var[0] >= 0);
    s.frame = (ll_model_frame){ .n_targets = 1,
                                .axis = LL_AXIS_CALENDAR,
                                .axis_unit = 1,
                                .unit = HOUR,
                                .context = 336 * HOUR,
                                .horizon = d->horizon * HOUR,
                                .step = HOUR };
    /* Cut at 70 and 80 % of the hours; forecasts from there on, up to the last whole horizon. */
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int64_t r = 0; r < s.p->n_rows; r++) {
        first = s.p->time[r] < first ? s.p->time[r] : first;
        last = s.p->time[r] > last ? s.p->time[r] : last;
    }
    const int64_t hours = (last - first) / HOUR + 1;
    s.frame.val_start = first + hours * 7 / 10 * HOUR;
    s.frame.test_start = first + hours * 8 / 10 * HOUR;
    s.carried = carry_forward(s.p, s.var[0]);
    CHECK_OK(ll_frame_windows(&s.frame, s.carried, s.var, 1, &s.w));
    CHECK_OK(ll_frame_split(&s.frame, s.w, &s.split));
    take_scales(&s, false, 0, 5);
    s.list = ll_new((size_t)(s.p->n_entities * hours), sizeof *s.list);
    for (int64_t e = 0; e < s.p->n_entities; e++) {
        int64_t       end = s.p->start[e];
        const int64_t stop = s.p->start[e + 1];
        for (int64_t t = s.frame.test_start; t + (d->horizon - 1) * HOUR <= last;
             t += d->stride * HOUR) {
            while (end < stop && s.p->time[end] < t) end++;
            int64_t from = end, to = end;
            while (from > s.p->start[e] && s.p->time[from - 1] >= t - 336 * HOUR) from--;
            while (to < stop && s.p->time[to] < t + d->horizon * HOUR) to++;
            if (from == end || to == end) continue;
            s.list[s.n++] = (ll_forecast_window){ .entity = e,
                                                  .first = from,
                                                  .end = end,
                                                  .origin = t - HOUR,
                                                  .n_query = to - end,
                                                  .time = s.p->time + end,
                                                  .id = ll_forecast_window_id(s.p, e, t) };
        }
    }
    CHECK_OK(ll_forecast_windows_sort(s.list, s.n));
    scoring out;
    score(&s, "context_days", &out);
    const tally *t = &out.cell[0].total;
    print_message("%s h=%lld stride %lld: CRPS %.4f, expected %.3f; MSE %.4f, expected %.3f; "
                  "%lld windows\n",
                  d->preset, (long long)d->horizon, (long long)d->stride, t->z.crps / t->n, d->crps,
                  t->z.se / t->n, d->mse, (long long)s.n);
    assert_true(fabs(t->z.crps / t->n - d->crps) < d->within);
    assert_true(fabs(t->z.se / t->n - d->mse) < 3 * d->within);
    scoring_deinit(&out);
    stage_deinit(&s);
}

static void uci_days(void **state)
{
    (void)state;
    check_days(&(days){ "uci_air", "uci_air.csv.gz", "NO2(GT)", 24, 3, 0.535, 0.981, 6e-4 });
    check_days(&(days){ "uci_air", "uci_air.csv.gz", "NO2(GT)", 168, 3, 0.575, 1.098, 6e-4 });
}

static void bms_days(void **state)
{
    (void)state;
    check_days(&(days){ "bms_air", "bms_air.csv.gz", "PM2.5", 24, 23, 0.485, 1.056, 6e-4 });
    check_days(&(days){ "bms_air", "bms_air.csv.gz", "PM2.5", 168, 24, 0.502, 1.117, 6e-4 });
}

static void metar_days(void **state)
{
    (void)state;
    const char *file = "metar_us.csv.gz";
    check_days(&(days){ "metar_us", file, "temperature", 24, 24, 0.285, 0.277, 6e-4 });
    check_days(&(days){ "metar_us", file, "temperature", 168, 24, 0.323, 0.329, 6e-4 });
}

/* ---- patients: readings of the first day for those of the second, to the minute ---- */

/* One window for each patient, not only of one fifth, whose choice would move the scores by
 * 0.01 (nothing is learned here); only what has a reading in the first day counts. */
static void list_patients(stage *s)
{
    s->list = ll_new((size_t)s->p->n_entities, sizeof *s->list);
    s->hidden = ll_new((size_t)s->p->n_rows, TARGETS);
    int64_t before = -1;
    for (int64_t i = 0; i < s->w->n; i++) {
        const int64_t e = s->w->at[i].entity, first = s->p->start[e], stop = s->p->start[e + 1];
        if (e == before) continue;
        before = e;
        int64_t end = first;
        while (end < stop && s->p->time[end] < 24 * HOUR) end++;
        if (end == first || end == stop) continue;
        s->list[s->n++] =
            (ll_forecast_window){ .entity = e,
                                  .first = first,
                                  .end = end,
                                  .origin = s->p->time[end - 1],
                                  .n_query = stop - end,
                                  .time = s->p->time + end,
                                  .id = ll_forecast_window_id(s->p, e, s->p->time[end - 1]) };
        for (int64_t k = 0; k < TARGETS; k++) {
            bool any = false;
            for (int64_t r = first; r < end; r++) any |= ll_panel_observed(s->p, r, s->var[k]);
            for (int64_t r = end; r < stop; r++) s->hidden[r * TARGETS + k] = any;
        }
    }
    CHECK_OK(ll_forecast_windows_sort(s->list, s->n));
}

static void patients_readings(void **state)
{
    (void)state;
    static const char *const vitals[] = { "HR",  "MAP",      "NIMAP",   "SysABP", "Temp",
                                          "GCS", "RespRate", "DiasABP", NULL };
    ll_csv_opts              o = LL_CSV_DEFAULT;
    o.time_unit = "min";
    o.columns = vitals;
    stage s = { .p = panel_of_file("physionet2012_a.csv.gz", &o) };
    for (int64_t k = 0; k < TARGETS; k++) s.var[k] = ll_panel_find_var(s.p, vitals[k]);
    s.frame = (ll_model_frame){ .n_targets = TARGETS,
                                .axis = LL_AXIS_NUMBER,
                                .axis_unit = s.p->axis.unit_ns,
                                .unit = HOUR,
                                .context = 24 * HOUR,
                                .horizon = 24 * HOUR,
                                .step = HOUR,
                                .by_entity = true };
    ll_split_opts by = LL_SPLIT_DEFAULT;
    by.kind = LL_SPLIT_BY_ENTITY;
    CHECK_OK(ll_frame_windows(&s.frame, s.p, s.var, TARGETS, &s.w));
    CHECK_OK(ll_split_create(s.w, &by, &s.split));
    take_scales(&s, true, 0.001, INFINITY);
    list_patients(&s);
    scoring out;
    score(&s, "context", &out);
    tally t = { 0 };
    for (int64_t k = 0; k < TARGETS; k++) tally_add(&t, &out.cell[k].total);
    print_message("patients: CRPS %.4f, expected 0.4465; MSE %.4f, expected 0.681; %.0f readings "
                  "(83591) of %lld patients\n",
                  t.z.crps / t.n, t.z.se / t.n, t.n, (long long)s.n);
    /* One draw of a fifth was scored there: draws differ by 0.011 in CRPS, by 0.025 in MSE. */
    assert_true(fabs(t.z.crps / t.n - 0.4465) < 0.02);
    assert_true(fabs(t.z.se / t.n - 0.681) < 0.05);
    scoring_deinit(&out);
    stage_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uci_days),
        cmocka_unit_test(bms_days),
        cmocka_unit_test(metar_days),
        cmocka_unit_test(patients_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
