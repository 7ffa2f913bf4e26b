#include "model/fill_file.h"

#include "base/alloc.h"
#include "base/error.h"
#include "fill/rest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCALE = 5, KERNEL = 2 * LL_FILL_TERMS + 1 };
static_assert(sizeof(ll_fill_scale) == SCALE * sizeof(double), "a row of fill.scale");
static_assert(sizeof(ll_fill_kernel) == KERNEL * sizeof(double), "a row of fill.kernel");

void ll_fill_write(ll_json_writer *w, const ll_filling *f)
{
    ll_json_open(w, "filling", '{');
    ll_json_put_double(w, "step", f->step);
    ll_json_put_bool(w, "day", f->day);
    ll_json_put_bool(w, "trees", f->rest);
    ll_json_put_int(w, "entities", f->n_entities);
    ll_json_put_int(w, "neighbours", f->n_near);
    ll_json_open(w, "variables", '[');
    for (int64_t v = 0; v < f->n_vars; v++) ll_json_put_string(w, NULL, f->name[v]);
    ll_json_close(w, ']');
    ll_json_open(w, "answers", '[');
    for (int64_t v = 0; v < f->n_vars; v++)
        if (f->used[v]) ll_json_put_string(w, NULL, f->name[v]);
    ll_json_close(w, ']');
    ll_json_close(w, '}');
}

/* The tensors of a filling and where their numbers are. */
enum { TENSORS = 7, RANK = 5 };
typedef struct array {
    const char *name;
    double     *data;
    int         rank;
    int64_t     shape[RANK];
} array;

static void arrays_of(const ll_filling *f, array *a)
{
    const int64_t V = f->n_vars, G = f->n_groups, S = ll_fill_slots(f);
    a[0] = (array){ "fill.scale", &f->scale[0].mean, 2, { V, SCALE } };
    a[1] = (array){ "fill.kernel", f->kernel[0].a, 2, { V, KERNEL } };
    a[2] = (array){ "fill.far", f->far, 1, { V } };
    a[3] = (array){ "fill.cov.0", f->cov[0], 5, { V, G, LL_FILL_LENGTHS, S, S } };
    a[4] = (array){ "fill.cov.1", f->cov[1], 5, { V, G, LL_FILL_LENGTHS, S, S } };
    a[5] = (array){ "fill.quantiles", f->quantile, 3, { V, LL_FILL_KINDS, LL_FILL_LEVELS } };
    a[6] = (array){ "fill.unrest", f->unrest, 1, { V } };
}

static const char *const tree_names[] = { "fill.trees.0", "fill.trees.1" };

/* Trees as rows of numbers, the first of which is their start alone. */
static llap_status save_trees(const ll_trees *t, const char *name, float **kept,
                              ll_tensors_writer *w)
{
    const int64_t shape[] = { 1 + t->n, LL_TREE_NUMBERS };
    *kept = ll_new((size_t)shape[0], LL_TREE_NUMBERS * sizeof **kept);
    if (*kept == NULL) return LLAP_ENOMEM;
    **kept = t->base;
    for (int64_t i = 0; i < t->n; i++)
        ll_tree_numbers(&t->tree[i], *kept + (i + 1) * LL_TREE_NUMBERS);
    return ll_tensors_writer_add(w, name, LL_F32, 2, shape, *kept);
}

void ll_fill_tensors_deinit(ll_fill_tensors *t)
{
    ll_free(t->near);
    ll_free(t->trees[0]);
    ll_free(t->trees[1]);
    *t = (ll_fill_tensors){ 0 };
}

llap_status ll_fill_save(const ll_filling *f, ll_fill_tensors *kept, ll_tensors_writer *w)
{
    const int64_t shape[] = { f->n_entities, f->n_near }, n = shape[0] * shape[1];
    array         a[TENSORS];
    llap_status   st = LLAP_OK;
    arrays_of(f, a);
    kept->near = ll_new((size_t)n + 1, sizeof *kept->near);
    if (kept->near == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) kept->near[i] = f->near[i];
    if (n > 0) st = ll_tensors_writer_add(w, "fill.near", LL_F64, 2, shape, kept->near);
    for (int k = 0; k < 2 && st == LLAP_OK && f->rest; k++)
        st = save_trees(&f->trees[k], tree_names[k], &kept->trees[k], w);
    for (int i = 0; i < TENSORS && st == LLAP_OK; i++)
        st = ll_tensors_writer_add(w, a[i].name, LL_F64, a[i].rank, a[i].shape, a[i].data);
    return st;
}

/* ---- loading ---- */

static llap_status get_array(const ll_tensors *t, const array *a, size_t *n_tensors)
{
    ll_tensor_info    info;
    const llap_status st = ll_tensors_require(t, a->name, LL_F64, a->rank, a->shape, &info);
    int64_t           n = 1;
    if (st != LLAP_OK) return st;
    for (int i = 0; i < a->rank; i++) n *= a->shape[i];
    memcpy(a->data, info.data, (size_t)n * sizeof *a->data);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a->data[i]) <= 1e38))
            return ll_fail(LLAP_EFORMAT, "%s: element %lld is not finite", a->name, (long long)i);
    ++*n_tensors;
    return LLAP_OK;
}

static llap_status get_near(const ll_tensors *t, ll_filling *f, size_t *n_tensors)
{
    const int64_t n = f->n_entities * f->n_near;
    double       *near = ll_new((size_t)n + 1, sizeof *near);
    const array   a = { "fill.near", near, 2, { f->n_entities, f->n_near } };
    llap_status   st = near == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && n > 0) st = get_array(t, &a, n_tensors);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        f->near[i] = -1;
        if (near[i] >= -1 && near[i] < (double)f->n_entities && near[i] == floor(near[i]))
            f->near[i] = (int32_t)near[i];
        else
            st = ll_fail(LLAP_EFORMAT, "fill.near: element %lld: expected -1..%lld", (long long)i,
                         (long long)f->n_entities - 1);
    }
    ll_free(near);
    return st;
}

static llap_status get_trees(const ll_tensors *t, ll_filling *f, int k, size_t *n_tensors)
{
    ll_tensor_info info;
    if (!ll_tensors_find(t, tree_names[k], &info))
        return ll_fail(LLAP_EFORMAT, "tensor '%s' is missing", tree_names[k]);
    if (info.dtype != LL_F32 || info.rank != 2 || info.shape[0] < 1 ||
        info.shape[0] > 1 + LL_TREES_MOST || info.shape[1] != LL_TREE_NUMBERS)
        return ll_fail(LLAP_EFORMAT, "%s: expected F32 [1..%d,%d]", tree_names[k],
                       1 + LL_TREES_MOST, LL_TREE_NUMBERS);
    const float *v = info.data;
    ll_trees    *to = &f->trees[k];
    to->base = v[0];
    to->tree = ll_new((size_t)info.shape[0], sizeof *to->tree);
    if (to->tree == NULL) return LLAP_ENOMEM;
    if (!isfinite(to->base)) return ll_fail(LLAP_EFORMAT, "%s: not finite", tree_names[k]);
    for (to->n = 0; to->n + 1 < info.shape[0]; to->n++)
        if (!ll_tree_of(v + (to->n + 1) * LL_TREE_NUMBERS, ll_rest_columns(f), &to->tree[to->n]))
            return ll_fail(LLAP_EFORMAT, "%s: row %lld is no tree", tree_names[k],
                           (long long)to->n + 1);
    ++*n_tensors;
    return LLAP_OK;
}

static llap_status out_of_range(const char *tensor, int64_t v)
{
    return ll_fail(LLAP_EFORMAT, "%s: row %lld: a number is out of range", tensor, (long long)v);
}

/* Numbers that would make an answer not finite. */
static llap_status check(const ll_filling *f)
{
    const int64_t S = ll_fill_slots(f);
    for (int64_t v = 0; v < f->n_vars; v++) {
        const ll_fill_scale  *s = &f->scale[v];
        const ll_fill_kernel *k = &f->kernel[v];
        double                sum = 0;
        if (!(s->sd > 0) || !(s->spread > 0) || !(s->lambda >= 0 && s->lambda <= 2))
            return out_of_range("fill.scale", v);
        for (int i = 0; i < LL_FILL_TERMS; i++) {
            if (!(k->a[i] >= 0) || !(k->rho[i] > 0)) return out_of_range("fill.kernel", v);
            sum += k->a[i];
        }
        if (!(sum > 0) || !(k->nu > 0) || !(sum < 1e12)) return out_of_range("fill.kernel", v);
        if (!(f->far[v] > 0)) return out_of_range("fill.far", v);
        if (!(f->unrest[v] >= 0 && f->unrest[v] <= 1)) return out_of_range("fill.unrest", v);
        for (int64_t i = 0; f->used[v] && i < f->n_groups * LL_FILL_LENGTHS * S; i++) {
            const int64_t at = (v * f->n_groups * LL_FILL_LENGTHS * S + i) * S + i % S;
            if (!(f->cov[0][at] > 0) || !(f->cov[1][at] > 0)) return out_of_range("fill.cov", v);
        }
        const double *q = f->quantile + v * LL_FILL_KINDS * LL_FILL_LEVELS;
        for (int i = 1; i < LL_FILL_KINDS * LL_FILL_LEVELS; i++)
            if (i % LL_FILL_LEVELS != 0 && q[i] < q[i - 1])
                return out_of_range("fill.quantiles", v);
    }
    return LLAP_OK;
}

static int64_t find_name(const char *const *name, int64_t n, const char *one)
{
    for (int64_t i = 0; i < n; i++)
        if (strcmp(name[i], one) == 0) return i;
    return -1;
}

/* Names of the variables, which are targets, and which are answered about. */
static llap_status get_names(const ll_json *j, const ll_model_frame *m, const char *const *name,
                             ll_filling *f)
{
    const char **used = NULL;
    size_t       n = 0;
    llap_status  st = LLAP_OK;
    for (int64_t v = 0; v < f->n_vars && st == LLAP_OK; v++) {
        f->target[v] = find_name(m->target, m->n_targets, name[v]);
        f->name[v] = ll_strndup(name[v], strlen(name[v]));
        if (f->name[v] == NULL) st = LLAP_ENOMEM;
        else if (find_name(name, v, name[v]) >= 0)
            st = ll_json_fail(j, "filling.variables", "'%s' is there twice", name[v]);
    }
    if (st == LLAP_OK) st = ll_json_need(j, "filling.answers");
    if (st == LLAP_OK) st = ll_json_strings(j, "filling.answers", &used, &n);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        const int64_t v = find_name(name, f->n_vars, used[i]);
        if (v < 0 || f->target[v] < 0)
            st = ll_json_fail(j, "filling.answers", "'%s' is no target among the variables",
                              used[i]);
        else f->used[v] = true;
    }
    ll_free((void *)used);
    return st;
}

static llap_status get_sizes(const ll_json *j, const ll_model_frame *m, int64_t *entities,
                             int64_t *near)
{
    static const char *const keys[] = {
        "step", "day", "entities", "neighbours", "variables", NULL
    };
    static const char *const known[] = { "step",      "day",     "entities", "neighbours",
                                         "variables", "answers", "trees",    NULL };
    llap_status              st = ll_json_keys(j, "filling", known);
    for (int i = 0; keys[i] != NULL && st == LLAP_OK; i++) {
        char path[32];
        snprintf(path, sizeof path, "filling.%s", keys[i]);
        st = ll_json_need(j, path);
    }
    if (st == LLAP_OK) st = ll_json_int(j, "filling.entities", 0, m->n_entities, entities);
    if (st == LLAP_OK && *entities != 0 && *entities != m->n_entities)
        st = ll_json_fail(j, "filling.entities", "expected 0 or %lld", (long long)m->n_entities);
    if (st == LLAP_OK)
        st = ll_json_int(j, "filling.neighbours", 0, *entities > 0 ? LL_FILL_NEAR : 0, near);
    return st;
}

llap_status ll_fill_load(const ll_tensors *t, const ll_json *config, const ll_model_frame *m,
                         ll_filling **out, size_t *n_tensors)
{
    const char **name = NULL;
    size_t       n = 0;
    int64_t      entities = 0, near = 0;
    array        a[TENSORS];
    *out = NULL;
    llap_status st = get_sizes(config, m, &entities, &near);
    if (st == LLAP_OK) st = ll_json_strings(config, "filling.variables", &name, &n);
    if (st == LLAP_OK && (n < 1 || n > LL_FILL_VARS))
        st = ll_json_fail(config, "filling.variables", "expected 1 to %d", LL_FILL_VARS);
    if (st == LLAP_OK) st = ll_filling_create((int64_t)n, entities, near, out);
    if (st == LLAP_OK) st = get_names(config, m, name, *out);
    if (st == LLAP_OK) st = ll_json_double(config, "filling.step", 1e-12, 1e12, &(*out)->step);
    if (st == LLAP_OK) st = ll_json_bool(config, "filling.day", &(*out)->day);
    if (st == LLAP_OK) arrays_of(*out, a);
    for (int i = 0; i < TENSORS && st == LLAP_OK; i++) st = get_array(t, &a[i], n_tensors);
    if (st == LLAP_OK) st = get_near(t, *out, n_tensors);
    if (st == LLAP_OK) st = ll_json_bool(config, "filling.trees", &(*out)->rest);
    for (int k = 0; k < 2 && st == LLAP_OK && (*out)->rest; k++)
        st = get_trees(t, *out, k, n_tensors);
    if (st == LLAP_OK) st = check(*out);
    ll_free((void *)name);
    if (st != LLAP_OK) {
        ll_filling_destroy(*out);
        *out = NULL;
    }
    return st;
}
