/* mr-Diff: the variables of an entity as channels, coarse to fine. */
#include "base/alloc.h"
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { GUESSES, STAGE }; /* the sessions of its answers: the guesses, then one of each stage */

static bool on_grid(const ll_rival_task *k)
{
    (void)k;
    return true;
}

static llap_status check(const ll_rival_task *k)
{
    const int64_t horizon = k->config.mrdiff.horizon;
    if (horizon == k->data.horizon) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "mrdiff: horizon: expected %lld rows, found %lld",
                   (long long)k->data.horizon, (long long)horizon);
}

static ll_mrdiff_in inputs(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    const ll_shape s = LL_SHAPE(B, k->data.context, k->vars);
    return (ll_mrdiff_in){ .x = ll_input(g, "x", s),
                           .m = ll_input(g, "m", s),
                           .side = ll_feed_calendar(g, k, B),
                           .training = training };
}

static ll_tensor *loss(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const int64_t         S = ll_mrdiff_stages(&k->config.mrdiff), H = k->data.horizon;
    const ll_shape        cells = LL_SHAPE(B, H, k->vars), noise = LL_SHAPE(S, B, k->vars, H);
    const ll_mrdiff_in    in = inputs(g, k, B, true);
    const ll_mrdiff_noise drawn = { .t = ll_input_int(g, "t", LL_SHAPE(S, B)),
                                    .eps = ll_input(g, "eps", noise),
                                    .mix = ll_input(g, "mix", noise) };
    return ll_mrdiff_loss(g, &k->config.mrdiff, &in, ll_input(g, "y", cells),
                          ll_input(g, "seen", cells), &drawn);
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net)
{
    const int64_t H = k->data.horizon;
    ll_feed_filled(k, e, k->vars, row, net);
    ll_feed_put(net, "calendar", row, e->query, H * k->calendar);
    ll_feed_put(net, "y", row, e->y, H * k->vars);
    ll_feed_put(net, "seen", row, e->seen, H * k->vars);
    return LLAP_OK;
}

/* Is the window's guess mixed with the truth in this step? The others see it as it is when asked.
 */
static bool is_mixed(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                     int64_t stages)
{
    float u = 0.0f;
    ll_feed_uniforms(t, e, (uint32_t)(3 * stages), 1, &u);
    return (double)u < k->config.mrdiff.mixed;
}

static llap_status vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                        int64_t row, ll_session *net)
{
    const int64_t S = ll_mrdiff_stages(&k->config.mrdiff), n = k->vars * k->data.horizon;
    const int64_t B = ll_session_count(net, "eps") / (S * n);
    float        *eps = ll_session_real(net, "eps"), *mix = ll_session_real(net, "mix");
    int32_t      *step = ll_session_int(net, "t");
    assert(eps != NULL && mix != NULL && step != NULL);
    const bool mixed = is_mixed(k, t, e, S);
    for (int64_t s = 0; s < S; s++) {
        const int64_t at = s * B + row;
        step[at] = ll_feed_step(t, e, (uint32_t)(3 * s), k->config.mrdiff.steps.n);
        ll_feed_normals(t, e, (uint32_t)(3 * s + 1), n, eps + at * n);
        ll_feed_uniforms(t, e, (uint32_t)(3 * s + 2), n, mix + at * n);
        for (int64_t i = 0; i < n && !mixed; i++) mix[at * n + i] = 1.0f;
    }
    return LLAP_OK;
}

/* -------- answers -------- */

static int nets(const ll_rival_task *k) { return STAGE + ll_mrdiff_stages(&k->config.mrdiff); }

static void describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N)
{
    ll_mrdiff_config c = k->config.mrdiff;
    const int64_t    half = c.step_width / 2;
    const ll_shape   cells = LL_SHAPE(N, k->data.horizon, k->vars);
    const int        stage = i - STAGE;
    c.dropout = 0.0;
    if (i == GUESSES) {
        const ll_mrdiff_in in = inputs(g, k, N, false);
        ll_tensor         *z[LL_MRDIFF_STAGES];
        const ll_revin     r = ll_mrdiff_guesses(g, &c, &in, z);
        char               name[24];
        ll_output(g, "mean", r.mean);
        ll_output(g, "sd", r.sd);
        for (int s = 0; s < ll_mrdiff_stages(&c); s++) {
            snprintf(name, sizeof name, "z%d", s);
            ll_output(g, name, z[s]);
        }
        return;
    }
    const bool         coarsest = stage + 1 == ll_mrdiff_stages(&c);
    const ll_mrdiff_in in = { .side = ll_feed_calendar(g, k, N) };
    ll_tensor         *t = ll_input_int(g, "t", LL_SHAPE(1));
    ll_tensor         *y_t = ll_input(g, "y_t", cells), *z = ll_input(g, "z", cells);
    ll_output(g, "x0",
              ll_mrdiff_clean(g, &c, &in, stage, y_t, z,
                              coarsest ? NULL : ll_input(g, "coarse", cells),
                              ll_step_waves(g, t, c.steps.n, half, half - 1)));
}

/* The reverse process of a stage: y [N,H,F], the coarser result before and its own behind it. */
static llap_status draw_stage(const ll_rival_task *k, ll_session *const *net, int stage, int64_t N,
                              uint64_t seed, const ll_rival_row *row, float *y, float *noise)
{
    const ll_noise_steps *s = &k->config.mrdiff.steps;
    ll_session           *own = net[STAGE + stage];
    const int64_t         each = k->data.horizon * k->vars, n = N * each, T = s->n;
    float      *y_t = ll_session_real(own, "y_t"), *coarse = ll_session_real(own, "coarse");
    float      *z = ll_session_real(own, "z");
    int32_t    *t = ll_session_int(own, "t");
    llap_status st = LLAP_OK;
    char        name[24];
    assert(y_t != NULL && z != NULL && t != NULL);
    snprintf(name, sizeof name, "z%d", stage);
    memcpy(z, ll_session_output(net[GUESSES], name), (size_t)n * sizeof *z);
    if (coarse != NULL) memcpy(coarse, y, (size_t)n * sizeof *y);
    const int64_t first = (int64_t)stage * (T + 1);
    for (int64_t i = 0; i < N; i++) ll_feed_noise(seed, &row[i], first, each, y + i * each);
    for (*t = (int32_t)T - 1; *t >= 0 && st == LLAP_OK; --*t) {
        memcpy(y_t, y, (size_t)n * sizeof *y);
        st = ll_session_run(own);
        for (int64_t i = 0; i<N && * t> 0; i++)
            ll_feed_noise(seed, &row[i], first + T - *t, each, noise + i * each);
        if (st == LLAP_OK) ll_feed_ancestral(s, *t, n, ll_session_output(own, "x0"), noise, y);
    }
    return st;
}

static llap_status draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                        const ll_rival_row *row, float *out)
{
    const int64_t H = k->data.horizon, F = k->vars, C = k->targets, n = N * H * F;
    float        *y = ll_new((size_t)(2 * n), sizeof *y);
    llap_status   st = y == NULL ? LLAP_ENOMEM : ll_session_run(net[GUESSES]);
    for (int s = ll_mrdiff_stages(&k->config.mrdiff) - 1; s >= 0 && st == LLAP_OK; s--)
        st = draw_stage(k, net, s, N, seed, row, y, y + n);
    if (st == LLAP_OK) {
        const float *mean = ll_session_output(net[GUESSES], "mean");
        const float *sd = ll_session_output(net[GUESSES], "sd");
        for (int64_t i = 0; i < N * H; i++)
            for (int64_t c = 0; c < C; c++)
                out[i * C + c] = y[i * F + c] * sd[i / H * F + c] + mean[i / H * F + c];
    }
    ll_free(y);
    return st;
}

const ll_rival_feed ll_feed_mrdiff = { .name = "mrdiff",
                                       .on_grid = on_grid,
                                       .check = check,
                                       .loss = loss,
                                       .vary = vary,
                                       .nets = nets,
                                       .describe = describe,
                                       .draw = draw,
                                       .fill = fill };
