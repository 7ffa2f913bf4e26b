/* TimeGrad: the variables of an entity as one vector, drawn row by row. */
#include "base/alloc.h"
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { READ, ROW, NOISE, NETS }; /* the sessions of its answers */

static bool on_grid(const ll_rival_task *k)
{
    (void)k;
    return true;
}

/* A ring has at least two places: one variable goes twice. */
static int64_t places(const ll_rival_task *k) { return k->vars > 1 ? k->vars : 2; }

static int64_t rows_read(const ll_rival_task *k)
{
    return k->data.context - ll_timegrad_longest(&k->config.timegrad) + k->data.horizon;
}

static ll_timegrad_in inputs(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    const int64_t  K = k->data.context, rows = training ? K + k->data.horizon : K;
    const ll_shape s = LL_SHAPE(B, rows, places(k)),
                   time = LL_SHAPE(B, rows_read(k), ll_feed_features(k));
    return (ll_timegrad_in){ .series = ll_input(g, training ? "series" : "past", s),
                             .observed = ll_input(g, training ? "observed" : "past_seen", s),
                             .time = ll_input(g, "time", time),
                             .context = K };
}

static ll_tensor *scale_of(ll_graph *g, const ll_rival_task *k, const ll_timegrad_in *in)
{
    const int64_t K = k->data.context;
    return ll_timegrad_scale(g, &k->config.timegrad, ll_slice(g, in->series, 1, 0, K),
                             ll_slice(g, in->observed, 1, 0, K));
}

static ll_tensor *loss(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const int64_t        n = B * rows_read(k);
    const ll_timegrad_in in = inputs(g, k, B, true);
    return ll_timegrad_loss(g, &k->config.timegrad, &in, scale_of(g, k, &in),
                            ll_input_int(g, "t", LL_SHAPE(n)),
                            ll_input(g, "eps", LL_SHAPE(n, 1, places(k))), NULL);
}

/* Rows of values and masks, one variable twice. */
static void put_rows(const ll_rival_task *k, const float *x, const float *m, int64_t n, float *to,
                     float *seen)
{
    const int64_t F = k->vars, D = places(k);
    for (int64_t j = 0; j < n; j++)
        for (int64_t d = 0; d < D; d++) {
            seen[j * D + d] = m[j * F + d % F];
            to[j * D + d] = seen[j * D + d] * x[j * F + d % F];
        }
}

/* The gap before a row and its calendar: of the rows that are read, and of the queries. */
static void put_times(const ll_rival_task *k, const ll_rival_example *e, float *to)
{
    const int64_t K = k->data.context, H = k->data.horizon, w = ll_feed_features(k);
    const int64_t first = ll_timegrad_longest(&k->config.timegrad);
    double        before = (double)e->at[first - 1];
    for (int64_t j = first; j < K + H; j++, to += w) {
        const bool   past = j < K;
        const double at = past ? (double)e->at[j] : ll_feed_query_time(k, (double)e->lead[j - K]);
        const float *calendar =
            past ? e->calendar + j * k->calendar : e->query + (j - K) * k->calendar;
        to[0] = (float)log1p(fmax(at - before, 0.0));
        memcpy(to + 1, calendar, (size_t)k->calendar * sizeof *to);
        if (!past || e->row[j] != 0.0f) before = at;
    }
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net)
{
    const int64_t K = k->data.context, H = k->data.horizon, D = places(k);
    float        *series = ll_feed_row(net, "series", row, (K + H) * D);
    float        *seen = ll_feed_row(net, "observed", row, (K + H) * D);
    float        *past = ll_feed_row(net, "past", row, K * D);
    float        *past_seen = ll_feed_row(net, "past_seen", row, K * D);
    float        *time = ll_feed_row(net, "time", row, rows_read(k) * ll_feed_features(k));
    if (series != NULL && seen != NULL) {
        put_rows(k, e->x, e->m, K, series, seen);
        put_rows(k, e->y, e->seen, H, series + K * D, seen + K * D);
        ll_fill_forward(series, seen, K + H, D, series);
    }
    if (past != NULL && past_seen != NULL) {
        put_rows(k, e->x, e->m, K, past, past_seen);
        ll_fill_forward(past, past_seen, K, D, past);
    }
    if (time != NULL) put_times(k, e, time);
    return LLAP_OK;
}

static llap_status vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                        int64_t row, ll_session *net)
{
    const int64_t n = rows_read(k), D = places(k);
    int32_t      *step = ll_session_int(net, "t");
    for (int64_t j = 0; step != NULL && j < n; j++)
        step[row * n + j] = ll_feed_step(t, e, (uint32_t)(1 + j), k->config.timegrad.steps.n);
    ll_feed_normals(t, e, 0, n * D, ll_feed_row(net, "eps", row, n * D));
    return LLAP_OK;
}

/* -------- answers -------- */

static int nets(const ll_rival_task *k)
{
    (void)k;
    return NETS;
}

static const char *state_name(char name[24], const char *kind, int i)
{
    snprintf(name, 24, "%s%d", kind, i);
    return name;
}

static void describe_read(ll_graph *g, const ll_rival_task *k, const ll_timegrad_config *c,
                          int64_t N)
{
    const ll_timegrad_in in = inputs(g, k, N, false);
    ll_tensor           *state[LL_TIMEGRAD_LAYERS], *scale = scale_of(g, k, &in);
    char                 name[24];
    ll_timegrad_read(g, c, &in, scale, state);
    ll_output(g, "scale", scale);
    for (int i = 0; i < c->n_layers; i++) ll_output(g, state_name(name, "state", i), state[i]);
}

static void describe_row(ll_graph *g, const ll_rival_task *k, const ll_timegrad_config *c,
                         int64_t N)
{
    const int64_t   D = places(k);
    char            name[24];
    ll_timegrad_row row = { .lagged = ll_input(g, "lagged", LL_SHAPE(N, c->lags.n, D)),
                            .seen = ll_input(g, "row_seen", LL_SHAPE(N, D)),
                            .time = ll_input(g, "row_time", LL_SHAPE(N, ll_feed_features(k))),
                            .scale = ll_input(g, "row_scale", LL_SHAPE(N, 1, D)) };
    for (int i = 0; i < c->n_layers; i++)
        row.state[i] = ll_input(g, state_name(name, "before", i), LL_SHAPE(N, c->cells));
    ll_output(g, "cond", ll_timegrad_cond(g, c, &row));
    for (int i = 0; i < c->n_layers; i++) ll_output(g, state_name(name, "state", i), row.state[i]);
}

static void describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N)
{
    ll_timegrad_config c = k->config.timegrad;
    c.dropout = 0.0;
    if (i == READ) describe_read(g, k, &c, N);
    if (i == ROW) describe_row(g, k, &c, N);
    if (i != NOISE) return;
    ll_tensor *waves = ll_timegrad_waves(g, &c, ll_input_int(g, "t", LL_SHAPE(1)));
    ll_output(g, "eps",
              ll_timegrad_noise(g, &c, ll_input(g, "x_t", LL_SHAPE(N, 1, places(k))), waves,
                                ll_input(g, "cond", LL_SHAPE(N, 1, c.cond))));
}

/* The states that one session ends with go to the next one. */
static void pass_states(const ll_rival_task *k, const ll_session *from, ll_session *to, int64_t N)
{
    const ll_timegrad_config *c = &k->config.timegrad;
    char                      in[24], out[24];
    for (int i = 0; i < c->n_layers; i++) {
        float *at = ll_session_real(to, state_name(in, "before", i));
        assert(at != NULL);
        memcpy(at, ll_session_output(from, state_name(out, "state", i)),
               (size_t)(N * c->cells) * sizeof *at);
    }
}

/* Inputs of query r: past [N,K + H,D] holds what was drawn so far. */
static void put_row(const ll_rival_task *k, ll_session *const *net, int64_t N, int64_t r,
                    const float *past)
{
    const ll_timegrad_config *c = &k->config.timegrad;
    const int64_t K = k->data.context, D = places(k), all = K + k->data.horizon, L = c->lags.n;
    const int64_t w = ll_feed_features(k), n = rows_read(k), first = n - k->data.horizon;
    float        *lagged = ll_session_real(net[ROW], "lagged");
    float        *seen = ll_session_real(net[ROW], "row_seen"),
          *time = ll_session_real(net[ROW], "row_time");
    const float *times = ll_session_real(net[READ], "time");
    const float *before = ll_session_real(net[READ], "past_seen");
    assert(lagged != NULL && seen != NULL && time != NULL && times != NULL && before != NULL);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t l = 0; l < L; l++)
            memcpy(lagged + (i * L + l) * D, past + (i * all + K + r - (int64_t)c->lags.v[l]) * D,
                   (size_t)D * sizeof *past);
        for (int64_t d = 0; d < D; d++)
            seen[i * D + d] = r > 0 ? 1.0f : before[(i * K + K - 1) * D + d];
        memcpy(time + i * w, times + (i * n + first + r) * w, (size_t)w * sizeof *time);
    }
}

/* The reverse process of query r, in units of the scale: x [N,D] */
static llap_status draw_row(const ll_rival_task *k, ll_session *net, int64_t N, int64_t r,
                            uint64_t seed, const ll_rival_row *row, float *x, float *room)
{
    const ll_noise_steps *s = &k->config.timegrad.steps;
    const int64_t         D = places(k), T = s->n, n = N * D;
    float                *x_t = ll_session_real(net, "x_t"), *noise = room, *x0 = room + n;
    int32_t              *t = ll_session_int(net, "t");
    llap_status           st = LLAP_OK;
    assert(x_t != NULL && t != NULL);
    for (int64_t i = 0; i < N; i++) ll_feed_noise(seed, &row[i], r * (T + 1), D, x + i * D);
    for (*t = (int32_t)T - 1; *t >= 0 && st == LLAP_OK; --*t) {
        const double ab = ll_alpha_bar(s, *t);
        memcpy(x_t, x, (size_t)n * sizeof *x);
        st = ll_session_run(net);
        if (st != LLAP_OK) break;
        const float *eps = ll_session_output(net, "eps");
        for (int64_t i = 0; i < n; i++)
            x0[i] = (float)((double)x[i] / sqrt(ab) - sqrt(1.0 / ab - 1.0) * (double)eps[i]);
        for (int64_t i = 0; i<N && * t> 0; i++)
            ll_feed_noise(seed, &row[i], r * (T + 1) + T - *t, D, noise + i * D);
        ll_feed_ancestral(s, *t, n, x0, noise, x);
    }
    return st;
}

static llap_status draw_rows(const ll_rival_task *k, ll_session *const *net, int64_t N,
                             uint64_t seed, const ll_rival_row *row, float *past, float *room)
{
    const int64_t K = k->data.context, D = places(k), H = k->data.horizon;
    const size_t  cond = (size_t)(N * k->config.timegrad.cond) * sizeof *past;
    float        *scale = ll_session_real(net[ROW], "row_scale"), *x = room + 2 * N * D;
    llap_status   st = ll_session_run(net[READ]);
    assert(scale != NULL);
    if (st != LLAP_OK) return st;
    memcpy(scale, ll_session_output(net[READ], "scale"), (size_t)(N * D) * sizeof *scale);
    pass_states(k, net[READ], net[ROW], N);
    for (int64_t r = 0; r < H && st == LLAP_OK; r++) {
        put_row(k, net, N, r, past);
        st = ll_session_run(net[ROW]);
        if (st != LLAP_OK) break;
        memcpy(ll_session_real(net[NOISE], "cond"), ll_session_output(net[ROW], "cond"), cond);
        pass_states(k, net[ROW], net[ROW], N);
        st = draw_row(k, net[NOISE], N, r, seed, row, x, room);
        for (int64_t i = 0; i < N; i++)
            for (int64_t d = 0; d < D; d++)
                past[(i * (K + H) + K + r) * D + d] = x[i * D + d] * scale[i * D + d];
    }
    return st;
}

static llap_status draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                        const ll_rival_row *row, float *out)
{
    const int64_t K = k->data.context, H = k->data.horizon, D = places(k), C = k->targets;
    const float  *context = ll_session_real(net[READ], "past");
    float        *past = ll_new((size_t)(N * (K + H) * D), sizeof *past);
    float        *room = ll_new((size_t)(3 * N * D), sizeof *room);
    llap_status   st = past == NULL || room == NULL ? LLAP_ENOMEM : LLAP_OK;
    assert(context != NULL);
    for (int64_t i = 0; i < N && st == LLAP_OK; i++)
        memcpy(past + i * (K + H) * D, context + i * K * D, (size_t)(K * D) * sizeof *past);
    if (st == LLAP_OK) st = draw_rows(k, net, N, seed, row, past, room);
    for (int64_t i = 0; i < N && st == LLAP_OK; i++)
        for (int64_t r = 0; r < H; r++)
            for (int64_t c = 0; c < C; c++)
                out[(i * H + r) * C + c] = past[(i * (K + H) + K + r) * D + c];
    ll_free(past);
    ll_free(room);
    return st;
}

const ll_rival_feed ll_feed_timegrad = { .name = "timegrad",
                                         .on_grid = on_grid,
                                         .loss = loss,
                                         .vary = vary,
                                         .nets = nets,
                                         .describe = describe,
                                         .draw = draw,
                                         .fill = fill };
