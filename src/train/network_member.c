/* One member: its options, its checks on validation, its stage. */
#include "train/network_member.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/time/civil.h"
#include "predict/view/frame.h"
#include "ranks/ranks.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>

static ll_residual_opts training_of(const llap_model *m, const ll_network_config *c,
                                    const llap_train_opts *o, const ll_training_set *f,
                                    int64_t member)
{
    const ll_recipe_networks *r = &f->recipe.networks;
    ll_residual_opts          t = LL_RESIDUAL_OPTS;
    t.steps = r->stage.steps;
    t.batch = f->batch;
    t.warmup = r->warmup;
    t.lr = r->stage.lr;
    t.lr_least = r->lr_least;
    t.optim = r->stage.optim;
    t.vary = r->vary;
    t.vary.noise = 0.3 * c->features.augment;
    t.vary.drop = 0.5 * c->features.augment;
    t.seed = (uint64_t)o->seed + (uint64_t)member * UINT64_C(1000003);
    t.unit_hours = m->frame.axis == LL_AXIS_CALENDAR ? (double)m->frame.unit / LL_NS_PER_HOUR : 0.0;
    t.micro_batches = o->micro_batches;
    t.ranks = ll_ranks_joined();
    t.n_threads = omp_get_max_threads();
    t.backend = f->backend;
    return t;
}

/* Of examples first .. first + count - 1, into out [count,n_samples,h,Z]. */
static llap_status draw_some(const ll_network_members *n, const ll_backend *backend,
                             const llap_log *log, const ll_feature_set *set, size_t first,
                             size_t count, int steps, int64_t n_samples, uint64_t seed, float *out)
{
    const int64_t R = (n_samples + n->n_members - 1) / n->n_members;
    const int64_t paths = backend->memory == NULL ? 128 : 8192;
    const int64_t rows = R < paths ? paths / R : 1;
    ll_draw_plan  o = ll_networks_plan(n, backend);
    o.rows = rows < (int64_t)count ? rows : (int64_t)count;
    o.samples = R;
    o.h = set->h;
    o.steps = steps;
    ll_residual_sampler *s = NULL;
    uint32_t            *index = ll_new(count, sizeof *index);
    llap_status          st = index == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < count && st == LLAP_OK; i++) index[i] = (uint32_t)(first + i);
    if (st == LLAP_OK) st = ll_networks_sampler(n, &o, log, &s);
    if (st == LLAP_OK) st = ll_residual_draw(s, set, index, (int64_t)count, seed, n_samples, out);
    ll_residual_sampler_destroy(s);
    ll_free(index);
    return st;
}

/* Ranks share the examples out: on a CPU draws do not depend on those that are drawn beside them.
 */
llap_status ll_network_members_draw(const ll_network_members *n, const ll_backend *backend,
                                    const llap_log *log, const ll_feature_set *set, int steps,
                                    int64_t n_samples, uint64_t seed, float **out)
{
    const ll_ranks *r = backend->memory == NULL ? ll_ranks_joined() : NULL;
    const size_t    each = (size_t)(n_samples * set->h * ll_feature_channels(&set->c));
    int64_t         first, end;
    ll_ranks_part(r, (int64_t)set->n, &first, &end);
    *out = ll_new(set->n, each * sizeof **out);
    llap_status st = *out == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && (end > first || r == NULL))
        st = draw_some(n, backend, log, set, (size_t)first, (size_t)(end - first), steps, n_samples,
                       seed, *out + (size_t)first * each);
    st = ll_ranks_settle(r, st);
    return st == LLAP_OK ? ll_ranks_spread(r, *out, (int64_t)set->n, each * sizeof **out) : st;
}

static llap_status check(const llap_model *m, const ll_network_members *n, const ll_training_set *f,
                         const llap_log *log, uint64_t seed, ll_validation_scores *out)
{
    const ll_recipe_networks *r = &f->recipe.networks;
    float                    *x = NULL;
    const llap_status         st = ll_network_members_draw(n, f->backend, log, f->check,
                                                           (int)r->check_steps, r->check_samples, seed, &x);
    if (st == LLAP_OK)
        *out = ll_networks_validate(m, f->check, n, x, f->check->h, r->check_samples);
    ll_free(x);
    return st;
}

typedef struct member_run {
    const llap_model      *m;
    const ll_training_set *f;
    const llap_train_opts *o;
    ll_residual_trainer   *trainer;
    ll_network_members     networks; /* the trainer's average as the only member */
    ll_validation_scores   score;    /* of the last check */
    char                   name[40]; /* "member.0" */
} member_run;

static llap_status member_step(void *user, int64_t step, double *loss, double *norm)
{
    member_run *r = user;
    return ll_residual_step(r->trainer, step, loss, norm);
}

static llap_status member_results(void *user, int64_t first, int64_t n, double *loss, double *norm)
{
    member_run *r = user;
    return ll_residual_results(r->trainer, first, n, loss, norm);
}

/* Networks whose answers are not finite score NaN, which is worse than any score; training
 * continues. */
static llap_status member_check(void *user, int64_t step, double *score)
{
    member_run       *r = user;
    const llap_status st =
        check(r->m, &r->networks, r->f, r->o->log, (uint64_t)r->o->seed, &r->score);
    if (st == LLAP_ENUMERIC) {
        *score = r->score.network = NAN;
        return LLAP_OK;
    }
    if (st != LLAP_OK) return st;
    *score = r->score.network;
    ll_logf(r->o->log, LLAP_LOG_INFO, "%s: step %lld: validation CRPS %.4f (anchor %.4f)", r->name,
            (long long)step, r->score.network, r->score.anchor);
    return LLAP_OK;
}

static void member_fields(void *user, ll_json_writer *w)
{
    const member_run *r = user;
    ll_json_put_double(w, "anchor", r->score.anchor);
}

static llap_status member_non_finite(void *user, int64_t step, char *text, size_t size)
{
    const member_run     *r = user;
    const ll_feature_set *set = r->f->train;
    const uint32_t       *index = NULL;
    int64_t               n = 0;
    const llap_status st = ll_residual_find_non_finite(r->trainer, step, text, size, &index, &n);
    if (st != LLAP_OK) return st;
    int64_t *end = ll_new((size_t)n, sizeof *end);
    if (end == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        end[i] = (int64_t)llround(set->example[index[i]].origin * (double)r->m->frame.unit);
    ll_frame_name_windows(&r->m->frame, end, n, text, size);
    ll_free(end);
    return LLAP_OK;
}

llap_status ll_network_take_from(const llap_model *from, int64_t member, ll_params *params,
                                 const char *prefix)
{
    static const char *const part[] = { "summarizer.", "denoiser." };
    llap_status              st = LLAP_OK;
    member %= from->network->config.options.members;
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        char source[80], to[80];
        snprintf(source, sizeof source, "member.%lld.%s", (long long)member, part[i]);
        snprintf(to, sizeof to, "%s%s", prefix, part[i]);
        st = ll_params_take(params, to, from->network->params, source);
    }
    return st == LLAP_OK ? st : ll_fail_in(st, "from: networks of another size or layout");
}

static llap_status start_from(const llap_model *from, int64_t member, ll_params *params)
{
    const llap_status st = ll_network_take_from(from, member, params, "");
    if (st != LLAP_OK) return st;
    ll_params_start_ema(params);
    return ll_params_push(params);
}

/* The member's trainer, with fresh weights or those of from. Destroyed by member_destroy, also
 * after a failure. */
static llap_status member_create(const llap_model *m, const ll_network *net,
                                 const ll_training_set *f, const llap_train_opts *o,
                                 const llap_model *from, int64_t member, member_run **out)
{
    const ll_residual_opts   t = training_of(m, &net->config, o, f, member);
    const ll_network_config *c = &net->config;
    member_run              *r = *out = ll_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    *r = (member_run){ .m = m,
                       .f = f,
                       .o = o,
                       .networks = { .config = { .layout = f->view.layout,
                                                 .patches = c->patches,
                                                 .denoiser = c->denoiser },
                                     .n_members = 1,
                                     .sampling = c->sampling,
                                     .edge = &c->features.calibration_edge,
                                     .factor = &c->features.calibration_factor } };
    snprintf(r->name, sizeof r->name, "member.%lld", (long long)member);
    llap_status st = ll_residual_trainer_create(&r->networks.config, f->train, &t, &r->trainer);
    if (st != LLAP_OK) return st;
    ll_params *params = ll_residual_trainer_params(r->trainer);
    r->networks.member[0] = (ll_residual_member){ .params = params, .part = LL_PARAMS_EMA };
    return from == NULL ? LLAP_OK : start_from(from, member, params);
}

static void member_destroy(member_run *r)
{
    if (r == NULL) return;
    ll_residual_trainer_destroy(r->trainer);
    ll_free(r);
}

llap_status ll_train_member(ll_training_run *run, const llap_model *m, ll_network *net,
                            const ll_training_set *f, const llap_train_opts *o,
                            const llap_model *from, int64_t member)
{
    member_run *r = NULL;
    llap_status st = member_create(m, net, f, o, from, member, &r);
    if (st == LLAP_OK && o->micro_batches <= 1 && ll_residual_trainer_rows(r->trainer) < f->batch)
        ll_stage_in_micro_batches(o->log, r->name, f->backend, f->batch,
                                  ll_residual_trainer_rows(r->trainer));
    if (st == LLAP_OK) {
        char     prefix[48];
        ll_stage stage = ll_stage_of(&f->recipe.networks.stage);
        stage.name = r->name;
        stage.params = ll_residual_trainer_params(r->trainer);
        stage.user = r;
        stage.step = member_step;
        if (f->backend->memory != NULL) stage.results = member_results;
        stage.evaluate = member_check;
        stage.fields = member_fields;
        stage.find_non_finite = member_non_finite;
        snprintf(prefix, sizeof prefix, "%s.", r->name);
        st = ll_training_run_stage(run, &stage, NULL);
        if (st == LLAP_OK) st = ll_params_take(net->params, prefix, stage.params, "ema.");
    }
    member_destroy(r);
    return st;
}

/* ---- how long it takes ---- */

/* Seconds of one step of a path, from a few; on a GPU as many as go at once. */
static llap_status time_draws(member_run *r, double *each)
{
    enum { FEW = 16, MANY = 256, SAMPLES = 8, STEPS = 4 };
    const ll_training_set *f = r->f;
    const size_t           most = f->backend->memory == NULL ? FEW : MANY,
                 n = f->check->n < most ? f->check->n : most;
    float *x =
        ll_new(n * SAMPLES, (size_t)(f->check->h * ll_feature_channels(&f->check->c)) * sizeof *x);
    const double      began = omp_get_wtime();
    const llap_status st = x == NULL ? LLAP_ENOMEM
                                     : draw_some(&r->networks, f->backend, r->o->log, f->check, 0,
                                                 n, STEPS, SAMPLES, (uint64_t)r->o->seed, x);
    *each = (omp_get_wtime() - began) / (double)(n * SAMPLES * STEPS);
    ll_free(x);
    return st;
}

llap_status ll_measure_member(const llap_model *m, const ll_network *net, const ll_training_set *f,
                              const llap_train_opts *o, ll_work_cost *cost)
{
    enum { TRIED = 3, GAPS = 320 * 24 / 2 }; /* steps of paths that say who fills gaps, in all */
    const ll_recipe_networks *n = &f->recipe.networks;
    const int64_t             every = n->stage.check_every;
    member_run               *r = NULL;
    double                    loss, norm, path = 0;
    llap_status               st = member_create(m, net, f, o, NULL, 0, &r);
    if (st == LLAP_OK) st = ll_residual_step(r->trainer, 0, &loss, &norm); /* warm */
    const double began = omp_get_wtime();
    for (int i = 1; i <= TRIED && st == LLAP_OK; i++)
        st = ll_residual_step(r->trainer, i, &loss, &norm);
    cost->step = (omp_get_wtime() - began) / TRIED;
    if (st == LLAP_OK) st = time_draws(r, &path);
    if (st == LLAP_ENUMERIC) st = LLAP_OK; /* training will say so */
    const double check = (double)(n->check_rows * n->check_samples * n->check_steps),
                 last = (double)(n->final_rows * n->final_samples + GAPS);
    cost->checks = path * check * (double)((n->stage.steps + every - 1) / every);
    cost->rest = path * last * (double)net->config.sampling.steps;
    member_destroy(r);
    return st;
}
