/* DLinear and PatchTST: the next H steps of series on a grid, all at once. */
#include "base/error.h"
#include "rivals/feed/inputs.h"

static bool always(const ll_rival_task *k)
{
    (void)k;
    return true;
}

/* Channels do not reach each other, so that others than the targets would be left out of every
 * answer; mixed, all are looked at. */
static int64_t channels(const ll_rival_task *k, bool mix) { return mix ? k->vars : k->targets; }

static llap_status check_mix(const ll_rival_task *k, bool mix, int64_t target, int64_t horizon)
{
    const char *model = k->kind->name;
    if (mix && (k->targets > 1 || target != 0))
        return ll_fail(LLAP_EINVAL, "%s: mix: is for one target, the first; there are %lld", model,
                       (long long)k->targets);
    if (horizon == k->data.horizon) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: horizon: expected %lld rows, found %lld", model,
                   (long long)k->data.horizon, (long long)horizon);
}

static ll_tensor *input(ll_graph *g, const ll_rival_task *k, const char *name, int64_t B, bool mix)
{
    return ll_input(g, name, LL_SHAPE(B, k->data.context, channels(k, mix)));
}

static ll_tensor *calendar(ll_graph *g, const ll_rival_task *k, int64_t B, ll_rival_head h)
{
    return h.q > 0 ? ll_feed_calendar(g, k, B) : NULL;
}

static llap_status fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                        ll_session *net, bool mix)
{
    ll_feed_filled(k, e, channels(k, mix), row, net);
    ll_feed_put(net, "calendar", row, e->query, k->data.horizon * k->calendar);
    return LLAP_OK;
}

/* -------- DLinear -------- */

static llap_status dlinear_check(const ll_rival_task *k)
{
    const ll_dlinear_config *c = &k->config.dlinear;
    return check_mix(k, c->mix, c->target, c->horizon);
}

static ll_rival_head dlinear_head(const ll_rival_task *k) { return k->config.dlinear.head; }

static ll_tensor *dlinear_answer(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    const ll_dlinear_config *c = &k->config.dlinear;
    (void)training; /* nothing is dropped */
    const ll_dlinear_in in = { .x = input(g, k, "x", B, c->mix),
                               .m = input(g, k, "m", B, c->mix),
                               .calendar = calendar(g, k, B, c->head) };
    return ll_dlinear(g, c, &in);
}

static llap_status dlinear_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                                ll_session *net)
{
    return fill(k, e, row, net, k->config.dlinear.mix);
}

const ll_rival_feed ll_feed_dlinear = { .name = "dlinear",
                                        .on_grid = always,
                                        .check = dlinear_check,
                                        .head = dlinear_head,
                                        .answer = dlinear_answer,
                                        .fill = dlinear_fill };

/* -------- PatchTST -------- */

static llap_status patchtst_check(const ll_rival_task *k)
{
    const ll_patchtst_config *c = &k->config.patchtst;
    return check_mix(k, c->mix, c->target, c->horizon);
}

static ll_rival_head patchtst_head(const ll_rival_task *k) { return k->config.patchtst.head; }

static ll_tensor *patchtst_answer(ll_graph *g, const ll_rival_task *k, int64_t B, bool training)
{
    ll_patchtst_config c = k->config.patchtst;
    c.dropout = ll_feed_dropout(c.dropout, training);
    const ll_patchtst_in in = { .x = input(g, k, "x", B, c.mix),
                                .m = input(g, k, "m", B, c.mix),
                                .calendar = calendar(g, k, B, c.head),
                                .training = training };
    return ll_patchtst(g, &c, &in);
}

static llap_status patchtst_fill(const ll_rival_task *k, const ll_rival_example *e, int64_t row,
                                 ll_session *net)
{
    return fill(k, e, row, net, k->config.patchtst.mix);
}

const ll_rival_feed ll_feed_patchtst = { .name = "patchtst",
                                         .on_grid = always,
                                         .check = patchtst_check,
                                         .head = patchtst_head,
                                         .answer = patchtst_answer,
                                         .fill = patchtst_fill };
