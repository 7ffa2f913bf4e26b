/* Every row of the op table: time of a planned run against a copy of its result's bytes, one thread
 * and two. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "bench.h"
#include "graph/op_table.h"
#include "llapdiff/status.h"

#include <string.h>

enum { B = 4, L = 512, N = 64, MAX_SLOTS = 12 };

typedef struct timed {
    ll_plan *plan;
    ll_run  *run;
    void    *data[MAX_SLOTS];
} timed;

static llap_status prepare(const op_row *row, int n_threads, timed *t)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    op_build o = { .g = g, .b = B, .l = L, .n = N };
    ll_output(g, "y", row->build(&o));
    st = ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = n_threads },
                        &t->plan);
    ll_graph_destroy(g);
    if (st == LLAP_OK) st = ll_run_create(t->plan, &t->run);
    for (int i = 0; st == LLAP_OK && i < ll_plan_n_slots(t->plan) && i < MAX_SLOTS; i++) {
        const ll_slot *s = ll_plan_slot(t->plan, i);
        const int64_t  n = ll_shape_count(&s->shape);
        float         *x = t->data[i] = ll_new_aligned((size_t)n, sizeof *x);
        if (x == NULL) return LLAP_ENOMEM;
        for (int64_t k = 0; k < n && s->elem == LL_REAL; k++) x[k] = 0.1f + (float)(k % 97) * 0.01f;
        st = ll_run_bind(t->run, s->name, x, n);
    }
    return st;
}

static void dispose(timed *t)
{
    for (int i = 0; i < MAX_SLOTS; i++) ll_free(t->data[i]);
    ll_run_destroy(t->run);
    ll_plan_release(t->plan);
}

static llap_status measure(const op_row *row)
{
    timed         one = { 0 }, two = { 0 };
    static double t[3][BENCH_REPEATS];
    ll_shape      s;
    llap_status   st = prepare(row, 1, &one);
    if (st == LLAP_OK) st = prepare(row, 2, &two);
    if (st == LLAP_OK) st = ll_run_exec(one.run);
    if (st == LLAP_OK) st = ll_run_exec(two.run);
    if (st != LLAP_OK) return st;
    const void  *y = ll_run_output(one.run, "y", &s);
    const size_t n_bytes = (size_t)ll_shape_count(&s) * sizeof(float);
    char        *copy = ll_new_aligned(n_bytes, 1);
    if (copy == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < BENCH_REPEATS; i++) {
        BENCH_TIME(t[0][i], memcpy(copy, y, n_bytes));
        BENCH_TIME(t[1][i], (void)ll_run_exec(one.run));
        BENCH_TIME(t[2][i], (void)ll_run_exec(two.run));
    }
    const double moved = bench_median(t[0]), single = bench_median(t[1]);
    printf("%-22s %9.3f ms, %7.1f copies of its result; 2 threads %.2f times as fast\n", row->name,
           1e3 * single, single / moved, single / bench_median(t[2]));
    ll_free(copy);
    dispose(&one);
    dispose(&two);
    return LLAP_OK;
}

int main(void)
{
    printf("operands [%d,%d,%d]\n", B, L, N);
    for (int i = 0; i < op_table_len; i++) {
        if (i > 0 && op_table[i].build == op_table[i - 1].build) continue;
        if (measure(&op_table[i]) != LLAP_OK) {
            printf("%s: %s\n", op_table[i].name, llap_error_detail());
            return 1;
        }
    }
    return 0;
}
