/* llapdiff-golden DIR|FILE...: runs every golden case it knows and compares every tensor. */
#include "golden.h"

#include "base/alloc.h"
#include "base/error.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const golden_case golden_cases[] = {
    { "c04_adaln", golden_adaln },
    { "c04_transformer_block", golden_transformer },
    { "c04_cross_attn_block", golden_cross },
    { "c04_summary_pool", golden_summary_pool },
    { "c08_adamw_ema", golden_adamw },
    { "c08_lr_schedules", golden_schedules },
};
const int golden_n_cases = (int)(sizeof golden_cases / sizeof *golden_cases);

/* -------- comparing: the tolerances of the fixtures' README -------- */

typedef struct golden_group {
    const char *prefix;
    int         n;                /* tensors compared */
    double      error, tolerance; /* of the worst one, where error / tolerance is largest */
    char        worst[128];
} group;

static const char *const prefixes[] = { "out", "mid", "grad", "gradin", "after", "ema" };
enum { N_GROUPS = sizeof prefixes / sizeof *prefixes };

static int group_of(const char *tensor)
{
    const size_t n = strcspn(tensor, ".");
    for (int i = 0; i < N_GROUPS; i++)
        if (strlen(prefixes[i]) == n && strncmp(prefixes[i], tensor, n) == 0) return i;
    return -1;
}

static bool is_gradient(const char *tensor) { return strncmp(tensor, "grad", 4) == 0; }

static double largest(const llap_tensor_info *t)
{
    double top = 0.0;
    for (int64_t i = 0; t->dtype == LLAP_F32 && i < t->n_elements; i++)
        top = fmax(top, fabs((double)((const float *)t->data)[i]));
    return top;
}

/* The largest difference allowed to a tensor whose largest magnitude is top. */
static double tolerance(const golden *c, const llap_tensor_info *t, double top)
{
    const bool deep = strncmp(c->name, "c05", 3) == 0 || strncmp(c->name, "c07", 3) == 0 ||
                      strncmp(c->name, "c10", 3) == 0;
    if (is_gradient(t->name))
        return deep ? 5e-4 * top + 1e-5 * c->top_grad : 1e-4 * top + 2e-6 * c->top_grad;
    if (t->n_elements == 1) return 1e-5 * top;
    return (deep ? 1e-4 : 3e-5) * top;
}

void golden_compare(golden *c, const char *tensor, const float *found, int64_t count)
{
    llap_tensor_info t;
    if (!llap_tensors_find(c->file, tensor, &t)) return;
    for (size_t i = 0; i < llap_tensors_count(c->file); i++)
        if (strcmp(llap_tensors_at(c->file, i).name, tensor) == 0) c->seen[i] = true;
    double worst = count == t.n_elements && t.dtype == LLAP_F32 ? 0.0 : INFINITY;
    for (int64_t i = 0; i < count && worst < INFINITY; i++) {
        const double d = fabs((double)found[i] - (double)((const float *)t.data)[i]);
        worst = isnan(d) ? INFINITY : fmax(worst, d);
    }
    const double allowed = tolerance(c, &t, largest(&t));
    group       *g = &c->group[group_of(tensor)];
    g->n++;
    if (!(worst <= allowed)) c->n_bad++;
    if (g->n == 1 || worst * g->tolerance > g->error * allowed) {
        g->error = worst;
        g->tolerance = allowed;
        snprintf(g->worst, sizeof g->worst, "%s", tensor);
    }
}

/* -------- one file -------- */

static void report(golden *c, llap_status st)
{
    if (st != LLAP_OK) {
        printf("FAIL %s: %s\n", c->name, llap_error_detail());
        return;
    }
    printf("%s %s\n", c->n_bad == 0 ? "pass" : "FAIL", c->name);
    for (int i = 0; i < N_GROUPS; i++) {
        const group *g = &c->group[i];
        if (g->n > 0)
            printf("     %-6s %3d tensors, worst %-32s error %.2e, allowed %.2e\n", prefixes[i],
                   g->n, g->worst, g->error, g->tolerance);
    }
}

static bool expected_back(const char *tensor) { return group_of(tensor) >= 0; }

static llap_status run_case(golden *c, golden_fn run)
{
    group        groups[N_GROUPS] = { 0 };
    const size_t n = llap_tensors_count(c->file);
    c->group = groups;
    c->seen = llap_new(n, sizeof *c->seen);
    if (c->seen == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const llap_tensor_info t = llap_tensors_at(c->file, i);
        if (is_gradient(t.name)) c->top_grad = fmax(c->top_grad, largest(&t));
    }
    llap_status st = run(c);
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        const char *name = llap_tensors_at(c->file, i).name;
        if (c->seen[i] || !expected_back(name)) continue;
        printf("     %s: not compared\n", name);
        c->n_bad++;
    }
    report(c, st);
    llap_free(c->seen);
    return st == LLAP_OK && c->n_bad > 0 ? LLAP_ENUMERIC : st;
}

static bool run_file(const char *path)
{
    golden      c = { .path = path };
    llap_status st = llap_tensors_open(path, &c.file);
    if (st != LLAP_OK) {
        printf("FAIL %s\n", llap_error_detail());
        return false;
    }
    c.name = llap_tensors_metadata(c.file, "case");
    golden_fn run = NULL;
    for (int i = 0; c.name != NULL && i < golden_n_cases && run == NULL; i++)
        if (strncmp(c.name, golden_cases[i].prefix, strlen(golden_cases[i].prefix)) == 0)
            run = golden_cases[i].run;
    if (run == NULL) printf("FAIL %s: unknown case '%s'\n", path, c.name == NULL ? "" : c.name);
    else st = run_case(&c, run);
    llap_tensors_close(c.file);
    return run != NULL && st == LLAP_OK;
}

/* -------- files and folders -------- */

static int only_cases(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);
    return n > 12 && strcmp(e->d_name + n - 12, ".safetensors") == 0;
}

static void run_path(const char *path, int *passed, int *failed)
{
    struct stat     info;
    struct dirent **entry = NULL;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        ++*(run_file(path) ? passed : failed);
        return;
    }
    const int n = scandir(path, &entry, only_cases, alphasort);
    if (n <= 0) {
        printf("FAIL %s: no golden files\n", path);
        ++*failed;
    }
    for (int i = 0; i < n; i++) {
        char *file = NULL;
        if (asprintf(&file, "%s/%s", path, entry[i]->d_name) >= 0) {
            ++*(run_file(file) ? passed : failed);
            free(file);
        }
        free(entry[i]);
    }
    free(entry);
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: llapdiff-golden DIR|FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) run_path(argv[i], &passed, &failed);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
