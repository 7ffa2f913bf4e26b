/* Dropout, by pieces. The other element-by-element functions of the tables are called by whoever
 * has the pieces, elementwise.c. */
#include "backend/cpu/kern_isa.h"

enum { DROP_PIECE = 1024 };

typedef struct drop_args {
    const kern_isa *isa;
    ll_kern_drop    drop;
    uint64_t        first;
    int64_t         n;
    const float    *x;
    float          *y;
} drop_args;

static void drop_part(const void *p, int64_t unit, int thread)
{
    const drop_args *a = p;
    const int64_t    i = unit * DROP_PIECE, n = kern_least(DROP_PIECE, a->n - i);
    float            factor[DROP_PIECE];
    (void)thread;
    a->drop.keep(a->drop.user, a->first + (uint64_t)i, n, factor);
    a->isa->binary[LL_BINARY_MUL](n, a->x + i, 1, factor, 1, a->y + i);
}

void ll_kern_dropout(const ll_kern *kn, ll_kern_drop drop, uint64_t first, int64_t n,
                     const float *x, float *y)
{
    const drop_args a = { kn->isa, drop, first, n, x, y };
    kern_each(kern_threads(kn, n), kern_per(n, DROP_PIECE), drop_part, &a);
}
