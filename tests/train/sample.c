/* Many entities: some of them fit and choose, all of them are in the model. */
#include "check.h"

#include "data/panel_words.h"
#include "data/synth/synth.h"
#include "train/sample.h"

#include <llapdiff/answer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTITIES = 40, KEPT = 10 };
static const ll_sample_limits few = { .entities = KEPT, .rows = 100, .from = 1000 };

static llap_panel *made(void)
{
    ll_synth_opts o = LL_SYNTH_DEFAULT;
    ll_synth     *s;
    llap_panel   *p;
    o.n_entities = ENTITIES;
    o.n_vars = 1;
    o.n_rows = 120;
    CHECK_OK(ll_synth_create(&o, &s));
    CHECK_OK(ll_synth_panel(s, &p));
    ll_synth_destroy(s);
    return p;
}

static llap_train_opts how(void)
{
    return (llap_train_opts){ .size = LLAP_TRAIN_SIZE_ANCHOR,
                              .context = "1d",
                              .horizon = "6h",
                              .training = "{\"anchor\": {\"steps\": 5}}" };
}

static void a_sample_has_every_kth_entity(void **state)
{
    (void)state;
    llap_panel           *p = made(), *some = NULL;
    const llap_train_opts o = how();
    CHECK_OK(ll_train_sample(p, &o, &few, &some));
    assert_int_equal(some->n_entities, KEPT);
    for (int64_t i = 0; i < KEPT; i++) {
        const int64_t e = i * ENTITIES / KEPT, n = p->start[e + 1] - p->start[e];
        assert_string_equal(some->entity[i], p->entity[e]);
        assert_int_equal(some->start[i + 1] - some->start[i], n);
        for (int64_t r = 0; r < n; r++) {
            assert_int_equal(some->time[some->start[i] + r], p->time[p->start[e] + r]);
            assert_int_equal(ll_panel_observed(some, some->start[i] + r, 0),
                             ll_panel_observed(p, p->start[e] + r, 0));
        }
    }
    llap_panel_destroy(some);
    const llap_train_opts no[] = { { .size = LLAP_TRAIN_SIZE_STACK },
                                   { .size = LLAP_TRAIN_SIZE_SMALL },
                                   { .size = LLAP_TRAIN_SIZE_ANCHOR, .parts = "parts.csv" } };
    for (int i = 0; i < 3; i++) {
        CHECK_OK(ll_train_sample(p, &no[i], &few, &some));
        assert_null(some);
    }
    CHECK_OK(ll_train_sample(p, &o, LL_SAMPLE_LIMITS, &some));
    assert_null(some);
    llap_panel_destroy(p);
}

/* The mean of the training rows of an entity. */
static double mean_of(const llap_panel *p, const ll_model_frame *f, int64_t e)
{
    double sum = 0, n = 0;
    for (int64_t r = p->start[e]; r < p->start[e + 1] && p->time[r] < f->val_start; r++)
        if (ll_panel_observed(p, r, 0)) sum += (double)p->value[r], n++;
    return sum / n;
}

static void the_model_has_all(void **state)
{
    (void)state;
    llap_panel           *p = made(), *some = NULL;
    llap_model           *m = NULL, *again = NULL;
    llap_answer          *a = NULL, *b = NULL;
    char                  path[] = "/tmp/llap-sample-XXXXXX", *x = NULL, *y = NULL;
    const llap_train_opts o = how();
    CHECK_OK(ll_train_sample(p, &o, &few, &some));
    CHECK_OK(llap_train(some, &o, &m));
    CHECK_OK(ll_train_widen(m, p, some));
    llap_panel_destroy(some); /* the model keeps nothing of it */
    assert_int_equal(m->frame.n_entities, ENTITIES);
    const ll_chain *c = m->anchor[0]->chain;
    for (int64_t e = 0; e < ENTITIES; e++) {
        assert_int_equal(ll_model_entity(m, p->entity[e]), e);
        if (c->curve == LL_CURVE_TAILS)
            assert_true(fabs(c->mu[e] - mean_of(p, &m->frame, e)) < 1e-9);
    }
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    CHECK_OK(llap_model_save(m, path));
    CHECK_OK(llap_model_load(path, &again));
    const llap_forecast_opts ask = { .horizon = "3h" };
    CHECK_OK(llap_forecast(m, p, &ask, &a));
    CHECK_OK(llap_forecast(again, p, &ask, &b));
    CHECK_OK(llap_answer_json(a, &x));
    CHECK_OK(llap_answer_json(b, &y));
    assert_string_equal(x, y);
    assert_non_null(strstr(x, p->entity[ENTITIES - 1]));
    llap_text_free(x);
    llap_text_free(y);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    llap_model_destroy(m);
    llap_model_destroy(again);
    unlink(path);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_every_kth_entity),
        cmocka_unit_test(the_model_has_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
