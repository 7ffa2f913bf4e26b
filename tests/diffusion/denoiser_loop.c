/* The planned loop against the plain one: same draws, same samples up to the order of sums, on the
 * cpu, behind a wall (apart), and on a GPU where there is one (LLAP_DEVICE, cuda). */
#include "apart.h"

#include "backend/cuda/cuda.h"
#include "diffusion/denoiser_loop.h"
#include "diffusion/prepared_denoiser.h"

enum { B = 2, R = 3, H = 6, Z = 4, S = 5, F = 2, WIDEST = 256, MORE = 24, N_SETTINGS = 18 };

typedef struct setting {
    const char        *name;
    ll_denoiser_config c;
    ll_sampler_opts    o;
    int64_t            S;
    bool               folded, continuous;
    bool               kept, guessed; /* inpainting; from a guess */
} setting;

static ll_denoiser_config reference(int64_t channels)
{
    ll_denoiser_config c = LL_DENOISER_PAPER(channels);
    c.hidden_dim = 64;
    c.num_layers = 2;
    c.num_heads = 2;
    c.laplace_k = 8;
    return c;
}

static ll_denoiser_config tokens(void)
{
    ll_denoiser_config c = LL_DENOISER_DEFAULT(Z, F);
    c.hidden_dim = 64;
    c.num_heads = 2;
    c.laplace_k = 8;
    return c;
}

/* Wide enough for the kernels of the paper's sizes: heads of 64 and of 32, rows of 16 bytes. */
static ll_denoiser_config wide(void)
{
    ll_denoiser_config c = reference(MORE);
    c.hidden_dim = WIDEST;
    c.num_heads = 4;
    c.laplace_k = 64;
    return c;
}

static ll_denoiser_config wide_tokens(void)
{
    ll_denoiser_config c = tokens();
    c.hidden_dim = 128;
    c.num_heads = 4;
    c.laplace_k = 32;
    return c;
}

static int settings(setting out[N_SETTINGS])
{
    ll_sampler_opts plain = LL_SAMPLER_REFERENCE, clipped = LL_SAMPLER_REFERENCE,
                    eps = LL_SAMPLER_REFERENCE, again = LL_SAMPLER_REFERENCE;
    ll_denoiser_config c = reference(Z), sc = reference(Z), fixed = reference(Z),
                       fixed_tokens = tokens();
    plain.guidance[1] = 1.0;
    clipped.clip = 2.0;
    clipped.guidance_rescale = false;
    clipped.solver = LL_SOLVER_DPMPP_2M;
    eps.predict = LL_PREDICT_EPS;
    eps.clip = 3.0;
    sc.self_conditioning = true;
    again.self_condition = true;
    fixed.fixed_poles = fixed_tokens.fixed_poles = true;
    out[0] = (setting){ "guided", c, LL_SAMPLER_REFERENCE, S, true, false, false, false };
    out[1] = (setting){ "not folded", c, LL_SAMPLER_REFERENCE, S, false, false, false, false };
    out[2] = (setting){ "conditional", c, plain, S, true, false, false, false };
    out[3] = (setting){ "without summary", c, plain, 0, true, false, false, false };
    out[4] = (setting){ "second order, clipped", c, clipped, S, true, false, false, false };
    out[5] = (setting){ "noise predicted", c, eps, S, true, false, false, false };
    out[6] = (setting){ "self-conditioned", sc, again, S, true, false, false, false };
    out[7] = (setting){ "tokens", tokens(), LL_SAMPLER_DEFAULT, S, false, true, false, false };
    out[8] = (setting){ "wide", wide(), LL_SAMPLER_REFERENCE, S, true, false, false, false };
    out[9] =
        (setting){ "wide tokens", wide_tokens(), LL_SAMPLER_DEFAULT, S, false, true, false, false };
    out[10] = (setting){ "fixed poles", fixed, LL_SAMPLER_REFERENCE, S, true, false, false, false };
    out[11] = (setting){ "fixed poles, not folded", fixed, plain, S, false, false, false, false };
    out[12] = (setting){
        "fixed poles, tokens", fixed_tokens, LL_SAMPLER_DEFAULT, S, false, true, false, false
    };
    const int from[] = { 0, 4, 7, 8, 9 }; /* the same with something kept */
    for (int i = 0; i < 5; i++) {
        out[13 + i] = out[from[i]];
        out[13 + i].kept = true;
        out[13 + i].guessed = out[from[i]].continuous;
    }
    return N_SETTINGS;
}

static ll_params *params_of(const setting *s, const ll_backend *b)
{
    ll_graph      *g;
    ll_params     *p;
    const bool     tok = s->continuous;
    ll_denoiser_in in = { .z = NULL };
    CHECK_OK(ll_graph_create(&g));
    in.z = ll_input(g, "z", LL_SHAPE(1, 2, s->c.data_dim));
    in.E = ll_input(g, "E", LL_SHAPE(1, 2, s->c.hidden_dim));
    if (tok) in.time = ll_input(g, "time", LL_SHAPE(1));
    else in.t = ll_input_int(g, "t", LL_SHAPE(1));
    if (tok) in.f = ll_input(g, "f", LL_SHAPE(1, 2, F));
    if (tok) in.pad = ll_input(g, "pad", LL_SHAPE(1, 2));
    if (tok) in.E_pad = ll_input(g, "E_pad", LL_SHAPE(1, 2));
    ll_denoiser(g, &s->c, &in);
    CHECK_OK(ll_params_create(g, b, &p));
    ll_graph_destroy(g);
    ll_params_init(p, 5);
    CHECK_OK(ll_denoiser_init(p, "", 5));
    for (int i = 0; i < ll_params_count(p); i++) { /* nothing stays zero */
        const ll_param_info *a = ll_params_at(p, i);
        for (int64_t k = 0; a->leaf == LL_LEAF_PARAM && k < a->count; k++)
            ll_param_set(p, a, k, ll_param_get(p, a, k) + 0.05 * sin((double)(7 * k + i)));
    }
    CHECK_OK(ll_params_power_iterate(p, 20));
    CHECK_OK(ll_params_push(p));
    return p;
}

static float tq[B * H], E[B * S * WIDEST], f[B * H * F];

static ll_prepared_denoiser_batch windows_of(const setting *s)
{
    for (int i = 0; i < B * H; i++) tq[i] = 1.0f + (float)(i % H) * 1.5f + (float)(i / H);
    for (int i = 0; i < B * S * WIDEST; i++) E[i] = sinf((float)i * 0.7f);
    for (int i = 0; i < B * H * F; i++) f[i] = cosf((float)i);
    return (ll_prepared_denoiser_batch){ .tq = tq,
                                         .E = s->S > 0 ? E : NULL,
                                         .f = s->continuous ? f : NULL };
}

static ll_points points_of(const setting *s)
{
    ll_points list;
    if (s->continuous) {
        CHECK_OK(ll_points_continuous(5, 0.995, 0.005, false, &list));
        return list;
    }
    ll_schedule *schedule;
    CHECK_OK(ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &schedule));
    CHECK_OK(ll_points_reference(schedule, check_quick() ? 3 : 8, LL_KARRAS_RHO, &list));
    ll_schedule_destroy(schedule);
    return list;
}

/* Draws, and of some settings values that are kept and a guess of the others. */
static ll_sample_io io_of(const setting *s)
{
    static const uint64_t ids[B] = { 11, 12 };
    static float          y_obs[B * H * MORE], start[B * R * H * MORE];
    static uint8_t        keep[B * H * MORE];
    for (int k = 0; k < B * H * MORE; k++) {
        y_obs[k] = 0.5f + sinf((float)k);
        keep[k] = k % 3 == 1 || k % 7 == 2;
    }
    for (int k = 0; k < B * R * H * MORE; k++) start[k] = cosf(0.3f * (float)k);
    return (ll_sample_io){ .seed = 3,
                           .window = ids,
                           .first_sample = 2,
                           .y_obs = s->kept ? y_obs : NULL,
                           .keep = s->kept ? keep : NULL,
                           .start = s->guessed ? start : NULL };
}

static ll_extent extent_of(const setting *s) { return (ll_extent){ B, R, H, s->c.data_dim }; }

static void plain_samples(const setting *s, float *out)
{
    const ll_prepared_denoiser_opts  o = { .extent = extent_of(s),
                                           .S = s->S,
                                           .backend = &ll_backend_cpu,
                                           .n_threads = 1,
                                           .kept = s->kept,
                                           .whole = true,
                                           .sampler = s->o };
    const ll_prepared_denoiser_batch w = windows_of(s);
    ll_params                       *params = params_of(s, &ll_backend_cpu);
    ll_points                        list = points_of(s);
    ll_prepared_denoiser            *d;
    const ll_sample_io               io = io_of(s);
    CHECK_OK(ll_prepared_denoiser_create(&s->c, params, &o, &list, &d));
    CHECK_OK(ll_prepared_denoiser_sample(d, &w, &io, out));
    ll_prepared_denoiser_destroy(d);
    ll_points_deinit(&list);
    ll_params_destroy(params);
}

static ll_prepared_denoiser_opts opts_of(const setting *s, const ll_backend *b)
{
    return (ll_prepared_denoiser_opts){ .extent = extent_of(s),
                                        .S = s->S,
                                        .backend = b,
                                        .n_threads = 1,
                                        .folded = s->folded,
                                        .kept = s->kept,
                                        .sampler = s->o };
}

static void check_against_plain(const ll_backend *b, double tol)
{
    setting   all[N_SETTINGS];
    const int n = settings(all);
    for (int i = 0; i < n; i++) {
        const setting                   *s = &all[i];
        const ll_prepared_denoiser_opts  o = opts_of(s, b);
        const ll_prepared_denoiser_batch w = windows_of(s);
        ll_params                       *params = params_of(s, b);
        ll_points                        list = points_of(s);
        ll_denoiser_loop                *planned;
        const ll_sample_io               io = io_of(s);
        const int                        n_values = B * R * H * (int)s->c.data_dim;
        float expected[B * R * H * MORE], found[B * R * H * MORE], first[B * R * H * MORE];
        plain_samples(s, expected);
        CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &planned));
        double    top = 0.0, worst = 0.0;
        const int calls = check_once() ? 1 : 3; /* as it comes, recorded, replayed */
        for (int call = 0; call < calls; call++) {
            CHECK_OK(ll_denoiser_loop_sample(planned, &w, &io, found));
            if (call == 0) memcpy(first, found, (size_t)n_values * sizeof *first);
            if (memcmp(first, found, (size_t)n_values * sizeof *first) != 0)
                fail_msg("%s on %s: other samples at call %d", s->name, b->name, call);
        }
        for (int k = 0; k < n_values; k++) {
            top = fmax(top, fabs((double)expected[k]));
            worst = fmax(worst, fabs((double)expected[k] - (double)found[k]));
        }
        print_message("%s%s on %s: off by %.2g of %.2g\n", s->name, s->kept ? ", kept" : "",
                      b->name, worst, top);
        for (int k = 0; k < n_values && s->kept; k++) {
            const int one = n_values / (B * R), of = k / (R * one) * one + k % one;
            if (io.keep[of]) assert_true(found[k] == io.y_obs[of]);
        }
        if (!(worst <= tol * top) || top == 0.0)
            fail_msg("%s on %s: off by %g of %g", s->name, b->name, worst, top);
        ll_denoiser_loop_destroy(planned);
        ll_points_deinit(&list);
        ll_params_destroy(params);
    }
}

/* Sums in another order, over eight steps. */
static void on_the_cpu(void **state) { (void)state, check_against_plain(&ll_backend_cpu, 1e-5); }

static void behind_a_wall(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    check_against_plain(&b, 1e-5);
}

static void layers_one_behind_the_other(void **state)
{
    (void)state;
    const ll_backend b = apart_layers_backend();
    apart_runs = 0;
    check_against_plain(&b, 1e-5);
    assert_true(apart_runs > 0);
}

/* Whoever else is sampled, a sample stays what it is up to the order of sums: other kernels compute
 * the rows of many. */
static void check_many(const ll_backend *b, double tol)
{
    enum { MANY = 40 };
    setting all[N_SETTINGS];
    (void)settings(all);
    const setting                   *s = &all[8]; /* wide */
    const int64_t                    one = H * s->c.data_dim;
    ll_prepared_denoiser_opts        o = opts_of(s, b);
    const ll_prepared_denoiser_batch w = windows_of(s);
    ll_params                       *params = params_of(s, b);
    ll_points                        list = points_of(s);
    ll_denoiser_loop                *planned;
    const ll_sample_io               io = io_of(s);
    float                           *few = ll_new((size_t)(B * R * one), sizeof *few);
    float                           *many = ll_new((size_t)(B * MANY * one), sizeof *many);
    double                           top = 0.0, worst = 0.0;
    assert_true(few != NULL && many != NULL);
    CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &planned));
    CHECK_OK(ll_denoiser_loop_sample(planned, &w, &io, few));
    ll_denoiser_loop_destroy(planned);
    o.extent.R = MANY;
    CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &planned));
    CHECK_OK(ll_denoiser_loop_sample(planned, &w, &io, many));
    ll_denoiser_loop_destroy(planned);
    for (int64_t i = 0; i < B * R * one; i++) {
        const double x = (double)few[i],
                     y = (double)many[i / (R * one) * MANY * one + i % (R * one)];
        top = fmax(top, fabs(x));
        worst = fmax(worst, fabs(x - y));
    }
    print_message("many on %s: off by %.2g of %.2g\n", b->name, worst, top);
    if (!(worst <= tol * top) || top == 0.0)
        fail_msg("many on %s: off by %g of %g", b->name, worst, top);
    ll_free(few);
    ll_free(many);
    ll_points_deinit(&list);
    ll_params_destroy(params);
}

/* -------- recordings that fail -------- */

static llap_status aside_breaks; /* what the next queue aside of a recording says */

static llap_status aside(bool begin)
{
    const llap_status st = begin && apart_tapes.on != NULL ? aside_breaks : LLAP_OK;
    if (st != LLAP_OK) aside_breaks = LLAP_OK;
    return st;
}

static llap_status join(void) { return LLAP_OK; }

/* n calls give what is expected. */
static void samples_are(ll_denoiser_loop *planned, const setting *s, int n, const float *expected)
{
    const ll_prepared_denoiser_batch w = windows_of(s);
    const ll_sample_io               io = io_of(s);
    float                            found[B * R * H * Z];
    for (int call = 0; call < n; call++) {
        CHECK_OK(ll_denoiser_loop_sample(planned, &w, &io, found));
        assert_memory_equal(found, expected, sizeof found);
    }
}

static void a_failed_recording_is_not_replayed(void **state)
{
    (void)state;
    enum { SHARED = 2 }; /* runs of what samples share: recordings too where the loop is none */
    setting    all[N_SETTINGS];
    ll_backend b = apart_taped_backend();
    ll_memory  memory = *b.memory;
    memory.aside = aside;
    memory.join = join;
    b.memory = &memory;
    (void)settings(all);
    const setting                   *s = &all[0]; /* guided: one of two passes goes aside */
    const ll_prepared_denoiser_opts  o = opts_of(s, &b);
    const ll_prepared_denoiser_batch w = windows_of(s);
    const ll_sample_io               io = io_of(s);
    ll_params                       *params = params_of(s, &b);
    ll_points                        list = points_of(s);
    ll_denoiser_loop                *planned;
    float                            first[B * R * H * Z], found[B * R * H * Z];
    for (int whole = 0; whole < 2; whole++) { /* the loop fails, or the end of the recording */
        CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &planned));
        CHECK_OK(ll_denoiser_loop_sample(planned, &w, &io, first));
        *(whole ? &apart_tapes.broken : &aside_breaks) = LLAP_EIO;
        assert_int_equal(ll_denoiser_loop_sample(planned, &w, &io, found), LLAP_EIO);
        apart_tapes.replays = 0;
        samples_are(planned, s, 4, first);                 /* as it comes, recorded, replayed */
        assert_int_equal(apart_tapes.replays, SHARED + 3); /* once by themselves */
        ll_denoiser_loop_destroy(planned);
    }
    CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &planned));
    samples_are(planned, s, 1, first);
    apart_tapes.broken = LLAP_ENOMEM; /* no room: no recording, and nothing is lost */
    apart_tapes.replays = 0;
    samples_are(planned, s, 3, first);
    assert_int_equal(apart_tapes.broken, LLAP_OK);
    assert_int_equal(apart_tapes.replays, 3 * SHARED);
    ll_denoiser_loop_destroy(planned);
    ll_points_deinit(&list);
    ll_params_destroy(params);
}

static void on_a_gpu(void **state)
{
    (void)state;
    const char  *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    const double tol[] = { 1e-5, 2e-3, 2e-2 };
    for (int p = 0; p < LL_PRECISION_COUNT; p++) {
        const ll_backend *b;
        if (check_leaves(ll_precision_names[p])) continue;
        if (ll_device_find(name, (ll_precision)p, &b) != LLAP_OK || b == NULL) {
            print_message("%s\n", llap_error_detail());
            skip();
        }
        check_against_plain(b, tol[p]);
        check_many(b, tol[p]);
    }
}

static void what_it_cannot_do_is_said(void **state)
{
    (void)state;
    setting all[N_SETTINGS];
    (void)settings(all);
    ll_prepared_denoiser_opts o = {
        .extent = extent_of(&all[0]), .S = S, .backend = &ll_backend_cpu, .sampler = all[0].o
    };
    ll_params        *params = params_of(&all[0], &ll_backend_cpu);
    ll_points         list = points_of(&all[0]);
    ll_denoiser_loop *planned;
    o.sampler.eta = 0.5;
    CHECK_FAIL(ll_denoiser_loop_create(&all[0].c, params, &o, &list, &planned), LLAP_EUNSUPPORTED,
               "eta");
    o.sampler.eta = 0.0;
    CHECK_OK(ll_denoiser_loop_create(&all[0].c, params, &o, &list, &planned));
    const ll_prepared_denoiser_batch w = windows_of(&all[0]);
    const ll_sample_io               io = io_of(&all[13]);
    float                            out[B * R * H * Z];
    CHECK_FAIL(ll_denoiser_loop_sample(planned, &w, &io, out), LLAP_EUNSUPPORTED, "inpainting");
    ll_denoiser_loop_destroy(planned);
    o.extent.Z = Z + 1;
    CHECK_FAIL(ll_denoiser_loop_create(&all[0].c, params, &o, &list, &planned), LLAP_EINVAL,
               "data_dim");
    ll_points_deinit(&list);
    ll_params_destroy(params);
}

static void look_away(void *user, int i, const float *x, const float *pred_c, const float *pred_u)
{
    (void)i, (void)x, (void)pred_c, (void)pred_u;
    ++*(int *)user;
}

/* Who samples by diffusion/prepared_denoiser.h gets the planned loop where it can be, and never a
 * worse answer.
 */
static void one_function_chooses(void **state)
{
    (void)state;
    const ll_backend        apart = apart_backend();
    const ll_backend *const on[] = { &ll_backend_cpu, &apart };
    setting                 all[N_SETTINGS];
    (void)settings(all);
    const setting                   *s = &all[0];
    const ll_prepared_denoiser_batch w = windows_of(s);
    ll_sample_io                     io = io_of(s);
    ll_points                        list = points_of(s);
    const int                        n_values = B * R * H * (int)s->c.data_dim;
    float                            found[2][2][B * R * H * MORE], planned[B * R * H * MORE];
    int                              n_seen = 0;
    for (int i = 0; i < 4; i++) { /* here and behind a wall, by two solvers */
        ll_prepared_denoiser_opts o = opts_of(s, on[i / 2]);
        ll_params                *params = params_of(s, o.backend);
        ll_prepared_denoiser     *d;
        ll_denoiser_loop         *p;
        if (i % 2 == 1) o.sampler.solver = LL_SOLVER_UNIPC;
        CHECK_OK(ll_prepared_denoiser_create(&s->c, params, &o, &list, &d));
        CHECK_OK(ll_prepared_denoiser_sample(d, &w, &io, found[i / 2][i % 2]));
        assert_true(ll_prepared_denoiser_products(d) > 0 && ll_prepared_denoiser_bytes(d) > 0);
        io.watch = look_away, io.watcher = &n_seen; /* which only steps can do */
        const llap_status st = ll_prepared_denoiser_sample(d, &w, &io, planned);
        assert_int_equal(st, i == 2 ? LLAP_EUNSUPPORTED : LLAP_OK);
        io.watch = NULL;
        const ll_sample_io kept = io_of(&all[13]);
        CHECK_FAIL(ll_prepared_denoiser_sample(d, &w, &kept, planned), LLAP_EUNSUPPORTED,
                   "inpainting");
        ll_prepared_denoiser_destroy(d);
        if (i == 2) {
            CHECK_OK(ll_denoiser_loop_create(&s->c, params, &o, &list, &p));
            CHECK_OK(ll_denoiser_loop_sample(p, &w, &io, planned));
            assert_memory_equal(found[1][0], planned, (size_t)n_values * sizeof *planned);
            ll_denoiser_loop_destroy(p);
        }
        ll_params_destroy(params);
    }
    assert_int_equal(n_seen, 3 * list.n);
    for (int k = 0; k < 2 * n_values; k++) /* other plans, other sums */
        assert_true(fabsf(found[0][k / n_values][k % n_values] -
                          found[1][k / n_values][k % n_values]) < 1e-4f);
    ll_points_deinit(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_cpu),
        cmocka_unit_test(behind_a_wall),
        cmocka_unit_test(layers_one_behind_the_other),
        cmocka_unit_test(a_failed_recording_is_not_replayed),
        cmocka_unit_test(on_a_gpu),
        cmocka_unit_test(what_it_cannot_do_is_said),
        cmocka_unit_test(one_function_chooses),
    };
    const struct CMUnitTest gpu[] = { cmocka_unit_test(on_a_gpu) };
    if (check_quick()) return cmocka_run_group_tests(gpu, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
