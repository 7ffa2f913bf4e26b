/* Networks of a member: they begin with their start, learn what there is to learn out of fold, and
 * a pool finds out who is right. */
#include "backend/cpu/cpu.h"
#include "base/rng/rng.h"
#include "stack/pool.h"
#include "stack/trainer.h"

#include "check.h"

#include <math.h>
#include <string.h>

enum { ROWS = 2000, WIDTH = 5, FOLDS = 2, SEEDS = 2, L = LL_STACK_LEVELS };

typedef struct task {
    float         x[ROWS * WIDTH], y[ROWS * 2];
    int32_t       half[FOLDS][ROWS / 2];
    ll_stack_fold fold[FOLDS];
} task;

/* y is x[0] plus noise; half of the rows are held back from each fold. */
static void fill(task *d)
{
    const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++)
            d->x[i * WIDTH + k] = ll_rng_normal(&r, (uint64_t)(i * (WIDTH + 1) + k));
        d->y[2 * i] =
            d->x[i * WIDTH] + 0.3f * ll_rng_normal(&r, (uint64_t)(i * (WIDTH + 1) + WIDTH));
        d->y[2 * i + 1] = 1;
        d->half[i % 2][i / 2] = i;
    }
    for (int f = 0; f < FOLDS; f++)
        d->fold[f] = (ll_stack_fold){ ROWS / 2, ROWS / 2, d->half[1 - f], d->half[f] };
}

static ll_stack_trainer *trainer(const task *d, int n_threads)
{
    const ll_stack_rows rows = { ROWS, WIDTH, d->x, d->y, ll_stack_normal, FOLDS, SEEDS, d->fold };
    const ll_stack_how  how = { .hidden = 16,
                                .batch = 64,
                                .drop_in = 0.1,
                                .drop_hidden = 0.1,
                                .lr = 3e-3,
                                .weight_decay = 0.01,
                                .seed = 5,
                                .backend = &ll_backend_cpu,
                                .n_threads = n_threads };
    ll_stack_trainer   *t = NULL;
    assert_int_equal(ll_stack_trainer_create(&rows, &how, &t), LLAP_OK);
    return t;
}

static double score(const task *d, const double *q)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        double own[L], fine[LL_STACK_FINE];
        for (int l = 0; l < L; l++) own[l] = ll_stack_normal[l] + q[i * L + l];
        ll_stack_refine(own, fine);
        sum += ll_stack_crps(fine, (double)d->y[2 * i]);
    }
    return sum / ROWS;
}

static double q[2][ROWS * L];

static void networks_learn_out_of_fold(void **state)
{
    (void)state;
    static task d;
    double      loss = 0, norm = 0;
    fill(&d);
    ll_stack_trainer *t = trainer(&d, 1);
    assert_int_equal(ll_stack_trainer_answers(t, q[0]), LLAP_OK);
    for (int i = 0; i < ROWS * L; i++) assert_true(q[0][i] == 0); /* as they start, exactly */
    const double before = score(&d, q[0]);
    for (int64_t step = 0; step < 400; step++)
        assert_int_equal(ll_stack_trainer_step(t, step, &loss, &norm), LLAP_OK);
    assert_int_equal(ll_stack_trainer_answers(t, q[0]), LLAP_OK);
    /* A normal of deviation 0.3 known exactly scores 0.3 / sqrt(pi) = 0.169. */
    assert_true(before > 0.5 && score(&d, q[0]) < 0.21);
    ll_stack_trainer_destroy(t);
}

static void steps_do_not_depend_on_threads(void **state)
{
    (void)state;
    static task d;
    double      loss, norm;
    fill(&d);
    for (int k = 0; k < 2; k++) {
        ll_stack_trainer *t = trainer(&d, 1 + 2 * k);
        for (int64_t step = 0; step < 20; step++)
            assert_int_equal(ll_stack_trainer_step(t, step, &loss, &norm), LLAP_OK);
        assert_int_equal(ll_stack_trainer_answers(t, q[k]), LLAP_OK);
        ll_stack_trainer_destroy(t);
    }
    assert_memory_equal(q[0], q[1], sizeof q[0]);
}

static void pool_finds_who_is_right(void **state)
{
    (void)state;
    enum { N = 500, M = 3 };
    static double fine[N * M * LL_STACK_FINE], truth[N], unit[N];
    const ll_rng  r = ll_rng_make(4, LL_STREAM_TEST, 0, 0, 0);
    for (int i = 0; i < N; i++) {
        const double mean = (double)ll_rng_normal(&r, (uint64_t)(2 * i));
        truth[i] = mean + 0.5 * (double)ll_rng_normal(&r, (uint64_t)(2 * i + 1));
        unit[i] = 1;
        for (int k = 0; k < LL_STACK_FINE; k++) {
            const double x = ll_stack_fine_normal[k];
            double      *at = fine + i * M * LL_STACK_FINE + k;
            at[0] = 1.1 * x;
            at[LL_STACK_FINE] = mean + 0.5 * x;
            at[2 * LL_STACK_FINE] = 3 - mean + x;
        }
    }
    const ll_stack_answers a = { N, M, fine, truth, unit };
    double                 w[M];
    ll_stack_pool(&a, 0.01, w);
    assert_true(w[1] > 0.9 && fabs(w[0] + w[1] + w[2] - 1) < 1e-12);
    ll_stack_pool(&a, 1000, w);
    assert_true(fabs(w[0] - 1.0 / M) < 0.01);
}

static void levels_between_are_straight(void **state)
{
    (void)state;
    double fine[LL_STACK_FINE], share = 0;
    ll_stack_refine(ll_stack_normal, fine);
    for (int i = 0; i < LL_STACK_FINE; i++) {
        assert_true(fabs(fine[i] - ll_stack_fine_normal[i]) < 1e-12);
        share += ll_stack_fine_share(i);
    }
    assert_true(fabs(share - 1) < 1e-12);
    assert_true(fabs(ll_stack_crps(fine, 0) - 0.2337) < 0.01); /* of a normal at its median */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(networks_learn_out_of_fold),
                                        cmocka_unit_test(steps_do_not_depend_on_threads),
                                        cmocka_unit_test(pool_finds_who_is_right),
                                        cmocka_unit_test(levels_between_are_straight) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
