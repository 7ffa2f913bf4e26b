#include "train/reference/diffusion.h"
#include "train/run/run.h"

#include <stdio.h>
#include <string.h>

static llap_status make_part(diffusion_stage *s)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK)
        st = ll_session_create_micro_batch(g, diffusion_describe(g, s, s->P, true),
                                           &s->r->recipe.denoiser.stage.optim, s->params,
                                           s->r->n_threads, &s->part);
    ll_graph_destroy(g);
    return st;
}

/* Those of validation beside it, which need their room too. */
static llap_status make_checks(diffusion_stage *s)
{
    const int64_t rest = s->val.n % s->P;
    ll_session   *net = NULL;
    llap_status st = s->val.n < s->P ? LLAP_OK : diffusion_net_for(s, s->check, s->P, false, &net);
    return st == LLAP_OK && rest > 0 ? diffusion_net_for(s, s->check, rest, false, &net) : st;
}

llap_status diffusion_split(diffusion_stage *s)
{
    llap_status st = LLAP_ENOMEM;
    diffusion_destroy_nets(s);
    diffusion_release_device(s);
    for (int64_t n = 2; st == LLAP_ENOMEM && s->params != NULL && s->P != 1; n *= 2) {
        diffusion_destroy_nets(s);
        s->P = n < s->B ? (s->B + n - 1) / n : 1;
        st = make_part(s);
        if (st == LLAP_OK) st = make_checks(s);
    }
    if (st != LLAP_OK) diffusion_destroy_nets(s);
    if (st != LLAP_OK) s->P = 0; /* a batch is one again, if there will be room */
    if (st == LLAP_OK)
        ll_stage_in_micro_batches(s->r->o->log, "denoiser", s->r->backend, s->B, s->P);
    return st;
}

/* Piece i of the last step's batch; what lies behind its rows counts for nothing. */
static void fill_micro_batch(const diffusion_stage *s, ll_encoded *e, int64_t number, int64_t i)
{
    const int64_t at = i * s->P, n = s->count - at < s->P ? s->count - at : s->P, h = s->r->h;
    float *mask = ll_session_real(s->part, "mask"), *weight = ll_session_real(s->part, "weight");
    float *kinds = ll_session_real(s->part, "kinds");
    diffusion_fill(s, e, s->first + at, n, (uint32_t)number, true, s->part);
    for (int64_t k = 0; k < s->P; k++) weight[k] = k < n ? s->weight[at + k] : 0.0f;
    if (kinds != NULL) memcpy(kinds, s->kinds, sizeof s->kinds);
    memset(mask + n * h, 0, (size_t)((s->P - n) * h) * sizeof *mask);
}

/* What is of the whole batch: weights, so that its micro-batches add up to its loss, and which
 * kinds of rows it has, because spectral norms iterate for each. */
static void draw_whole(diffusion_stage *s, int64_t number)
{
    const ll_loss_opts loss_o = diffusion_loss_opts(s, true);
    const ll_draw_opts o = { .seed = s->r->seed,
                             .drop = s->r->network->config.noise.unconditional };
    const ll_schedule *schedule = s->r->network->schedule;
    s->kinds[0] = s->kinds[1] = 0.0f;
    for (int64_t i = 0; i < s->count; i++) {
        ll_diffusion_draw(schedule, &o, s->rows.id[s->first + i], (uint32_t)number, s->t + i,
                          s->flag + i, NULL, 0);
        s->kinds[s->flag[i] > 0 ? 0 : 1] = 1.0f;
    }
    ll_diffusion_weights(schedule, &loss_o, s->t, s->flag, s->count, s->weight);
}

llap_status diffusion_step_in_micro_batches(diffusion_stage *s, int64_t number, double *loss,
                                            double *norm)
{
    llap_status st = LLAP_OK;
    draw_whole(s, number);
    for (int64_t i = 0; i * s->P < s->count && st == LLAP_OK; i++) {
        fill_micro_batch(s, &s->rows, number, i);
        st = ll_session_add_micro_batch(s->part, s->params, number, i,
                                        (double)s->P / (double)s->count);
    }
    if (st == LLAP_OK) st = ll_session_finish_step(s->part, number, s->lr_now, loss, norm);
    return st == LLAP_OK && loss == NULL ? ll_session_later(s->part, &s->results, number) : st;
}

llap_status diffusion_find_non_finite(diffusion_stage *s, int64_t number, char *text, size_t size)
{
    char        known[512];
    llap_status st = LLAP_OK;
    snprintf(known, sizeof known, "%s", text);
    for (int64_t i = 0; i * s->P < s->count && st == LLAP_OK && strcmp(known, text) == 0; i++) {
        ll_graph *g = NULL;
        st = ll_graph_create(&g);
        fill_micro_batch(s, &s->rows, number, i);
        if (st == LLAP_OK)
            st = ll_session_find_non_finite(s->part, g, diffusion_describe(g, s, s->P, true),
                                            s->params, text, size);
        ll_graph_destroy(g);
    }
    return st;
}
