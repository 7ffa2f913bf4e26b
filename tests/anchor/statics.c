/* Static inputs: the ridge against one that leaves out row by row, what missing values and unknown
 * categories become, and series that training has not seen, whose category tells their level. */
#include "anchor/chain/chain.h"
#include "anchor/chain/chain_climate.h"
#include "anchor/model.h"
#include "base/crps.h"
#include "dense.h"

enum { ROWS = 24, TERMS = 5 };

static void centre(double *x)
{
    for (int j = 0; j < TERMS; j++) {
        double mean = 0;
        for (int i = 0; i < ROWS; i++) mean += x[i * TERMS + j] / ROWS;
        for (int i = 0; i < ROWS; i++) x[i * TERMS + j] -= mean;
    }
}

/* Ridge of all rows but one on 1 (no penalty) and the terms: what it says of that one. */
static double left_out(const double *x, const double *y, int out, double penalty)
{
    enum { ALL = TERMS + 1 };
    double A[ALL * ALL] = { 0 }, b[ALL] = { 0 }, fit = 0;
    for (int i = 0; i < ROWS; i++) {
        double row[ALL] = { 1 };
        memcpy(row + 1, x + i * TERMS, TERMS * sizeof *row);
        for (int j = 0; i != out && j < ALL; j++) {
            b[j] += row[j] * y[i];
            for (int k = 0; k < ALL; k++) A[j * ALL + k] += row[j] * row[k];
        }
    }
    for (int j = 1; j < ALL; j++) A[j * ALL + j] += penalty;
    chain_solve(A, b, ALL);
    for (int j = 0; j < TERMS; j++) fit += b[1 + j] * x[out * TERMS + j];
    return b[0] + fit;
}

static void ridge_is_that_which_leaves_one_out(void **state)
{
    (void)state;
    const double penalties[] = { .01, .1, 1, 10, 100 };
    double       x[ROWS * TERMS], y[ROWS], beta[1 + TERMS], loo[ROWS];
    dice         d = { 7 };
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < TERMS; j++) x[i * TERMS + j] = roll_normal(&d);
        y[i] = 3 + 2 * x[i * TERMS] - x[i * TERMS + 1] + roll_normal(&d);
    }
    centre(x);
    for (int k = 0; k < 5; k++) {
        double       square = 0;
        const double error = ll_ridge(x, y, ROWS, TERMS, penalties[k], beta, loo);
        for (int i = 0; i < ROWS; i++) {
            const double slow = left_out(x, y, i, penalties[k]);
            square += (y[i] - slow) * (y[i] - slow) / ROWS;
            if (!(fabs(loo[i] - slow) < 1e-10))
                fail_msg("penalty %g, row %d: %.12g, slowly %.12g", penalties[k], i, loo[i], slow);
        }
        assert_true(fabs(error - square) < 1e-10);
    }
    double mean = 0;
    (void)ll_ridge(x, y, ROWS, TERMS, INFINITY, beta, loo);
    for (int i = 1; i < ROWS; i++) mean += y[i] / (ROWS - 1);
    assert_true(fabs(loo[0] - mean) < 1e-12 && beta[1] == 0); /* the mean of the others */
}

/* ---- a fit by hand ---- */

enum { MANY = 30 };
static const char *const kinds[] = { "small", "middle", "large" };

typedef struct table {
    double           size[MANY + 4], level[MANY], spread[MANY], loo[2 * MANY];
    const char      *kind[MANY + 4];
    bool             use[MANY + 4];
    size_t           which[MANY];
    ll_static_column column[2];
} table;

/* The level is 1, 2 or 3 by kind and .5 a unit of size; four rows more are none of training. */
static ll_statics *fit_table(table *t)
{
    dice        d = { 3 };
    ll_statics *s = NULL;
    for (size_t i = 0; i < MANY; i++) {
        t->kind[i] = kinds[i % 3];
        t->size[i] = 10 + 2 * roll_normal(&d);
        t->level[i] = 1 + (double)(i % 3) + .5 * t->size[i] + .05 * roll_normal(&d);
        t->spread[i] = .1 * roll_normal(&d);
        t->use[i] = true;
        t->which[i] = i;
    }
    t->kind[MANY] = "large", t->size[MANY] = 11;
    t->kind[MANY + 1] = "huge", t->size[MANY + 1] = 11;
    t->kind[MANY + 2] = NULL, t->size[MANY + 2] = NAN;
    t->kind[MANY + 3] = "small", t->size[MANY + 3] = 1e6;
    t->column[0] = (ll_static_column){ .words = true, .word = t->kind };
    t->column[1] = (ll_static_column){ .number = t->size };
    CHECK_OK(ll_statics_describe(t->column, 2, t->use, MANY + 4, &s));
    CHECK_OK(ll_statics_fit(s, t->column, t->which, MANY, t->level, t->spread, t->loo));
    return s;
}

static void what_is_missing_is_usual_and_less_certain(void **state)
{
    (void)state;
    table           t = { 0 };
    ll_statics     *s = fit_table(&t);
    ll_static_guess g[4];
    double          mean = 0, most = 0;
    for (size_t i = 0; i < MANY; i++) {
        mean += t.level[i] / MANY;
        most = fmax(most, t.size[i]);
    }
    for (size_t i = 0; i < 4; i++) g[i] = ll_statics_guess(s, t.column, MANY + i);
    assert_int_equal(s->n_terms, 4);
    assert_true(ll_statics_help(s) && s->level.penalty <= 1 && s->level.error < .01);
    assert_true(fabs(g[0].level - 8.5) < .1); /* 3 + .5 11 */
    assert_true(g[0].var == s->level.error && g[1].var > 10 * g[0].var && g[2].var > g[1].var);
    assert_true(fabs(g[2].level - mean) < 1e-9 && fabs(g[2].var - s->level.apart) < 1e-12);
    assert_true(fabs(g[1].level - (2 + 5.5)) < .2); /* a category that was never seen: usual */
    assert_true(fabs(g[3].level - (1 + .5 * most)) < .3); /* held where training ended */
    ll_statics_destroy(s);
}

static void columns_that_tell_nothing_are_not_used(void **state)
{
    (void)state;
    table       t = { 0 };
    ll_statics *s = fit_table(&t);
    dice        d = { 9 };
    ll_statics_destroy(s);
    s = NULL;
    for (size_t i = 0; i < MANY; i++) t.level[i] = roll_normal(&d), t.spread[i] = 0;
    CHECK_OK(ll_statics_describe(t.column, 2, t.use, MANY, &s));
    CHECK_OK(ll_statics_fit(s, t.column, t.which, MANY, t.level, t.spread, t.loo));
    assert_true(s->level.error <= s->level.apart); /* never worse than the mean alone */
    ll_statics_destroy(s);
    int used[2] = { 0 }; /* of noise, and of as much noise as effect */
    for (int k = 0; k < 200; k++) {
        for (size_t i = 0; i < MANY; i++)
            t.level[i] = roll_normal(&d) + (k % 2) * (t.size[i] - 10) / 2;
        CHECK_OK(ll_statics_describe(t.column, 2, t.use, MANY, &s));
        CHECK_OK(ll_statics_fit(s, t.column, t.which, MANY, t.level, t.spread, t.loo));
        used[k % 2] += isfinite(s->level.penalty) != 0;
        ll_statics_destroy(s);
    }
    assert_true(used[0] <= 15 && used[1] >= 85);
    for (size_t i = 0; i < MANY; i++) t.kind[i] = "one", t.size[i] = 3;
    CHECK_OK(ll_statics_describe(t.column, 2, t.use, MANY, &s));
    assert_int_equal(s->n_terms, 0);
    ll_statics_destroy(s);
}

/* ---- whole fits ---- */

enum { ENTITIES = 60, DAYS = 200, CONTEXT = 14, HORIZON = 7 };

typedef struct bed {
    double           t[DAYS], y[ENTITIES][DAYS];
    const char      *kind[ENTITIES];
    ll_series        series[ENTITIES];
    size_t           rows[ENTITIES];
    ll_origin        train[ENTITIES * DAYS], valid[ENTITIES * DAYS];
    size_t           n_train, n_valid;
    ll_static_column column;
} bed;

static double roll_count(dice *d, double m)
{
    double y = -1, t = 0;
    for (; t <= m; y += 1) t -= log(roll(d));
    return y;
}

/* Counts whose rate goes by category. Of 60 series 40 train, 10 choose, and 10 are never seen. */
static bed *make_bed(void)
{
    static bed          b;
    static const char  *names[] = { "a", "b", "c", "d", "e" };
    static const double rate[] = { .15, .3, .6, 1.2, 2.5 };
    dice                d = { 4 };
    b.n_train = b.n_valid = 0;
    for (size_t i = 0; i < DAYS; i++) b.t[i] = (double)i;
    for (size_t e = 0; e < ENTITIES; e++) {
        const double level = log(rate[e % 5]) + .4 * roll_normal(&d);
        b.kind[e] = names[e % 5];
        for (size_t i = 0; i < DAYS; i++)
            b.y[e][i] = roll_count(&d, 3 * exp(level) * -.5 * log(roll(&d) * roll(&d)));
        b.series[e] = (ll_series){ .n = DAYS, .t = b.t, .y = b.y[e] };
        b.rows[e] = e < 40 ? DAYS : 0;
        for (size_t i = 0; i + HORIZON < DAYS; i += 5) { /* also where there is hardly a context */
            if (e < 40) b.train[b.n_train++] = (ll_origin){ e, b.t[i] - .5 };
            else if (e < 50) b.valid[b.n_valid++] = (ll_origin){ e, b.t[i] - .5 };
        }
    }
    b.column = (ll_static_column){ .words = true, .word = b.kind };
    return &b;
}

static ll_anchor_model *fit_bed(const bed *b, bool counts, bool statics)
{
    ll_anchor_model     *m = NULL;
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    const ll_anchor_data d = { .series = b->series,
                               .n_series = ENTITIES,
                               .train_rows = b->rows,
                               .train = b->train,
                               .n_train = b->n_train,
                               .valid = b->valid,
                               .n_valid = b->n_valid,
                               .statics = { &b->column, statics } };
    o.spec = (ll_anchor_spec){ .context = CONTEXT, .horizon = HORIZON };
    o.chain.climate = false;
    o.chain.pooled = true;
    o.chain.curve = LL_CURVE_TAILS;
    if (counts)
        o.chain.values = (ll_chain_values){ .kind = LL_KIND_COUNT, .has_min = true, .week = 1 };
    o.fit.learn_omega = true;
    o.fit.n_steps = 60;
    CHECK_OK(ll_anchor_kernel_spaced(2, CONTEXT, 2, &o.start));
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    return m;
}

/* Mean CRPS of the series from first on, from n readings each. */
static double score_unseen(const bed *b, const ll_anchor_model *m, size_t first, double n)
{
    enum { MEMBERS = 25 };
    ll_law law[HORIZON];
    double sum = 0, count = 0;
    for (size_t e = first; e < ENTITIES; e++)
        for (size_t i = 20; i + HORIZON < DAYS; i += HORIZON) {
            const ll_series         near = { .n = (size_t)n,
                                             .t = b->t + i - (size_t)n,
                                             .y = b->y[e] + i - (size_t)n };
            const ll_anchor_request r = { .history = near,
                                          .series = e,
                                          .origin = b->t[i] - .5,
                                          .n_query = HORIZON,
                                          .t_query = b->t + i,
                                          .law = law };
            CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
            for (size_t q = 0; q < HORIZON; q++) {
                double x[MEMBERS];
                for (int k = 0; k < MEMBERS; k++) {
                    const double p = (k + .5) / MEMBERS;
                    x[k] = ll_anchor_quantile(m, e, &law[q], log(p / (1 - p)) / 1.702);
                }
                sum += ll_crps(x, MEMBERS, b->y[e][i + q], false);
                count += 1;
            }
        }
    return sum / count;
}

static void a_category_tells_the_level_of_who_was_never_seen(void **state)
{
    (void)state;
    const bed *b = make_bed();
    for (int counts = 0; counts < 2; counts++) {
        ll_anchor_model *pooled = fit_bed(b, counts, false), *told = fit_bed(b, counts, true);
        assert_null(pooled->chain->statics);
        assert_non_null(told->chain->statics); /* validation has taken them */
        assert_true(told->valid_crps < .99 * pooled->valid_crps);
        const double without[] = { score_unseen(b, pooled, 50, 0), score_unseen(b, pooled, 50, 3) };
        const double with[] = { score_unseen(b, told, 50, 0), score_unseen(b, told, 50, 3) };
        printf("%s: no reading %.4f, static %.4f; three readings %.4f, static %.4f; kappa %.3g\n",
               ll_curve_name(told->chain->curve), without[0], with[0], without[1], with[1],
               told->kappa);
        assert_true(with[0] < .92 * without[0] && with[1] < .99 * without[1]);
        ll_anchor_model_destroy(pooled);
        ll_anchor_model_destroy(told);
    }
}

/* ---- series that have a scale of their own, and one that has none ---- */

static ll_chain *fit_chain(const bed *b, bool statics)
{
    ll_series     s[ENTITIES];
    ll_chain     *c = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    for (size_t e = 0; e < ENTITIES; e++) {
        s[e] = b->series[e];
        s[e].n = b->rows[e];
    }
    o.climate = false;
    o.curve = LL_CURVE_TAILS;
    if (statics) o.statics = (ll_static_opts){ &b->column, 1 };
    CHECK_OK(ll_chain_fit(s, ENTITIES, &o, &c));
    return c;
}

static void only_who_has_no_reading_is_told(void **state)
{
    (void)state;
    const bed   *b = make_bed();
    ll_chain    *own = fit_chain(b, false), *told = fit_chain(b, true), *more = NULL;
    const size_t which[] = { 50, 54 };
    assert_non_null(told->statics);
    assert_false(told->statics->every);
    for (size_t e = 0; e < 40; e++) {
        assert_true(told->mu[e] == own->mu[e] && told->sd[e] == own->sd[e]);
        assert_true(ll_chain_loose(told, e) == 0);
    }
    for (size_t e = 40; e < ENTITIES; e++) assert_true(ll_chain_loose(told, e) > 0);
    assert_true(told->mu[50] < .5 * told->mu[54]); /* categories a and e */
    CHECK_OK(ll_chain_more(told, &b->column, which, 2, &more));
    for (size_t i = 0; i < 2; i++) {
        const size_t e = ENTITIES + 1 + i;
        assert_true(ll_chain_z(more, e, 1) == ll_chain_z(told, which[i], 1));
        assert_true(ll_chain_loose(more, e) == ll_chain_loose(told, which[i]));
        assert_true(ll_chain_y_back(more, e, .5) == ll_chain_y_back(told, which[i], .5));
    }
    assert_true(ll_chain_z(more, SIZE_MAX, 1) == ll_chain_z(told, ENTITIES, 1)); /* pooled */
    ll_chain_more_destroy(more);
    ll_chain_destroy(own);
    ll_chain_destroy(told);
}

/* A level that was told is followed as readings come, and counts as uncertain before. */
static void a_told_level_gives_way_to_readings(void **state)
{
    (void)state;
    const bed             *b = make_bed();
    ll_chain              *chain = fit_chain(b, true);
    const ll_anchor_kernel k = {
        .n_terms = 1, .a = { .5 }, .rho = { 2 }, .nu = .5, .jitter = 1e-4
    };
    const ll_anchor_spec spec = { .context = 100, .horizon = HORIZON };
    ll_anchor_model     *m = NULL;
    double               t[50], y[50], query = 60;
    ll_law               law[2];
    CHECK_OK(ll_anchor_model_create(&spec, chain, &k, 200, &m));
    const double far = chain->mu[45] + 4 * chain->sd[45];
    for (int i = 0; i < 50; i++) t[i] = i, y[i] = far;
    for (int n = 0; n < 2; n++) {
        const ll_anchor_request r = { .history = { .n = n == 0 ? 0 : 50, .t = t, .y = y },
                                      .series = 45,
                                      .origin = 50,
                                      .n_query = 1,
                                      .t_query = &query,
                                      .law = &law[n] };
        CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
    }
    const double loose = ll_chain_loose(chain, 45), u = ll_chain_u(chain, 45, 0, 4);
    assert_true(law[0].mean == 0 && fabs(law[0].sd * law[0].sd - (1 + loose)) < 1e-9);
    assert_true(law[1].mean > .8 * u && law[1].sd < law[0].sd);
    double *const kept = chain->loose; /* without it the level is pulled back */
    chain->loose = NULL;
    ll_law                  held;
    const ll_anchor_request r = { .history = { .n = 50, .t = t, .y = y },
                                  .series = 45,
                                  .origin = 50,
                                  .n_query = 1,
                                  .t_query = &query,
                                  .law = &held };
    CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
    chain->loose = kept;
    assert_true(held.mean < .5 * u);
    ll_anchor_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ridge_is_that_which_leaves_one_out),
        cmocka_unit_test(what_is_missing_is_usual_and_less_certain),
        cmocka_unit_test(columns_that_tell_nothing_are_not_used),
        cmocka_unit_test(a_category_tells_the_level_of_who_was_never_seen),
        cmocka_unit_test(only_who_has_no_reading_is_told),
        cmocka_unit_test(a_told_level_gives_way_to_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
