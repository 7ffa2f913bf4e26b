#include "check.h"

#include "base/arena.h"

static void blocks_are_zeroed_and_counted(void **state)
{
    (void)state;
    const int64_t live = llap_alloc_live(), calls = llap_alloc_calls();
    char         *p = llap_new(7, 3), *q = llap_new_aligned(5, 1), *none = llap_new(0, 8);
    assert_non_null(none);
    for (int i = 0; i < 21; i++) assert_int_equal(p[i], 0);
    assert_int_equal((uintptr_t)q % LLAP_ALIGN, 0);
    assert_int_equal(llap_alloc_live(), live + 3);
    assert_int_equal(llap_alloc_calls(), calls + 3);
    p = llap_grow(p, 100, 1);
    assert_int_equal(llap_alloc_live(), live + 3);
    llap_free(p);
    llap_free(q);
    llap_free(none);
    llap_free(NULL);
    assert_int_equal(llap_alloc_live(), live);
}

static void overflow_is_out_of_memory(void **state)
{
    (void)state;
    assert_null(llap_new(SIZE_MAX / 2, 3));
    assert_non_null(strstr(llap_error_detail(), "out of memory"));
    assert_null(llap_grow(NULL, SIZE_MAX, 2));
    assert_null(llap_strndup("x", SIZE_MAX));
    llap_arena a = { 0 };
    assert_null(llap_arena_new(&a, SIZE_MAX, SIZE_MAX));
    assert_null(llap_arena_new(&a, SIZE_MAX - 8, 1));
    llap_arena_deinit(&a);
}

static void a_failed_grow_keeps_the_block(void **state)
{
    (void)state;
    char *p = llap_strndup("kept", 4);
    (void)llap_alloc_fail_at(1);
    assert_null(llap_grow(p, 1000, 1));
    assert_true(llap_alloc_fail_at(0));
    assert_string_equal(p, "kept");
    llap_free(p);
}

static llap_status fill_arena(void *user)
{
    (void)user;
    llap_arena  a = { 0 };
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < 90 && st == LLAP_OK; i++) {
        unsigned char *p = llap_arena_new(&a, i, i);
        if (p == NULL) {
            st = LLAP_ENOMEM;
            break;
        }
        assert_int_equal((uintptr_t)p % (i * i >= LLAP_ALIGN ? LLAP_ALIGN : 16), 0);
        for (size_t j = 0; j < i * i; j++) assert_int_equal(p[j], 0);
        memset(p, 0xa5, i * i); /* a neighbour that overlaps would see it */
    }
    const char *s = st == LLAP_OK ? llap_arena_printf(&a, "%s-%d", "arena", 7) : NULL;
    if (st == LLAP_OK && s == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) assert_string_equal(s, "arena-7");
    llap_arena_deinit(&a);
    return st;
}

static void arena_blocks_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    check_every_failed_allocation(fill_arena, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_and_counted),
        cmocka_unit_test(overflow_is_out_of_memory),
        cmocka_unit_test(a_failed_grow_keeps_the_block),
        cmocka_unit_test(arena_blocks_are_zeroed_aligned_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
