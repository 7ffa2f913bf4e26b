#include "model/stack_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/fields.h"
#include "base/text.h"
#include "model/stack_member_file.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SCALE = 2 * LL_STACK_BUCKETS - 1, MOST_INPUTS = 4096 };

/* The layout, and what else are single numbers. */
typedef struct head {
    ll_stack_layout l;
    ll_reals        window;
    double          anchor_score, score;
} head;

static const char *const cycles[] = { "none", "day", "week", NULL };
static const char *const turns[] = { "", "sin", "cos", NULL }; /* of ll_stack_turn */

/* clang-format off */
#define REAL(name, lo, hi) { #name, LL_FIELD_REAL, offsetof(head, l.name), lo, hi, NULL }
#define BOOL(name)         { #name, LL_FIELD_BOOL, offsetof(head, l.name), 0, 0, NULL }
static const ll_field fields[] = {
    { "entities", LL_FIELD_INT, offsetof(head, l.entities), 0, 1 << 24, NULL },
    REAL(step, 1e-12, 1e12), REAL(context, 1e-12, 1e12), REAL(horizon, 1e-12, 1e12),
    { "cycle", LL_FIELD_CHOICE, offsetof(head, l.cycle), 0, 0, cycles },
    BOOL(annual), BOOL(irregular), BOOL(elapsed), BOOL(holidays),
    { "statics", LL_FIELD_INT, offsetof(head, l.statics), 0, LL_STATIC_TERMS, NULL },
    { "known", LL_FIELD_INT, offsetof(head, l.known), 0, 1 << 20, NULL },
    { "windows", LL_FIELD_REALS, offsetof(head, window), 1e-12, 1e12, NULL },
    REAL(brief, 1e-12, 1e12), REAL(longer, 1e-12, 1e12),
    { "anchor_score", LL_FIELD_REAL, offsetof(head, anchor_score), 0, 1e12, NULL },
    { "score", LL_FIELD_REAL, offsetof(head, score), 0, 1e12, NULL },
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof *fields };

/* clang-format off */
#define OF(name, lo, hi) { #name, LL_FIELD_REAL, offsetof(ll_stack_diffusion, name), lo, hi, NULL }
static const ll_field diffusion_fields[] = {
    OF(weight, 0, 1), { "ranks", LL_FIELD_BOOL, offsetof(ll_stack_diffusion, ranks), 0, 0, NULL },
    { "samples", LL_FIELD_INT, offsetof(ll_stack_diffusion, samples), 2, LL_STACK_DRAWS_MAX, NULL },
    OF(alone, 0, 1e12), OF(without, 0, 1e12), OF(score, 0, 1e12),
};
/* clang-format on */
enum { DIFFUSION_FIELDS = sizeof diffusion_fields / sizeof *diffusion_fields };

static void put_doubles(ll_json_writer *w, const char *key, const double *v, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, v[i]);
    ll_json_close(w, ']');
}

static void put_flags(ll_json_writer *w, const char *key, const bool *v, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_int(w, NULL, v[i]);
    ll_json_close(w, ']');
}

/* Of each input: "", "sin" or "cos"; and by what it is multiplied. */
static void put_turns(ll_json_writer *w, const ll_stack *s)
{
    ll_json_open(w, "turn", '(');
    for (int64_t i = 0; i < s->layout.inputs; i++)
        ll_json_put_string(w, NULL, turns[s->input[i].turn]);
    ll_json_close(w, ']');
    ll_json_open(w, "by", '(');
    for (int64_t i = 0; i < s->layout.inputs; i++)
        ll_json_put_string(w, NULL, s->input[i].by == NULL ? "" : s->input[i].by);
    ll_json_close(w, ']');
}

/* What each costs where it is missing; nothing where that was not measured. */
static void put_costs(ll_json_writer *w, const ll_stack *s)
{
    const int64_t n = s->layout.inputs;
    if (n == 0 || isnan(s->input[0].cost)) return;
    ll_json_open(w, "cost", '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, s->input[i].cost);
    ll_json_close(w, ']');
}

void ll_stack_write(ll_json_writer *w, const ll_stack *s)
{
    const int64_t V = ll_stack_variables(&s->layout);
    head          h = { .l = s->layout, .anchor_score = s->anchor_score, .score = s->score };
    h.window.n = (int)s->layout.n_windows;
    for (int i = 0; i < h.window.n; i++) h.window.v[i] = s->layout.window[i];
    ll_json_open(w, "stack", '{');
    ll_fields_write(w, fields, FIELDS, &h);
    ll_json_open(w, "inputs", '[');
    for (int64_t i = 0; i < s->layout.inputs; i++) ll_json_put_string(w, NULL, s->input[i].name);
    ll_json_close(w, ']');
    put_turns(w, s);
    put_costs(w, s);
    put_doubles(w, "mean", s->mean, V);
    put_doubles(w, "sd", s->sd, V);
    put_doubles(w, "limit", s->limit, V);
    put_flags(w, "chained", s->chained, s->layout.targets);
    put_doubles(w, "weights", s->weight, 1 + LL_STACK_KINDS);
    ll_json_open(w, "members", '{');
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        const ll_stack_member *m = &s->member[k];
        if (!m->used) continue;
        ll_json_open(w, ll_stack_kind_names[k], '{');
        ll_json_put_int(w, "networks", m->shape.networks);
        ll_json_put_int(w, "hidden", m->shape.hidden);
        ll_json_put_int(w, "steps", m->steps);
        ll_json_put_double(w, "score", m->score);
        put_doubles(w, "start", m->start, LL_STACK_LEVELS);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
    if (s->diffusion.tried) {
        ll_json_open(w, "diffusion", '{');
        ll_fields_write(w, diffusion_fields, DIFFUSION_FIELDS, &s->diffusion);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

/* ---- tensors ---- */

void ll_stack_tensors_deinit(ll_stack_tensors *t)
{
    ll_free(t->neighbour);
    ll_free(t->scale);
    for (int k = 0; k < LL_STACK_KINDS; k++) ll_free(t->columns[k]);
    *t = (ll_stack_tensors){ 0 };
}

llap_status ll_stack_save(const ll_stack *s, const ll_model_frame *f, ll_stack_tensors *kept,
                          ll_tensors_writer *w)
{
    const int64_t C = s->layout.targets, E = s->layout.entities;
    const int64_t near[] = { C, E, LL_STACK_NEIGHBOURS }, scale[] = { C, SCALE };
    llap_status   st = LLAP_OK;
    kept->neighbour = ll_new((size_t)(C * E * LL_STACK_NEIGHBOURS) + 1, sizeof *kept->neighbour);
    kept->scale = ll_new((size_t)(C * SCALE), sizeof *kept->scale);
    if (kept->neighbour == NULL || kept->scale == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < C * E * LL_STACK_NEIGHBOURS; i++)
        kept->neighbour[i] = (float)s->neighbour[i];
    for (int64_t c = 0; c < C; c++)
        for (int i = 0; i < SCALE; i++)
            kept->scale[c * SCALE + i] =
                (float)(i < LL_STACK_BUCKETS - 1 ? s->scale[c].edge[i]
                                                 : s->scale[c].sd[i - LL_STACK_BUCKETS + 1]);
    if (E > 0) st = ll_tensors_writer_add(w, "stack.neighbours", LL_F32, 3, near, kept->neighbour);
    if (st == LLAP_OK && s->layout.statics > 0)
        st = ll_tensors_writer_add(w, "stack.statics", LL_F32, 2,
                                   (int64_t[]){ f->n_entities, s->layout.statics }, s->statics);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, "stack.scale", LL_F32, 2, scale, kept->scale);
    for (int k = 0; k < LL_STACK_KINDS && st == LLAP_OK; k++)
        if (s->member[k].used) st = ll_stack_member_save(&s->member[k], k, &kept->columns[k], w);
    return st;
}

/* ---- loading ---- */

static llap_status get_layout(const ll_json *j, const ll_model_frame *f, head *h)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < FIELDS && st == LLAP_OK; i++) {
        char path[64];
        snprintf(path, sizeof path, "stack.%s", fields[i].key);
        st = ll_json_need(j, path);
    }
    if (st == LLAP_OK) st = ll_fields_read(j, "stack", fields, FIELDS, h);
    if (st != LLAP_OK) return st;
    ll_stack_layout *l = &h->l;
    l->targets = f->n_targets;
    l->n_windows = h->window.n;
    if (h->window.n < 1 || h->window.n > LL_STACK_WINDOWS)
        return ll_json_fail(j, "stack.windows", "expected 1 to %d numbers, found %d",
                            LL_STACK_WINDOWS, h->window.n);
    for (int i = 0; i < h->window.n; i++) l->window[i] = h->window.v[i];
    if (l->entities != 0 && l->entities != f->n_entities)
        return ll_json_fail(j, "stack.entities", "expected 0 or %lld, found %lld",
                            (long long)f->n_entities, (long long)l->entities);
    if (l->known != 0 && l->known != f->n_known)
        return ll_json_fail(j, "stack.known", "expected 0 or %lld, found %lld",
                            (long long)f->n_known, (long long)l->known);
    return LLAP_OK;
}

static llap_status get_tables(const ll_tensors *t, ll_stack *s, size_t *n_tensors)
{
    const int64_t C = s->layout.targets, E = s->layout.entities;
    const int64_t near[] = { C, E, LL_STACK_NEIGHBOURS }, scale[] = { C, SCALE };
    const float  *v = NULL;
    llap_status   st = LLAP_OK;
    if (E > 0) st = ll_stack_file_floats(t, "stack.neighbours", 3, near, n_tensors, &v);
    for (int64_t i = 0; E > 0 && st == LLAP_OK && i < C * E * LL_STACK_NEIGHBOURS; i++) {
        if (!(v[i] >= -1 && v[i] < (float)E && v[i] == floorf(v[i])))
            return ll_fail(LLAP_EFORMAT, "stack.neighbours: element %lld: expected -1..%lld",
                           (long long)i, (long long)E - 1);
        s->neighbour[i] = (int32_t)v[i];
    }
    if (st == LLAP_OK) st = ll_stack_file_floats(t, "stack.scale", 2, scale, n_tensors, &v);
    for (int64_t i = 0; st == LLAP_OK && i < C * SCALE; i++) {
        const int k = (int)(i % SCALE);
        if (k >= LL_STACK_BUCKETS - 1 && !(v[i] > 0))
            return ll_fail(LLAP_EFORMAT, "stack.scale: element %lld is not positive", (long long)i);
        if (k < LL_STACK_BUCKETS - 1) s->scale[i / SCALE].edge[k] = (double)v[i];
        else s->scale[i / SCALE].sd[k - LL_STACK_BUCKETS + 1] = (double)v[i];
    }
    return st;
}

static llap_status get_statics(const ll_tensors *t, const ll_model_frame *f, ll_stack *s,
                               size_t *n_tensors)
{
    const int64_t shape[] = { f->n_entities, s->layout.statics };
    const size_t  n = (size_t)(shape[0] * shape[1]);
    const float  *v = NULL;
    if (n == 0) return LLAP_OK;
    const llap_status st = ll_stack_file_floats(t, "stack.statics", 2, shape, n_tensors, &v);
    if (st != LLAP_OK) return st;
    s->statics = ll_new(n, sizeof *s->statics);
    if (s->statics == NULL) return LLAP_ENOMEM;
    memcpy(s->statics, v, n * sizeof *v);
    return LLAP_OK;
}

static llap_status get_numbers(const ll_json *j, ll_stack *s)
{
    const size_t V = (size_t)ll_stack_variables(&s->layout);
    double       sum = 0;
    llap_status  st = ll_stack_file_doubles(j, "stack.mean", -1e38, 1e38, V, s->mean);
    if (st == LLAP_OK) st = ll_stack_file_doubles(j, "stack.sd", 1e-38, 1e38, V, s->sd);
    if (st == LLAP_OK) st = ll_stack_file_doubles(j, "stack.limit", 0, 1e39, V, s->limit);
    if (st == LLAP_OK)
        st = ll_stack_file_doubles(j, "stack.weights", 0, 1, 1 + LL_STACK_KINDS, s->weight);
    for (int i = 0; i <= LL_STACK_KINDS; i++) sum += s->weight[i];
    if (st == LLAP_OK && fabs(sum - 1) > 1e-6)
        st = ll_json_fail(j, "stack.weights", "expected a sum of 1, found %g", sum);
    return st;
}

/* Models of before have no target in the scale of its anchor. */
static llap_status get_chained(const ll_json *j, ll_stack *s)
{
    const size_t n = (size_t)s->layout.targets;
    double      *flag = ll_json_has(j, "stack.chained") ? ll_new(n, sizeof *flag) : NULL;
    if (!ll_json_has(j, "stack.chained")) return LLAP_OK;
    llap_status st =
        flag == NULL ? LLAP_ENOMEM : ll_stack_file_doubles(j, "stack.chained", 0, 1, n, flag);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        s->chained[i] = flag[i] != 0;
        if (flag[i] != 0 && flag[i] != 1)
            st = ll_json_fail(j, "stack.chained", "expected 0 or 1, found %g", flag[i]);
    }
    ll_free(flag);
    return st;
}

/* As many texts as there are inputs. Caller frees *out. */
static llap_status get_texts(const ll_json *j, const char *path, int64_t n, const char ***out)
{
    size_t      found = 0;
    llap_status st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_strings(j, path, out, &found);
    if (st == LLAP_OK && (int64_t)found != n)
        st = ll_json_fail(j, path, "expected %lld texts, found %zu", (long long)n, found);
    return st;
}

static llap_status copy_text(const char *text, char **out)
{
    *out = ll_strndup(text, strlen(text));
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status get_costs(const ll_json *j, ll_stack *s)
{
    const size_t n = (size_t)s->layout.inputs;
    if (!ll_json_has(j, "stack.cost")) return LLAP_OK;
    double     *cost = ll_new(n, sizeof *cost);
    llap_status st = cost == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_stack_file_doubles(j, "stack.cost", -1, 1e9, n, cost);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) s->input[i].cost = cost[i];
    ll_free(cost);
    return st;
}

static llap_status get_inputs(const ll_json *j, const ll_model_frame *f, const char **name,
                              ll_stack *s)
{
    const int64_t n = s->layout.inputs;
    const char  **turn = NULL, **by = NULL;
    llap_status   st = get_texts(j, "stack.turn", n, &turn);
    if (st == LLAP_OK) st = get_texts(j, "stack.by", n, &by);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        ll_stack_input *in = &s->input[i];
        int             k = 0;
        while (turns[k] != NULL && strcmp(turns[k], turn[i]) != 0) k++;
        if (turns[k] == NULL)
            st = ll_json_fail(j, "stack.turn", "expected '', 'sin' or 'cos', found '%s'",
                              ll_text_show(turn[i]).text);
        else in->turn = (ll_stack_turn)k;
        if (st == LLAP_OK) st = copy_text(name[i], &in->name);
        if (st == LLAP_OK && by[i][0] != '\0') st = copy_text(by[i], &in->by);
    }
    for (int64_t i = 0; i < s->layout.known && st == LLAP_OK; i++)
        st = copy_text(f->known[i], &s->input[n + i].name);
    ll_free((void *)turn);
    ll_free((void *)by);
    return st;
}

static llap_status get_diffusion(const ll_json *j, ll_stack_diffusion *d)
{
    d->tried = ll_json_has(j, "stack.diffusion");
    if (!d->tried) return LLAP_OK;
    const llap_status st =
        ll_fields_only(j, "stack.diffusion", diffusion_fields, DIFFUSION_FIELDS, NULL);
    return st == LLAP_OK
               ? ll_fields_read(j, "stack.diffusion", diffusion_fields, DIFFUSION_FIELDS, d)
               : st;
}

static llap_status get_all(const ll_tensors *t, const ll_json *j, const ll_model_frame *f,
                           const char **input, ll_stack *s, size_t *n_tensors)
{
    llap_status st = get_numbers(j, s);
    if (st == LLAP_OK) st = get_chained(j, s);
    if (st == LLAP_OK) st = get_diffusion(j, &s->diffusion);
    if (st == LLAP_OK) st = get_inputs(j, f, input, s);
    if (st == LLAP_OK) st = get_costs(j, s);
    if (st == LLAP_OK) st = get_tables(t, s, n_tensors);
    if (st == LLAP_OK) st = get_statics(t, f, s, n_tensors);
    if (st == LLAP_OK) st = ll_json_need(j, "stack.members");
    if (st == LLAP_OK) st = ll_json_keys(j, "stack.members", ll_stack_kind_names);
    for (int k = 0; k < LL_STACK_KINDS && st == LLAP_OK; k++) {
        st = ll_stack_member_load(t, j, k, s, n_tensors);
        if (st == LLAP_OK && s->member[k].used != (s->weight[1 + k] > 0))
            st = ll_json_fail(j, "stack.weights", "member '%s' has %s", ll_stack_kind_names[k],
                              s->member[k].used ? "no weight" : "a weight, and is not there");
    }
    return st;
}

llap_status ll_stack_load(const ll_tensors *t, const ll_json *config, const ll_model_frame *f,
                          ll_stack **out, size_t *n_tensors)
{
    static const char *const more[] = { "inputs",  "turn",      "by",      "cost",
                                        "mean",    "sd",        "limit",   "weights",
                                        "members", "diffusion", "chained", NULL };
    head                     h = { 0 };
    const char             **input = NULL;
    size_t                   n = 0;
    *out = NULL;
    llap_status st = ll_fields_only(config, "stack", fields, FIELDS, more);
    if (st == LLAP_OK) st = get_layout(config, f, &h);
    if (st == LLAP_OK) st = ll_json_need(config, "stack.inputs");
    if (st == LLAP_OK) st = ll_json_strings(config, "stack.inputs", &input, &n);
    if (st == LLAP_OK && n > MOST_INPUTS)
        st = ll_json_fail(config, "stack.inputs", "more than %d", MOST_INPUTS);
    h.l.inputs = (int64_t)n;
    if (st == LLAP_OK && ll_stack_describe(&h.l, NULL) > LL_STACK_COLUMNS_MAX)
        st = ll_json_fail(config, "stack.inputs", "more than %d columns", LL_STACK_COLUMNS_MAX);
    if (st == LLAP_OK) st = ll_stack_create(&h.l, out);
    if (st == LLAP_OK) {
        (*out)->anchor_score = h.anchor_score;
        (*out)->score = h.score;
        st = get_all(t, config, f, input, *out, n_tensors);
    }
    ll_free((void *)input);
    if (st != LLAP_OK) {
        ll_stack_destroy(*out);
        *out = NULL;
    }
    return st;
}
