/* T-PatchGNN and ContiFormer: readings at their own times, laid into patches or tokens. */
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static bool never(const ll_rival_task *k)
{
    (void)k;
    return false;
}

/* -------- T-PatchGNN: the variables are the nodes -------- */

static int64_t slots(const ll_rival_task *k)
{
    const ll_tpatchgnn_config *c = &k->config.tpatchgnn;
    const int64_t              each = (k->data.context + c->patches - 1) / c->patches;
    return c->slots > 0 ? c->slots : each;
}

static llap_status tpatchgnn_check(const ll_rival_task *k)
{
    const ll_tpatchgnn_config *c = &k->config.tpatchgnn;
    if (c->patches <= k->data.context && c->slots <= k->data.context) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "tpatchgnn: %s: expected at most the %lld rows of the context",
                   c->slots > k->data.context ? "slots" : "patches", (long long)k->data.context);
}

static ll_rival_head tpatchgnn_head(const ll_rival_task *k) { return k->config.tpatchgnn.head; }

static ll_tensor *tpatchgnn_answer(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    ll_tpatchgnn_config c = k->config.tpatchgnn;
    const ll_shape      s = LL_SHAPE(B, c.patches, slots(k), k->vars);
    c.dropout = ll_feed_dropout(c.dropout, training);
    const ll_tpatchgnn_in in = { .x = ll_input(g, "x", s),
                                 .t = ll_input(g, "t", s),
                                 .m = ll_input(g, "m", s),
                                 .query = ll_input(g, "query", LL_SHAPE(B, k->data.horizon)),
                                 .calendar = ll_feed_calendar(g, k, B) };
    return ll_slice(g, ll_tpatchgnn(g, &c, &in), 2, 0, k->targets);
}

static int64_t patch_of(const ll_rival_task *k, double at)
{
    const int64_t M = k->config.tpatchgnn.patches;
    const int64_t i = (int64_t)floor(at * (double)M / k->context);
    return i < 0 ? 0 : i >= M ? M - 1 : i;
}

/* Row j of the context into slot i of patch p. */
static void put_slot(const ll_rival_task *k, const ll_rival_example *e, int64_t j, int64_t cell,
                     float *x, float *t, float *m)
{
    const int64_t F = k->vars;
    for (int64_t v = 0; v < F; v++) {
        const bool seen = e->m[j * F + v] != 0.0f;
        x[cell * F + v] = seen ? e->x[j * F + v] : 0.0f;
        t[cell * F + v] = seen ? ll_feed_clock(k, (double)e->at[j]) : 0.0f;
        m[cell * F + v] = seen ? 1.0f : 0.0f;
    }
}

static llap_status tpatchgnn_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                                  ll_session *net)
{
    const int64_t L = slots(k), M = k->config.tpatchgnn.patches, F = k->vars, all = M * L * F;
    float        *x = ll_feed_row(net, "x", row, all), *t = ll_feed_row(net, "t", row, all);
    float        *m = ll_feed_row(net, "m", row, all);
    float        *query = ll_feed_row(net, "query", row, k->data.horizon);
    assert(x != NULL && t != NULL && m != NULL && query != NULL);
    memset(x, 0, (size_t)all * sizeof *x);
    memset(t, 0, (size_t)all * sizeof *t);
    memset(m, 0, (size_t)all * sizeof *m);
    for (int64_t j = 0, end; j < k->data.context; j = end) { /* the rows of a patch, j .. end - 1 */
        const int64_t p = patch_of(k, (double)e->at[j]);
        for (end = j + 1; end < k->data.context && patch_of(k, (double)e->at[end]) == p;) end++;
        int64_t first = j;
        while (first < end && e->row[first] == 0.0f) first++;
        if (end - first > L) first = end - L; /* the latest ones */
        for (int64_t i = first; i < end; i++) put_slot(k, e, i, p * L + i - first, x, t, m);
    }
    for (int64_t r = 0; r < k->data.horizon; r++)
        query[r] = ll_feed_clock(k, ll_feed_query_time(k, (double)e->lead[r]));
    ll_feed_put(net, "calendar", row, e->query, k->data.horizon * k->calendar);
    return LLAP_OK;
}

const ll_rival_feed ll_feed_tpatchgnn = { .name = "tpatchgnn",
                                          .on_grid = never,
                                          .check = tpatchgnn_check,
                                          .head = tpatchgnn_head,
                                          .answer = tpatchgnn_answer,
                                          .fill = tpatchgnn_fill };

/* -------- ContiFormer: a few rows are a token -------- */

enum { CLOCK = 10 }; /* times from 0 to so much */

static int64_t tokens(const ll_rival_task *k)
{
    const int64_t each = k->config.contiformer.rows;
    return (k->data.context + each - 1) / each;
}

/* Values and masks of its rows; the gap before it and the calendar of its last row. */
static int64_t token_width(const ll_rival_task *k)
{
    return 2 * k->config.contiformer.rows * k->vars + 1 + k->calendar;
}

static llap_status contiformer_check(const ll_rival_task *k)
{
    const ll_contiformer_config *c = &k->config.contiformer;
    enum { MOST = 1024 };
    if ((int64_t)c->n_layers * c->n_sub > MOST)
        return ll_fail(LLAP_EINVAL, "contiformer: layers times steps: expected at most %d", MOST);
    if (c->rows <= k->data.context) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "contiformer: rows: %lld do not fit into a context of %lld",
                   (long long)c->rows, (long long)k->data.context);
}

static ll_rival_head contiformer_head(const ll_rival_task *k) { return k->config.contiformer.head; }

static ll_tensor *contiformer_answer(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    ll_contiformer_config c = k->config.contiformer;
    const int64_t         L = tokens(k), H = k->data.horizon;
    c.targets = k->targets;
    c.dropout = ll_feed_dropout(c.dropout, training);
    const ll_contiformer_in in = {
        .x = ll_input(g, "x", LL_SHAPE(B, L, token_width(k))),
        .times = ll_input(g, "t", LL_SHAPE(B, L)),
        .usable = ll_input(g, "m", LL_SHAPE(B, L)),
        .query = ll_input(g, "query", LL_SHAPE(B, H)),
        .feature = ll_input(g, "features", LL_SHAPE(B, H, ll_feed_features(k))),
    };
    return ll_contiformer_decode(g, &c, &in, ll_contiformer_encode(g, &c, &in));
}

/* Token i of rows first .. end - 1 of the context; rows before 0 are none. */
static void put_token(const ll_rival_task *k, const ll_rival_example *e, int64_t first, int64_t end,
                      float *x)
{
    const int64_t F = k->vars, each = k->config.contiformer.rows, n = each * F;
    for (int64_t j = first < 0 ? 0 : first; j < end; j++)
        for (int64_t v = 0; v < F; v++) {
            const float m = e->m[j * F + v];
            x[(j - first) * F + v] = m * e->x[j * F + v];
            x[n + (j - first) * F + v] = m;
        }
    const float before = first > 0 ? e->at[first - 1] : e->at[0];
    x[2 * n] = log1pf(fmaxf(e->at[end - 1] - before, 0.0f));
    memcpy(x + 2 * n + 1, e->calendar + (end - 1) * k->calendar, (size_t)k->calendar * sizeof *x);
}

static llap_status contiformer_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                                    ll_session *net)
{
    const int64_t L = tokens(k), width = token_width(k), H = k->data.horizon;
    const int64_t each = k->config.contiformer.rows;
    float        *x = ll_feed_row(net, "x", row, L * width), *t = ll_feed_row(net, "t", row, L);
    float        *m = ll_feed_row(net, "m", row, L), *query = ll_feed_row(net, "query", row, H);
    assert(x != NULL && t != NULL && m != NULL && query != NULL);
    memset(x, 0, (size_t)(L * width) * sizeof *x);
    for (int64_t i = 0; i < L; i++) { /* the last token ends with the last row */
        const int64_t end = k->data.context - (L - 1 - i) * each, first = end - each;
        float         any = 0.0f;
        for (int64_t j = first < 0 ? 0 : first; j < end; j++) any = fmaxf(any, e->row[j]);
        put_token(k, e, first, end, x + i * width);
        t[i] = (float)CLOCK * ll_feed_clock(k, (double)e->at[end - 1]);
        m[i] = any;
    }
    for (int64_t r = 0; r < H; r++)
        query[r] = (float)CLOCK * ll_feed_clock(k, ll_feed_query_time(k, (double)e->lead[r]));
    ll_feed_put_features(k, e, "features", row, net);
    return LLAP_OK;
}

const ll_rival_feed ll_feed_contiformer = { .name = "contiformer",
                                            .on_grid = never,
                                            .check = contiformer_check,
                                            .head = contiformer_head,
                                            .answer = contiformer_answer,
                                            .fill = contiformer_fill };
