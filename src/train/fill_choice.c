/* Whether networks fill gaps, decided on validation like everything else about them. */
#include "train/fill_choice.h"
#include "base/alloc.h"
#include "base/crps.h"
#include "base/error.h"
#include "base/log.h"
#include "predict/filler.h"
#include "predict/view/frame.h"
#include "score/gaps/hide.h"
#include "score/metric.h"
#include "train/run/recipe.h"

#include <assert.h>
#include <math.h>

enum { SAMPLES = 24, WINDOWS_PAST = 128, WINDOWS_BOTH = 32, WINDOWS_LEAST = 8, STEPS_LEAST = 8 };

typedef struct contest {
    const llap_model *m;
    const llap_panel *p; /* with everything */
    const int64_t    *var;
    double            network[WINDOWS_PAST], anchor[WINDOWS_PAST]; /* sums of CRPS by window */
    int64_t           n[WINDOWS_PAST];
} contest;

static int64_t entity_of(const llap_panel *p, int64_t row)
{
    int64_t low = 0, high = p->n_entities;
    while (high - low > 1) {
        const int64_t mid = low + (high - low) / 2;
        if (p->start[mid] <= row) low = mid;
        else high = mid;
    }
    assert(p->start[low] <= row && row < p->start[low + 1]);
    return low;
}

static double score(const ll_chain *c, size_t e, const double *y, int64_t n, double truth)
{
    double z[SAMPLES];
    assert(n > 0 && n <= SAMPLES);
    for (int64_t i = 0; i < n; i++) z[i] = ll_chain_unit_of(c, e, y[i]);
    metric_sort(z, n);
    return ll_crps(z, n, truth, true);
}

static void compare(void *user, const ll_filled_cell *cell)
{
    contest        *s = user;
    const ll_chain *chain = s->m->anchor[cell->target]->chain;
    const size_t    e = ll_model_series_of(s->m, s->p, entity_of(s->p, cell->row));
    const double    y = (double)s->p->value[cell->row * s->p->n_vars + s->var[cell->target]];
    const double    truth = ll_chain_unit_of(chain, e, y);
    assert(cell->window >= 0 && cell->window < WINDOWS_PAST && cell->guess != NULL);
    s->network[cell->window] += score(chain, e, cell->y, cell->n, truth);
    s->anchor[cell->window] += score(chain, e, cell->guess, cell->n, truth);
    s->n[cell->window]++;
}

typedef struct outcome {
    double  network, anchor; /* mean CRPS */
    double  error;           /* standard error of their difference, windows being independent */
    int64_t windows;
} outcome;

static outcome judge(const contest *s)
{
    outcome o = { 0 };
    double  n = 0, square = 0;
    for (int i = 0; i < WINDOWS_PAST; i++) {
        o.network += s->network[i];
        o.anchor += s->anchor[i];
        n += (double)s->n[i];
        o.windows += s->n[i] > 0;
    }
    const double gain = (o.network - o.anchor) / n;
    for (int i = 0; i < WINDOWS_PAST; i++) {
        const double off = s->network[i] - s->anchor[i] - gain * (double)s->n[i];
        square += off * off;
    }
    o.network /= n;
    o.anchor /= n;
    o.error = sqrt(square) / n;
    return o;
}

static const char *side(ll_anchor_from from)
{
    return from == LL_ANCHOR_PAST ? "the past" : "both sides";
}

/* The best of two points, if it is better than the anchor beyond doubt; else 0. */
static llap_status choose(const ll_gap_cells *g, contest *s, ll_anchor_from from,
                          const llap_train_opts *o, const ll_recipe_networks *r, int64_t *first)
{
    const int64_t steps = g->m->network->config.sampling.steps;
    const int64_t point[] = { steps * 7 / 12, steps * 10 / 12 };
    outcome       best = { .network = INFINITY };
    llap_status   st = LLAP_OK;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        const ll_fill_gaps_opts how = { .from = from,
                                        .first = point[i],
                                        .n_samples = SAMPLES,
                                        .seed = (uint64_t)o->seed,
                                        .most =
                                            from == LL_ANCHOR_PAST ? WINDOWS_PAST : WINDOWS_BOTH,
                                        .progress = o->progress };
        *s = (contest){ .m = s->m, .p = s->p, .var = s->var };
        st = ll_fill_gaps(g, &how, compare, s, NULL);
        const outcome now = judge(s);
        if (st != LLAP_OK || now.windows < WINDOWS_LEAST || !(now.network < best.network)) continue;
        best = now;
        *first = point[i];
    }
    if (st == LLAP_ENUMERIC) {
        *first = 0;
        ll_logf(o->log, LLAP_LOG_WARNING, "gaps from %s: %s: the anchor fills", side(from),
                llap_error_detail());
        return LLAP_OK;
    }
    if (st != LLAP_OK || *first == 0) return st;
    const double gain = best.anchor - best.network;
    if (!(gain > r->fill_gain * best.anchor && gain > r->fill_errors * best.error)) *first = 0;
    ll_logf(o->log, LLAP_LOG_INFO,
            "gaps from %s: validation CRPS %.4f, anchor %.4f (difference %.4f +- %.4f): the %s "
            "fills",
            side(from), best.network, best.anchor, -gain, best.error,
            *first == 0 ? "anchor" : "network");
    return st;
}

static void ask_validation(const llap_model *m, const llap_panel *p, uint8_t *asked)
{
    const int64_t C = m->frame.n_targets;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t row = p->start[e]; row < p->start[e + 1]; row++)
            for (int64_t c = 0; c < C; c++)
                if (ll_row_part(m, p, e, row) != LL_PART_VAL) asked[row * C + c] = 0;
}

llap_status ll_fill_choice(llap_model *m, const llap_panel *p, const llap_train_opts *o,
                           const ll_recipe_networks *r)
{
    const int64_t      C = m->frame.n_targets;
    ll_feature_config *c = &m->network->config.features;
    int64_t           *var = ll_new((size_t)C, sizeof *var);
    uint8_t           *hidden = ll_new((size_t)p->n_rows, (size_t)C);
    contest           *s = ll_new(1, sizeof *s);
    llap_panel        *masked = NULL;
    llap_status        st =
        var == NULL || hidden == NULL || s == NULL ? LLAP_ENOMEM : ll_target_columns(m, p, var);
    c->fill_past = c->fill_both = 0;
    if (st == LLAP_OK) {
        ll_hide_readings(p, var, C, (uint64_t)o->seed, hidden);
        st = ll_hide_mask(p, var, C, hidden, &masked);
    }
    if (st == LLAP_OK && m->network->config.sampling.steps < STEPS_LEAST)
        ll_logf(o->log, LLAP_LOG_INFO,
                "gaps: %lld steps of sampling, fewer than %d: the anchor fills",
                (long long)m->network->config.sampling.steps, STEPS_LEAST);
    else if (st == LLAP_OK) {
        const ll_gap_cells g = { .m = m, .p = masked, .asked = hidden };
        *s = (contest){ .m = m, .p = p, .var = var };
        ask_validation(m, p, hidden);
        st = choose(&g, s, LL_ANCHOR_PAST, o, r, &c->fill_past);
        if (st == LLAP_OK) st = choose(&g, s, LL_ANCHOR_BOTH, o, r, &c->fill_both);
    }
    llap_panel_destroy(masked);
    ll_free(s);
    ll_free(hidden);
    ll_free(var);
    return st;
}
