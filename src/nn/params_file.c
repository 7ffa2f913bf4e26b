/* Parts of the store from and to safetensors files. Files are hostile: everything is checked before
 * anything is written to the store. */
#include "nn/params.h"

#include "base/alloc.h"
#include "base/error.h"
#include "nn/store.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const part_prefix[LL_PARAMS_COUNT] = {
    [LL_PARAMS_MODEL] = "",
    [LL_PARAMS_EMA] = "ema.",
    [LL_PARAMS_ADAM_M] = "adam.m.",
    [LL_PARAMS_ADAM_V] = "adam.v.",
};

static bool begins(const char *s, const char *head) { return strncmp(s, head, strlen(head)) == 0; }

ll_params_part ll_part_of(const char *name)
{
    if (strcmp(name, "rng") == 0) return LL_PARAMS_COUNT;
    for (ll_params_part part = LL_PARAMS_EMA; part < LL_PARAMS_COUNT; part++)
        if (begins(name, part_prefix[part])) return part;
    return LL_PARAMS_MODEL;
}

static bool listed(const char *name, const char *const *beginnings)
{
    for (int i = 0; beginnings != NULL && beginnings[i] != NULL; i++)
        if (begins(name, beginnings[i])) return true;
    return false;
}

/* What of a store is meant: names PARTSCOPEX; X in the file is called PREFIXX. */
typedef struct selection {
    ll_params_part      part;
    const char         *scope, *prefix;
    const ll_load_opts *o; /* NULL: nothing is left out */
} selection;

/* X of a name of the store; NULL: it is not meant. */
static const char *chosen(const selection *s, const ll_param_info *i)
{
    assert(s->part < LL_PARAMS_COUNT);
    if (i->elem != LL_REAL || ll_part_of(i->name) != s->part) return NULL;
    const char *x = i->name + strlen(part_prefix[s->part]);
    if (!begins(x, s->scope)) return NULL;
    x += strlen(s->scope);
    return s->o != NULL && listed(x, s->o->leave) ? NULL : x;
}

/* No tensor of the file is unknown to the selection. */
static llap_status check_unknown(const ll_params *p, const ll_tensors *file, const selection *s)
{
    char head[256];
    if (snprintf(head, sizeof head, "%s%s", part_prefix[s->part], s->scope) >= (int)sizeof head)
        return ll_fail(LLAP_EINVAL, "scope '%.80s...' is too long", s->scope);
    for (size_t k = 0; k < ll_tensors_count(file); k++) {
        const ll_tensor_info t = ll_tensors_at(file, k);
        if (!begins(t.name, s->prefix)) continue;
        const char *x = t.name + strlen(s->prefix);
        if (listed(x, s->o->ignore)) continue;
        const ll_param_info *i = ll_store_beside(p, head, x);
        if (i == NULL || chosen(s, i) == NULL)
            return ll_fail(LLAP_EFORMAT, "%s: the model has no such tensor", t.name);
    }
    return LLAP_OK;
}

/* Whether a float of x [n] has all bits of its exponent: infinite, or not a number. Several at
 * once, each with its own exponent carried into the sign. */
static bool all_finite(const float *x, int64_t n)
{
    typedef uint32_t lanes __attribute__((vector_size(32)));
    enum { N = sizeof(lanes) / sizeof(uint32_t) };
    lanes    seen = { 0 };
    uint32_t any = 0, u;
    int64_t  k = 0;
    for (; k + N <= n; k += N) {
        lanes v;
        memcpy(&v, x + k, sizeof v);
        seen |= (v & 0x7f800000u) + 0x00800000u;
    }
    for (int i = 0; i < N; i++) any |= seen[i];
    for (; k < n; k++) {
        memcpy(&u, x + k, sizeof u);
        any |= (u & 0x7f800000u) + 0x00800000u;
    }
    return (any & 0x80000000u) == 0;
}

static llap_status check_finite(const ll_tensor_info *t)
{
    const float *x = t->data;
    if (all_finite(x, t->n_elements)) return LLAP_OK;
    int64_t k = 0;
    while (isfinite(x[k])) k++;
    assert(k < t->n_elements);
    return ll_fail(LLAP_EFORMAT, "%s: expected finite numbers, found %g at element %" PRId64,
                   t->name, (double)x[k], k);
}

/* The tensor of the file that belongs to i, called PREFIXX. */
static llap_status require(const ll_param_info *i, const ll_tensors *file, const char *prefix,
                           const char *x, ll_tensor_info *out)
{
    const size_t n = strlen(prefix) + strlen(x) + 1;
    char        *name = ll_new(n, 1);
    if (name == NULL) return LLAP_ENOMEM;
    snprintf(name, n, "%s%s", prefix, x);
    const llap_status st = ll_tensors_require(file, name, LL_F32, i->shape.rank, i->shape.dim, out);
    ll_free(name);
    return st;
}

static void take(ll_params *p, const ll_param_info *i, const ll_tensor_info *t)
{
    const float *x = t->data;
    assert(t->n_elements == i->count);
    if (p->real_bytes == sizeof(float) && i->count > 0)
        memcpy(i->data, x, (size_t)i->count * sizeof(float));
    else
        for (int64_t k = 0; k < i->count; k++) ll_param_set(p, i, k, (double)x[k]);
}

/* Finds and checks what the selection needs: found[i] belongs to info[i]. */
static llap_status check_needed(const ll_params *p, const ll_tensors *file, const selection *s,
                                ll_tensor_info *found)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < p->n && st == LLAP_OK; i++) {
        const char *x = chosen(s, &p->info[i]);
        if (x == NULL) continue;
        st = require(&p->info[i], file, s->prefix, x, &found[i]);
        if (st == LLAP_OK) st = check_finite(&found[i]);
    }
    return st;
}

llap_status ll_params_load(ll_params *p, ll_params_part part, const ll_tensors *file,
                           const ll_load_opts *opts)
{
    const selection s = { .part = part,
                          .scope = opts->scope == NULL ? "" : opts->scope,
                          .prefix = opts->prefix == NULL ? "" : opts->prefix,
                          .o = opts };
    ll_tensor_info *found = ll_new((size_t)p->n, sizeof *found);
    if (found == NULL) return LLAP_ENOMEM;
    llap_status st = check_needed(p, file, &s, found);
    if (st == LLAP_OK) st = check_unknown(p, file, &s);
    for (int i = 0; i < p->n && st == LLAP_OK; i++)
        if (chosen(&s, &p->info[i]) != NULL) take(p, &p->info[i], &found[i]);
    ll_free(found);
    return st;
}

llap_status ll_params_save_scope(const ll_params *p, ll_params_part part, const char *scope,
                                 const char *prefix, ll_tensors_writer *w)
{
    if (p->real_bytes != sizeof(float))
        return ll_fail(LLAP_EUNSUPPORTED, "parameters in double precision are not saved");
    const selection s = { .part = part, .scope = scope, .prefix = prefix };
    llap_status     st = LLAP_OK;
    for (int i = 0; i < p->n && st == LLAP_OK; i++) {
        const ll_param_info *a = &p->info[i];
        const char          *x = chosen(&s, a);
        if (x == NULL) continue;
        ll_arena    names = { 0 };
        const char *name = ll_arena_printf(&names, "%s%s", prefix, x);
        st = name == NULL
                 ? LLAP_ENOMEM
                 : ll_tensors_writer_add(w, name, LL_F32, a->shape.rank, a->shape.dim, a->data);
        ll_arena_deinit(&names);
    }
    return st;
}

llap_status ll_params_save(const ll_params *p, ll_params_part part, const char *prefix,
                           ll_tensors_writer *w)
{
    return ll_params_save_scope(p, part, "", prefix, w);
}
