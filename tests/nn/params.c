/* The parameter store: draws, files, bindings, optimiser. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "backend/ref/ref.h"
#include "nn/micro_batches.h"
#include "nn/nn.h"
#include "nn/optim.h"
#include "nn/params.h"
#include "oracles/plain_layers.h"

/* A small network with every kind of start, and its loss. */
static ll_tensor *describe(ll_graph *g)
{
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(2, 3, 8));
    x = ll_nn_encoder_layer(
        g, "layers.0", x,
        &(ll_nn_encoder_opts){ .attn = { .n_heads = 2 }, .ff = 16, .dropout = 0.1 });
    x = ll_nn_encoder_layer(g, "layers.1", x,
                            &(ll_nn_encoder_opts){ .attn = { .n_heads = 2 }, .ff = 16 });
    x = ll_nn_spectral_linear(g, "out", x, 5, LL_INIT_NORMAL(0.5), LL_INIT_ZERO, false);
    return plain_mse(g, x, ll_input(g, "y", LL_SHAPE(2, 3, 5)));
}

static ll_params *new_params(const ll_backend *backend, bool train)
{
    ll_graph  *g;
    ll_params *p;
    CHECK_OK(ll_graph_create(&g));
    ll_tensor *loss = describe(g);
    ll_output(g, "loss", loss);
    if (train) ll_nn_train(g, loss, &LL_TRAIN_DEFAULT);
    CHECK_OK(ll_params_create(g, backend, &p));
    ll_graph_destroy(g);
    return p;
}

static void draws_depend_on_seed_and_name_alone(void **state)
{
    (void)state;
    ll_params *a = new_params(&ll_backend_cpu, false), *b = new_params(&ll_backend_ref, true);
    ll_params_init(a, 7);
    ll_params_init(b, 7);
    for (int i = 0; i < ll_params_count(a); i++) {
        const ll_param_info *x = ll_params_at(a, i), *y = ll_params_find(b, x->name);
        assert_non_null(y);
        assert_int_equal((uintptr_t)x->data % LL_ALIGN, 0);
        for (int64_t k = 0; k < x->count && x->elem == LL_REAL; k++)
            assert_true(ll_param_get(a, x, k) == ll_param_get(b, y, k));
    }
    const ll_param_info *w = ll_params_find(a, "layers.0.linear2.weight"); /* +-1/4 */
    double               top = 0.0, sum = 0.0;
    for (int64_t k = 0; k < w->count; k++) {
        top = fmax(top, fabs(ll_param_get(a, w, k)));
        sum += ll_param_get(a, w, k);
    }
    assert_true(top <= 0.25 && top > 0.23 && fabs(sum / (double)w->count) < 0.04);
    const ll_param_info *one = ll_params_find(a, "layers.0.norm1.weight");
    assert_true(ll_param_get(a, one, 3) == 1.0);
    const double before = ll_param_get(a, w, 0);
    ll_params_init(a, 8);
    assert_true(ll_param_get(a, w, 0) != before);
    const ll_param_info *rng = ll_params_find(a, "rng");
    assert_int_equal(((int32_t *)rng->data)[0], 8);
    ll_params_destroy(a);
    ll_params_destroy(b);
}

static void layers_may_start_equal(void **state)
{
    (void)state;
    ll_params *p = new_params(&ll_backend_cpu, false);
    ll_params_init(p, 1);
    const ll_param_info *a = ll_params_find(p, "layers.0.linear1.weight");
    const ll_param_info *b = ll_params_find(p, "layers.1.linear1.weight");
    const size_t         n = (size_t)a->count * sizeof(float);
    assert_memory_not_equal(a->data, b->data, n);
    ll_params_copy(p, "layers.0", "layers.1");
    assert_memory_equal(a->data, b->data, n);
    ll_params_destroy(p);
}

/* u and v end as the leading singular vectors: W v = sigma u, |W x| <= sigma |x|. */
static void power_iteration_finds_the_norm(void **state)
{
    (void)state;
    ll_params *p = new_params(&ll_backend_cpu, false);
    ll_params_init(p, 3);
    CHECK_OK(ll_params_power_iterate(p, 200));
    const ll_param_info *w = ll_params_find(p, "out.weight_orig"),
                        *u = ll_params_find(p, "out.weight_u"),
                        *v = ll_params_find(p, "out.weight_v");
    double wv[5] = { 0 }, sigma = 0.0;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 8; j++) wv[i] += ll_param_get(p, w, i * 8 + j) * ll_param_get(p, v, j);
    for (int i = 0; i < 5; i++) sigma += wv[i] * ll_param_get(p, u, i);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(wv[i] - sigma * ll_param_get(p, u, i)) < 1e-5 * sigma);
    for (int j = 0; j < 8; j++) { /* columns of W are images of unit vectors */
        double column = 0.0;
        for (int i = 0; i < 5; i++) column += pow(ll_param_get(p, w, i * 8 + j), 2);
        assert_true(sqrt(column) <= sigma * (1 + 1e-6));
    }
    ll_params_destroy(p);
}

/* -------- files -------- */

typedef struct image { /* a file in memory */
    char  *bytes;
    size_t n;
} image;

enum { AS_IT_IS, RENAMED, RESIZED, DROPPED, NOT_A_NUMBER, OTHER_TYPE };

/* Writes the model part as "vae.X", one tensor spoilt. */
static image write_file(const ll_params *p, int how, const char *which)
{
    ll_tensors_writer *w;
    image              f = { 0 };
    static float       zeros[4096];
    static double      wide[4096];
    memset(zeros, 0, sizeof zeros);
    CHECK_OK(ll_tensors_writer_create(&w));
    for (int i = 0; i < ll_params_count(p); i++) {
        const ll_param_info *x = ll_params_at(p, i);
        if (x->elem != LL_REAL) continue;
        char       name[128];
        const bool hit = strcmp(x->name, which) == 0;
        snprintf(name, sizeof name, "vae.%s%s", x->name, hit && how == RENAMED ? "_" : "");
        ll_shape    s = x->shape;
        const void *data = x->data;
        ll_dtype    dtype = LL_F32;
        if (hit && how == DROPPED) continue;
        if (hit && how == RESIZED) s.dim[0]--;
        if (hit && how == NOT_A_NUMBER) {
            zeros[2] = NAN;
            data = zeros;
        }
        if (hit && how == OTHER_TYPE) {
            dtype = LL_F64;
            data = wide;
        }
        CHECK_OK(ll_tensors_writer_add(w, name, dtype, s.rank, s.dim, data));
    }
    CHECK_OK(ll_tensors_writer_add(w, "summarizer.x", LL_F32, 0, NULL, zeros + 9));
    FILE *stream = open_memstream(&f.bytes, &f.n);
    CHECK_OK(ll_tensors_writer_write(w, stream));
    fclose(stream);
    ll_tensors_writer_destroy(w);
    return f;
}

static llap_status load(ll_params *p, image *f, const ll_load_opts *o)
{
    ll_tensors *t;
    CHECK_OK(ll_tensors_view(f->bytes, f->n, "model", &t));
    const llap_status st = ll_params_load(p, LL_PARAMS_MODEL, t, o);
    ll_tensors_close(t);
    free(f->bytes);
    return st;
}

static void a_file_comes_back_as_it_was(void **state)
{
    (void)state;
    ll_params *a = new_params(&ll_backend_cpu, false), *b = new_params(&ll_backend_ref, true);
    ll_params_init(a, 7);
    image f = write_file(a, AS_IT_IS, "");
    CHECK_OK(load(b, &f, &(ll_load_opts){ .prefix = "vae." }));
    for (int i = 0; i < ll_params_count(a); i++) {
        const ll_param_info *x = ll_params_at(a, i), *y = ll_params_find(b, x->name);
        for (int64_t k = 0; k < x->count && x->elem == LL_REAL; k++)
            assert_true(ll_param_get(a, x, k) == ll_param_get(b, y, k));
    }
    /* The library's own writer gives the same. */
    ll_tensors_writer *w;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_OK(ll_params_save(a, LL_PARAMS_MODEL, "vae.", w));
    CHECK_FAIL(ll_params_save(b, LL_PARAMS_MODEL, "vae.", w), LLAP_EUNSUPPORTED, "double");
    image g = { 0 };
    FILE *stream = open_memstream(&g.bytes, &g.n);
    CHECK_OK(ll_tensors_writer_write(w, stream));
    fclose(stream);
    ll_tensors_writer_destroy(w);
    ll_params_init(b, 9);
    CHECK_OK(load(b, &g, &(ll_load_opts){ .prefix = "vae." }));
    const ll_param_info *x = ll_params_find(a, "out.weight_u"),
                        *y = ll_params_find(b, "out.weight_u");
    assert_true(ll_param_get(a, x, 2) == ll_param_get(b, y, 2));
    ll_params_destroy(a);
    ll_params_destroy(b);
}

static void a_spoilt_file_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        int         how;
        const char *text;
    } rows[] = {
        { RENAMED, "vae.layers.1.linear1.weight: expected F32 [16,8], found no such tensor" },
        { RESIZED, "vae.layers.1.linear1.weight: expected F32 [16,8], found F32 [15,8]" },
        { DROPPED, "vae.layers.1.linear1.weight: expected F32 [16,8], found no such tensor" },
        { NOT_A_NUMBER, "vae.layers.1.linear1.weight: expected finite numbers, found nan at" },
        { OTHER_TYPE, "vae.layers.1.linear1.weight: expected F32 [16,8], found F64 [16,8]" },
    };
    ll_params *p = new_params(&ll_backend_cpu, true), *q = new_params(&ll_backend_cpu, false);
    ll_params_init(q, 5);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        image f = write_file(q, rows[i].how, "layers.1.linear1.weight");
        CHECK_FAIL(load(p, &f, &(ll_load_opts){ .prefix = "vae." }), LLAP_EFORMAT, rows[i].text);
        for (int k = 0; k < ll_params_count(p); k++) { /* nothing has changed */
            const ll_param_info *x = ll_params_at(p, k);
            for (int64_t e = 0; e < x->count && x->elem == LL_REAL; e++)
                assert_true(ll_param_get(p, x, e) == 0.0);
        }
    }
    /* Without its prefix, the part of another network is unknown; ignoring it is possible. */
    image f = write_file(q, AS_IT_IS, "");
    CHECK_FAIL(load(p, &f, &(ll_load_opts){ 0 }), LLAP_EFORMAT, "found no such tensor");
    ll_tensors_writer *w;
    for (int pass = 0; pass < 2; pass++) {
        static const float one = 1.0f;
        image              extra = { 0 };
        CHECK_OK(ll_tensors_writer_create(&w));
        CHECK_OK(ll_params_save(q, LL_PARAMS_MODEL, "", w));
        CHECK_OK(ll_tensors_writer_add(w, "synthesis.encoder.x", LL_F32, 0, NULL, &one));
        FILE *stream = open_memstream(&extra.bytes, &extra.n);
        CHECK_OK(ll_tensors_writer_write(w, stream));
        fclose(stream);
        ll_tensors_writer_destroy(w);
        static const char *const aliases[] = { "synthesis.encoder.", NULL };
        if (pass == 0)
            CHECK_FAIL(load(p, &extra, &(ll_load_opts){ 0 }), LLAP_EFORMAT,
                       "synthesis.encoder.x: the model has no such tensor");
        else CHECK_OK(load(p, &extra, &(ll_load_opts){ .ignore = aliases }));
    }
    ll_params_destroy(p);
    ll_params_destroy(q);
}

/* -------- training -------- */

typedef struct session {
    ll_params *params;
    ll_plan   *plan;
    ll_run    *run;
    float      x[2 * 3 * 8], y[2 * 3 * 5], lr;
    int32_t    step;
} session;

static llap_status start(session *s, uint64_t seed)
{
    ll_graph   *g;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *loss = describe(g);
    ll_output(g, "loss", loss);
    ll_nn_train(g, loss, &LL_TRAIN_DEFAULT);
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = 1 };
    st = ll_params_create(g, &ll_backend_cpu, &s->params);
    if (st == LLAP_OK) st = ll_plan_create(g, &opts, &s->plan);
    if (st == LLAP_OK) st = ll_run_create(s->plan, &s->run);
    if (st == LLAP_OK) ll_params_init(s->params, seed);
    if (st == LLAP_OK) st = ll_params_power_iterate(s->params, 20);
    if (st == LLAP_OK) ll_params_start_ema(s->params);
    if (st == LLAP_OK) st = ll_params_bind(s->params, LL_PARAMS_MODEL, s->plan, s->run);
    if (st == LLAP_OK) st = ll_run_bind(s->run, "x", s->x, 2 * 3 * 8);
    if (st == LLAP_OK) st = ll_run_bind(s->run, "y", s->y, 2 * 3 * 5);
    if (st == LLAP_OK) st = ll_run_bind(s->run, "lr", &s->lr, 1);
    if (st == LLAP_OK) st = ll_run_bind(s->run, "step", &s->step, 1);
    ll_graph_destroy(g);
    for (int k = 0; k < 2 * 3 * 8; k++) s->x[k] = sinf(1.3f * (float)k);
    for (int k = 0; k < 2 * 3 * 5; k++) s->y[k] = cosf(0.7f * (float)k);
    s->lr = 0.01f;
    return st;
}

static void stop(session *s)
{
    ll_run_destroy(s->run);
    ll_plan_release(s->plan);
    ll_params_destroy(s->params);
}

/* Even where its gradients are small enough for their norm. */
static void a_loss_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    session s = { 0 };
    CHECK_OK(start(&s, 11));
    const ll_param_info *w = ll_params_find(s.params, "layers.0.linear1.weight");
    const double         w0 = ll_param_get(s.params, w, 0);
    const float          y0 = s.y[0];
    s.y[0] = 2e19f;
    s.step = 1;
    CHECK_OK(ll_run_exec(s.run));
    assert_false(isfinite(*(const float *)ll_run_output(s.run, "loss", NULL)));
    assert_true(isfinite(*(const float *)ll_run_output(s.run, "grad_norm", NULL)));
    assert_true(ll_param_get(s.params, w, 0) == w0);
    s.y[0] = y0;
    CHECK_OK(ll_run_exec(s.run));
    assert_false(ll_param_get(s.params, w, 0) == w0);
    stop(&s);
}

/* The same where a batch goes in micro-batches: the loss of either may be what is not finite. */
static void nor_does_that_of_a_piece(void **state)
{
    (void)state;
    session            s = { 0 };
    ll_graph          *g;
    ll_micro_batches  *p;
    double             loss, norm;
    const ll_plan_opts opts = { .backend = &ll_backend_cpu, .n_threads = 1 };
    CHECK_OK(start(&s, 11));
    CHECK_OK(ll_graph_create(&g));
    CHECK_OK(ll_micro_batches_create(g, describe(g), &LL_TRAIN_DEFAULT, s.params, &opts, &p));
    CHECK_OK(ll_run_bind(ll_micro_batches_run(p), "x", s.x, 2 * 3 * 8));
    CHECK_OK(ll_run_bind(ll_micro_batches_run(p), "y", s.y, 2 * 3 * 5));
    const ll_param_info *w = ll_params_find(s.params, "layers.0.linear1.weight");
    const double         w0 = ll_param_get(s.params, w, 0);
    const float          y0 = s.y[0];
    for (int i = 0; i < 3; i++) { /* the first, the second, none */
        for (int k = 0; k < 2; k++) {
            s.y[0] = i == k ? 2e19f : y0;
            CHECK_OK(ll_micro_batches_add(p, k == 0, k == 0, 0.5));
        }
        CHECK_OK(ll_micro_batches_step(p, 0.01, 1, &loss, &norm));
        assert_true(isfinite(norm));
        assert_int_equal(isfinite(loss) != 0, i == 2);
        assert_int_equal(ll_param_get(s.params, w, 0) == w0, i != 2);
    }
    ll_micro_batches_destroy(p);
    ll_graph_destroy(g);
    stop(&s);
}

static void training_lowers_the_loss_and_the_average_follows(void **state)
{
    (void)state;
    session s = { 0 };
    CHECK_OK(start(&s, 11));
    const ll_param_info *w = ll_params_find(s.params, "layers.0.linear1.weight"),
                        *e = ll_params_find(s.params, "ema.layers.0.linear1.weight");
    const double w0 = ll_param_get(s.params, w, 0);
    assert_true(ll_param_get(s.params, e, 0) == w0);
    float first = 0.0f;
    for (s.step = 1; s.step <= 200; s.step++) {
        CHECK_OK(ll_run_exec(s.run));
        const float loss = *(const float *)ll_run_output(s.run, "loss", NULL);
        if (s.step == 1) first = loss;
        if (s.step == 200) assert_true(loss < 0.2f * first);
        if (s.step == 1) { /* ema moves a thousandth of the way */
            const double w1 = ll_param_get(s.params, w, 0), e1 = ll_param_get(s.params, e, 0);
            assert_true(w1 != w0);
            assert_true(fabs(e1 - (w0 + 0.001 * (w1 - w0))) < 1e-7);
        }
    }
    const ll_param_info *u = ll_params_find(s.params, "ema.out.weight_u");
    assert_null(u); /* buffers are not averaged */
    stop(&s);
}

static llap_status train_once(void *user)
{
    (void)user;
    session     s = { 0 };
    llap_status st = start(&s, 1);
    s.step = 1;
    if (st == LLAP_OK) st = ll_run_exec(s.run);
    stop(&s);
    return st;
}

static void memory_failures_are_told(void **state)
{
    (void)state;
    check_every_failed_allocation(train_once, NULL);
}

static void the_average_may_be_bound(void **state)
{
    (void)state;
    session   s = { 0 };
    ll_graph *g;
    ll_plan  *plan;
    ll_run   *run;
    CHECK_OK(start(&s, 11));
    CHECK_OK(ll_graph_create(&g));
    ll_output(g, "w",
              ll_scale(g, ll_param(g, "out.weight_orig", LL_SHAPE(5, 8), LL_INIT_ZERO), 2.0));
    ll_output(g, "u", ll_scale(g, ll_state(g, "out.weight_u", LL_SHAPE(5), LL_INIT_ZERO), 2.0));
    CHECK_OK(
        ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &plan));
    CHECK_OK(ll_run_create(plan, &run));
    const ll_param_info *e = ll_params_find(s.params, "ema.out.weight_orig");
    ll_param_set(s.params, e, 4, 123.0);
    CHECK_OK(ll_params_bind(s.params, LL_PARAMS_EMA, plan, run));
    CHECK_OK(ll_run_exec(run));
    assert_true(((const float *)ll_run_output(run, "w", NULL))[4] == 246.0f);
    CHECK_OK(ll_params_bind(s.params, LL_PARAMS_MODEL, plan, run));
    CHECK_OK(ll_run_exec(run));
    assert_true(((const float *)ll_run_output(run, "w", NULL))[4] != 246.0f);
    ll_run_destroy(run);
    ll_plan_release(plan);
    ll_graph_destroy(g);

    CHECK_OK(ll_graph_create(&g)); /* what does not fit is named */
    ll_output(g, "w", ll_exp(g, ll_param(g, "out.weight_orig", LL_SHAPE(5, 7), LL_INIT_ZERO)));
    CHECK_OK(
        ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &plan));
    CHECK_OK(ll_run_create(plan, &run));
    CHECK_FAIL(ll_params_bind(s.params, LL_PARAMS_MODEL, plan, run), LLAP_EINVAL,
               "'out.weight_orig': expected [5,7], found [5,8]");
    ll_run_destroy(run);
    ll_plan_release(plan);
    ll_graph_destroy(g);
    stop(&s);
}

static void learning_rates_follow_their_schedules(void **state)
{
    (void)state;
    ll_lr s = { LL_LR_WARMUP_COSINE, 1.0, 0.1, 0.2, 50 };
    assert_true(ll_lr_at(&s, 0) == 0.1 && ll_lr_at(&s, 4) == 0.5 && ll_lr_at(&s, 9) == 1.0);
    assert_true(fabs(ll_lr_at(&s, 30) - 0.5) < 1e-12);
    assert_true(ll_lr_at(&s, 50) == 0.1 && ll_lr_at(&s, 5000) == 0.1);
    s.kind = LL_LR_WARMUP_CONSTANT;
    assert_true(ll_lr_at(&s, 4) == 0.5 && ll_lr_at(&s, 10) == 1.0 && ll_lr_at(&s, 99) == 1.0);
    s.warmup = 0.0; /* no warm-up at all */
    assert_true(ll_lr_at(&s, 0) == 1.0);
    s.kind = LL_LR_CONSTANT;
    assert_true(ll_lr_at(&s, 0) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_depend_on_seed_and_name_alone),
        cmocka_unit_test(layers_may_start_equal),
        cmocka_unit_test(power_iteration_finds_the_norm),
        cmocka_unit_test(a_file_comes_back_as_it_was),
        cmocka_unit_test(a_spoilt_file_is_refused_by_name),
        cmocka_unit_test(a_loss_that_is_not_finite_changes_nothing),
        cmocka_unit_test(nor_does_that_of_a_piece),
        cmocka_unit_test(training_lowers_the_loss_and_the_average_follows),
        cmocka_unit_test(memory_failures_are_told),
        cmocka_unit_test(the_average_may_be_bound),
        cmocka_unit_test(learning_rates_follow_their_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
