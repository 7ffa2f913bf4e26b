#include "model/rival.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "rival."

/* A store of the same layout as every backend's that computes in floats. */
static const ll_backend floats = { .name = "floats", .real_bytes = sizeof(float) };

static const char *const rhythms[] = {
    [LL_RIVAL_HOURLY] = "hourly", [LL_RIVAL_DAILY] = "daily", [LL_RIVAL_STAYS] = "stays", NULL
};

/* -------- the container -------- */

/* The graph that has all parameters; nothing is dropped, so that it has no state of draws. */
static void declare(ll_graph *g, const ll_rival_task *k)
{
    ll_rival_task quiet = *k;
    for (int i = 0; i < k->kind->n_fields; i++) {
        const ll_field *f = &k->kind->field[i];
        if (strcmp(f->key, "dropout") != 0) continue;
        assert(f->kind == LL_FIELD_REAL);
        *(double *)(void *)((char *)&quiet.config + f->offset) = 0.0;
    }
    ll_rival_loss(g, &quiet, 1);
}

static llap_status copy_inputs(ll_rival_model *r, const char *const *input, int64_t n)
{
    const char **copy = ll_arena_new(&r->arena, (size_t)n, sizeof *copy);
    if (copy == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        if ((copy[i] = ll_arena_strndup(&r->arena, input[i], strlen(input[i]))) == NULL)
            return LLAP_ENOMEM;
    r->input = (const char *const *)copy;
    return LLAP_OK;
}

static llap_status create(const ll_rival_task *k, int64_t n_entities, const char *const *input,
                          const ll_graph *g, ll_rival_model **out)
{
    const int64_t   n = (n_entities + 1) * k->vars;
    ll_rival_model *r = ll_new(1, sizeof *r);
    *out = NULL;
    if (r == NULL) return LLAP_ENOMEM;
    *r = (ll_rival_model){ .task = *k, .n_entities = n_entities };
    llap_status st = copy_inputs(r, input, k->vars - k->targets);
    r->mean = ll_new((size_t)n, sizeof *r->mean);
    r->sd = ll_new((size_t)n, sizeof *r->sd);
    if (r->mean == NULL || r->sd == NULL) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) r->sd[i] = 1.0f;
    if (st == LLAP_OK) st = ll_params_create(g, &floats, &r->params);
    if (st == LLAP_OK) *out = r;
    else ll_rival_model_destroy(r);
    return st;
}

llap_status ll_rival_model_create(const ll_rival_task *k, int64_t n_entities,
                                  const char *const *input, ll_rival_model **out)
{
    ll_graph   *g = NULL;
    llap_status st = ll_rival_task_check(k);
    *out = NULL;
    if (st == LLAP_OK) st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    declare(g, k);
    st = ll_graph_status(g);
    if (st == LLAP_OK) st = create(k, n_entities, input, g, out);
    ll_graph_destroy(g);
    return st;
}

void ll_rival_model_destroy(ll_rival_model *r)
{
    if (r == NULL) return;
    ll_params_destroy(r->params);
    ll_free(r->mean);
    ll_free(r->sd);
    ll_arena_deinit(&r->arena);
    ll_free(r);
}

int64_t ll_rival_model_parameters(const ll_rival_model *r)
{
    int64_t n = 0;
    for (int i = 0; i < ll_params_count(r->params); i++) {
        const ll_param_info *x = ll_params_at(r->params, i);
        if (x->leaf == LL_LEAF_PARAM) n += x->count;
    }
    return n;
}

/* -------- writing -------- */

void ll_rival_write(ll_json_writer *w, const ll_rival_model *r)
{
    const ll_rival_task *k = &r->task;
    ll_json_open(w, "rival", '{');
    ll_json_put_string(w, "model", k->kind->name);
    ll_json_put_int(w, "rows", k->data.context);
    ll_json_put_int(w, "steps", k->data.horizon);
    ll_json_put_double(w, "context", k->context);
    ll_json_put_double(w, "horizon", k->horizon);
    ll_json_put_string(w, "rhythm", rhythms[k->data.rhythm]);
    ll_json_put_bool(w, "small", k->data.small);
    ll_json_put_int(w, "calendar", k->calendar);
    ll_json_open(w, "inputs", '(');
    for (int64_t i = 0; i < k->vars - k->targets; i++) ll_json_put_string(w, NULL, r->input[i]);
    ll_json_close(w, ']');
    ll_json_open(w, "options", '{');
    ll_fields_write(w, k->kind->field, k->kind->n_fields, &k->config);
    ll_json_close(w, '}');
    ll_json_close(w, '}');
}

llap_status ll_rival_save(const ll_rival_model *r, ll_tensors_writer *w)
{
    const int64_t shape[] = { r->n_entities + 1, r->task.vars };
    llap_status   st = ll_params_save(r->params, LL_PARAMS_MODEL, PREFIX, w);
    if (st == LLAP_OK)
        st = ll_tensors_writer_add(w, PREFIX "scale.mean", LL_F32, 2, shape, r->mean);
    if (st == LLAP_OK) st = ll_tensors_writer_add(w, PREFIX "scale.std", LL_F32, 2, shape, r->sd);
    return st;
}

/* -------- loading -------- */

/* What it looks at beside the targets; caller owns *input. */
static llap_status read_inputs(const ll_json *j, ll_rival_task *k, const char ***input)
{
    size_t      n = 0;
    llap_status st = ll_json_need(j, "rival.inputs");
    if (st == LLAP_OK) st = ll_json_strings(j, "rival.inputs", input, &n);
    if (st == LLAP_OK && n > LL_RIVAL_VARS)
        st = ll_json_fail(j, "rival.inputs", "expected at most %d names, found %zu", LL_RIVAL_VARS,
                          n);
    for (size_t i = 1; st == LLAP_OK && i < n; i++)
        for (size_t m = 0; m < i; m++)
            if (strcmp((*input)[i], (*input)[m]) == 0)
                return ll_json_fail(j, "rival.inputs", "'%s' is there twice",
                                    ll_text_show((*input)[i]).text);
    k->vars = k->targets + (int64_t)n;
    return st;
}

static llap_status read_options(const ll_json *j, ll_rival_task *k)
{
    static const char *const path = "rival.options";
    const ll_rival          *r = k->kind;
    llap_status              st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_fields_only(j, path, r->field, r->n_fields, NULL);
    for (int i = 0; i < r->n_fields && st == LLAP_OK; i++) {
        char key[96];
        snprintf(key, sizeof key, "%s.%s", path, r->field[i].key);
        st = ll_json_need(j, key);
    }
    return st == LLAP_OK ? ll_fields_read(j, path, r->field, r->n_fields, &k->config) : st;
}

static llap_status read_task(const ll_json *j, ll_rival_task *k, const char ***input)
{
    static const char *const keys[] = { "model",   "rows",    "steps", "context",
                                        "horizon", "rhythm",  "small", "calendar",
                                        "inputs",  "options", NULL };
    const char              *name = NULL;
    int                      rhythm = 0;
    llap_status              st = ll_json_keys(j, "rival", keys);
    for (int i = 0; keys[i] != NULL && st == LLAP_OK; i++) {
        char path[32];
        snprintf(path, sizeof path, "rival.%s", keys[i]);
        st = ll_json_need(j, path);
    }
    if (st == LLAP_OK) st = ll_json_string(j, "rival.model", &name);
    if (st == LLAP_OK && (k->kind = ll_rival_named(name)) == NULL)
        st = ll_json_fail(j, "rival.model", "no model that is known here: '%s'",
                          ll_text_show(name).text);
    if (st == LLAP_OK) st = ll_json_int(j, "rival.rows", 1, LL_RIVAL_ROWS, &k->data.context);
    if (st == LLAP_OK) st = ll_json_int(j, "rival.steps", 1, LL_RIVAL_ROWS, &k->data.horizon);
    if (st == LLAP_OK) st = ll_json_double(j, "rival.context", 0, 1e12, &k->context);
    if (st == LLAP_OK) st = ll_json_double(j, "rival.horizon", 0, 1e12, &k->horizon);
    if (st == LLAP_OK) st = ll_json_enum(j, "rival.rhythm", rhythms, &rhythm);
    if (st == LLAP_OK) st = ll_json_bool(j, "rival.small", &k->data.small);
    if (st == LLAP_OK) st = ll_json_int(j, "rival.calendar", 0, LL_RIVAL_CALENDAR, &k->calendar);
    k->data.rhythm = (ll_rival_rhythm)rhythm;
    if (st == LLAP_OK) st = read_inputs(j, k, input);
    if (st == LLAP_OK) st = read_options(j, k);
    if (st != LLAP_OK) return st;
    st = ll_rival_task_check(k);
    return st == LLAP_EINVAL ? ll_fail_in(LLAP_EFORMAT, "config: 'rival'") : st;
}

/* Every tensor that the task asks for is there in its shape. */
static llap_status check_leaves(const ll_graph *g, const ll_tensors *t, size_t *n)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < ll_graph_n_leaves(g) && st == LLAP_OK; i++) {
        const ll_leaf_info l = ll_graph_leaf(g, i);
        ll_tensor_info     info;
        char               name[256];
        if (l.leaf != LL_LEAF_PARAM && l.leaf != LL_LEAF_STATE) continue;
        snprintf(name, sizeof name, PREFIX "%s", l.name);
        st = ll_tensors_require(t, name, LL_F32, l.shape.rank, l.shape.dim, &info);
        ++*n;
    }
    return st;
}

static llap_status load_scale(const ll_tensors *t, const char *name, const ll_rival_model *r,
                              bool positive, float *to)
{
    const int64_t     shape[] = { r->n_entities + 1, r->task.vars };
    ll_tensor_info    info;
    const llap_status st = ll_tensors_require(t, name, LL_F32, 2, shape, &info);
    if (st != LLAP_OK) return st;
    const float *from = info.data;
    for (int64_t i = 0; i < info.n_elements; i++) {
        if (!isfinite(from[i]) || (positive && !(from[i] > 0)))
            return ll_fail(LLAP_EFORMAT, "%s: element %lld is not %s", name, (long long)i,
                           positive ? "positive" : "finite");
        to[i] = from[i];
    }
    return LLAP_OK;
}

static llap_status load(const ll_tensors *t, const ll_rival_task *k, int64_t n_entities,
                        const char *const *input, ll_rival_model **out, size_t *n)
{
    static const char *const apart[] = { "scale.", NULL };
    const int64_t            scales[] = { n_entities + 1, k->vars };
    ll_graph                *g = NULL;
    ll_tensor_info           info;
    llap_status              st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    declare(g, k);
    st = ll_graph_status(g);
    if (st == LLAP_EINVAL) st = ll_fail_in(LLAP_EFORMAT, "rival");
    if (st == LLAP_OK) st = check_leaves(g, t, n);
    if (st == LLAP_OK) st = ll_tensors_require(t, PREFIX "scale.mean", LL_F32, 2, scales, &info);
    if (st == LLAP_OK) st = create(k, n_entities, input, g, out);
    ll_graph_destroy(g);
    if (st == LLAP_OK)
        st = ll_params_load((*out)->params, LL_PARAMS_MODEL, t,
                            &(ll_load_opts){ .prefix = PREFIX, .ignore = apart });
    if (st == LLAP_OK) st = load_scale(t, PREFIX "scale.mean", *out, false, (*out)->mean);
    if (st == LLAP_OK) st = load_scale(t, PREFIX "scale.std", *out, true, (*out)->sd);
    *n += 2;
    return st;
}

llap_status ll_rival_load(const ll_tensors *t, const ll_json *config, int64_t n_targets,
                          int64_t n_entities, ll_rival_model **out, size_t *n_tensors)
{
    ll_rival_task k = { .targets = n_targets };
    const char  **input = NULL;
    *out = NULL;
    llap_status st = read_task(config, &k, &input);
    if (st == LLAP_OK) st = load(t, &k, n_entities, (const char *const *)input, out, n_tensors);
    ll_free((void *)input);
    if (st != LLAP_OK) {
        ll_rival_model_destroy(*out);
        *out = NULL;
    }
    return st;
}
