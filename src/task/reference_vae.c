/* Stage 1: the target VAE, spec protocol.md 5.1. */
#include "base/log.h"
#include "base/rng.h"
#include "task/reference.h"

#include <math.h>
#include <string.h>

typedef struct vae_stage {
    task_lesson lesson;
    double      recon, kl; /* of the last validation */
} vae_stage;

/* Normals or uniforms of the rows: an input, or made where the net is. */
static llap_tensor *noise(llap_graph *g, const task_lesson *l, const char *name, llap_shape shape,
                          uint32_t sample, bool uniform)
{
    const llap_draw_attr a = { .width = llap_shape_count(&shape) / l->rows,
                               .stream = uniform ? LLAP_STREAM_MASK : LLAP_STREAM_NOISE,
                               .sample = sample,
                               .normal = !uniform };
    return l->near == NULL ? llap_input(g, name, shape)
                           : llap_reshape(g, task_lesson_draw(g, l, &a), shape);
}

/* beta is an input because it grows. */
static llap_tensor *describe(llap_graph *g, const task_lesson *l, bool training)
{
    const task_reference *r = l->r;
    const int64_t         B = l->rows;
    const llap_vae_config cfg = llap_network_vae(&r->network->config, training);
    const llap_shape      cells = LLAP_SHAPE(B, r->h, r->N, r->C), slots = LLAP_SHAPE(B, r->N);
    llap_vae_loss_config  loss = r->recipe.vae.loss;
    llap_vae_batch        in = { .y = task_lesson_input(g, l, "y", cells, training),
                                 .obs = task_lesson_input(g, l, "obs", cells, training),
                                 .ent = task_lesson_input(g, l, "ent", slots, training),
                                 .all_obs = task_lesson_whole(g, l, "obs", cells),
                                 .all_ent = task_lesson_whole(g, l, "ent", slots) };
    const llap_shape      codes = LLAP_SHAPE(B, r->h, cfg.latent);
    if (training) {
        in.eps = noise(g, l, "eps", codes, 0, false);
        in.view[0] = (llap_vae_view){ noise(g, l, "u0", cells, 1, true),
                                      noise(g, l, "n0", cells, 1, false) };
        if (loss.consistency > 0)
            in.view[1] = (llap_vae_view){ noise(g, l, "u1", cells, 2, true),
                                          noise(g, l, "n1", cells, 2, false) };
    } else {
        in.eps = llap_input(g, "eps", codes); /* 0: the mean */
        loss.p_drop = loss.noise = loss.consistency = 0;
    }
    llap_scope_push(g, "vae");
    const llap_vae_terms t = llap_vae_loss(g, &cfg, &loss, &in);
    llap_scope_pop(g);
    llap_tensor *beta = llap_input(g, "beta", LLAP_SCALAR);
    llap_tensor *all = llap_add(g, t.recon, llap_mul(g, beta, t.kl));
    if (t.consistency != NULL)
        all = llap_add(g, all, llap_scale(g, t.consistency, loss.consistency));
    llap_output(g, "recon", t.recon);
    llap_output(g, "kl", t.kl);
    llap_output(g, "loss", all);
    return all;
}

static double beta_at(const task_recipe_vae *how, int64_t step)
{
    return llap_vae_beta(how->loss.beta, step / how->epoch + 1);
}

/* Normals or uniforms of one row, by what they are for. */
static void draw(const task_reference *r, float *x, int64_t n, const llap_batch *b, int64_t i,
                 uint32_t sample, int64_t step, bool uniform)
{
    if (x == NULL) return;
    const llap_rng g = llap_rng_make(r->seed, uniform ? LLAP_STREAM_MASK : LLAP_STREAM_NOISE,
                                     b->id[i], sample, (uint32_t)step);
    if (uniform) llap_rng_fill_uniform(&g, 0, (size_t)n, x + i * n);
    else llap_rng_fill_normal(&g, 0, (size_t)n, x + i * n);
}

static void fill(const task_reference *r, const llap_batch *b, int64_t B, task_net *net)
{
    task_reference_targets(r, b, B, task_net_real(net, "y"), task_net_real(net, "obs"),
                           task_net_real(net, "ent"));
}

static void fill_whole(const task_reference *r, const llap_batch *whole, task_net *net)
{
    task_reference_targets(r, whole, r->B, NULL, task_net_real(net, "all_obs"),
                           task_net_real(net, "all_ent"));
}

static void vary(const task_lesson *l, const llap_batch *b, int64_t number, task_net *net)
{
    const task_reference *r = l->r;
    const int64_t         cells = r->h * r->N * r->C, codes = r->h * r->network->config.vae.latent;
    int32_t              *key = task_net_int(net, "key");
    *task_net_real(net, "beta") = (float)beta_at(&r->recipe.vae, number);
    if (key != NULL) {
        key[0] = (int32_t)(uint32_t)r->seed;
        key[1] = (int32_t)(uint32_t)(r->seed >> 32);
        key[2] = (int32_t)(uint32_t)number;
    }
    for (int64_t i = 0; b != NULL && i < b->n_rows; i++) {
        draw(r, task_net_real(net, "eps"), codes, b, i, 0, number, false);
        draw(r, task_net_real(net, "u0"), cells, b, i, 1, number, true);
        draw(r, task_net_real(net, "n0"), cells, b, i, 1, number, false);
        draw(r, task_net_real(net, "u1"), cells, b, i, 2, number, true);
        draw(r, task_net_real(net, "n1"), cells, b, i, 2, number, false);
    }
}

/* Targets of entities that are there. */
static double observed(const llap_batch *b)
{
    const int64_t each = b->n_query * b->n_targets;
    double        n = 0;
    for (int64_t i = 0; i < b->n_rows * b->n_slots * each; i++)
        n += b->valid[i / each] ? b->y_obs[i] : 0;
    return n;
}

/* recon over all entries and KL over all steps that have one, without dropout, at the mean. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    static const char *const names[] = { "recon", "kl" };
    vae_stage               *v = user;
    task_lesson             *s = &v->lesson;
    const task_reference    *r = s->r;
    double                   recon = 0, kl = 0, n_cells = 0, n_steps = 0, found[2];
    llap_status              st = LLAP_OK;
    for (int64_t k = 0; k < task_reference_val_batches(r) && st == LLAP_OK; k++) {
        st = task_reference_val(r, k, &s->val);
        if (st == LLAP_OK) st = task_lesson_check(s, &s->val, names, 2, found);
        if (st != LLAP_OK) break;
        const double here = observed(&s->val);
        double       steps = 0;
        for (int64_t i = 0; i < s->val.n_rows * s->val.n_query; i++) steps += s->val.any_obs[i];
        recon += here * found[0];
        kl += steps * found[1];
        n_cells += here;
        n_steps += steps;
    }
    v->recon = recon / fmax(n_cells, 1);
    v->kl = kl / fmax(n_steps, 1);
    const double beta = beta_at(&r->recipe.vae, done - 1);
    *score = v->recon + beta * v->kl;
    if (st == LLAP_OK && beta > 0 && v->kl < 0.01)
        llap_logf(r->o->log, LLAP_LOG_WARNING,
                  "vae: the posterior has collapsed after step %lld: KL %.2g", (long long)done,
                  v->kl);
    return st;
}

static void fields(void *user, llap_json_writer *w)
{
    const vae_stage *s = user;
    llap_json_put_double(w, "recon", s->recon);
    llap_json_put_double(w, "kl", s->kl);
    llap_json_put_double(w, "lr", s->lesson.r->recipe.vae.stage.lr);
}

llap_status task_reference_vae(task_reference *r, task_training *t)
{
    const task_recipe_vae   *how = &r->recipe.vae;
    static const char *const of_batch[] = { "y", "obs", "ent", NULL };
    vae_stage                s = { .lesson = { .name = "vae",
                                               .r = r,
                                               .describe = describe,
                                               .fill = fill,
                                               .of_batch = of_batch,
                                               .fill_whole = fill_whole,
                                               .vary = vary } };
    task_stage               stage;
    llap_status              st = task_lesson_init(&s.lesson, &how->stage, NULL, &stage);
    stage.select_from = how->select_from;
    stage.relative = how->relative;
    stage.evaluate = evaluate;
    stage.fields = fields;
    if (st == LLAP_OK) st = task_lesson_run(&s.lesson, t, &stage);
    task_lesson_deinit(&s.lesson);
    return st;
}
