/* Training and sampling the default profile's networks where the caller cannot reach the memory:
 * the same losses, parameters and samples as on the cpu. On a GPU too where there is one
 * (LLAP_DEVICE). */
#include "apart.h"

#include "backend/cuda/cuda.h"
#include "base/rng/rng.h"
#include "residual/device_examples.h"
#include "residual/residual.h"

enum { N = 2, ROWS = 160, H = 6, WINDOWS = 12, BATCH = 4, STEPS = 5, SAMPLES = 5 };

static double           t[ROWS], y[N][ROWS], tq[WINDOWS][H];
static float            u[N][ROWS];
static const float     *columns[N][1];
static ll_record        record[N];
static ll_series        series[N];
static const ll_series *all_series[1] = { series };
static size_t           known[N] = { 0, 1 };
static ll_anchor_model *anchor;
static ll_feature_set  *set;
static ll_layout        layout;

static int set_up(void **state)
{
    (void)state;
    ll_chain              *chain = NULL;
    const ll_anchor_spec   spec = { .context = 24, .horizon = H };
    const ll_anchor_kernel k = ll_anchor_kernel_hourly();
    const ll_chain_opts    o = { .transform = true, .z_clip = 5 };
    ll_feature_row         row[WINDOWS];
    for (int e = 0; e < N; e++) {
        const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, (uint64_t)e, 0, 0);
        for (uint64_t i = 0; i < ROWS; i++) {
            t[i] = (double)i;
            y[e][i] = 5 + e + sin(0.3 * (double)i) + 0.3 * (double)ll_rng_normal(&r, i);
        }
        series[e] = (ll_series){ .n = ROWS, .t = t, .y = y[e] };
        columns[e][0] = u[e];
        record[e] = (ll_record){ ROWS, t, columns[e] };
    }
    if (ll_chain_fit(series, N, &o, &chain) != LLAP_OK) return 1;
    for (int e = 0; e < N; e++)
        for (int i = 0; i < ROWS; i++)
            u[e][i] =
                (float)ll_chain_u(chain, (size_t)e, t[i], ll_chain_z(chain, (size_t)e, y[e][i]));
    if (ll_anchor_model_create(&spec, chain, &k, 4, &anchor) != LLAP_OK) return 1;
    for (int w = 0; w < WINDOWS; w++) {
        for (int q = 0; q < H; q++) tq[w][q] = 40.0 + 8 * w + q + 1;
        row[w] = (ll_feature_row){
            .origin = 40 + 8 * w, .n_query = H, .t_query = tq[w], .id = (uint64_t)w
        };
    }
    layout = (ll_layout){
        .view = LL_FEATURE_JOINT, .entities = N, .targets = 1, .horizon = H, .level = true
    };
    ll_feature_slots(24, 1, &layout);
    static const ll_anchor_model *anchors[1];
    anchors[0] = anchor;
    const ll_feature_source from = {
        .history = record, .known = known, .n = N, .anchor = anchors, .series = all_series
    };
    return ll_feature_set_create(&layout, &from, row, WINDOWS, &set) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    ll_feature_set_destroy(set);
    ll_anchor_model_destroy(anchor);
    return 0;
}

static bool   no_dropout;
static double shift; /* what depends on one is computed in floats where rows are in device memory:
                        see below */
static int64_t batch = BATCH,
               at_once = 2; /* rows of a step, samples of a row that are drawn at once */
static ll_solver solver = LL_SOLVER_DPMPP_2M;

static ll_residual_config config(void)
{
    ll_residual_config c = {
        .layout = layout,
        .patches = LL_PATCH_DEFAULT(ll_feature_token_dim(&layout), layout.tokens),
        .denoiser = LL_DENOISER_DEFAULT(ll_feature_channels(&layout), ll_feature_query_dim(&layout))
    };
    c.patches.hidden_dim = c.denoiser.hidden_dim = 32;
    c.patches.num_heads = 4;
    c.patches.num_layers = c.denoiser.num_layers = 1;
    c.patches.entities = ll_feature_embeddings(&layout);
    c.denoiser.laplace_k = 4;
    if (no_dropout) c.patches.dropout = c.denoiser.dropout = c.denoiser.attn_dropout = 0.0;
    return c;
}

typedef struct trained {
    double     loss[STEPS], norm[STEPS];
    ll_params *params; /* of the trainer */
    float      x[WINDOWS * SAMPLES * H * N];
} trained;

/* A sampler of the trainer's average by two members, on that backend; index: all windows. */
static ll_residual_sampler *sampler_of(const ll_params *params, const ll_draw_plan *plan,
                                       uint32_t index[WINDOWS])
{
    const ll_residual_config c = config();
    const ll_residual_member m[2] = { { params, LL_PARAMS_EMA, NULL },
                                      { params, LL_PARAMS_EMA, NULL } };
    ll_residual_sampler     *s;
    for (uint32_t i = 0; i < WINDOWS; i++) index[i] = i;
    CHECK_OK(ll_residual_sampler_create(&c, m, 2, plan, &s));
    return s;
}

static ll_draw_plan plan_on(const ll_backend *b)
{
    return (ll_draw_plan){ .rows = 5,
                           .samples = at_once,
                           .h = H,
                           .solver = solver,
                           .steps = 4,
                           .first = 0.995,
                           .last = 0.005,
                           .n_threads = 1,
                           .backend = b };
}

/* Its samples; rows that went through at once. */
static int64_t draw(const ll_params *params, const ll_backend *b, float *out)
{
    const ll_draw_plan   o = plan_on(b);
    uint32_t             index[WINDOWS];
    ll_residual_sampler *s = sampler_of(params, &o, index);
    CHECK_OK(ll_residual_draw(s, set, index, WINDOWS, 7, SAMPLES, out));
    const int64_t rows = ll_residual_sampler_rows(s);
    ll_residual_sampler_destroy(s);
    return rows;
}

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

static llap_status start(const ll_backend *b, ll_residual_trainer **trainer)
{
    const ll_residual_config c = config();
    ll_residual_opts         o = LL_RESIDUAL_OPTS;
    o.batch = batch;
    o.steps = STEPS;
    o.warmup = 1;
    o.lr = 1e-3;
    o.backend = b;
    o.vary.noise = 0.1;
    o.vary.drop = 0.2;
    o.vary.shift = shift;
    return ll_residual_trainer_create(&c, set, &o, trainer);
}

static void train_steps(const ll_backend *b, trained *out, ll_residual_trainer **trainer)
{
    CHECK_OK(start(b, trainer));
    for (int i = 0; i < STEPS; i++)
        CHECK_OK(ll_residual_step(*trainer, i, &out->loss[i], &out->norm[i]));
    out->params = ll_residual_trainer_params(*trainer);
    CHECK_OK(ll_params_pull(out->params));
}

static void train(const ll_backend *b, trained *out, ll_residual_trainer **trainer)
{
    train_steps(b, out, trainer);
    draw(out->params, b, out->x);
}

static void device_data(const char *what, const ll_backend *b, double found, double expected,
                        double tol)
{
    if (!(fabs(found - expected) <= tol))
        fail_msg("%s on %s: expected %.9g, found %.9g", what, b->name, expected, found);
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
static void device_examples_are_filled_as_here(void **state)
{
    (void)state;
    enum { B = 2 * WINDOWS };
    const ll_backend *b = &ll_backend_cpu;
    ll_feature_noise  vary = {
         .seed = 5, .step = 9, .noise = 0.3, .drop = 0.3, .strange = 0.5, .shift = 0.5, .subset = 0.5
    };
    const int64_t       Z = ll_feature_channels(&layout), S = layout.tokens;
    const int64_t       width[PARTS] = { S * ll_feature_token_dim(&layout),
                                         S,
                                         H,
                                         H * ll_feature_query_dim(&layout),
                                         H,
                                         H * Z,
                                         H * Z,
                                         H * Z,
                                         1 };
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
        const ll_rng noise = ll_rng_make(5, LL_STREAM_DIFFUSE, set->row[index[i]].id, 0, vary.step);
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
    const float *const expected[PARTS] = { here->tokens, here->token_pad, here->tq,   here->f,
                                           here->pad,    here->z0,        here->mask, eps,
                                           entity };
    for (int i = 0; i < PARTS; i++) {
        const float *found = ll_session_output(net, (const char[]){ (char)('a' + i), 0 });
        for (int64_t k = 0; k < B * width[i]; k++) {
            const double x = (double)expected[i][k];
            const double tol = shifts[k / width[i]] > 0 ? 1e-6 * fmax(1.0, fabs(x)) : 0.0;
            device_data((const char[]){ (char)('a' + i), 0 }, b, (double)found[k], x, tol);
        }
    }
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

/* Fewer rows at once, the same samples. */
static void little_memory_is_enough(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       got;
    static float         few[WINDOWS * SAMPLES * H * N];
    ll_residual_trainer *trainer;
    int64_t              rows = 5;
    train(&b, &got, &trainer);
    for (apart_state.limit = (size_t)1 << 24; rows == 5; apart_state.limit -= apart_state.limit / 8)
        rows = draw(got.params, &b, few);
    apart_state.limit = 0;
    assert_in_range(rows, 1, 4);
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", &b, (double)few[k], (double)got.x[k], 1e-6);
    ll_residual_trainer_destroy(trainer);
}

/* The batch in micro-batches: the same steps, but for dropout. */
static void little_memory_is_enough_for_training(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       whole, split;
    ll_residual_trainer *a, *c = NULL;
    no_dropout = true;
    batch = 48;
    int64_t rows = batch;
    train(&b, &whole, &a);
    assert_int_equal(ll_residual_trainer_rows(a), batch);
    size_t limit = (size_t)1 << 24;
    for (; rows == batch; limit -= limit / 8) {
        apart_state.limit = limit;
        CHECK_OK(start(&b, &c));
        rows = ll_residual_trainer_rows(c);
        ll_residual_trainer_destroy(c);
    }
    train(&b, &split, &c);
    assert_in_range(ll_residual_trainer_rows(c), 1, batch / 2);
    apart_state.limit = 1; /* not even one row */
    ll_residual_trainer *none = NULL;
    assert_int_equal(start(&b, &none), LLAP_ENOMEM);
    assert_null(none);
    apart_state.limit = 0;
    no_dropout = false;
    batch = BATCH;
    for (int i = 0; i < STEPS; i++) {
        device_data("loss", &b, split.loss[i], whole.loss[i], 1e-5 * fabs(whole.loss[i]));
        device_data("norm", &b, split.norm[i], whole.norm[i], 1e-5 * fabs(whole.norm[i]));
    }
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", &b, (double)split.x[k], (double)whole.x[k], 1e-4);
    ll_residual_trainer_destroy(a);
    ll_residual_trainer_destroy(c);
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

/* -------- a GPU with little memory left -------- */

typedef struct hog { /* of the device's memory */
    const ll_backend *b;
    void             *at[4096];
    int               n;
} hog;

static bool hog_take(hog *h, size_t n_bytes)
{
    assert_true(h->n < 4096);
    const bool ok = h->b->memory->alloc(n_bytes, &h->at[h->n]) == LLAP_OK;
    h->n += ok;
    return ok;
}

/* All but so many bytes. */
static void hog_all_but(hog *h, size_t left)
{
    void *room = NULL;
    CHECK_OK(h->b->memory->alloc(left, &room));
    for (size_t size = (size_t)1 << 36; size >= (size_t)1 << 21; size /= 2)
        while (hog_take(h, size)) {
        }
    h->b->memory->release(room);
    CHECK_OK(h->b->memory->finish());
}

static void hog_release(hog *h)
{
    while (h->n > 0) h->b->memory->release(h->at[--h->n]);
}

/* How much may be left before the work has to be cut, from some GiB down; h holds the rest then. */
static size_t find_limit(hog *h, bool (*cut)(const ll_backend *b))
{
    for (size_t left = (size_t)4 << 30; left > (size_t)1 << 26; left -= left / 4) {
        hog_all_but(h, left);
        if (cut(h->b)) return left;
        hog_release(h);
    }
    fail_msg("nothing was cut, however little memory there was");
    return 0;
}

static bool steps_are_cut(const ll_backend *b)
{
    ll_residual_trainer *trainer = NULL;
    CHECK_OK(start(b, &trainer));
    const bool cut = ll_residual_trainer_rows(trainer) < batch;
    ll_residual_trainer_destroy(trainer);
    return cut;
}

static ll_params *drawn; /* samples of these, and where they go */
static float      few[WINDOWS * SAMPLES * H * N];

static bool draws_are_cut(const ll_backend *b) { return draw(drawn, b, few) < 5; }

/* A step in micro-batches and samples in turns, because there is no room: the same numbers. */
static void on_a_full_gpu(void **state)
{
    (void)state;
    static hog           h;
    static trained       whole, split;
    ll_residual_trainer *a, *c = NULL;
    const char          *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    if (ll_device_find(name, LL_PRECISION_FP32, &h.b) != LLAP_OK || h.b == NULL) skip();
    no_dropout = true;
    batch = 6000;
    at_once = 20000;
    train(h.b, &whole, &a);
    assert_int_equal(ll_residual_trainer_rows(a), batch);
    size_t left = find_limit(&h, steps_are_cut);
    train_steps(h.b, &split, &c);
    print_message("%.0f MiB left: a step of %lld rows at once\n", (double)left / 0x1p20,
                  (long long)ll_residual_trainer_rows(c));
    ll_residual_trainer_destroy(c);
    hog_release(&h);
    drawn = whole.params;
    left = find_limit(&h, draws_are_cut);
    hog_release(&h);
    print_message("%.0f MiB left: fewer rows at once\n", (double)left / 0x1p20);
    for (int i = 0; i < STEPS; i++) {
        device_data("loss", h.b, split.loss[i], whole.loss[i], 1e-4 * fabs(whole.loss[i]));
        device_data("norm", h.b, split.norm[i], whole.norm[i], 1e-4 * fabs(whole.norm[i]));
    }
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", h.b, (double)few[k], (double)whole.x[k], 1e-4);
    no_dropout = false;
    batch = BATCH;
    at_once = 2;
    ll_residual_trainer_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(behind_a_wall),
                                        cmocka_unit_test(unplanned_behind_a_wall),
                                        cmocka_unit_test(steps_are_not_waited_for),
                                        cmocka_unit_test(shifted_rows_nearly_agree),
                                        cmocka_unit_test(device_examples_are_filled_as_here),
                                        cmocka_unit_test(late_steps_change_nothing),
                                        cmocka_unit_test(steps_at_once_change_nothing),
                                        cmocka_unit_test(little_memory_is_enough),
                                        cmocka_unit_test(little_memory_is_enough_for_training),
                                        cmocka_unit_test(on_a_gpu),
                                        cmocka_unit_test(on_a_full_gpu) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
