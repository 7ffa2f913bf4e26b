#include "netcdf_make.h"
#include "panel_equal.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/rng/rng.h"
#include "data/netcdf/load.h"

#include <sys/stat.h>

/* ---- random panels -------------------------------------------------------------------------- */

typedef struct dice {
    ll_rng   rng;
    uint64_t at;
} dice;

static uint64_t below(dice *d, uint64_t n) { return ll_rng_below(&d->rng, d->at++, n); }

static float some_float(dice *d)
{
    static const float odd[] = {
        0, -0.0f, 1e38f, -3.4028235e38f, 1e-45f, 9.96921e36f, -32767, 0.1f
    };
    if (below(d, 4) == 0) return odd[below(d, sizeof odd / sizeof *odd)];
    return (float)((double)below(d, 1u << 30) / 1000.0 - 500000.0);
}

static const char *some_name(dice *d, int64_t k, ll_arena *a)
{
    static const char *const odd[] = {
        "",         "time",       "station",           "obs",       "row_size", "x y",
        "PM2.5",    "a/b",        "\xc3\xa9t\xc3\xa9", "e\xcc\x81", "9lives",   " pad ",
        "\xff\xfe", "variable_0", "x_filled",          "tab\there", "CO(GT)"
    };
    const size_t n = sizeof odd / sizeof *odd;
    if (below(d, 2) == 0 && (size_t)k < n) return odd[(size_t)k];
    return ll_arena_printf(a, "v%lld_%llu", (long long)k, (unsigned long long)below(d, 1000));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ll_axis some_axis(dice *d)
{
    static const char *const zones[] = { "UTC", "", "+08:00", "Asia/Shanghai" };
    static const char *const formats[] = { "", "%d/%m/%Y %H.%M.%S" };
    static const char *const units[] = { "", "s", "h", "d", "fortnight", " " };
    static const int64_t     unit_ns[] = { 1000000000,     1000000000,       3600000000000,
                                           86400000000000, 1209600000000000, 7 };
    const size_t             u = below(d, 6);
    ll_axis                  a = LL_AXIS_UTC;
    a.zone = zones[below(d, 4)];
    a.format = formats[below(d, 2)];
    if (below(d, 2) == 0) return a;
    return (ll_axis){ LL_AXIS_NUMBER, a.zone, a.format, units[u], unit_ns[u] };
}

static llap_panel *some_panel(uint64_t seed)
{
    dice           d = { ll_rng_make(seed, LL_STREAM_TEST, 0, 0, 0), 0 };
    ll_arena       a = { 0 };
    const char    *entity[20], *var[20];
    int64_t        start[21] = { 0 };
    ll_panel_draft draft = { .axis = some_axis(&d) };
    draft.n_entities = (int64_t)below(&d, 20);
    draft.n_vars = (int64_t)below(&d, 18);
    for (int64_t e = 0; e < draft.n_entities; e++) entity[e] = some_name(&d, e, &a);
    for (int64_t v = 0; v < draft.n_vars; v++) var[v] = some_name(&d, v, &a);
    qsort(entity, (size_t)draft.n_entities, sizeof *entity, by_text);
    for (int64_t e = 0; e < draft.n_entities; e++)
        start[e + 1] = start[e] + (int64_t)(below(&d, 4) == 0 ? 0 : below(&d, 60));
    draft.entity = entity, draft.var = var, draft.start = start;
    llap_panel *p;
    CHECK_OK(ll_panel_create(&draft, &p));
    static const int64_t steps[] = { 1, 1000, 1000000, 1000000000, 60000000000, 86400000000000 };
    const int64_t        step = steps[below(&d, 6)];
    const bool           fills = below(&d, 2) == 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t t = -(int64_t)below(&d, 1000) * step;
        if (step == 1 && below(&d, 4) == 0) t = INT64_MIN;
        for (int64_t r = start[e]; r < start[e + 1]; r++) {
            draft.time[r] = t;
            t += (1 + (int64_t)below(&d, 3)) * step;
            for (int64_t v = 0; v < p->n_vars; v++) {
                const int64_t  cell = r * p->n_vars + v;
                const uint64_t kind = below(&d, 4);
                if (kind > 0) draft.value[cell] = some_float(&d);
                if (kind > 1 || (kind == 1 && !fills)) ll_bit_set(draft.observed, cell);
            }
        }
    }
    CHECK_OK(ll_panel_check(p));
    ll_arena_deinit(&a);
    return p;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/random.nc", folder);
    for (uint64_t seed = 0; seed < 60; seed++) {
        llap_panel    *p = some_panel(seed), *q;
        ll_netcdf_opts o = defaults();
        o.deflate = seed % 3 == 0 ? (int)(seed % 10) : 0;
        CHECK_OK(ll_netcdf_write(p, path, &o));
        CHECK_OK(ll_netcdf_read(path, &o, &q, &counts));
        CHECK_OK(ll_panel_check(q));
        if (!panel_equal(p, q)) fail_msg("panel %llu differs", (unsigned long long)seed);
        assert_int_equal(counts.layout, LL_NETCDF_CONTIGUOUS);
        assert_int_equal(counts.ignored_vars + counts.without_time + counts.unordered, 0);
        llap_panel_destroy(p);
        llap_panel_destroy(q);
    }
}

static llap_panel *small_panel(const int64_t *time, ll_axis axis)
{
    static const char   *entity[] = { "a", "b" }, *var[] = { "x", "y" };
    static const int64_t start[] = { 0, 2, 3 };
    ll_panel_draft       d = {
              .axis = axis, .n_entities = 2, .n_vars = 2, .entity = entity, .var = var, .start = start
    };
    llap_panel *p;
    CHECK_OK(ll_panel_create(&d, &p));
    memcpy(d.time, time, 3 * sizeof *time);
    for (int64_t c = 0; c < 5; c++) {
        d.value[c] = (float)c + 0.5f;
        if (c != 3) ll_bit_set(d.observed, c);
    }
    return p;
}

static void get_text(const char *v, const char *att, char *out)
{
    size_t n;
    NC(nc_inq_attlen(nc, id_of(v), att, &n));
    NC(nc_get_att_text(nc, id_of(v), att, out));
    out[n] = '\0';
}

/* The structure that the header promises, seen by libnetcdf alone. */
static void the_file_follows_the_conventions(void **state)
{
    (void)state;
    static const struct {
        int64_t     time[3];
        const char *units;
        long long   first;
    } cases[] = {
        { { 86400000000000, 172800000000000, 0 }, "days since 1970-01-01 00:00:00", 1 },
        { { 3600000000000, 172800000000000, 0 }, "hours since 1970-01-01 00:00:00", 1 },
        { { 60000000000, 3600000000000, 60000000000 }, "minutes since 1970-01-01 00:00:00", 1 },
        { { -1000000000, 60000000000, 1000000000 }, "seconds since 1970-01-01 00:00:00", -1 },
        { { 5000000, 60000000000, 1000000000 }, "milliseconds since 1970-01-01 00:00:00", 5 },
        { { 7000, 60000000000, 1000000000 }, "microseconds since 1970-01-01 00:00:00", 7 },
        { { 1, 60000000000, 1000000000 }, "nanoseconds since 1970-01-01 00:00:00", 1 },
    };
    const ll_netcdf_opts o = defaults();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        llap_panel *p = small_panel(cases[i].time, LL_AXIS_UTC);
        snprintf(path, sizeof path, "%s/small.nc", folder);
        CHECK_OK(ll_netcdf_write(p, path, &o));
        llap_panel_destroy(p);
        char      got[200];
        long long t[3], rows[2];
        float     x[3], fill;
        NC(nc_open(path, NC_NOWRITE, &nc));
        get_text("", "Conventions", got), assert_string_equal(got, "CF-1.9");
        get_text("", "featureType", got), assert_string_equal(got, "timeSeries");
        get_text("time", "units", got), assert_string_equal(got, cases[i].units);
        get_text("row_size", "sample_dimension", got), assert_string_equal(got, "obs");
        get_text("station_id", "cf_role", got), assert_string_equal(got, "timeseries_id");
        get_text("y", "ancillary_variables", got), assert_string_equal(got, "y_filled");
        NC(nc_get_var_longlong(nc, id_of("time"), t));
        assert_int_equal(t[0], cases[i].first);
        NC(nc_get_var_longlong(nc, id_of("row_size"), rows));
        assert_int_equal(rows[0], 2);
        assert_int_equal(rows[1], 1);
        NC(nc_get_var_float(nc, id_of("y"), x));
        assert_true(x[0] == 1.5f && x[1] == 3.5f && isnan(x[2]));
        NC(nc_get_att_float(nc, id_of("x"), "_FillValue", &fill));
        assert_true(isnan(fill));
        int id;
        assert_int_equal(nc_inq_varid(nc, "x_filled", &id), NC_ENOTVAR);
        NC(nc_close(nc));
    }
}

static void equal_panels_give_equal_bytes(void **state)
{
    (void)state;
    const ll_netcdf_opts o = defaults();
    char                *bytes[2], at[2][256];
    size_t               n[2];
    for (int i = 0; i < 2; i++) {
        llap_panel *p = some_panel(7);
        snprintf(at[i], sizeof at[i], "%s/%d.nc", folder, i);
        CHECK_OK(ll_netcdf_write(p, at[i], &o));
        CHECK_OK(ll_file_read(at[i], 1 << 24, &bytes[i], &n[i]));
        llap_panel_destroy(p);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    ll_free(bytes[0]);
    ll_free(bytes[1]);
}

/* A driver that works until one of its functions is asked for the n-th time. */
static int                 left;
static const ll_nc_driver *whole;
static int broken_put(int f, int v, const size_t *s, const size_t *c, const void *from)
{
    return left-- > 0 ? whole->put(f, v, s, c, from) : -101;
}
static int broken_put_att(int f, int v, const char *name, int type, size_t n, const void *x)
{
    return left-- > 0 ? whole->put_att(f, v, name, type, n, x) : -101;
}

static void a_failed_write_changes_nothing(void **state)
{
    (void)state;
    const ll_netcdf_opts o = defaults();
    llap_panel          *p = some_panel(5), *q;
    snprintf(path, sizeof path, "%s/kept.nc", folder);
    CHECK_OK(ll_netcdf_write(p, path, &o));
    const int      before = files_in_folder();
    ll_netcdf_opts wrong = o;
    wrong.deflate = 10;
    CHECK_FAIL(ll_netcdf_write(p, path, &wrong), LLAP_EINVAL, "kept.nc: deflate: expected 0 to 9");
    CHECK_FAIL(ll_netcdf_write(p, "/dev/null", &o), LLAP_EINVAL, "not a regular file");
    CHECK_FAIL(ll_netcdf_write(p, folder, &o), LLAP_EINVAL, "is a directory");
    CHECK_FAIL(ll_netcdf_write(p, "/no/such/folder/x.nc", &o), LLAP_ENOTFOUND, "/no/such");
    CHECK_OK(ll_netcdf_read(path, &o, &q, NULL));
    assert_true(panel_equal(p, q));
    llap_panel_destroy(q);
    CHECK_OK(ll_netcdf_load(o.object, path, &whole));
    ll_nc_driver broken = *whole;
    broken.put = broken_put;
    broken.put_att = broken_put_att;
    char at[256];
    snprintf(at, sizeof at, "%s/broken", folder);
    llap_status st = LLAP_EIO;
    for (int n = 0; st != LLAP_OK; n++) {
        left = n;
        st = ll_netcdf_write_with(&broken, p, at, "some.nc", &o);
        if (st != LLAP_OK) CHECK_FAIL(st, LLAP_EIO, "some.nc: ");
        else assert_true(n > 20);
        unlink(at);
    }
    llap_panel_destroy(p);
    assert_int_equal(files_in_folder(), before);
}

static void the_mode_of_the_target_is_kept(void **state)
{
    (void)state;
    const ll_netcdf_opts o = defaults();
    llap_panel          *p = some_panel(3);
    snprintf(path, sizeof path, "%s/mode.nc", folder);
    CHECK_OK(ll_netcdf_write(p, path, &o));
    assert_int_equal(chmod(path, 0640), 0);
    CHECK_OK(ll_netcdf_write(p, path, &o));
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0640);
    llap_panel_destroy(p);
}

static llap_status write_and_read(void *user)
{
    const ll_netcdf_opts o = defaults();
    llap_panel          *q = NULL;
    llap_status          st = ll_netcdf_write(user, path, &o);
    if (st == LLAP_OK) st = ll_netcdf_read(path, &o, &q, NULL);
    llap_panel_destroy(q);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    llap_panel *p = some_panel(11);
    snprintf(path, sizeof path, "%s/alloc.nc", folder);
    CHECK_OK(write_and_read(p));
    const int before = files_in_folder();
    check_every_failed_allocation(write_and_read, p);
    assert_int_equal(files_in_folder(), before);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_file_follows_the_conventions),
        cmocka_unit_test(equal_panels_give_equal_bytes),
        cmocka_unit_test(a_failed_write_changes_nothing),
        cmocka_unit_test(the_mode_of_the_target_is_kept),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
