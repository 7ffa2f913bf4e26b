#include "rivals/feed/feed.h"

#include "base/alloc.h"
#include "base/error.h"
#include "rivals/feed/inputs.h"

#include <assert.h>
#include <string.h>

static const ll_rival_feed *const feeds[LL_RIVALS] = {
    &ll_feed_dlinear,   &ll_feed_patchtst,    &ll_feed_mrdiff,    &ll_feed_timegrad, &ll_feed_mtan,
    &ll_feed_tpatchgnn, &ll_feed_contiformer, &ll_feed_neuralcde, &ll_feed_csdi,
};

static const ll_rival_feed *feed_of(const ll_rival_task *k)
{
    const ll_rival_feed *f = feeds[k->kind - ll_rivals];
    assert(strcmp(f->name, k->kind->name) == 0); /* both tables are in one order */
    return f;
}

static llap_status check_size(const char *model, const char *what, int64_t n, int64_t low,
                              int64_t most)
{
    if (n >= low && n <= most) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: %s: expected %lld to %lld, found %lld", model, what,
                   (long long)low, (long long)most, (long long)n);
}

llap_status ll_rival_task_check(const ll_rival_task *k)
{
    const char *model = k->kind->name;
    llap_status st = check_size(model, "rows of context", k->data.context, 2, LL_RIVAL_ROWS);
    if (st == LLAP_OK) st = check_size(model, "rows ahead", k->data.horizon, 1, LL_RIVAL_ROWS);
    if (st == LLAP_OK) st = check_size(model, "variables", k->vars, 1, LL_RIVAL_VARS);
    if (st == LLAP_OK) st = check_size(model, "targets", k->targets, 1, k->vars);
    if (st == LLAP_OK && k->calendar != 0 && k->calendar != LL_RIVAL_CALENDAR)
        st = ll_fail(LLAP_EINVAL, "%s: calendar: expected 0 or %d numbers, found %lld", model,
                     LL_RIVAL_CALENDAR, (long long)k->calendar);
    if (st == LLAP_OK &&
        !(k->context > 0 && k->context < 1e12 && k->horizon > 0 && k->horizon < 1e12))
        st = ll_fail(LLAP_EINVAL, "%s: spans: expected positive steps, found %g and %g", model,
                     k->context, k->horizon);
    if (st == LLAP_OK) st = ll_rival_check(k->kind, &k->data, &k->config);
    return st == LLAP_OK && feed_of(k)->check != NULL ? feed_of(k)->check(k) : st;
}

bool ll_rival_on_grid(const ll_rival_task *k) { return feed_of(k)->on_grid(k); }
bool ll_rival_draws(const ll_rival_task *k) { return feed_of(k)->head == NULL; }
bool ll_rival_fills(const ll_rival_task *k) { return feed_of(k)->fills; }

int64_t ll_rival_members(const ll_rival_task *k)
{
    const ll_rival_feed *f = feed_of(k);
    const int64_t        q = f->head == NULL ? 0 : f->head(k).q;
    return q > 0 ? q : 1;
}

/* -------- examples -------- */

static int64_t block_size(const ll_rival_task *k)
{
    const int64_t K = k->data.context, H = k->data.horizon, F = k->vars, c = k->calendar;
    return K * (2 * F + 2 + c) + H * (2 * F + 2 + c);
}

llap_status ll_rival_example_init(ll_rival_example *e, const ll_rival_task *k)
{
    const int64_t K = k->data.context, H = k->data.horizon, F = k->vars;
    float        *at = ll_new((size_t)block_size(k), sizeof *at);
    *e = (ll_rival_example){ .block = at };
    if (at == NULL) return LLAP_ENOMEM;
    e->x = at;
    e->m = e->x + K * F;
    e->at = e->m + K * F;
    e->row = e->at + K;
    e->calendar = e->row + K;
    e->lead = e->calendar + K * k->calendar;
    e->asked = e->lead + H;
    e->query = e->asked + H;
    e->y = e->query + H * k->calendar;
    e->seen = e->y + H * F;
    assert(e->seen + H * F == at + block_size(k));
    return LLAP_OK;
}

void ll_rival_example_clear(ll_rival_example *e, const ll_rival_task *k)
{
    memset(e->block, 0, (size_t)block_size(k) * sizeof(float));
    e->id = 0;
}

void ll_rival_example_deinit(ll_rival_example *e)
{
    ll_free(e->block);
    *e = (ll_rival_example){ 0 };
}

/* -------- training -------- */

ll_tensor *ll_rival_loss(ll_graph *g, const ll_rival_task *k, int64_t B)
{
    const ll_rival_feed *f = feed_of(k);
    ll_tensor           *loss;
    if (f->head == NULL) {
        loss = f->loss(g, k, B);
    } else {
        const ll_shape cells = LL_SHAPE(B, k->data.horizon, k->targets);
        ll_tensor     *answer = f->answer(g, k, B, true);
        loss = ll_head_loss(g, f->head(k), answer, ll_input(g, "y", cells),
                            ll_input(g, "seen", cells));
    }
    ll_output(g, "loss", loss);
    return loss;
}

void ll_rival_start(const ll_rival_task *k, ll_params *p)
{
    if (feed_of(k)->head != NULL) ll_head_start(p);
}

llap_status ll_rival_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                          ll_session *net)
{
    const ll_rival_feed *f = feed_of(k);
    const int64_t        H = k->data.horizon;
    if (f->head != NULL) {
        ll_feed_columns(net, "y", row, e->y, H, k->vars, k->targets);
        ll_feed_columns(net, "seen", row, e->seen, H, k->vars, k->targets);
    }
    return f->fill(k, e, row, net);
}

llap_status ll_rival_vary(const ll_rival_task *k, const ll_rival_turn *t, const ll_rival_example *e,
                          int64_t row, ll_session *net)
{
    return feed_of(k)->vary == NULL ? LLAP_OK : feed_of(k)->vary(k, t, e, row, net);
}

double ll_rival_scored(const ll_rival_task *k, const ll_rival_example *e)
{
    double n = 0;
    for (int64_t r = 0; r < k->data.horizon; r++)
        for (int64_t c = 0; c < k->targets; c++) n += (double)e->seen[r * k->vars + c];
    return n;
}

/* -------- answers -------- */

int ll_rival_nets(const ll_rival_task *k)
{
    const ll_rival_feed *f = feed_of(k);
    const int            n = f->nets == NULL ? 1 : f->nets(k);
    assert(n >= 1 && n <= LL_RIVAL_NETS);
    return n;
}

void ll_rival_describe(ll_graph *g, const ll_rival_task *k, int i, int64_t N)
{
    const ll_rival_feed *f = feed_of(k);
    if (f->head == NULL) f->describe(g, k, i, N);
    else ll_output(g, "answer", f->answer(g, k, N, false));
}

/* Sorting never raises the loss that they were trained by. */
static void sort_few(float *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const float v = x[i];
        int64_t     j = i;
        for (; j > 0 && x[j - 1] > v; j--) x[j] = x[j - 1];
        x[j] = v;
    }
}

static llap_status read_quantiles(const ll_rival_task *k, ll_session *net, int64_t N, float *out)
{
    const int64_t     n = N * k->data.horizon * k->targets, q = ll_rival_members(k);
    const llap_status st = ll_session_run(net);
    if (st != LLAP_OK) return st;
    memcpy(out, ll_session_output(net, "answer"), (size_t)(n * q) * sizeof *out);
    for (int64_t i = 0; i < n; i++) sort_few(out + i * q, q);
    return LLAP_OK;
}

llap_status ll_rival_draw(const ll_rival_task *k, ll_session *const *net, int64_t N, uint64_t seed,
                          const ll_rival_row *row, float *out)
{
    const ll_rival_feed *f = feed_of(k);
    return f->head != NULL ? read_quantiles(k, net[0], N, out) : f->draw(k, net, N, seed, row, out);
}
