#include "check.h"

#include "train/run/facts.h"

enum { MANY = 200 };

static llap_status list_many(void *user)
{
    ll_fact_list l = { 0 };
    (void)user;
    for (int i = 0; i < MANY; i++) {
        ll_facts_addf(&l, i % 2 ? "odd" : "even", "%d", i);
        if (i % 3 == 0) ll_facts_may_differ(&l);
    }
    const llap_status st = l.status;
    if (st == LLAP_OK) assert_int_equal(l.n, MANY);
    assert_true(l.n <= l.capacity);
    ll_facts_deinit(&l);
    return st;
}

/* As many as there are options: no list is full. */
static void all_facts_are_kept(void **state)
{
    (void)state;
    ll_fact_list l = { 0 };
    ll_facts_add(&l, "target", NULL);
    for (int i = 1; i < MANY; i++) ll_facts_addf(&l, "number", "%d", i);
    ll_facts_may_differ(&l);
    CHECK_OK(l.status);
    assert_int_equal(l.n, MANY);
    assert_string_equal(l.fact[0].value, "not given");
    for (int i = 1; i < MANY; i++) assert_int_equal(atoi(l.fact[i].value), i);
    assert_true(l.fact[MANY - 1].may_differ && !l.fact[MANY - 2].may_differ);
    ll_facts_deinit(&l);
}

/* Nothing is added after a failure, nor marked, not even before the first fact. */
static void a_failed_list_stays_as_it_was(void **state)
{
    (void)state;
    ll_fact_list l = { .status = LLAP_ENOMEM };
    ll_facts_add(&l, "target", "x");
    ll_facts_addf(&l, "number", "%d", 1);
    ll_facts_may_differ(&l);
    assert_int_equal(l.n, 0);
    ll_facts_deinit(&l);
    check_every_failed_allocation(list_many, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_facts_are_kept),
        cmocka_unit_test(a_failed_list_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
