#include "train/stack/inputs.h"

#include "anchor/chain/glitch.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sort.h"
#include "base/time/civil.h"
#include "predict/view/stack_view.h"
#include "stack/correlation.h"
#include "train/run/targets.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- layout ---- */

/* Do the rows keep to a grid of the model's step? */
static bool is_irregular(const llap_panel *p, int64_t step)
{
    int64_t off = 0, n = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t r = p->start[e] + 1; r < p->start[e + 1]; r++, n++)
            off += ll_elapsed(p->time[r - 1], p->time[r]) % (uint64_t)step != 0;
    return 20 * off > n;
}

/* Is a row of training, by time or by entity? */
static bool trains(const ll_model_frame *f, const llap_panel *p, int64_t e, int64_t row)
{
    return f->by_entity ? f->part[e] == LL_PART_TRAIN : p->time[row] < f->val_start;
}

static ll_stack_layout layout_of(const llap_model *m, const llap_panel *p, int64_t n_inputs)
{
    const ll_model_frame *f = &m->frame;
    const bool            clock = f->axis == LL_AXIS_CALENDAR && !f->by_entity;
    int64_t               first = INT64_MAX;
    for (int64_t e = 0; e < p->n_entities; e++)
        if (p->start[e] < p->start[e + 1] && p->time[p->start[e]] < first)
            first = p->time[p->start[e]];
    ll_stack_layout l = { .targets = f->n_targets,
                          .inputs = n_inputs,
                          .known = f->n_known,
                          .entities = f->by_entity || f->n_entities < 2 ? 0 : f->n_entities,
                          .step = (double)f->step / (double)f->unit,
                          .context = (double)f->context / (double)f->unit,
                          .horizon = (double)f->horizon / (double)f->unit,
                          .cycle = !clock                          ? LL_STACK_CYCLE_NONE
                                   : f->step <= 6 * LL_NS_PER_HOUR ? LL_STACK_CYCLE_DAY
                                                                   : LL_STACK_CYCLE_WEEK,
                          .irregular = is_irregular(p, f->step),
                          .elapsed = f->by_entity };
    l.annual = clock && ll_elapsed(first, f->val_start) >= (uint64_t)(2 * 365 * LL_NS_PER_DAY) &&
               first < f->val_start;
    for (int64_t c = 0; c < f->n_targets; c++)
        l.holidays = l.holidays || m->anchor[c]->chain->holidays != NULL;
    const ll_statics *s = ll_model_statics(m);
    l.statics = s == NULL ? 0 : s->n_terms;
    ll_stack_layout_spans(&l);
    return l;
}

/* ---- which inputs ---- */

enum { MOST_INPUTS = 40, MOST_PAIRS = 20000 };

/* The row of entity e that is `ahead` after row r, or the last one before, with a reading of var;
 * -1: none. *at goes along with r. */
static int64_t row_ahead(const llap_panel *p, int64_t e, int64_t r, int64_t var, int64_t ahead,
                         int64_t *at)
{
    while (*at + 1 < p->start[e + 1] && p->time[*at + 1] - p->time[r] <= ahead) ++*at;
    for (int64_t k = *at; k > r; k--)
        if (ll_panel_observed(p, k, var)) return k;
    return -1;
}

/* How much each input tells about the changes of a target to come, over training. */
static void correlate(const llap_model *m, const llap_panel *p, int64_t var, const int64_t *input,
                      int64_t n, ll_correlation *with)
{
    const ll_model_frame *f = &m->frame;
    const int64_t         half = f->horizon / 2, twelve = 12 * f->step;
    const int64_t         ahead = half < f->step ? f->step : half < twelve ? half : twelve;
    const int64_t         every = p->n_rows / MOST_PAIRS + 1;
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t at = p->start[e];
        for (int64_t r = p->start[e]; r < p->start[e + 1] && trains(f, p, e, r); r += every) {
            at = at < r ? r : at;
            const int64_t to =
                ll_panel_observed(p, r, var) ? row_ahead(p, e, r, var, ahead, &at) : -1;
            if (to < 0 || !trains(f, p, e, to)) continue;
            const double y =
                (double)p->value[to * p->n_vars + var] - (double)p->value[r * p->n_vars + var];
            for (int64_t i = 0; i < n; i++)
                if (ll_panel_observed(p, r, input[i]))
                    ll_correlation_add(&with[i], (double)p->value[r * p->n_vars + input[i]], y);
        }
    }
}

/* Of many inputs those that tell most, in the order of the panel. */
static llap_status keep_best(const llap_model *m, const llap_panel *p, const int64_t *var,
                             int64_t *input, int64_t *n, const llap_log *log)
{
    const int64_t   all = *n;
    double         *score = ll_new(2 * (size_t)all, sizeof *score), *order = score + all;
    ll_correlation *with = ll_new((size_t)all, sizeof *with);
    if (score == NULL || with == NULL) {
        ll_free(score);
        ll_free(with);
        return LLAP_ENOMEM;
    }
    for (int64_t i = 0; i < all; i++) score[i] = -1;
    for (int64_t c = 0; c < m->frame.n_targets; c++) {
        memset(with, 0, (size_t)all * sizeof *with);
        correlate(m, p, var[c], input, all, with);
        for (int64_t i = 0; i < all; i++) score[i] = fmax(score[i], ll_correlation_size(&with[i]));
    }
    memcpy(order, score, (size_t)all * sizeof *order);
    ll_sort_doubles(order, (size_t)all);
    const double least = order[all - MOST_INPUTS];
    int64_t      equal = MOST_INPUTS; /* of the least score, as many as there is room for */
    for (int64_t i = 0; i < all; i++) equal -= score[i] > least;
    *n = 0;
    for (int64_t i = 0; i < all; i++)
        if (score[i] > least || (score[i] == least && equal-- > 0)) input[(*n)++] = input[i];
    ll_logf(log, LLAP_LOG_INFO,
            "stack: of %lld other variables the %lld that tell most about changes to come are "
            "looked at (`inputs` names others)",
            (long long)all, (long long)*n);
    ll_free(score);
    ll_free(with);
    return LLAP_OK;
}

/* ---- directions ---- */

/* Are the readings of training degrees of a circle? They fill it, and they go over its end: their
 * steps are shorter around the circle than along the numbers. */
static bool is_direction(const ll_model_frame *f, const llap_panel *p, int64_t var)
{
    enum { ENOUGH = 100 };
    double  low = 360, high = 0, straight = 0, around = 0, last = NAN;
    int64_t n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        last = NAN;
        for (int64_t r = p->start[e]; r < p->start[e + 1] && trains(f, p, e, r); r++) {
            if (!ll_panel_observed(p, r, var)) continue;
            const double x = (double)p->value[r * p->n_vars + var];
            if (!(x >= 0 && x <= 360)) return false;
            low = fmin(low, x);
            high = fmax(high, x);
            const double step = isnan(last) ? 0 : fabs(x - last);
            straight += step;
            around += fmin(step, 360 - step);
            last = x;
            n++;
        }
    }
    return n >= ENOUGH && low < 30 && high > 330 && straight > 1.25 * around;
}

static bool has_word(const char *name, const char *word)
{
    const size_t n = strlen(word);
    for (; *name != '\0'; name++) {
        size_t i = 0;
        while (i < n && tolower((unsigned char)name[i]) == word[i]) i++;
        if (i == n) return true;
    }
    return false;
}

/* The variable that says how long the vector of a direction is: a speed, by its name; -1: none, or
 * several. */
static int64_t speed_among(const llap_panel *p, const int64_t *input, int64_t n)
{
    static const char *const words[] = { "speed",   "spd",     "wsp",     "sknt", "windgeschw",
                                         "vitesse", "velocid", "velocit", "ff10" };
    int64_t                  found = -1;
    for (int64_t i = 0; i < n; i++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            if (!has_word(p->var[input[i]], words[w])) continue;
            if (found >= 0 && found != input[i]) return -1;
            found = input[i];
        }
    return found;
}

/* ---- statistics ---- */

/* What is rare in an input is news (rain): a glitch is ten times further out than in a target. */
#define INPUT_GLITCH 10.0

typedef struct numbers { /* of one variable, rows of training */
    double    *y;
    bool      *drop;
    ll_series *series; /* [entities] into y */
    double    *limit;  /* [entities + 1] */
} numbers;

static void numbers_deinit(numbers *x)
{
    ll_free(x->y);
    ll_free(x->drop);
    ll_free(x->series);
    ll_free(x->limit);
}

static llap_status numbers_init(numbers *x, const llap_panel *p)
{
    const size_t rows = (size_t)p->n_rows + 1, n = (size_t)p->n_entities + 1;
    *x = (numbers){ .y = ll_new(rows, sizeof *x->y),
                    .drop = ll_new(rows, sizeof *x->drop),
                    .series = ll_new(n, sizeof *x->series),
                    .limit = ll_new(n, sizeof *x->limit) };
    const bool all = x->y != NULL && x->drop != NULL && x->series != NULL && x->limit != NULL;
    return all ? LLAP_OK : LLAP_ENOMEM;
}

/* Mean and deviation without glitches, all entities together. */
static void measure(const numbers *x, size_t n, double limit, double *mean, double *sd)
{
    double sum = 0, squares = 0, count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t e = 0; e < n; e++) {
            const ll_series *s = &x->series[e];
            ll_glitch_mark_past(s->y, s->n, (ll_glitch_rule){ .limit = limit }, x->drop);
            for (size_t i = 0; i < s->n; i++) {
                if (isnan(s->y[i]) || x->drop[i]) continue;
                if (pass == 0) count++, sum += s->y[i];
                else squares += (s->y[i] - *mean) * (s->y[i] - *mean);
            }
        }
        *mean = count > 0 ? sum / count : 0;
    }
    *sd = count > 0 && squares > 0 ? sqrt(squares / count) : 1;
}

/* Limit, mean and deviation of variable number c. */
static llap_status learn(const llap_model *m, const llap_panel *p, int64_t c, numbers *x,
                         ll_stack *s)
{
    const ll_stack_place at = ll_stack_find(m, s, c, p);
    const size_t         n = (size_t)p->n_entities;
    double               end = 1;
    for (size_t e = 0; e < n; e++) {
        const int64_t first = p->start[e];
        size_t        rows = 0;
        ll_stack_readings(&at, p, (int64_t)e, x->y + first);
        while (first + (int64_t)rows < p->start[e + 1] &&
               trains(&m->frame, p, (int64_t)e, first + (int64_t)rows))
            rows++;
        x->series[e] = (ll_series){ .n = rows, .y = x->y + first };
    }
    llap_status st = LLAP_OK;
    if (c < s->layout.targets) {
        const ll_chain *chain = m->anchor[c]->chain;
        s->limit[c] =
            chain->glitch == NULL ? 0 : chain->glitch[chain->n_series] * chain->glitch_end;
    } else {
        st = ll_glitch_fit(x->series, n, true, false, x->limit, &end);
        s->limit[c] = INPUT_GLITCH * x->limit[n];
    }
    measure(x, n, s->limit[c], &s->mean[c], &s->sd[c]);
    return st;
}

/* Do series differ in scale, or by factors rather than by amounts? Then one mean and deviation for
 * all of them says nothing about most. */
static llap_status find_chained(const ll_chain *c, bool *out)
{
    const size_t n = c->n_series;
    *out = c->curve == LL_CURVE_LOG || c->curve == LL_CURVE_LOGIT;
    if (*out || c->curve != LL_CURVE_TAILS || n < 2) return LLAP_OK;
    double *sd = ll_new(n, sizeof *sd);
    if (sd == NULL) return LLAP_ENOMEM;
    memcpy(sd, c->sd, n * sizeof *sd);
    ll_sort_doubles(sd, n);
    *out = sd[9 * (n - 1) / 10] > 4 * sd[(n - 1) / 10];
    ll_free(sd);
    return LLAP_OK;
}

static llap_status learn_all(const llap_model *m, const llap_panel *p, ll_stack *s)
{
    numbers     x;
    llap_status st = numbers_init(&x, p);
    for (int64_t c = 0; c < ll_stack_variables(&s->layout) && st == LLAP_OK; c++)
        st = learn(m, p, c, &x, s);
    for (int64_t c = 0; c < s->layout.targets && st == LLAP_OK; c++)
        st = find_chained(m->anchor[c]->chain, &s->chained[c]);
    numbers_deinit(&x);
    return st;
}

/* ---- inputs ---- */

static llap_status set_input(ll_stack_input *in, const char *name, ll_stack_turn turn,
                             const char *by)
{
    in->turn = turn;
    in->name = ll_strndup(name, strlen(name));
    if (by != NULL) in->by = ll_strndup(by, strlen(by));
    return in->name == NULL || (by != NULL && in->by == NULL) ? LLAP_ENOMEM : LLAP_OK;
}

/* Those of the panel, a direction as two, then the known ones. */
static llap_status name_inputs(ll_stack *s, const llap_model *m, const llap_panel *p,
                               const int64_t *input, const bool *turned, int64_t n)
{
    const int64_t speed = speed_among(p, input, n);
    const char   *by = speed < 0 ? NULL : p->var[speed];
    int64_t       next = 0;
    llap_status   st = LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const char *name = p->var[input[i]];
        st = set_input(&s->input[next++], name, turned[i] ? LL_STACK_SINE : LL_STACK_STRAIGHT,
                       turned[i] ? by : NULL);
        if (st == LLAP_OK && turned[i])
            st = set_input(&s->input[next++], name, LL_STACK_COSINE, by);
    }
    for (int64_t i = 0; i < m->frame.n_known && st == LLAP_OK; i++)
        st = set_input(&s->input[next++], m->frame.known[i], LL_STACK_STRAIGHT, NULL);
    return st;
}

/* The entities of the panel are those of the model. */
static llap_status tell_statics(ll_stack *s, const llap_model *m, const ll_static_column *statics)
{
    const size_t n = (size_t)s->layout.statics, entities = (size_t)m->frame.n_entities;
    double       x[LL_STATIC_TERMS];
    if (n == 0) return LLAP_OK;
    s->statics = ll_new(entities, n * sizeof *s->statics);
    if (s->statics == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < entities; e++) {
        ll_statics_row(ll_model_statics(m), statics, e, x);
        for (size_t i = 0; i < n; i++) s->statics[e * n + i] = (float)x[i];
    }
    return LLAP_OK;
}

llap_status ll_stack_inputs(const llap_model *m, const llap_panel *p, const int64_t *var,
                            const ll_stack_inputs_opts *o, ll_stack **out)
{
    int64_t    *input = NULL, n = 0, more = 0;
    llap_status st = ll_inputs_parse(p, o->names, var, m->frame.n_targets, &input, &n);
    if (st == LLAP_OK && o->names == NULL && n > MOST_INPUTS)
        st = keep_best(m, p, var, input, &n, o->log);
    bool *turned = ll_new((size_t)n + 1, sizeof *turned);
    *out = NULL;
    if (st == LLAP_OK && turned == NULL) st = LLAP_ENOMEM;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        more += turned[i] = is_direction(&m->frame, p, input[i]);
    if (st == LLAP_OK) {
        const ll_stack_layout l = layout_of(m, p, n + more);
        if (ll_stack_describe(&l, NULL) > LL_STACK_COLUMNS_MAX)
            st = ll_fail(LLAP_ELIMIT, "inputs: %lld are too many, name fewer", (long long)n);
        if (st == LLAP_OK) st = ll_stack_create(&l, out);
    }
    if (st == LLAP_OK) st = name_inputs(*out, m, p, input, turned, n);
    if (st == LLAP_OK) st = tell_statics(*out, m, o->statics);
    if (st == LLAP_OK) st = learn_all(m, p, *out);
    ll_free(turned);
    ll_free(input);
    if (st != LLAP_OK) {
        ll_stack_destroy(*out);
        *out = NULL;
    }
    return st;
}
