#include "data/windows/missing.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t window_hash(uint64_t seed, const char *entity, int64_t start)
{
    char      text[256];
    const int n = snprintf(text, sizeof text, "%llu:%s:%lld", (unsigned long long)seed, entity,
                           (long long)start);
    if (n >= 0 && (size_t)n < sizeof text) return ll_hash(0, text, (size_t)n);
    /* A longer name is hashed first, so that its end still matters. */
    const uint64_t name = ll_hash(0, entity, strlen(entity));
    const int      m = snprintf(text, sizeof text, "%llu:%llx:%lld", (unsigned long long)seed,
                                (unsigned long long)name, (long long)start);
    return ll_hash(0, text, m > 0 ? (size_t)m : 0);
}

void ll_hide_cells(uint64_t seed, const char *entity, int64_t start, double rate, int64_t n_cells,
                   uint8_t *obs, float *value)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n_cells; i++) count += obs[i] != 0;
    int64_t hide = (int64_t)floor(rate * (double)count);
    if (hide <= 0) return;
    const ll_rng r = ll_rng_make(seed, LL_STREAM_MASK, window_hash(seed, entity, start), 0, 0);
    uint64_t     seen = 0;
    for (int64_t i = 0; i < n_cells && hide > 0; i++) {
        if (!obs[i]) continue;
        const uint64_t left = (uint64_t)count - seen;
        if (ll_rng_below(&r, seen, left) < (uint64_t)hide) {
            obs[i] = 0;
            value[i] = 0;
            hide--;
        }
        seen++;
    }
}

/* A window's day and entity. */
typedef struct visit {
    int64_t day;
    int32_t entity;
} visit;

static int by_day(const void *x, const void *y)
{
    const visit *a = x, *b = y;
    if (a->day != b->day) return a->day < b->day ? -1 : 1;
    return (a->entity > b->entity) - (a->entity < b->entity);
}

static int64_t day_of(int64_t time, int64_t day_ns, int64_t origin)
{
    const int64_t o = origin % day_ns; /* |o| < day_ns: taking it apart cannot overflow */
    int64_t       day = time / day_ns, rest = time % day_ns - o;
    while (rest < 0) {
        rest += day_ns;
        day--;
    }
    return rest >= day_ns ? day + 1 : day;
}

/* Leaves in days[] the distinct days that enough entities share, sorted; returns their number. */
static int64_t full_days(visit *v, int64_t n, int64_t least, int64_t *days)
{
    int64_t n_days = 0;
    qsort(v, (size_t)n, sizeof *v, by_day);
    for (int64_t i = 0; i < n;) {
        int64_t       entities = 0;
        const int64_t day = v[i].day;
        for (int32_t last = -1; i < n && v[i].day == day; i++) {
            entities += v[i].entity != last;
            last = v[i].entity;
        }
        if (entities >= least) days[n_days++] = day;
    }
    return n_days;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

llap_status ll_drop_thin_days(ll_windows *w, double share, int64_t day_ns, int64_t day_origin_ns,
                              int64_t *dropped)
{
    *dropped = 0;
    if (!(share >= 0 && share <= 1) || day_ns < 1)
        return ll_fail(LLAP_EINVAL, "coverage filter: a share of %g per day of %lld ns", share,
                       (long long)day_ns);
    visit   *v = ll_new((size_t)w->n, sizeof *v);
    int64_t *days = ll_new((size_t)w->n, sizeof *days);
    uint8_t *flag = ll_new((size_t)w->n, sizeof *flag);
    if (v != NULL && days != NULL && flag != NULL) {
        for (int64_t i = 0; i < w->n; i++)
            v[i] = (visit){ .day = day_of(ll_window_end(w, &w->at[i]), day_ns, day_origin_ns),
                            .entity = w->at[i].entity };
        const int64_t least = (int64_t)ceil(share * (double)w->panel->n_entities), before = w->n;
        const int64_t n_days = full_days(v, w->n, least, days);
        for (int64_t i = 0; i < w->n; i++) {
            const int64_t day = day_of(ll_window_end(w, &w->at[i]), day_ns, day_origin_ns);
            flag[i] = bsearch(&day, days, (size_t)n_days, sizeof day, by_number) != NULL;
        }
        ll_windows_keep(w, flag);
        *dropped = before - w->n;
    }
    const bool ok = v != NULL && days != NULL && flag != NULL;
    ll_free(v);
    ll_free(days);
    ll_free(flag);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* The mask over units: entries, or steps (all entries of a step at once). */
typedef struct units {
    const uint8_t *obs;
    uint8_t       *kept;
    int64_t        n, width; /* units, entries of a unit */
} units;

static bool unit_observed(const units *u, int64_t i)
{
    for (int64_t j = 0; j < u->width; j++)
        if (u->obs[i * u->width + j]) return true;
    return false;
}

static void keep_unit(const units *u, int64_t i, bool keep)
{
    for (int64_t j = 0; j < u->width; j++)
        u->kept[i * u->width + j] = keep && u->obs[i * u->width + j];
}

/* The observed unit number k, from 0. */
static int64_t observed_unit(const units *u, int64_t k)
{
    int64_t i = 0;
    while (!unit_observed(u, i) || k-- > 0) i++;
    return i;
}

bool ll_impute_mask(const ll_impute_mask_opts *o, uint64_t row_id, int64_t n_steps,
                    int64_t n_entries, const uint8_t *obs, uint8_t *kept)
{
    const bool   entries = o->kind == LL_IMPUTE_ENTRIES;
    const units  u = { .obs = obs,
                       .kept = kept,
                       .n = entries ? n_steps * n_entries : n_steps,
                       .width = entries ? 1 : n_entries };
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_MASK, row_id, 1, 0);
    int64_t      n_observed = 0, n_kept = 0;
    for (int64_t i = 0; i < u.n; i++) {
        const bool keep = o->kind == LL_IMPUTE_REGULAR
                              ? i % o->every == 0
                              : (double)ll_rng_uniform(&r, (uint64_t)i) < o->keep;
        keep_unit(&u, i, keep);
        n_observed += unit_observed(&u, i);
        n_kept += keep && unit_observed(&u, i);
    }
    if (n_observed < 2) {
        memset(kept, 0, (size_t)(n_steps * n_entries));
        return false;
    }
    /* One that is kept or hidden after all: drawn, or the first and the last when regular. */
    const ll_rng  one = ll_rng_make(o->seed, LL_STREAM_MASK, row_id, 1, 1);
    const int64_t drawn = (int64_t)ll_rng_below(&one, 0, (uint64_t)n_observed);
    const bool    regular = o->kind == LL_IMPUTE_REGULAR;
    if (n_kept == 0) keep_unit(&u, observed_unit(&u, regular ? 0 : drawn), true);
    if (n_kept == n_observed)
        keep_unit(&u, observed_unit(&u, regular ? n_observed - 1 : drawn), false);
    return true;
}
