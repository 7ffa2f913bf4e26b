/* One row of the op table made ready, run and compared with ref. */
#ifndef LLAP_TESTS_OP_RUN_H
#define LLAP_TESTS_OP_RUN_H

#include "check.h"

#include "op_table.h"

enum { MAX_SLOTS = 12, MAX_GRADS = 12 };

typedef struct sized {
    int64_t b, l, n;
} sized;

/* unit, empty, odd, tail, wide, and long */
enum { N_SHAPES = 5 };
extern const sized op_shapes[N_SHAPES], op_long_shape;

/* One op made ready: a plan with outputs "y" and the gradients of its real leaves as "d<leaf>". */
typedef struct ready {
    ll_plan *plan;
    ll_run  *run;
    void    *data[MAX_SLOTS]; /* bound to the slots */
} ready;

double op_unit(const char *name, uint64_t i); /* (-1, 1), by name and element; exact in fp32 */

ready make_ready(const op_row *row, sized s, op_layout layout, const ll_backend *backend,
                 int n_threads, bool plain);
/* Fills and binds the leaves; batched ones with rows first_row and on. */
void  bind_leaves(ready *r, const ll_backend *backend, int64_t first_row);
ready run_row(const op_row *row, sized s, op_layout layout, const ll_backend *backend,
              int n_threads, bool plain);
void  dispose(ready *r);

/* Name of output k: y, then the gradients of the real leaves. NULL after the last. */
const char *output_name(const ready *r, int k, char *buf, size_t size);

/* Whether the backend has the row's op: there are some that it may do without (backend/op.h). */
bool op_there(const op_row *row, const ll_backend *backend);

typedef struct judged {
    const ll_backend *backend;
    double            tol; /* of the largest magnitude; the row's, if that is larger */
} judged;

/* Fails the test where one of n backends and ref differ by more than its tol. */
void compare_with_ref(const op_row *row, sized s, op_layout layout, const judged *b, int n);
/* All shapes and layouts of all rows. */
void compare_table_with_ref(const judged *b, int n);

/* Fails the test where the results of two runs differ in a byte. */
void same_bytes(const op_row *row, const ready *a, const ready *b, const char *why);

#endif
