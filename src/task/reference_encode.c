#include "task/reference_encode.h"

#include "backend/near.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "model/latent.h"

#include <math.h>
#include <string.h>

size_t task_encoded_row_bytes(const task_encoded *e)
{
    return 16 + (size_t)(e->h * e->Z + 2 * e->h + e->S * e->H) * sizeof(float);
}

static llap_status encoded_init(task_encoded *e, const task_reference *r, int64_t n)
{
    const llap_network_config *c = &r->network->config;
    const int64_t              h = r->h;
    *e = (task_encoded){ .n = n,
                         .h = h,
                         .S = c->summarizer.tokens,
                         .H = c->summarizer.width,
                         .Z = c->denoiser.data_dim };
    const llap_status st = llap_scratch_init(&e->block, (size_t)n * task_encoded_row_bytes(e));
    if (st != LLAP_OK) return st;
    e->id = e->block.data;
    e->end = (int64_t *)(e->id + n);
    e->z0 = (float *)(e->end + n);
    e->any = e->z0 + n * h * e->Z;
    e->tq = e->any + n * h;
    e->E_raw = e->tq + n * h;
    return LLAP_OK;
}

/* The frozen networks, where they encode; caller owns *out. */
static llap_status frozen_create(const task_reference *r, const llap_graph *g, llap_params **out)
{
    static const char *const part[] = { "vae.", "summarizer." };
    llap_status              st = llap_params_create(g, r->exact, out);
    for (int i = 0; i < 2 && st == LLAP_OK; i++)
        st = llap_params_take(*out, part[i], r->network->params, part[i]);
    return st == LLAP_OK ? llap_params_push(*out) : st;
}

/* Both networks on B rows: "mu" [B,h,Z], "E" [B,S,H]. On a GPU *frozen is their copy there, which
 * the caller owns. */
static llap_status encoder_create(const task_reference *r, int64_t B, llap_params **frozen,
                                  task_net **out)
{
    const llap_vae_config vae = llap_network_vae(&r->network->config, false);
    const llap_shape      cells = LLAP_SHAPE(B, r->h, r->N, r->C);
    llap_graph           *g = NULL;
    llap_status           st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *y = llap_input(g, "y", cells), *obs = llap_input(g, "obs", cells);
    llap_tensor *ent = llap_input(g, "ent", LLAP_SHAPE(B, r->N));
    llap_scope_push(g, "vae");
    llap_output(g, "mu", llap_vae_encode(g, &vae, llap_vae_tokens(g, y, obs), ent).mu);
    llap_scope_pop(g);
    llap_output(g, "E", task_reference_summary(g, &r->network->config, B, false).context);
    if (r->exact->memory != NULL) st = frozen_create(r, g, frozen);
    if (st == LLAP_OK)
        st = task_net_create(g, *frozen != NULL ? *frozen : r->network->params, r->n_threads, out);
    llap_graph_destroy(g);
    return st;
}

/* Of r->B rows, or where there is no room of as many as there is room for. */
static llap_status encoder_fitting(const task_reference *r, const char *what, int64_t *B,
                                   llap_params **frozen, task_net **out)
{
    llap_status st = encoder_create(r, *B, frozen, out);
    while (st == LLAP_ENOMEM && r->exact->memory != NULL && *B > 1) {
        llap_params_destroy(*frozen);
        *frozen = NULL;
        *B = (*B + 1) / 2;
        st = encoder_create(r, *B, frozen, out);
    }
    if (st == LLAP_OK && *B < r->B) task_stage_in_pieces(r->o->log, what, r->exact, r->B, *B);
    return st;
}

/* Rows `at` and on are those of the batch. */
static void keep(const task_reference *r, task_encoded *e, int64_t at, const llap_batch *b,
                 const task_net *net)
{
    const int64_t h = e->h, hb = b->n_query, codes = h * e->Z, tokens = e->S * e->H;
    const float  *mu = task_net_output(net, "mu"), *E = task_net_output(net, "E");
    memcpy(e->z0 + at * codes, mu, (size_t)(b->n_rows * codes) * sizeof *mu);
    memcpy(e->E_raw + at * tokens, E, (size_t)(b->n_rows * tokens) * sizeof *E);
    for (int64_t i = 0; i < b->n_rows; i++) {
        e->id[at + i] = b->id[i];
        e->end[at + i] = b->end[i];
        for (int64_t k = 0; k < h; k++) { /* beyond its queries a row repeats the last time */
            const int64_t from = i * hb + (k < hb ? k : hb - 1), to = (at + i) * h + k;
            e->tq[to] = b->tau[from];
            e->any[to] = k < hb && b->any_obs[from] ? 1 : 0;
        }
    }
    llap_network_origin(&r->network->config, e->tq + at * h, b->n_rows, h);
    llap_scratch_used(&e->block, (size_t)b->n_rows * task_encoded_row_bytes(e));
}

llap_status task_encode(const task_reference *r, const llap_rows *rows, int64_t most,
                        const char *what, task_encoded *e)
{
    const int64_t n = most > 0 && most < rows->n_rows ? most : rows->n_rows;
    int64_t       B = r->B;
    llap_params  *frozen = NULL;
    task_net     *net = NULL;
    llap_batch    b = { 0 };
    int64_t      *list = llap_new((size_t)B, sizeof *list);
    llap_status   st = list == NULL ? LLAP_ENOMEM : encoded_init(e, r, n);
    if (st == LLAP_OK) st = encoder_fitting(r, what, &B, &frozen, &net);
    for (int64_t at = 0; at < n && st == LLAP_OK; at += B) {
        const int64_t count = n - at < B ? n - at : B;
        for (int64_t i = 0; i < count; i++)
            list[i] = (int64_t)((double)(at + i) * (double)rows->n_rows / (double)n);
        st = llap_batch_fill(&b, rows, r->scaled, &r->batch, list, count);
        if (st != LLAP_OK) break;
        task_reference_targets(r, &b, B, task_net_real(net, "y"), task_net_real(net, "obs"),
                               task_net_real(net, "ent"));
        task_reference_history(r, &b, B, net);
        st = task_net_run(net);
        if (st == LLAP_OK) keep(r, e, at, &b, net);
        if (st == LLAP_OK)
            st = llap_report(r->o->progress,
                             &(llap_progress_event){ what, at + count, n, "rows", NULL });
    }
    task_net_destroy(net);
    llap_params_destroy(frozen);
    llap_batch_deinit(&b);
    llap_free(list);
    return st;
}

/* -------- statistics -------- */

static float *tensor(const task_reference *r, const char *name)
{
    const llap_param_info *i = llap_params_find(r->network->params, name);
    return i == NULL ? NULL : i->data;
}

llap_status task_encoded_normalise(const task_reference *r, task_encoded *train, task_encoded *val)
{
    const int64_t      h = r->h, Z = train->Z, rows = r->network->config.options.latent_rows;
    float             *mean = tensor(r, "latent.mean"), *std = tensor(r, "latent.std");
    llap_latent_stats *stats = NULL;
    llap_status        st = llap_latent_stats_create(rows, Z, &stats);
    if (st != LLAP_OK) return st;
    llap_latent_stats_add(stats, train->z0, train->any, train->n, h);
    llap_latent_stats_finish(stats, mean, std);
    llap_latent_stats_destroy(stats);
    for (int part = 0; part < 2; part++) {
        task_encoded *e = part == 0 ? train : val;
        for (int64_t i = 0; i < e->n * h * Z; i++) {
            const int64_t k = i / Z, at = (rows > 1 ? k % h * Z : 0) + i % Z;
            e->z0[i] = e->any[k] > 0 ? (e->z0[i] - mean[at]) / fmaxf(std[at], 1e-6f) : 0;
        }
        llap_scratch_used(&e->block, (size_t)(e->n * h * (Z + 1)) * sizeof *e->z0);
    }
    return LLAP_OK;
}

llap_status task_encoded_statistics(const task_reference *r, task_encoded *e, const float **of_mean,
                                    const float **of_std)
{
    float        *mean = tensor(r, "cond.mean"), *std = tensor(r, "cond.std");
    const int64_t H = e->H, n = e->n * e->S;
    *of_mean = *of_std = NULL;
    if (mean == NULL) return LLAP_OK;
    double *sum = llap_new(2 * (size_t)H, sizeof *sum), *square = sum + H;
    if (sum == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < H; k++) sum[k] += (double)e->E_raw[i * H + k];
        llap_scratch_used(&e->block, (size_t)H * sizeof *mean);
    }
    for (int64_t k = 0; k < H; k++) mean[k] = (float)(sum[k] / (double)n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < H; k++) {
            const double d = (double)e->E_raw[i * H + k] - (double)mean[k];
            square[k] += d * d;
        }
        llap_scratch_used(&e->block, (size_t)H * sizeof *mean);
    }
    for (int64_t k = 0; k < H; k++) std[k] = (float)sqrt(square[k] / (double)n);
    llap_free(sum);
    *of_mean = mean;
    *of_std = std;
    return LLAP_OK;
}

/* -------- in the backend's memory -------- */

const char *const task_near_names[TASK_NEAR_TABLES] = { TASK_NET_ROWS "z0", TASK_NET_ROWS "mask",
                                                        TASK_NET_ROWS "tq", TASK_NET_ROWS "E_raw",
                                                        TASK_NET_ROWS "ids" };

int64_t task_encoded_width(const task_encoded *e, int table)
{
    const int64_t all[TASK_NEAR_TABLES] = { e->h * e->Z, e->h, e->h, e->S * e->H, 2 };
    return all[table];
}

llap_status task_encoded_move(task_encoded *e, const llap_backend *b)
{
    const void *const from[TASK_NEAR_TABLES] = { e->z0, e->any, e->tq, e->E_raw, e->id };
    llap_status       st = LLAP_OK;
    for (int i = 0; i < TASK_NEAR_TABLES && st == LLAP_OK; i++) {
        const size_t each = (size_t)task_encoded_width(e, i) * 4;
        st = llap_near_alloc(b, (size_t)e->n * each, &e->near[i]);
        for (int64_t k = 0; k < e->n && st == LLAP_OK; k++) { /* the block may be a file */
            const size_t at = (size_t)k * each;
            st = llap_near_put(b, (char *)e->near[i] + at, (const char *)from[i] + at, each);
            llap_scratch_used(&e->block, each);
        }
    }
    return st == LLAP_OK ? llap_near_finish(b) : st;
}

void task_encoded_leave(task_encoded *e, const llap_backend *b)
{
    for (int i = 0; i < TASK_NEAR_TABLES; i++) {
        llap_near_release(b, e->near[i]);
        e->near[i] = NULL;
    }
}

llap_status task_encoded_place(const task_encoded *e, task_net *net)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < TASK_NEAR_TABLES && st == LLAP_OK; i++)
        st = task_net_place(net, task_near_names[i], e->near[i]);
    return st;
}
