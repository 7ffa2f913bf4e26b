/* What fewer evaluations cost: CRPS and processor time of a trained model for samplers and numbers
 * of steps, each beside 32 even steps of DPM-Solver++, with the middle 95 % of a paired bootstrap
 * over days.
 *
 *     samplers MODEL DATA [samples] [every n-th test origin] [most origins]          25 1 1000 */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "bench.h"
#include "data/csv/csv.h"
#include "predict/forecaster.h"
#include "predict/view/frame.h"
#include "score/bootstrap.h"

#include <string.h>

enum { MOST = 32 };

typedef struct variant { /* a model of its own with another sampler */
    ll_point_list list;
    ll_solver     solver;
    int           steps, evaluations, beside;
    llap_model   *model;
    ll_forecaster inner, timed;
    double        seconds;
} variant;

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static llap_status forecast_timed(const ll_forecaster *f, const ll_forecast_request *ask,
                                  const ll_forecast_window *w, int64_t n, ll_arena *arena,
                                  ll_forecast_members *out)
{
    variant          *v = f->self;
    const double      before = processor_time();
    const llap_status st = v->inner.forecast(&v->inner, ask, w, n, arena, out);
    v->seconds += processor_time() - before;
    return st;
}

static llap_status variant_init(variant *v, const char *path, const llap_panel *p,
                                const int64_t *var)
{
    llap_status st = llap_model_load(path, &v->model);
    if (st != LLAP_OK) return st;
    ll_sampling *s = &v->model->network->config.sampling;
    s->solver.solver = v->solver;
    s->steps = v->steps;
    s->list = v->list;
    ll_points points = { 0 };
    st = ll_network_points(v->model->network, 0, &points);
    v->evaluations = points.n;
    ll_points_deinit(&points);
    if (st == LLAP_OK) st = ll_model_forecaster(v->model, p, var, &ll_backend_cpu, NULL, &v->inner);
    v->timed = (ll_forecaster){ "sampler", v->inner.n_targets, v, forecast_timed, NULL };
    return st;
}

/* The lists of a profile; all are held beside 32 even steps of DPM-Solver++. */
static int make_list(bool reference, variant *v)
{
    static const ll_solver solvers[] = { LL_SOLVER_DPMPP_2M, LL_SOLVER_UNIPC, LL_SOLVER_DDIM };
    static const int       steps[] = { 32, 16, 12, 10, 8, 6, 4 };
    int                    n = 0;
    if (reference)
        v[n++] = (variant){
            .list = LL_LIST_REFERENCE, .solver = LL_SOLVER_DDIM, .steps = 64, .beside = 1
        };
    const int base = n;
    for (size_t s = 0; s < 3; s++)
        for (size_t k = 0; k < 7; k++)
            if (k == 0 || steps[k] < 17)
                v[n++] = (variant){ .list = reference ? LL_LIST_HONEST : LL_LIST_CONTINUOUS,
                                    .solver = solvers[s],
                                    .steps = steps[k],
                                    .beside = base };
    for (size_t s = 0; s < 2; s++)
        for (size_t k = 0; k < 5; k++)
            if (k != 1)
                v[n++] = (variant){ .list = LL_LIST_GATHERED,
                                    .solver = solvers[s],
                                    .steps = steps[k],
                                    .beside = base };
    return n;
}

/* Test windows of every n-th origin, in order; unit [n]: their day. */
static llap_status choose(const llap_model *m, const llap_panel *p, const int64_t *var,
                          int64_t every, int64_t most, ll_windows **w, ll_forecast_window **out,
                          int32_t **unit, int64_t *n, int64_t *n_units)
{
    const int64_t day = INT64_C(86400000000000);
    ll_split     *split = NULL;
    llap_status   st = ll_frame_windows(&m->frame, p, var, m->frame.n_targets, w);
    if (st == LLAP_OK) st = ll_frame_split(&m->frame, *w, &split);
    if (st != LLAP_OK) return st;
    ll_forecast_window *all = calloc((size_t)(*w)->n + 1, sizeof *all);
    *unit = calloc((size_t)(*w)->n + 1, sizeof **unit);
    if (all == NULL || *unit == NULL) return LLAP_ENOMEM;
    int64_t found = 0, origins = 0, used = 0;
    for (int64_t i = 0; i < (*w)->n; i++)
        if (split->part[i] == LL_PART_TEST) all[found++] = ll_forecast_window_of(*w, i);
    ll_split_destroy(split);
    st = ll_forecast_windows_sort(all, found);
    for (int64_t i = 0; i < found; i++) {
        origins += i == 0 || all[i].origin != all[i - 1].origin;
        if ((origins - 1) % every == 0 && (origins - 1) / every < most) all[used++] = all[i];
    }
    *n_units = 0;
    for (int64_t i = 0; i < used; i++) {
        *n_units += i == 0 || all[i].origin / day != all[i - 1].origin / day;
        (*unit)[i] = (int32_t)*n_units - 1;
    }
    *out = all;
    *n = used;
    return st;
}

static llap_status report(const scoring *s, variant *v, int n)
{
    llap_status st = LLAP_OK;
    printf("| list | sampler | evaluations | CRPS | difference to %d evaluations, 95 %% | ms of "
           "processor a window |\n|---|---|---|---|---|---|\n",
           v[v[n - 1].beside].evaluations);
    for (int i = 0; i < n && st == LLAP_OK; i++) {
        const tally     *t = &scoring_at(s, i, 0)->total;
        bootstrap_opts   o = { .n_draws = 1000, .run = 1, .seed = 1 };
        bootstrap_result r;
        st = bootstrap_difference(scoring_units(s, i, 0), scoring_units(s, v[i].beside, 0),
                                  s->n_units, &o, &r);
        printf("| %s | %s | %d | %.4f | %+.4f [%+.4f, %+.4f] | %.1f |\n",
               ll_point_list_names[v[i].list], ll_solver_names[v[i].solver], v[i].evaluations,
               t->z.crps / t->n, r.crps.value, r.crps.low, r.crps.high,
               1e3 * v[i].seconds / (double)s->n_windows);
    }
    return st;
}

static int positive(int argc, char **argv, int i, int unless_given)
{
    const int n = i < argc ? atoi(argv[i]) : unless_given;
    return n > 0 ? n : 1;
}

static llap_status run(int argc, char **argv)
{
    static variant       v[MOST];
    const ll_forecaster *f[MOST];
    llap_panel          *p = NULL;
    llap_model          *m = NULL;
    ll_windows          *w = NULL;
    ll_forecast_window  *list = NULL;
    ll_score_scale      *scale = NULL;
    int32_t             *unit = NULL;
    int64_t              var[64], n = 0, n_units = 0;
    scoring              s = { 0 };
    const ll_csv_opts    csv = LL_CSV_DEFAULT;
    llap_status          st = llap_model_load(argv[1], &m);
    if (st == LLAP_OK && m->network == NULL)
        st = ll_fail(LLAP_EINVAL, "%s: a model without networks", argv[1]);
    if (st == LLAP_OK) st = ll_csv_read((const char *[]){ argv[2] }, 1, &csv, &p, NULL);
    if (st == LLAP_OK) st = ll_target_columns(m, p, var);
    if (st == LLAP_OK) st = ll_score_scales(m, p, &scale);
    if (st == LLAP_OK)
        st = choose(m, p, var, positive(argc, argv, 4, 1), positive(argc, argv, 5, 1000), &w, &list,
                    &unit, &n, &n_units);
    const int variants =
        st == LLAP_OK ? make_list(m->network->config.profile == LL_PROFILE_REFERENCE, v) : 0;
    for (int i = 0; i < variants && st == LLAP_OK; i++) {
        st = variant_init(&v[i], argv[1], p, var);
        f[i] = &v[i].timed;
    }
    const scoring_input in = { .panel = p,
                               .var = var,
                               .n_targets = st == LLAP_OK ? m->frame.n_targets : 0,
                               .scale = scale,
                               .w = list,
                               .n = n,
                               .unit = unit,
                               .n_units = n_units,
                               .leads =
                                   st == LLAP_OK ? ll_leads_of_frame(&m->frame) : (ll_leads){ 0 },
                               .f = f,
                               .n_forecasters = variants,
                               .ask = { .n_samples = positive(argc, argv, 3, 25), .seed = 1 } };
    if (st == LLAP_OK) st = scoring_run(&in, &s);
    if (st == LLAP_OK)
        printf("%lld windows on %lld days, %lld samples, target %s\n", (long long)n,
               (long long)n_units, (long long)in.ask.n_samples, m->frame.target[0]);
    if (st == LLAP_OK) st = report(&s, v, variants);
    scoring_deinit(&s);
    for (int i = 0; i < variants; i++) {
        ll_forecaster_deinit(&v[i].inner);
        llap_model_destroy(v[i].model);
    }
    ll_free(scale);
    free(unit);
    free(list);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
    llap_model_destroy(m);
    return st;
}

int main(int argc, char **argv)
{
    if (argc < 3) { /* `make bench` runs everything */
        puts("samplers MODEL DATA: CRPS and time by sampler and steps of a trained model");
        return argc > 1 ? 2 : 0;
    }
    const llap_status st = run(argc, argv);
    if (st != LLAP_OK) fprintf(stderr, "samplers: %s\n", llap_error_detail());
    return st == LLAP_OK ? 0 : 1;
}
