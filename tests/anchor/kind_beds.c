/* Series of whose law we know everything: counts with many zeros, and shares. Validation alone must
 * find the curve of counts. Limits are those of a prototype on other draws of the same series: CRPS
 * in deviations of training within 5 % of its figure, and as far ahead of the climatology by
 * weekday as it was, less the 1 % that chance is worth. Slow: whole fits. */
#include "anchor/model.h"
#include "base/crps.h"
#include "base/sort.h"
#include "dense.h"
#include "predict/tables/numbers.h"

enum { SERIES = 200, DAYS = 730, HOURS = 3000, MEMBERS = 100 };

typedef struct bed {
    ll_series     series[SERIES];
    double       *t, *y;      /* [n_rows], [n_series,n_rows] */
    double        sd[SERIES]; /* of the training values */
    size_t        n_series, n_rows, train_rows[SERIES];
    ll_origin    *origin; /* training, then validation, then test */
    size_t        n_train, n_valid, n_test;
    double        step, context, horizon;
    ll_chain_opts chain;
} bed;

static void bed_create(bed *b, size_t n_series, size_t n_rows, double step)
{
    *b = (bed){ .n_series = n_series, .n_rows = n_rows, .step = step };
    b->t = calloc(n_rows, sizeof *b->t);
    b->y = calloc(n_series * n_rows, sizeof *b->y);
    b->origin = calloc(n_series * n_rows, sizeof *b->origin);
    assert_true(b->t != NULL && b->y != NULL && b->origin != NULL);
    for (size_t i = 0; i < n_rows; i++) b->t[i] = 430000.0 + step * (double)i;
    for (size_t e = 0; e < n_series; e++) {
        b->series[e] = (ll_series){ .n = n_rows, .t = b->t, .y = b->y + e * n_rows };
        b->train_rows[e] = n_rows * 7 / 10;
    }
    b->chain = LL_CHAIN_DEFAULT;
    b->chain.climate = false;
    b->chain.curve = LL_CURVE_TAILS;
}

static void bed_destroy(bed *b)
{
    free(b->t);
    free(b->y);
    free(b->origin);
}

/* Origins whose queries lie in rows first .. last - 1, every so many of them. */
static size_t add_origins(bed *b, size_t at, size_t first, size_t last, size_t every)
{
    const size_t h = (size_t)(b->horizon / b->step), before = at;
    for (size_t e = 0; e < b->n_series; e++)
        for (size_t i = first; i + h < last; i += every)
            b->origin[at++] = (ll_origin){ e, b->t[i] };
    return at - before;
}

static void split(bed *b, size_t every)
{
    const size_t n = b->n_rows, context = (size_t)(b->context / b->step);
    for (size_t e = 0; e < b->n_series; e++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < b->train_rows[e]; i++) {
            sum += b->series[e].y[i];
            squares += b->series[e].y[i] * b->series[e].y[i];
        }
        const double rows = (double)b->train_rows[e];
        b->sd[e] = sqrt(squares / rows - sum / rows * (sum / rows));
        assert_true(b->sd[e] > 0);
    }
    b->n_train = add_origins(b, 0, context, n * 7 / 10, every);
    b->n_valid = add_origins(b, b->n_train, n * 7 / 10, n * 8 / 10, every);
    b->n_test = add_origins(b, b->n_train + b->n_valid, n * 8 / 10, n, every);
}

static ll_anchor_model *fit(const bed *b)
{
    ll_anchor_model     *m = NULL;
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    const ll_anchor_data d = { .series = b->series,
                               .n_series = b->n_series,
                               .train_rows = b->train_rows,
                               .train = b->origin,
                               .n_train = b->n_train,
                               .valid = b->origin + b->n_train,
                               .n_valid = b->n_valid };
    o.spec = (ll_anchor_spec){ .context = b->context, .horizon = b->horizon };
    o.chain = b->chain;
    o.fit.learn_omega = true;
    CHECK_OK(ll_anchor_kernel_spaced(2 * b->step, b->context, 4, &o.start));
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    return m;
}

/* The law of one value as members; whole counts, shares that are equal only at their bounds. */
static void members_of(const ll_anchor_model *m, size_t e, const ll_law *law, double *x)
{
    for (int k = 0; k < MEMBERS; k++) {
        x[k] = ll_anchor_quantile(m, e, law, ll_normal_score((k + .5) / MEMBERS));
        assert_true(x[k] >= 0);
        if (m->chain->kind == LL_KIND_COUNT) assert_true(x[k] == floor(x[k]));
        else assert_true(x[k] <= 1 && (k == 0 || x[k] > x[k - 1] || x[k] == 0 || x[k] == 1));
        assert_true(k == 0 || x[k] >= x[k - 1]);
    }
}

/* Mean CRPS over the test origins, in deviations of training; *held: share within the 80 %
 * interval. */
static double score(const bed *b, const ll_anchor_model *m, double *held)
{
    const size_t     h = (size_t)(b->horizon / b->step);
    const ll_origin *o = b->origin + b->n_train + b->n_valid;
    ll_law          *law = calloc(h, sizeof *law);
    double           sum = 0, n = 0, within = 0;
    assert_non_null(law);
    for (size_t i = 0; i < b->n_test; i++) {
        const size_t            e = o[i].series;
        const size_t            now = (size_t)((o[i].t - b->t[0]) / b->step + .5) + 1;
        const ll_anchor_request r = { .history = b->series[e],
                                      .series = e,
                                      .origin = o[i].t,
                                      .n_query = h,
                                      .t_query = b->t + now,
                                      .law = law };
        CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
        for (size_t q = 0; q < h; q++) {
            const double y = b->series[e].y[now + q];
            double       x[MEMBERS];
            members_of(m, e, &law[q], x);
            sum += ll_crps(x, MEMBERS, y, false) / b->sd[e];
            within += y >= ll_anchor_quantile(m, e, &law[q], -1.2816) &&
                      y <= ll_anchor_quantile(m, e, &law[q], 1.2816);
            n += 1;
        }
    }
    free(law);
    *held = within / n;
    return sum / n;
}

/* The training values of the same series and day of the week as the law. */
static double climatology(const bed *b)
{
    const size_t     h = (size_t)(b->horizon / b->step);
    const ll_origin *o = b->origin + b->n_train + b->n_valid;
    double          *x = calloc(b->n_rows, sizeof *x), sum = 0, n = 0;
    assert_non_null(x);
    for (size_t i = 0; i < b->n_test; i++) {
        const ll_series *s = &b->series[o[i].series];
        const size_t     now = (size_t)((o[i].t - b->t[0]) / b->step + .5) + 1;
        for (size_t q = 0; q < h; q++) {
            size_t count = 0;
            for (size_t k = (now + q) % 7; k < b->train_rows[0]; k += 7) x[count++] = s->y[k];
            ll_sort_doubles(x, count);
            sum += ll_crps(x, (int64_t)count, s->y[now + q], false) / b->sd[o[i].series];
            n += 1;
        }
    }
    free(x);
    return sum / n;
}

static double roll_count(dice *d, double m)
{
    double y = -1, t = 0;
    for (; t <= m; y += 1) t -= log(roll(d));
    return y;
}

/* A gamma variable of shape 2 and mean 1 times a rate that wanders and knows the weekday. */
static void count_bed(bed *b, double thin)
{
    static const double week[] = { 1, .9, .9, 1, 1.3, 1.6, .3 }, rate[] = { .15, .3, .6, 1.2, 2.5 };
    dice                d = { 4 };
    bed_create(b, SERIES, DAYS, 24);
    for (size_t e = 0; e < SERIES; e++) {
        const double level = log(rate[e % 5]) + .4 * roll_normal(&d);
        double       x = 0;
        for (size_t i = 0; i < DAYS; i++) {
            x = .99 * x + .05 * roll_normal(&d);
            const double gamma = -.5 * log(roll(&d) * roll(&d));
            b->y[e * DAYS + i] = roll_count(&d, thin * exp(level + x) * week[i % 7] * gamma);
        }
    }
    b->chain.values = (ll_chain_values){ .kind = LL_KIND_COUNT, .has_min = true, .week = 7 };
    b->context = 56 * 24;
    b->horizon = 14 * 24;
    split(b, 7);
}

static void counts(void **state)
{
    (void)state;
    const double thin[] = { 1, .2 }, gain[] = { .0425, .0155 }, table[] = { .428, .318 };
    for (int k = 0; k < 2; k++) {
        bed    b;
        double held;
        count_bed(&b, thin[k]);
        ll_anchor_model *m = fit(&b);
        const double     crps = score(&b, m, &held), other = climatology(&b);
        printf("counts thinned to %g: CRPS %.4f, climatology %.4f; %.1f %% within 80 %%\n", thin[k],
               crps, other, 100 * held);
        assert_string_equal(ll_curve_name(m->chain->curve), "counts");
        assert_true(crps < table[k] * 1.05);
        assert_true(crps < other * (1 - gain[k] + .01));
        assert_true(held > .9);
        ll_anchor_model_destroy(m);
        bed_destroy(&b);
    }
}

static void shares(void **state)
{
    (void)state;
    bed    b;
    double held, x = 0;
    dice   d = { 6 };
    bed_create(&b, 1, HOURS, 1);
    for (int i = 0; i < HOURS; i++) {
        x = .95 * x + .6 * roll_normal(&d);
        b.y[i] = 1 / (1 + exp(-(x + 1.2 * sin(i * 6.283185307179586 / 24))));
    }
    b.chain.climate = true;
    b.chain.gap = 1;
    b.chain.values = (ll_chain_values){
        .kind = LL_KIND_SHARE, .has_min = true, .has_max = true, .max = 1, .week = 168
    };
    b.context = 14 * 24;
    b.horizon = 24;
    split(&b, 12);
    ll_anchor_model *m = fit(&b);
    const double     crps = score(&b, m, &held);
    printf("shares: curve %s, CRPS %.4f, %.1f %% within 80 %%\n", ll_curve_name(m->chain->curve),
           crps, 100 * held);
    assert_true(crps < .465 * 1.05);
    assert_true(held > .7 && held < .9);
    ll_anchor_model_destroy(m);
    bed_destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(counts), cmocka_unit_test(shares) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
