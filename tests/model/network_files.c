/* Model files whose networks are damaged or claim too much. */
#include "network_model.h"

#include "base/file.h"
#include "base/safetensors.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_tensors),     cmocka_unit_test(refuses_more),
        cmocka_unit_test(refuses_cut_files),   cmocka_unit_test(refuses_configurations),
        cmocka_unit_test(claims_cost_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, teardown);
}
