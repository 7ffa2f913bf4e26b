/* Golden case c11: tensors from elsewhere made usable, and the same numbers through a panel. */
#include "check.h"

#include "base/safetensors.h"
#include "data/windows/batch.h"

static ll_tensors *open_golden(const char *name)
{
    const char *folder = getenv("LLAP_GOLDEN");
    ll_tensors *t;
    char        path[1024];
    if (folder == NULL) {
        print_message("LLAP_GOLDEN is not set: skipped\n");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    CHECK_OK(ll_tensors_open(path, &t));
    return t;
}

static ll_tensor_info tensor(const ll_tensors *g, const char *name)
{
    ll_tensor_info t;
    if (!ll_tensors_find(g, name, &t)) fail_msg("no tensor '%s'", name);
    return t;
}

static void copy_tensor(const ll_tensors *g, const char *name, void *to, size_t room)
{
    const ll_tensor_info t = tensor(g, name);
    assert_int_equal(t.n_bytes, room);
    memcpy(to, t.data, room);
}

static ll_batch golden_batch(const ll_tensors *g)
{
    const ll_tensor_info tv = tensor(g, "in.V"), ty = tensor(g, "in.y");
    const int64_t       *v = tv.shape, *y = ty.shape;
    ll_batch             b = { .n_examples = v[0],
                               .n_slots = v[1],
                               .n_context = v[2],
                               .n_features = v[3],
                               .n_query = y[2],
                               .n_targets = y[3] };
    CHECK_OK(ll_batch_shape(&b, true));
    const size_t slots = (size_t)(v[0] * v[1]), cells = slots * (size_t)(v[2] * v[3]);
    const size_t entries = slots * (size_t)(y[2] * y[3]);
    copy_tensor(g, "in.V", b.v, cells * sizeof(float));
    copy_tensor(g, "in.T", b.dv, cells * sizeof(float));
    copy_tensor(g, "in.y", b.y, entries * sizeof(float));
    copy_tensor(g, "in.x_obs_mask", b.x_obs, cells);
    copy_tensor(g, "in.y_obs_mask", b.y_obs, entries);
    copy_tensor(g, "in.entity_mask", b.entity_mask, slots);
    copy_tensor(g, "in.delta_t", b.delta_t, slots * (size_t)v[2] * sizeof(float));
    copy_tensor(g, "in.delta_t_y", b.delta_t_y, slots * (size_t)y[2] * sizeof(float));
    return b;
}

/* The tokens of the target autoencoder, [B,H,N,2C]: values and masks of valid slots. */
static void check_tokens(const ll_tensors *g, const ll_batch *b)
{
    const ll_tensor_info info = tensor(g, "mid.x_tok");
    const float         *tok = info.data;
    const int64_t        width = info.shape[3];
    assert_int_equal(width, 2 * b->n_targets);
    for (int64_t i = 0; i < b->n_examples; i++)
        for (int64_t h = 0; h < b->n_query; h++)
            for (int64_t k = 0; k < b->n_slots; k++)
                for (int64_t c = 0; c < b->n_targets; c++) {
                    const int64_t slot = i * b->n_slots + k;
                    const int64_t at = (slot * b->n_query + h) * b->n_targets + c;
                    const float  *t = tok + ((i * b->n_query + h) * b->n_slots + k) * width;
                    const bool    on = b->valid[slot] && b->y_obs[at];
                    assert_true(t[b->n_targets + c] == (on ? 1.0f : 0.0f));
                    assert_true(t[c] == (on ? b->y[at] : 0.0f));
                }
}

static void the_golden_batch_is_made_usable(void **state)
{
    (void)state;
    ll_tensors *g = open_golden("c11_batch_pipeline");
    ll_batch    b = golden_batch(g);
    CHECK_OK(ll_batch_check(&b));
    const float *dt = tensor(g, "out.dt_model").data;
    assert_memory_equal(b.valid, tensor(g, "out.mask_bn").data, (size_t)(b.n_examples * b.n_slots));
    assert_memory_equal(b.any_obs, tensor(g, "out.obs_any").data,
                        (size_t)(b.n_examples * b.n_query));
    for (int64_t i = 0; i < b.n_examples * b.n_query; i++)
        assert_true(fabs((double)b.tau[i] - (double)dt[i]) <= 1e-6 * fabs((double)dt[i]));
    check_tokens(g, &b);
    for (int64_t i = 0; i < b.n_examples * b.n_slots * b.n_context * b.n_features; i++)
        assert_true(isfinite(b.v[i]) && isfinite(b.dv[i]));
    b.delta_t_y[b.n_query * (b.valid[0] ? 0 : 1) + 3] += 0.5f;
    CHECK_FAIL(ll_batch_check(&b), LLAP_EINVAL, "example 0, slot");
    ll_batch_deinit(&b);
    ll_tensors_close(g);
}

/* Row i as a panel of its present entities: contexts end at 0, a unit is a million ticks. of gets
 * the slot of each entity. */
static llap_panel *panel_of_row(const ll_batch *b, int64_t i, int64_t *of)
{
    enum { MAX = 8 };
    const int64_t K = b->n_context, H = b->n_query, D = b->n_features, C = b->n_targets;
    const char   *name[MAX];
    char          text[MAX][4];
    int64_t       start[MAX + 1], n = 0;
    assert_true(b->n_slots <= MAX && D + C <= MAX);
    for (int64_t k = 0; k < MAX; k++) {
        snprintf(text[k], sizeof text[k], "%d", (int)(k % 10));
        name[k] = text[k];
    }
    for (int64_t k = 0; k < b->n_slots; k++)
        if (b->entity_mask[i * b->n_slots + k]) of[n++] = i * b->n_slots + k;
    for (int64_t e = 0; e <= n; e++) start[e] = e * (K + H);
    ll_panel_draft d = { .axis = LL_AXIS_UTC,
                         .n_entities = n,
                         .n_vars = D + C,
                         .entity = name,
                         .var = name,
                         .start = start };
    llap_panel    *p;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int64_t row = 0; row < n * (K + H); row++) {
        const int64_t slot = of[row / (K + H)], k = row % (K + H);
        const float  *t = b->delta_t + slot * K, *q = b->delta_t_y + slot * H;
        d.time[row] = llrint(1e6 * (k < K ? (double)t[k] - (double)t[K - 1] : (double)q[k - K]));
        for (int64_t v = 0; v < (k < K ? D : C); v++) {
            const int64_t from = k < K ? (slot * K + k) * D + v : (slot * H + k - K) * C + v;
            const int64_t to = row * (D + C) + (k < K ? v : D + v);
            if (!(k < K ? b->x_obs[from] : b->y_obs[from])) continue;
            d.value[to] = k < K ? b->v[from] : b->y[from];
            ll_bit_set(d.observed, to);
        }
    }
    CHECK_OK(ll_panel_check(p));
    return p;
}

/* Slot e of c holds the observed part of slot s of b. */
static void compare_slots(const ll_batch *c, int64_t e, const ll_batch *b, int64_t s)
{
    const int64_t K = b->n_context, H = b->n_query, D = b->n_features, C = b->n_targets;
    assert_int_equal(c->valid[e], b->valid[s]);
    assert_memory_equal(c->x_obs + e * K * D, b->x_obs + s * K * D, (size_t)(K * D));
    assert_memory_equal(c->y_obs + e * H * C, b->y_obs + s * H * C, (size_t)(H * C));
    for (int64_t k = 0; k < K * D; k++)
        assert_true(c->v[e * K * D + k] == (b->x_obs[s * K * D + k] ? b->v[s * K * D + k] : 0));
    for (int64_t k = 0; k < H * C; k++)
        assert_true(c->y[e * H * C + k] == (b->y_obs[s * H * C + k] ? b->y[s * H * C + k] : 0));
    for (int64_t k = 0; k < K; k++) /* times were rounded to a millionth */
        assert_true(fabs((double)c->delta_t[e * K + k] -
                         ((double)b->delta_t[s * K + k] - (double)b->delta_t[s * K])) < 3e-6);
    for (int64_t k = 0; k < H; k++)
        assert_true(fabs((double)c->delta_t_y[e * H + k] - (double)b->delta_t_y[s * H + k]) < 3e-6);
}

static int64_t check_row_through_panel(const ll_batch *b, int64_t i)
{
    int64_t     of[8], vars[8], row = 0, n = 0;
    llap_panel *p = panel_of_row(b, i, of);
    for (int64_t k = 0; k < 8; k++) vars[k] = k;
    ll_window_opts   wo = { .context_rows = b->n_context,
                            .horizon_rows = b->n_query,
                            .target = vars + b->n_features,
                            .n_targets = b->n_targets };
    ll_scaling_opts  so = { .by = LL_SCALE_NONE, .feature = vars, .n_features = b->n_features };
    ll_batch_opts    bo = { .unit_ns = 1000000 };
    ll_windows      *w;
    ll_scaling      *sc;
    ll_scaled       *x;
    ll_example_list *r;
    ll_batch         c = { 0 };
    uint8_t          part[8] = { LL_PART_TRAIN };
    CHECK_OK(ll_windows_create(p, &wo, &w));
    ll_split s = { .part = part, .n_windows = w->n, .n = { w->n } };
    CHECK_OK(ll_scaling_create(w, &s, &so, &sc));
    CHECK_OK(ll_scaled_create(p, sc, &x));
    CHECK_OK(ll_example_list_create(w, &s, LL_PART_TRAIN, LL_VIEW_JOINT, &r));
    assert_int_equal(r->n_examples, 1); /* equal ends and query times */
    CHECK_OK(ll_batch_fill(&c, r, x, &bo, &row, 1));
    for (int64_t e = 0; e < p->n_entities; e++)
        if (c.entity_mask[e]) { /* else it has no observed target */
            compare_slots(&c, e, b, of[e]);
            n++;
        }
    ll_batch_deinit(&c);
    ll_example_list_destroy(r);
    ll_scaled_destroy(x);
    ll_scaling_destroy(sc);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
    return n;
}

static void a_golden_row_goes_through_a_panel(void **state)
{
    (void)state;
    ll_tensors *g = open_golden("c11_batch_pipeline");
    ll_batch    b = golden_batch(g);
    int64_t     n = 0;
    CHECK_OK(ll_batch_check(&b));
    for (int64_t i = 0; i < b.n_examples; i++) n += check_row_through_panel(&b, i);
    assert_true(n >= b.n_examples * (b.n_slots - 2));
    ll_batch_deinit(&b);
    ll_tensors_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_batch_is_made_usable),
        cmocka_unit_test(a_golden_row_goes_through_a_panel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
