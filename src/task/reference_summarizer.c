/* Stage 2: the history summarizer learns to reproduce the context, spec protocol.md 5.2. */
#include "task/reference.h"

#include <math.h>

static llap_tensor *describe(llap_graph *g, const task_lesson *l, bool training)
{
    const llap_network_config   *c = &l->r->network->config;
    const llap_summarizer_config cfg = llap_network_summarizer(c, training);
    const int64_t                N = cfg.n_entities;
    const llap_shape             cells = LLAP_SHAPE(l->rows, cfg.context, N, cfg.features);
    const llap_shape             times = LLAP_SHAPE(l->rows, cfg.context, N);
    const llap_shape             slots = LLAP_SHAPE(l->rows, N);
    const llap_history           in = { .x = task_lesson_input(g, l, "x", cells, training),
                                        .dx = task_lesson_input(g, l, "dx", cells, training),
                                        .obs = task_lesson_input(g, l, "seen", cells, training),
                                        .ent = task_lesson_input(g, l, "ent", slots, training),
                                        .dt = task_lesson_input(g, l, "dt", times, training) };
    const llap_history           whole = { .obs = task_lesson_whole(g, l, "seen", cells),
                                           .ent = task_lesson_whole(g, l, "ent", slots) };
    const llap_summary           summary = task_reference_summary_of(g, c, &in, training);
    llap_scope_push(g, "summarizer");
    const llap_summarizer_heads heads = llap_summarizer_decode(g, &cfg, summary.context);
    llap_scope_pop(g);
    llap_tensor *loss = llap_summarizer_loss(g, &l->r->recipe.summarizer.loss, &summary, &heads,
                                             whole.obs == NULL ? NULL : &whole)
                            .loss;
    llap_output(g, "loss", loss);
    return loss;
}

static void fill_whole(const task_reference *r, const llap_batch *whole, task_net *net)
{
    task_reference_seen(r, whole, r->B, task_net_real(net, "all_seen"),
                        task_net_real(net, "all_ent"));
}

/* The loss, batches weighted by their valid entities. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    static const char *const name = "loss";
    task_lesson             *s = user;
    const task_reference    *r = s->r;
    double                   sum = 0, n = 0, loss;
    llap_status              st = LLAP_OK;
    for (int64_t k = 0; k < task_reference_val_batches(r) && st == LLAP_OK; k++) {
        st = task_reference_val(r, k, &s->val);
        if (st == LLAP_OK) st = task_lesson_check(s, &s->val, &name, 1, &loss);
        if (st != LLAP_OK) break;
        double valid = 0;
        for (int64_t i = 0; i < s->val.n_rows * r->N; i++) valid += s->val.valid[i];
        sum += valid * loss;
        n += valid;
    }
    *score = sum / fmax(n, 1);
    return st;
}

static void fields(void *user, llap_json_writer *w)
{
    llap_json_put_double(w, "lr", ((const task_lesson *)user)->r->recipe.summarizer.stage.lr);
}

static void start(llap_params *p, const task_reference *r)
{
    llap_summarizer_start(p, &r->network->config.summarizer, "summarizer.");
}

llap_status task_reference_summarizer(task_reference *r, task_training *t)
{
    const task_recipe_summarizer *how = &r->recipe.summarizer;
    static const char *const      of_batch[] = { "x", "dx", "seen", "ent", "dt", NULL };
    task_lesson                   s = { .name = "summarizer",
                                        .r = r,
                                        .describe = describe,
                                        .fill = task_reference_history,
                                        .of_batch = of_batch,
                                        .fill_whole = fill_whole };
    task_stage                    stage;
    llap_status                   st = task_lesson_init(&s, &how->stage, start, &stage);
    stage.margin = how->margin;
    stage.evaluate = evaluate;
    stage.fields = fields;
    if (st == LLAP_OK) st = task_lesson_run(&s, t, &stage);
    task_lesson_deinit(&s);
    return st;
}
