/* A model of the reference profile to the reference's artefacts and back. */
#include "folder.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "model/model.h"

#include <llapdiff/artefacts.h>
#include <unistd.h>

enum { N = 4, D = 3, CONTEXT = 12 };
static const char *const entities[] = { "a", "b", "c", "d" };
static const char *const targets[] = { "no2" };
static const char *const inputs[] = { "no2", "wind", "rain" };

static ll_network_config tiny(bool irregular)
{
    ll_network_config     c;
    const ll_network_dims d = {
        .entities = N, .inputs = D, .targets = 1, .context = CONTEXT, .irregular = irregular
    };
    CHECK_OK(ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_TINY, &d, &c));
    c.denoiser.timesteps = 50;
    return c;
}

static llap_model *make_model(const ll_network_config *c)
{
    const ll_model_frame f = { .n_targets = 1,
                               .n_entities = N,
                               .target = targets,
                               .entity = entities,
                               .axis = LL_AXIS_CALENDAR,
                               .axis_unit = 1,
                               .unit = INT64_C(3600000000000),
                               .context = CONTEXT * INT64_C(3600000000000),
                               .horizon = 6 * INT64_C(3600000000000),
                               .step = INT64_C(3600000000000),
                               .val_start = 100,
                               .test_start = 200 };
    llap_model          *m = NULL;
    CHECK_OK(ll_model_create(&f, NULL, &m));
    CHECK_OK(ll_network_create(c, inputs, &m->network));
    CHECK_OK(ll_network_start(m->network, 5, 1.0));
    /* statistics that are not those of a fresh model */
    static const char *const names[] = { "latent.mean", "latent.std",   "cond.mean",
                                         "cond.std",    "scale.x.mean", "scale.y.std" };
    for (int i = 0; i < 6; i++) {
        const ll_param_info *p = ll_params_find(m->network->params, names[i]);
        for (int64_t k = 0; p != NULL && k < p->count; k++)
            ((float *)p->data)[k] = 0.5f + 0.1f * (float)k;
    }
    return m;
}

static const llap_import_opts nothing = { 0 };

/* Out and in again, the model file is the same to the last byte. */
static void check_there_and_back(const ll_network_config *c)
{
    llap_model *m = make_model(c), *again = NULL;
    m->training = ll_new(3, 1);
    memcpy(m->training, "{}", 3);
    CHECK_OK(llap_model_save(m, in_folder("one")));
    CHECK_OK(llap_model_export(m, in_folder("out")));
    CHECK_OK(llap_model_import(in_folder("out"), &nothing, &again));
    CHECK_OK(llap_model_save(again, in_folder("two")));
    check_same_file(in_folder("one"), in_folder("two"));
    llap_model_destroy(m);
    llap_model_destroy(again);
    static const char *const files[] = { "out/vae.safetensors", "out/summarizer.safetensors",
                                         "out/denoiser.safetensors", "out/statistics.safetensors" };
    for (int i = 0; i < 4; i++) (void)unlink(in_folder(files[i]));
}

static void there_and_back(void **state)
{
    (void)state;
    ll_network_config c = tiny(false);
    check_there_and_back(&c);
    c = tiny(true);
    c.options.cond_norm = LL_COND_NORM_FIXED;
    c.options.cond_adapter = c.options.joint_summarizer = true;
    c.options.latent_rows = 6;
    c.denoiser.self_conditioning = c.denoiser.block_summary_adaln = true;
    c.denoiser.analysis_summary_qk = true;
    c.denoiser.summary_pool_mode = LL_POOL_ATTN;
    c.noise.schedule = LL_SCHEDULE_LINEAR;
    c.noise.prediction = LL_PREDICT_EPS;
    c.sampling.steps = 9;
    check_there_and_back(&c);
    c = tiny(false);
    c.options.latent = LL_LATENT_IDENTITY;
    c.options.conditioning = false;
    c.denoiser.data_dim = N;
    check_there_and_back(&c);
}

/* Without our statistics: sizes and options come from the tensors alone. */
static void check_foreign(const ll_network_config *c)
{
    llap_model *m = make_model(c), *again = NULL;
    CHECK_OK(llap_model_export(m, in_folder("out")));
    assert_int_equal(unlink(in_folder("out/statistics.safetensors")), 0);
    llap_import_opts o = { 0 };
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_EOPTION, "horizon");
    o.horizon = "6", o.step = "1h", o.targets = "no2", o.inputs = "no2,wind,rain";
    o.entities = "d,b,c,a"; /* their embeddings move along */
    o.context = CONTEXT;
    CHECK_OK(llap_model_import(in_folder("out"), &o, &again));
    assert_int_equal(again->frame.context, m->frame.context);
    assert_int_equal(again->frame.horizon, m->frame.horizon);
    assert_string_equal(again->frame.entity[0], "a");
    const ll_network_config *r = &again->network->config;
    assert_int_equal(r->size, LL_SIZE_CUSTOM);
    assert_memory_equal(&r->denoiser, &c->denoiser, sizeof c->denoiser);
    assert_int_equal(r->noise.prediction, c->noise.prediction);
    assert_int_equal(r->summarizer.position, c->summarizer.position);
    assert_int_equal(r->options.cond_adapter, c->options.cond_adapter);
    const ll_params *x = m->network->params, *y = again->network->params;
    for (int i = 0; i < ll_params_count(x); i++) {
        const ll_param_info *p = ll_params_at(x, i), *q = ll_params_find(y, p->name);
        if (strncmp(p->name, "scale.", 6) == 0 || strncmp(p->name, "cond.", 5) == 0) continue;
        assert_non_null(q);
        if (strcmp(p->name, "vae.entity_emb.weight") != 0) {
            assert_memory_equal(p->data, q->data, (size_t)p->count * sizeof(float));
            continue;
        }
        const size_t     W = (size_t)p->shape.dim[1];
        static const int from[N] = { 3, 1, 2, 0 }; /* row of a, b, c, d in the artefact */
        for (int e = 0; e < N; e++)
            assert_memory_equal((float *)q->data + (size_t)e * W,
                                (float *)p->data + (size_t)from[e] * W, W * sizeof(float));
    }
    o.entities = "a,b";
    llap_model *none = NULL;
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &none), LLAP_EINVAL,
               "entities: expected 4 names");
    llap_model_destroy(m);
    llap_model_destroy(again);
}

static void foreign(void **state)
{
    (void)state;
    ll_network_config c = tiny(false);
    check_foreign(&c);
    c = tiny(true);
    c.options.cond_adapter = true;
    c.options.latent_rows = 6;
    c.denoiser.self_conditioning = c.denoiser.block_summary_adaln = true;
    c.denoiser.analysis_summary_qk = c.denoiser.pole_pool_use_raw_summary = true;
    c.denoiser.summary_pool_mode = LL_POOL_ATTN;
    c.noise.prediction = LL_PREDICT_X0;
    check_foreign(&c);
}

/* ---- a checkpoint as the authors' program would give it ---- */

typedef struct edit {
    const char *drop, *rename, *to;
    bool        no_config, alias, heads, broken_alias;
    int64_t     head_rows; /* of the heads; 0: as many as there should be */
} edit;

static void rewrite(const char *name, const edit *e)
{
    ll_tensors        *t = NULL;
    ll_tensors_writer *w = NULL;
    char               names[64][128];
    int                n = 0;
    static float       head[1 << 16];
    const int64_t      head_rows = e->head_rows > 0 ? e->head_rows : CONTEXT * N;
    CHECK_OK(ll_tensors_open(in_folder(name), &t));
    CHECK_OK(ll_tensors_writer_create(&w));
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        const ll_tensor_info x = ll_tensors_at(t, i);
        if (e->drop != NULL && strstr(x.name, e->drop) != NULL) continue;
        const char *as = e->rename != NULL && strcmp(x.name, e->rename) == 0 ? e->to : x.name;
        CHECK_OK(ll_tensors_writer_add(w, as, x.dtype, x.rank, x.shape, x.data));
        if (!e->alias || strncmp(x.name, "model.analysis.", 15) != 0 || n == 64) continue;
        snprintf(names[n], sizeof names[0], "model.synthesis.encoder.%s", x.name + 15);
        CHECK_OK(ll_tensors_writer_add(w, names[n++], x.dtype, x.rank, x.shape,
                                       e->broken_alias ? head : x.data));
    }
    if (e->heads)
        CHECK_OK(ll_tensors_writer_add(w, "v_decoder.weight", LL_F32, 2,
                                       (int64_t[]){ head_rows, 32 }, head));
    for (size_t i = 0; i < ll_tensors_metadata_count(t) && !e->no_config; i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        CHECK_OK(ll_tensors_writer_metadata(w, m.key, m.value));
    }
    CHECK_OK(ll_tensors_writer_save(w, in_folder("new")));
    ll_tensors_writer_destroy(w);
    ll_tensors_close(t);
    assert_int_equal(rename(in_folder("new"), in_folder(name)), 0);
}

static llap_import_opts opts(void)
{
    llap_import_opts o = { 0 };
    o.horizon = "6";
    return o;
}

static void checkpoints(void **state)
{
    (void)state;
    const ll_network_config c = tiny(true);
    llap_model             *m = make_model(&c), *again = NULL;
    CHECK_OK(llap_model_export(m, in_folder("out")));
    llap_model_destroy(m);
    assert_int_equal(unlink(in_folder("out/statistics.safetensors")), 0);

    /* aliases, heads of pretraining, no tables of the noise process: all as in some checkpoint */
    rewrite("out/denoiser.safetensors", &(edit){ .alias = true, .drop = "scheduler." });
    rewrite("out/summarizer.safetensors", &(edit){ .heads = true });
    llap_import_opts o = opts();
    CHECK_OK(llap_model_import(in_folder("out"), &o, &again));
    assert_int_equal(again->network->config.summarizer.context, CONTEXT); /* of the heads */
    assert_int_equal(again->network->config.denoiser.rho_conditioning_mode, LL_RHO_RAW);
    assert_true(again->network->schedule->T == 50);
    assert_string_equal(again->frame.entity[3], "entity4");
    assert_string_equal(again->network->input[2], "input3");
    llap_model_destroy(again);

    rewrite("out/denoiser.safetensors", &(edit){ .no_config = true });
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_EINVAL,
               "does not say what it predicts");
    o.prediction = LLAP_IMPORT_PREDICTION_X0;
    CHECK_OK(llap_model_import(in_folder("out"), &o, &again));
    assert_int_equal(again->network->config.denoiser.rho_conditioning_mode, LL_RHO_LEGACY);
    assert_int_equal(again->network->config.noise.prediction, LL_PREDICT_X0);
    llap_model_destroy(again);

    rewrite("out/denoiser.safetensors",
            &(edit){ .drop = "synthesis.encoder", .alias = true, .broken_alias = true });
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_EFORMAT,
               "not equal to model.analysis.");
    rewrite("out/denoiser.safetensors", &(edit){ .drop = "synthesis.encoder" });
    rewrite("out/vae.safetensors", &(edit){ .rename = "mu_head.bias", .to = "mu_head.bais" });
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_EFORMAT,
               "mu_head.bias: expected F32 [8], found no such tensor");
    rewrite("out/vae.safetensors", &(edit){ .rename = "mu_head.bais", .to = "mu_head.bias" });
    rewrite("out/denoiser.safetensors", &(edit){ .drop = "mu_std" });
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_EFORMAT, "mu_std");
    assert_int_equal(unlink(in_folder("out/denoiser.safetensors")), 0);
    CHECK_FAIL(llap_model_import(in_folder("out"), &o, &again), LLAP_ENOTFOUND,
               "denoiser.safetensors");
}

/* Heads of fewer rows than there are positions tell no number of entities: it is one. */
static void heads_that_say_nothing(void **state)
{
    (void)state;
    ll_network_config c = tiny(false);
    llap_model       *m, *again = NULL;
    llap_import_opts  o = opts();
    c.options.latent = LL_LATENT_IDENTITY;
    c.denoiser.data_dim = N;
    m = make_model(&c);
    CHECK_OK(llap_model_export(m, in_folder("out")));
    llap_model_destroy(m);
    assert_int_equal(unlink(in_folder("out/statistics.safetensors")), 0);
    (void)unlink(in_folder("out/vae.safetensors"));
    rewrite("out/summarizer.safetensors", &(edit){ .heads = true, .head_rows = CONTEXT - 1 });
    CHECK_OK(llap_model_import(in_folder("out"), &o, &again));
    assert_int_equal(again->network->config.n_entities, 1);
    assert_int_equal(again->network->config.n_targets, N);
    llap_model_destroy(again);
}

/* ---- the authors' tensors, where the fixtures are ---- */

typedef struct artefact {
    ll_tensors_writer *w;
    float             *made[512]; /* generated, borrowed by the writer */
    int                n_made;
} artefact;

/* Opens a case; its configuration becomes model_config. NULL: there are no fixtures. */
static ll_tensors *open_case(const char *name, artefact *a)
{
    const char *golden = getenv("LLAP_GOLDEN");
    ll_tensors *t = NULL;
    char        path[512];
    if (golden == NULL) return NULL;
    snprintf(path, sizeof path, "%s/%s.safetensors", golden, name);
    if (ll_tensors_open(path, &t) != LLAP_OK) return NULL;
    CHECK_OK(ll_tensors_writer_create(&a->w));
    const char *config = ll_tensors_metadata(t, "config");
    if (config != NULL) CHECK_OK(ll_tensors_writer_metadata(a->w, "model_config", config));
    return t;
}

static void close_case(ll_tensors *t, artefact *a, const char *to)
{
    CHECK_OK(ll_tensors_writer_save(a->w, in_folder(to)));
    ll_tensors_writer_destroy(a->w);
    ll_tensors_close(t);
    for (int i = 0; i < a->n_made; i++) free(a->made[i]);
}

/* "param.NAME" becomes NAME. */
static void add_stored(artefact *a, const ll_tensors *t)
{
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        const ll_tensor_info x = ll_tensors_at(t, i);
        if (strncmp(x.name, "param.", 6) == 0)
            CHECK_OK(ll_tensors_writer_add(a->w, x.name + 6, x.dtype, x.rank, x.shape, x.data));
    }
}

static float *make(artefact *a, int64_t n)
{
    return a->made[a->n_made++] = calloc((size_t)n, sizeof(float));
}

static void add_latent_statistics(artefact *a, int64_t Z)
{
    float *mean = make(a, Z), *std = make(a, Z);
    for (int64_t i = 0; i < Z; i++) mean[i] = 0.25f * (float)i, std[i] = 1.5f;
    CHECK_OK(ll_tensors_writer_add(a->w, "mu_mean", LL_F32, 1, &Z, mean));
    CHECK_OK(ll_tensors_writer_add(a->w, "mu_std", LL_F32, 1, &Z, std));
}

/* Metadata "spec.NAME" = "key offset scale shape": the generated parameters of c10. */
static void add_generated(artefact *a, const ll_tensors *t)
{
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        unsigned long     key;
        double            offset, scale;
        char              text[64];
        int64_t           shape[4], n = 1;
        int               rank = 0;
        if (strncmp(m.key, "spec.", 5) != 0) continue;
        assert_int_equal(sscanf(m.value, "%lu %lf %lf %63s", &key, &offset, &scale, text), 4);
        for (char *at = text; *at >= '0' && *at <= '9'; at += *at == 'x')
            n *= shape[rank++] = strtol(at, &at, 10);
        float *x = make(a, n);
        for (int64_t k = 0; k < n; k++) {
            uint32_t u = (uint32_t)k + 0x9E3779B9u * ((uint32_t)key + 1u);
            u ^= u >> 16, u *= 0x85EBCA6Bu, u ^= u >> 13, u *= 0xC2B2AE35u, u ^= u >> 16;
            const float scaled = (float)scale * ((float)(u >> 8) * 0x1p-23f - 1.0f);
            x[k] = (float)offset + scaled;
        }
        CHECK_OK(ll_tensors_writer_add(a->w, m.key + 5, LL_F32, rank, shape, x));
    }
}

/* Imported, exported and imported again: the same model file. */
static void check_artefacts(int64_t parameters)
{
    llap_model      *m = NULL, *again = NULL;
    llap_import_opts o = opts();
    CHECK_OK(llap_model_import(in_folder("out"), &o, &m));
    int64_t n = 0;
    for (int i = 0; i < ll_params_count(m->network->params); i++) {
        const ll_param_info *p = ll_params_at(m->network->params, i);
        if (p->leaf == LL_LEAF_PARAM && strncmp(p->name, "denoiser.", 9) == 0) n += p->count;
    }
    if (parameters > 0) assert_int_equal(n, parameters);
    CHECK_OK(llap_model_save(m, in_folder("one")));
    CHECK_OK(llap_model_export(m, in_folder("back")));
    CHECK_OK(llap_model_import(in_folder("back"), &nothing, &again));
    CHECK_OK(llap_model_save(again, in_folder("two")));
    check_same_file(in_folder("one"), in_folder("two"));
    llap_model_destroy(m);
    llap_model_destroy(again);
}

static void add_case(const char *name, const char *to, int64_t Z)
{
    artefact    a = { 0 };
    ll_tensors *t = open_case(name, &a);
    if (t == NULL) skip();
    add_stored(&a, t);
    if (Z > 0) add_latent_statistics(&a, Z);
    close_case(t, &a, to);
}

static void golden_tensors(void **state)
{
    (void)state;
    static const char *const summarizers[] = { "c02_sum_abs", "c02_sum_rope" };
    static const char *const denoisers[] = { "c05_llapdiff_base", "c05_llapdiff_full" };
    for (int i = 0; i < 2; i++) {
        add_case("c01_vae_entity", "out/vae.safetensors", 0);
        add_case(summarizers[i], "out/summarizer.safetensors", 0);
        add_case(denoisers[i], "out/denoiser.safetensors", 4);
        check_artefacts(0);
    }
}

/* The denoiser of the paper's size by the authors' formula, between our VAE and summarizer. */
static void golden_paper(void **state)
{
    (void)state;
    const ll_network_dims d = { .entities = N, .inputs = D, .targets = 1, .context = 336 };
    ll_network_config     c;
    artefact              a = { 0 };
    ll_tensors           *t = open_case("c10_paper", &a);
    if (t == NULL) skip();
    CHECK_OK(ll_network_config_named(LL_PROFILE_REFERENCE, LL_SIZE_PAPER, &d, &c));
    llap_model *m = make_model(&c);
    CHECK_OK(llap_model_export(m, in_folder("out")));
    llap_model_destroy(m);
    assert_int_equal(unlink(in_folder("out/statistics.safetensors")), 0);
    add_generated(&a, t);
    add_stored(&a, t); /* the spectral norm's vectors */
    add_latent_statistics(&a, 24);
    close_case(t, &a, "out/denoiser.safetensors");
    check_artefacts(9689697);
}

static int teardown(void **state)
{
    assert_int_equal(ll_alloc_live(), 0); /* nothing is left */
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(foreign),
        cmocka_unit_test(checkpoints),    cmocka_unit_test(heads_that_say_nothing),
        cmocka_unit_test(golden_tensors), cmocka_unit_test(golden_paper),
    };
    return cmocka_run_group_tests(tests, make_folder, teardown);
}
