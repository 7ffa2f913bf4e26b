/* Every op of the table: cpu against ref, gradients against central differences, the same bytes for
 * any number of threads and any batch size. */
#include "op_run.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"

static void cpu_is_ref(void **state)
{
    (void)state;
    compare_table_with_ref(&(judged){ &ll_backend_cpu, 0.0 }, 1);
}

/* -------- gradients -------- */

static double weighed_sum(ready *r)
{
    ll_shape s;
    CHECK_OK(ll_run_exec(r->run));
    const double *y = ll_run_output(r->run, "y", &s);
    const int64_t n = ll_shape_count(&s), row = s.rank > 0 && s.dim[0] > 0 ? n / s.dim[0] : 1;
    double        sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += y[i] * (double)(float)op_unit("weight", (uint64_t)(i % row));
    return sum;
}

static void check_gradient(const op_row *row, sized s, op_layout layout)
{
    ready r = run_row(row, s, layout, &ll_backend_ref, 1, false);
    for (int i = 0; i < ll_plan_n_slots(r.plan); i++) {
        const ll_slot *slot = ll_plan_slot(r.plan, i);
        char           name[80];
        snprintf(name, sizeof name, "d%s", slot->name);
        const double *found = ll_run_output(r.run, name, NULL);
        if (slot->elem == LL_INT || op_leaf_fill(slot->name) > FILL_POSITIVE) continue;
        /* No gradient node means that it is zero everywhere. */
        const int64_t n = ll_shape_count(&slot->shape), stride = n / 9 + 1;
        double       *x = r.data[i], h = 1e-5;
        for (int64_t k = 0; k < n; k += stride) {
            CHECK_OK(ll_run_exec(r.run));
            const double grad = found == NULL ? 0.0 : found[k], kept = x[k];
            x[k] = kept + h;
            const double up = weighed_sum(&r);
            x[k] = kept - h;
            const double down = weighed_sum(&r), expected = (up - down) / (2.0 * h);
            x[k] = kept;
            if (!(fabs(grad - expected) <= 2e-7 + 1e-6 * fabs(expected)))
                fail_msg("%s, gradient of %s[%lld]: %.10g, by differences %.10g", row->name,
                         slot->name, (long long)k, grad, expected);
        }
    }
    dispose(&r);
}

static void gradients_are_differences(void **state)
{
    (void)state;
    for (int i = 0; i < op_table_len; i++) {
        if (op_table[i].no_gradient) continue;
        check_gradient(&op_table[i], (sized){ 1, 1, 1 }, OP_DENSE);
        check_gradient(&op_table[i], (sized){ 2, 5, 4 }, OP_DENSE);
        check_gradient(&op_table[i], (sized){ 2, 4, 3 }, OP_SLICED);
        check_gradient(&op_table[i], (sized){ 2, 4, 3 }, OP_SWAPPED);
    }
}

/* -------- bytes -------- */

static void threads_and_fusion_do_not_change_bytes(void **state)
{
    (void)state;
    const sized sizes[] = { { 3, 7, 5 }, { 2, 40, 67 } };
    for (int i = 0; i < op_table_len; i++)
        for (int k = 0; k < 2; k++) {
            ready one = run_row(&op_table[i], sizes[k], OP_DENSE, &ll_backend_cpu, 1, false);
            ready two = run_row(&op_table[i], sizes[k], OP_DENSE, &ll_backend_cpu, 2, false);
            ready three = run_row(&op_table[i], sizes[k], OP_DENSE, &ll_backend_cpu, 3, false);
            ready plain = run_row(&op_table[i], sizes[k], OP_DENSE, &ll_backend_cpu, 1, true);
            same_bytes(&op_table[i], &one, &two, "with 2 threads");
            same_bytes(&op_table[i], &one, &three, "with 3 threads");
            same_bytes(&op_table[i], &one, &plain, "without fusion");
            dispose(&one);
            dispose(&two);
            dispose(&three);
            dispose(&plain);
        }
}

/* Whether an output has a row per batch item: y, and the gradient of a batched leaf. */
static bool by_batch(const char *name) { return name[0] == 'y' || op_leaf_batched(name + 1); }

static void compare_batches(const op_row *row, sized s)
{
    ready all = run_row(row, s, OP_DENSE, &ll_backend_cpu, 2, false);
    char  name[80];
    for (int64_t b = 0; b < s.b; b++) {
        ready one = make_ready(row, (sized){ 1, s.l, s.n }, OP_DENSE, &ll_backend_cpu, 1, false);
        bind_leaves(&one, &ll_backend_cpu, b);
        CHECK_OK(ll_run_exec(one.run));
        for (int k = 0; output_name(&all, k, name, sizeof name) != NULL; k++) {
            const char *what = output_name(&all, k, name, sizeof name);
            ll_shape    shape;
            if (!by_batch(what)) continue;
            const float  *x = ll_run_output(all.run, what, NULL);
            const float  *y = ll_run_output(one.run, what, &shape);
            const int64_t n = ll_shape_count(&shape);
            if (memcmp(x + b * n, y, (size_t)n * sizeof *y) != 0)
                fail_msg("%s, %s: row %lld has other bytes alone than in a batch of %lld",
                         row->name, what, (long long)b, (long long)s.b);
        }
        dispose(&one);
    }
    dispose(&all);
}

static void batch_does_not_change_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < op_table_len; i++) {
        if (strstr(op_table[i].name, "dropout") != NULL) continue; /* keyed by element */
        compare_batches(&op_table[i], (sized){ 3, 7, 5 });
        compare_batches(&op_table[i], (sized){ 5, 33, 20 });
    }
}

/* -------- the table itself -------- */

static void every_kernel_has_a_row(void **state)
{
    (void)state;
    for (int op = LL_OP_COPY; op < LL_OP_COUNT; op++) {
        /* What GPUs alone have: see model/planned; what fixed weights allow: see graph.c. */
        bool found = op == LL_OP_LAYERS || op == LL_OP_MOVE || op == LL_OP_GATED || op == LL_OP_MLP;
        for (int i = 0; i < op_table_len; i++) found = found || (int)op_table[i].op == op;
        if (!found) fail_msg("%s has no row", ll_op_name((ll_op)op));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_has_a_row),
        cmocka_unit_test(cpu_is_ref),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(threads_and_fusion_do_not_change_bytes),
        cmocka_unit_test(batch_does_not_change_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
