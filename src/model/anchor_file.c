/* One anchor per target in a model file, the format of model.h. */
#include "model/anchor_file.h"
#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/model_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- saving ---- */

static const char *const drift_names[] = { "none", "level", "slope", NULL };
static void              put_kernel(ll_json_writer *w, const char *key, const ll_anchor_kernel *k)
{
    assert(k->n_terms >= 1 && k->n_terms <= LL_ANCHOR_MAX_TERMS);
    ll_json_open(w, key, '{');
    anchor_file_put_doubles(w, "a", k->a, k->n_terms);
    anchor_file_put_doubles(w, "rho", k->rho, k->n_terms);
    anchor_file_put_doubles(w, "omega", k->omega, k->n_terms);
    ll_json_put_double(w, "nu", k->nu);
    ll_json_put_double(w, "jitter", k->jitter);
    if (k->drift != LL_ANCHOR_STILL) { /* absent: none */
        ll_json_put_string(w, "drift", drift_names[k->drift]);
        ll_json_put_double(w, "start", k->start);
        ll_json_put_double(w, "q", k->q);
    }
    if (k->drift == LL_ANCHOR_SLOPE) {
        ll_json_put_double(w, "v", k->v);
        ll_json_put_double(w, "damping", k->damping);
    }
    if (k->monitor > 0.0) ll_json_put_double(w, "monitor", k->monitor);
    if (k->innovation) ll_json_put_bool(w, "innovation", true);
    ll_json_close(w, '}');
}

static void put_calibration(ll_json_writer *w, const char *key, const ll_calibration *c)
{
    assert(c->factor[0][0] > 0.0); /* fitted, or ll_calibration_none */
    ll_json_open(w, key, '{');
    anchor_file_put_doubles(w, "edge", c->edge, LL_CALIBRATION_BUCKETS - 1);
    anchor_file_put_doubles(w, "factor", &c->factor[0][0],
                            LL_CALIBRATION_BUCKETS * LL_CALIBRATION_LEVELS);
    ll_json_close(w, '}');
}

static const char *const neighbours_names[2] = { "near_past", "near_both" }; /* by ll_anchor_from */

void ll_anchor_write(ll_json_writer *w, const ll_anchor_model *a)
{
    assert(a->chain != NULL && a->kappa > 0.0);
    ll_json_open(w, NULL, '{');
    put_kernel(w, "kernel", &a->kernel);
    put_kernel(w, "fill_kernel", &a->fill_kernel);
    put_calibration(w, "calibration", &a->calibration);
    put_calibration(w, "fill_past", &a->fill_past);
    put_calibration(w, "fill_both", &a->fill_both);
    ll_json_put_double(w, "context", a->spec.context);
    ll_json_put_double(w, "horizon", a->spec.horizon);
    ll_json_put_int(w, "max_obs", (int64_t)a->spec.max_obs);
    ll_json_put_int(w, "max_query", (int64_t)a->spec.max_query);
    ll_json_put_double(w, "kappa", a->kappa);
    ll_json_put_double(w, "var_floor", a->var_floor);
    if (a->reach > 0.0) ll_json_put_double(w, "reach", a->reach);
    if (isfinite(a->valid_crps)) ll_json_put_double(w, "valid_crps", a->valid_crps);
    anchor_file_put_chain(w, a->chain);
    anchor_file_put_known(w, a->chain->known);
    anchor_file_put_static(w, a->chain->statics);
    if (a->link.rank > 0) anchor_file_put_doubles(w, "share", a->link.share, a->kernel.n_terms);
    for (int from = 0; from < 2; from++)
        if (a->neighbours[from].cov != NULL)
            put_calibration(w, neighbours_names[from], &a->neighbours[from].calibration);
    ll_json_close(w, '}');
}

llap_status ll_anchor_save(const ll_anchor_model *a, int64_t i, ll_tensors_writer *w)
{
    const ll_chain         *c = a->chain;
    const ll_anchor_linked *link = &a->link;
    const int64_t           linked[2] = { (int64_t)link->n, (int64_t)link->rank };
    llap_status             st = anchor_file_save_chain(w, i, a->chain);
    if (st == LLAP_OK) st = anchor_file_save_known(w, i, c->known);
    if (st == LLAP_OK) st = anchor_file_save_static(w, i, c);
    assert(link->rank == 0 || (link->loading != NULL && link->n == c->n_series));
    if (st == LLAP_OK && link->rank > 0)
        st = anchor_file_add_tensor(w, i, "anchor", "loadings", 2, linked, link->loading);
    const int64_t square[2] = { (int64_t)c->n_series, (int64_t)c->n_series };
    for (int from = 0; st == LLAP_OK && from < 2; from++)
        if (a->neighbours[from].cov != NULL)
            st = anchor_file_add_tensor(w, i, "anchor", neighbours_names[from], 2, square,
                                        a->neighbours[from].cov);
    return st;
}

size_t ll_anchor_tensors(const ll_anchor_model *a)
{
    return anchor_file_chain_tensors(a->chain) + anchor_file_static_tensors(a->chain) +
           (a->chain->known != NULL) + (a->link.rank > 0) + (a->neighbours[0].cov != NULL) +
           (a->neighbours[1].cov != NULL);
}

/* ---- loading ---- */

/* "what.name" of anchor i. */
typedef struct anchor_path {
    char text[96];
} anchor_path;

static anchor_path path_of(int64_t i, const char *what, const char *name)
{
    anchor_path p;
    snprintf(p.text, sizeof p.text, "anchors[%lld].%s.%s", (long long)i, what, name);
    return p;
}

static llap_status get_drift(const ll_json *j, int64_t i, const char *what, ll_anchor_kernel *k)
{
    const struct {
        const char *name;
        double     *v;
        int         least; /* drift that has it */
    } numbers[] = { { "start", &k->start, LL_ANCHOR_LEVEL },
                    { "q", &k->q, LL_ANCHOR_LEVEL },
                    { "v", &k->v, LL_ANCHOR_SLOPE },
                    { "damping", &k->damping, LL_ANCHOR_SLOPE } };
    /* Far beyond what fits find: products of them stay finite. */
    const double least = 1e-50, most = 1e50;
    int          drift = LL_ANCHOR_STILL;
    llap_status  st = ll_json_enum(j, path_of(i, what, "drift").text, drift_names, &drift);
    for (size_t n = 0; st == LLAP_OK && n < sizeof numbers / sizeof *numbers; n++) {
        const anchor_path p = path_of(i, what, numbers[n].name);
        if (drift < numbers[n].least) continue;
        st = ll_json_need(j, p.text);
        if (st == LLAP_OK) st = ll_json_double(j, p.text, least, most, numbers[n].v);
    }
    k->drift = (ll_anchor_drift)drift;
    if (st == LLAP_OK)
        st = ll_json_double(j, path_of(i, what, "monitor").text, 0, HUGE_VAL, &k->monitor);
    return st == LLAP_OK ? ll_json_bool(j, path_of(i, what, "innovation").text, &k->innovation)
                         : st;
}

static llap_status get_kernel(const ll_json *j, int64_t i, const char *what, ll_anchor_kernel *k)
{
    char                     key[5][64], path[96];
    static const char *const names[] = { "a", "rho", "omega", "nu", "jitter" };
    for (int n = 0; n < 5; n++) snprintf(key[n], sizeof key[n], "%s.%s", what, names[n]);
    snprintf(path, sizeof path, "anchors[%lld].%s", (long long)i, key[0]);
    const size_t n = ll_json_length(j, path);
    if (n < 1 || n > LL_ANCHOR_MAX_TERMS)
        return ll_fail(LLAP_EFORMAT, "config: '%s': expected 1 to %d terms, found %zu", path,
                       LL_ANCHOR_MAX_TERMS, n);
    k->n_terms = (int32_t)n;
    llap_status st = anchor_file_get_array(j, i, key[0], 0, HUGE_VAL, n, k->a);
    if (st == LLAP_OK) st = anchor_file_get_array(j, i, key[1], 0, HUGE_VAL, n, k->rho);
    if (st == LLAP_OK) st = anchor_file_get_array(j, i, key[2], 0, HUGE_VAL, n, k->omega);
    const anchor_number numbers[] = { { key[3], 0, HUGE_VAL, &k->nu, false },
                                      { key[4], 0, HUGE_VAL, &k->jitter, false } };
    if (st == LLAP_OK) st = anchor_file_get_numbers(j, i, numbers, 2);
    if (st == LLAP_OK) st = get_drift(j, i, what, k);
    if (st == LLAP_OK && ll_anchor_kernel_check(k) != LLAP_OK)
        st = ll_fail_in(LLAP_EFORMAT, "config: anchors[%lld].%s", (long long)i, what);
    return st;
}

static llap_status get_calibration(const ll_json *j, int64_t i, const char *what, ll_calibration *c)
{
    char key[2][64];
    snprintf(key[0], sizeof key[0], "%s.edge", what);
    snprintf(key[1], sizeof key[1], "%s.factor", what);
    llap_status st =
        anchor_file_get_array(j, i, key[0], 0, HUGE_VAL, LL_CALIBRATION_BUCKETS - 1, c->edge);
    if (st == LLAP_OK)
        st =
            anchor_file_get_array(j, i, key[1], LL_CALIBRATION_LEAST, LL_CALIBRATION_MOST,
                                  LL_CALIBRATION_BUCKETS * LL_CALIBRATION_LEVELS, &c->factor[0][0]);
    return st;
}

/* The spans of an anchor are those of the frame in the anchor's unit. */
static llap_status check_span(const char *path, double units, int64_t ticks, int64_t unit)
{
    const double expected = (double)ticks / (double)unit;
    assert(unit > 0 && ticks > 0); /* the frame was checked before */
    if (fabs(units - expected) <= 1e-9 * expected) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "config: '%s': expected %.17g as for the whole model, found %.17g",
                   path, expected, units);
}

/* How the entities are linked, where a tensor of loadings says they are. */
static llap_status get_joint(const ll_tensors *t, const ll_json *j, int64_t i, int64_t n_entities,
                             ll_anchor_model *a)
{
    char           name[64], path[96];
    ll_tensor_info info;
    snprintf(name, sizeof name, "anchor.%lld.loadings", (long long)i);
    snprintf(path, sizeof path, "anchors[%lld].share", (long long)i);
    if (!ll_tensors_find(t, name, &info)) {
        if (!ll_json_has(j, path)) return LLAP_OK;
        return ll_fail(LLAP_EFORMAT, "config: '%s' without a tensor '%s'", path, name);
    }
    const int64_t rank = info.rank == 2 && info.shape[1] > 0 && info.shape[1] <= LL_ANCHOR_RANK_MAX
                             ? info.shape[1]
                             : 1;
    const int64_t shape[2] = { n_entities, rank };
    llap_status   st = anchor_file_get_tensor(t, i, "anchor", "loadings", 2, shape, &a->loading);
    if (st != LLAP_OK) return st;
    a->link =
        (ll_anchor_linked){ .n = (size_t)n_entities, .rank = (size_t)rank, .loading = a->loading };
    assert(a->link.rank >= 1 && a->link.rank <= LL_ANCHOR_RANK_MAX);
    st = anchor_file_get_array(j, i, "share", 0, 1, (size_t)a->kernel.n_terms, a->link.share);
    if (st == LLAP_OK && ll_anchor_linked_check(&a->link, a->kernel.n_terms) != LLAP_OK)
        st = ll_fail_in(LLAP_EFORMAT, "%s", name);
    return st;
}

/* What the other entities say about a gap, where a tensor says they do. */
static llap_status get_neighbours(const ll_tensors *t, const ll_json *j, int64_t i, int64_t n,
                                  const char *what, ll_anchor_neighbours *neighbours)
{
    char           name[64], path[96];
    ll_tensor_info info;
    const int64_t  shape[2] = { n, n };
    snprintf(name, sizeof name, "anchor.%lld.%s", (long long)i, what);
    snprintf(path, sizeof path, "anchors[%lld].%s", (long long)i, what);
    if (!ll_tensors_find(t, name, &info)) {
        if (!ll_json_has(j, path)) return LLAP_OK;
        return ll_fail(LLAP_EFORMAT, "config: '%s' without a tensor '%s'", path, name);
    }
    llap_status st = anchor_file_get_tensor(t, i, "anchor", what, 2, shape, &neighbours->cov);
    if (st == LLAP_OK) st = get_calibration(j, i, what, &neighbours->calibration);
    for (int64_t k = 0; st == LLAP_OK && k < n * n; k++)
        if (neighbours->cov[k] != neighbours->cov[k % n * n + k / n])
            st = ll_fail(LLAP_EFORMAT, "%s: is not symmetric at element %lld", name, (long long)k);
    if (st == LLAP_OK && !anchor_neighbours_definite(neighbours->cov, (size_t)n))
        st = ll_fail(LLAP_EFORMAT, "%s: is no covariance of 1 to %d entities", name,
                     LL_ANCHOR_LINKED_MAX);
    return st;
}

llap_status ll_anchor_load(const ll_tensors *t, const ll_json *j, int64_t i,
                           const ll_model_frame *f, ll_anchor_model **out)
{
    ll_anchor_model a = { .valid_crps = NAN };
    int64_t         max_obs = 0, max_query = 0;
    char            path[2][96];
    snprintf(path[0], sizeof path[0], "anchors[%lld].max_obs", (long long)i);
    snprintf(path[1], sizeof path[1], "anchors[%lld].max_query", (long long)i);
    const anchor_number numbers[] = {
        { "context", 1e-12, HUGE_VAL, &a.spec.context, false },
        { "horizon", 1e-12, HUGE_VAL, &a.spec.horizon, false },
        { "kappa", 1e-9, HUGE_VAL, &a.kappa, false },
        { "var_floor", 0, HUGE_VAL, &a.var_floor, false },
        { "reach", 0, HUGE_VAL, &a.reach, true },
        { "valid_crps", 0, HUGE_VAL, &a.valid_crps, true },
    };
    llap_status st = get_kernel(j, i, "kernel", &a.kernel);
    if (st == LLAP_OK) st = get_kernel(j, i, "fill_kernel", &a.fill_kernel);
    if (st == LLAP_OK) st = get_calibration(j, i, "calibration", &a.calibration);
    if (st == LLAP_OK) st = get_calibration(j, i, "fill_past", &a.fill_past);
    if (st == LLAP_OK) st = get_calibration(j, i, "fill_both", &a.fill_both);
    if (st == LLAP_OK)
        st = anchor_file_get_numbers(j, i, numbers, sizeof numbers / sizeof *numbers);
    if (st == LLAP_OK) st = ll_json_int(j, path[0], 0, INT64_MAX, &max_obs);
    if (st == LLAP_OK) st = ll_json_int(j, path[1], 0, INT64_MAX, &max_query);
    if (st == LLAP_OK) st = check_span("anchors.context", a.spec.context, f->context, f->unit);
    if (st == LLAP_OK) st = check_span("anchors.horizon", a.spec.horizon, f->horizon, f->unit);
    if (st == LLAP_OK) st = anchor_file_get_chain(t, j, i, f->n_entities, &a.chain);
    if (st == LLAP_OK) st = anchor_file_get_known(t, j, i, f->n_known, a.chain);
    if (st == LLAP_OK) st = anchor_file_get_static(t, j, i, f->n_statics, a.chain);
    a.spec.max_obs = (size_t)max_obs;
    a.spec.max_query = (size_t)max_query;
    if (st == LLAP_OK) st = get_joint(t, j, i, f->n_entities, &a);
    for (int from = 0; st == LLAP_OK && from < 2; from++)
        st = get_neighbours(t, j, i, f->n_entities, neighbours_names[from], &a.neighbours[from]);
    if (st == LLAP_OK) {
        st = ll_anchor_model_create(&a.spec, a.chain, &a.kernel, a.kappa, out);
        if (st == LLAP_OK) **out = a;
    } else {
        ll_chain_destroy(a.chain);
    }
    if (st != LLAP_OK) {
        ll_free(a.loading);
        for (int from = 0; from < 2; from++) ll_free(a.neighbours[from].cov);
    }
    return st;
}
