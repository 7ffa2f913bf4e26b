#include "rivals/feed/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* -------- inputs -------- */

float *ll_feed_row(ll_session *net, const char *name, int64_t row, int64_t n)
{
    float *x = ll_session_real(net, name);
    assert(x == NULL || (row + 1) * n <= ll_session_count(net, name));
    return x == NULL ? NULL : x + row * n;
}

void ll_feed_put(ll_session *net, const char *name, int64_t row, const float *from, int64_t n)
{
    float *to = ll_feed_row(net, name, row, n);
    if (to != NULL) memcpy(to, from, (size_t)n * sizeof *to);
}

void ll_feed_columns(ll_session *net, const char *name, int64_t row, const float *from,
                     int64_t rows, int64_t width, int64_t n)
{
    float *to = ll_feed_row(net, name, row, rows * n);
    assert(n <= width);
    for (int64_t i = 0; to != NULL && i < rows; i++)
        memcpy(to + i * n, from + i * width, (size_t)n * sizeof *to);
}

void ll_feed_filled(const ll_rival_task *k, const ll_rival_example *e, int64_t n, int64_t row,
                    ll_session *net)
{
    const int64_t K = k->data.context;
    ll_feed_columns(net, "x", row, e->x, K, k->vars, n);
    ll_feed_columns(net, "m", row, e->m, K, k->vars, n);
    float *x = ll_feed_row(net, "x", row, K * n), *m = ll_feed_row(net, "m", row, K * n);
    if (x == NULL) return;
    if (m != NULL) {
        ll_fill_forward(x, m, K, n, x);
        return;
    }
    for (int64_t v = 0; v < n; v++) { /* the session does not look at the masks */
        float   last = 0.0f;
        int64_t first = 0;
        while (first < K && e->m[first * k->vars + v] == 0.0f) first++;
        if (first < K) last = e->x[first * k->vars + v];
        for (int64_t r = 0; r < K; r++) {
            if (e->m[r * k->vars + v] != 0.0f) last = e->x[r * k->vars + v];
            x[r * n + v] = last;
        }
    }
}

float ll_feed_clock(const ll_rival_task *k, double at)
{
    return (float)(at / (k->context + k->horizon));
}

double ll_feed_query_time(const ll_rival_task *k, double lead) { return k->context - 1.0 + lead; }

int64_t ll_feed_features(const ll_rival_task *k) { return 1 + k->calendar; }

void ll_feed_put_features(const ll_rival_task *k, const ll_rival_example *e, const char *name,
                          int64_t row, ll_session *net)
{
    const int64_t H = k->data.horizon, n = ll_feed_features(k);
    float        *to = ll_feed_row(net, name, row, H * n);
    for (int64_t r = 0; to != NULL && r < H; r++) {
        to[r * n] = (float)(e->lead[r] / k->horizon);
        for (int64_t i = 1; i < n; i++) to[r * n + i] = e->query[r * k->calendar + i - 1];
    }
}

ll_tensor *ll_feed_calendar(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    if (k->calendar == 0) return NULL;
    return ll_input(g, "calendar", LL_SHAPE(B, k->data.horizon, k->calendar));
}

/* -------- draws -------- */

static ll_rng rng_of(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use)
{
    return ll_rng_make(t->seed, LL_STREAM_DIFFUSE, e->id, use, (uint32_t)t->step);
}

void ll_feed_normals(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n,
                     float *out)
{
    const ll_rng r = rng_of(t, e, use);
    if (out != NULL) ll_rng_fill_normal(&r, 0, (size_t)n, out);
}

void ll_feed_uniforms(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n,
                      float *out)
{
    const ll_rng r = rng_of(t, e, use);
    if (out != NULL) ll_rng_fill_uniform(&r, 0, (size_t)n, out);
}

int32_t ll_feed_step(const ll_rival_turn *t, const ll_rival_example *e, uint32_t use, int64_t n)
{
    const ll_rng r = rng_of(t, e, use);
    assert(n > 0);
    return (int32_t)ll_rng_below(&r, 0, (uint64_t)n);
}

void ll_feed_noise(uint64_t seed, const ll_rival_row *row, int64_t step, int64_t n, float *out)
{
    const ll_rng r = ll_rng_make(seed, LL_STREAM_NOISE, row->id, row->sample, (uint32_t)step);
    ll_rng_fill_normal(&r, 0, (size_t)n, out);
}

void ll_feed_hide(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                  int64_t from, float *shown)
{
    enum { USE = 1000 }; /* no draw of a loss counts so far */
    const int64_t n_context = k->data.context * k->vars, n = n_context + k->data.horizon * k->vars;
    const ll_rng  r = ll_rng_make(t->seed, LL_STREAM_MASK, e->id, USE, (uint32_t)t->step);
    const bool    any = ll_rng_uniform(&r, 0) < 0.5f;
    const double  share = (double)ll_rng_uniform(&r, 1);
    int64_t       left = 0;
    assert(from >= 0 && from <= n);
    memcpy(shown, e->m, (size_t)n_context * sizeof *shown);
    memcpy(shown + n_context, e->seen, (size_t)(n - n_context) * sizeof *shown);
    if (!any) memset(shown + n_context, 0, (size_t)(n - n_context) * sizeof *shown);
    for (int64_t i = from; i < n && any; i++) left += shown[i] != 0.0f;
    int64_t hide = llround(share * (double)left);
    for (int64_t i = from; i < n && hide > 0; i++) { /* each choice of so many is equally likely */
        if (shown[i] == 0.0f) continue;
        if ((int64_t)ll_rng_below(&r, (uint64_t)(2 + i), (uint64_t)left--) >= hide) continue;
        shown[i] = 0.0f;
        hide--;
    }
}

void ll_feed_ancestral(const ll_noise_steps *s, int64_t t, int64_t n, const float *x0,
                       const float *noise, float *x)
{
    const double beta = ll_beta(s, t), ab = ll_alpha_bar(s, t), before = ll_alpha_bar(s, t - 1);
    const double of_x0 = beta * sqrt(before) / (1.0 - ab);
    const double of_x = sqrt(1.0 - beta) * (1.0 - before) / (1.0 - ab);
    const double sd = t > 0 ? sqrt(beta * (1.0 - before) / (1.0 - ab)) : 0.0;
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(of_x0 * (double)x0[i] + of_x * (double)x[i] +
                       (t > 0 ? sd * (double)noise[i] : 0.0));
}
