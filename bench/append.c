/* What one more row costs a panel of 6,000, 100,000 and 1,000,000 rows: of a single series, and of
 * each of a hundred. */
#include "bench.h"

#include <inttypes.h>
#include <llapdiff/panel.h>
#include <math.h>

enum { VARS = 3, UPDATES = 200 };

static void check(llap_status st)
{
    if (st == LLAP_OK) return;
    fprintf(stderr, "append: %s\n", llap_error_detail());
    exit(1);
}

static llap_panel *make(int64_t n, int64_t entities, const char *const *name)
{
    static const char *const var[VARS] = { "x", "y", "z" };
    llap_panel              *p;
    int64_t                 *time = malloc((size_t)n * sizeof *time);
    float                   *value = malloc((size_t)n * VARS * sizeof *value);
    const char             **who = malloc((size_t)n * sizeof *who);
    if (time == NULL || value == NULL || who == NULL) exit(1);
    for (int64_t i = 0; i < n; i++) time[i] = i / entities, who[i] = name[i % entities];
    for (int64_t i = 0; i < n * VARS; i++) value[i] = sinf((float)i);
    check(
        llap_panel_from_arrays(&(llap_arrays){ (size_t)n, VARS, var, who, time, value, NULL }, &p));
    free(time);
    free(value);
    free(who);
    return p;
}

int main(void)
{
    enum { MOST = 100 };
    static char        text[MOST][8];
    static const char *name[MOST];
    static float       value[MOST * VARS];
    static int64_t     time[MOST];
    const llap_arrays  shape = { .n_vars = VARS, .entity = name, .time = time, .value = value };
    for (int i = 0; i < MOST; i++) snprintf(text[i], sizeof text[i], "s%02d", i), name[i] = text[i];
    for (int64_t entities = 1; entities <= MOST; entities *= MOST)
        for (int64_t n = 6000; n <= 1000000; n = n == 6000 ? 100000 : n * 10) {
            llap_panel *p = make(n, entities, name);
            llap_arrays more = shape;
            more.n_rows = (size_t)entities;
            more.var = llap_panel_view(p)->variables;
            double seconds;
            BENCH_TIME(
                seconds, for (int k = 0; k < UPDATES; k++) {
                    for (int64_t e = 0; e < entities; e++) time[e] = n / entities + k;
                    check(llap_panel_append(p, &more));
                });
            printf("%3" PRId64 " series, %7" PRId64 " rows: %.4f ms an update\n", entities, n,
                   1e3 * seconds / UPDATES);
            llap_panel_destroy(p);
        }
    return 0;
}
