/* AdamW of many parameters, and their averages, in one pass: the same bits as one after the other.
 */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "check.h"

#include <math.h>
#include <string.h>

enum { PARAMETERS = 600, MOST = 2 * PARAMETERS, ARRAYS = 5 /* p, m, v, average, gradient */ };

typedef struct world {
    float      *number; /* ARRAYS for each parameter, one behind the other */
    size_t      n_numbers;
    float       scale, lr;
    int32_t     step;
    ll_attr     adam, chain[2];
    ll_op_chain average[2]; /* of two decays */
    ll_view     view[MOST][10];
    ll_call     call[MOST];
    int         n;
} world;

static int64_t length_of(int i)
{
    static const int64_t lengths[] = { 1, 17, 0, 256, 8192, 20011 };
    return lengths[i % 6];
}

static ll_view view_of(void *data, int64_t n, ll_elem elem)
{
    return (ll_view){
        .data = data, .present = true, .elem = elem, .shape = { 1, { n } }, .stride = { 1 }
    };
}

static void add_call(world *w, ll_op op, const ll_attr *attr, int n_in, int n_out)
{
    w->call[w->n] = (ll_call){ .op = op,
                               .attr = attr,
                               .in = w->view[w->n],
                               .out = w->view[w->n] + n_in,
                               .n_in = n_in,
                               .n_out = n_out,
                               .n_threads = 2 };
    w->n++;
}

/* Parameter i: its step, and its average unless it has none; the decay changes at `other`. */
static void add_parameter(world *w, int i, int other, float *at)
{
    const int64_t n = length_of(i);
    ll_view      *v = w->view[w->n];
    for (int k = 0; k < 3; k++) v[k] = v[7 + k] = view_of(at + k * n, n, LL_REAL);
    v[3] = view_of(at + 4 * n, n, LL_REAL);
    v[4] = view_of(&w->scale, 1, LL_REAL);
    v[5] = view_of(&w->lr, 1, LL_REAL);
    v[6] = view_of(&w->step, 1, LL_INT);
    add_call(w, LL_OP_ADAMW, &w->adam, 7, 3);
    if (i % 5 == 3) return;
    v = w->view[w->n];
    v[0] = view_of(at, n, LL_REAL);
    v[1] = v[2] = view_of(at + 3 * n, n, LL_REAL);
    add_call(w, LL_OP_CHAIN, &w->chain[i >= other], 2, 1);
}

static world *make_world(int other, float scale)
{
    world *w = ll_new(1, sizeof *w);
    assert_non_null(w);
    for (int i = 0; i < PARAMETERS; i++) w->n_numbers += (size_t)(ARRAYS * length_of(i));
    w->number = ll_new(w->n_numbers, sizeof *w->number);
    assert_non_null(w->number);
    for (size_t i = 0; i < w->n_numbers; i++) w->number[i] = fabsf(sinf((float)(i % 9973)));
    w->scale = scale;
    w->lr = 0.01f;
    w->step = 3;
    w->adam.adamw.beta1 = 0.9;
    w->adam.adamw.beta2 = 0.999;
    w->adam.adamw.eps = 1e-8;
    w->adam.adamw.weight_decay = 0.02;
    for (int k = 0; k < 2; k++) {
        w->average[k] = (ll_op_chain){ 2,
                                       3,
                                       { { LL_OP_SUB, { 0, 1 }, 0, 0 },
                                         { LL_OP_AFFINE, { 2, -1 }, k == 0 ? 0.01 : 0.1, 0 },
                                         { LL_OP_ADD, { 1, 3 }, 0, 0 } } };
        w->chain[k].chain = &w->average[k];
    }
    float *at = w->number;
    for (int i = 0; i < PARAMETERS; at += ARRAYS * length_of(i), i++)
        add_parameter(w, i, other, at);
    return w;
}

static void free_world(world *w)
{
    ll_free(w->number);
    ll_free(w);
}

/* How many passes over all parameters. */
static int run_together(const world *w)
{
    int passes = 0;
    for (int i = 0; i < w->n; passes++) {
        const int done = ll_backend_cpu.several(&w->call[i], w->n - i);
        if (done == 0) ll_backend_cpu.kernel[w->call[i].op](&w->call[i]);
        i += done > 0 ? done : 1;
    }
    return passes;
}

static void check_same(int other, float scale, int passes)
{
    world *together = make_world(other, scale), *apart = make_world(other, scale);
    assert_true(run_together(together) <= passes);
    for (int i = 0; i < apart->n; i++) ll_backend_cpu.kernel[apart->call[i].op](&apart->call[i]);
    assert_memory_equal(together->number, apart->number,
                        together->n_numbers * sizeof *together->number);
    free_world(together);
    free_world(apart);
}

static void one_pass_is_as_many(void **state)
{
    (void)state;
    check_same(PARAMETERS, 0.7f, 2);
    check_same(PARAMETERS, NAN, 2); /* a step that is left out: averages move all the same */
}

static void another_decay_is_another_pass(void **state)
{
    (void)state;
    check_same(100, 0.7f, MOST); /* from there on one behind the other */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pass_is_as_many),
        cmocka_unit_test(another_decay_is_another_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
