/* The damped-sinusoid basis, rotary embedding, 1-D convolution, AdamW. */
#include "backend/cpu/kern_isa.h"

#include <math.h>
#include <string.h>

/* --- basis --------------------------------------------------------------------------------------
 */

enum { BASIS_ROWS = 16 };

typedef struct basis_args {
    const kern_isa *isa;
    const ll_basis *p;
    const float    *t, *rho, *omega, *a, *da;
    float          *out, *dt, *drho, *domega;
} basis_args;

static void basis_part(const void *args, int64_t unit, int thread)
{
    const basis_args *q = args;
    const ll_basis   *p = q->p;
    const int64_t     end = kern_least((unit + 1) * BASIS_ROWS, p->batch * p->h);
    (void)thread;
    for (int64_t i = unit * BASIS_ROWS; i < end; i++) {
        const int64_t b = i / p->h, r = i % p->h;
        q->isa->basis_row(p->k, q->t[b * p->t_batch + r], q->rho + b * p->pole_batch,
                          q->omega + b * p->pole_batch, q->out + i * 2 * p->k);
    }
}

void ll_kern_basis(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                   const float *omega, float *a)
{
    const basis_args q = { .isa = kn->isa, .p = p, .t = t, .rho = rho, .omega = omega, .out = a };
    const int64_t    rows = p->batch * p->h;
    kern_each(kern_threads(kn, rows * p->k), kern_per(rows, BASIS_ROWS), basis_part, &q);
}

static void basis_grad_part(const void *args, int64_t b, int thread)
{
    const basis_args *q = args;
    const ll_basis   *p = q->p;
    const int64_t     k = p->k, at = b * p->h * 2 * k;
    (void)thread;
    for (int64_t r = 0; r < p->h && q->dt != NULL; r++)
        q->dt[b * p->h + r] =
            q->isa->basis_grad_time(k, q->rho + b * p->pole_batch, q->omega + b * p->pole_batch,
                                    q->a + at + r * 2 * k, q->da + at + r * 2 * k);
    if (q->drho == NULL && q->domega == NULL) return;
    for (int64_t j = 0; j < k; j += 16)
        q->isa->basis_grad_poles(p->h, k, j, q->t + b * p->t_batch, q->a + at, q->da + at,
                                 q->drho != NULL ? q->drho + b * k : NULL,
                                 q->domega != NULL ? q->domega + b * k : NULL);
}

void ll_kern_basis_grad(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                        const float *omega, const float *a, const float *da, float *dt, float *drho,
                        float *domega)
{
    const basis_args q = { .isa = kn->isa,
                           .p = p,
                           .t = t,
                           .rho = rho,
                           .omega = omega,
                           .a = a,
                           .da = da,
                           .dt = dt,
                           .drho = drho,
                           .domega = domega };
    kern_each(kern_threads(kn, p->batch * p->h * p->k), p->batch, basis_grad_part, &q);
}

/* --- rotary -------------------------------------------------------------------------------------
 */

enum { PAIRS = 64, ROTARY_ROWS = 16 };

typedef struct rotary_args {
    const kern_isa  *isa;
    const ll_rotary *p;
    const float     *pos, *x;
    float           *y;
    int64_t          first, n; /* these pairs of every head */
    float            freq[PAIRS];
} rotary_args;

static void rotate_row(const rotary_args *a, const float *sine, const float *cosine, const float *x,
                       float *y)
{
    for (int64_t h = 0; h < a->p->heads; h++)
        for (int64_t i = 0; i < a->n; i++) {
            const int64_t at = h * a->p->d + 2 * (a->first + i);
            const float   s = a->p->inverse ? -sine[i] : sine[i], c = cosine[i];
            const float   u = x[at], v = x[at + 1];
            y[at] = u * c - v * s;
            y[at + 1] = u * s + v * c;
        }
}

static void rotary_part(const void *args, int64_t unit, int thread)
{
    const rotary_args *a = args;
    const int64_t      end = kern_least((unit + 1) * ROTARY_ROWS, a->p->rows);
    (void)thread;
    for (int64_t r = unit * ROTARY_ROWS; r < end; r++) {
        float sine[PAIRS], cosine[PAIRS];
        a->isa->angles(a->n, a->pos[r], a->freq, sine, cosine);
        rotate_row(a, sine, cosine, a->x + r * a->p->x_row, a->y + r * a->p->y_row);
    }
}

void ll_kern_rotary(const ll_kern *kn, const ll_rotary *p, const float *pos, const float *x,
                    float *y)
{
    const int64_t pairs = p->d / 2, threads = kern_threads(kn, p->rows * p->heads * p->d);
    rotary_args   a = { .isa = kn->isa, .p = p, .pos = pos, .x = x, .y = y };
    for (a.first = 0; a.first < pairs; a.first += PAIRS) {
        a.n = kern_least(PAIRS, pairs - a.first);
        for (int64_t i = 0; i < a.n; i++)
            a.freq[i] = (float)pow((double)p->base, -(double)(a.first + i) / (double)pairs);
        kern_each((int)threads, kern_per(p->rows, ROTARY_ROWS), rotary_part, &a);
    }
    for (int64_t i = 0; i < p->rows * p->heads && p->d % 2 == 1; i++) {
        const int64_t r = i / p->heads, last = (i % p->heads + 1) * p->d - 1;
        y[r * p->y_row + last] = x[r * p->x_row + last];
    }
}

/* --- AdamW
 * ------------------------------------------------------------------------------------------ */

enum { ADAMW_PIECE = 1 << 13, ADAMW_ITEMS = 256 /* of one pass */ };

typedef struct adamw_args {
    const kern_isa      *isa;
    const ll_adamw      *o;
    const ll_adamw_item *item;
    int64_t              end[ADAMW_ITEMS]; /* of an item's pieces */
    int                  n;
} adamw_args;

static void adamw_part(const void *args, int64_t unit, int thread)
{
    const adamw_args *a = args;
    int               low = 0, high = a->n - 1;
    (void)thread;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (a->end[middle] > unit) high = middle;
        else low = middle + 1;
    }
    const int64_t first = (unit - (low == 0 ? 0 : a->end[low - 1])) * ADAMW_PIECE;
    a->isa->adamw(a->o, &a->item[low], first, kern_least(ADAMW_PIECE, a->item[low].count - first));
}

void ll_kern_adamw(const ll_kern *kn, const ll_adamw *o, const ll_adamw_item *item, int n)
{
    for (int done = 0; done < n; done += ADAMW_ITEMS) {
        adamw_args a = { .isa = kn->isa, .o = o, .item = item + done };
        int64_t    units = 0, numbers = 0;
        for (; a.n < ADAMW_ITEMS && done + a.n < n; a.n++) {
            numbers += a.item[a.n].count;
            units += kern_per(a.item[a.n].count, ADAMW_PIECE);
            a.end[a.n] = units;
        }
        kern_each(kern_threads(kn, numbers), units, adamw_part, &a);
    }
}
