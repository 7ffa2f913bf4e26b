/* Do the published models learn? A made-up panel on a grid whose best possible forecast is known:
 * how much of the way from climatology to the oracle each goes, at small sizes and in some thousand
 * steps. A mistake in what a model sees of a window, in its loss or in its answers costs most of
 * it.
 *
 *     test_train_rivals_learning [model [options [steps [batch [rate]]]]]
 *
 * trains that model only; with options it shows how validation goes and holds the model to nothing.
 */
#include "oracle.h"

#include "base/json/json.h"

#define HOUR INT64_C(3600000000000)
enum { STRIDE = 23 };

typedef struct pupil {
    const char *rival, *options;
    int64_t     steps, batch;
    double      lr;
    double      least_share; /* of the gap that must be closed */
} pupil;

/* clang-format off */
static const pupil pupils[] = {
    { "dlinear", "{}", 1500, 32, 5e-3, 0.8 },
    { "patchtst",
      "{\"patch\": 6, \"stride\": 3, \"layers\": 2, \"ff\": 32, \"dropout\": 0}",
      800, 32, 3e-3, 0.8 },
    { "tpatchgnn", "{\"width\": 16, \"ff\": 32, \"patches\": 24, \"dropout\": 0}",
      3000, 16, 5e-3, 0.8 },
    { "neuralcde", "{\"hidden\": 16, \"field\": 24, \"layers\": 2, \"read\": 32}",
      1500, 16, 5e-3, 0.7 },
    { "contiformer",
      "{\"width\": 16, \"inner\": 32, \"heads\": 2, \"layers\": 1, \"steps\": 1, \"rows\": 4, \"dropout\": 0}",
      1500, 16, 5e-3, 0.8 },
    { "mtan",
      "{\"n_ref\": 32, \"embed\": 32, \"rec\": 16, \"gen\": 16, \"latent\": 4, \"mlp\": 32}",
      2000, 32, 4e-3, 0.8 },
    { "mrdiff",
      "{\"kernels\": [3, 5], \"step_width\": 16, \"width\": 24, \"width_in\": 16, \"width_enc\": 24, "
      "\"layers_in\": 2, \"layers_enc\": 2, \"layers_dec\": 2, \"dropout\": 0, \"noise_steps\": 20, "
      "\"beta_end\": 0.5}",
      2000, 32, 3e-3, 0.55 },
    { "timegrad",
      "{\"lags\": [1, 2, 24], \"cells\": 16, \"cond\": 16, \"blocks\": 4, \"noise_steps\": 20, "
      "\"beta_end\": 0.5, \"dropout\": 0}",
      1000, 16, 5e-3, 0.8 },
    { "csdi",
      "{\"channels\": 16, \"step_width\": 32, \"time_width\": 32, \"feature_width\": 4, \"ff\": 32, "
      "\"heads\": 2, \"blocks\": 2, \"dropout\": 0, \"noise_steps\": 20}",
      5000, 16, 4e-3, 0.6 },
};
/* clang-format on */

static ll_synth_opts synth_of(void)
{
    ll_synth_opts o = LL_SYNTH_DEFAULT;
    o.n_entities = 2;
    o.n_vars = 1;
    o.n_rows = 12000;  /* of 4000 DLinear learns the noise: 67 % instead of 97 */
    o.max_period = 36; /* shorter than the context, whose mean RevIN takes away */
    o.jitter = 0;
    o.row_loss = o.gap_start = o.dead = 0;
    o.cell_loss = 0.05;
    return o;
}

typedef struct marks {
    double model, climatology, coverage;
} marks;

static marks read_marks(const llap_model *m, const llap_panel *p)
{
    llap_evaluate_opts o = { 0 };
    ll_json           *j = NULL;
    char              *text = NULL;
    marks              out = { 0 };
    o.samples = 50;
    o.bootstrap = LLAP_ZERO;
    CHECK_OK(llap_evaluate(m, p, &o, NULL, &text));
    CHECK_OK(ll_json_parse(text, strlen(text), "evaluation", NULL, &j));
    for (int i = 0; i < 16; i++) {
        char        path[64];
        const char *name;
        double      crps;
        snprintf(path, sizeof path, "targets[0].scores[%d].name", i);
        if (!ll_json_has(j, path)) break;
        CHECK_OK(ll_json_string(j, path, &name));
        snprintf(path, sizeof path, "targets[0].scores[%d].crps", i);
        CHECK_OK(ll_json_double(j, path, 0, 1e6, &crps));
        if (strcmp(name, "model") == 0) out.model = crps;
        if (strcmp(name, "climatology") == 0) out.climatology = crps;
    }
    CHECK_OK(ll_json_double(j, "targets[0].scores[0].intervals[1].coverage", 0, 1, &out.coverage));
    ll_json_destroy(j);
    llap_text_free(text);
    return out;
}

static void teach(const pupil *l, bool aloud, const ll_synth *truth, const llap_panel *p)
{
    llap_model     *m = NULL;
    llap_train_opts o = { 0 };
    const llap_log  log = { .level = LLAP_LOG_INFO, .sink = llap_log_to_file, .user = stderr };
    o.target = "v0";
    o.context = "48";
    o.horizon = "12";
    o.rival = l->rival;
    o.rival_options = l->options;
    /* So short a training ends with small steps; whoever draws with batch norm needs them. */
    o.training = "{\"rival\": {\"check_rows\": 40, \"check_samples\": 8, \"patience\": 0, "
                 "\"check_every\": 250, \"schedule\": \"cosine\"}}";
    if (aloud) o.log = &log;
    o.steps = l->steps;
    o.batch = l->batch;
    o.lr = l->lr;
    CHECK_OK(llap_train(p, &o, &m));
    const marks  f = read_marks(m, p);
    const double oracle = oracle_crps(truth, m, p, STRIDE * HOUR);
    const double share = (f.climatology - f.model) / (f.climatology - oracle);
    print_message(
        "%s: CRPS %.4f, climatology %.4f, oracle %.4f: %.0f %% of the gap; 80 %% interval "
        "holds %.1f %%\n",
        l->rival, f.model, f.climatology, oracle, 100 * share, 100 * f.coverage);
    llap_model_destroy(m);
    if (!(share >= l->least_share))
        fail_msg("%s: expected %.0f %% of the gap, found %.0f", l->rival, 100 * l->least_share,
                 100 * share);
}

static int    n_given;
static char **given;

static void each_goes_most_of_the_way(void **state)
{
    (void)state;
    const ll_synth_opts so = synth_of();
    ll_synth           *truth = NULL;
    llap_panel         *p = NULL;
    CHECK_OK(ll_synth_create(&so, &truth));
    CHECK_OK(ll_synth_panel(truth, &p));
    for (size_t i = 0; i < sizeof pupils / sizeof *pupils; i++) {
        pupil l = pupils[i];
        if (n_given > 1 && strcmp(given[1], l.rival) != 0) continue;
        if (n_given > 2) l.options = given[2], l.least_share = -INFINITY;
        if (n_given > 3) l.steps = atoll(given[3]);
        if (n_given > 4) l.batch = atoll(given[4]);
        if (n_given > 5) l.lr = atof(given[5]);
        teach(&l, n_given > 2, truth, p);
    }
    llap_panel_destroy(p);
    ll_synth_destroy(truth);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_goes_most_of_the_way) };
    n_given = argc;
    given = argv;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
