#include "score/opponents.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "data/windows/scaling.h"
#include "predict/forecaster.h"
#include "predict/tables/numbers.h"
#include "score/metric.h"
#include "score/opponent_set.h"

#include <assert.h>

enum { DAYS_MAX = 60 };

/* ---- climatology ---- */

static llap_status take_climate(const opponent_set *s, int64_t target, const int64_t *stop,
                                int64_t first, int64_t last, opponent_climate *out)
{
    const ll_target_readings *r = &s->r.of[target];
    int64_t                   n = 0;
    for (int64_t e = first; e < last; e++) {
        const ll_readings_range x = ll_readings_within(&s->r, target, e, s->p->start[e], stop[e]);
        n += x.end - x.first;
    }
    if (n == 0) return LLAP_OK;
    out->value = ll_new((size_t)n, sizeof *out->value);
    if (out->value == NULL) return LLAP_ENOMEM;
    for (int64_t e = first; e < last; e++) {
        const ll_readings_range x = ll_readings_within(&s->r, target, e, s->p->start[e], stop[e]);
        for (int64_t i = x.first; i < x.end; i++) out->value[out->n++] = r->value[i];
    }
    assert(out->n == n);
    metric_sort(out->value, n);
    out->mean = metric_mean(out->value, n);
    return LLAP_OK;
}

/* Data that begins after training: a Gaussian with the moments of training, which the scale has. */
static llap_status take_moments(const opponent_set *s, int64_t target, int64_t entity,
                                opponent_climate *out)
{
    const ll_score_scale *scale = opponent_scale(s, target, entity);
    *out = (opponent_climate){ .n = BAR_MEMBERS, .mean = scale->mean };
    out->value = ll_new(BAR_MEMBERS, sizeof *out->value);
    if (out->value == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < BAR_MEMBERS; i++) out->value[i] = ll_score_scale_y(scale, s->score[i]);
    return LLAP_OK;
}

static llap_status take_climates(opponent_set *s, const ll_windows *w, const ll_split *split)
{
    const int64_t n = s->p->n_entities;
    int64_t      *stop = ll_new(2 * (size_t)n, sizeof *stop);
    s->climate = ll_new((size_t)(s->r.n_targets * (n + 1)), sizeof *s->climate);
    llap_status st = stop == NULL || s->climate == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) ll_training_rows(w, split, stop + n, stop);
    for (int64_t k = 0; st == LLAP_OK && k < s->r.n_targets; k++) {
        opponent_climate *c = s->climate + k * (n + 1);
        for (int64_t e = 0; st == LLAP_OK && e < n; e++)
            st = take_climate(s, k, stop, e, e + 1, &c[e]);
        if (st == LLAP_OK) st = take_climate(s, k, stop, 0, n, &c[n]);
        const bool none = c[n].n == 0;
        for (int64_t e = 0; st == LLAP_OK && none && e < n; e++) st = take_moments(s, k, e, &c[e]);
    }
    ll_free(stop);
    return st;
}

const opponent_climate *opponent_climate_of(const opponent_set *s, int64_t target, int64_t entity)
{
    const opponent_climate *c = s->climate + target * (s->p->n_entities + 1);
    assert(c[entity].n > 0 || c[s->p->n_entities].n > 0);
    return c[entity].n > 0 ? &c[entity] : &c[s->p->n_entities];
}

/* ---- the set ---- */

static llap_status learn(opponent_set *s, const ll_windows *w, const ll_split *split,
                         ll_part scored)
{
    ll_part part = scored == LL_PART_TEST ? LL_PART_VAL : LL_PART_TRAIN;
    if (split->n[part] == 0) part = LL_PART_TRAIN;
    s->gaussian = ll_new((size_t)s->r.n_targets, sizeof *s->gaussian);
    llap_status st = s->gaussian == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t k = 0; st == LLAP_OK && k < s->r.n_targets; k++) {
        st = opponent_learn_ar1(s, k, w, split);
        const bool known = s->gaussian[k].known;
        if (st == LLAP_OK) st = opponent_learn_bar(s, k, w, split, part);
        if (st == LLAP_OK && known && !s->gaussian[k].known && part != LL_PART_TRAIN) {
            s->gaussian[k].known = true; /* nothing of it was read there */
            st = opponent_learn_bar(s, k, w, split, LL_PART_TRAIN);
        }
    }
    return st;
}

static llap_status set_init(opponent_set *s, const int64_t *var, const ll_windows *w,
                            const ll_split *split, ll_part scored, const uint8_t *glitch)
{
    const ll_model_frame *f = s->frame;
    s->leads = ll_leads_of_frame(f);
    for (int i = 0; i < BAR_MEMBERS; i++) s->score[i] = ll_normal_score((i + 0.5) / BAR_MEMBERS);
    if (f->axis == LL_AXIS_CALENDAR && f->step <= 6 * LL_NS_PER_HOUR)
        s->n_days = f->context / LL_NS_PER_DAY < DAYS_MAX ? f->context / LL_NS_PER_DAY : DAYS_MAX;
    llap_status st = ll_readings_init(&s->r, s->p, var, f->n_targets, glitch);
    if (st == LLAP_OK) st = take_climates(s, w, split);
    if (st == LLAP_OK) st = learn(s, w, split, scored);
    return st;
}

static void set_destroy(opponent_set *s)
{
    if (s == NULL) return;
    const int64_t n = s->frame->n_targets;
    for (int64_t i = 0; s->climate != NULL && i < n * (s->p->n_entities + 1); i++)
        ll_free(s->climate[i].value);
    for (int64_t k = 0; s->gaussian != NULL && k < n; k++) ll_free(s->gaussian[k].spread);
    ll_free(s->climate);
    ll_free(s->gaussian);
    ll_readings_deinit(&s->r);
    ll_free(s);
}

/* ---- the list ---- */

typedef struct opponent {
    const char      *name;
    opponent_answer *answer; /* NULL: the law around a point */
    opponent_point   point;
    enum { ALWAYS, WITH_SEASONS, WITH_DAYS, WITH_GAUSSIAN, WITH_LOGS } when;
} opponent;

static const opponent list[] = {
    { "last_value", NULL, POINT_LAST, ALWAYS },
    { "linear", NULL, POINT_LINEAR, ALWAYS },
    { "drift", NULL, POINT_DRIFT, ALWAYS },
    { "log_walk", opponent_log_walk, 0, WITH_LOGS },
    { NULL, NULL, POINT_SEASONAL, WITH_SEASONS }, /* one for each season, by its name */
    { "climatology", opponent_climatology, 0, ALWAYS },
    { "context", opponent_histogram, 0, ALWAYS },
    { "context_days", opponent_days, 0, WITH_DAYS },
    { "ar1", opponent_ar1, 0, WITH_GAUSSIAN },
    { "residual_bar", opponent_bar, 0, WITH_GAUSSIAN },
};
static_assert(sizeof list / sizeof *list - 1 + LL_SEASONS == LL_OPPONENTS, "all have room");

/* How many forecasters a line of the list is. */
static int how_many(const opponent *o, const opponent_set *s)
{
    bool known = true, logs = false;
    for (int64_t k = 0; k < s->r.n_targets; k++) {
        known = known && s->gaussian[k].known;
        logs = logs || opponent_is_positive(s, k);
    }
    if (o->when == WITH_SEASONS) return s->seasons.n;
    return o->when == ALWAYS || (o->when == WITH_DAYS && s->n_days >= 2) ||
           (o->when == WITH_GAUSSIAN && known) || (o->when == WITH_LOGS && logs);
}

/* What a forecaster's self points to: the set is owned by the list of opponents. */
typedef struct one {
    opponent_answer    *answer;
    opponent_point      point;
    const opponent_set *set;
} one;

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    const one  *me = f->self;
    llap_status st = LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++)
        for (int64_t k = 0; st == LLAP_OK && k < f->n_targets; k++)
            st = me->answer == NULL
                     ? opponent_point_law(me->set, me->point, &w[i], k, arena,
                                          &out[i * f->n_targets + k])
                     : me->answer(me->set, ask, &w[i], k, arena, &out[i * f->n_targets + k]);
    return st;
}

/* Number k of a line of the list. */
static llap_status add_opponent(ll_opponents *o, const opponent *who, int k)
{
    one *self = ll_new(1, sizeof *self);
    if (self == NULL) return LLAP_ENOMEM;
    assert(o->n < LL_OPPONENTS);
    *self = (one){ who->answer, (opponent_point)((int)who->point + k), o->set };
    o->f[o->n++] = (ll_forecaster){ .name = who->name != NULL ? who->name : o->set->seasons.name[k],
                                    .n_targets = o->set->frame->n_targets,
                                    .self = self,
                                    .forecast = forecast,
                                    .destroy = ll_free };
    return LLAP_OK;
}

llap_status ll_opponents_init(ll_opponents *o, const ll_model_frame *frame,
                              const ll_score_scale *scale, const int64_t *var, const ll_windows *w,
                              const ll_split *split, ll_part scored, const ll_seasons *seasons,
                              const uint8_t *glitch)
{
    assert(split->n_windows == w->n && seasons->n <= LL_SEASONS);
    *o = (ll_opponents){ .set = ll_new(1, sizeof *o->set) };
    if (o->set == NULL) return LLAP_ENOMEM;
    *o->set = (opponent_set){ .frame = frame, .p = w->panel, .scale = scale, .seasons = *seasons };
    llap_status st = set_init(o->set, var, w, split, scored, glitch);
    for (size_t i = 0; st == LLAP_OK && i < sizeof list / sizeof *list; i++)
        for (int k = 0, n = how_many(&list[i], o->set); st == LLAP_OK && k < n; k++)
            st = add_opponent(o, &list[i], k);
    if (st != LLAP_OK) ll_opponents_deinit(o);
    return st;
}

void ll_opponents_deinit(ll_opponents *o)
{
    for (int i = 0; i < o->n; i++) ll_forecaster_deinit(&o->f[i]);
    set_destroy(o->set);
    *o = (ll_opponents){ 0 };
}
