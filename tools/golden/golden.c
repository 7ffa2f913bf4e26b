/* What all cases share: reading options, running a layer with its gradients, comparing. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -------- options -------- */

static llap_status option(golden *c, const char *key, const char **text)
{
    char full[96];
    snprintf(full, sizeof full, "cfg.%s", key);
    *text = llap_tensors_metadata(c->file, full);
    return *text != NULL ? LLAP_OK
                         : llap_fail(LLAP_EFORMAT, "%s: metadata '%s' is missing", c->path, full);
}

llap_status golden_real(golden *c, const char *key, double *out)
{
    const char *text;
    char       *end;
    llap_status st = option(c, key, &text);
    if (st != LLAP_OK) return st;
    *out = strtod(text, &end);
    if (end != text && *end == '\0') return LLAP_OK;
    return llap_fail(LLAP_EFORMAT, "%s: cfg.%s: expected a number, found '%s'", c->path, key, text);
}

llap_status golden_int(golden *c, const char *key, int64_t *out)
{
    double      v = 0.0;
    llap_status st = golden_real(c, key, &v);
    if (st == LLAP_OK && (v != floor(v) || fabs(v) > 1e9))
        return llap_fail(LLAP_EFORMAT, "%s: cfg.%s: expected a whole number", c->path, key);
    *out = (int64_t)v;
    return st;
}

/* -------- tensors -------- */

bool golden_has(const golden *c, const char *tensor)
{
    llap_tensor_info t;
    return llap_tensors_find(c->file, tensor, &t);
}

static llap_status find(golden *c, const char *tensor, llap_tensor_info *t)
{
    if (!llap_tensors_find(c->file, tensor, t))
        return llap_fail(LLAP_EFORMAT, "%s: no tensor '%s'", c->path, tensor);
    if (t->dtype != LLAP_F32 || t->rank > LLAP_MAX_RANK)
        return llap_fail(LLAP_EFORMAT, "%s: tensor '%s': expected F32 of rank at most %d", c->path,
                         tensor, LLAP_MAX_RANK);
    return LLAP_OK;
}

llap_status golden_shape(golden *c, const char *tensor, llap_shape *out)
{
    llap_tensor_info t;
    llap_status      st = find(c, tensor, &t);
    if (st != LLAP_OK) return st;
    out->rank = t.rank;
    for (int i = 0; i < t.rank; i++) out->dim[i] = t.shape[i];
    return LLAP_OK;
}

llap_status golden_floats(golden *c, const char *tensor, const float **data, int64_t *count)
{
    llap_tensor_info t;
    llap_status      st = find(c, tensor, &t);
    if (st != LLAP_OK) return st;
    *data = t.data;
    *count = t.n_elements;
    return LLAP_OK;
}

llap_tensor *golden_input(golden *c, llap_graph *g, const char *name)
{
    char       full[128];
    llap_shape shape = { 0 };
    snprintf(full, sizeof full, "in.%s", name);
    const llap_status st = golden_shape(c, full, &shape);
    if (st != LLAP_OK) {
        llap_graph_fail(g, st, "%s", llap_error_detail());
        return NULL;
    }
    return llap_input(g, name, shape);
}

/* -------- a layer with its gradients -------- */

static void add_gradients(golden *c, llap_graph *g, llap_tensor *loss, llap_tensor *const *inputs,
                          int n_inputs)
{
    const int     n = llap_graph_n_params(g) + n_inputs;
    llap_tensor **wrt = llap_new(2 * (size_t)n, sizeof *wrt);
    if (wrt == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return;
    }
    for (int i = 0; i < n; i++)
        wrt[i] = i < n_inputs ? inputs[i] : llap_graph_param(g, i - n_inputs);
    llap_gradients(g, loss, wrt, n, wrt + n);
    for (int i = 0; i < n; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s.%s", i < n_inputs ? "gradin" : "grad",
                 llap_tensor_name(wrt[i]));
        if (wrt[n + i] != NULL && golden_has(c, name)) llap_output(g, name, wrt[n + i]);
    }
    llap_free(wrt);
}

static void add_noted(golden *c, llap_graph *g)
{
    for (size_t i = 0; i < llap_tensors_count(c->file); i++) {
        const llap_tensor_info t = llap_tensors_at(c->file, i);
        if (strncmp(t.name, "mid.", 4) != 0) continue;
        llap_tensor *noted = llap_noted(g, t.name + 4);
        if (noted != NULL) llap_output(g, t.name, noted);
    }
}

static llap_status bind_file(golden *c, const llap_plan *plan, llap_run *run)
{
    for (int i = 0; i < llap_plan_n_slots(plan); i++) {
        const llap_slot *s = llap_plan_slot(plan, i);
        char             full[256];
        llap_tensor_info t;
        snprintf(full, sizeof full, "%s.%s", s->leaf == LLAP_LEAF_INPUT ? "in" : "param", s->name);
        llap_status st = find(c, full, &t);
        if (st == LLAP_OK) {
            /* Nothing of the file is written: these graphs update no parameter. */
            st = llap_run_bind(run, s->name, (void *)(uintptr_t)t.data, t.n_elements);
        }
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}

static void compare_outputs(golden *c, const llap_run *run)
{
    for (size_t i = 0; i < llap_tensors_count(c->file); i++) {
        const llap_tensor_info t = llap_tensors_at(c->file, i);
        llap_shape             shape;
        const float           *found = llap_run_output(run, t.name, &shape);
        if (found != NULL) golden_compare(c, t.name, found, llap_shape_count(&shape));
    }
}

llap_status golden_run_layer(golden *c, llap_graph *g, llap_tensor *y, llap_tensor *const *inputs,
                             int n_inputs)
{
    llap_plan   *plan = NULL;
    llap_run    *run = NULL;
    llap_tensor *error = llap_sub(g, y, golden_input(c, g, "target"));
    llap_tensor *loss = llap_mean(g, llap_square(g, error), LLAP_ALL_AXES);
    llap_output(g, "out.y", y);
    llap_output(g, "out.loss", loss);
    add_gradients(c, g, loss, inputs, n_inputs);
    add_noted(c, g);
    llap_status st = llap_plan_create(
        g, &(llap_plan_opts){ .backend = &llap_backend_cpu, .n_threads = 1 }, &plan);
    if (st == LLAP_OK) st = llap_run_create(plan, &run);
    if (st == LLAP_OK) st = bind_file(c, plan, run);
    if (st == LLAP_OK) st = llap_run_exec(run);
    if (st == LLAP_OK) compare_outputs(c, run);
    llap_run_destroy(run);
    llap_plan_release(plan);
    return st;
}
