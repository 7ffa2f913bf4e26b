/* Rows of an answer that several ranks have made. */
#include "base/alloc.h"
#include "predict/tables/answer.h"

#include <string.h>

/* A row on its way, in front of its numbers. */
typedef struct parcel {
    int64_t time, origin;
    int32_t entity, target, sample, scenario;
    int64_t observed;
} parcel;

static void pack(const llap_answer *a, size_t i, char *to)
{
    const size_t        n = (size_t)a->n_numbers;
    const ll_answer_row r = ll_answer_row_at(a, i);
    const parcel p = { r.time, r.origin, r.entity, r.target, r.sample, r.scenario, r.observed };
    memcpy(to, &p, sizeof p);
    memcpy(to + sizeof p, a->number + i * n, n * sizeof *a->number);
}

static void unpack(llap_answer *a, size_t i, const char *from)
{
    const size_t n = (size_t)a->n_numbers;
    parcel       p;
    memcpy(&p, from, sizeof p);
    memcpy(a->number + i * n, from + sizeof p, n * sizeof *a->number);
    ll_answer_put(a, i,
                  (ll_answer_row){ .time = p.time,
                                   .origin = p.origin,
                                   .entity = p.entity,
                                   .target = p.target,
                                   .sample = p.sample,
                                   .scenario = p.scenario,
                                   .observed = p.observed != 0 });
}

/* What rank k has made goes to all; made [n_rows] says what that is. */
static llap_status spread_of(const ll_ranks *r, int k, const uint8_t *made, llap_answer *a)
{
    const size_t each = sizeof(parcel) + (size_t)a->n_numbers * sizeof *a->number;
    size_t       n = 0;
    for (size_t i = 0; i < a->n_rows; i++) n += made[i];
    char *all = ll_new(n + 1, each), *at = all;
    if (all == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < a->n_rows && k == r->rank; i++)
        if (made[i]) pack(a, i, at), at += each;
    const llap_status st = ll_ranks_share(r, all, n * each, k);
    at = all;
    for (size_t i = 0; i < a->n_rows && k != r->rank && st == LLAP_OK; i++)
        if (made[i]) unpack(a, i, at), at += each;
    ll_free(all);
    return st;
}

llap_status ll_answer_spread(const ll_ranks *r, llap_answer *a, const uint8_t *mine)
{
    if (r == NULL) return LLAP_OK;
    uint8_t    *made = ll_new(a->n_rows + 1, sizeof *made);
    llap_status st = made == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int k = 0; k < r->size && st == LLAP_OK; k++) {
        if (k == r->rank) memcpy(made, mine, a->n_rows);
        st = ll_ranks_share(r, made, a->n_rows, k);
        if (st == LLAP_OK) st = spread_of(r, k, made, a);
    }
    ll_free(made);
    return st;
}
