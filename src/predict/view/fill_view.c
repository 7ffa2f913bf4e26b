#include "predict/view/fill_view.h"

#include "base/alloc.h"
#include "base/rng/rng.h"
#include "fill/smooth.h"
#include "stack/crps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static_assert((int)LL_LAW_LEVELS == (int)LL_FILL_LEVELS, "moves of one length");

void ll_fill_rows_deinit(ll_fill_rows *r)
{
    void *const arrays[] = { r->start, r->entity, r->known, r->row, r->t, r->u };
    ll_fill_table_deinit(&r->table);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    *r = (ll_fill_rows){ 0 };
}

static void read_cells(ll_fill_rows *r, const ll_filling *f, const llap_panel *p, bool scaled)
{
    const int64_t n = r->table.n_rows;
    for (int64_t v = 0; v < f->n_vars; v++) {
        const int64_t var = ll_panel_find_var(p, f->name[v]);
        for (int64_t i = 0; i < n; i++) {
            const bool   read = var >= 0 && ll_panel_observed(p, r->row[i], var);
            const double y = read ? (double)p->value[r->row[i] * p->n_vars + var] : NAN;
            r->u[v * n + i] = scaled ? ll_fill_scale_u(&f->scale[v], y) : y;
        }
    }
}

llap_status ll_fill_rows_init(ll_fill_rows *r, const ll_filling *f, const llap_model *m,
                              const llap_panel *p, const uint8_t *keep, bool scaled)
{
    const size_t E = (size_t)p->n_entities;
    int64_t      n = 0;
    *r = (ll_fill_rows){ 0 };
    for (int64_t i = 0; i < p->n_rows; i++) n += keep == NULL || keep[i];
    r->start = ll_new(E + 1, sizeof *r->start);
    r->known = ll_new(E, sizeof *r->known);
    r->entity = ll_new((size_t)n, sizeof *r->entity);
    r->row = ll_new((size_t)n, sizeof *r->row);
    r->t = ll_new((size_t)n, sizeof *r->t);
    r->u = ll_new((size_t)n, (size_t)f->n_vars * sizeof *r->u);
    if (!r->start || !r->known || !r->entity || !r->row || !r->t || !r->u) return LLAP_ENOMEM;
    n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        r->known[e] = f->n_entities == 0 ? -1 : ll_model_entity_of(m, p, e);
        for (int64_t i = p->start[e]; i < p->start[e + 1]; i++) {
            if (keep != NULL && !keep[i]) continue;
            r->t[n] = ll_model_time(m, p->time[i]);
            r->entity[n] = e;
            r->row[n++] = i;
        }
        r->start[e + 1] = n;
    }
    r->table = (ll_fill_table){ .n_entities = p->n_entities,
                                .n_rows = n,
                                .n_vars = f->n_vars,
                                .start = r->start,
                                .t = r->t,
                                .entity = r->entity,
                                .known = r->known,
                                .u = r->u };
    read_cells(r, f, p, scaled);
    return LLAP_OK;
}

void ll_fill_view_deinit(ll_fill_view *v)
{
    ll_fill_rows_deinit(&v->rows);
    ll_free(v->full);
    ll_fill_draws_deinit(&v->draws);
    *v = (ll_fill_view){ 0 };
}

llap_status ll_fill_view_init(ll_fill_view *v, const llap_model *m, const ll_filling *f,
                              const llap_panel *p)
{
    *v = (ll_fill_view){ .m = m, .f = f, .p = p };
    const llap_status st = f == NULL ? LLAP_OK : ll_fill_rows_init(&v->rows, f, m, p, NULL, true);
    if (st != LLAP_OK) ll_fill_view_deinit(v);
    return st;
}

static llap_status fill_others(ll_fill_view *v)
{
    ll_fill_table *t = &v->rows.table;
    const int64_t  C = v->m->frame.n_targets;
    uint8_t       *asked = NULL;
    llap_status    st = LLAP_OK;
    v->full = ll_new((size_t)t->n_rows, (size_t)t->n_vars * sizeof *v->full);
    if (v->asked != NULL) asked = ll_new((size_t)(t->n_rows * t->n_vars) + 1, 1);
    if (v->full == NULL || (v->asked != NULL && asked == NULL)) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && asked != NULL && i < t->n_rows * t->n_vars; i++) {
        const int64_t target = v->f->target[i / t->n_rows];
        asked[i] = target >= 0 && v->asked[v->rows.row[i % t->n_rows] * C + target];
    }
    if (st == LLAP_OK) st = ll_fill_table_fill(v->f, t, asked, v->progress, v->full);
    ll_free(asked);
    if (st == LLAP_OK) return LLAP_OK;
    ll_free(v->full);
    v->full = NULL;
    return st;
}

/* What is added to the normal scores of the anchor's law; false: an answer is not finite. */
static bool moves_of(const ll_anchor_model *a, const ll_filling *f, int64_t var,
                     const ll_fill_answer *answer, const ll_law *law, double *move)
{
    double u[LL_FILL_LEVELS];
    bool   finite = true;
    ll_fill_quantiles(f, var, answer, u);
    for (int i = 0; i < LL_FILL_LEVELS; i++) {
        move[i] =
            ll_anchor_score(a, law, ll_fill_scale_y(&f->scale[var], u[i])) - ll_stack_normal[i];
        finite &= isfinite(move[i]) != 0;
    }
    return finite;
}

/* The variable that is a target; -1: the anchor answers. */
static int64_t variable_of(const ll_filling *f, int64_t target)
{
    for (int64_t v = 0; f != NULL && v < f->n_vars; v++)
        if (f->target[v] == target && f->used[v]) return v;
    return -1;
}

llap_status ll_fill_view_move(ll_fill_view *v, int64_t target, const ll_anchor_request *r,
                              const int64_t *entity, size_t n, double *move)
{
    const int64_t var = variable_of(v->f, target);
    size_t        all = 0, count = 0;
    llap_status   st = LLAP_OK;
    if (var < 0) return LLAP_OK;
    if (v->full == NULL) st = fill_others(v);
    for (size_t i = 0; i < n; i++) all += r[i].n_query;
    const ll_fill_table *t = &v->rows.table;
    int64_t             *row = ll_new(all, sizeof *row);
    ll_law             **law = ll_new(all, sizeof *law);
    ll_fill_answer      *a = ll_new(all, sizeof *a);
    if (st == LLAP_OK && (row == NULL || law == NULL || a == NULL)) st = LLAP_ENOMEM;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        for (size_t q = 0; q < r[i].n_query; q++) {
            row[count] = ll_fill_row_at(t, entity[i], r[i].t_query[q], v->f->step);
            if (row[count] < 0 || !isnan(t->u[var * t->n_rows + row[count]])) continue;
            law[count++] = &r[i].law[q];
        }
    if (st == LLAP_OK) ll_fill_ask(v->f, t, v->full, var, row, (int64_t)count, a);
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < (st == LLAP_OK ? count : 0); k++) {
        double *to = move + k * LL_LAW_LEVELS;
        if (moves_of(v->m->anchor[target], v->f, var, &a[k], law[k], to)) law[k]->move = to;
    }
    ll_free(row);
    ll_free(law);
    ll_free(a);
    return st;
}

bool ll_fill_view_answers(const ll_filling *f, int64_t target)
{
    return variable_of(f, target) >= 0;
}

llap_status ll_fill_view_values(ll_fill_view *v, int64_t target, int64_t first, int64_t end,
                                double *y)
{
    const int64_t   var = variable_of(v->f, target);
    const int64_t   n = end - first;
    llap_status     st = v->full == NULL ? fill_others(v) : LLAP_OK;
    int64_t        *row = ll_new((size_t)n + 1, sizeof *row);
    ll_fill_answer *a = ll_new((size_t)n + 1, sizeof *a);
    assert(var >= 0 && v->rows.table.n_rows == v->p->n_rows); /* rows are the panel's */
    if (st == LLAP_OK && (row == NULL || a == NULL)) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) row[i] = first + i;
    if (st == LLAP_OK) ll_fill_ask(v->f, &v->rows.table, v->full, var, row, n, a);
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) {
        double     u[LL_FILL_LEVELS];
        const bool read = !isnan(v->rows.u[var * v->rows.table.n_rows + row[i]]);
        ll_fill_quantiles(v->f, var, &a[i], u);
        y[i] = read || a[i].kind >= LL_FILL_LENGTHS
                   ? NAN
                   : ll_fill_scale_y(&v->f->scale[var], u[LL_FILL_LEVELS / 2]);
    }
    ll_free(row);
    ll_free(a);
    return st;
}

llap_status ll_fill_view_draw(ll_fill_view *v, const uint8_t *wanted, int64_t n_samples,
                              uint64_t seed)
{
    const ll_filling *f = v->f;
    const int64_t     C = v->m->frame.n_targets;
    llap_status       st = LLAP_OK;
    if (f == NULL) return LLAP_OK;
    if (v->full == NULL) st = fill_others(v);
    const ll_fill_table *t = &v->rows.table;
    uint8_t             *cell = ll_new((size_t)t->n_rows + 1, (size_t)t->n_vars);
    uint64_t            *id = ll_new((size_t)(t->n_entities * t->n_vars) + 1, sizeof *id);
    if (st == LLAP_OK && (cell == NULL || id == NULL)) st = LLAP_ENOMEM;
    for (int64_t i = 0; st == LLAP_OK && i < t->n_vars * t->n_rows; i++) {
        const int64_t target = f->target[i / t->n_rows];
        cell[i] = target >= 0 && wanted[v->rows.row[i % t->n_rows] * C + target];
    }
    for (int64_t i = 0; st == LLAP_OK && i < t->n_entities * t->n_vars; i++) {
        const char *entity = v->p->entity[i / t->n_vars], *name = f->name[i % t->n_vars];
        id[i] = ll_hash(ll_hash(0, entity, strlen(entity) + 1), name, strlen(name));
    }
    const ll_fill_draws_opts o = { n_samples, seed, id, cell };
    if (st == LLAP_OK) st = ll_fill_draws_init(&v->draws, f, t, &o);
    ll_free(cell);
    ll_free(id);
    return st;
}

const int32_t *ll_fill_view_ranks(const ll_fill_view *v, int64_t target, int64_t entity, double t)
{
    const int64_t var = variable_of(v->f, target);
    if (var < 0 || v->draws.place == NULL) return NULL;
    const int64_t row = ll_fill_row_at(&v->rows.table, entity, t, v->f->step);
    return row < 0 ? NULL : ll_fill_draws_of(&v->draws, &v->rows.table, var, row);
}
