/* The order of epochs in a backend's memory: that of ll_rng_permute, whatever is taken of it. */
#include "apart.h"

#include "nn/epochs.h"

static ll_rng rng_of(const void *user, int64_t epoch)
{
    return ll_rng_make(*(const uint64_t *)user, LL_STREAM_SHUFFLE, 0, 0, (uint32_t)epoch);
}

/* Number i of all epochs. */
static uint32_t expected(const ll_epochs *o, int64_t i)
{
    uint32_t     order[64];
    const ll_rng r = rng_of(o->user, i / (o->n * o->width));
    ll_rng_permute(&r, (size_t)o->n, order);
    const int64_t place = i % (o->n * o->width);
    if (o->epoch_rng == NULL) return (uint32_t)place;
    return order[place / o->width] * (uint32_t)o->width + (uint32_t)(place % o->width);
}

static void check_takes(const ll_backend *b, int64_t n, int64_t width, bool shuffled)
{
    static const int64_t taken[][2] = { { 0, 5 }, { 5, 20 }, { 25, 90 }, { 3, 4 }, { 117, 1 } };
    const uint64_t       seed = 11;
    ll_epochs            o;
    uint32_t             found[90];
    void                *device_data;
    CHECK_OK(ll_epochs_init(&o, b, n, width));
    CHECK_OK(ll_device_alloc(b, sizeof found, &device_data));
    o.user = &seed;
    if (shuffled) o.epoch_rng = rng_of;
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
        const int64_t first = taken[k][0], count = taken[k][1];
        CHECK_OK(ll_epochs_take(&o, first, count, device_data));
        CHECK_OK(ll_device_get(b, found, device_data, (size_t)count * sizeof *found));
        for (int64_t i = 0; i < count; i++) assert_int_equal(found[i], expected(&o, first + i));
    }
    ll_device_release(b, device_data);
    ll_epochs_deinit(&o);
}

static void orders_are_the_cpus(void **state)
{
    (void)state;
    const ll_backend        apart = apart_backend();
    const ll_backend *const on[] = { &ll_backend_cpu, &apart };
    for (int i = 0; i < 2; i++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            check_takes(on[i], 1, 1, shuffled);
            check_takes(on[i], 60, 1, shuffled); /* some takes are of two epochs, */
            check_takes(on[i], 7, 1, shuffled);  /* or of many */
            check_takes(on[i], 9, 3, shuffled);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(orders_are_the_cpus) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
