#include "score/readings.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "data/windows/scaling.h"

#include <assert.h>
#include <math.h>

/* Readings of one target: glitch [n_rows] stands every `step` bytes, or is NULL. */
static llap_status take_target(ll_target_readings *r, const llap_panel *p, int64_t var,
                               const uint8_t *glitch, int64_t step)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->n_rows; i++) n += ll_panel_observed(p, i, var);
    r->start = ll_new((size_t)p->n_entities + 1, sizeof *r->start);
    r->row = ll_new((size_t)n, sizeof *r->row);
    r->time = ll_new((size_t)n, sizeof *r->time);
    r->value = ll_new((size_t)n, sizeof *r->value);
    if (r->start == NULL || r->row == NULL || r->time == NULL || r->value == NULL)
        return LLAP_ENOMEM;
    n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        r->start[e] = n;
        for (int64_t i = p->start[e]; i < p->start[e + 1]; i++) {
            if (!ll_panel_observed(p, i, var)) continue;
            if (glitch != NULL && glitch[i * step]) continue;
            r->row[n] = i;
            r->time[n] = p->time[i];
            r->value[n++] = (double)p->value[i * p->n_vars + var];
        }
    }
    r->start[p->n_entities] = n;
    return LLAP_OK;
}

llap_status ll_readings_init(ll_readings *r, const llap_panel *p, const int64_t *var,
                             int64_t n_targets, const uint8_t *glitch)
{
    *r = (ll_readings){ .n_targets = n_targets, .n_entities = p->n_entities };
    r->of = ll_new((size_t)n_targets, sizeof *r->of);
    llap_status st = r->of == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t k = 0; st == LLAP_OK && k < n_targets; k++)
        st = take_target(&r->of[k], p, var[k], glitch == NULL ? NULL : glitch + k, n_targets);
    if (st != LLAP_OK) ll_readings_deinit(r);
    return st;
}

void ll_readings_deinit(ll_readings *r)
{
    for (int64_t k = 0; r->of != NULL && k < r->n_targets; k++) {
        ll_free(r->of[k].start);
        ll_free(r->of[k].row);
        ll_free(r->of[k].time);
        ll_free(r->of[k].value);
    }
    ll_free(r->of);
    *r = (ll_readings){ 0 };
}

ll_readings_range ll_readings_within(const ll_readings *r, int64_t target, int64_t entity,
                                     int64_t first, int64_t end)
{
    assert(target >= 0 && target < r->n_targets && entity >= 0 && entity < r->n_entities);
    const ll_target_readings *t = &r->of[target];
    const int64_t             a = t->start[entity], b = t->start[entity + 1];
    return (ll_readings_range){ ll_first_from(t->row, a, b, first),
                                ll_first_from(t->row, a, b, end) };
}

int64_t ll_readings_nearest(const ll_readings *r, int64_t target, ll_readings_range s, int64_t time,
                            int64_t within)
{
    const int64_t *t = r->of[target].time;
    const int64_t  after = ll_first_from(t, s.first, s.end, time);
    int64_t        best = -1;
    if (after > s.first && time - t[after - 1] <= within) best = after - 1;
    if (after < s.end && t[after] - time <= within &&
        (best < 0 || t[after] - time < time - t[best]))
        best = after;
    return best;
}

static double hold(double x, double lo, double hi) /* NaN stays */
{
    return x < lo ? lo : x > hi ? hi : x;
}

double ll_score_scale_z(const ll_score_scale *s, double y) { return (y - s->mean) / s->sd; }

double ll_scale_held(const ll_score_scale *s, double y)
{
    return hold((hold(y, s->lo, s->hi) - s->mean) / s->sd, -s->clip, s->clip);
}

double ll_score_scale_y(const ll_score_scale *s, double z) { return s->mean + s->sd * z; }

/* Of an anchor: moments of the training values; what training did not hold, the paper's tables do.
 */
static ll_score_scale scale_of_chain(const ll_chain *c, int64_t entity)
{
    const size_t row = entity < 0 ? c->n_series : (size_t)entity;
    assert(row <= c->n_series);
    const bool logs = c->y_mu != NULL;
    return (ll_score_scale){ .mean = logs ? c->y_mu[row] : c->mu[row],
                             .sd = logs ? c->y_sd[row] : c->sd[row],
                             .lo = c->y_lo,
                             .hi = c->y_hi,
                             .clip = isfinite(c->z_clip) ? c->z_clip
                                                         : (double)LL_SCALING_DEFAULT.clip };
}

/* Of networks without anchors: their tensors [entities + 1,targets]. */
static ll_score_scale scale_of_network(const ll_network *n, int64_t entity, int64_t target)
{
    const int64_t        row = entity < 0 ? n->config.n_entities : entity;
    const int64_t        at = row * n->config.n_targets + target;
    const ll_param_info *mean = ll_params_find(n->params, "scale.y.mean");
    const ll_param_info *sd = ll_params_find(n->params, "scale.y.std");
    assert(mean != NULL && sd != NULL);
    return (ll_score_scale){ .mean = ll_param_get(n->params, mean, at),
                             .sd = ll_param_get(n->params, sd, at),
                             .lo = -INFINITY,
                             .hi = INFINITY,
                             .clip = (double)LL_SCALING_DEFAULT.clip };
}

/* Of a published model, [entities + 1,variables], targets first. */
static ll_score_scale scale_of_rival(const ll_rival_model *r, int64_t entity, int64_t target)
{
    const int64_t row = entity < 0 ? r->n_entities : entity, at = row * r->task.vars + target;
    return (ll_score_scale){ .mean = (double)r->mean[at],
                             .sd = (double)r->sd[at],
                             .lo = -INFINITY,
                             .hi = INFINITY,
                             .clip = (double)LL_SCALING_DEFAULT.clip };
}

llap_status ll_score_scales(const llap_model *m, const llap_panel *p, ll_score_scale **out)
{
    const int64_t n = p->n_entities;
    *out = ll_new((size_t)(m->frame.n_targets * n), sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < n; e++) {
        const int64_t known = ll_model_entity_of(m, p, e);
        for (int64_t k = 0; k < m->frame.n_targets; k++)
            (*out)[k * n + e] = m->rival != NULL    ? scale_of_rival(m->rival, known, k)
                                : m->anchor != NULL ? scale_of_chain(m->anchor[k]->chain, known)
                                                    : scale_of_network(m->network, known, k);
    }
    return LLAP_OK;
}

/* Of one entity's rows: mask and number of those found. y and drop have room for them. */
static int64_t mark_entity(const llap_model *m, const llap_panel *p, int64_t e, const int64_t *var,
                           double *y, bool *drop, uint8_t *out)
{
    const int64_t first = p->start[e], n = p->start[e + 1] - first, K = m->frame.n_targets;
    int64_t       found = 0;
    for (int64_t k = 0; k < K; k++) {
        for (int64_t i = 0; i < n; i++)
            y[i] = ll_panel_observed(p, first + i, var[k])
                       ? (double)p->value[(first + i) * p->n_vars + var[k]]
                       : NAN;
        ll_chain_mark(m->anchor[k]->chain, ll_model_series_of(m, p, e), y, (size_t)n, drop);
        for (int64_t i = 0; i < n; i++) {
            out[(first + i) * K + k] = drop[i];
            found += drop[i];
        }
    }
    return found;
}

llap_status ll_glitches(const llap_model *m, const llap_panel *p, const int64_t *var, uint8_t **out,
                        int64_t *n)
{
    bool any = false;
    *out = NULL;
    *n = 0;
    for (int64_t k = 0; m->anchor != NULL && k < m->frame.n_targets; k++)
        any |= m->anchor[k]->chain->glitch != NULL;
    if (!any) return LLAP_OK;
    double    *y = ll_new((size_t)p->n_rows, sizeof *y);
    bool      *drop = ll_new((size_t)p->n_rows, sizeof *drop);
    uint8_t   *mask = ll_new((size_t)(p->n_rows * m->frame.n_targets), sizeof *mask);
    const bool ok = y != NULL && drop != NULL && mask != NULL;
    for (int64_t e = 0; ok && e < p->n_entities; e++)
        *n += mark_entity(m, p, e, var, y, drop, mask);
    ll_free(y);
    ll_free(drop);
    if (ok && *n > 0) *out = mask;
    else ll_free(mask);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}
