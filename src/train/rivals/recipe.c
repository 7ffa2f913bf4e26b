#include "rivals/options.h"
#include "train/rivals/rivals.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* docs/spec/rivals.md 15. */
/* clang-format off */
static const struct published {
    const char *name;
    int64_t batch, epochs; /* at most */
    double  lr, decay;
    ll_rival_schedule schedule;
    double  warmup;
    int64_t check_epochs;  /* between looks at validation */
} table[] = {
    { "dlinear",      32,  50, 1e-3, 0,    LL_RIVAL_COSINE,   0,    1 },
    { "patchtst",    128, 100, 1e-4, 0,    LL_RIVAL_CYCLE,    0.3,  1 },
    { "mrdiff",       64, 100, 1e-3, 0,    LL_RIVAL_CONSTANT, 0,    5 },
    { "timegrad",     64, 100, 1e-3, 0,    LL_RIVAL_CONSTANT, 0,    5 },
    { "mtan",         32, 300, 1e-3, 0,    LL_RIVAL_CONSTANT, 0,    1 },
    { "tpatchgnn",    32, 100, 1e-3, 0,    LL_RIVAL_CONSTANT, 0,    1 },
    { "contiformer",  64, 100, 1e-3, 0,    LL_RIVAL_CONSTANT, 0.05, 1 },
    { "neuralcde",    64, 100, 1e-3, 0,    LL_RIVAL_COSINE,   0,    1 },
    { "csdi",         16, 200, 1e-3, 1e-6, LL_RIVAL_TENTHS,   0,    5 },
};
/* clang-format on */

static const struct published *find(const char *name)
{
    size_t i = 0;
    while (strcmp(table[i].name, name) != 0) i++;
    assert(i < sizeof table / sizeof *table); /* every row of ll_rivals is here */
    return &table[i];
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void suggest(const ll_rival_training *t, ll_recipe_rival *r)
{
    enum { EPOCH = 50000, CHECKED = 2000, CHECKED_DRAWS = 300, SAMPLES = 16, CHECKS = 20 };
    const ll_rival_task    *k = &t->r->task;
    const struct published *p = find(k->kind->name);
    const bool              adapter = t->o->rival_config == LLAP_TRAIN_RIVAL_CONFIG_ADAPTER;
    *r = (ll_recipe_rival){ .schedule = adapter ? LL_RIVAL_CONSTANT : p->schedule,
                            .warmup = adapter ? 0 : p->warmup,
                            .batch = t->o->batch > 0 ? t->o->batch : p->batch,
                            .rows = least(EPOCH, t->n_train),
                            .check_rows = ll_rival_draws(k) ? CHECKED_DRAWS : CHECKED,
                            .check_samples = SAMPLES };
    r->batch = least(r->batch, t->n_train);
    const int64_t epoch = (r->rows + r->batch - 1) / r->batch;
    r->stage = (ll_recipe_stage){ .steps = epoch * (adapter ? 600 : p->epochs),
                                  .patience = adapter ? 20 : 10,
                                  .patience_from = 1,
                                  .max_skipped = LL_MAX_SKIPPED,
                                  .lr = t->o->lr > 0 ? t->o->lr
                                        : adapter    ? 1e-3
                                                     : p->lr,
                                  .optim = LL_TRAIN_DEFAULT };
    r->stage.optim.weight_decay = adapter ? 0 : p->decay;
    r->stage.optim.ema = 0;
    r->stage.check_every = epoch * p->check_epochs;
    if (t->o->steps <= 0) return;
    r->stage.steps = t->o->steps; /* a shorter one looks as often */
    const int64_t each = r->stage.steps / CHECKS > 0 ? r->stage.steps / CHECKS : 1;
    r->stage.check_every = least(r->stage.check_every, each);
}

llap_status ll_rival_recipe(const ll_rival_training *t, const ll_json *config, ll_recipe *out)
{
    *out = (ll_recipe){ .profile = LL_PROFILE_DEFAULT, .alone = true, .rival = true };
    suggest(t, &out->published);
    const llap_status st = ll_recipe_read(config, out);
    out->published.batch = least(out->published.batch, t->n_train);
    out->published.rows = least(out->published.rows, t->n_train);
    return st == LLAP_OK ? ll_recipe_agrees(out, t->o->steps, t->o->lr) : st;
}

/* From 1 down to last. */
static double cosine(double part, double last)
{
    return last + (1.0 - last) * 0.5 * (1.0 + cos(acos(-1.0) * part));
}

double ll_rival_lr(const ll_recipe_rival *how, int64_t step)
{
    const double at = ((double)step + 0.5) / (double)how->stage.steps, up = how->warmup;
    const double part = up < 1.0 ? fmax(at - up, 0.0) / (1.0 - up) : 0.0;
    double       share = 1.0;
    assert(step >= 0);
    if (at < up) {
        const double rise = at / up;
        return how->stage.lr * (how->schedule == LL_RIVAL_CYCLE
                                    ? 1.0 - cosine(rise, 1.0 / 25.0) + 1.0 / 25.0
                                    : rise);
    }
    if (how->schedule == LL_RIVAL_COSINE) share = cosine(part, 0.01);
    if (how->schedule == LL_RIVAL_CYCLE) share = cosine(part, 1e-4);
    if (how->schedule == LL_RIVAL_TENTHS) share = at >= 0.9 ? 0.01 : at >= 0.75 ? 0.1 : 1.0;
    return how->stage.lr * share;
}
