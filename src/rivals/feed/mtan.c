/* mTAN: readings of context and horizon as one list of times, those that are asked for hidden. */
#include "base/alloc.h"
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <string.h>

enum { DRAWS = 5 }; /* of the bound */

static bool on_grid(const ll_rival_task *k)
{
    (void)k;
    return false;
}

static int64_t rows_of(const ll_rival_task *k) { return k->data.context + k->data.horizon; }
static int64_t channels(const ll_rival_task *k) { return k->vars + k->calendar; }

/* Its answers are those of the task, whatever the option says; a unit of time is a step. */
static ll_mtan_config config_of(const ll_rival_task *k)
{
    ll_mtan_config c = k->config.mtan;
    c.n_out = k->targets;
    if (!(c.units > 0.0)) c.units = k->context + k->horizon;
    return c;
}

static ll_mtan_code encode(ll_graph *g, const ll_rival_task *k, const ll_mtan_config *c, int64_t B)
{
    const ll_shape cells = LL_SHAPE(B, rows_of(k), channels(k));
    return ll_mtan_encode(g, c, ll_input(g, "x", cells), ll_input(g, "m", cells),
                          ll_input(g, "t", LL_SHAPE(B, rows_of(k))));
}

static ll_mtan_answer decode(ll_graph *g, const ll_rival_task *k, const ll_mtan_config *c,
                             const ll_mtan_code *code, int64_t draws, int64_t B)
{
    ll_tensor *eps = ll_input(g, "eps", LL_SHAPE(draws, B, c->n_ref, c->latent));
    return ll_mtan_decode(g, c, ll_mtan_latent(g, code, eps),
                          ll_input(g, "query", LL_SHAPE(B, k->data.horizon)));
}

static ll_tensor *loss(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const ll_mtan_config c = config_of(k);
    const ll_shape       cells = LL_SHAPE(B, k->data.horizon, k->targets);
    const ll_mtan_code   code = encode(g, k, &c, B);
    const ll_mtan_answer a = decode(g, k, &c, &code, DRAWS, B);
    return ll_mtan_loss(g, &code, &a, ll_input(g, "y", cells), ll_input(g, "hidden", cells),
                        ll_input(g, "weight", LL_SCALAR), NULL, NULL);
}

/* Values and masks of rows, those of shown alone; their calendar always. */
static void put_rows(const ll_rival_task *k, const float *x, const float *shown, const float *row,
                     const float *calendar, int64_t n, float *to, float *m)
{
    const int64_t F = k->vars, D = channels(k);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t v = 0; v < F; v++) {
            m[j * D + v] = shown[j * F + v];
            to[j * D + v] = shown[j * F + v] * x[j * F + v];
        }
        for (int64_t i = 0; i < k->calendar; i++) {
            m[j * D + F + i] = row[j];
            to[j * D + F + i] = calendar[j * k->calendar + i];
        }
    }
}

static void put_all(const ll_rival_task *k, const ll_rival_example *e, const float *shown,
                    int64_t row, ll_session *net)
{
    const int64_t K = k->data.context, H = k->data.horizon, D = channels(k), n = (K + H) * D;
    float        *x = ll_feed_row(net, "x", row, n), *m = ll_feed_row(net, "m", row, n);
    assert(x != NULL && m != NULL);
    put_rows(k, e->x, e->m, e->row, e->calendar, K, x, m);
    put_rows(k, e->y, shown, e->asked, e->query, H, x + K * D, m + K * D);
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net)
{
    const int64_t K = k->data.context, H = k->data.horizon;
    float        *t = ll_feed_row(net, "t", row, K + H), *query = ll_feed_row(net, "query", row, H);
    assert(t != NULL && query != NULL);
    put_all(k, e, e->seen, row, net);
    for (int64_t j = 0; j < K; j++) t[j] = ll_feed_clock(k, (double)e->at[j]);
    for (int64_t r = 0; r < H; r++)
        query[r] = t[K + r] = ll_feed_clock(k, ll_feed_query_time(k, (double)e->lead[r]));
    ll_feed_columns(net, "y", row, e->y, H, k->vars, k->targets);
    return LLAP_OK;
}

static llap_status vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                        int64_t row, ll_session *net)
{
    const ll_mtan_config *c = &k->config.mtan;
    const int64_t         K = k->data.context, H = k->data.horizon, F = k->vars, C = k->targets;
    const int64_t         each = c->n_ref * c->latent;
    float *eps = ll_session_real(net, "eps"), *weight = ll_session_real(net, "weight");
    float *hidden = ll_feed_row(net, "hidden", row, H * C);
    float *shown = ll_new((size_t)((K + H) * F), sizeof *shown);
    if (shown == NULL) return LLAP_ENOMEM;
    ll_feed_hide(k, t, e, K * F, shown);
    put_all(k, e, shown + K * F, row, net);
    for (int64_t r = 0; hidden != NULL && r < H; r++)
        for (int64_t i = 0; i < C; i++)
            hidden[r * C + i] = e->seen[r * F + i] - shown[(K + r) * F + i];
    ll_free(shown);
    const int64_t B = ll_session_count(net, "eps") / (DRAWS * each);
    for (int64_t i = 0; eps != NULL && i < DRAWS; i++)
        ll_feed_normals(t, e, (uint32_t)i, each, eps + (i * B + row) * each);
    if (weight != NULL) *weight = (float)ll_mtan_weight(t->epoch);
    return LLAP_OK;
}

static void describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N)
{
    const ll_mtan_config c = config_of(k);
    const ll_mtan_code   code = encode(g, k, &c, N);
    const ll_mtan_answer a = decode(g, k, &c, &code, 1, N);
    ll_tensor           *noise = ll_input(g, "noise", LL_SHAPE(1, N, k->data.horizon, k->targets));
    (void)i;
    ll_output(g, "y", ll_mtan_draw(g, &a, noise));
}

static llap_status draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                        const ll_rival_row *row, float *out)
{
    const ll_mtan_config *c = &k->config.mtan;
    const int64_t         each = c->n_ref * c->latent, n = k->data.horizon * k->targets;
    float *eps = ll_session_real(net[0], "eps"), *noise = ll_session_real(net[0], "noise");
    assert(eps != NULL && noise != NULL);
    for (int64_t i = 0; i < N; i++) {
        ll_feed_noise(seed, &row[i], 0, each, eps + i * each);
        ll_feed_noise(seed, &row[i], 1, n, noise + i * n);
    }
    const llap_status st = ll_session_run(net[0]);
    if (st == LLAP_OK) memcpy(out, ll_session_output(net[0], "y"), (size_t)(N * n) * sizeof *out);
    return st;
}

const ll_rival_feed ll_feed_mtan = { .name = "mtan",
                                     .on_grid = on_grid,
                                     .fills = true,
                                     .loss = loss,
                                     .vary = vary,
                                     .describe = describe,
                                     .draw = draw,
                                     .fill = fill };
