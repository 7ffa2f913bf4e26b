#include "check.h"

#include "base/sort.h"

static unsigned name_digit(const void *ctx, uint32_t item, size_t depth)
{
    const char *const *names = ctx;
    return (unsigned char)names[item][depth];
}

static void expect_sorted(char **names, size_t n)
{
    uint32_t *items = ll_new(n, sizeof *items);
    bool     *met = ll_new(n, sizeof *met);
    for (uint32_t i = 0; i < n; i++) items[i] = i;
    ll_radix_sort(items, n, name_digit, names);
    for (size_t i = 0; i < n; i++) {
        assert_false(met[items[i]]);
        met[items[i]] = true;
        if (i > 0) assert_true(strcmp(names[items[i - 1]], names[items[i]]) <= 0);
    }
    ll_free(items);
    ll_free(met);
}

/* Random strings over alphabets from one letter (all equal but for length) to all bytes. */
static void random_strings_are_sorted(void **state)
{
    (void)state;
    srand(1);
    for (int letters = 1; letters <= 255; letters = letters * 3 + 1) {
        for (size_t n = 0; n < 3000; n = n * 2 + 1) {
            char **names = ll_new(n, sizeof *names);
            for (size_t i = 0; i < n; i++) {
                const size_t len = (size_t)(rand() % 6);
                names[i] = ll_new(len + 1, 1);
                for (size_t j = 0; j < len; j++) names[i][j] = (char)(1 + rand() % letters);
            }
            expect_sorted(names, n);
            for (size_t i = 0; i < n; i++) ll_free(names[i]);
            ll_free(names);
        }
    }
}

/* "b", "ab", "aab", ...: each level splits off one string; recursion must not follow. */
static void deep_keys_do_not_deepen_the_stack(void **state)
{
    (void)state;
    enum { N = 5000 };
    char  *text = ll_new(N + 1, 1);
    char **names = ll_new(N, sizeof *names);
    memset(text, 'a', N);
    text[N - 1] = 'b';
    for (size_t i = 0; i < N; i++) names[i] = text + (i * 7919) % N;
    expect_sorted(names, N);
    ll_free(names);
    ll_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_strings_are_sorted),
        cmocka_unit_test(deep_keys_do_not_deepen_the_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
