#include "train/run/recipe.h"

#include "anchor/fit.h"
#include "base/error.h"
#include "base/json/fields.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

enum { MANY = 1 << 30 };

/* clang-format off */
#define INT(s, name, lo, hi)      { #name, LL_FIELD_INT, offsetof(s, name), lo, hi, NULL }
#define REAL(s, name, lo, hi)     { #name, LL_FIELD_REAL, offsetof(s, name), lo, hi, NULL }
#define BOOL(s, name)             { #name, LL_FIELD_BOOL, offsetof(s, name), 0, 0, NULL }
#define IN(s, of, name, lo, hi)   { #name, LL_FIELD_REAL, offsetof(s, of.name), lo, hi, NULL }
#define WHOLE(s, of, name, lo)    { #name, LL_FIELD_INT, offsetof(s, of.name), lo, MANY, NULL }
#define STAGE(s)                                                                                                          \
    WHOLE(s, stage, steps, 1), WHOLE(s, stage, check_every, 1), WHOLE(s, stage, patience, 0), WHOLE(s, stage, patience_from, 1), \
    WHOLE(s, stage, max_skipped, 0), IN(s, stage, lr, 1e-9, 1),                                                                                            \
    { "weight_decay", LL_FIELD_REAL, offsetof(s, stage.optim.weight_decay), 0, 1, NULL },                               \
    { "clip", LL_FIELD_REAL, offsetof(s, stage.optim.clip), 0, 1e9, NULL },                                             \
    { "beta1", LL_FIELD_REAL, offsetof(s, stage.optim.beta1), 0, 0.9999999, NULL },                                     \
    { "beta2", LL_FIELD_REAL, offsetof(s, stage.optim.beta2), 0, 0.9999999, NULL },                                     \
    { "eps", LL_FIELD_REAL, offsetof(s, stage.optim.eps), 1e-30, 1, NULL }
#define EMA(s) { "ema", LL_FIELD_REAL, offsetof(s, stage.optim.ema), 1e-9, 0.9999999, NULL }

#define A ll_recipe_anchor
static const ll_field anchor_fields[] = {
    INT(A, steps, 1, MANY), INT(A, rows, 1, MANY), REAL(A, lr, 1e-9, 1), REAL(A, lr_late, 1e-9, 1), REAL(A, late, 0, 1),
    REAL(A, clip, 1e-9, 1e9), REAL(A, nu_floor, 1e-8, 1), REAL(A, var_floor, 1e-8, 1), REAL(A, kappa, 0, 1e9),
    INT(A, cycles, 0, LL_ANCHOR_MAX_TERMS - 3), INT(A, valid_rows, 1, MANY), INT(A, points, 0, MANY),
};
#undef A

#define N ll_recipe_networks
static const ll_field networks_fields[] = {
    STAGE(N), EMA(N), INT(N, warmup, 0, MANY), REAL(N, lr_least, 0, 1),
    IN(N, vary, strange, 0, 1), IN(N, vary, shift, 0, 1), IN(N, vary, subset, 0, 1),
    INT(N, rows, 1, MANY), INT(N, check_rows, 1, MANY), INT(N, check_samples, 2, 128), INT(N, check_steps, 1, 1000),
    INT(N, final_rows, 1, MANY), INT(N, final_samples, 2, 128),
    REAL(N, guard_days, 0, 1e9), REAL(N, guard_price, 0, 1), REAL(N, fill_gain, 0, 1), REAL(N, fill_errors, 0, 1e9),
};
#undef N

#define K ll_recipe_stack
static const ll_field stack_fields[] = {
    INT(K, rows, 100, 10000000), INT(K, seeds, 1, 16), INT(K, steps, 1, 1000000), INT(K, batch, 1, 65536), INT(K, patience, 1, MANY), REAL(K, shrink, 0, 1e6),
};
#undef K

#define P ll_recipe_rival
static const char *const schedules[] = { "constant", "cosine", "cycle", "tenths", NULL };
static const ll_field rival_fields[] = {
    STAGE(P), { "schedule", LL_FIELD_CHOICE, offsetof(P, schedule), 0, 0, schedules }, REAL(P, warmup, 0, 1), INT(P, batch, 1, 65536), INT(P, rows, 1, MANY),
    INT(P, check_rows, 1, MANY), INT(P, check_samples, 2, 1000),
};
#undef P

#define D ll_recipe_data
static const ll_field data_fields[] = { BOOL(D, shuffle), INT(D, val_batches, 1, MANY) };
#undef D

#define V ll_recipe_vae
static const ll_field vae_fields[] = {
    STAGE(V), INT(V, epoch, 1, MANY), INT(V, select_from, 1, MANY), REAL(V, relative, 0, 0.99),
    IN(V, loss, beta, 0, 1e6), IN(V, loss, p_drop, 0, 0.99), IN(V, loss, noise, 0, 100), IN(V, loss, consistency, 0, 1e6),
    { "balance_coverage", LL_FIELD_BOOL, offsetof(V, loss.balance_coverage), 0, 0, NULL },
};
#undef V

#define S ll_recipe_summarizer
static const ll_field summarizer_fields[] = {
    STAGE(S), REAL(S, margin, 0, 1e9),
    IN(S, loss, x, 0, 1e6), IN(S, loss, v, 0, 1e6), IN(S, loss, t, 0, 1e6), IN(S, loss, dt, 0, 1e6), IN(S, loss, obs, 0, 1e6),
    { "channel_balanced", LL_FIELD_BOOL, offsetof(S, loss.channel_balanced), 0, 0, NULL },
};
#undef S

#define D ll_recipe_denoiser
static const ll_field denoiser_fields[] = {
    STAGE(D), EMA(D), REAL(D, warmup, 0, 1), REAL(D, lr_first, 0, 1), INT(D, rows, 1, MANY),
};
#undef D

#define GROUP(profile, name) { #name, LL_PROFILE_##profile, offsetof(ll_recipe, name), name##_fields, \
                               sizeof name##_fields / sizeof *name##_fields }
static const struct group {
    const char       *key;
    ll_profile      profile;
    size_t            offset;
    const ll_field *fields;
    int               n;
} groups[] = {
    { "rival", LL_PROFILE_DEFAULT, offsetof(ll_recipe, published), rival_fields, sizeof rival_fields / sizeof *rival_fields },
    GROUP(DEFAULT, anchor), GROUP(DEFAULT, networks), GROUP(DEFAULT, stack), GROUP(REFERENCE, data), GROUP(REFERENCE, vae), GROUP(REFERENCE, summarizer), GROUP(REFERENCE, denoiser),
};
/* clang-format on */
enum { GROUPS = sizeof groups / sizeof *groups };

/* Does a training of this kind use it? */
static bool is_used(const ll_recipe *r, const struct group *g)
{
    if (g->profile != r->profile) return false;
    if (r->rival || g->fields == rival_fields) return r->rival && g->fields == rival_fields;
    if (g->fields == stack_fields) return r->stacked;
    return !r->alone || g->fields == anchor_fields;
}

ll_recipe_anchor ll_recipe_anchor_usual(void)
{
    const ll_anchor_fit_opts fit = LL_ANCHOR_FIT_DEFAULT;
    return (ll_recipe_anchor){ .steps = fit.n_steps,
                               .rows = (int64_t)fit.n_rows,
                               .lr = fit.lr,
                               .lr_late = fit.lr_late,
                               .late = fit.late,
                               .clip = fit.clip,
                               .nu_floor = fit.nu_floor,
                               .var_floor = fit.var_floor,
                               .cycles = 8,
                               .valid_rows = 1024,
                               .points = 192 };
}

llap_status ll_recipe_read(const ll_json *config, ll_recipe *r)
{
    const char *keys[GROUPS + 1] = { 0 };
    assert(!r->alone || r->profile == LL_PROFILE_DEFAULT);
    if (config == NULL || !ll_json_has(config, "training")) return LLAP_OK;
    for (int i = 0; i < GROUPS; i++) keys[i] = groups[i].key;
    llap_status st = ll_fields_only(config, "training", NULL, 0, keys);
    for (int i = 0; i < GROUPS && st == LLAP_OK; i++) {
        const struct group *g = &groups[i];
        char                path[64];
        snprintf(path, sizeof path, "training.%s", g->key);
        if (!ll_json_has(config, path)) continue;
        if (g->profile != r->profile)
            return ll_json_fail(config, path, "not part of the profile \"%s\"",
                                ll_profile_names[r->profile]);
        if (!is_used(r, g) && (r->rival || g->fields == rival_fields))
            return ll_json_fail(config, path,
                                r->rival ? "a published model has 'rival' alone"
                                         : "only a published model has it");
        if (!is_used(r, g))
            return ll_json_fail(config, path,
                                g->fields == stack_fields ? "only a model of size stack has it"
                                                          : "a model of size %s has no networks",
                                r->stacked ? "stack" : "anchor");
        st = ll_fields_only(config, path, g->fields, g->n, NULL);
        if (st == LLAP_OK)
            st = ll_fields_read(config, path, g->fields, g->n, (char *)r + g->offset);
    }
    return st;
}

static llap_status stage_agrees(const ll_recipe_stage *s, const char *key, int64_t steps, double lr)
{
    if (steps > 0 && s->steps != steps)
        return ll_fail(LLAP_EOPTION, "steps: given as %lld, and as %lld in 'training.%s.steps'",
                       (long long)steps, (long long)s->steps, key);
    if (lr > 0 && s->lr != lr)
        return ll_fail(LLAP_EOPTION, "lr: given as %g, and as %g in 'training.%s.lr'", lr, s->lr,
                       key);
    return LLAP_OK;
}

llap_status ll_recipe_agrees(const ll_recipe *r, int64_t steps, double lr)
{
    if (r->rival) return stage_agrees(&r->published.stage, "rival", steps, lr);
    if (r->profile == LL_PROFILE_DEFAULT)
        return stage_agrees(&r->networks.stage, "networks", steps, lr);
    llap_status st = stage_agrees(&r->denoiser.stage, "denoiser", steps, lr);
    if (st == LLAP_OK) st = stage_agrees(&r->summarizer.stage, "summarizer", 0, lr);
    return st == LLAP_OK ? stage_agrees(&r->vae.stage, "vae", 0, lr) : st;
}

void ll_recipe_write(ll_json_writer *w, const ll_recipe *r)
{
    ll_json_open(w, "training", '{');
    for (int i = 0; i < GROUPS; i++) {
        if (!is_used(r, &groups[i])) continue;
        ll_json_open(w, groups[i].key, '{');
        ll_fields_write(w, groups[i].fields, groups[i].n, (const char *)r + groups[i].offset);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}
