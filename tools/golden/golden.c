/* What all cases share: reading options, describing inputs, running. */
#include "golden.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "frame.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void golden_fail(golden *c, llap_status st, const char *fmt, ...)
{
    if (c->status != LLAP_OK) return;
    char    text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->status = ll_fail(st, "%s: %s", c->path, text);
}

static void take_status(golden *c, llap_status st)
{
    if (c->status == LLAP_OK) c->status = st;
}

/* -------- options -------- */

static const char *option(golden *c, const char *key)
{
    char full[96];
    snprintf(full, sizeof full, "cfg.%s%s", c->part != NULL ? c->part : "", key);
    const char *text = ll_tensors_metadata(c->file, full);
    if (text == NULL) golden_fail(c, LLAP_EFORMAT, "metadata '%s' is missing", full);
    return text;
}

double golden_real(golden *c, const char *key)
{
    const char *text = option(c, key);
    char       *end = NULL;
    if (text == NULL) return 0.0;
    const double v = strtod(text, &end);
    if (end == text || *end != '\0')
        golden_fail(c, LLAP_EFORMAT, "cfg.%s: expected a number, found '%s'", key, text);
    return v;
}

int64_t golden_int(golden *c, const char *key)
{
    const double v = golden_real(c, key);
    if (v == floor(v) && fabs(v) <= 1e9) return (int64_t)v;
    golden_fail(c, LLAP_EFORMAT, "cfg.%s: expected a whole number, found %g", key, v);
    return 0;
}

bool golden_is(golden *c, const char *key, const char *value)
{
    const char *text = option(c, key);
    return text != NULL && strcmp(text, value) == 0;
}

int golden_choice(golden *c, const char *key, const char *const *names)
{
    const char *text = option(c, key);
    if (text == NULL) return 0;
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) return i;
    golden_fail(c, LLAP_EFORMAT, "cfg.%s: unknown choice '%s'", key, text);
    return 0;
}

void golden_list(golden *c, const char *key, ll_reals *out)
{
    const char *text = option(c, key);
    ll_json    *json = NULL;
    double     *v = NULL;
    size_t      n = 0;
    *out = (ll_reals){ 0 };
    if (text == NULL) return;
    llap_status st = ll_json_parse(text, strlen(text), key, NULL, &json);
    if (st == LLAP_OK) st = ll_json_doubles(json, "", -1e9, 1e9, &v, &n);
    take_status(c, st);
    if (n > LL_REALS_MAX) golden_fail(c, LLAP_EFORMAT, "cfg.%s: too many numbers", key);
    for (; c->status == LLAP_OK && out->n < (int)n; out->n++) out->v[out->n] = v[out->n];
    ll_free(v);
    ll_json_destroy(json);
}

/* -------- tensors of the file -------- */

bool golden_has(const golden *c, const char *tensor)
{
    ll_tensor_info t;
    return ll_tensors_find(c->file, tensor, &t);
}

static bool find(golden *c, const char *tensor, ll_tensor_info *t)
{
    if (c->status != LLAP_OK) return false;
    if (!ll_tensors_find(c->file, tensor, t))
        golden_fail(c, LLAP_EFORMAT, "no tensor '%s'", tensor);
    else if (t->rank > LL_MAX_RANK)
        golden_fail(c, LLAP_EFORMAT, "tensor '%s': rank over %d", tensor, LL_MAX_RANK);
    return c->status == LLAP_OK;
}

ll_shape golden_shape(golden *c, const char *tensor)
{
    ll_tensor_info t;
    ll_shape       s = { 0 };
    if (!find(c, tensor, &t)) return s;
    s.rank = t.rank;
    for (int i = 0; i < t.rank; i++) s.dim[i] = t.shape[i];
    return s;
}

int64_t golden_dim(golden *c, const char *tensor, int axis)
{
    const ll_shape s = golden_shape(c, tensor);
    const int      i = axis < 0 ? axis + s.rank : axis;
    if (i >= 0 && i < s.rank) return s.dim[i];
    golden_fail(c, LLAP_EFORMAT, "tensor '%s' has no axis %d", tensor, axis);
    return 0;
}

double *golden_new(golden *c, int64_t count)
{
    double *x = ll_arena_new(&c->arena, (size_t)count, sizeof *x);
    if (x == NULL) take_status(c, LLAP_ENOMEM);
    return x;
}

double *golden_values(golden *c, const char *tensor)
{
    ll_tensor_info t;
    if (!find(c, tensor, &t)) return NULL;
    double *x = golden_new(c, t.n_elements);
    for (int64_t i = 0; x != NULL && i < t.n_elements; i++) x[i] = golden_element(&t, i);
    return x;
}

/* -------- describing -------- */

static void remember(golden *c, const char *name, const double *values, int64_t count)
{
    struct golden_given *given = ll_arena_new(&c->arena, 1, sizeof *given);
    if (given == NULL) {
        take_status(c, LLAP_ENOMEM);
        return;
    }
    *given = (struct golden_given){ c->given, name, values, count };
    c->given = given;
}

ll_tensor *golden_give(golden *c, const char *name, ll_shape shape, double *values)
{
    if (c->status != LLAP_OK || values == NULL) return NULL;
    remember(c, name, values, ll_shape_count(&shape));
    return ll_input(c->graph, name, shape);
}

static ll_tensor *input_of_file(golden *c, const char *name, bool whole)
{
    char full[128];
    snprintf(full, sizeof full, "in.%s", name);
    if (!golden_has(c, full)) return NULL;
    const ll_shape shape = golden_shape(c, full);
    double        *values = golden_values(c, full);
    if (!whole) return golden_give(c, name, shape, values);
    if (c->status == LLAP_OK) remember(c, name, values, ll_shape_count(&shape));
    return ll_input_int(c->graph, name, shape);
}

ll_tensor *golden_input(golden *c, const char *name) { return input_of_file(c, name, false); }
ll_tensor *golden_input_int(golden *c, const char *name) { return input_of_file(c, name, true); }

void golden_output(golden *c, const char *tensor, ll_tensor *x)
{
    if (x != NULL && golden_has(c, tensor)) ll_output(c->graph, tensor, x);
}

void golden_mid(golden *c, const char *tensor, const char *noted)
{
    golden_output(c, tensor, ll_noted(c->graph, noted));
}

/* The parameters that the loss does not reach, as the file tells them; closed by NULL. */
static const char **unreached(golden *c, ll_json **out)
{
    const char  *text = ll_tensors_metadata(c->file, "grad_none");
    const char **names = NULL, **list = NULL;
    size_t       n = 0;
    *out = NULL;
    if (text != NULL) {
        llap_status st = ll_json_parse(text, strlen(text), "grad_none", NULL, out);
        if (st == LLAP_OK) st = ll_json_strings(*out, "", &names, &n);
        take_status(c, st);
    }
    list = ll_arena_new(&c->arena, n + 2, sizeof *list);
    if (list == NULL) take_status(c, LLAP_ENOMEM);
    for (size_t i = 0; list != NULL && i < n; i++) list[i] = names[i];
    if (list != NULL) list[n] = "scheduler."; /* tables, not parameters */
    ll_free(names);
    return list;
}

void golden_gradients(golden *c, ll_tensor *loss)
{
    ll_graph    *g = c->graph;
    const int    n = ll_graph_n_leaves(g);
    ll_tensor  **wrt = ll_arena_new(&c->arena, 2 * (size_t)n + 1, sizeof *wrt), **grad = wrt + n;
    const char **name = ll_arena_new(&c->arena, (size_t)n + 1, sizeof *name);
    if (wrt == NULL || name == NULL) take_status(c, LLAP_ENOMEM);
    if (c->status != LLAP_OK) return;
    int n_wrt = 0;
    for (int i = 0; i < n; i++) {
        const ll_leaf_info l = ll_graph_leaf(g, i);
        const bool         is_param = l.leaf == LL_LEAF_PARAM;
        const char        *full =
            ll_arena_printf(&c->arena, "%s.%s", is_param ? "grad" : "gradin", l.name);
        if (full == NULL) take_status(c, LLAP_ENOMEM);
        if (full == NULL || l.elem != LL_REAL || l.leaf == LL_LEAF_STATE) continue;
        if (!is_param && !golden_has(c, full)) continue;
        name[n_wrt] = full;
        wrt[n_wrt++] =
            is_param ? ll_param(g, l.name, l.shape, l.init) : ll_input(g, l.name, l.shape);
    }
    ll_gradients(g, loss, wrt, n_wrt, grad);
    for (int i = 0; i < n_wrt; i++)
        if (grad[i] != NULL) ll_output(g, name[i], grad[i]);
}

void golden_noted(golden *c)
{
    for (size_t i = 0; i < ll_tensors_count(c->file); i++) {
        const ll_tensor_info t = ll_tensors_at(c->file, i);
        if (strncmp(t.name, "mid.", 4) != 0) continue;
        golden_mid(c, t.name, t.name + 4);
    }
}

/* -------- running -------- */

void golden_plan(golden *c)
{
    if (c->status != LLAP_OK) return;
    const ll_plan_opts opts = { .backend = c->backend, .n_threads = c->n_threads };
    take_status(c, ll_params_create(c->graph, c->backend, &c->params));
    if (c->status == LLAP_OK) take_status(c, ll_plan_create(c->graph, &opts, &c->plan));
    if (c->status == LLAP_OK) take_status(c, ll_run_create(c->plan, &c->run));
    if (c->status == LLAP_OK)
        take_status(c, ll_params_bind(c->params, LL_PARAMS_MODEL, c->plan, c->run));
}

void golden_load(golden *c)
{
    ll_json           *names;
    const ll_load_opts opts = { .prefix = "param.", .ignore = unreached(c, &names) };
    if (c->status == LLAP_OK)
        take_status(c, ll_params_load(c->params, LL_PARAMS_MODEL, c->file, &opts));
    for (int i = 0; c->status == LLAP_OK && opts.ignore[i] != NULL; i++) {
        char grad[256];
        snprintf(grad, sizeof grad, "grad.%s", opts.ignore[i]);
        if (ll_run_output(c->run, grad, NULL) != NULL)
            golden_fail(c, LLAP_ENUMERIC, "%s: expected none, found one", grad);
    }
    ll_json_destroy(names);
}

void golden_bind_values(golden *c, const char *name, const double *values, int64_t count)
{
    if (c->status != LLAP_OK || values == NULL) return;
    const ll_slot *slot = NULL;
    for (int i = 0; i < ll_plan_n_slots(c->plan) && slot == NULL; i++)
        if (strcmp(ll_plan_slot(c->plan, i)->name, name) == 0) slot = ll_plan_slot(c->plan, i);
    if (slot == NULL) return; /* no result depends on it */
    void *data = golden_new(c, count);
    for (int64_t k = 0; data != NULL && k < count; k++) {
        if (slot->elem == LL_INT) ((int32_t *)data)[k] = (int32_t)values[k];
        else if (c->backend->real_bytes == sizeof(double)) ((double *)data)[k] = values[k];
        else ((float *)data)[k] = (float)values[k];
    }
    if (data != NULL) take_status(c, ll_run_bind(c->run, name, data, count));
}

void golden_bind(golden *c)
{
    for (const struct golden_given *i = c->given; i != NULL; i = i->next)
        golden_bind_values(c, i->name, i->values, i->count);
}

void golden_exec(golden *c)
{
    if (c->status == LLAP_OK) take_status(c, ll_params_push(c->params));
    if (c->status == LLAP_OK) take_status(c, ll_run_exec(c->run));
    if (c->status == LLAP_OK) take_status(c, ll_params_pull(c->params));
}

double *golden_result(golden *c, const char *output, int64_t *count)
{
    ll_shape    shape;
    const void *data = c->status == LLAP_OK ? ll_run_output(c->run, output, &shape) : NULL;
    if (data == NULL) return NULL;
    *count = ll_shape_count(&shape);
    double *x = golden_new(c, *count);
    for (int64_t k = 0; x != NULL && k < *count; k++)
        x[k] = c->backend->real_bytes == sizeof(double) ? ((const double *)data)[k]
                                                        : (double)((const float *)data)[k];
    return x;
}

void golden_compare_outputs(golden *c)
{
    for (size_t i = 0; i < ll_tensors_count(c->file); i++) {
        const char   *name = ll_tensors_at(c->file, i).name;
        int64_t       count = 0;
        const double *found = golden_result(c, name, &count);
        if (found != NULL) golden_compare(c, name, found, count, NULL);
    }
}

void golden_after(golden *c)
{
    for (size_t i = 0; c->status == LLAP_OK && i < ll_tensors_count(c->file); i++) {
        const ll_tensor_info t = ll_tensors_at(c->file, i);
        if (strncmp(t.name, "after.", 6) != 0) continue;
        const ll_param_info *p = ll_params_find(c->params, t.name + 6);
        double              *x = p == NULL ? NULL : golden_new(c, p->count);
        for (int64_t k = 0; x != NULL && k < p->count; k++) x[k] = ll_param_get(c->params, p, k);
        golden_compare(c, t.name, x, p == NULL ? 0 : p->count, NULL);
    }
}

void golden_run(golden *c, ll_tensor *loss)
{
    if (loss != NULL) golden_gradients(c, loss);
    golden_noted(c);
    golden_plan(c);
    golden_load(c);
    golden_bind(c);
    golden_exec(c);
    golden_compare_outputs(c);
}
