/* Does it learn? A made-up panel whose best possible forecast is known, jittered times and 40 % of
 * the cells missing: how much of the way from the best opponent to the oracle a size goes. */
#ifndef LLAP_TESTS_TASK_LEARNING_H
#define LLAP_TESTS_TASK_LEARNING_H

#include "oracle.h"

#include "base/json/json.h"

#define HOUR INT64_C(3600000000000)

typedef struct stage {
    llap_train_size size;
    int64_t         rows, steps, members, samples; /* steps, members 0: as the size says */
    double          least_share;                   /* of the gap that must be closed */
    const char     *training;                      /* as llap_train_opts.training */
    uint64_t        seed;                          /* of the panel */
    const char     *device;                        /* NULL: the usual */
} stage;

/* Of the arguments of the program: [seed of the panel [device]]. */
static stage stage_trainer_of(stage usual, int argc, char **argv)
{
    usual.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    usual.device = argc > 2 ? argv[2] : NULL;
    return usual;
}

static ll_synth_opts synth_of(const stage *l)
{
    ll_synth_opts o = LL_SYNTH_DEFAULT;
    o.n_entities = 4;
    o.n_rows = l->rows;
    o.jitter = 0.3;
    o.row_loss = 0.22;
    o.cell_loss = 0.2;
    o.dead = 0;
    o.seed = l->seed;
    return o;
}

typedef struct marks {
    double model, anchor, best, causal, coverage;
} marks;

static marks read_marks(const llap_model *m, const llap_panel *p, llap_evaluate_task task,
                        const stage *l)
{
    llap_evaluate_opts o = { 0 };
    ll_json           *j = NULL;
    char              *text = NULL;
    marks              out = { .best = INFINITY };
    o.task = task;
    if (task == LLAP_EVALUATE_TASK_FORECAST) o.samples = l->samples;
    o.device = l->device;
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
        else if (strcmp(name, "anchor") == 0) out.anchor = crps;
        else if (strcmp(name, "model_causal") == 0) out.causal = crps;
        else if (crps < out.best) out.best = crps;
    }
    CHECK_OK(ll_json_double(j, "targets[0].scores[0].intervals[1].coverage", 0, 1, &out.coverage));
    ll_json_destroy(j);
    llap_text_free(text);
    return out;
}

static void teach(void **state)
{
    const stage        *l = *state;
    const ll_synth_opts so = synth_of(l);
    ll_synth           *truth = NULL;
    llap_panel         *p = NULL;
    llap_model         *m = NULL;
    llap_train_opts     o = { 0 };
    CHECK_OK(ll_synth_create(&so, &truth));
    CHECK_OK(ll_synth_panel(truth, &p));
    o.target = "v0";
    o.context = "4d";
    o.horizon = "24h";
    o.step = "1h";
    o.size = l->size;
    o.steps = l->steps;
    o.members = l->members;
    o.training = l->training;
    o.device = l->device;
    CHECK_OK(llap_train(p, &o, &m));
    const marks  f = read_marks(m, p, LLAP_EVALUATE_TASK_FORECAST, l);
    const marks  g = read_marks(m, p, LLAP_EVALUATE_TASK_IMPUTE, l);
    const double oracle = oracle_crps(truth, m, p, 23 * HOUR);
    const double share = (f.best - f.model) / (f.best - oracle);
    print_message(
        "%s: CRPS %.4f, anchor %.4f, best opponent %.4f, oracle %.4f: %.0f %% of the gap; 80 %% "
        "interval holds %.1f %%; filling %.4f from both sides, %.4f from the past\n",
        l->size == LLAP_TRAIN_SIZE_TINY ? "tiny" : "small", f.model, f.anchor, f.best, oracle,
        100 * share, 100 * f.coverage, g.model, g.causal);
    assert_true(share >= l->least_share);
    assert_true(f.coverage >= 0.75 && f.coverage <= 0.85);
    assert_true(g.model < g.causal);
    llap_model_destroy(m);
    llap_panel_destroy(p);
    ll_synth_destroy(truth);
}

#endif
