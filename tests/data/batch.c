#include "random_panel.h"

#include "data/windows/loader.h"
#include "data/windows/missing.h"

static const int64_t targets[] = { 0, 2 };
static const int64_t features[] = { 2, 0, 1 };

typedef struct setup {
    llap_panel      *p;
    ll_windows      *w;
    ll_split        *s;
    ll_scaling      *sc;
    ll_scaled       *x;
    ll_example_list *r;
} setup;

static setup make_setup(llap_panel *p, const ll_window_opts *o, ll_example_view view, ll_part part)
{
    setup           t = { .p = p };
    ll_scaling_opts so = LL_SCALING_DEFAULT;
    so.feature = features;
    so.n_features = 3;
    CHECK_OK(ll_windows_create(p, o, &t.w));
    CHECK_OK(ll_split_create(t.w, &LL_SPLIT_DEFAULT, &t.s));
    CHECK_OK(ll_scaling_create(t.w, t.s, &so, &t.sc));
    CHECK_OK(ll_scaled_create(p, t.sc, &t.x));
    CHECK_OK(ll_example_list_create(t.w, t.s, part, view, &t.r));
    return t;
}

static void free_setup(setup *t)
{
    ll_example_list_destroy(t->r);
    ll_scaled_destroy(t->x);
    ll_scaling_destroy(t->sc);
    ll_split_destroy(t->s);
    ll_windows_destroy(t->w);
    llap_panel_destroy(t->p);
}

static setup grid_setup(uint64_t seed, bool pad)
{
    const random_shape   s = { 5, 3, 150, true, 0.03, 0.3, 0.1 };
    const ll_window_opts o = {
        .context_rows = 9, .horizon_rows = 4, .pad = pad, .target = targets, .n_targets = 2
    };
    return make_setup(random_panel(seed, &s), &o, LL_VIEW_JOINT, LL_PART_TRAIN);
}

static setup minute_setup(uint64_t seed)
{
    const random_shape   s = { 5, 3, 150, false, 0, 0.3, 0.1 };
    const ll_window_opts o = { .context_ns = 12 * hour_ns,
                               .horizon_ns = 5 * hour_ns,
                               .pad = seed % 2,
                               .target = targets,
                               .n_targets = 2 };
    return make_setup(random_panel(seed, &s), &o, LL_VIEW_INDEPENDENT, LL_PART_TRAIN);
}

/* ---- one slot against the definition, cell by cell ---- */

static float feature_at(const setup *t, int64_t e, int64_t row, int64_t d)
{
    return ll_scale_value(t->p->value[row * t->p->n_vars + features[d]], t->sc->x_mean[e * 3 + d],
                          t->sc->x_std[e * 3 + d], 5);
}

static void check_context(const setup *t, const ll_batch *b, int64_t slot, const ll_window *v,
                          const ll_batch_opts *o)
{
    const int64_t L = b->n_context;
    bool          any = false;
    for (int64_t k = 0; k < L; k++) {
        const int64_t row = v->first + k - (L - v->n_context);
        const bool    real = row >= v->first;
        const double  off = real ? (double)(t->p->time[row] - t->p->time[v->first]) : 0;
        assert_true(b->delta_t[slot * L + k] == (float)(off / (double)o->unit_ns));
        for (int64_t d = 0; d < 3; d++) {
            const int64_t c = (slot * L + k) * 3 + d;
            const bool    obs = real && ll_panel_observed(t->p, row, features[d]);
            float         diff = 0;
            if (row > v->first)
                diff = feature_at(t, v->entity, row, d) - feature_at(t, v->entity, row - 1, d);
            if (o->diff == LL_DIFF_MASKED &&
                !(obs && row > v->first && ll_panel_observed(t->p, row - 1, features[d])))
                diff = 0;
            assert_int_equal(b->x_obs[c], obs);
            assert_true(b->v[c] == (real ? feature_at(t, v->entity, row, d) : 0));
            if (o->diff == LL_DIFF_NONE) assert_null(b->dv);
            else assert_true(b->dv[c] == diff);
            any = any || obs;
        }
    }
    assert_int_equal(b->valid[slot], any);
}

static void check_query(const setup *t, const ll_batch *b, int64_t slot, const ll_window *v,
                        const ll_batch_opts *o)
{
    const int64_t H = b->n_query, query = ll_window_query(v);
    const int64_t origin = o->from_first ? query : query - 1;
    for (int64_t h = 0; h < H; h++) {
        const bool    real = h < v->n_query;
        const int64_t row = query + (real ? h : v->n_query - 1);
        const double  off = (double)(t->p->time[row] - t->p->time[origin]) / (double)o->unit_ns;
        assert_true(b->delta_t_y[slot * H + h] == (float)off);
        for (int64_t c = 0; c < 2; c++) {
            const int64_t at = (slot * H + h) * 2 + c;
            const float   y = ll_scale_value(t->p->value[row * t->p->n_vars + targets[c]],
                                             t->sc->y_mean[v->entity * 2 + c],
                                             t->sc->y_std[v->entity * 2 + c], 5);
            assert_true(b->y[at] == (real ? y : 0));
            assert_int_equal(b->y_obs[at], real && ll_panel_observed(t->p, row, targets[c]));
        }
    }
}

static void check_empty(const ll_batch *b, int64_t slot)
{
    const int64_t n = b->n_context * b->n_features, m = b->n_query * b->n_targets;
    for (int64_t i = 0; i < n; i++) assert_true(b->v[slot * n + i] == 0 && !b->x_obs[slot * n + i]);
    for (int64_t i = 0; i < m; i++) assert_true(b->y[slot * m + i] == 0 && !b->y_obs[slot * m + i]);
    assert_true(!b->valid[slot] && b->window[slot] == LL_NO_WINDOW);
}

static void check_row(const setup *t, const ll_batch *b, int64_t i, int64_t row,
                      const ll_batch_opts *o)
{
    int64_t m = t->r->first[row];
    assert_int_equal(b->end[i], ll_example_list_end(t->r, row));
    assert_true(b->id[i] == ll_example_list_id(t->r, row));
    bool tau = false;
    for (int64_t n = 0; n < b->n_slots; n++) {
        const int64_t    slot = i * b->n_slots + n;
        const ll_window *v = m < t->r->first[row + 1] ? &t->w->at[t->r->member[m]] : NULL;
        const bool       here = v != NULL && (b->n_slots == 1 || v->entity == n);
        assert_int_equal(b->entity_mask[slot], here);
        if (!here) {
            check_empty(b, slot);
            continue;
        }
        assert_int_equal(b->window[slot], t->r->member[m++]);
        check_context(t, b, slot, v, o);
        check_query(t, b, slot, v, o);
        if (!b->valid[slot]) continue;
        tau = true;
        assert_memory_equal(b->tau + i * b->n_query, b->delta_t_y + slot * b->n_query,
                            (size_t)b->n_query * sizeof(float));
    }
    assert_int_equal(m, t->r->first[row + 1]);
    for (int64_t h = 0; h < b->n_query; h++) {
        bool any = false;
        for (int64_t n = i * b->n_slots; n < (i + 1) * b->n_slots; n++)
            for (int64_t c = 0; c < 2; c++)
                any = any || (b->valid[n] && b->y_obs[(n * b->n_query + h) * 2 + c]);
        assert_int_equal(b->any_obs[i * b->n_query + h], any);
        if (!tau) assert_true(b->tau[i * b->n_query + h] == 0);
    }
}

static void check_batches(setup *t, const ll_batch_opts *o)
{
    ll_batch b = { 0 };
    int64_t  row[64];
    for (int64_t first = 0; first < t->r->n_examples; first += 37) {
        int64_t n = 0;
        for (; n < 1 + first % 7 && first + n < t->r->n_examples; n++)
            row[n] = t->r->n_examples - 1 - first - n;
        CHECK_OK(ll_batch_fill(&b, t->r, t->x, o, row, n));
        assert_int_equal(b.n_examples, n);
        for (int64_t i = 0; i < n; i++) check_row(t, &b, i, row[i], o);
    }
    ll_batch_deinit(&b);
}

static void batches_are_as_defined(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        ll_batch_opts o = LL_BATCH_DEFAULT;
        setup         t = seed % 2 ? minute_setup(seed / 2) : grid_setup(seed, seed % 4 == 0);
        for (int k = 0; k < 3; k++) {
            o.diff = (ll_diff)k;
            o.from_first = k == 1;
            check_batches(&t, &o);
        }
        free_setup(&t);
    }
}

/* ---- rows that are asked about ---- */

/* Row number `row` as a question: the contexts of its windows, their query times. */
static ll_batch_query query_of(const setup *t, int64_t row, ll_window *slot)
{
    const int64_t   *member = &t->r->first[row];
    const ll_window *v = &t->w->at[t->r->member[member[0]]];
    for (int64_t n = 0; n < t->r->n_slots; n++) slot[n] = (ll_window){ .entity = -1 };
    for (int64_t m = member[0]; m < member[1]; m++) {
        const ll_window *w = &t->w->at[t->r->member[m]];
        slot[t->r->n_slots == 1 ? 0 : w->entity] = *w;
    }
    return (ll_batch_query){ .slot = slot,
                             .origin = ll_window_end(t->w, v),
                             .time = t->p->time + ll_window_query(v),
                             .n_query = v->n_query,
                             .id = ll_example_list_id(t->r, row),
                             .observed = true };
}

static void check_same(const ll_batch *a, const ll_batch *b)
{
    const size_t slots = (size_t)(a->n_examples * a->n_slots), real = sizeof(float);
    const size_t x = slots * (size_t)a->n_context, y = slots * (size_t)a->n_query;
    const size_t cells = x * (size_t)a->n_features, values = y * (size_t)a->n_targets;
    assert_true(a->n_context == b->n_context && a->n_query == b->n_query);
    assert_true(a->n_slots == b->n_slots && a->n_bytes == b->n_bytes);
    assert_memory_equal(a->v, b->v, cells * real);
    assert_true((a->dv == NULL) == (b->dv == NULL));
    if (a->dv != NULL) assert_memory_equal(a->dv, b->dv, cells * real);
    assert_memory_equal(a->x_obs, b->x_obs, cells);
    assert_memory_equal(a->delta_t, b->delta_t, x * real);
    assert_memory_equal(a->delta_t_y, b->delta_t_y, y * real);
    assert_memory_equal(a->y, b->y, values * real);
    assert_memory_equal(a->y_obs, b->y_obs, values);
    assert_memory_equal(a->valid, b->valid, slots);
    assert_memory_equal(a->entity_mask, b->entity_mask, slots);
    assert_memory_equal(a->id, b->id, (size_t)a->n_examples * sizeof *a->id);
    assert_memory_equal(a->end, b->end, (size_t)a->n_examples * sizeof *a->end);
}

/* Of row i, where it is asked: the offsets of its first slot that is there. */
static void check_tau(const ll_batch *b, int64_t i)
{
    for (int64_t slot = i * b->n_slots; slot < (i + 1) * b->n_slots; slot++) {
        if (!b->entity_mask[slot]) continue;
        assert_memory_equal(b->tau + i * b->n_query, b->delta_t_y + slot * b->n_query,
                            (size_t)b->n_query * sizeof(float));
        return;
    }
}

static void check_asked(const setup *t, const ll_batch_opts *o)
{
    enum { MOST = 4 };
    ll_batch       a = { 0 }, b = { 0 };
    ll_window      slot[MOST * 5];
    ll_batch_query q[MOST];
    for (int64_t first = 0; first + MOST <= t->r->n_examples; first += 23) {
        int64_t row[MOST];
        for (int64_t i = 0; i < MOST; i++) {
            row[i] = first + i;
            q[i] = query_of(t, row[i], slot + i * t->r->n_slots);
        }
        CHECK_OK(ll_batch_fill(&a, t->r, t->x, o, row, MOST));
        CHECK_OK(ll_batch_ask(&b, t->p, t->sc, o, t->r->n_slots, q, MOST));
        check_same(&a, &b);
        for (int64_t i = 0; i < MOST; i++) check_tau(&b, i);
    }
    ll_batch_deinit(&a);
    ll_batch_deinit(&b);
}

static void what_is_asked_is_what_was_trained_on(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        ll_batch_opts o = LL_BATCH_DEFAULT;
        setup         t = seed % 2 ? minute_setup(seed / 2) : grid_setup(seed, false);
        for (int k = 0; k < 3; k++) {
            o.diff = (ll_diff)k;
            o.from_first = k == 1;
            o.hide_rate = k == 2 ? 0.3 : 0;
            check_asked(&t, &o);
        }
        free_setup(&t);
    }
}

/* Times between the rows, none of the future, slots without a row or without an entity. */
static void anything_can_be_asked(void **state)
{
    (void)state;
    setup               t = grid_setup(3, false);
    const ll_batch_opts o = LL_BATCH_DEFAULT;
    const int64_t       at = t.p->time[t.p->start[1] + 20] + 1, time[] = { at + 1, at + hour_ns };
    const ll_window     slot[] = { ll_window_before(t.p, 1, at, 5 * hour_ns, 3),
                                   ll_window_before(t.p, 2, t.p->time[t.p->start[2]] - 1, hour_ns, 0),
                                   { .entity = -1 } };
    ll_batch_query      q = { .slot = slot, .origin = at, .time = time, .n_query = 2, .id = 7 };
    ll_batch            b = { 0 };
    CHECK_OK(ll_batch_ask(&b, t.p, t.sc, &o, 3, &q, 1));
    assert_true(b.n_context == slot[0].n_context && b.n_query == 2 && b.id[0] == 7);
    assert_true(b.entity_mask[0] && b.entity_mask[1] && !b.entity_mask[2] && !b.valid[1]);
    check_context(&t, &b, 0, &slot[0], &o);
    for (int64_t i = 0; i < 3 * 2 * 2; i++) assert_true(b.y[i] == 0 && !b.y_obs[i]);
    assert_true(b.tau[0] == (float)(1.0 / (double)hour_ns) && b.tau[1] == 1);
    q.n_query = 0; /* nothing but the context */
    CHECK_OK(ll_batch_ask(&b, t.p, t.sc, &o, 1, &q, 1));
    check_context(&t, &b, 0, &slot[0], &o);
    ll_batch_deinit(&b);
    free_setup(&t);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    setup         t = grid_setup(1, false);
    ll_batch      b = { 0 };
    ll_batch_opts o = LL_BATCH_DEFAULT;
    int64_t       row = 0;
    ll_loader    *l;
    o.hide_rate = 1;
    CHECK_FAIL(ll_batch_fill(&b, t.r, t.x, &o, &row, 1), LLAP_EINVAL, "1 of the context hidden");
    o = LL_BATCH_DEFAULT;
    o.unit_ns = 0;
    CHECK_FAIL(ll_batch_fill(&b, t.r, t.x, &o, &row, 1), LLAP_EINVAL, "time unit of 0 ns");
    CHECK_FAIL(ll_loader_create(t.r, t.x, &(ll_loader_opts){ .n_groups = 0 }, &l), LLAP_EINVAL,
               "batches of 0");
    b = (ll_batch){
        .n_examples = INT64_C(1) << 40, .n_slots = 1 << 20, .n_context = 1 << 20, .n_features = 1
    };
    CHECK_FAIL(ll_batch_shape(&b, false), LLAP_ELIMIT, "too large");
    free_setup(&t);
}

/* ---- the loader ---- */

static uint64_t hash_batch(const ll_batch *b)
{
    const size_t slots = (size_t)(b->n_examples * b->n_slots), n = (size_t)b->n_context;
    const size_t h = (size_t)b->n_query, d = (size_t)b->n_features, c = (size_t)b->n_targets;
    uint64_t     x = ll_hash(0, b->v, slots * n * d * sizeof(float));
    x = ll_hash(x, b->dv, slots * n * d * sizeof(float));
    x = ll_hash(x, b->y, slots * h * c * sizeof(float));
    x = ll_hash(x, b->x_obs, slots * n * d);
    x = ll_hash(x, b->y_obs, slots * h * c);
    x = ll_hash(x, b->delta_t, slots * n * sizeof(float));
    x = ll_hash(x, b->delta_t_y, slots * h * sizeof(float));
    x = ll_hash(x, b->window, slots * sizeof *b->window);
    return ll_hash(x, b->id, (size_t)b->n_examples * sizeof *b->id);
}

enum { MAX_BATCHES = 512 };

static int64_t run_epoch(ll_loader *l, int64_t epoch, uint64_t *hash, int64_t *n_members,
                         uint8_t *seen)
{
    const ll_batch *b;
    int64_t         n = 0;
    *n_members = 0;
    CHECK_OK(ll_loader_start(l, epoch));
    for (;;) {
        CHECK_OK(ll_loader_next(l, &b));
        if (b == NULL) break;
        assert_true(n < MAX_BATCHES);
        hash[n++] = hash_batch(b);
        for (int64_t i = 0; i < b->n_examples * b->n_slots; i++)
            if (b->entity_mask[i]) {
                assert_false(seen[b->window[i]]);
                seen[b->window[i]] = 1;
                (*n_members)++;
            }
    }
    return n;
}

static void epochs_are_the_same_for_any_threads(void **state)
{
    (void)state;
    setup           t = grid_setup(11, true);
    static uint64_t expected[3][2][MAX_BATCHES], found[MAX_BATCHES];
    for (int order = 0; order < 3; order++)
        for (int threads = 0; threads < 4; threads++) {
            ll_loader_opts o = LL_LOADER_DEFAULT;
            ll_loader     *l;
            o.n_groups = 3;
            o.order = (ll_order)order;
            o.seed = 5;
            o.threads = threads;
            o.ahead = threads == 3 ? 1 : 0;
            o.batch.diff = LL_DIFF_PLAIN;
            o.batch.hide_rate = 0.25;
            CHECK_OK(ll_loader_create(t.r, t.x, &o, &l));
            assert_int_equal(ll_loader_batches(l), ll_example_list_batches(t.r, 3));
            for (int64_t epoch = 0; epoch < 2; epoch++) {
                uint8_t *seen = calloc((size_t)t.w->n, 1);
                int64_t  n_members, n;
                if (threads == 2) { /* left in the middle */
                    const ll_batch *b;
                    CHECK_OK(ll_loader_start(l, 7));
                    for (int i = 0; i < 3; i++) CHECK_OK(ll_loader_next(l, &b));
                }
                n = run_epoch(l, epoch, threads == 0 ? expected[order][epoch] : found, &n_members,
                              seen);
                assert_int_equal(n, ll_loader_batches(l));
                assert_int_equal(n_members, t.s->n[LL_PART_TRAIN]);
                if (threads > 0)
                    assert_memory_equal(found, expected[order][epoch], (size_t)n * sizeof *found);
                free(seen);
            }
            ll_loader_destroy(l);
        }
    const size_t n = (size_t)ll_example_list_batches(t.r, 3) * sizeof(uint64_t);
    assert_memory_equal(expected[LL_ORDER_TIME][0], expected[LL_ORDER_TIME][1], n);
    for (int order = 1; order < 3; order++) {
        assert_memory_not_equal(expected[order][0], expected[order][1], n);
        assert_memory_not_equal(expected[order][0], expected[0][0], n);
    }
    free_setup(&t);
}

static llap_status load_all_by(const setup *t, const ll_loader_opts *o)
{
    ll_loader      *l = NULL;
    const ll_batch *b = NULL;
    llap_status     st = ll_loader_create(t->r, t->x, o, &l);
    if (st == LLAP_OK) st = ll_loader_start(l, 0);
    do {
        if (st == LLAP_OK) st = ll_loader_next(l, &b);
    } while (st == LLAP_OK && b != NULL);
    ll_loader_destroy(l);
    return st;
}

static llap_status load_all(void *user)
{
    ll_loader_opts o = LL_LOADER_DEFAULT;
    o.order = LL_ORDER_RANDOM;
    o.threads = 0;
    return load_all_by(user, &o);
}

static llap_status load_with_a_thread(void *user) { return load_all_by(user, &LL_LOADER_DEFAULT); }

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    setup t = grid_setup(2, false);
    check_every_failed_allocation(load_all, &t);
    check_every_failed_allocation(load_with_a_thread, &t);
    free_setup(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_as_defined),
        cmocka_unit_test(what_is_asked_is_what_was_trained_on),
        cmocka_unit_test(anything_can_be_asked),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(epochs_are_the_same_for_any_threads),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
