/* Stage 2: the history summarizer learns to reproduce the context, docs/spec/protocol.md 5.2. */
#include "predict/reference.h"
#include "predict/reference_inputs.h"
#include "train/reference/reference.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <assert.h>
#include <math.h>

static ll_tensor *describe(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what)
{
    const ll_network_config   *c = &l->r->network->config;
    const ll_summarizer_config cfg = ll_network_summarizer(c, what->training);
    const int64_t              N = cfg.n_entities;
    const ll_shape             cells = LL_SHAPE(what->rows, N, cfg.context, cfg.features);
    const ll_shape             times = LL_SHAPE(what->rows, N, cfg.context);
    const ll_shape             slots = LL_SHAPE(what->rows, N);
    const ll_history           of_batch = { .x = ll_stage_trainer_input(g, l, what, "x", cells),
                                            .dx = ll_stage_trainer_input(g, l, what, "dx", cells),
                                            .obs = ll_stage_trainer_input(g, l, what, "seen", cells),
                                            .ent = ll_stage_trainer_input(g, l, what, "ent", slots),
                                            .dt = ll_stage_trainer_input(g, l, what, "dt", times) };
    const ll_history of_whole = { .obs = ll_stage_trainer_whole(g, l, what, "seen", cells),
                                  .ent = ll_stage_trainer_whole(g, l, what, "ent", slots) };
    const ll_history in = ll_batch_views(g, &of_batch);
    const ll_history whole = ll_batch_views(g, &of_whole);
    assert((whole.obs == NULL) == (whole.ent == NULL));
    const ll_summary summary = ll_reference_summary_of(g, c, &in, what->training);
    ll_scope_push(g, "summarizer");
    const ll_summarizer_heads heads = ll_summarizer_decode(g, &cfg, summary.context);
    ll_scope_pop(g);
    ll_tensor *loss = ll_summarizer_loss(g, &l->r->recipe.summarizer.loss, &summary, &heads,
                                         whole.obs == NULL ? NULL : &whole)
                          .loss;
    ll_output(g, "loss", loss);
    return loss;
}

static void fill_whole(const ll_reference *r, const ll_batch *whole, ll_session *net)
{
    ll_reference_seen(r, whole, r->B, ll_session_real(net, "all_seen"),
                      ll_session_real(net, "all_ent"));
}

/* The loss, batches weighted by their valid entities. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    static const char *const name = "loss";
    ll_stage_trainer        *s = user;
    const ll_reference      *r = s->r;
    double                   sum = 0, n = 0, loss;
    llap_status              st = LLAP_OK;
    for (int64_t k = 0; k < ll_reference_val_batches(r) && st == LLAP_OK; k++) {
        st = ll_reference_val(r, k, &s->val);
        if (st == LLAP_OK) st = ll_stage_trainer_check(s, &s->val, &name, 1, &loss);
        if (st != LLAP_OK) break;
        double valid = 0;
        for (int64_t i = 0; i < s->val.n_examples * r->N; i++) valid += s->val.valid[i];
        sum += valid * loss;
        n += valid;
    }
    *score = sum / fmax(n, 1);
    return st;
}

static void fields(void *user, ll_json_writer *w)
{
    ll_json_put_double(w, "lr", ((const ll_stage_trainer *)user)->r->recipe.summarizer.stage.lr);
}

static void start(ll_params *p, const ll_reference *r)
{
    ll_summarizer_start(p, &r->network->config.summarizer, "summarizer.");
}

llap_status ll_reference_summarizer(ll_reference *r, ll_training_run *t)
{
    const ll_recipe_summarizer *how = &r->recipe.summarizer;
    static const char *const    of_batch[] = { "x", "dx", "seen", "ent", "dt", NULL };
    ll_stage_trainer            s = { .name = "summarizer",
                                      .r = r,
                                      .describe = describe,
                                      .start = start,
                                      .fill = ll_reference_history,
                                      .of_batch = of_batch,
                                      .fill_whole = fill_whole };
    ll_stage                    stage;
    llap_status                 st = ll_stage_trainer_init(&s, &how->stage, &stage);
    stage.margin = how->margin;
    stage.evaluate = evaluate;
    stage.fields = fields;
    if (st == LLAP_OK) st = ll_stage_trainer_run(&s, t, &stage);
    ll_stage_trainer_deinit(&s);
    return st;
}
