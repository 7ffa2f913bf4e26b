/* Stage 2: the history summarizer learns to reproduce the context, spec protocol.md 5.2. */
#include "nn/optim.h"
#include "task/reference.h"

#include <math.h>

typedef struct summarizer_stage {
    task_reference               *r;
    llap_params                  *params;
    task_net                     *train, *check;
    task_feed                     feed;
    llap_batch                    val;
    const task_recipe_summarizer *how;
} summarizer_stage;

static llap_tensor *describe(llap_graph *g, const summarizer_stage *s, bool training)
{
    const llap_network_config   *c = &s->r->network->config;
    const llap_summarizer_config cfg = llap_network_summarizer(c, training);
    const llap_summary           summary = task_reference_summary(g, c, s->r->B, training);
    llap_scope_push(g, "summarizer");
    const llap_summarizer_heads heads = llap_summarizer_decode(g, &cfg, summary.context);
    llap_scope_pop(g);
    llap_tensor *loss = llap_summarizer_loss(g, &s->how->loss, &summary, &heads).loss;
    llap_output(g, "loss", loss);
    return loss;
}

static llap_status step(void *user, int64_t number, double *loss, double *norm)
{
    summarizer_stage *s = user;
    const llap_batch *b;
    const llap_status st = task_feed_at(&s->feed, number, &b);
    if (st != LLAP_OK) return st;
    task_reference_history(s->r, b, s->r->B, s->train);
    return task_net_step(s->train, s->params, number, s->how->stage.lr, loss, norm);
}

/* The loss, batches weighted by their valid entities. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    summarizer_stage     *s = user;
    const task_reference *r = s->r;
    double                sum = 0, n = 0;
    llap_status           st = LLAP_OK;
    for (int64_t k = 0; k < task_reference_val_batches(r) && st == LLAP_OK; k++) {
        st = task_reference_val(r, k, &s->val);
        if (st != LLAP_OK) break;
        double valid = 0;
        for (int64_t i = 0; i < s->val.n_rows * r->N; i++) valid += s->val.valid[i];
        task_reference_history(r, &s->val, r->B, s->check);
        st = task_net_run(s->check);
        sum += valid * task_net_number(s->check, "loss");
        n += valid;
    }
    *score = sum / fmax(n, 1);
    return st;
}

static void fields(void *user, llap_json_writer *w)
{
    llap_json_put_double(w, "lr", ((summarizer_stage *)user)->how->stage.lr);
}

static llap_status blame(void *user, int64_t number, char *text, size_t size)
{
    (void)number;
    summarizer_stage *s = user;
    llap_graph       *g = NULL;
    llap_status       st = llap_graph_create(&g);
    if (st == LLAP_OK)
        st = task_net_blame(s->train, g, describe(g, s, true), s->params, text, size);
    llap_graph_destroy(g);
    task_reference_windows(s->r, s->feed.now->end, s->feed.now->n_rows, text, size);
    return st;
}

static llap_status prepare(summarizer_stage *s)
{
    const task_reference *r = s->r;
    llap_graph           *g = NULL;
    llap_status           st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_nn_train(g, describe(g, s, true), &s->how->stage.optim);
        st = llap_params_create(g, r->backend, &s->params);
    }
    if (st == LLAP_OK) {
        llap_params_init(s->params, r->seed);
        llap_summarizer_start(s->params, &r->network->config.summarizer, "summarizer.");
        task_reference_start(r, s->params);
        st = llap_params_push(s->params);
    }
    if (st == LLAP_OK) st = task_net_create(g, s->params, r->n_threads, &s->train);
    llap_graph_destroy(g);
    g = NULL;
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st == LLAP_OK) (void)describe(g, s, false);
    if (st == LLAP_OK) st = task_net_create(g, s->params, r->n_threads, &s->check);
    llap_graph_destroy(g);
    if (st == LLAP_OK) st = task_feed_init(&s->feed, r);
    return st;
}

llap_status task_reference_summarizer(task_reference *r, task_training *t)
{
    summarizer_stage         s = { .r = r, .how = &r->recipe.summarizer };
    const task_recipe_stage *how = &s.how->stage;
    task_stage               stage = TASK_STAGE_DEFAULT;
    llap_status              st = prepare(&s);
    stage.name = "summarizer";
    stage.params = s.params;
    stage.user = &s;
    stage.n_steps = how->steps;
    stage.eval_every = how->check_every;
    stage.patience_from = how->patience_from;
    stage.patience = how->patience;
    stage.margin = s.how->margin;
    stage.step = step;
    stage.evaluate = evaluate;
    stage.fields = fields;
    stage.blame = blame;
    if (st == LLAP_OK) st = task_training_stage(t, &stage, NULL);
    if (st == LLAP_OK)
        st = llap_params_take(r->network->params, "summarizer.", s.params, "summarizer.");
    task_feed_deinit(&s.feed);
    llap_batch_deinit(&s.val);
    task_net_destroy(s.train);
    task_net_destroy(s.check);
    llap_params_destroy(s.params);
    return st;
}
