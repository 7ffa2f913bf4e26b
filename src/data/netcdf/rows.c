#include "data/netcdf/rows.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/netcdf/value.h"

#include <stdlib.h>
#include <string.h>

enum { SLAB = 1 << 16 }; /* elements read at once */

static size_t slab(int64_t n) { return n < SLAB ? (size_t)n : SLAB; }

void ll_nc_rows_deinit(ll_nc_rows *r)
{
    ll_free(r->entity);
    ll_free(r->station);
    ll_free(r->start);
    ll_free(r->time);
    ll_free(r->base);
    ll_free(r->position);
    *r = (ll_nc_rows){ 0 };
}

/* ---- reading -------------------------------------------------------------------------------- */

bool ll_nc_j_is_inner(const ll_nc_layout *l, const ll_nc_var *v)
{
    for (int d = 0; d < v->n_dims; d++) {
        if (v->dim[d] == l->j_dim) return false;
        if (v->dim[d] == l->i_dim) return l->j_dim >= 0;
    }
    return false;
}

llap_status ll_nc_read_box(ll_nc_file *f, const ll_nc_layout *l, const ll_nc_var *v,
                           const int64_t start[2], const int64_t count[2], void *to)
{
    size_t from[LL_NC_VAR_DIMS], n[LL_NC_VAR_DIMS];
    for (int d = 0; d < v->n_dims; d++) {
        const int k = v->dim[d] == l->i_dim ? 0 : v->dim[d] == l->j_dim ? 1 : 2;
        from[d] = k == 2 ? 0 : (size_t)start[k];
        n[d] = k == 2 ? 1 : (size_t)count[k];
    }
    const int rc = f->nc->get(f->id, v->id, from, n, to);
    return rc == 0 ? LLAP_OK : ll_nc_fail(f->nc, f->path, v->name, rc);
}

static llap_status fail_time(ll_nc_file *f, const ll_nc_var *v, int64_t k, const void *raw,
                             size_t i)
{
    return ll_fail(LLAP_EFORMAT,
                   "%s: %s: element %lld: %.17g is outside 1677-09-21 to 2262-04-11, or of int64",
                   f->path, v->name, (long long)k, ll_nc_element(raw, v->type, i));
}

/* n elements that belong to elements first, first + step, ... of the rows. */
static llap_status decode(ll_nc_rows *r, ll_nc_file *f, const ll_nc_var *v, const ll_nc_rule *rule,
                          const void *raw, int64_t n, int64_t first, int64_t step)
{
    const bool exact = ll_nc_is_integer(rule->type) && !rule->packed;
    const int  digits = rule->type == LL_NC_FLOAT && !rule->packed ? 24 : 53;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = first + i * step;
        double        x;
        if (!ll_nc_rule_number(rule, raw, (size_t)i, &x, f->counts)) {
            r->position[k] = -1;
            f->counts->without_time++;
            continue;
        }
        const int64_t bits = ll_nc_element_bits(raw, rule->type, (size_t)i);
        const bool    ok = exact ? (rule->type != LL_NC_UINT64 || bits >= 0) &&
                                    ll_nc_clock_integer(&r->clock, bits, &r->time[k])
                                 : ll_nc_clock_real(&r->clock, x, digits, &r->time[k]);
        if (!ok) return fail_time(f, v, k, raw, (size_t)i);
    }
    return LLAP_OK;
}

/* Fills time and position (0, or -1 where the time is missing) of all elements. */
static llap_status read_times(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l)
{
    const bool    both = l->kind == LL_NETCDF_INCOMPLETE;
    const int64_t n_j = both ? r->n_j : 1;
    ll_nc_rule    rule;
    llap_status   st = ll_nc_rule_init(&rule, f, l->time);
    const bool    j_inner = both && ll_nc_j_is_inner(l, l->time);
    /* whole lines along the inner dimension, in slabs */
    const int64_t outer = j_inner ? r->n_i : n_j, inner = j_inner ? n_j : r->n_i;
    void         *raw = st != LLAP_OK ? NULL : ll_new(slab(inner), 8);
    if (raw == NULL) return st != LLAP_OK ? st : LLAP_ENOMEM;
    for (int64_t o = 0; o < outer && st == LLAP_OK; o++)
        for (int64_t k = 0; k < inner && st == LLAP_OK; k += SLAB) {
            const int64_t n = inner - k < SLAB ? inner - k : SLAB;
            const int64_t start[2] = { j_inner ? o : k, j_inner ? k : o },
                          count[2] = { j_inner ? 1 : n, j_inner ? n : 1 };
            st = ll_nc_read_box(f, l, l->time, start, count, raw);
            if (st == LLAP_OK)
                st = decode(r, f, l->time, &rule, raw, n, start[0] + start[1] * r->n_i,
                            j_inner ? r->n_i : 1);
        }
    ll_free(raw);
    return st;
}

/* Integers of row_size or of an index; missing is INT64_MIN. */
static llap_status read_integers(ll_nc_file *f, const ll_nc_var *v, int64_t n, int64_t *out)
{
    ll_nc_rule  rule;
    llap_status st = ll_nc_rule_init(&rule, f, v);
    void       *raw = st != LLAP_OK ? NULL : ll_new(slab(n), 8);
    if (raw == NULL) return st != LLAP_OK ? st : LLAP_ENOMEM;
    for (int64_t k = 0; k < n && st == LLAP_OK; k += SLAB) {
        const size_t start = (size_t)k, m = (size_t)(n - k < SLAB ? n - k : SLAB);
        const int    rc = f->nc->get(f->id, v->id, &start, &m, raw);
        if (rc != 0) st = ll_nc_fail(f->nc, f->path, v->name, rc);
        for (size_t i = 0; i < m && st == LLAP_OK; i++) {
            double x;
            out[start + i] = ll_nc_rule_number(&rule, raw, i, &x, f->counts)
                                 ? ll_nc_element_bits(raw, rule.type, i)
                                 : INT64_MIN;
        }
    }
    ll_free(raw);
    return st;
}

/* ---- stations ------------------------------------------------------------------------------- */

typedef struct named {
    const char *name;
    int64_t     station;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static llap_status order_stations(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l)
{
    const size_t n = (size_t)r->n_stations;
    r->entity = ll_new(n, sizeof *r->entity);
    r->station = ll_new(n, sizeof *r->station);
    named *list = ll_new(n, sizeof *list);
    if (r->entity == NULL || r->station == NULL || list == NULL) {
        ll_free(list);
        return LLAP_ENOMEM;
    }
    llap_status st = ll_nc_station_names(f, l, r->n_stations, r->entity);
    if (st == LLAP_OK) {
        for (size_t k = 0; k < n; k++) list[k] = (named){ r->entity[k], (int64_t)k };
        qsort(list, n, sizeof *list, by_name);
    }
    for (size_t k = 0; k < n && st == LLAP_OK; k++) {
        r->entity[k] = list[k].name;
        r->station[k] = list[k].station;
        if (k > 0 && strcmp(list[k - 1].name, list[k].name) == 0)
            st =
                ll_fail(LLAP_EFORMAT, "%s: stations %lld and %lld are both named '%.200s'", f->path,
                        (long long)list[k - 1].station, (long long)list[k].station, list[k].name);
    }
    ll_free(list);
    return st;
}

/* ---- ordering ------------------------------------------------------------------------------- */

typedef struct event {
    int64_t time, element;
} event;

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->element < y->element ? -1 : x->element > y->element;
}

/* Gives the elements of one entity their positions, from `first` on: in order of time, equal times
 * together. They are the elements at, at + 1, ..., or order[at], order[at + 1], ...; their times
 * are appended to packed. Returns the number of rows. spare [n]. */
static int64_t place(ll_nc_rows *r, ll_nc_file *f, const int64_t *order, int64_t at, int64_t n,
                     int64_t first, event *spare, int64_t *packed)
{
    int64_t m = 0;
    bool    sorted = true;
    for (int64_t k = 0; k < n; k++) {
        const int64_t e = order == NULL ? at + k : order[at + k];
        if (r->position[e] < 0) continue;
        spare[m] = (event){ r->time[e], e };
        if (m > 0 && spare[m].time < spare[m - 1].time) {
            f->counts->unordered++;
            sorted = false;
        }
        m++;
    }
    if (!sorted) qsort(spare, (size_t)m, sizeof *spare, by_time);
    int64_t rows = 0;
    for (int64_t k = 0; k < m; k++) {
        if (k > 0 && spare[k].time == spare[k - 1].time) f->counts->merged_rows++;
        else packed[r->n_times + rows++] = spare[k].time;
        r->position[spare[k].element] = first + rows - 1;
    }
    r->n_times += rows;
    return rows;
}

/* Puts the elements of each group, begin[g] .. begin[g + 1] of order, into rows; groups in the
 * order of the entities. absolute: positions count from the first row of all. */
static llap_status place_groups(ll_nc_rows *r, ll_nc_file *f, const int64_t *order,
                                const int64_t *begin, bool absolute)
{
    int64_t most = 0, total = begin[r->n_stations];
    for (int64_t s = 0; s < r->n_stations; s++)
        if (begin[s + 1] - begin[s] > most) most = begin[s + 1] - begin[s];
    event   *spare = ll_new((size_t)most, sizeof *spare);
    int64_t *packed = ll_new((size_t)total, sizeof *packed);
    if (spare == NULL || packed == NULL) {
        ll_free(spare);
        ll_free(packed);
        return LLAP_ENOMEM;
    }
    for (int64_t k = 0; k < r->n_stations; k++) {
        const int64_t s = r->station[k];
        if (r->n_j > s) r->base[s] = absolute ? 0 : r->n_times;
        r->start[k] = r->n_times;
        (void)place(r, f, order, begin[s], begin[s + 1] - begin[s], absolute ? r->n_times : 0,
                    spare, packed);
    }
    r->start[r->n_stations] = r->n_times;
    ll_free(spare);
    ll_free(r->time);
    r->time = packed;
    return LLAP_OK;
}

/* ---- the layouts ---------------------------------------------------------------------------- */

static llap_status grid_rows(ll_nc_rows *r, ll_nc_file *f)
{
    event   *spare = ll_new((size_t)r->n_i, sizeof *spare);
    int64_t *packed = spare == NULL ? NULL : ll_new((size_t)r->n_i, sizeof *packed);
    if (packed == NULL) {
        ll_free(spare);
        return LLAP_ENOMEM;
    }
    const int64_t n = place(r, f, NULL, 0, r->n_i, 0, spare, packed);
    ll_free(spare);
    ll_free(r->time);
    r->time = packed;
    int64_t end;
    if (__builtin_mul_overflow(n, r->n_stations, &end))
        return ll_fail(LLAP_ELIMIT, "%s: %lld times of %lld stations are too many rows", f->path,
                       (long long)n, (long long)r->n_stations);
    for (int64_t k = 0; k < r->n_stations; k++) {
        r->start[k] = k * n;
        r->base[r->station[k]] = k * n;
    }
    r->start[r->n_stations] = end;
    return LLAP_OK;
}

static llap_status contiguous_rows(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l)
{
    int64_t *begin = ll_new((size_t)r->n_stations + 1, sizeof *begin);
    if (begin == NULL) return LLAP_ENOMEM;
    llap_status st = read_integers(f, l->rows, r->n_stations, begin + 1);
    for (int64_t s = 0; s < r->n_stations && st == LLAP_OK; s++) {
        if (begin[s + 1] < 0)
            st = ll_fail(LLAP_EFORMAT, "%s: %s: station %lld: expected a count, found %s", f->path,
                         l->rows->name, (long long)s,
                         begin[s + 1] == INT64_MIN ? "a missing value" : "a negative one");
        else if (__builtin_add_overflow(begin[s], begin[s + 1], &begin[s + 1]) ||
                 begin[s + 1] > r->n_i)
            st = ll_fail(LLAP_EFORMAT, "%s: %s: sums to more than the %lld of dimension '%s'",
                         f->path, l->rows->name, (long long)r->n_i, f->dim[l->i_dim].name);
    }
    if (st == LLAP_OK && begin[r->n_stations] != r->n_i)
        st = ll_fail(LLAP_EFORMAT, "%s: %s: expected the sum %lld of dimension '%s', found %lld",
                     f->path, l->rows->name, (long long)r->n_i, f->dim[l->i_dim].name,
                     (long long)begin[r->n_stations]);
    if (st == LLAP_OK) st = place_groups(r, f, NULL, begin, true);
    ll_free(begin);
    return st;
}

/* order: the elements by station, each station's in the order of the file. */
static void group_by(const int64_t *who, int64_t n, int64_t *begin, int64_t n_stations,
                     int64_t *order)
{
    for (int64_t e = 0; e < n; e++)
        if (who[e] >= 0) begin[who[e] + 1]++;
    for (int64_t s = 0; s < n_stations; s++) begin[s + 1] += begin[s];
    for (int64_t e = 0; e < n; e++)
        if (who[e] >= 0) order[begin[who[e]]++] = e;
    for (int64_t s = n_stations; s > 0; s--) begin[s] = begin[s - 1];
    begin[0] = 0;
}

static llap_status indexed_rows(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l)
{
    const int64_t n = r->n_i;
    int64_t      *begin = ll_new((size_t)r->n_stations + 1, sizeof *begin);
    int64_t      *who = ll_new((size_t)n, sizeof *who);
    int64_t      *order = ll_new((size_t)n, sizeof *order);
    llap_status   st = begin == NULL || who == NULL || order == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = read_integers(f, l->rows, n, who);
    for (int64_t e = 0; e < n && st == LLAP_OK; e++) {
        if (who[e] == INT64_MIN) {
            who[e] = -1;
            if (r->position[e] >= 0) f->counts->without_station++;
            r->position[e] = -1;
        } else if (who[e] < 0 || who[e] >= r->n_stations) {
            st = ll_fail(LLAP_EFORMAT, "%s: %s: element %lld: expected 0 to %lld, found %lld",
                         f->path, l->rows->name, (long long)e, (long long)r->n_stations - 1,
                         (long long)who[e]);
        }
    }
    if (st == LLAP_OK) {
        group_by(who, n, begin, r->n_stations, order);
        st = place_groups(r, f, order, begin, true);
    }
    ll_free(begin);
    ll_free(who);
    ll_free(order);
    return st;
}

static llap_status incomplete_rows(ll_nc_rows *r, ll_nc_file *f)
{
    int64_t *begin = ll_new((size_t)r->n_stations + 1, sizeof *begin);
    if (begin == NULL) return LLAP_ENOMEM;
    for (int64_t s = 0; s <= r->n_stations; s++) begin[s] = s * r->n_i;
    const llap_status st = place_groups(r, f, NULL, begin, false);
    ll_free(begin);
    return st;
}

static llap_status check_sizes(ll_nc_rows *r, ll_nc_file *f, int64_t *n_elements)
{
    const ll_netcdf_opts *o = f->opts;
    if (o->max_entities > 0 && r->n_stations > o->max_entities)
        return ll_fail(LLAP_ELIMIT, "%s: %lld stations, more than the %lld allowed", f->path,
                       (long long)r->n_stations, (long long)o->max_entities);
    int64_t rows;
    if (__builtin_mul_overflow(r->n_i, r->n_j, &rows))
        return ll_fail(LLAP_ELIMIT, "%s: %lld x %lld elements are too many", f->path,
                       (long long)r->n_i, (long long)r->n_j);
    if (o->max_rows > 0 && rows > o->max_rows)
        return ll_fail(LLAP_ELIMIT, "%s: %lld rows, more than the %lld allowed", f->path,
                       (long long)rows, (long long)o->max_rows);
    *n_elements = r->stride > 0 ? rows : r->n_i;
    return LLAP_OK;
}

llap_status ll_nc_rows_init(ll_nc_rows *r, ll_nc_file *f, const ll_nc_layout *l)
{
    *r = (ll_nc_rows){ 0 };
    r->n_i = f->dim[l->i_dim].len;
    r->n_j = l->j_dim >= 0 ? f->dim[l->j_dim].len : 1;
    r->n_stations = l->kind == LL_NETCDF_SINGLE ? 1 : f->dim[l->stations].len;
    r->stride = l->kind == LL_NETCDF_INCOMPLETE ? r->n_i : 0;
    int64_t     n = 0;
    llap_status st = check_sizes(r, f, &n);
    if (st == LLAP_OK) st = ll_nc_clock_init(&r->clock, f, l->time);
    if (st != LLAP_OK) return st;
    r->time = ll_new((size_t)n, sizeof *r->time);
    r->position = ll_new((size_t)n, sizeof *r->position);
    r->base = ll_new((size_t)r->n_j, sizeof *r->base);
    r->start = ll_new((size_t)r->n_stations + 1, sizeof *r->start);
    if (r->time == NULL || r->position == NULL || r->base == NULL || r->start == NULL)
        return LLAP_ENOMEM;
    st = order_stations(r, f, l);
    if (st == LLAP_OK && n > 0) st = read_times(r, f, l); /* 0 may be 2^62 x 0 */
    if (st != LLAP_OK) return st;
    switch (l->kind) {
    case LL_NETCDF_CONTIGUOUS:
        return contiguous_rows(r, f, l);
    case LL_NETCDF_INDEXED:
        return indexed_rows(r, f, l);
    case LL_NETCDF_INCOMPLETE:
        return incomplete_rows(r, f);
    default:
        return grid_rows(r, f);
    }
}
