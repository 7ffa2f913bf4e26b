/* Stage 2: the history summarizer learns to reproduce the context, spec protocol.md 5.2. */
#include "task/reference.h"

#include <math.h>

static llap_tensor *describe(llap_graph *g, const task_reference *r, bool training)
{
    const llap_network_config   *c = &r->network->config;
    const llap_summarizer_config cfg = llap_network_summarizer(c, training);
    const llap_summary           summary = task_reference_summary(g, c, r->B, training);
    llap_scope_push(g, "summarizer");
    const llap_summarizer_heads heads = llap_summarizer_decode(g, &cfg, summary.context);
    llap_scope_pop(g);
    llap_tensor *loss = llap_summarizer_loss(g, &r->recipe.summarizer.loss, &summary, &heads).loss;
    llap_output(g, "loss", loss);
    return loss;
}

static void fill(const task_reference *r, const llap_batch *b, int64_t number, task_net *net)
{
    (void)number;
    task_reference_history(r, b, r->B, net);
}

/* The loss, batches weighted by their valid entities. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    (void)done;
    task_lesson          *s = user;
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
    task_lesson                   s = {
                          .name = "summarizer", .r = r, .describe = describe, .fill = fill, .of_batch = of_batch
    };
    task_stage  stage;
    llap_status st = task_lesson_init(&s, &how->stage, start, &stage);
    stage.margin = how->margin;
    stage.evaluate = evaluate;
    stage.fields = fields;
    if (st == LLAP_OK) st = task_lesson_run(&s, t, &stage);
    task_lesson_deinit(&s);
    return st;
}
