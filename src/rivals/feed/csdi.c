/* CSDI: variables times rows of context and horizon as one grid. */
#include "base/alloc.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool on_grid(const ll_rival_task *k)
{
    (void)k;
    return false;
}

static int64_t columns(const ll_rival_task *k) { return k->data.context + k->data.horizon; }

static ll_csdi_in inputs(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const ll_shape cells = LL_SHAPE(B, k->vars, columns(k));
    return (ll_csdi_in){ .x = ll_input(g, "x", cells),
                         .visible = ll_input(g, "visible", cells),
                         .times = ll_input(g, "times", LL_SHAPE(B, columns(k))) };
}

static ll_tensor *loss(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const ll_shape   cells = LL_SHAPE(B, k->vars, columns(k));
    const ll_csdi_in in = inputs(g, k, B);
    return ll_csdi_loss(g, &k->config.csdi, &in, ll_input(g, "observed", cells),
                        ll_input_int(g, "t", LL_SHAPE(B)), ll_input(g, "eps", cells), NULL);
}

/* from [rows,F] to columns first .. of [F,L] */
static void turn(const ll_rival_task *k, const float *from, int64_t first, int64_t rows, float *to)
{
    const int64_t F = k->vars, L = columns(k);
    for (int64_t j = 0; to != NULL && j < rows; j++)
        for (int64_t v = 0; v < F; v++) to[v * L + first + j] = from[j * F + v];
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net)
{
    static const char *const masks[] = { "visible", "observed" };
    const int64_t            K = k->data.context, H = k->data.horizon, L = K + H, n = k->vars * L;
    float                   *x = ll_feed_row(net, "x", row, n);
    float                   *times = ll_feed_row(net, "times", row, L);
    turn(k, e->x, 0, K, x);
    turn(k, e->y, K, H, x);
    for (int i = 0; i < 2; i++) {
        float *m = ll_feed_row(net, masks[i], row, n);
        turn(k, e->m, 0, K, m);
        turn(k, e->seen, K, H, m);
    }
    for (int64_t j = 0; times != NULL && j < L; j++)
        times[j] = j < K ? e->at[j] : (float)ll_feed_query_time(k, (double)e->lead[j - K]);
    return LLAP_OK;
}

static llap_status vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                        int64_t row, ll_session *net)
{
    const int64_t n = k->vars * columns(k);
    int32_t      *step = ll_session_int(net, "t");
    float        *shown = ll_new((size_t)n, sizeof *shown);
    if (shown == NULL) return LLAP_ENOMEM;
    ll_feed_hide(k, t, e, 0, shown);
    turn(k, shown, 0, columns(k), ll_feed_row(net, "visible", row, n));
    ll_free(shown);
    if (step != NULL) step[row] = ll_feed_step(t, e, 0, k->config.csdi.steps.n);
    ll_feed_normals(t, e, 1, n, ll_feed_row(net, "eps", row, n));
    return LLAP_OK;
}

static void describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N)
{
    ll_csdi_config   c = k->config.csdi;
    const int64_t    half = c.step_width / 2;
    const ll_csdi_in in = inputs(g, k, N);
    (void)i;
    c.dropout = 0.0;
    ll_tensor *waves =
        ll_step_waves(g, ll_input_int(g, "t", LL_SHAPE(1)), c.steps.n, half, half - 1);
    ll_tensor *x_t = ll_input(g, "x_t", LL_SHAPE(N, k->vars, columns(k)));
    ll_output(g, "eps", ll_csdi_noise(g, &c, &in, x_t, waves));
}

/* The published step from t to t - 1; noise is not looked at for t = 0. */
static void step_back(const ll_noise_steps *s, int64_t t, int64_t n, const float *eps,
                      const float *noise, float *x)
{
    const double beta = ll_beta(s, t), ab = ll_alpha_bar(s, t), before = ll_alpha_bar(s, t - 1);
    const double of_eps = beta / sqrt(1.0 - ab), scale = 1.0 / sqrt(1.0 - beta);
    const double sd = t > 0 ? sqrt((1.0 - before) / (1.0 - ab) * beta) : 0.0;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(((double)x[i] - of_eps * (double)eps[i]) * scale +
                       (t > 0 ? sd * (double)noise[i] : 0.0));
}

static llap_status draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                        const ll_rival_row *row, float *out)
{
    const ll_noise_steps *s = &k->config.csdi.steps;
    const int64_t         L = columns(k), n = k->vars * L, T = s->n, H = k->data.horizon;
    const int64_t         C = k->targets, K = k->data.context;
    float                *x = ll_new((size_t)(2 * N * n), sizeof *x), *noise = x + N * n;
    float                *x_t = ll_session_real(net[0], "x_t");
    int32_t              *t = ll_session_int(net[0], "t");
    llap_status           st = x == NULL ? LLAP_ENOMEM : LLAP_OK;
    assert(x_t != NULL && t != NULL);
    for (int64_t i = 0; i < N && st == LLAP_OK; i++) ll_feed_noise(seed, &row[i], 0, n, x + i * n);
    for (*t = (int32_t)T - 1; *t >= 0 && st == LLAP_OK; --*t) {
        memcpy(x_t, x, (size_t)(N * n) * sizeof *x);
        st = ll_session_run(net[0]);
        for (int64_t i = 0; i<N && * t> 0 && st == LLAP_OK; i++)
            ll_feed_noise(seed, &row[i], T - *t, n, noise + i * n);
        if (st == LLAP_OK) step_back(s, *t, N * n, ll_session_output(net[0], "eps"), noise, x);
    }
    for (int64_t i = 0; i < N && st == LLAP_OK; i++)
        for (int64_t r = 0; r < H; r++)
            for (int64_t c = 0; c < C; c++) out[(i * H + r) * C + c] = x[i * n + c * L + K + r];
    ll_free(x);
    return st;
}

const ll_rival_feed ll_feed_csdi = { .name = "csdi",
                                     .on_grid = on_grid,
                                     .fills = true,
                                     .loss = loss,
                                     .vary = vary,
                                     .describe = describe,
                                     .draw = draw,
                                     .fill = fill };
