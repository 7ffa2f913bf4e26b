#include "train/plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "base/time/duration.h"
#include "data/gaps.h"
#include "data/panel_words.h"
#include "data/windows/spans.h"
#include "predict/device.h"
#include "predict/view/compare.h"
#include "predict/view/frame.h"
#include "predict/view/known_series.h"
#include "predict/view/span.h"
#include "rivals/options.h"
#include "train/holidays.h"
#include "train/parts.h"
#include "train/run/budget.h"
#include "train/run/targets.h"
#include "train/statics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Share of the target cells that are observed; without rows that hold known inputs alone. */
static double share_observed(const llap_panel *p, const int64_t *var, int64_t n, bool known)
{
    int64_t seen = 0, rows = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e];
        const int64_t count = known ? ll_observed_until(p, e, var, n) : p->start[e + 1] - first;
        for (int64_t r = first; r < first + count; r++)
            for (int64_t i = 0; i < n; i++) seen += ll_panel_observed(p, r, var[i]);
        rows += count;
    }
    return rows == 0 ? 0 : (double)seen / ((double)rows * (double)n);
}

/* Spans, step and unit of the model to come. */
static llap_status make_frame(const llap_panel *p, const llap_train_opts *o, ll_model_frame *f)
{
    ll_gaps     gaps;
    llap_status st = ll_gaps_measure(p, &gaps);
    if (st != LLAP_OK) return st;
    f->axis = p->axis.kind;
    f->axis_unit = f->axis == LL_AXIS_NUMBER ? p->axis.unit_ns : 1;
    f->step = f->gap = ll_usual_gap(&gaps);
    if (o->step != NULL) st = ll_span_parse("step", o->step, &p->axis, f->step, &f->step);
    if (st == LLAP_OK && f->step <= 0)
        st = ll_fail(LLAP_EINVAL, "the data has no entity with two rows: nothing to learn from");
    if (st == LLAP_OK && o->context == NULL) st = ll_fail(LLAP_EOPTION, "context: not given");
    if (st == LLAP_OK && o->horizon == NULL) st = ll_fail(LLAP_EOPTION, "horizon: not given");
    if (st == LLAP_OK) st = ll_span_parse("context", o->context, &p->axis, f->step, &f->context);
    if (st == LLAP_OK) st = ll_span_parse("horizon", o->horizon, &p->axis, f->step, &f->horizon);
    if (st == LLAP_OK && o->step != NULL && (f->step > f->horizon || f->step > f->context))
        st = ll_fail(LLAP_EOPTION, "step: '%s' is longer than the %s", o->step,
                     f->step > f->horizon ? "horizon" : "context");
    f->unit = f->axis == LL_AXIS_CALENDAR ? LL_NS_PER_HOUR : f->step;
    assert(st != LLAP_OK || (f->step > 0 && f->context > 0 && f->horizon > 0 && f->unit > 0));
    return st;
}

/* "70,10,20", in any unit. */
static llap_status parse_shares(const char *text, ll_split_opts *out)
{
    double      x[3] = { 0 }, sum = 0;
    const char *at = text;
    bool        ok = true;
    for (int i = 0; i < 3 && ok; i++) {
        char *end;
        x[i] = strtod(at, &end);
        sum += x[i];
        ok = end != at && x[i] > 0 && *end == (i < 2 ? ',' : '\0');
        at = end + (i < 2);
    }
    out->train = x[0] / sum;
    out->val = x[1] / sum;
    if (ok && out->train > 0 && out->val > 0 && out->train + out->val < 1) return LLAP_OK;
    return ll_fail(LLAP_EOPTION,
                   "shares: expected three numbers above 0 as in 70,10,20, found '%s'",
                   ll_text_show(text).text);
}

/* First and last row of each part, by time. */
static void find_times(const llap_panel *p, ll_model_frame *f)
{
    bool any[3] = { false };
    for (int64_t r = 0; r < p->n_rows; r++) {
        const int64_t t = p->time[r];
        const int     k = t < f->val_start ? 0 : t < f->test_start ? 1 : 2;
        int64_t      *of = f->part_times[k];
        if (!any[k] || t < of[0]) of[0] = t;
        if (!any[k] || t > of[1]) of[1] = t;
        any[k] = true;
    }
    f->has_times = any[0] && any[1] && any[2];
}

/* Borders of the times, or of every entity its part, drawn by seed. */
static llap_status draw_split(const llap_panel *p, const llap_train_opts *o, const ll_windows *w,
                              ll_model_frame *f, uint8_t *part)
{
    ll_split_opts so = LL_SPLIT_DEFAULT;
    ll_split     *split = NULL;
    if (f->by_entity) so.kind = LL_SPLIT_BY_ENTITY;
    so.seed = (uint64_t)o->seed;
    llap_status st = o->shares == NULL ? LLAP_OK : parse_shares(o->shares, &so);
    if (st == LLAP_OK) st = ll_split_create(w, &so, &split);
    if (st != LLAP_OK) return st;
    f->val_start = split->val_start;
    f->test_start = split->test_start;
    if (!f->by_entity) find_times(p, f);
    memset(part, LL_PART_TEST, (size_t)p->n_entities); /* without a window: never seen */
    for (int64_t i = 0; i < w->n; i++) part[w->at[i].entity] = split->part[i];
    ll_split_destroy(split);
    return LLAP_OK;
}

/* Of every entity the part that the file of the options says. */
static llap_status read_split(const llap_panel *p, const llap_train_opts *o, const ll_windows *w,
                              uint8_t *part)
{
    int64_t     n[LL_PART_COUNT] = { 0 };
    llap_status st = ll_parts_read(o->parts, p, o->log, part);
    for (int64_t i = 0; i < w->n && st == LLAP_OK; i++) {
        assert(part[w->at[i].entity] < LL_PART_COUNT);
        n[part[w->at[i].entity]]++;
    }
    for (int k = 0; k <= LL_PART_TEST && st == LLAP_OK; k++)
        if (n[k] == 0)
            st = ll_fail(LLAP_EINVAL, "parts: %s: no entity for %s that has a window",
                         ll_text_show(o->parts).text, ll_part_name((ll_part)k));
    return st;
}

static void show_span(const ll_axis *a, int64_t ticks, char text[64])
{
    if (a->kind == LL_AXIS_CALENDAR || *a->unit != '\0') ll_duration_format(ticks, text);
    else snprintf(text, 64, "%g", (double)ticks / (double)a->unit_ns);
}

/* What helps where a part is empty, each with what works here. */
static llap_status name_remedies(const llap_panel *p, const int64_t *var, const ll_model_frame *f)
{
    ll_spans s = { .context = f->context, .horizon = f->horizon }, even = s;
    bool     fit = false;
    char     shorter[120] = "", was[400], context[64], horizon[64];
    snprintf(was, sizeof was, "%s", llap_error_detail());
    char *semicolon = strrchr(was, ';');
    if (semicolon != NULL) *semicolon = '\0';
    even.even = true;
    llap_status st = ll_spans_shorten(p, var, f->n_targets, f->step, &s);
    if (st == LLAP_OK) st = ll_spans_fit(p, var, f->n_targets, &even, &fit);
    if (st != LLAP_OK) return st;
    if (s.horizon > 0 && !s.even) {
        show_span(&p->axis, s.context, context);
        show_span(&p->axis, s.horizon, horizon);
        snprintf(shorter, sizeof shorter, "`context` %s and `horizon` %s", context, horizon);
    }
    const bool many = p->n_entities >= 4, any = shorter[0] != '\0';
    return ll_fail(LLAP_EINVAL, "%s; %s%s%s%s%s%s", was,
                   any || fit || many ? "what works here: " : "give more data", shorter,
                   any && fit ? "; " : "", fit ? "`shares` 50,25,25" : "",
                   (any || fit) && many ? "; " : "", many ? "`split` entity" : "");
}

/* One split for all targets: its borders, or the part of every entity, become the frame's. part is
 * [n_entities]. */
static llap_status make_split(const llap_panel *p, const llap_train_opts *o, const int64_t *var,
                              ll_model_frame *f, uint8_t *part)
{
    ll_windows *w = NULL;
    llap_status st = ll_frame_windows(f, p, var, f->n_targets, &w);
    for (int64_t i = 0; st == LLAP_OK && w->n == 0 && i < f->n_targets; i++)
        if (share_observed(p, &var[i], 1, false) == 0)
            st = ll_fail(LLAP_EINVAL, "target: '%s' has no observed value: leave it out",
                         ll_text_show(p->var[var[i]]).text);
    if (st == LLAP_OK && w->n == 0 && f->horizon < f->gap)
        st = ll_fail(LLAP_EINVAL, "horizon: ends before the next row of the data would come: "
                                  "lengthen it");
    const bool spans_only = st == LLAP_OK; /* what is wrong from here on are the spans */
    if (st == LLAP_OK && w->n == 0)
        st = ll_fail(LLAP_EINVAL, "no entity has a context and a horizon of that length with an "
                                  "observed value: shorten them");
    if (st == LLAP_OK)
        st = o->parts == NULL ? draw_split(p, o, w, f, part) : read_split(p, o, w, part);
    if (spans_only && st == LLAP_EINVAL && o->parts == NULL && !f->by_entity)
        st = name_remedies(p, var, f);
    f->part = part;
    ll_windows_destroy(w);
    return st;
}

static llap_status choose_size(llap_train_size asked, int *size)
{
    *size = asked == LLAP_TRAIN_SIZE_ANCHOR  ? LL_TRAIN_NONE
            : asked == LLAP_TRAIN_SIZE_STACK ? LL_TRAIN_STACK
            : asked == LLAP_TRAIN_SIZE_TINY  ? (int)LL_SIZE_TINY
                                             : (int)LL_SIZE_SMALL;
    if (asked != LLAP_TRAIN_SIZE_PAPER) return LLAP_OK;
    return ll_fail(LLAP_EOPTION, "size: expected anchor, tiny, small or stack, found 'paper'");
}

void ll_train_plan_deinit(ll_train_plan *l)
{
    ll_free((void *)l->names);
    ll_free(l->var);
    ll_free(l->part);
    ll_free(l->known);
    ll_static_table_deinit(&l->statics);
}

static llap_status check_holidays(const llap_panel *p, const llap_train_opts *o, bool reference)
{
    ll_holiday_list *h = NULL;
    if (reference)
        return ll_fail(LLAP_EOPTION, "holidays: the reference profile has no anchors to use them");
    const llap_status st = ll_train_holidays(p, o, &h);
    ll_holidays_destroy(h);
    return st;
}

/* Are they columns of the data? */
static llap_status check_inputs(const llap_panel *p, const llap_train_opts *o, const int64_t *var,
                                int64_t n_targets)
{
    int64_t          *input = NULL, n = 0;
    const llap_status st = ll_inputs_parse(p, o->inputs, var, n_targets, &input, &n);
    ll_free(input);
    return st;
}

static llap_status check_budget(const llap_train_opts *o, bool reference)
{
    double            seconds;
    const llap_status st = ll_budget_seconds(o, &seconds);
    if (st == LLAP_OK && seconds > 0 && reference)
        return ll_fail(LLAP_EOPTION, "budget: the reference profile trains what `steps` says");
    return st;
}

/* What a published model does not have. */
static llap_status choose_rival(const llap_train_opts *o, ll_train_plan *l)
{
    const struct {
        bool        given;
        const char *name;
    } of_ours[] = {
        { l->reference, "profile" },
        { o->size != LLAP_TRAIN_SIZE_DEFAULT, "size" },
        { o->diffusion > LLAP_TRAIN_DIFFUSION_NO, "diffusion" },
        { o->view != LLAP_TRAIN_VIEW_AUTO, "view" },
        { o->members > 1, "members" },
        { o->micro_batches > 1, "micro_batches" },
        { o->from != NULL, "from" },
        { o->network != NULL, "network" },
        { o->kind != NULL && strcmp(o->kind, "auto") != 0, "kind" },
        { o->min != NULL, "min" },
        { o->max != NULL, "max" },
        { o->link != 0, "link" },
        { o->no_climate != 0, "no_climate" },
        { o->periods != NULL, "periods" },
        { o->glitches != LLAP_TRAIN_GLITCHES_DEFAULT, "glitches" },
        { o->known != NULL, "known" },
        { o->statics != NULL && strcmp(o->statics, "none") != 0, "static" },
        { o->holidays != NULL, "holidays" },
        { o->budget != NULL, "budget" },
    };
    if (o->rival == NULL && o->rival_options != NULL)
        return ll_fail(LLAP_EOPTION, "rival_options: there is no `rival`");
    if (o->rival == NULL) return LLAP_OK;
    if ((l->rival = ll_rival_named(o->rival)) == NULL)
        return ll_fail(LLAP_EOPTION,
                       "rival: expected dlinear, patchtst, mrdiff, timegrad, mtan, tpatchgnn, "
                       "contiformer, neuralcde or csdi, found '%s'",
                       ll_text_show(o->rival).text);
    for (size_t i = 0; i < sizeof of_ours / sizeof *of_ours; i++)
        if (of_ours[i].given)
            return ll_fail(LLAP_EOPTION, "%s: a published model does not have this option",
                           of_ours[i].name);
    return LLAP_OK;
}

/* Also after a failure *l is the caller's to deinit. */
llap_status ll_train_plan_init(const llap_panel *p, const llap_train_opts *o, ll_train_plan *l)
{
    ll_model_frame *f = &l->frame;
    *l = (ll_train_plan){ .size = LL_TRAIN_NONE,
                          .frame = { .n_entities = p->n_entities, .entity = p->entity } };
    f->by_entity = o->parts != NULL || o->split == LLAP_TRAIN_SPLIT_ENTITY;
    l->reference = o->profile == LLAP_TRAIN_PROFILE_REFERENCE;
    if (o->parts != NULL && o->split == LLAP_TRAIN_SPLIT_TIME)
        return ll_fail(LLAP_EOPTION, "parts: assigns entities to parts, but split is 'time'");
    if (o->parts != NULL && o->shares != NULL)
        return ll_fail(LLAP_EOPTION,
                       "shares: cannot be given with parts, which assigns the entities");
    llap_status st = LLAP_OK;
    if (o->shares != NULL) st = parse_shares(o->shares, &(ll_split_opts){ 0 });
    if (st == LLAP_OK) st = choose_rival(o, l);
    if (st == LLAP_OK) st = check_budget(o, l->reference);
    if (st == LLAP_OK && !l->reference && l->rival == NULL) st = choose_size(o->size, &l->size);
    if (st == LLAP_OK && o->inputs != NULL && l->size != LL_TRAIN_STACK && l->rival == NULL)
        st = ll_fail(LLAP_EOPTION, "inputs: only size stack looks at some of the variables");
    l->diffusion = o->diffusion > LLAP_TRAIN_DIFFUSION_NO;
    l->networks = o->diffusion == LLAP_TRAIN_DIFFUSION_TINY ? LL_SIZE_TINY : LL_SIZE_SMALL;
    if (l->size >= 0) l->networks = (ll_size)l->size;
    if (st == LLAP_OK && l->diffusion && l->size != LL_TRAIN_STACK)
        st = ll_fail(LLAP_EOPTION, "diffusion: it is a member of a model of size stack");
    if (st == LLAP_OK) st = ll_backend_choose(o->device, o->precision, &l->backend);
    if (st == LLAP_OK) st = ll_targets_parse(p, o->target, o->log, &l->var, &f->n_targets);
    if (st == LLAP_OK) st = ll_known_parse(p, o, l->var, &f->n_targets, &l->known, &f->n_known);
    if (st == LLAP_OK && f->n_known > 0 && l->reference)
        st = ll_fail(LLAP_EOPTION, "known: the reference profile has no anchors to use it");
    if (st == LLAP_OK)
        st = ll_train_statics(
            p, o, &(ll_train_columns){ l->var, &f->n_targets, l->known, f->n_known }, &l->statics);
    if (st == LLAP_OK && l->statics.n > 0 && l->reference)
        st = ll_fail(LLAP_EOPTION, "static: the reference profile has no anchors to use it");
    if (st == LLAP_OK && o->holidays != NULL) st = check_holidays(p, o, l->reference);
    if (st == LLAP_OK && o->inputs != NULL) st = check_inputs(p, o, l->var, f->n_targets);
    if (st == LLAP_OK) st = make_frame(p, o, f);
    if (st != LLAP_OK) return st;
    f->observed = share_observed(p, l->var, f->n_targets, f->n_known > 0);
    l->part = ll_new((size_t)p->n_entities, 1);
    l->names = ll_new((size_t)(f->n_targets + f->n_known), sizeof *l->names);
    if (l->part == NULL || l->names == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < f->n_targets; i++) l->names[i] = p->var[l->var[i]];
    for (int64_t i = 0; i < f->n_known; i++) l->names[f->n_targets + i] = p->var[l->known[i]];
    f->target = (const char *const *)l->names;
    f->known = (const char *const *)l->names + f->n_targets;
    if (p->words != NULL && p->words->n_levels > LL_MODEL_LEVELS)
        return ll_fail(LLAP_ELIMIT, "%zu words are codes, more than %d: leave such columns out",
                       (size_t)p->words->n_levels, LL_MODEL_LEVELS);
    if (p->words != NULL) {
        f->n_levels = (int64_t)p->words->n_levels;
        f->levels = (const char *const *)p->words->level;
    }
    f->n_statics = l->statics.n;
    f->statics = l->statics.name;
    st = ll_targets_check(o, f->target, f->n_targets);
    if (st != LLAP_OK) return st;
    return make_split(p, o, l->var, f, l->part);
}

llap_status ll_train_plan_read(ll_train_plan *l, const ll_json *config)
{
    const bool alone = !l->reference && l->size < 0 && !l->diffusion;
    l->recipe = (ll_recipe){ .profile = l->reference ? LL_PROFILE_REFERENCE : LL_PROFILE_DEFAULT,
                             .alone = alone,
                             .rival = l->rival != NULL,
                             .stacked = !l->reference && l->size == LL_TRAIN_STACK,
                             .stack = LL_RECIPE_STACK,
                             .anchor = ll_recipe_anchor_usual(),
                             .networks = { LL_RECIPE_MARGINS } };
    if (alone && config != NULL && ll_json_has(config, "network"))
        return ll_json_fail(config, "network", "a model of size %s has no networks",
                            l->recipe.rival     ? "rival"
                            : l->recipe.stacked ? "stack"
                                                : "anchor");
    return ll_recipe_read(config, &l->recipe);
}
