/* Comparing with the tolerances of the fixtures' README, and the report of one file. */
#include "base/alloc.h"
#include "base/error.h"
#include "frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = { "out", "mid", "grad", "gradin", "after", "ema" };
enum { N_GROUPS = sizeof prefixes / sizeof *prefixes };

struct golden_group {
    int    n;                /* tensors compared */
    double error, tolerance; /* of the worst one, where error / tolerance is largest */
    char   worst[128];
};

/* Gradients that are exactly zero: they shift attention logits by a constant. What the files hold
 * of them is rounding noise. */
static const char *const zero_gradients[] = {
    "analysis.k_cond_gate",       "analysis.k_cond_proj.1.bias", "analysis.k_cond_proj.1.weight",
    "analysis.k_norm.bias",       "grad.key_proj.bias",          "grad.norm.bias",
    "grad.pool_bias_proj.3.bias", "grad.t_pool_bias_proj.bias",  "summary_pool.key_proj.bias",
};

static int group_of(const char *tensor)
{
    const size_t n = strcspn(tensor, ".");
    for (int i = 0; i < N_GROUPS; i++)
        if (strlen(prefixes[i]) == n && strncmp(prefixes[i], tensor, n) == 0) return i;
    return -1;
}

static bool is_gradient(const char *tensor) { return strncmp(tensor, "grad", 4) == 0; }

static bool is_zero(const char *tensor)
{
    for (size_t i = 0; i < sizeof zero_gradients / sizeof *zero_gradients; i++) {
        const size_t n = strlen(tensor), tail = strlen(zero_gradients[i]);
        if (n >= tail && strcmp(tensor + n - tail, zero_gradients[i]) == 0) return true;
    }
    return false;
}

double golden_element(const ll_tensor_info *t, int64_t i)
{
    switch (t->dtype) {
    case LL_F32:
        return (double)((const float *)t->data)[i];
    case LL_I64:
        return (double)((const int64_t *)t->data)[i];
    case LL_U8:
        return (double)((const uint8_t *)t->data)[i];
    default:
        return NAN; /* the fixtures have no others */
    }
}

static double largest(const ll_tensor_info *t, const double *keep)
{
    double top = 0.0;
    for (int64_t i = 0; i < t->n_elements; i++)
        if (keep == NULL || keep[i] != 0.0) top = fmax(top, fabs(golden_element(t, i)));
    return top;
}

typedef enum depth { SHALLOW, DEEP, SAMPLED, RIVALS, N_DEPTHS } depth;

/* Of the largest magnitude, by precision: operands of products have 24, 11 or 8 bits. Those of bf16
 * are one and a half to two times what an H200 gave (not yet seen: of the rivals). */
typedef struct bounds {
    double out[N_DEPTHS], grad[N_DEPTHS];
    double all[N_DEPTHS]; /* of the largest of all gradients, added to that */
    double zero;          /* of the same, for gradients that are zero */
    double scalar;
    double ema; /* absolute: a step of a gradient that is noise may go the other way */
} bounds;
static const bounds bounds_of[LL_PRECISION_COUNT] = {
    { { 3e-5, 1e-4, 1e-4, 1e-5 },
      { 1e-4, 5e-4, 5e-4, 1e-4 },
      { 2e-6, 1e-5, 1e-5, 2e-6 },
      1e-6,
      1e-5,
      1e-9 },
    { { 4e-3, 4e-3, 9e-3, 9e-3 },
      { 4e-3, 8e-3, 8e-3, 8e-3 },
      { 1e-3, 1e-3, 1e-3, 1e-3 },
      1e-3,
      3e-3,
      4e-7 },
    { { 3e-2, 3e-2, 7e-2, 7e-2 },
      { 3e-2, 5e-2, 5e-2, 5e-2 },
      { 5e-3, 5e-3, 5e-3, 5e-3 },
      5e-3,
      2e-2,
      4e-7 },
};

static depth depth_of(const golden *c)
{
    if (c->name[0] == 'b') return RIVALS;
    if (strncmp(c->name, "c07", 3) == 0) return SAMPLED;
    return strncmp(c->name, "c05", 3) == 0 || strncmp(c->name, "c10", 3) == 0 ? DEEP : SHALLOW;
}

/* The largest difference allowed to a tensor whose largest magnitude is top. */
static double tolerance(const golden *c, const ll_tensor_info *t, double top)
{
    const depth   d = depth_of(c);
    const bounds *b = &bounds_of[c->precision];
    if (t->dtype != LL_F32) return 0.0; /* masks, indices, counts */
    if (is_gradient(t->name) && is_zero(t->name)) return b->zero * c->top_grad;
    if (is_gradient(t->name)) return b->grad[d] * top + b->all[d] * c->top_grad;
    if (strncmp(t->name, "ema.", 4) == 0) return 1e-6 * top + b->ema;
    return (t->rank == 0 ? b->scalar : b->out[d]) * top;
}

static struct golden_note *note_of(const golden *c, const char *tensor)
{
    for (size_t i = 0; i < ll_tensors_count(c->file); i++)
        if (strcmp(ll_tensors_at(c->file, i).name, tensor) == 0) return &c->note[i];
    return NULL;
}

void golden_keep(golden *c, const char *tensor, const double *keep)
{
    struct golden_note *note = note_of(c, tensor);
    if (note != NULL) note->keep = keep;
}

void golden_skip(golden *c, const char *tensor)
{
    struct golden_note *note = note_of(c, tensor);
    if (note != NULL) note->skipped = true;
}

void golden_compare(golden *c, const char *tensor, const double *found, int64_t count,
                    const double *allowed)
{
    ll_tensor_info      t;
    struct golden_note *note = note_of(c, tensor);
    if (c->status != LLAP_OK || note == NULL || found == NULL) return;
    if (!ll_tensors_find(c->file, tensor, &t) || group_of(tensor) < 0) return;
    note->seen = true;
    const double usual = tolerance(c, &t, largest(&t, note->keep));
    double       error = count == t.n_elements ? 0.0 : INFINITY, bound = usual;
    for (int64_t i = 0; i < count && error < INFINITY; i++) {
        if (note->keep != NULL && note->keep[i] == 0.0) continue;
        const double d = fabs(found[i] - golden_element(&t, i));
        const double may = allowed == NULL ? usual : allowed[i];
        if (isnan(d)) error = INFINITY;
        else if (error == 0.0 || d * bound > error * may) { /* nearest to its bound so far */
            error = d;
            bound = may;
        }
    }
    struct golden_group *g = &c->group[group_of(tensor)];
    if (!(error <= bound)) {
        printf("     %s: error %.3e, allowed %.3e\n", tensor, error, bound);
        c->n_bad++;
    }
    if (g->n++ == 0 || error * g->tolerance > g->error * bound) {
        g->error = error;
        g->tolerance = bound;
        snprintf(g->worst, sizeof g->worst, "%s", tensor);
    }
}

/* -------- one file -------- */

static void count_missing(golden *c)
{
    for (size_t i = 0; i < ll_tensors_count(c->file); i++) {
        const char *name = ll_tensors_at(c->file, i).name;
        if (c->note[i].seen || c->note[i].skipped || group_of(name) < 0) continue;
        printf("     %s: not compared\n", name);
        c->n_bad++;
    }
}

static void report(const golden *c)
{
    if (c->status != LLAP_OK) {
        printf("FAIL %s: %s\n", c->name, llap_error_detail());
        return;
    }
    printf("%s %s\n", c->n_bad == 0 ? "pass" : "FAIL", c->name);
    for (int i = 0; i < N_GROUPS; i++) {
        const struct golden_group *g = &c->group[i];
        if (g->n == 0) continue;
        printf("     %-6s %3d tensors, worst %-44s error %.2e, allowed %.2e\n", prefixes[i], g->n,
               g->worst, g->error, g->tolerance);
    }
}

static void run_case(golden *c, const golden_case *which)
{
    const size_t        n = ll_tensors_count(c->file);
    struct golden_group groups[N_GROUPS] = { 0 };
    c->group = groups;
    c->note = ll_arena_new(&c->arena, n, sizeof *c->note);
    c->status = c->note == NULL ? LLAP_ENOMEM : ll_graph_create(&c->graph);
    for (size_t i = 0; i < n; i++) {
        const ll_tensor_info t = ll_tensors_at(c->file, i);
        if (is_gradient(t.name)) c->top_grad = fmax(c->top_grad, largest(&t, NULL));
    }
    if (c->status == LLAP_OK) which->run(c);
    if (c->status == LLAP_OK) c->status = ll_graph_status(c->graph);
    if (c->status == LLAP_OK) count_missing(c);
    report(c);
    ll_run_destroy(c->run);
    ll_plan_release(c->plan);
    ll_params_destroy(c->params);
    ll_graph_destroy(c->graph);
    ll_arena_deinit(&c->arena);
}

static const golden_case *find_case(const char *name, const golden_case *cases, int n)
{
    for (int i = 0; name != NULL && i < n; i++)
        if (strncmp(name, cases[i].prefix, strlen(cases[i].prefix)) == 0) return &cases[i];
    return NULL;
}

int golden_run_file(const char *path, const golden_case *cases, int n, const golden_opts *opts)
{
    ll_tensors *file;
    if (ll_tensors_open(path, &file) != LLAP_OK) {
        printf("FAIL %s\n", llap_error_detail());
        return 0;
    }
    golden c = { .path = path,
                 .file = file,
                 .backend = opts->backend,
                 .n_threads = opts->n_threads,
                 .patient = opts->patient,
                 .precision = opts->precision };
    c.name = ll_tensors_metadata(file, "case");
    const golden_case *which = find_case(c.name, cases, n);
    int                result = opts->only_known ? -1 : 0;
    if (which != NULL) {
        run_case(&c, which);
        result = c.status == LLAP_OK && c.n_bad == 0;
    } else if (result == 0)
        printf("FAIL %s: unknown case '%s'\n", path, c.name == NULL ? "" : c.name);
    ll_tensors_close(file);
    return result;
}
