#include "base/alloc.h"
#include "base/crps.h"
#include "base/sort.h"
#include "train/rivals/rivals.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

typedef struct checking {
    const ll_rival_training *t;
    const ll_rival_task     *k;
    ll_rival_asker          *asker;
    ll_rival_example         asked, truth;
    int64_t samples, each, at_once; /* rows of a window, numbers of a row; windows */
    float  *y;                      /* [at_once,samples,each] */
    double *member;                 /* [samples or members] */
    double  sum, n;
} checking;

static void deinit(checking *c)
{
    ll_rival_asker_destroy(c->asker);
    ll_rival_example_deinit(&c->asked);
    ll_rival_example_deinit(&c->truth);
    ll_free(c->y);
    ll_free(c->member);
}

static llap_status init(checking *c, const ll_rival_training *t, const ll_params *params)
{
    const ll_rival_task *k = &t->r->task;
    const bool           draws = ll_rival_draws(k);
    const int64_t        M = ll_rival_members(k);
    enum { AT_ONCE = 8 };
    *c = (checking){ .t = t,
                     .k = k,
                     .samples = draws ? t->recipe.published.check_samples : 1,
                     .each = k->data.horizon * k->targets * M,
                     .at_once = AT_ONCE };
    c->y = ll_new((size_t)(c->at_once * c->samples * c->each), sizeof *c->y);
    c->member = ll_new((size_t)(c->samples * M), sizeof *c->member);
    llap_status st = c->y == NULL || c->member == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_rival_example_init(&c->asked, k);
    if (st == LLAP_OK) st = ll_rival_example_init(&c->truth, k);
    if (st == LLAP_OK)
        st = ll_rival_asker_create(k, params, t->backend, omp_get_max_threads(),
                                   c->at_once * c->samples, &c->asker);
    return st;
}

/* Answers of windows first .. first + n - 1. */
static llap_status answer(checking *c, int64_t first, int64_t n)
{
    const int64_t room = ll_rival_asker_room(c->asker), rows = n * c->samples;
    const float  *y = NULL;
    llap_status   st = LLAP_OK;
    for (int64_t i = 0, filled = 0; i < rows && st == LLAP_OK; i++) {
        const ll_rival_window w =
            ll_rival_training_window(c->t, c->t->check[first + i / c->samples], false);
        if (i % c->samples == 0) ll_rival_view_example(&c->t->view, &w, &c->asked);
        st = ll_rival_asker_put(c->asker, &c->asked, (uint32_t)(i % c->samples));
        if (st != LLAP_OK || (++filled < room && i + 1 < rows)) continue;
        st = ll_rival_asker_run(c->asker, (uint64_t)c->t->o->seed, &y);
        if (st == LLAP_OK)
            memcpy(c->y + (i + 1 - filled) * c->each, y, (size_t)(filled * c->each) * sizeof *y);
        filled = 0;
    }
    return st;
}

/* Adds the scores of one window, whose answers are y [samples,H,C,members]. */
static void score(checking *c, uint32_t window, const float *y)
{
    const ll_rival_task  *k = c->k;
    const int64_t         M = ll_rival_members(k), C = k->targets, n = c->samples * M;
    const ll_rival_window w = ll_rival_training_window(c->t, window, true);
    ll_rival_view_example(&c->t->view, &w, &c->truth);
    for (int64_t i = 0; i < k->data.horizon * C; i++) {
        const int64_t at = i / C * k->vars + i % C;
        if (c->truth.seen[at] == 0.0f) continue;
        bool finite = true;
        for (int64_t s = 0; s < n; s++) {
            c->member[s] = (double)y[s / M * c->each + i * M + s % M];
            finite = finite && isfinite(c->member[s]);
        }
        if (finite) ll_sort_doubles(c->member, (size_t)n);
        c->sum += finite ? ll_crps(c->member, n, (double)c->truth.y[at], ll_rival_draws(k)) : NAN;
        c->n++;
    }
}

llap_status ll_rival_check_crps(const ll_rival_training *t, const ll_params *params, double *out)
{
    checking    c;
    llap_status st = init(&c, t, params);
    for (int64_t i = 0; i < t->n_check && st == LLAP_OK; i += c.at_once) {
        const int64_t n = t->n_check - i < c.at_once ? t->n_check - i : c.at_once;
        st = answer(&c, i, n);
        for (int64_t w = 0; w < n && st == LLAP_OK; w++)
            score(&c, t->check[i + w], c.y + w * c.samples * c.each);
    }
    *out = c.sum / fmax(c.n, 1.0);
    deinit(&c);
    return st;
}
