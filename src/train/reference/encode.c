#include "train/reference/encode.h"

#include "backend/cpu/cpu.h"
#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "networks/latent.h"
#include "predict/reference.h"
#include "predict/reference_inputs.h"
#include "ranks/ranks.h"
#include "train/reference/reference.h"
#include "train/run/run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

size_t ll_encoded_row_bytes(const ll_encoded *e)
{
    return 16 + (size_t)(e->h * e->Z + 2 * e->h + e->S * e->H) * sizeof(float);
}

static llap_status encoded_init(ll_encoded *e, const ll_reference *r, int64_t n)
{
    const ll_network_config *c = &r->network->config;
    const int64_t            h = r->h;
    *e = (ll_encoded){ .n = n,
                       .h = h,
                       .S = c->summarizer.tokens,
                       .H = c->summarizer.width,
                       .Z = c->denoiser.data_dim };
    const llap_status st = ll_scratch_init(&e->block, (size_t)n * ll_encoded_row_bytes(e));
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
static llap_status frozen_create(const ll_reference *r, const ll_graph *g, ll_params **out)
{
    static const char *const part[] = { "vae.", "summarizer." };
    llap_status              st = ll_params_create(g, r->exact, out);
    for (int i = 0; i < 2 && st == LLAP_OK; i++)
        st = ll_params_take(*out, part[i], r->network->params, part[i]);
    return st == LLAP_OK ? ll_params_push(*out) : st;
}

/* Both networks on B rows: "mu" [B,h,Z], "E" [B,S,H]. On a GPU *frozen is their copy there, which
 * the caller owns. */
static llap_status encoder_create(const ll_reference *r, int64_t B, ll_params **frozen,
                                  ll_session **out)
{
    const ll_vae_config vae = ll_network_vae(&r->network->config, false);
    const ll_shape      cells = LL_SHAPE(B, r->h, r->N, r->C);
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *y = ll_input(g, "y", cells), *obs = ll_input(g, "obs", cells);
    ll_tensor *ent = ll_input(g, "ent", LL_SHAPE(B, r->N));
    ll_scope_push(g, "vae");
    ll_output(g, "mu", ll_vae_encode(g, &vae, ll_vae_tokens(g, y, obs), ent).mu);
    ll_scope_pop(g);
    ll_output(g, "E", ll_reference_summary(g, &r->network->config, B, false).context);
    if (r->exact->memory != NULL) st = frozen_create(r, g, frozen);
    if (st == LLAP_OK)
        st = *frozen != NULL
                 ? ll_session_create(g, *frozen, r->exact, r->n_threads, out)
                 : ll_session_create(g, r->network->params, &ll_backend_cpu, r->n_threads, out);
    ll_graph_destroy(g);
    return st;
}

/* Of r->B rows, or where there is no room of as many as there is room for. */
static llap_status encoder_fitting(const ll_reference *r, const char *what, int64_t *B,
                                   ll_params **frozen, ll_session **out)
{
    llap_status st = encoder_create(r, *B, frozen, out);
    while (st == LLAP_ENOMEM && r->exact->memory != NULL && *B > 1) {
        ll_params_destroy(*frozen);
        *frozen = NULL;
        *B = (*B + 1) / 2;
        st = encoder_create(r, *B, frozen, out);
    }
    if (st == LLAP_OK && *B < r->B) ll_stage_in_micro_batches(r->o->log, what, r->exact, r->B, *B);
    return st;
}

/* Rows `at` and on are those of the batch. */
static void keep(const ll_reference *r, ll_encoded *e, int64_t at, const ll_batch *b,
                 const ll_session *net)
{
    const int64_t h = e->h, hb = b->n_query, codes = h * e->Z, tokens = e->S * e->H;
    const float  *mu = ll_session_output(net, "mu"), *E = ll_session_output(net, "E");
    assert(at + b->n_examples <= e->n && hb > 0 && hb <= h);
    memcpy(e->z0 + at * codes, mu, (size_t)(b->n_examples * codes) * sizeof *mu);
    memcpy(e->E_raw + at * tokens, E, (size_t)(b->n_examples * tokens) * sizeof *E);
    for (int64_t i = 0; i < b->n_examples; i++) {
        e->id[at + i] = b->id[i];
        e->end[at + i] = b->end[i];
        for (int64_t k = 0; k < h; k++) { /* beyond its queries a row repeats the last time */
            const int64_t from = i * hb + (k < hb ? k : hb - 1), to = (at + i) * h + k;
            e->tq[to] = b->tau[from];
            e->any[to] = k < hb && b->any_obs[from] ? 1 : 0;
        }
    }
    ll_network_origin(&r->network->config, e->tq + at * h, b->n_examples, h);
    ll_scratch_used(&e->block, (size_t)b->n_examples * ll_encoded_row_bytes(e));
}

/* Rows of e that ranks have encoded, `at_once` together: all have all. */
static llap_status spread(const ll_ranks *ranks, ll_encoded *e, int64_t at_once)
{
    const size_t real = sizeof(float), codes = (size_t)(e->h * e->Z) * real,
                 query = (size_t)e->h * real, tokens = (size_t)(e->S * e->H) * real;
    const struct {
        void  *x;
        size_t each;
    } all[] = { { e->id, sizeof *e->id }, { e->end, sizeof *e->end }, { e->z0, codes },
                { e->any, query },        { e->tq, query },           { e->E_raw, tokens } };
    llap_status st = LLAP_OK;
    for (int i = 0; ranks != NULL && i < ranks->size; i++) {
        const ll_ranks that = { .rank = i, .size = ranks->size };
        int64_t        first, end;
        ll_ranks_part(&that, (e->n + at_once - 1) / at_once, &first, &end);
        first *= at_once;
        end = end * at_once < e->n ? end * at_once : e->n;
        for (size_t k = 0; k < sizeof all / sizeof *all && st == LLAP_OK && end > first; k++)
            st = ll_ranks_share(ranks, (char *)all[k].x + (size_t)first * all[k].each,
                                (size_t)(end - first) * all[k].each, i);
    }
    return st;
}

llap_status ll_encode(const ll_reference *r, const ll_example_list *rows, int64_t most,
                      const char *what, ll_encoded *e)
{
    const int64_t   n = most > 0 && most < rows->n_examples ? most : rows->n_examples;
    int64_t         B = r->B;
    ll_params      *frozen = NULL;
    ll_session     *net = NULL;
    ll_batch        b = { 0 };
    int64_t         first, last;
    const ll_ranks *ranks = r->exact->memory == NULL ? ll_ranks_joined() : NULL;
    int64_t        *list = ll_new((size_t)B, sizeof *list);
    llap_status     st = list == NULL ? LLAP_ENOMEM : encoded_init(e, r, n);
    if (st == LLAP_OK) st = encoder_fitting(r, what, &B, &frozen, &net);
    ll_ranks_part(ranks, (n + B - 1) / B, &first, &last); /* B is the same: here there is room */
    for (int64_t at = first * B; at < n && at < last * B && st == LLAP_OK; at += B) {
        const int64_t count = n - at < B ? n - at : B;
        for (int64_t i = 0; i < count; i++)
            list[i] = (int64_t)((double)(at + i) * (double)rows->n_examples / (double)n);
        st = ll_batch_fill(&b, rows, r->scaled, &r->batch, list, count);
        if (st != LLAP_OK) break;
        ll_reference_targets(r, &b, B, ll_session_real(net, "y"), ll_session_real(net, "obs"),
                             ll_session_real(net, "ent"));
        ll_reference_history(r, &b, B, net);
        st = ll_session_run(net);
        if (st == LLAP_OK) keep(r, e, at, &b, net);
        if (st == LLAP_OK)
            st = ll_report(r->o->progress,
                           &(llap_progress_event){ what, at + count, n, "rows", NULL });
    }
    if (st == LLAP_OK) st = spread(ranks, e, B);
    ll_session_destroy(net);
    ll_params_destroy(frozen);
    ll_batch_deinit(&b);
    ll_free(list);
    return st;
}

/* -------- statistics -------- */

static float *tensor(const ll_reference *r, const char *name)
{
    const ll_param_info *i = ll_params_find(r->network->params, name);
    return i == NULL ? NULL : i->data;
}

llap_status ll_encoded_normalise(const ll_reference *r, ll_encoded *train, ll_encoded *val)
{
    const int64_t    h = r->h, Z = train->Z, rows = r->network->config.options.latent_rows;
    float           *mean = tensor(r, "latent.mean"), *std = tensor(r, "latent.std");
    ll_latent_stats *stats = NULL;
    llap_status      st = ll_latent_stats_create(rows, Z, &stats);
    if (st != LLAP_OK) return st;
    assert(mean != NULL && std != NULL && (rows == 1 || rows == h));
    assert(val->Z == Z && val->h == h && train->h == h);
    ll_latent_stats_add(stats, train->z0, train->any, train->n, h);
    ll_latent_stats_finish(stats, mean, std);
    ll_latent_stats_destroy(stats);
    for (int part = 0; part < 2; part++) {
        ll_encoded *e = part == 0 ? train : val;
        for (int64_t i = 0; i < e->n * h * Z; i++) {
            const int64_t k = i / Z, at = (rows > 1 ? k % h * Z : 0) + i % Z;
            e->z0[i] = e->any[k] > 0 ? (e->z0[i] - mean[at]) / fmaxf(std[at], 1e-6f) : 0;
        }
        ll_scratch_used(&e->block, (size_t)(e->n * h * (Z + 1)) * sizeof *e->z0);
    }
    return LLAP_OK;
}

llap_status ll_encoded_statistics(const ll_reference *r, ll_encoded *e, const float **of_mean,
                                  const float **of_std)
{
    float        *mean = tensor(r, "cond.mean"), *std = tensor(r, "cond.std");
    const int64_t H = e->H, n = e->n * e->S;
    *of_mean = *of_std = NULL;
    if (mean == NULL) return LLAP_OK;
    assert(std != NULL && n > 0);
    double *sum = ll_new(2 * (size_t)H, sizeof *sum), *square = sum + H;
    if (sum == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < H; k++) sum[k] += (double)e->E_raw[i * H + k];
        ll_scratch_used(&e->block, (size_t)H * sizeof *mean);
    }
    for (int64_t k = 0; k < H; k++) mean[k] = (float)(sum[k] / (double)n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < H; k++) {
            const double d = (double)e->E_raw[i * H + k] - (double)mean[k];
            square[k] += d * d;
        }
        ll_scratch_used(&e->block, (size_t)H * sizeof *mean);
    }
    for (int64_t k = 0; k < H; k++) std[k] = (float)sqrt(square[k] / (double)n);
    ll_free(sum);
    *of_mean = mean;
    *of_std = std;
    return LLAP_OK;
}

/* -------- in the backend's memory -------- */

const char *const ll_device_table_names[LL_DEVICE_TABLE_TABLES] = {
    LL_SESSION_ROWS "z0", LL_SESSION_ROWS "mask", LL_SESSION_ROWS "tq", LL_SESSION_ROWS "E_raw",
    LL_SESSION_ROWS "ids"
};

int64_t ll_encoded_width(const ll_encoded *e, int table)
{
    const int64_t all[LL_DEVICE_TABLE_TABLES] = { e->h * e->Z, e->h, e->h, e->S * e->H, 2 };
    assert(table >= 0 && table < LL_DEVICE_TABLE_TABLES);
    return all[table];
}

llap_status ll_encoded_move(ll_encoded *e, const ll_backend *b)
{
    const void *const from[LL_DEVICE_TABLE_TABLES] = { e->z0, e->any, e->tq, e->E_raw, e->id };
    llap_status       st = LLAP_OK;
    for (int i = 0; i < LL_DEVICE_TABLE_TABLES && st == LLAP_OK; i++) {
        const size_t each = (size_t)ll_encoded_width(e, i) * 4;
        assert(e->device_data[i] == NULL);
        st = ll_device_alloc(b, (size_t)e->n * each, &e->device_data[i]);
        for (int64_t k = 0; k < e->n && st == LLAP_OK; k++) { /* the block may be a file */
            const size_t at = (size_t)k * each;
            st = ll_device_put(b, (char *)e->device_data[i] + at, (const char *)from[i] + at, each);
            ll_scratch_used(&e->block, each);
        }
    }
    return st == LLAP_OK ? ll_device_finish(b) : st;
}

void ll_encoded_leave(ll_encoded *e, const ll_backend *b)
{
    for (int i = 0; i < LL_DEVICE_TABLE_TABLES; i++) {
        ll_device_release(b, e->device_data[i]);
        e->device_data[i] = NULL;
    }
}

llap_status ll_encoded_to_device(const ll_encoded *e, ll_session *net)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < LL_DEVICE_TABLE_TABLES && st == LLAP_OK; i++)
        st = ll_session_place(net, ll_device_table_names[i], e->device_data[i]);
    return st;
}
