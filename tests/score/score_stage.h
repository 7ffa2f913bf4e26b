/* What an evaluation has before it begins, on panels small enough to be sure. */
#ifndef LLAP_TESTS_SCORE_STAGE_H
#define LLAP_TESTS_SCORE_STAGE_H

#include "data/random_panel.h"

#include "predict/forecaster.h"
#include "predict/view/frame.h"
#include "score/opponents.h"
#include "score/scoring.h"

#define HOUR INT64_C(3600000000000)

typedef struct stage {
    ll_model_frame      frame;
    llap_panel         *p;
    int64_t             var;
    ll_score_scale     *scale;
    ll_windows         *w;
    ll_split           *split;
    ll_forecast_window *list; /* of the test part */
    int64_t             n;
    ll_opponents        o;
} stage;

/* Takes the panel. Context 3 days, horizon 30 hours; the last third tests. */
static inline void stage_init(stage *s, llap_panel *p, const char *entity, int64_t rows)
{
    *s = (stage){ .p = p };
    static const char *names[1], *targets[] = { "v0" };
    names[0] = entity;
    s->frame = (ll_model_frame){ .n_targets = 1,
                                 .n_entities = 1,
                                 .target = targets,
                                 .entity = names,
                                 .axis = LL_AXIS_CALENDAR,
                                 .axis_unit = 1,
                                 .unit = HOUR,
                                 .context = 72 * HOUR,
                                 .horizon = 30 * HOUR,
                                 .step = HOUR,
                                 .val_start = rows / 2 * HOUR,
                                 .test_start = rows * 2 / 3 * HOUR };
    s->scale = ll_new((size_t)p->n_entities, sizeof *s->scale);
    for (int64_t e = 0; e < p->n_entities; e++)
        s->scale[e] =
            (ll_score_scale){ .sd = 1, .lo = -INFINITY, .hi = INFINITY, .clip = INFINITY };
    CHECK_OK(ll_frame_windows(&s->frame, p, &s->var, 1, &s->w));
    CHECK_OK(ll_frame_split(&s->frame, s->w, &s->split));
    s->n = s->split->n[LL_PART_TEST];
    s->list = ll_new((size_t)s->n, sizeof *s->list);
    for (int64_t i = 0, k = 0; i < s->w->n; i++)
        if (s->split->part[i] == LL_PART_TEST) s->list[k++] = ll_forecast_window_of(s->w, i);
    CHECK_OK(ll_forecast_windows_sort(s->list, s->n));
    ll_seasons seasons;
    CHECK_OK(ll_seasons_parse(NULL, &s->frame, &LL_AXIS_UTC, &seasons));
    CHECK_OK(ll_opponents_init(&s->o, &s->frame, s->scale, &s->var, s->w, s->split, LL_PART_TEST,
                               &seasons, NULL));
}

static inline void stage_deinit(stage *s)
{
    ll_opponents_deinit(&s->o);
    ll_free(s->list);
    ll_free(s->scale);
    ll_split_destroy(s->split);
    ll_windows_destroy(s->w);
    llap_panel_destroy(s->p);
}

static inline llap_status stage_score(const stage *s, int32_t *unit, scoring *out)
{
    const ll_forecaster *f[LL_OPPONENTS];
    for (int i = 0; i < s->o.n; i++) f[i] = &s->o.f[i];
    for (int64_t i = 0; i < s->n; i++) unit[i] = (int32_t)i;
    const scoring_input in = { .panel = s->p,
                               .var = &s->var,
                               .n_targets = 1,
                               .scale = s->scale,
                               .w = s->list,
                               .n = s->n,
                               .unit = unit,
                               .n_units = s->n,
                               .leads = ll_leads_of_frame(&s->frame),
                               .entities = true,
                               .f = f,
                               .n_forecasters = s->o.n,
                               .ask = { .n_samples = 20, .seed = 3 } };
    return scoring_run(&in, out);
}

static inline int find(const stage *s, const char *name)
{
    for (int i = 0; i < s->o.n; i++)
        if (strcmp(s->o.f[i].name, name) == 0) return i;
    fail_msg("no opponent '%s'", name);
    return -1;
}

/* Hourly, nothing dropped, a fifth missing. */
static inline llap_panel *holey_panel(void)
{
    return random_panel(4, &(random_shape){ 3, 2, 400, true, 0, 0.2, 0 });
}

#endif
