/* A stack where series differ in scale and go by factors, as prices do, and where nothing can be
 * foreseen. */
#include "folder.h"
#include "saved.h"
#include "sensors.h"

#include <math.h>
#include <string.h>

enum { COINS = 5, DAYS = 700 };
#define DAY (24 * HOUR)

typedef struct made {
    double each;   /* how many times as large an entity's values are as those of the one before */
    double turn;   /* share of the last change that is taken back: 0, a walk */
    bool   amount; /* changes are amounts, not factors */
    double rise;   /* of the logarithm in a day, over the first half of the time */
} made;

/* "price" of each coin; "volume" tells nothing. */
static llap_panel *make(made m, uint64_t seed)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "price", 5, &v));
    CHECK_OK(ll_panel_builder_var(b, "volume", 6, &v));
    for (int k = 0; k < COINS; k++) {
        const ll_rng r = ll_rng_make(seed, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        const char   name[2] = { (char)('a' + k), '\0' };
        const double scale = pow(m.each, k);
        double       at = 0, last = 0;
        CHECK_OK(ll_panel_builder_entity(b, name, 1, &e));
        for (uint64_t i = 0; i < DAYS; i++) {
            last = 0.05 * (double)ll_rng_normal(&r, 2 * i) - m.turn * last;
            at += last + (2 * i < DAYS ? m.rise : 0);
            const float row[] = { (float)(scale * (m.amount ? at : exp(at))),
                                  ll_rng_normal(&r, 2 * i + 1) };
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * DAY, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_model *train(const llap_panel *p)
{
    const llap_train_opts o = { .size = LLAP_TRAIN_SIZE_STACK,
                                .target = "price",
                                .context = "60d",
                                .horizon = "5d",
                                .training =
                                    "{\"anchor\": {\"steps\": 40, \"rows\": 16}, \"stack\": "
                                    "{\"rows\": 2400, \"seeds\": 1, \"steps\": 100}}" };
    llap_model           *m;
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* Sixteen times a price is the same price. */
static void all_series_count_alike(void **state)
{
    (void)state;
    llap_panel *large = make((made){ .each = 16, .turn = 0.6 }, 3);
    llap_panel *small = make((made){ .each = 1, .turn = 0.6 }, 3);
    llap_model *a = train(large), *b = train(small);
    assert_true(a->stack->chained[0] && b->stack->chained[0]);
    assert_true(fabs(a->stack->anchor_score / b->stack->anchor_score - 1) < 1e-3);
    assert_true(fabs(a->stack->score / b->stack->score - 1) < 1e-3);
    llap_model_destroy(a);
    llap_model_destroy(b);
    llap_panel_destroy(large);
    llap_panel_destroy(small);
}

/* Where changes are amounts, series count by their own scale only if scales differ much. */
static void amounts_count_by_the_scale_of_the_series(void **state)
{
    (void)state;
    const double each[] = { 1, 4 };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        llap_panel *p = make((made){ .each = each[i], .turn = 0.9, .amount = true }, 3);
        llap_model *m = train(p);
        assert_int_equal(m->anchor[0]->chain->curve, LL_CURVE_TAILS);
        assert_true(m->stack->chained[0] == (each[i] > 2));
        llap_model_destroy(m);
        llap_panel_destroy(p);
    }
}

static void the_anchor_answers_for_walks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        llap_panel *p = make((made){ .each = 3 }, seed);
        llap_model *m = train(p);
        assert_true(m->stack->weight[0] == 1);
        llap_model_destroy(m);
        llap_panel_destroy(p);
    }
}

/* What rose at first and then goes nowhere: three blocks of training tell a network to expect a
 * rise, and it seems to foresee two of them. The last tells. */
static void the_last_block_decides_beside_walks(void **state)
{
    (void)state;
    llap_panel *p = make((made){ .each = 3, .rise = 0.02 }, 1);
    llap_model *m = train(p);
    assert_true(m->anchor[0]->kernel.drift == LL_ANCHOR_LEVEL);
    assert_true(m->stack->score < m->stack->anchor_score);
    assert_true(m->stack->weight[0] == 1);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void a_file_keeps_the_scale(void **state)
{
    (void)state;
    const char              *path = in_folder("walk.safetensors");
    const llap_forecast_opts o = { .samples = 5 };
    llap_panel              *p = make((made){ .each = 16, .turn = 0.6 }, 3);
    llap_model              *m = train(p), *kept;
    llap_answer             *a, *b;
    assert_true(m->stack->weight[0] < 1);
    CHECK_OK(llap_model_save(m, path));
    CHECK_OK(llap_model_load(path, &kept));
    assert_true(kept->stack->chained[0]);
    CHECK_OK(llap_forecast(m, p, &o, &a));
    CHECK_OK(llap_forecast(kept, p, &o, &b));
    same_text(answer_text(a), answer_text(b));
    check_refused(m, path, "\\\"chained\\\":[1]", "\\\"chained\\\":[2]");
    check_refused(m, path, "\\\"chained\\\":[1]", "\\\"chained\\\":[ ]");
    llap_model_destroy(kept);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_series_count_alike),
                                        cmocka_unit_test(amounts_count_by_the_scale_of_the_series),
                                        cmocka_unit_test(the_anchor_answers_for_walks),
                                        cmocka_unit_test(the_last_block_decides_beside_walks),
                                        cmocka_unit_test(a_file_keeps_the_scale) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
