/* All training windows of bms_air at horizon 168 as batches of joint rows, against copying memory:
 * bytes of batch tensors written a second, and bytes that memcpy writes a second.
 *
 *     bench_batches $LLAP_DATA/bms_air.csv.gz        without a file a panel of that shape is made
 * up */
#include "bench.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "data/windows/loader.h"
#include "oracles/presets.h"

#include <string.h>

/* 12 stations, four years of hours, 12 variables, 2 % missing. */
static llap_status make_up(llap_panel **out)
{
    enum { N = 12, F = 12, R = 35064 };
    char        text[N][16];
    const char *name[N];
    int64_t     start[N + 1];
    for (int i = 0; i <= N; i++) start[i] = (int64_t)i * R;
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], i == 0 ? "PM2.5" : "v%02d", i);
        name[i] = text[i];
    }
    ll_panel_draft    d = { .axis = LL_AXIS_UTC,
                            .n_entities = N,
                            .n_vars = F,
                            .entity = name,
                            .var = name,
                            .start = start };
    const ll_rng      r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    const llap_status st = ll_panel_create(&d, out);
    for (int64_t i = 0; st == LLAP_OK && i < (int64_t)N * R; i++) {
        d.time[i] = i % R * INT64_C(3600000000000);
        for (int64_t c = i * F; c < (i + 1) * F; c++)
            if (ll_rng_uniform(&r, (uint64_t)c) >= 0.02f) {
                d.value[c] = ll_rng_uniform(&r, (uint64_t)(c ^ 1));
                ll_bit_set(d.observed, c);
            }
    }
    return st;
}

/* One epoch; returns the bytes of the tensors. */
static double epoch(ll_loader *l)
{
    double          bytes = 0;
    const ll_batch *b;
    if (ll_loader_start(l, 0) != LLAP_OK) return 0;
    while (ll_loader_next(l, &b) == LLAP_OK && b != NULL) bytes += (double)b->n_bytes;
    return bytes;
}

static void copy_all(char *to, const char *from, size_t n, double bytes)
{
    for (double done = 0; done < bytes; done += (double)n) {
        memcpy(to, from, n);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
}

static int measure(const ll_example_list *r, const ll_scaled *x, const char *what,
                   const ll_loader_opts *o)
{
    enum { RUNS = 3, BIG = 256 << 20, SMALL = 8 << 20 };
    ll_loader *l;
    char      *a = ll_new(BIG, 1), *b = ll_new(BIG, 1);
    double     t[3], best[3] = { 1e9, 1e9, 1e9 }, bytes = 0;
    if (a == NULL || b == NULL || ll_loader_create(r, x, o, &l) != LLAP_OK) return 1;
    memset(a, 1, BIG);
    memset(b, 2, BIG);
    bytes = epoch(l);
    for (int i = 0; i < RUNS; i++) {
        BENCH_TIME(t[0], epoch(l));
        BENCH_TIME(t[1], copy_all(a, b, BIG, bytes));
        BENCH_TIME(t[2], copy_all(a, b, SMALL, bytes));
        for (int k = 0; k < 3; k++) best[k] = t[k] < best[k] ? t[k] : best[k];
    }
    printf("%-34s %6.2f GB in %5.2f s: %5.2f GB/s; memcpy of 256 MB %5.2f GB/s (%3.0f %%), of 8 MB "
           "%5.2f GB/s (%3.0f %%)\n",
           what, bytes / 1e9, best[0], bytes / best[0] / 1e9, bytes / best[1] / 1e9,
           100 * best[1] / best[0], bytes / best[2] / 1e9, 100 * best[2] / best[0]);
    ll_loader_destroy(l);
    ll_free(a);
    ll_free(b);
    return 0;
}

int main(void)
{
    ll_preset        whole = *ll_preset_find("bms_air/reference");
    llap_panel      *p = NULL;
    ll_windows      *w = NULL;
    ll_split        *s = NULL;
    ll_scaling      *sc = NULL;
    ll_scaled       *x = NULL;
    ll_example_list *r = NULL;
    char             text[1024];
    const char      *folder = getenv("LLAP_DATA"), *path = folder != NULL ? text : NULL;
    snprintf(text, sizeof text, "%s/bms_air.csv.gz", folder != NULL ? folder : "");
    whole.timeline.row_min = 0;
    whole.timeline.half = false;
    llap_status st = path != NULL ? ll_preset_panel(&whole, &path, 1, NULL, &p) : make_up(&p);
    if (st == LLAP_OK) st = ll_preset_windows(&whole, p, 3, &w);
    if (st == LLAP_OK) st = ll_split_create(w, &whole.split, &s);
    if (st == LLAP_OK) st = ll_scaling_create(w, s, &LL_SCALING_DEFAULT, &sc);
    if (st == LLAP_OK) st = ll_scaled_create(p, sc, &x);
    if (st == LLAP_OK) st = ll_example_list_create(w, s, LL_PART_TRAIN, LL_VIEW_JOINT, &r);
    int failed = st != LLAP_OK;
    if (failed) fprintf(stderr, "batches: %s\n", llap_error_detail());
    for (int k = 0; k < 5 && !failed; k++) {
        static const char *const what[] = { "V, y, masks, offsets; no thread", "the same, 1 thread",
                                            "with dV; no thread", "with dV; 1 thread",
                                            "with dV, random order; 2 threads" };
        ll_loader_opts           o = LL_LOADER_DEFAULT;
        o.n_groups = whole.batch_groups;
        o.threads = k == 4 ? 2 : k % 2;
        o.batch.diff = k >= 2 ? LL_DIFF_PLAIN : LL_DIFF_NONE;
        o.order = k == 4 ? LL_ORDER_RANDOM : LL_ORDER_TIME;
        failed = measure(r, x, what[k], &o);
    }
    ll_example_list_destroy(r);
    ll_scaled_destroy(x);
    ll_scaling_destroy(sc);
    ll_split_destroy(s);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
    return failed;
}
