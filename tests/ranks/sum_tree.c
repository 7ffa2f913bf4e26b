/* Sums in a tree are those of its definition, also where others add parts of it and leaves are
 * missing; rows are shared out without a gap. */
#include "check.h"

#include "ranks/ranks.h"

#include <string.h>

enum { LEAVES = 16, N = 5 };

static float leaf[LEAVES][N];

/* Of sizes so different that the order of adding shows. */
static void make_leaves(void)
{
    for (int i = 0; i < LEAVES; i++)
        for (int k = 0; k < N; k++)
            leaf[i][k] = sinf((float)(1 + i * N + k)) * powf(10.0f, (float)((7 * i + k) % 9 - 4));
}

/* The definition: the largest power of two below n on the left, the rest on the right. */
static float tree_of(int first, int n, int k)
{
    int left = 1;
    if (n == 1) return leaf[first][k];
    while (2 * left < n) left *= 2;
    return tree_of(first, left, k) + tree_of(first + left, n - left, k);
}

static void sum_of(ll_sum_tree *t, int first, int n, float *out)
{
    ll_sum_tree_clear(t);
    for (int i = first; i < first + n; i++) ll_sum_tree_add(t, leaf[i]);
    memcpy(out, ll_sum_tree_get(t), N * sizeof *out);
}

static void the_order_is_fixed(void **state)
{
    (void)state;
    ll_sum_tree t;
    bool        differs = false;
    make_leaves();
    CHECK_OK(ll_sum_tree_init(&t, N, LEAVES));
    for (int n = 1; n <= LEAVES; n++) {
        float sum[N];
        sum_of(&t, 0, n, sum);
        for (int k = 0; k < N; k++) {
            float in_turn = 0;
            for (int i = 0; i < n; i++) in_turn += leaf[i][k];
            const float wanted = tree_of(0, n, k);
            differs = differs || in_turn != wanted;
            assert_memory_equal(&sum[k], &wanted, sizeof wanted);
        }
    }
    assert_true(differs); /* else nothing was tested */
    ll_sum_tree_deinit(&t);
}

/* n leaves of LEAVES, by as many ranks: each adds its own, then the sums are leaves. */
static void check_ranks(int ranks, int n)
{
    ll_sum_tree all, own, top;
    const int   each = LEAVES / ranks, present = (n + each - 1) / each;
    float       wanted[N], part[N];
    CHECK_OK(ll_sum_tree_init(&all, N, LEAVES));
    CHECK_OK(ll_sum_tree_init(&own, N, each));
    CHECK_OK(ll_sum_tree_init(&top, N, ranks));
    sum_of(&all, 0, n, wanted);
    for (int r = 0; r < present; r++) {
        const int left = n - r * each;
        sum_of(&own, r * each, left < each ? left : each, part);
        ll_sum_tree_add(&top, part);
    }
    assert_memory_equal(ll_sum_tree_get(&top), wanted, sizeof wanted);
    ll_sum_tree_deinit(&all);
    ll_sum_tree_deinit(&own);
    ll_sum_tree_deinit(&top);
}

static void trees_of_trees_are_the_tree(void **state)
{
    (void)state;
    make_leaves();
    for (int ranks = 1; ranks <= LEAVES; ranks *= 2)
        for (int n = 1; n <= LEAVES; n++) check_ranks(ranks, n);
}

static void parts_follow_one_another(void **state)
{
    (void)state;
    for (int size = 2; size <= 5; size++)
        for (int64_t n = 0; n < 12; n++) {
            int64_t at = 0;
            for (int rank = 0; rank < size; rank++) {
                const ll_ranks r = { .rank = rank, .size = size };
                int64_t        first, end;
                ll_ranks_part(&r, n, &first, &end);
                assert_int_equal(first, at);
                assert_true(end - first >= n / size && end - first <= n / size + 1);
                at = end;
            }
            assert_int_equal(at, n);
        }
    int64_t first, end;
    ll_ranks_part(NULL, 7, &first, &end);
    assert_true(first == 0 && end == 7);
}

static llap_status make(void *user)
{
    ll_sum_tree       t;
    const llap_status st = ll_sum_tree_init(&t, N, LEAVES);
    (void)user;
    ll_sum_tree_deinit(&t);
    return st;
}

static void memory_that_is_not_there(void **state)
{
    (void)state;
    check_every_failed_allocation(make, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_order_is_fixed),
                                        cmocka_unit_test(trees_of_trees_are_the_tree),
                                        cmocka_unit_test(parts_follow_one_another),
                                        cmocka_unit_test(memory_that_is_not_there) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
