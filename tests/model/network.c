/* The networks' container and its part of the model file. */
#include "check.h"

#include "base/file.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "model/model.h"

#include <unistd.h>

static char folder[] = "/tmp/llap-network-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int  turn;
    char       *p = path[turn = (turn + 1) % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static const char *const entities[] = { "a", "b", "c" };
static const char *const targets[] = { "no2" };
static const char *const inputs[] = { "no2", "wind" };

enum { N = 3, C = 1, D = 2, CONTEXT = 20 };

static ll_network_config named(ll_profile profile, ll_size size)
{
    const ll_network_dims d = { .entities = N,
                                .inputs = D,
                                .targets = C,
                                .context = CONTEXT,
                                .latent = profile == LL_PROFILE_DEFAULT ? N * C : 0,
                                .tokens = 5,
                                .token_dim = 11,
                                .query_features = 8 };
    ll_network_config     c;
    CHECK_OK(ll_network_config_named(profile, size, &d, &c));
    return c;
}

static ll_anchor_model *make_anchor(void)
{
    enum { ROWS = 40 };
    double    t[ROWS], y[ROWS];
    ll_series s[N];
    for (int i = 0; i < ROWS; i++) t[i] = i, y[i] = sin(i) + 0.1 * i;
    for (int e = 0; e < N; e++) s[e] = (ll_series){ .n = ROWS, .t = t, .y = y };
    ll_chain     *chain = NULL;
    ll_chain_opts o = LL_CHAIN_DEFAULT;
    o.climate = false;
    CHECK_OK(ll_chain_fit(s, N, &o, &chain));
    const ll_anchor_kernel k = {
        .n_terms = 1, .a = { 1 }, .rho = { 0.1 }, .omega = { 0 }, .nu = 0.1, .jitter = 1e-4
    };
    ll_anchor_model *a = NULL;
    CHECK_OK(ll_anchor_model_create(&(ll_anchor_spec){ .context = CONTEXT, .horizon = 4 }, chain,
                                    &k, 4, &a));
    return a;
}

/* With fresh networks. */
static llap_model *make_model(const ll_network_config *c)
{
    const ll_model_frame f = { .n_targets = C,
                               .n_entities = N,
                               .target = targets,
                               .entity = entities,
                               .axis = LL_AXIS_NUMBER,
                               .axis_unit = 1,
                               .unit = 1,
                               .context = CONTEXT,
                               .horizon = 4,
                               .step = 1,
                               .val_start = 10,
                               .test_start = 20 };
    ll_anchor_model    **anchor = NULL;
    llap_model          *m = NULL;
    if (c->profile == LL_PROFILE_DEFAULT) {
        anchor = ll_new(C, sizeof *anchor);
        anchor[0] = make_anchor();
    }
    CHECK_OK(ll_model_create(&f, anchor, &m));
    CHECK_OK(ll_network_create(c, inputs, &m->network));
    CHECK_OK(ll_network_start(m->network, 7, 1.0));
    return m;
}

static void make_file(const ll_network_config *c, const char *name)
{
    llap_model *m = make_model(c);
    CHECK_OK(llap_model_save(m, in_folder(name)));
    llap_model_destroy(m);
}

static bool same_bytes(const char *a, const char *b)
{
    ll_map x, y;
    CHECK_OK(ll_map_open(in_folder(a), &x));
    CHECK_OK(ll_map_open(in_folder(b), &y));
    const bool same = x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
    ll_map_close(&x);
    ll_map_close(&y);
    return same;
}

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
    assert_true(same_bytes("one", "two"));
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
    c.features.view = LL_FEATURE_ROWS;
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

/* -------- hostile files -------- */

typedef struct edit { /* of a file on its way from "good" to "bad" */
    const char *tensor, *rename;
    bool        drop, nan, grow, as_double, twice;
    const char *find, *replace; /* in the configuration */
    const char *format;
} edit;

/* Adds a tensor; *hold keeps what the writer borrows. */
static void add_edited(ll_tensors_writer *w, ll_tensor_info t, const edit *e, double *hold)
{
    const bool hit = e->tensor != NULL && strcmp(t.name, e->tensor) == 0;
    if (hit && e->drop) return;
    if (hit && e->rename != NULL) t.name = e->rename;
    const void *data = t.data;
    if (hit && (e->nan || e->grow || e->as_double)) {
        memcpy(hold, t.data, t.n_bytes);
        if (e->nan) ((float *)hold)[t.n_elements - 1] = NAN;
        if (e->grow) t.shape[t.rank - 1]++;
        if (e->as_double) t.dtype = LL_F64;
        data = hold;
    }
    CHECK_OK(ll_tensors_writer_add(w, t.name, t.dtype, t.rank, t.shape, data));
}

static void make_bad(const edit *e)
{
    ll_tensors        *t = NULL;
    ll_tensors_writer *w = NULL;
    double            *hold = calloc(1 << 16, sizeof *hold);
    CHECK_OK(ll_tensors_open(in_folder("good"), &t));
    CHECK_OK(ll_tensors_writer_create(&w));
    for (size_t i = 0; i < ll_tensors_count(t); i++) add_edited(w, ll_tensors_at(t, i), e, hold);
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        char              text[20000];
        snprintf(text, sizeof text, "%s", m.value);
        char *at = e->find == NULL ? NULL : strstr(text, e->find);
        if (at != NULL && strcmp(m.key, "llapdiff.config") == 0) {
            const size_t offset = (size_t)(at - text);
            snprintf(at, sizeof text - offset, "%s%s", e->replace,
                     m.value + offset + strlen(e->find));
        }
        if (e->format != NULL && strcmp(m.key, "llapdiff.format") == 0)
            snprintf(text, sizeof text, "%s", e->format);
        CHECK_OK(ll_tensors_writer_metadata(w, m.key, text));
    }
    CHECK_OK(ll_tensors_writer_save(w, in_folder("bad")));
    ll_tensors_writer_destroy(w);
    ll_tensors_close(t);
    free(hold);
}

static void check_refused(const edit *e, llap_status code, const char *text)
{
    llap_model *m = NULL;
    make_bad(e);
    CHECK_FAIL(llap_model_load(in_folder("bad"), &m), code, text);
    assert_null(m);
}

#define WEIGHT "denoiser.model.blocks.1.self_blk.qkv.weight"

static void refuses_tensors(void **state)
{
    (void)state;
    const ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    make_file(&c, "good");
    const struct {
        edit        e;
        const char *text;
    } cases[] = {
        { { .tensor = WEIGHT, .rename = WEIGHT "s" }, WEIGHT },
        { { .tensor = WEIGHT, .drop = true },
          WEIGHT ": expected F32 [96,32], found no such tensor" },
        { { .tensor = WEIGHT, .grow = true }, WEIGHT ": expected F32 [96,32], found F32 [96,33]" },
        { { .tensor = WEIGHT, .as_double = true }, WEIGHT ": expected F32 [96,32], found F64" },
        { { .tensor = WEIGHT, .nan = true }, WEIGHT ": expected finite numbers, found" },
        { { .tensor = "ema." WEIGHT, .nan = true }, "ema." WEIGHT },
        { { .tensor = "ema." WEIGHT, .drop = true }, "ema." WEIGHT },
        { { .tensor = "ema." WEIGHT, .rename = "ema.x" }, "ema." WEIGHT },
        { { .tensor = "vae.entity_emb.weight", .grow = true }, "vae.entity_emb.weight" },
        { { .tensor = "latent.std", .nan = true }, "latent.std" },
        { { .tensor = "scale.x.mean", .rename = "scale.x.men" }, "scale.x.mean" },
        { { .tensor = "scale.y.std", .rename = "scale.0.std" }, "scale.y.std" },
        { { .tensor = "denoiser.scheduler.betas", .nan = true }, "denoiser.scheduler.betas" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(&cases[i].e, LLAP_EFORMAT, cases[i].text);
}

/* An unknown tensor beside all that are needed, and one of no model at all. */
static void refuses_more(void **state)
{
    (void)state;
    const ll_network_config  c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    static const char *const names[] = { "more", "denoiser.more", "ema.more", "anchor.0.loadings" };
    for (int i = 0; i < 4; i++) {
        llap_model        *m = make_model(&c);
        ll_tensors_writer *w = NULL;
        ll_tensors        *t = NULL;
        const float        one = 1;
        CHECK_OK(llap_model_save(m, in_folder("good")));
        llap_model_destroy(m);
        CHECK_OK(ll_tensors_open(in_folder("good"), &t));
        CHECK_OK(ll_tensors_writer_create(&w));
        for (size_t k = 0; k < ll_tensors_count(t); k++)
            add_edited(w, ll_tensors_at(t, k), &(edit){ 0 }, NULL);
        for (size_t k = 0; k < ll_tensors_metadata_count(t); k++) {
            const ll_metadata x = ll_tensors_metadata_at(t, k);
            CHECK_OK(ll_tensors_writer_metadata(w, x.key, x.value));
        }
        CHECK_OK(ll_tensors_writer_add(w, names[i], LL_F32, 0, NULL, &one));
        CHECK_OK(ll_tensors_writer_save(w, in_folder("bad")));
        ll_tensors_writer_destroy(w);
        ll_tensors_close(t);
        CHECK_FAIL(llap_model_load(in_folder("bad"), &m), LLAP_EFORMAT, names[i]);
    }
}

/* Cut anywhere, the file is refused and nothing leaks or is read beyond its end. */
static void refuses_cut_files(void **state)
{
    (void)state;
    const ll_network_config c = named(LL_PROFILE_DEFAULT, LL_SIZE_TINY);
    make_file(&c, "good");
    ll_map f;
    CHECK_OK(ll_map_open(in_folder("good"), &f));
    const size_t n = f.size;
    for (size_t cut = 0; cut < 16; cut++) {
        const size_t keep = cut == 15 ? n - 1 : n * cut / 15;
        FILE        *out = fopen(in_folder("bad"), "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(f.data, 1, keep, out), keep);
        fclose(out);
        llap_model *m = NULL;
        CHECK_FAIL(llap_model_load(in_folder("bad"), &m), LLAP_EFORMAT, "bad");
    }
    ll_map_close(&f);
}

static void refuses_configurations(void **state)
{
    (void)state;
    const ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    make_file(&c, "good");
    /* clang-format off */
    const struct { const char *find, *replace, *text; } cases[] = {
        { "\"laplace_k\":16", "\"laplace_k\":17", "_rho_raw: expected F32 [17], found F32 [16]" },
        { "\"laplace_k\"", "\"laplace_m\"", "unknown key 'laplace_m', did you mean 'laplace_k'?" },
        { "\"hidden_dim\":32", "\"hidden_dim\":36", "summarizer.width is 32, denoiser.hidden_dim is 36" },
        { "\"hidden_dim\":32", "\"hidden_dim\":\"wide\"", "'network.denoiser.hidden_dim': expected an integer" },
        { "\"num_heads\":4", "\"num_heads\":5", "num_heads: 5 does not divide hidden_dim 32" },
        { "\"profile\":\"reference\"", "\"profile\":\"default\"", "not part of the profile \"default\"" },
        { "\"profile\":\"reference\"", "\"profile\":\"other\"", "'network.profile'" },
        { "\"answer_ema\":false", "\"answer_ema\":true,\"ema\":false", "duplicate" },
        { "\"ema\":true", "\"ema\":false", "ema." },
        { "\"members\":1", "\"members\":2", "options.members" },
        { "\"latent\":\"set_vae\"", "\"latent\":\"identity\"", "'network.vae': the options have no use for it" },
        { "\"conditioning\":true", "\"conditioning\":false", "'network.summarizer': the options have no use for it" },
        { "\"cond_norm\":\"batch\"", "\"cond_norm\":\"fixed\"", "cond.mean: expected F32 [32], found no such tensor" },
        { "\"entities\":3", "\"entities\":4", "vae.n_entities is not the number of entities" },
        { "\"inputs\":[\"no2\",\"wind\"]", "\"inputs\":[\"no2\",\"no2\"]", "'no2' is there twice" },
        { "\"inputs\":[\"no2\",\"wind\"]", "\"inputs\":[\"no2\"]", "summarizer.features is 2, inputs is 1" },
        { "\"size\":\"tiny\"", "\"size\":\"anchor\"", "'size'" },
        { "\"timesteps\":1000", "\"timesteps\":1000000", "time_embed.weight: expected F32 [1000000,32]" },
        { "\"hidden_dim\":32", "\"hidden_dim\":65536,\"width\":3", "unknown key 'width'" },
        { "\"position\":\"learned_abs\"", "\"position\":\"continuous_rope\"", "self_attn.qkv.weight" },
        { "\"no_temporal_token\":false", "\"no_temporal_token\":1", "no_temporal_token" },
        { "\"list\":\"reference\"", "\"list\":\"continuous\"", "sampling.list" },
        { "\"self_condition\":false", "\"self_condition\":true", "sampling.self_condition" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refused(&(edit){ .find = cases[i].find, .replace = cases[i].replace }, LLAP_EFORMAT,
                      cases[i].text);
    check_refused(&(edit){ .format = "2" }, LLAP_EUNSUPPORTED, "format '2'");
}

/* A configuration may claim any size: what its tensors do not back is never allocated. */
static void claims_cost_nothing(void **state)
{
    (void)state;
    ll_network_config c = named(LL_PROFILE_REFERENCE, LL_SIZE_TINY);
    make_file(&c, "good");
    check_refused(&(edit){ .find = "\"encoder_ff\":64", .replace = "\"encoder_ff\":65536" },
                  LLAP_EFORMAT, "linear1.weight: expected F32 [65536,32], found F32 [64,32]");
    check_refused(&(edit){ .find = "\"num_layers\":2", .replace = "\"num_layers\":64" },
                  LLAP_EFORMAT, "denoiser.model.blocks.2");
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

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(ll_alloc_live(), 0); /* nothing is left */
    static const char *const names[] = { "one", "two", "good", "bad" };
    for (int i = 0; i < 4; i++) (void)unlink(in_folder(names[i]));
    return rmdir(folder);
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
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(refuses_more),
        cmocka_unit_test(refuses_cut_files),
        cmocka_unit_test(refuses_configurations),
        cmocka_unit_test(claims_cost_nothing),
        cmocka_unit_test(reads_options),
        cmocka_unit_test(refuses_changes_without_effect),
        cmocka_unit_test(takes_trained_parts),
        cmocka_unit_test(counts_from_the_first_query),
        cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
