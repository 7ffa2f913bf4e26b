#include "check.h"

#include "base/account.h"
#include "base/arena.h"

#include <malloc.h>
#include <omp.h>
#include <pthread.h>

static void blocks_are_zeroed_and_counted(void **state)
{
    (void)state;
    const int64_t live = ll_alloc_live(), calls = ll_alloc_calls();
    char         *p = ll_new(7, 3), *q = ll_new_aligned(5, 1), *none = ll_new(0, 8);
    assert_non_null(none);
    for (int i = 0; i < 21; i++) assert_int_equal(p[i], 0);
    assert_int_equal((uintptr_t)q % LL_ALIGN, 0);
    assert_int_equal(ll_alloc_live(), live + 3);
    assert_int_equal(ll_alloc_calls(), calls + 3);
    p = ll_grow(p, 100, 1);
    assert_int_equal(ll_alloc_live(), live + 3);
    ll_free(p);
    ll_free(q);
    ll_free(none);
    ll_free(NULL);
    assert_int_equal(ll_alloc_live(), live);
}

static void overflow_is_out_of_memory(void **state)
{
    (void)state;
    assert_null(ll_new(SIZE_MAX / 2, 3));
    assert_non_null(strstr(llap_error_detail(), "out of memory"));
    assert_null(ll_grow(NULL, SIZE_MAX, 2));
    assert_null(ll_strndup("x", SIZE_MAX));
    ll_arena a = { 0 };
    assert_null(ll_arena_new(&a, SIZE_MAX, SIZE_MAX));
    assert_null(ll_arena_new(&a, SIZE_MAX - 8, 1));
    ll_arena_deinit(&a);
}

static void a_failed_grow_keeps_the_block(void **state)
{
    (void)state;
    char *p = ll_strndup("kept", 4);
    (void)ll_alloc_fail_at(1);
    assert_null(ll_grow(p, 1000, 1));
    assert_true(ll_alloc_fail_at(0));
    assert_string_equal(p, "kept");
    ll_free(p);
}

static llap_status fill_arena(void *user)
{
    (void)user;
    ll_arena    a = { 0 };
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < 90 && st == LLAP_OK; i++) {
        unsigned char *p = ll_arena_new(&a, i, i);
        if (p == NULL) {
            st = LLAP_ENOMEM;
            break;
        }
        assert_int_equal((uintptr_t)p % (i * i >= LL_ALIGN ? LL_ALIGN : 16), 0);
        for (size_t j = 0; j < i * i; j++) assert_int_equal(p[j], 0);
        memset(p, 0xa5, i * i); /* a neighbour that overlaps would see it */
    }
    const char *s = st == LLAP_OK ? ll_arena_printf(&a, "%s-%d", "arena", 7) : NULL;
    if (st == LLAP_OK && s == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) assert_string_equal(s, "arena-7");
    ll_arena_deinit(&a);
    return st;
}

static void arena_blocks_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    check_every_failed_allocation(fill_arena, NULL);
}

static void a_limit_is_of_what_is_held(void **state)
{
    (void)state;
    char *before = ll_new(1 << 16, 1);
    assert_false(ll_alloc_limit(1 << 20));
    for (int i = 0; i < 100; i++) ll_free(ll_new(1 << 19, 1));
    char *p = ll_new(1 << 19, 1);
    assert_non_null(p);
    p = ll_grow(p, 3 << 18, 1);
    assert_non_null(p);
    assert_null(ll_new_aligned(1 << 19, 1));
    assert_null(ll_grow(p, 2 << 20, 1));
    ll_free(before);
    assert_non_null(strstr(llap_error_detail(), "out of memory"));
    ll_free(p);
    assert_true(ll_alloc_limit(0));
    p = ll_new(2 << 20, 1);
    assert_non_null(p);
    ll_free(p);
    assert_false(ll_alloc_limit(0));
}

/* Each of a team takes blocks until one fails; all are held until all have. */
static int blocks_of_team(size_t n_bytes, int most)
{
    enum { THREADS = 4, MOST = 64 };
    char *p[THREADS][MOST] = { { NULL } };
    int   n = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : n)
    {
        char **of = p[omp_get_thread_num()];
#pragma omp parallel num_threads(1) /* in a region within, where each is the first again */
        for (int i = 0; i < most && (of[i] = ll_new(n_bytes, 1)) != NULL; i++) n++;
#pragma omp barrier
        for (int i = 0; i < most; i++) ll_free(of[i]);
    }
    return n;
}

/* What one of such blocks takes is the allocator's to say. */
static int blocks_within(int64_t left, size_t n_bytes)
{
    int   n = 0;
    void *p = malloc(n_bytes);
    for (; left >= (int64_t)n_bytes; n++) left -= (int64_t)malloc_usable_size(p);
    free(p);
    return n;
}

static void a_team_has_one_limit(void **state)
{
    (void)state;
    const int most = blocks_within(10 << 16, 1 << 16);
    assert_true(most == 9 || most == 10);
    for (int again = 0; again < 20; again++) {
        assert_false(ll_alloc_limit_team(10 << 16));
        assert_int_equal(blocks_of_team(1 << 16, 20), most);
        assert_true(ll_alloc_limit(0));
    }
    assert_int_equal(blocks_of_team(1 << 16, 20) % 20, 0);
}

static void *take_three(void *user)
{
    static const size_t each = 1 << 16;
    ll_alloc_account_join(user);
    char      *p[3] = { ll_new(each, 1), ll_new(each, 1), ll_new(each, 1) };
    const bool all = p[0] != NULL && p[1] != NULL && p[2] != NULL;
    for (int i = 0; i < 3; i++) ll_free(p[i]);
    return all ? user : NULL;
}

static void a_thread_may_join(void **state)
{
    (void)state;
    pthread_t thread;
    void     *all = NULL;
    assert_null(ll_alloc_account_of());
    (void)ll_alloc_limit(4 << 16);
    char *mine = ll_new(2 << 16, 1);
    for (int i = 0; i < 2; i++) { /* with what this one has it is too much, alone it is not */
        assert_int_equal(pthread_create(&thread, NULL, take_three, ll_alloc_account_of()), 0);
        assert_int_equal(pthread_join(thread, &all), 0);
        assert_true((all == NULL) == (i == 0));
        ll_free(mine);
        mine = NULL;
    }
    assert_true(ll_alloc_limit(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_and_counted),
        cmocka_unit_test(overflow_is_out_of_memory),
        cmocka_unit_test(a_failed_grow_keeps_the_block),
        cmocka_unit_test(a_limit_is_of_what_is_held),
        cmocka_unit_test(a_team_has_one_limit),
        cmocka_unit_test(a_thread_may_join),
        cmocka_unit_test(arena_blocks_are_zeroed_aligned_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
