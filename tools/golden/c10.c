/* The denoiser at paper size: c10. Parameters come from a formula; the results of one, two and
 * three threads must be equal to the last bit. */
#include "golden.h"

#include "base/alloc.h"
#include "base/json/json.h"
#include "oracles/plain_layers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Element i of the sequence of a key, in [-1, 1). */
static float formula(uint32_t key, uint32_t i)
{
    uint32_t x = i + 0x9E3779B9u * (key + 1u);
    x ^= x >> 16;
    x *= 0x85EBCA6Bu;
    x ^= x >> 13;
    x *= 0xC2B2AE35u;
    x ^= x >> 16;
    return (float)(x >> 8) * 0x1p-23f - 1.0f;
}

typedef struct paper {
    golden      *c;
    ll_json     *list; /* the names of the parameters */
    const char **name;
    size_t       n;
} paper;

static void near(golden *c, const char *tensor, size_t i, double found)
{
    const double *x = golden_values(c, tensor);
    if (x != NULL && fabs(x[i] - found) > 1e-5 * fabs(x[i]))
        golden_fail(c, LLAP_ENUMERIC, "%s[%zu]: generated %g, expected %g", tensor, i, found, x[i]);
}

/* metadata "spec.NAME" = "key offset scale shape", with the file's checks of the values */
static void generate(paper *p, size_t i)
{
    golden              *c = p->c;
    const ll_param_info *info = ll_params_find(c->params, p->name[i]);
    char                 full[256];
    unsigned long        key;
    double               offset, scale, sum = 0.0;
    snprintf(full, sizeof full, "spec.%s", p->name[i]);
    const char *text = ll_tensors_metadata(c->file, full);
    if (info == NULL || text == NULL || sscanf(text, "%lu %lf %lf", &key, &offset, &scale) != 3) {
        golden_fail(c, LLAP_EFORMAT, "'%s' cannot be generated", full);
        return;
    }
    for (int64_t k = 0; k < info->count; k++) {
        const float scaled = (float)scale * formula((uint32_t)key, (uint32_t)k);
        const float value = (float)offset + scaled;
        ll_param_set(c->params, info, k, (double)value);
        sum += fabs((double)value);
    }
    near(c, "spec.first", i, ll_param_get(c->params, info, 0));
    near(c, "spec.last", i, ll_param_get(c->params, info, info->count - 1));
    near(c, "spec.abs_sum", i, sum);
}

/* Spectral-norm vectors are stored. */
static void load_states(golden *c)
{
    for (int i = 0; c->status == LLAP_OK && i < ll_params_count(c->params); i++) {
        const ll_param_info *info = ll_params_at(c->params, i);
        char                 full[256];
        if (info->leaf != LL_LEAF_STATE) continue;
        snprintf(full, sizeof full, "param.%s", info->name);
        const double *x = golden_values(c, full);
        for (int64_t k = 0; x != NULL && k < info->count; k++)
            ll_param_set(c->params, info, k, x[k]);
    }
}

static void read_names(paper *p)
{
    golden     *c = p->c;
    const char *text = ll_tensors_metadata(c->file, "param_names");
    if (text == NULL) golden_fail(c, LLAP_EFORMAT, "no param_names");
    if (c->status == LLAP_OK)
        c->status = ll_json_parse(text, strlen(text), c->path, NULL, &p->list);
    if (c->status == LLAP_OK) c->status = ll_json_strings(p->list, "", &p->name, &p->n);
}

static void describe(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    ll_denoiser_in           in = golden_denoiser_in(c);
    if (c->status != LLAP_OK) return;
    ll_tensor *y = ll_denoiser(c->graph, &cfg, &in);
    ll_tensor *loss = plain_mse(c->graph, y, golden_input(c, "target"));
    golden_denoiser_notes(c, &cfg, "model.");
    golden_output(c, "out.pred", y);
    golden_output(c, "out.loss", loss);
    golden_gradients(c, loss);
    in.E = in.E_raw = NULL;
    golden_output(c, "out.pred_uncond", ll_denoiser(c->graph, &cfg, &in));
}

/* Length of each gradient, and its product with a fixed vector. */
static void compare_probes(paper *p)
{
    golden *c = p->c;
    double *l2 = golden_new(c, (int64_t)p->n), *probe = golden_new(c, (int64_t)p->n);
    for (size_t i = 0; l2 != NULL && probe != NULL && i < p->n; i++) {
        char    full[256];
        int64_t count = 0;
        double  square = 0.0;
        snprintf(full, sizeof full, "grad.%s", p->name[i]);
        const double *x = golden_result(c, full, &count);
        for (int64_t k = 0; x != NULL && k < count; k++) {
            square += x[k] * x[k];
            probe[i] += x[k] * (double)formula((uint32_t)i + 900000u, (uint32_t)k);
        }
        l2[i] = sqrt(square);
    }
    golden_compare(c, "out.grad_l2", l2, (int64_t)p->n, NULL);
    golden_compare(c, "out.grad_probe", probe, (int64_t)p->n, NULL);
}

/* Every result has the bytes of the first run. */
static void compare_bytes(paper *p, const ll_run *run, int n_threads)
{
    golden *c = p->c;
    for (size_t i = 0; i < ll_tensors_count(c->file) + p->n; i++) {
        char     full[256];
        ll_shape shape = { 0 };
        if (i < p->n) snprintf(full, sizeof full, "grad.%s", p->name[i]);
        else snprintf(full, sizeof full, "%s", ll_tensors_at(c->file, i - p->n).name);
        const void  *x = ll_run_output(c->run, full, &shape), *y = ll_run_output(run, full, NULL);
        const size_t bytes = (size_t)ll_shape_count(&shape) * c->backend->real_bytes;
        if (x != NULL && (y == NULL || memcmp(x, y, bytes) != 0))
            golden_fail(c, LLAP_ENUMERIC, "%d threads give other bits in %s", n_threads, full);
    }
}

static void run_again(paper *p, int n_threads)
{
    golden            *c = p->c;
    ll_run            *first = c->run, *run = NULL;
    ll_plan           *first_plan = c->plan, *plan = NULL;
    const ll_plan_opts opts = { .backend = c->backend, .n_threads = n_threads };
    if (c->status == LLAP_OK) c->status = ll_plan_create(c->graph, &opts, &plan);
    if (c->status == LLAP_OK) c->status = ll_run_create(plan, &run);
    if (c->status == LLAP_OK) c->status = ll_params_bind(c->params, LL_PARAMS_MODEL, plan, run);
    c->plan = plan;
    c->run = run;
    golden_bind(c);
    golden_exec(c);
    c->plan = first_plan;
    c->run = first;
    if (c->status == LLAP_OK) compare_bytes(p, run, n_threads);
    ll_run_destroy(run);
    ll_plan_release(plan);
}

void golden_paper(golden *c)
{
    paper      p = { .c = c };
    const bool plain = c->backend->real_bytes != sizeof(float);
    if (plain && !c->patient) {
        for (size_t i = 0; i < ll_tensors_count(c->file); i++)
            golden_skip(c, ll_tensors_at(c->file, i).name);
        return;
    }
    read_names(&p);
    describe(c);
    golden_plan(c);
    for (size_t i = 0; c->status == LLAP_OK && i < p.n; i++) generate(&p, i);
    load_states(c);
    golden_bind(c);
    golden_exec(c);
    golden_compare_outputs(c);
    if (c->status == LLAP_OK) compare_probes(&p);
    for (int n = 1; n <= 3 && !plain; n++) /* plain loops know no threads */
        if (n != c->n_threads) run_again(&p, n);
    ll_free(p.name);
    ll_json_destroy(p.list);
}
