/* The networks' container and its part of the model file. */
#include "network_model.h"

#include "base/file.h"
#include "base/json/json.h"
#include "base/safetensors.h"

/* -------- sizes -------- */

static int64_t parameters(const ll_network_config *c, const char *prefix)
{
    ll_network *n = NULL;
    int64_t     sum = 0;
    CHECK_OK(ll_network_create(c, inputs, &n));
    for (int i = 0; i < ll_params_count(n->params); i++) {
        const ll_param_info *p = ll_params_at(n->params, i);
        if (p->leaf == LL_LEAF_PARAM && strncmp(p->name, prefix, strlen(prefix)) == 0)
            sum += p->count;
    }
    ll_network_destroy(n);
    return sum;
}

/* docs/spec/model.md 2.6, 3.4, 4.10 count the reference's parameters; docs/spec/anchor.md 8.5 those
 * of the default. */
static void paper_sizes(void **state)
{
    (void)state;
    static const char *const five[] = { "a", "b", "c", "d", "e" };
    const ll_network_dims    d = { .entities = 45, .inputs = 5, .targets = 1, .context = 336 };
    ll_network_config        c;
    ll_network              *n = NULL;
    CHECK_OK(ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_PAPER, &d, &c));
    CHECK_OK(ll_network_create(&c, five, &n));
    int64_t vae = 0, summarizer = 0, denoiser = 0, ema = 0;
    for (int i = 0; i < ll_params_count(n->params); i++) {
        const ll_param_info *p = ll_params_at(n->params, i);
        if (strncmp(p->name, "ema.", 4) == 0) ema += p->count;
        if (p->leaf != LL_LEAF_PARAM) continue;
        if (strncmp(p->name, "vae.", 4) == 0) vae += p->count;
        if (strncmp(p->name, "summarizer.", 11) == 0) summarizer += p->count;
        if (strncmp(p->name, "denoiser.", 9) == 0) denoiser += p->count;
    }
    ll_network_destroy(n);
    assert_int_equal(vae, 810545);
    assert_int_equal(denoiser, 9689697);
    assert_int_equal(ema, denoiser);
    assert_int_equal(summarizer, 274016);

    c = named(LL_PROFILE_DEFAULT, LL_SIZE_SMALL);
    const int64_t member = parameters(&c, "member.0.");
    assert_int_equal(member, parameters(&c, "member.2."));
    assert_int_equal(parameters(&c, "member.3."), 0);
    assert_in_range(member, 700000, 1200000);
}

static void no_such_size(void **state)
{
    (void)state;
    ll_network_config c;
    CHECK_FAIL(
        ll_network_config_named(LL_PROFILE_DEFAULT, LL_SIZE_PAPER, &(ll_network_dims){ 0 }, &c),
        LLAP_EINVAL, "the default profile has no size 'paper'");
}

/* -------- round trip -------- */

static void check_round_trip(const ll_network_config *c)
{
    llap_model *m = make_model(c), *again = NULL;
    m->training = ll_new(3, 1);
    memcpy(m->training, "{}", 3);
    CHECK_OK(llap_model_save(m, in_folder("one")));
    CHECK_OK(llap_model_load(in_folder("one"), &again));
    CHECK_OK(llap_model_save(again, in_folder("two")));
    check_same_file(in_folder("one"), in_folder("two"));
    assert_non_null(again->network);
    assert_string_equal(again->training, "{}");
    assert_int_equal(again->network->n_inputs, D);
    assert_string_equal(again->network->input[1], "wind");
    const ll_params *x = m->network->params, *y = again->network->params;
    assert_int_equal(ll_params_count(x), ll_params_count(y));
    for (int i = 0; i < ll_params_count(x); i++) {
        const ll_param_info *p = ll_params_at(x, i);
        const ll_param_info *q = ll_params_find(y, p->name);
        assert_non_null(q);
        assert_memory_equal(p->data, q->data, (size_t)p->count * sizeof(float));
    }
    llap_model_destroy(m);
    llap_model_destroy(again);
}

static void round_trips(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    check_round_trip(&c);
    c.options.members = 2;
    c.features.calibration_edge = (ll_reals){ 2, { 24, 72 } };
    c.features.calibration_factor = (ll_reals){ 3, { 0.9, 1.1, 1.3 } };
    c.features.answer_source = LL_ANSWER_BY_BOTH;
    c.features.view = LL_FEATURE_SINGLE;
    c.patches.entities = N;
    check_round_trip(&c);
    c.options.conditioning = false;
    check_round_trip(&c);

    c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    check_round_trip(&c);
    c.options.answer_ema = c.options.cond_adapter = c.options.joint_summarizer = true;
    c.options.cond_norm = LL_COND_NORM_FIXED;
    c.options.latent_rows = 4;
    c.summarizer.position = LL_POSITION_BOTH;
    c.summarizer.t_token = LL_T_TOKEN_BIAS;
    c.summarizer.irregular_pooling = true;
    c.denoiser.self_conditioning = c.denoiser.block_summary_adaln = true;
    c.denoiser.analysis_summary_qk = c.denoiser.pole_pool_use_raw_summary = true;
    c.denoiser.summary_pool_mode = LL_POOL_ATTN;
    c.noise.schedule = LL_SCHEDULE_LINEAR;
    c.noise.prediction = LL_PREDICT_X0;
    check_round_trip(&c);
    /* ablations */
    c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    c.options.latent = LL_LATENT_IDENTITY;
    c.denoiser.data_dim = N * C;
    c.denoiser.fixed_poles = c.denoiser.frozen_poles = true;
    c.summarizer.no_temporal_token = c.summarizer.no_dynamics_token = true;
    c.summarizer.no_port_token = true;
    check_round_trip(&c);
    c.options.conditioning = false;
    check_round_trip(&c);
}

static void factors_fit_their_buckets(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    c.features.calibration_edge = (ll_reals){ 2, { 24, 72 } };
    c.features.calibration_factor = (ll_reals){ 6, { 1, 1, 1, 1, 1, 1 } };
    CHECK_FAIL(ll_network_config_check(&c), LLAP_EINVAL, "features.calibration_factor: not one");
    c.features.calibration_factor.n = 3;
    CHECK_OK(ll_network_config_check(&c));
    c.features.calibration_factor.n = 0;
    c.features.calibration_edge.n = LL_REALS_MAX; /* one bucket more than there is room for */
    CHECK_FAIL(ll_network_config_check(&c), LLAP_EINVAL, "features.calibration_edge: too many");
}

/* What is read is what was written, in every option. */
static void keeps_options(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    c.sampling.steps = 17;
    c.sampling.solver.eta = 0.25;
    c.sampling.solver.guidance[1] = 3.5;
    c.summarizer.masked_input = c.summarizer.absolute_time = true;
    make_file(&c, "one");
    llap_model *m = NULL;
    CHECK_OK(llap_model_load(in_folder("one"), &m));
    const ll_network_config *r = &m->network->config;
    assert_int_equal(r->sampling.steps, 17);
    assert_true(r->sampling.solver.eta == 0.25 && r->sampling.solver.guidance[1] == 3.5);
    assert_true(r->summarizer.masked_input && r->summarizer.absolute_time);
    assert_memory_equal(&r->vae, &c.vae, sizeof c.vae);
    ll_points list;
    CHECK_OK(ll_network_points(m->network, 64, &list));
    assert_int_equal(list.n, 33); /* docs/spec/model.md 12.2 */
    ll_points_deinit(&list);
    llap_model_destroy(m);
}

static void anchors_stay_alone(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    llap_model       *m = make_model(&c), *again = NULL;
    ll_network_destroy(m->network);
    m->network = NULL;
    CHECK_OK(llap_model_save(m, in_folder("one")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("one"), &again));
    assert_null(again->network);
    llap_model_destroy(again);
    ll_tensors *t = NULL;
    CHECK_OK(ll_tensors_open(in_folder("one"), &t));
    assert_int_equal(ll_tensors_count(t), 2);
    assert_null(strstr(ll_tensors_metadata(t, "llapdiff.config"), "network"));
    ll_tensors_close(t);
}

/* -------- options by themselves -------- */

static void reads_options(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    const char *text = "{\"denoiser\":{\"fixed_poles\":true},\"options\":{\"answer_ema\":true},"
                       "\"summarizer\":{\"no_port_token\":true}}";
    ll_json    *j = NULL;
    CHECK_OK(ll_json_parse(text, strlen(text), "how.json", NULL, &j));
    CHECK_OK(ll_network_config_read(j, "", &c));
    assert_true(c.denoiser.fixed_poles && c.options.answer_ema && c.summarizer.no_port_token);
    assert_int_equal(c.denoiser.laplace_k, 16); /* as before */
    ll_json_destroy(j);
    const struct {
        const char *text, *error;
    } bad[] = {
        { "{\"patches\":{}}", "'patches': not part of the profile \"reference\"" },
        { "{\"profile\":\"default\"}", "'profile': expected \"reference\", found \"default\"" },
        { "{\"denoiser\":{\"fixed_pole\":true}}", "did you mean 'fixed_poles'" },
        { "{\"network\":{}}", "unknown key 'network'" },
        { "{\"summarizer\":{\"no_dynamics_token\":true,\"t_token\":\"both\"}}",
          "no_dynamics_token with t_token" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ll_network_config x = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
        CHECK_OK(ll_json_parse(bad[i].text, strlen(bad[i].text), "how.json", NULL, &j));
        CHECK_FAIL(ll_network_config_read(j, "", &x), LLAP_EFORMAT, bad[i].error);
        ll_json_destroy(j);
    }
}

/* Training takes no option that would change nothing; models of before may have it. */
static void refuses_changes_without_effect(void **state)
{
    (void)state;
    const struct {
        ll_profile  profile;
        const char *text, *error; /* NULL: taken */
    } given[] = {
        { LL_PROFILE_DEFAULT, "{\"denoiser\":{\"summary_pool_mode\":\"attn\"}}",
          "'denoiser.summary_pool_mode': has no effect in the profile \"default\"" },
        { LL_PROFILE_DEFAULT, "{\"denoiser\":{\"cross_first\":false}}", "'denoiser.cross_first'" },
        { LL_PROFILE_DEFAULT, "{\"denoiser\":{\"timesteps\":50}}", "'denoiser.timesteps'" },
        { LL_PROFILE_DEFAULT, "{\"noise\":{\"prediction\":\"eps\"}}", "'noise.prediction'" },
        { LL_PROFILE_DEFAULT, "{\"sampling\":{\"rho\":3}}", "'sampling.rho'" },
        { LL_PROFILE_DEFAULT, "{\"features\":{\"query_share\":0.5}}", "'features.query_share'" },
        { LL_PROFILE_REFERENCE, "{\"denoiser\":{\"synthesis_dim\":20}}",
          "has no effect in the profile \"reference\"" },
        { LL_PROFILE_REFERENCE, "{\"denoiser\":{\"analysis_qk_use_raw_summary\":true}}",
          "'denoiser.analysis_qk_use_raw_summary': has no effect without" },
        { LL_PROFILE_REFERENCE,
          "{\"denoiser\":{\"analysis_qk_use_raw_summary\":true,\"analysis_summary_qk\":true}}",
          NULL },
        { LL_PROFILE_REFERENCE, "{\"sampling\":{\"solver\":\"unipc\",\"eta\":0.5}}",
          "'sampling.eta': needs the solver ddim" },
        { LL_PROFILE_REFERENCE, "{\"sampling\":{\"list\":\"gathered\",\"eta\":0.5}}", NULL },
        { LL_PROFILE_DEFAULT, "{\"sampling\":{\"list\":\"gathered\"}}", NULL },
        { LL_PROFILE_DEFAULT, "{\"denoiser\":{\"cross_first\":true,\"synthesis_dim\":20}}", NULL },
        { LL_PROFILE_DEFAULT, "{\"features\":{\"query_share\":1}}", NULL },
        { LL_PROFILE_REFERENCE, "{\"denoiser\":{\"cross_first\":false,\"timesteps\":50}}", NULL },
        { LL_PROFILE_REFERENCE, "{\"denoiser\":{\"summary_pool_mode\":\"attn\"}}", NULL },
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        ll_network_config x = named(given[i].profile, LL_SIZE_TINY), y = x;
        ll_json          *j = NULL;
        CHECK_OK(ll_json_parse(given[i].text, strlen(given[i].text), "how.json", NULL, &j));
        CHECK_OK(ll_network_config_read(j, "", &x));
        if (given[i].error == NULL) CHECK_OK(ll_network_config_change(j, "", &y));
        else CHECK_FAIL(ll_network_config_change(j, "", &y), LLAP_EFORMAT, given[i].error);
        ll_json_destroy(j);
    }
}

static void takes_trained_parts(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    ll_network       *one = NULL, *many = NULL;
    CHECK_OK(ll_network_create(&c, inputs, &one));
    CHECK_OK(ll_network_start(one, 3, 1.0));
    c.options.members = 2;
    CHECK_OK(ll_network_create(&c, inputs, &many));
    CHECK_OK(ll_params_take(many->params, "member.1.", one->params, "member.0."));
    const char          *name = "member.1.denoiser.model.analysis._rho_raw";
    const ll_param_info *x = ll_params_find(many->params, name);
    const ll_param_info *y =
        ll_params_find(one->params, "member.0.denoiser.model.analysis._rho_raw");
    assert_memory_equal(x->data, y->data, (size_t)x->count * sizeof(float));
    CHECK_FAIL(ll_params_take(many->params, "member.0.", one->params, "ema."), LLAP_ENOTFOUND,
               "nothing called 'ema.");
    ll_network_destroy(one);
    ll_network_destroy(many);
}

static void counts_from_the_first_query(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    float             tq[] = { 1, 2, 4, 3, 3, 9 };
    ll_network_origin(&c, tq, 2, 3);
    assert_true(tq[0] == 1 && tq[5] == 9);
    c.options.query_origin = LL_ORIGIN_FIRST_QUERY;
    ll_network_origin(&c, tq, 2, 3);
    const float expected[] = { 0, 1, 3, 0, 0, 6 };
    assert_memory_equal(tq, expected, sizeof tq);
}

static llap_status load_once(void *user)
{
    llap_model       *m = NULL;
    const llap_status st = llap_model_load(user, &m);
    llap_model_destroy(m);
    return st;
}

static void survives_failed_allocations(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    c.denoiser.num_layers = c.patches.num_layers = 0; /* every allocation is tried: keep them few */
    make_file(&c, "good");
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("good"));
    check_every_failed_allocation(load_once, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_sizes),
        cmocka_unit_test(no_such_size),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(keeps_options),
        cmocka_unit_test(factors_fit_their_buckets),
        cmocka_unit_test(anchors_stay_alone),
        cmocka_unit_test(reads_options),
        cmocka_unit_test(refuses_changes_without_effect),
        cmocka_unit_test(takes_trained_parts),
        cmocka_unit_test(counts_from_the_first_query),
        cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, make_folder, teardown);
}
