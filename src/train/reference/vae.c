/* Stage 1: the target VAE, docs/spec/protocol.md 5.1. */
#include "base/log.h"
#include "base/rng/rng.h"
#include "train/reference/reference.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct vae_stage {
    ll_stage_trainer stage;
    double           recon, kl; /* of the last validation */
} vae_stage;

/* Normals or uniforms of the rows: an input, or made where the net is. */
static ll_tensor *noise(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what,
                        const char *name, ll_shape shape, uint32_t sample, bool uniform)
{
    const ll_draw_attr a = { .width = ll_shape_count(&shape) / what->rows,
                             .stream = uniform ? LL_STREAM_MASK : LL_STREAM_NOISE,
                             .sample = sample,
                             .normal = !uniform };
    return what->on_device ? ll_reshape(g, ll_stage_trainer_draw(g, l, what, &a), shape)
                           : ll_input(g, name, shape);
}

/* beta is an input because it grows. */
static ll_tensor *describe(ll_graph *g, const ll_stage_trainer *l, const ll_loss_of *what)
{
    const ll_reference *r = l->r;
    const int64_t       B = what->rows;
    const bool          training = what->training;
    const ll_vae_config cfg = ll_network_vae(&r->network->config, training);
    const ll_shape      cells = LL_SHAPE(B, r->h, r->N, r->C), slots = LL_SHAPE(B, r->N);
    ll_vae_loss_config  loss = r->recipe.vae.loss;
    ll_vae_batch        in = { .y = ll_stage_trainer_input(g, l, what, "y", cells),
                               .obs = ll_stage_trainer_input(g, l, what, "obs", cells),
                               .ent = ll_stage_trainer_input(g, l, what, "ent", slots),
                               .all_obs = ll_stage_trainer_whole(g, l, what, "obs", cells),
                               .all_ent = ll_stage_trainer_whole(g, l, what, "ent", slots) };
    const ll_shape      codes = LL_SHAPE(B, r->h, cfg.latent);
    if (training) {
        in.eps = noise(g, l, what, "eps", codes, 0, false);
        in.view[0] = (ll_vae_view){ noise(g, l, what, "u0", cells, 1, true),
                                    noise(g, l, what, "n0", cells, 1, false) };
        if (loss.consistency > 0)
            in.view[1] = (ll_vae_view){ noise(g, l, what, "u1", cells, 2, true),
                                        noise(g, l, what, "n1", cells, 2, false) };
    } else {
        in.eps = ll_input(g, "eps", codes); /* 0: the mean */
        loss.p_drop = loss.noise = loss.consistency = 0;
    }
    ll_scope_push(g, "vae");
    const ll_vae_terms t = ll_vae_loss(g, &cfg, &loss, &in);
    ll_scope_pop(g);
    ll_tensor *beta = ll_input(g, "beta", LL_SCALAR);
    ll_tensor *all = ll_add(g, t.recon, ll_mul(g, beta, t.kl));
    if (t.consistency != NULL) all = ll_add(g, all, ll_scale(g, t.consistency, loss.consistency));
    ll_output(g, "recon", t.recon);
    ll_output(g, "kl", t.kl);
    ll_output(g, "loss", all);
    return all;
}

static double beta_at(const ll_recipe_vae *how, int64_t step)
{
    assert(step >= 0 && how->epoch > 0);
    return ll_vae_beta(how->loss.beta, step / how->epoch + 1);
}

/* Normals or uniforms of one row, by what they are for. */
static void draw(const ll_reference *r, float *x, int64_t n, const ll_batch *b, int64_t i,
                 uint32_t sample, int64_t step, bool uniform)
{
    if (x == NULL) return;
    const ll_rng g = ll_rng_make(r->seed, uniform ? LL_STREAM_MASK : LL_STREAM_NOISE, b->id[i],
                                 sample, (uint32_t)step);
    if (uniform) ll_rng_fill_uniform(&g, 0, (size_t)n, x + i * n);
    else ll_rng_fill_normal(&g, 0, (size_t)n, x + i * n);
}

static void fill(const ll_reference *r, const ll_batch *b, int64_t B, ll_session *net)
{
    ll_reference_targets(r, b, B, ll_session_real(net, "y"), ll_session_real(net, "obs"),
                         ll_session_real(net, "ent"));
}

static void fill_whole(const ll_reference *r, const ll_batch *whole, ll_session *net)
{
    ll_reference_targets(r, whole, r->B, NULL, ll_session_real(net, "all_obs"),
                         ll_session_real(net, "all_ent"));
}

static void vary(const ll_stage_trainer *l, const ll_batch *b, int64_t number, ll_session *net)
{
    const ll_reference *r = l->r;
    const int64_t       cells = r->h * r->N * r->C, codes = r->h * r->network->config.vae.latent;
    int32_t            *key = ll_session_int(net, "key");
    *ll_session_real(net, "beta") = (float)beta_at(&r->recipe.vae, number);
    if (key != NULL) {
        key[0] = (int32_t)(uint32_t)r->seed;
        key[1] = (int32_t)(uint32_t)(r->seed >> 32);
        key[2] = (int32_t)(uint32_t)number;
    }
    for (int64_t i = 0; b != NULL && i < b->n_examples; i++) {
        draw(r, ll_session_real(net, "eps"), codes, b, i, 0, number, false);
        draw(r, ll_session_real(net, "u0"), cells, b, i, 1, number, true);
        draw(r, ll_session_real(net, "n0"), cells, b, i, 1, number, false);
        draw(r, ll_session_real(net, "u1"), cells, b, i, 2, number, true);
        draw(r, ll_session_real(net, "n1"), cells, b, i, 2, number, false);
    }
}

/* Targets of entities that are there. */
static double observed(const ll_batch *b)
{
    const int64_t each = b->n_query * b->n_targets;
    double        n = 0;
    for (int64_t i = 0; i < b->n_examples * b->n_slots * each; i++)
        n += b->valid[i / each] ? b->y_obs[i] : 0;
    return n;
}

/* recon over all entries and KL over all steps that have one, without dropout, at the mean. */
static llap_status evaluate(void *user, int64_t done, double *score)
{
    static const char *const names[] = { "recon", "kl" };
    vae_stage               *v = user;
    ll_stage_trainer        *s = &v->stage;
    const ll_reference      *r = s->r;
    double                   recon = 0, kl = 0, n_cells = 0, n_steps = 0, found[2];
    llap_status              st = LLAP_OK;
    for (int64_t k = 0; k < ll_reference_val_batches(r) && st == LLAP_OK; k++) {
        st = ll_reference_val(r, k, &s->val);
        if (st == LLAP_OK) st = ll_stage_trainer_check(s, &s->val, names, 2, found);
        if (st != LLAP_OK) break;
        const double here = observed(&s->val);
        double       steps = 0;
        for (int64_t i = 0; i < s->val.n_examples * s->val.n_query; i++) steps += s->val.any_obs[i];
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
        ll_logf(r->o->log, LLAP_LOG_WARNING,
                "vae: the posterior has collapsed after step %lld: KL %.2g", (long long)done,
                v->kl);
    return st;
}

static void fields(void *user, ll_json_writer *w)
{
    const vae_stage *s = user;
    ll_json_put_double(w, "recon", s->recon);
    ll_json_put_double(w, "kl", s->kl);
    ll_json_put_double(w, "lr", s->stage.r->recipe.vae.stage.lr);
}

llap_status ll_reference_vae(ll_reference *r, ll_training_run *t)
{
    const ll_recipe_vae     *how = &r->recipe.vae;
    static const char *const of_batch[] = { "y", "obs", "ent", NULL };
    vae_stage                s = { .stage = { .name = "vae",
                                              .r = r,
                                              .describe = describe,
                                              .fill = fill,
                                              .of_batch = of_batch,
                                              .fill_whole = fill_whole,
                                              .vary = vary } };
    ll_stage                 stage;
    llap_status              st = ll_stage_trainer_init(&s.stage, &how->stage, &stage);
    stage.select_from = how->select_from;
    stage.relative = how->relative;
    stage.evaluate = evaluate;
    stage.fields = fields;
    if (st == LLAP_OK) st = ll_stage_trainer_run(&s.stage, t, &stage);
    ll_stage_trainer_deinit(&s.stage);
    return st;
}
