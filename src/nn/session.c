#include "nn/session.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "nn/micro_batches.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct ll_session {
    const ll_backend *backend;
    const ll_plan    *plan;
    ll_run           *run;
    ll_plan          *own_plan; /* NULL: both are of the micro-batches */
    ll_micro_batches *micro_batches;
    char             *block;       /* buffers of all inputs, one after another */
    void             *device_data; /* their copy, where the backend has its own memory */
    size_t            n_bytes;
    void            **input; /* [slots]: those buffers, NULL for other slots */
};

static size_t input_bytes(const ll_slot *s) /* 0: no input of the caller's, or a table */
{
    if (s->leaf != LL_LEAF_INPUT ||
        strncmp(s->name, LL_SESSION_ROWS, strlen(LL_SESSION_ROWS)) == 0 ||
        strncmp(s->name, "sum.", 4) == 0)
        return 0;
    return (size_t)ll_shape_count(&s->shape) * sizeof(float) / 256 * 256 + 256;
}

/* All inputs go there as one copy. */
static llap_status bind_inputs(ll_session *n)
{
    const int   slots = ll_plan_n_slots(n->plan);
    llap_status st = LLAP_OK;
    assert(n->backend->real_bytes == sizeof(float));
    for (int i = 0; i < slots; i++) n->n_bytes += input_bytes(ll_plan_slot(n->plan, i));
    n->block = ll_new_aligned(n->n_bytes + 1, 1);
    n->input = ll_new((size_t)slots, sizeof *n->input);
    if (n->block == NULL || n->input == NULL) return LLAP_ENOMEM;
    if (n->backend->memory != NULL) st = ll_device_alloc(n->backend, n->n_bytes, &n->device_data);
    for (size_t i = 0, at = 0; i < (size_t)slots && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(n->plan, (int)i);
        if (input_bytes(s) == 0) continue;
        assert(at + input_bytes(s) <= n->n_bytes);
        n->input[i] = n->block + at;
        st = ll_run_bind_device(n->run, s->name,
                                n->device_data != NULL ? (char *)n->device_data + at : n->input[i],
                                ll_shape_count(&s->shape));
        at += input_bytes(s);
    }
    return st;
}

static ll_plan_opts plan_opts(const ll_backend *backend, int n_threads)
{
    return (ll_plan_opts){ .backend = backend, .n_threads = n_threads, .beside = true };
}

llap_status ll_session_create(const ll_graph *g, const ll_params *p, const ll_backend *backend,
                              int n_threads, ll_session **out)
{
    *out = NULL;
    ll_session *n = ll_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    const ll_plan_opts o = plan_opts(backend, n_threads);
    llap_status        st = ll_graph_status(g);
    n->backend = backend;
    if (st == LLAP_OK) st = ll_plan_create(g, &o, &n->own_plan);
    n->plan = n->own_plan;
    if (st == LLAP_OK) st = ll_run_create(n->own_plan, &n->run);
    if (st == LLAP_OK) st = ll_params_bind(p, LL_PARAMS_MODEL, n->plan, n->run);
    if (st == LLAP_OK) st = bind_inputs(n);
    if (st == LLAP_OK) *out = n;
    else ll_session_destroy(n);
    return st;
}

llap_status ll_session_create_part(ll_graph *g, ll_tensor *loss, const ll_train_attr *attr,
                                   const ll_params *p, int n_threads, ll_session **out)
{
    *out = NULL;
    ll_session *n = ll_new(1, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    const ll_plan_opts o = plan_opts(ll_params_backend(p), n_threads);
    n->backend = o.backend;
    llap_status st = ll_micro_batches_create(g, loss, attr, p, &o, &n->micro_batches);
    if (st == LLAP_OK) {
        n->plan = ll_micro_batches_plan(n->micro_batches);
        n->run = ll_micro_batches_run(n->micro_batches);
        st = bind_inputs(n);
    }
    if (st == LLAP_OK) *out = n;
    else ll_session_destroy(n);
    return st;
}

void ll_session_destroy(ll_session *n)
{
    if (n == NULL) return;
    assert(n->micro_batches == NULL || n->own_plan == NULL);
    if (n->micro_batches == NULL) ll_run_destroy(n->run);
    ll_micro_batches_destroy(n->micro_batches);
    ll_device_release(n->backend, n->device_data);
    ll_plan_release(n->own_plan);
    ll_free(n->block);
    ll_free(n->input);
    ll_free(n);
}

static int slot_of(const ll_session *n, const char *name, ll_elem elem) /* -1: none */
{
    for (int i = 0; i < ll_plan_n_slots(n->plan); i++) {
        const ll_slot *s = ll_plan_slot(n->plan, i);
        if (s->leaf == LL_LEAF_INPUT && s->elem == elem && strcmp(s->name, name) == 0) return i;
    }
    return -1;
}

static void *input_of(ll_session *n, const char *name, ll_elem elem)
{
    const int i = slot_of(n, name, elem);
    return i < 0 ? NULL : n->input[i];
}

float   *ll_session_real(ll_session *n, const char *name) { return input_of(n, name, LL_REAL); }
int32_t *ll_session_int(ll_session *n, const char *name) { return input_of(n, name, LL_INT); }

void ll_session_clear(ll_session *n) { memset(n->block, 0, n->n_bytes); }

int64_t ll_session_count(const ll_session *n, const char *name)
{
    const int i = slot_of(n, name, LL_REAL);
    return i < 0 ? 0 : ll_shape_count(&ll_plan_slot(n->plan, i)->shape);
}

llap_status ll_session_place(ll_session *n, const char *name, void *device_table)
{
    for (int i = 0; i < ll_plan_n_slots(n->plan); i++) {
        const ll_slot *s = ll_plan_slot(n->plan, i);
        if (strcmp(s->name, name) == 0)
            return ll_run_bind_device(n->run, name, device_table, ll_shape_count(&s->shape));
    }
    return LLAP_OK;
}

static llap_status send_inputs(const ll_session *n)
{
    return n->device_data == NULL ? LLAP_OK
                                  : ll_device_put(n->backend, n->device_data, n->block, n->n_bytes);
}

llap_status ll_session_run(ll_session *n)
{
    const llap_status st = send_inputs(n);
    return st == LLAP_OK ? ll_run_exec(n->run) : st;
}

const float *ll_session_output(const ll_session *n, const char *name)
{
    return ll_run_output(n->run, name, NULL);
}

double ll_session_number(const ll_session *n, const char *name)
{
    const float *x = ll_session_output(n, name);
    return x == NULL ? NAN : (double)x[0];
}

llap_status ll_session_random(ll_params *p, int64_t step, int64_t micro_batch)
{
    const ll_param_info *rng = ll_params_find(p, "rng");
    if (rng == NULL) return LLAP_OK;
    assert(rng->elem == LL_INT && rng->count == 4 && step >= 0);
    ((int32_t *)rng->data)[2] = (int32_t)(uint32_t)step;
    ((int32_t *)rng->data)[3] = (int32_t)(uint32_t)((uint64_t)step >> 32) + (int32_t)micro_batch;
    if (rng->device_data == rng->data) return LLAP_OK;
    return ll_device_put(ll_params_backend(p), rng->device_data, rng->data,
                         (size_t)rng->count * sizeof(int32_t));
}

llap_status ll_session_begin(ll_session *n, ll_params *p, int64_t step, double lr)
{
    const llap_status st = ll_session_random(p, step, 0);
    assert(n->micro_batches == NULL);
    assert(ll_session_real(n, "lr") != NULL && ll_session_int(n, "step") != NULL);
    *ll_session_real(n, "lr") = (float)lr;
    *ll_session_int(n, "step") = (int32_t)step + 1;
    return st == LLAP_OK ? ll_session_run(n) : st;
}

void ll_session_end(const ll_session *n, double *loss, double *grad_norm)
{
    *loss = ll_session_number(n, "loss");
    *grad_norm = ll_session_number(n, "grad_norm");
}

llap_status ll_session_later(const ll_session *n, ll_async_results *a, int64_t step)
{
    if (n->micro_batches != NULL)
        return ll_async_results_put(a, step, ll_micro_batches_loss(n->micro_batches),
                                    ll_micro_batches_norm(n->micro_batches));
    return ll_async_results_put(a, step, ll_run_output_device(n->run, "loss", NULL),
                                ll_run_output_device(n->run, "grad_norm", NULL));
}

llap_status ll_session_add(ll_session *n, ll_params *p, int64_t step, const ll_session_micro *m)
{
    assert(n->micro_batches != NULL && m->number >= 0);
    llap_status st = ll_session_random(p, step, m->number);
    if (st == LLAP_OK) st = send_inputs(n);
    return st == LLAP_OK ? ll_micro_batches_add(n->micro_batches, m->first, m->fresh, m->share)
                         : st;
}

float *ll_session_sums(ll_session *n, size_t *count)
{
    assert(n->micro_batches != NULL);
    return ll_micro_batches_sums(n->micro_batches, count);
}

llap_status ll_session_added(ll_session *n, int64_t step, double lr, double *loss,
                             double *grad_norm)
{
    assert(n->micro_batches != NULL);
    return ll_micro_batches_step(n->micro_batches, lr, step + 1, loss, grad_norm);
}

bool ll_nn_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

const char *ll_session_bad_input(const ll_session *n)
{
    for (int i = 0; i < ll_plan_n_slots(n->plan); i++) {
        const ll_slot *s = ll_plan_slot(n->plan, i);
        if (n->input[i] != NULL && s->elem == LL_REAL &&
            !ll_nn_finite(n->input[i], ll_shape_count(&s->shape)))
            return s->name;
    }
    return NULL;
}
