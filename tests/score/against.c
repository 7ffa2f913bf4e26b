/* Forecasts that evaluate keeps, and forecasts of others that it scores. */
#include "sensors.h"

#include "predict/tables/given.h"

#include <llapdiff/scores.h>
#include <unistd.h>

static llap_panel *panel;
static llap_model *model;

static int set_up(void **state)
{
    (void)state;
    panel = make_panel("no2", "noise", ENTITIES);
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.context = "2d";
    o.horizon = "12";
    return llap_train(panel, &o, &model) != LLAP_OK; /* both targets */
}

static int tear_down(void **state)
{
    (void)state;
    unlink("kept.csv");
    unlink("mine.csv");
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return 0;
}

static llap_scores *scores(const char *keep, int samples, const char *against)
{
    llap_scores *s = NULL;
    CHECK_OK(llap_scores_create(
        model, panel,
        &(llap_evaluate_opts){
            .stride = "31", .keep = keep, .keep_samples = samples, .against = against },
        &s));
    return s;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-9 || (isnan(a) && isnan(b)); }

/* What is kept scores the same when it is read back. */
static void samples_come_back_as_they_were(void **state)
{
    (void)state;
    llap_scores_destroy(scores("kept.csv", 1, NULL));
    llap_scores *s = scores(NULL, 0, "kept.csv");
    assert_string_equal(llap_scores_about(s)->forecasters[1], "kept");
    assert_int_equal(llap_scores_about(s)->n_uncovered, 0);
    for (int64_t k = LLAP_ALL; k < 2; k++) {
        const llap_score_row *a = llap_scores_at(s, 0, k), *b = llap_scores_at(s, 1, k);
        assert_true(a->n == b->n && a->n_energy == b->n_energy && a->n_energy > 0);
        assert_true(near(a->crps, b->crps) && near(a->mse, b->mse) && near(a->energy, b->energy));
        for (int i = 0; i < LLAP_SCORE_LEVELS; i++)
            assert_true(near(a->coverage[i], b->coverage[i]) && near(a->width[i], b->width[i]));
        for (int i = 0; i < LLAP_SCORE_BINS; i++) assert_true(near(a->pit[i], b->pit[i]));
        assert_true(near(llap_scores_against(s, 1, k)->skill.value, 0));
        assert_true(near(llap_scores_against(s, 1, k)->skill.high, 0)); /* paired */
    }
    llap_scores_destroy(s);
}

static void quantiles_come_back_as_they_were(void **state)
{
    (void)state;
    llap_scores_destroy(scores("kept.csv", 0, NULL));
    llap_scores *s = scores(NULL, 0, "kept.csv");
    for (int64_t k = 0; k < 2; k++) {
        const llap_score_row *a = llap_scores_at(s, 0, k), *b = llap_scores_at(s, 1, k);
        assert_true(near(a->mse, b->mse) && near(a->mae_median, b->mae_median));
        for (int i = 0; i < LLAP_SCORE_LEVELS; i++)
            assert_true(near(a->coverage[i], b->coverage[i]) && near(a->width[i], b->width[i]));
        /* Seven quantiles for 200 draws: the law between them is nearly the same. */
        assert_true(fabs(b->crps / a->crps - 1) < 0.01);
    }
    llap_scores_destroy(s);
}

/* A file of the lines of kept.csv that pick chooses, with that header. */
static void rewrite(const char *header, bool (*pick)(int number, char *line))
{
    char  line[1024];
    FILE *from = fopen("kept.csv", "r"), *to = fopen("mine.csv", "w");
    assert_true(from != NULL && to != NULL);
    assert_non_null(fgets(line, sizeof line, from));
    fputs(header != NULL ? header : line, to);
    for (int i = 2; fgets(line, sizeof line, from) != NULL; i++)
        if (pick(i, line)) fputs(line, to);
    fclose(from);
    fclose(to);
}

static bool not_of_s1(int number, char *line)
{
    (void)number;
    return strncmp(line, "s1,", 3) != 0;
}

static bool all(int number, char *line) { return number > 0 && *line != '\0'; }

/* Windows that a file lacks are nobody's. */
static void scores_are_of_what_both_have(void **state)
{
    (void)state;
    llap_scores *whole = scores("kept.csv", 0, NULL);
    rewrite(NULL, not_of_s1);
    llap_scores            *s = scores(NULL, 0, "mine.csv");
    const llap_scores_info *a = llap_scores_about(s), *b = llap_scores_about(whole);
    assert_true(a->n_uncovered > 0 && a->n_windows + a->n_uncovered == b->n_windows);
    assert_string_equal(a->forecasters[1], "mine");
    for (int64_t i = 0; i < a->n_forecasters; i++)
        assert_int_equal(llap_scores_at(s, i, 0)->n, llap_scores_at(s, 0, 0)->n);
    llap_scores_destroy(s);
    llap_scores_destroy(whole);
}

static void points_are_scored_by_their_error(void **state)
{
    (void)state;
    llap_scores_destroy(scores("kept.csv", 0, NULL));
    rewrite("entity,origin,time,variable,truth,value\n", all);
    llap_scores          *s = scores(NULL, 0, "mine.csv");
    const llap_score_row *x = llap_scores_at(s, 1, 0);
    assert_true(near(x->crps, x->mae) && near(x->mse, llap_scores_at(s, 0, 0)->mse));
    assert_true(isnan(x->coverage[1]));
    llap_scores_destroy(s);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        llap_status st;
    } cases[] = {
        { "entity,time,variable,value\n", "against: mine.csv:1: no column 'origin'", LLAP_EFORMAT },
        { "entity,origin,time,variable\n", "against: mine.csv:1: no forecasts", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\n", "against: mine.csv: no forecasts in it",
          LLAP_EFORMAT },
        { "entity,origin,time,variable,q0.5,q0.50\n",
          "against: mine.csv:1: two columns of the quantile 0.5", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\nsx,1970-01-02,1970-01-03,no2,1\n",
          "against: mine.csv:2: column 'entity': the data has no entity 'sx'", LLAP_EINVAL },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no3,1\n",
          "against: mine.csv:2: column 'variable': the model does not forecast 'no3'",
          LLAP_EINVAL },
        { "entity,origin,time,variable,value\ns1,soon,1970-01-03,no2,1\n",
          "against: mine.csv:2: column 'origin': ", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\ns1,1970-01-03,1970-01-03,no2,1\n",
          "against: mine.csv:2: column 'time': not after the origin", LLAP_EINVAL },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no2,one\n",
          "against: mine.csv:2: column 'value': expected a number, found 'one'", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no2,inf\n",
          "against: mine.csv:2: column 'value': expected a finite number, found 'inf'",
          LLAP_EFORMAT },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no2,"
          "1.00000000000000000000000000000000000000000000000000000000000000x\n",
          "against: mine.csv:2: column 'value': expected a number, found '1.000", LLAP_EFORMAT },
        { "entity,origin,time,variable,q0.1,q0.9\ns1,1970-01-02,1970-01-03,no2,1,\n",
          "against: mine.csv:2: column 'q0.9': expected a number, found ''", LLAP_EFORMAT },
        { "entity,origin,time,variable,sample,value\ns1,1970-01-02,1970-01-03,no2,.5,1\n",
          "against: mine.csv:2: column 'sample': expected a whole number", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03\n",
          "against: mine.csv:2: 3 fields, fewer than the header has", LLAP_EFORMAT },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no2,1\n"
          "s1,1970-01-02,1970-01-03,no2,2\n",
          "against: mine.csv:3: the forecast of line 2 again", LLAP_EINVAL },
        { "entity,origin,time,variable,value\ns1,1970-01-02,1970-01-03,no2,1\n",
          "against: mine.csv covers none of the ", LLAP_EINVAL },
    };
    llap_scores       *s;
    llap_evaluate_opts o = { .stride = "31", .samples = 10, .against = "mine.csv" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *f = fopen("mine.csv", "w");
        fputs(cases[i].text, f);
        fclose(f);
        CHECK_FAIL(llap_scores_create(model, panel, &o, &s), cases[i].st, cases[i].says);
    }
    o.against = "nowhere.csv";
    CHECK_FAIL(llap_scores_create(model, panel, &o, &s), LLAP_ENOTFOUND, "nowhere.csv");
    o = (llap_evaluate_opts){ .keep_samples = 1 };
    CHECK_FAIL(llap_scores_create(model, panel, &o, &s), LLAP_EOPTION, "keep_samples: there is no");
    o = (llap_evaluate_opts){ .keep = "no/such/folder.csv" };
    CHECK_FAIL(llap_scores_create(model, panel, &o, &s), LLAP_ENOTFOUND, "no/such/folder.csv");
    o = (llap_evaluate_opts){ .task = LLAP_EVALUATE_TASK_IMPUTE,
                              .keep = "kept.csv",
                              .keep_samples = 1 };
    CHECK_FAIL(llap_scores_create(model, panel, &o, &s), LLAP_EOPTION,
               "keep_samples: is for forecasts");
}

static llap_status read_theirs(void *user)
{
    ll_given         *g = NULL;
    const llap_status st = ll_given_read(user, model, panel, 0, &g);
    ll_given_destroy(g);
    return st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    llap_scores *s;
    CHECK_OK(llap_scores_create(
        model, panel, &(llap_evaluate_opts){ .stride = "300", .keep = "kept.csv", .samples = 2 },
        &s));
    llap_scores_destroy(s);
    check_every_failed_allocation(read_theirs, (void *)(uintptr_t) "kept.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_back_as_they_were),
        cmocka_unit_test(quantiles_come_back_as_they_were),
        cmocka_unit_test(scores_are_of_what_both_have),
        cmocka_unit_test(points_are_scored_by_their_error),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
