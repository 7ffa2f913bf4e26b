/* The options of the nine models: both configurations make graphs, at the cost that the papers'
 * sizes have; JSON there and back; what cannot be is refused. */
#include "check.h"

#include "backend/cpu/cpu.h"
#include "rivals/options.h"

#include <math.h>

/* The sizes that docs/spec/rivals.md 12 counts for. */
enum { K = 336, H = 168, F = 12, D = 144 };
static const ll_rival_data hourly = { K, H, LL_RIVAL_HOURLY, false };

static ll_tensor *x_of(ll_graph *g, int64_t vars) { return ll_input(g, "x", LL_SHAPE(1, K, vars)); }
static ll_tensor *m_of(ll_graph *g, int64_t vars) { return ll_input(g, "m", LL_SHAPE(1, K, vars)); }

static ll_tensor *dlinear(ll_graph *g, const ll_rival_config *c)
{
    return ll_dlinear(g, &c->dlinear, &(ll_dlinear_in){ .x = x_of(g, 1), .m = m_of(g, 1) });
}

static ll_tensor *patchtst(ll_graph *g, const ll_rival_config *c)
{
    return ll_patchtst(g, &c->patchtst, &(ll_patchtst_in){ .x = x_of(g, 1), .m = m_of(g, 1) });
}

/* A step of all stages: what a draw asks for T times. */
static ll_tensor *mrdiff(ll_graph *g, const ll_rival_config *c)
{
    const ll_mrdiff_in in = { .x = x_of(g, F), .m = m_of(g, F) };
    ll_mrdiff_config   one = c->mrdiff;
    one.steps.n = 1;
    const int64_t S = one.kernels.n + 1;
    return ll_mrdiff_sample(g, &one, &in, ll_input(g, "noise", LL_SHAPE(S, 2, 1, F, H)));
}

static ll_tensor *timegrad(ll_graph *g, const ll_rival_config *c)
{
    ll_tensor *waves = ll_timegrad_waves(g, &c->timegrad, ll_input_int(g, "t", LL_SHAPE(1)));
    return ll_timegrad_noise(g, &c->timegrad, ll_input(g, "x", LL_SHAPE(1, 1, D)), waves,
                             ll_input(g, "cond", LL_SHAPE(1, 1, c->timegrad.cond)));
}

static ll_tensor *mtan(ll_graph *g, const ll_rival_config *c)
{
    const ll_mtan_config *m = &c->mtan;
    const ll_mtan_code    code =
        ll_mtan_encode(g, m, x_of(g, F + 6), m_of(g, F + 6), ll_input(g, "t", LL_SHAPE(1, K)));
    ll_tensor *eps = ll_input(g, "eps", LL_SHAPE(1, 1, m->n_ref, m->latent));
    ll_tensor *z = ll_mtan_latent(g, &code, eps);
    return ll_mtan_decode(g, m, z, ll_input(g, "tq", LL_SHAPE(1, H))).mean;
}

static ll_tensor *tpatchgnn(ll_graph *g, const ll_rival_config *c)
{
    const ll_shape        s = LL_SHAPE(1, K / 24, 24, F);
    const ll_tpatchgnn_in in = { .x = ll_input(g, "x", s),
                                 .t = ll_input(g, "t", s),
                                 .m = ll_input(g, "m", s),
                                 .query = ll_input(g, "tq", LL_SHAPE(1, H)),
                                 .calendar = ll_input(g, "cal", LL_SHAPE(1, H, 6)) };
    return ll_tpatchgnn(g, &c->tpatchgnn, &in);
}

static ll_tensor *contiformer(ll_graph *g, const ll_rival_config *c)
{
    enum { L = K / 4 }; /* four rows a token */
    const ll_contiformer_in in = { .x = ll_input(g, "x", LL_SHAPE(1, L, 4 * (2 * F + 7))),
                                   .times = ll_input(g, "t", LL_SHAPE(1, L)),
                                   .usable = ll_input(g, "m", LL_SHAPE(1, L)),
                                   .query = ll_input(g, "tq", LL_SHAPE(1, H)),
                                   .feature = ll_input(g, "phi", LL_SHAPE(1, H, 7)) };
    return ll_contiformer_decode(g, &c->contiformer, &in,
                                 ll_contiformer_encode(g, &c->contiformer, &in));
}

static ll_tensor *neuralcde(ll_graph *g, const ll_rival_config *c)
{
    const int64_t         places = ll_cde_places(&c->neuralcde, K), C = 1 + 2 * F;
    const ll_neuralcde_in in = { .first = ll_input(g, "first", LL_SHAPE(1, C)),
                                 .slopes = ll_input(g, "slopes", LL_SHAPE(1, places, C)),
                                 .query = ll_input(g, "phi", LL_SHAPE(1, H, 7)) };
    return ll_neuralcde(g, &c->neuralcde, &in);
}

static ll_tensor *csdi(ll_graph *g, const ll_rival_config *c)
{
    const ll_shape   s = LL_SHAPE(1, F, K + H);
    const ll_csdi_in in = { ll_input(g, "x", s), ll_input(g, "v", s),
                            ll_input(g, "t", LL_SHAPE(1, K + H)) };
    const int64_t    half = c->csdi.step_width / 2;
    return ll_csdi_noise(g, &c->csdi, &in, ll_input(g, "x_t", s),
                         ll_step_waves_at(g, 3, half, half - 1));
}

typedef struct model {
    const char *name;
    ll_tensor *(*describe)(ll_graph *g, const ll_rival_config *c);
    double products; /* multiply-adds in millions of one forecast, or of one call of a diffusion */
} model;

/* Of one series (DLinear, PatchTST), all variables of an entity, or 144 series (TimeGrad). */
static const model models[] = {
    { "dlinear", dlinear, 0.58 },
    { "patchtst", patchtst, 21.6 },
    { "mrdiff", mrdiff, 1020.0 },
    { "timegrad", timegrad, 0.68 },
    { "mtan", mtan, 39.0 },
    { "tpatchgnn", tpatchgnn, 265.0 },
    { "contiformer", contiformer, 1900 },
    { "neuralcde", neuralcde, 330.0 },
    { "csdi", csdi, 3700.0 },
};

static double products_of(const model *m, const ll_rival_config *c)
{
    ll_graph *g = NULL;
    ll_plan  *plan = NULL;
    CHECK_OK(ll_graph_create(&g));
    ll_output(g, "y", m->describe(g, c));
    CHECK_OK(ll_graph_status(g));
    const ll_plan_opts o = { .backend = &ll_backend_cpu, .n_threads = 1, .plain = true };
    CHECK_OK(ll_plan_create(g, &o, &plan));
    const double n = ll_plan_products(plan);
    ll_plan_release(plan);
    ll_graph_destroy(g);
    return n;
}

static void native_models_cost_what_the_papers_sizes_do(void **state)
{
    (void)state;
    for (int i = 0; i < LL_RIVALS; i++) {
        const ll_rival *r = ll_rival_named(models[i].name);
        ll_rival_config c;
        assert_non_null(r);
        r->native(&hourly, &c);
        CHECK_OK(ll_rival_check(r, &hourly, &c));
        const double found = products_of(&models[i], &c) / 1e6;
        if (fabs(found / models[i].products - 1.0) > 0.1)
            fail_msg("%s: expected %g million multiply-adds, found %g", r->name, models[i].products,
                     found);
    }
    assert_null(ll_rival_named("lstm"));
}

static void every_configuration_fits_every_data(void **state)
{
    (void)state;
    for (int i = 0; i < LL_RIVALS; i++)
        for (int rhythm = 0; rhythm < 3; rhythm++)
            for (int small = 0; small < 2; small++) {
                const ll_rival_data d = { 200, 20, (ll_rival_rhythm)rhythm, small == 1 };
                ll_rival_config     c;
                ll_rivals[i].native(&d, &c);
                CHECK_OK(ll_rival_check(&ll_rivals[i], &d, &c));
                if (ll_rivals[i].adapter == NULL) continue;
                ll_rivals[i].adapter(&d, &c);
                CHECK_OK(ll_rival_check(&ll_rivals[i], &d, &c));
            }
}

static void options_come_back_from_json(void **state)
{
    (void)state;
    for (int i = 0; i < LL_RIVALS; i++) {
        const ll_rival *r = &ll_rivals[i];
        ll_json        *j = NULL;
        char           *text = NULL, *again = NULL;
        ll_rival_config c = { 0 }, back = { 0 };
        r->native(&hourly, &c);
        for (int k = 0; k < 2; k++) {
            ll_json_writer w = { 0 };
            size_t         n = 0;
            ll_json_open(&w, NULL, '{');
            ll_fields_write(&w, r->field, r->n_fields, k == 0 ? &c : &back);
            ll_json_close(&w, '}');
            CHECK_OK(ll_json_finish(&w, k == 0 ? &text : &again, &n));
            if (k == 1) break;
            CHECK_OK(ll_json_parse(text, strlen(text), r->name, NULL, &j));
            CHECK_OK(ll_fields_only(j, "", r->field, r->n_fields, NULL));
            CHECK_OK(ll_fields_read(j, "", r->field, r->n_fields, &back));
        }
        assert_string_equal(text, again);
        ll_json_destroy(j);
        ll_free(text);
        ll_free(again);
    }
}

/* One option of a native configuration changed: what the message says. */
typedef struct broken {
    const char *model, *json, *says;
} broken;

static void what_cannot_be_is_named(void **state)
{
    static const broken b[] = {
        { "dlinear", "{\"kernel\":24}", "dlinear: kernel: expected odd numbers, found 24" },
        { "dlinear", "{\"quantiles\":0}", "dlinear: numbers: expected 1" },
        { "patchtst", "{\"patch\":400}", "patchtst: patch: 400 rows do not fit" },
        { "patchtst", "{\"heads\":7}", "patchtst: heads: 7 does not divide the width 128" },
        { "mrdiff", "{\"kernels\":[3,4]}", "mrdiff: kernels: expected odd numbers, found 4" },
        { "mrdiff", "{\"kernels\":[3,3,3,3,3,3,3,3]}", "mrdiff: kernels: expected at most 7" },
        { "timegrad", "{\"lags\":[2,1]}", "timegrad: lags: expected rising numbers" },
        { "timegrad", "{\"lags\":[1,336]}", "timegrad: lags: 336 does not fit" },
        { "mtan", "{\"enc_heads\":3}", "mtan: enc_heads: 3 does not divide" },
        { "tpatchgnn", "{\"heads\":5}", "tpatchgnn: heads: 5 does not divide" },
        { "contiformer", "{\"heads\":5}", "contiformer: heads: 5 does not divide" },
        { "neuralcde", "{\"quantiles\":0}", "neuralcde: numbers: expected 1" },
        { "csdi", "{\"heads\":5}", "csdi: heads: 5 does not divide" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof b / sizeof *b; i++) {
        const ll_rival *r = ll_rival_named(b[i].model);
        ll_json        *j = NULL;
        ll_rival_config c;
        r->native(&hourly, &c);
        CHECK_OK(ll_json_parse(b[i].json, strlen(b[i].json), "test", NULL, &j));
        CHECK_OK(ll_fields_read(j, "", r->field, r->n_fields, &c));
        assert_int_equal(ll_rival_check(r, &hourly, &c), LLAP_EINVAL);
        if (strstr(llap_error_detail(), b[i].says) == NULL)
            fail_msg("expected '%s', found '%s'", b[i].says, llap_error_detail());
        ll_json_destroy(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_models_cost_what_the_papers_sizes_do),
        cmocka_unit_test(every_configuration_fits_every_data),
        cmocka_unit_test(options_come_back_from_json),
        cmocka_unit_test(what_cannot_be_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
