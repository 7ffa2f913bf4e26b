/* Training and sampling the default profile's networks where the caller cannot reach the memory:
 * the same losses, parameters and samples as on the cpu. On a GPU too where there is one
 * (LLAP_DEVICE). */
#include "residual_networks.h"

#include "backend/cuda/cuda.h"
#include "residual/device_examples.h"

/* The same with every third residual known and guesses of the others, from the second point on. */
static void complete(const ll_params *params, const ll_backend *b, float *out)
{
    static float            fixed[WINDOWS * H * N], guess[WINDOWS * SAMPLES * H * N];
    const ll_residual_given given = { fixed, guess };
    ll_draw_plan            o = plan_on(b);
    uint32_t                index[WINDOWS];
    o.given = true;
    o.begin = 1;
    for (int k = 0; k < WINDOWS * H * N; k++) fixed[k] = k % 3 == 1 ? sinf((float)k) : NAN;
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++) guess[k] = cosf(0.7f * (float)k);
    ll_residual_sampler *s = sampler_of(params, &o, index);
    CHECK_OK(ll_residual_complete(s, set, index, WINDOWS, &given, 7, SAMPLES, out));
    ll_residual_sampler_destroy(s);
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++) {
        const int of = k / (SAMPLES * H * N) * H * N + k % (H * N);
        assert_true(isfinite(out[k]) && (isnan(fixed[of]) || out[k] == fixed[of]));
    }
}

/* The same losses, parameters and samples on b as on another backend. */
static void check_like(const ll_backend *a, const ll_backend *b, double tol, double tol_samples)
{
    static trained       one, other;
    static float         away[WINDOWS * SAMPLES * H * N];
    ll_residual_trainer *of_one, *of_other;
    train(a, &one, &of_one);
    train(b, &other, &of_other);
    for (int i = 0; i < STEPS; i++) {
        device_data("loss", b, other.loss[i], one.loss[i], tol * fabs(one.loss[i]));
        device_data("norm", b, other.norm[i], one.norm[i], tol * fabs(one.norm[i]));
    }
    for (int i = 0; i < ll_params_count(one.params); i++) { /* a step moves by about lr */
        const ll_param_info *p = ll_params_at(one.params, i);
        const ll_param_info *q = ll_params_find(other.params, p->name);
        for (int64_t k = 0; strncmp(p->name, "ema.", 4) == 0 && k < p->count; k++)
            device_data(p->name, b, ll_param_get(other.params, q, k),
                        ll_param_get(one.params, p, k), tol);
    }
    draw(one.params, b, away); /* parameters of a store elsewhere */
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++) {
        device_data("sample", b, (double)other.x[k], (double)one.x[k], tol_samples);
        device_data("sample of a copy", b, (double)away[k], (double)one.x[k], tol_samples);
    }
    complete(one.params, a, one.x);
    complete(one.params, b, away);
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("completed", b, (double)away[k], (double)one.x[k], tol_samples);
    ll_residual_trainer_destroy(of_one);
    ll_residual_trainer_destroy(of_other);
}

static void check_like_cpu(const ll_backend *b, double tol)
{
    check_like(&ll_backend_cpu, b, tol, fmax(10 * tol, 1e-5)); /* the planned loop is another */
}

static void behind_a_wall(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    check_like_cpu(&b, 1e-6);
}

/* UniPC, which is not part of the planned loop, with parameters of there and of here. */
static void check_unplanned(const ll_backend *b, double tol)
{
    enum { VALUES = WINDOWS * SAMPLES * H * N };
    static trained       here, there;
    static float         expected[VALUES], found[VALUES], copied[VALUES];
    const ll_backend    *cpu = &ll_backend_cpu;
    ll_residual_trainer *of_here, *of_there;
    train_steps(cpu, &here, &of_here);
    train_steps(b, &there, &of_there);
    solver = LL_SOLVER_UNIPC;
    draw(here.params, cpu, expected);
    draw(there.params, b, found);
    draw(here.params, b, copied);
    for (int k = 0; k < VALUES; k++) {
        device_data("unplanned sample", b, (double)found[k], (double)expected[k], tol);
        device_data("unplanned sample of a copy", b, (double)copied[k], (double)expected[k], tol);
    }
    complete(here.params, cpu, expected);
    complete(here.params, b, copied);
    for (int k = 0; k < VALUES; k++)
        device_data("completed unplanned", b, (double)copied[k], (double)expected[k], tol);
    solver = LL_SOLVER_DPMPP_2M;
    ll_residual_trainer_destroy(of_here);
    ll_residual_trainer_destroy(of_there);
}

static void unplanned_behind_a_wall(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    check_unplanned(&b, 1e-5);
}

/* Steps that nobody waits for: nothing is fetched, and no more sent than times, rate and
 * number: no row of the batch. */
static void steps_are_not_waited_for(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       one;
    double               loss[STEPS], norm[STEPS];
    ll_residual_trainer *waited, *ahead;
    train_steps(&b, &one, &waited);
    CHECK_OK(start(&b, &ahead));
    apart_state.n_uploads = apart_state.n_downloads = 0;
    apart_state.n_bytes_up = 0;
    for (int i = 0; i < STEPS; i++) CHECK_OK(ll_residual_step(ahead, i, NULL, NULL));
    assert_int_equal(apart_state.n_downloads, 0);
    assert_int_equal(apart_state.n_uploads, 2 * STEPS); /* those numbers, and dropout's */
    /* times, key, rate and number, each as a block of 256 bytes */
    assert_true(BATCH * 4 < 256);
    assert_int_equal(apart_state.n_bytes_up, (4 * 256 + 4 * 4) * STEPS);
    CHECK_OK(ll_residual_results(ahead, 0, STEPS, loss, norm));
    assert_int_equal(apart_state.n_downloads, 1);
    assert_memory_equal(loss, one.loss, sizeof loss);
    assert_memory_equal(norm, one.norm, sizeof norm);
    ll_residual_trainer_destroy(waited);
    ll_residual_trainer_destroy(ahead);
}

/* Where an origin is shifted: losses that agree to rounding, whatever the rest makes of it. */
static void shifted_rows_nearly_agree(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       here, there;
    ll_residual_trainer *one, *other;
    shift = 0.5;
    train_steps(&ll_backend_cpu, &here, &one);
    train_steps(&b, &there, &other);
    shift = 0.0;
    for (int i = 0; i < STEPS; i++) device_data("loss", &b, there.loss[i], here.loss[i], 1e-5);
    ll_residual_trainer_destroy(one);
    ll_residual_trainer_destroy(other);
}

/* -------- batches made of rows that are in device memory -------- */

enum { PARTS = 9 };

/* Entities have numbers; [B,1] */
static ll_tensor *as_real(ll_graph *g, ll_tensor *entity)
{
    double number[N + 1];
    for (int i = 0; i <= N; i++) number[i] = i;
    return ll_embedding(g, ll_constant(g, LL_SHAPE(N + 1, 1), number), entity);
}

static llap_status output_rows(ll_graph *g, const ll_device_examples *r, int64_t B,
                               const ll_feature_noise *vary)
{
    const ll_device_examples_set in = ll_device_examples_set_of(g, r, B, vary);
    ll_tensor *const             part[PARTS] = { in.tokens, in.token_pad, in.tq,
                                                 in.f,      in.pad,       in.z0,
                                                 in.mask,   in.eps,       as_real(g, in.entity) };
    for (int i = 0; i < PARTS; i++) ll_output(g, (const char[]){ (char)('a' + i), 0 }, part[i]);
    return ll_graph_status(g);
}

/* Every row twice, with all variations at once: bit by bit what is made here, but for what depends
 * on a shift. */
/* What output_rows gave is the batch filled here, its noise and its entities: exactly, but where a
 * row is shifted in time. */
static void check_rows(const ll_backend *b, ll_session *net, int64_t n,
                       const ll_feature_batch *here, const float *eps, const float *entity,
                       const float *shifts)
{
    const int64_t      Z = ll_feature_channels(&layout), S = layout.tokens;
    const int64_t      width[PARTS] = { S * ll_feature_token_dim(&layout),
                                        S,
                                        H,
                                        H * ll_feature_query_dim(&layout),
                                        H,
                                        H * Z,
                                        H * Z,
                                        H * Z,
                                        1 };
    const float *const expected[PARTS] = { here->tokens, here->token_pad, here->tq,   here->f,
                                           here->pad,    here->z0,        here->mask, eps,
                                           entity };
    for (int i = 0; i < PARTS; i++) {
        const float *found = ll_session_output(net, (const char[]){ (char)('a' + i), 0 });
        for (int64_t k = 0; k < n * width[i]; k++) {
            const double x = (double)expected[i][k];
            const double tol = shifts[k / width[i]] > 0 ? 1e-6 * fmax(1.0, fabs(x)) : 0.0;
            device_data((const char[]){ (char)('a' + i), 0 }, b, (double)found[k], x, tol);
        }
    }
}

static void device_examples_are_filled_as_here(void **state)
{
    (void)state;
    enum { B = 2 * WINDOWS };
    const ll_backend *b = &ll_backend_cpu;
    ll_feature_noise  vary = {
         .seed = 5, .step = 9, .noise = 0.3, .drop = 0.3, .strange = 0.5, .shift = 0.5, .subset = 0.5
    };
    const int64_t       Z = ll_feature_channels(&layout);
    ll_feature_batch   *here;
    ll_device_examples *r;
    ll_graph           *g;
    ll_params          *none;
    ll_session         *net;
    uint32_t            index[B];
    float               shifts[B], entity[B], eps[B * H * N];
    int32_t             key[4] = { 5, 0, 9, 0 };
    int                 n_shifted = 0, n_left = 0, n_strange = 0;
    const float         known_one = set->r[3];
    set->r[3] = NAN; /* one that is not known */
    for (uint32_t i = 0; i < B; i++) {
        index[i] = i % WINDOWS;
        const ll_feature_choice c = ll_feature_choose(set, index[i], &vary);
        const ll_rng            noise =
            ll_rng_make(5, LL_STREAM_DIFFUSE, set->example[index[i]].id, 0, vary.step);
        shifts[i] = (float)c.shift;
        entity[i] = (float)c.entity;
        ll_rng_fill_normal(&noise, 0, (size_t)(H * Z), eps + i * H * Z);
        n_shifted += c.shift > 0;
        n_left += c.subset;
        n_strange += c.entity == (int32_t)layout.entities;
    }
    assert_true(n_shifted > 0 && n_shifted < B && n_left > 0 && n_left < B);
    assert_true(n_strange > 0 && n_strange < B);
    CHECK_OK(ll_feature_batch_create(&layout, B, H, &here));
    ll_feature_fill(set, index, B, &vary, here);
    CHECK_OK(ll_device_examples_create(set, b, &r));
    CHECK_OK(ll_graph_create(&g));
    CHECK_OK(output_rows(g, r, B, &vary));
    CHECK_OK(ll_params_create(g, b, &none));
    CHECK_OK(ll_session_create(g, none, b, 1, &net));
    CHECK_OK(ll_device_examples_place(r, net));
    CHECK_OK(ll_session_place(net, LL_SESSION_ROWS "index", index));
    memcpy(ll_session_int(net, "key"), key, sizeof key);
    CHECK_OK(ll_session_run(net));
    check_rows(b, net, B, here, eps, entity, shifts);
    set->r[3] = known_one;
    ll_session_destroy(net);
    ll_params_destroy(none);
    ll_graph_destroy(g);
    ll_device_examples_destroy(r);
    ll_feature_batch_destroy(here);
}

/* Gradients of weights beside the other steps: nothing is overwritten before they are done. */
static void late_steps_change_nothing(void **state)
{
    (void)state;
    const ll_backend b = apart_late_backend();
    check_like_cpu(&b, 1e-6);
    assert_true(apart_queue.most > 3 && apart_queue.n == 0);
}

/* Small steps wait for each other and are done at once: the same numbers, bit by bit. */
static void steps_at_once_change_nothing(void **state)
{
    (void)state;
    const ll_backend late = apart_late_backend(), b = apart_several_backend();
    check_like_cpu(&b, 0.0); /* samples of the planned loop only nearly */
    check_like(&late, &b, 0.0, 0.0);
    assert_true(apart_at_once > 100 * STEPS);
}

static void on_a_gpu(void **state)
{
    (void)state;
    const ll_backend *b;
    const char       *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    if (ll_device_find(name, LL_PRECISION_FP32, &b) != LLAP_OK || b == NULL) skip();
    check_like_cpu(b, 2e-4);
    check_unplanned(b, 2e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_a_wall),
        cmocka_unit_test(unplanned_behind_a_wall),
        cmocka_unit_test(steps_are_not_waited_for),
        cmocka_unit_test(shifted_rows_nearly_agree),
        cmocka_unit_test(device_examples_are_filled_as_here),
        cmocka_unit_test(late_steps_change_nothing),
        cmocka_unit_test(steps_at_once_change_nothing),
        cmocka_unit_test(on_a_gpu),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
