/* A model of the `reference` profile as a forecaster: history to summary, sampler, decoder, units
 * of the data. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/text.h"
#include "data/windows/scaling.h"
#include "predict/forecaster.h"
#include "predict/reference.h"
#include "predict/reference_networks.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* -------- paths -------- */

/* Samples of one row, z [R,h,Z], as paths of its windows. */
static llap_status decode(reference_self *s, const ll_forecast_window *w, const work_row *row,
                          const uint8_t *ent, const float *z, double **path)
{
    const int64_t R = s->R, h = s->h;
    const float  *y = z; /* an identity latent: [R,h,N,C] */
    if (s->vae) {
        float *present = ll_session_real(s->decoder, "ent");
        memcpy(ll_session_real(s->decoder, "z"), z, (size_t)(R * h * s->Z) * sizeof *z);
        for (int64_t r = 0; r < R; r++) {
            for (int64_t n = 0; n < s->N; n++) present[r * s->N + n] = ent[n];
            for (int64_t i = 0; i < row->n; i++) { /* what is asked for is there */
                const int64_t e = ll_model_entity_of(s->m, s->p, w[row->first + i].entity);
                present[r * s->N + (s->joint ? e : 0)] = 1;
            }
        }
        const llap_status st = ll_session_run(s->decoder);
        if (st != LLAP_OK) return st;
        y = ll_session_output(s->decoder, "y");
    }
    for (int64_t i = 0; i < row->n; i++) {
        const int64_t e = w[row->first + i].entity;
        const int64_t slot = s->joint ? ll_model_entity_of(s->m, s->p, e) : 0;
        const float  *mean = s->scaling->y_mean + e * s->C, *std = s->scaling->y_std + e * s->C;
        assert(slot >= 0 && slot < s->N); /* make_rows refuses the others */
        for (int64_t c = 0; c < s->C; c++)
            for (int64_t k = 0; k < R * h; k++)
                path[(row->first + i) * s->C + c][k] =
                    (double)ll_unscale_value(y[(k * s->N + slot) * s->C + c], mean[c], std[c]);
    }
    return LLAP_OK;
}

static llap_status draw_rows(reference_self *s, const ll_forecast_request *ask,
                             const ll_forecast_window *w, const work_row *row, int64_t n,
                             double **path)
{
    const int64_t h = w[row[0].first].n_query, R = ask->n_samples, values = n * h * s->Z;
    const bool    keep = w[row[0].first].keep;
    ll_arena      a = { 0 };
    float        *z = ll_arena_new(&a, (size_t)(values * R), sizeof *z);
    float        *y_obs = ll_arena_new(&a, (size_t)values, sizeof *y_obs);
    uint8_t      *kept = ll_arena_new(&a, (size_t)values, sizeof *kept);
    ll_prepared_denoiser_batch in = { 0 };
    llap_status                st = z == NULL || y_obs == NULL || kept == NULL
                                        ? LLAP_ENOMEM
                                        : reference_nets_for(s, n, R, h, keep);
    if (st == LLAP_OK) st = reference_look(s, w, row, n);
    if (st == LLAP_OK && keep) st = reference_observe(s, y_obs, kept);
    if (st == LLAP_OK) st = reference_summarise(s, &in.E, &in.E_raw);
    if (st == LLAP_OK) {
        const ll_sample_io io = { .seed = ask->seed,
                                  .window = s->batch.id,
                                  .y_obs = keep ? y_obs : NULL,
                                  .keep = keep ? kept : NULL };
        in.tq = s->batch.tau;
        ll_network_origin(s->c, s->batch.tau, n, h);
        st = ll_prepared_denoiser_sample(s->denoiser, &in, &io, z);
    }
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        st = decode(s, w, &row[i], reference_present(s) + i * s->N, z + i * R * h * s->Z, path);
    ll_arena_deinit(&a);
    return st;
}

/* Half as many at once, where the backend's own memory does not suffice. */
static llap_status draw_rows_or_fewer(reference_self *s, const ll_forecast_request *ask,
                                      const ll_forecast_window *w, const work_row *row, int64_t n,
                                      double **path)
{
    llap_status st = draw_rows(s, ask, w, row, n, path);
    if (st != LLAP_ENOMEM || n == 1 || s->backend->memory == NULL) return st;
    reference_drop_nets(s);
    s->most = (n + 1) / 2;
    ll_logf(ask->log, LLAP_LOG_WARNING,
            "%s: too little memory for %lld windows at once: %lld at a time", s->backend->name,
            (long long)n, (long long)s->most);
    st = LLAP_OK;
    for (int64_t i = 0, some; i < n && st == LLAP_OK; i += some) {
        some = n - i < s->most ? n - i : s->most;
        st = draw_rows_or_fewer(s, ask, w, row + i, some, path);
    }
    return st;
}

/* -------- rows of windows -------- */

static bool same_row(const reference_self *s, const ll_forecast_window *a,
                     const ll_forecast_window *b)
{
    return s->joint && a->origin == b->origin && a->n_query == b->n_query &&
           memcmp(a->time, b->time, (size_t)a->n_query * sizeof *a->time) == 0;
}

static llap_status make_rows(const reference_self *s, const ll_forecast_window *w, int64_t n,
                             work_row *row, int64_t *n_rows)
{
    *n_rows = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *name = s->p->entity[w[i].entity];
        if (s->joint && ll_model_entity_of(s->m, s->p, w[i].entity) < 0)
            return ll_fail(LLAP_EINVAL,
                           "entity '%s': the model tells its %lld entities apart and does not "
                           "know this one",
                           ll_text_show(name).text, (long long)s->N);
        if (*n_rows > 0 && same_row(s, &w[row[*n_rows - 1].first], &w[i])) {
            row[*n_rows - 1].n++;
            continue;
        }
        /* Whoever else is asked for does not change what is drawn. */
        row[(*n_rows)++] =
            (work_row){ .first = i,
                        .n = 1,
                        .id = s->joint ? ll_hash(1, &w[i].origin, sizeof w[i].origin) : w[i].id };
    }
    return LLAP_OK;
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    reference_self *s = f->self;
    work_row       *row = ll_arena_new(arena, (size_t)n, sizeof *row);
    double        **path = ll_arena_new(arena, (size_t)(n * s->C), sizeof *path);
    int64_t         n_rows = 0;
    llap_status     st = row == NULL || path == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n * s->C && st == LLAP_OK; i++) {
        const size_t values = (size_t)(ask->n_samples * w[i / s->C].n_query);
        path[i] = ll_arena_new(arena, values, sizeof **path);
        if (path[i] == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) st = make_rows(s, w, n, row, &n_rows);
    for (int64_t i = 0; i < n_rows && st == LLAP_OK; i++) { /* rows of as many queries together */
        work_row      some[REFERENCE_ROWS];
        const int64_t h = row[i].n > 0 ? w[row[i].first].n_query : 0;
        int64_t       k = 0;
        assert(s->most >= 1 && s->most <= REFERENCE_ROWS);
        for (int64_t j = i; j < n_rows && k < s->most && h > 0; j++) {
            if (row[j].n == 0 || w[row[j].first].n_query != h) continue;
            some[k++] = row[j];
            row[j].n = 0; /* taken */
        }
        if (k > 0) st = ll_report(ask->progress, &ask->at);
        if (k > 0 && st == LLAP_OK) st = draw_rows_or_fewer(s, ask, w, some, k, path);
    }
    for (int64_t i = 0; i < n * s->C && st == LLAP_OK; i++)
        out[i] = (ll_forecast_members){
            .n = ask->n_samples, .value = path[i], .drawn = true, .joint = true
        };
    return st;
}

/* -------- create, destroy -------- */

static void destroy(void *self)
{
    reference_self *s = self;
    reference_drop_nets(s);
    ll_session_destroy(s->summary);
    ll_points_deinit(&s->points);
    ll_batch_deinit(&s->batch);
    ll_scaling_destroy(s->scaling);
    ll_free(s->entity);
    ll_free(s);
}

static float *tensor(const llap_model *m, const char *name)
{
    return ll_params_find(m->network->params, name)->data;
}

/* What training scaled its data by, for the panel's entities; targets only where var is known. */
static llap_status find_scaling(reference_self *s, bool targets)
{
    const llap_model *m = s->m;
    const int64_t     C = targets ? s->C : 0, n = s->D + C;
    const char      **name = ll_new((size_t)n, sizeof *name);
    int64_t          *number = ll_new((size_t)n, sizeof *number);
    llap_status       st = name == NULL || number == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        name[i] = i < s->D ? m->network->input[i] : m->frame.target[i - s->D];
        number[i] = i;
        if (ll_panel_find_var(s->p, name[i]) < 0)
            st = ll_fail(LLAP_EINVAL, "the model looks at '%s', which the data does not have",
                         ll_text_show(name[i]).text);
    }
    const ll_scaling of_training = { .n_entities = m->frame.n_entities,
                                     .n_features = s->D,
                                     .n_targets = C,
                                     .feature = number,
                                     .target = number + s->D,
                                     .x_mean = s->D > 0 ? tensor(m, "scale.x.mean") : NULL,
                                     .x_std = s->D > 0 ? tensor(m, "scale.x.std") : NULL,
                                     .y_mean = tensor(m, "scale.y.mean"),
                                     .y_std = tensor(m, "scale.y.std"),
                                     .clip = LL_SCALING_DEFAULT.clip };
    if (st == LLAP_OK)
        st = ll_scaling_transfer(&of_training, m->frame.entity, name, s->p, &s->scaling);
    ll_free((void *)name);
    ll_free(number);
    return st;
}

static llap_status find_entities(reference_self *s)
{
    s->entity = ll_new((size_t)s->N, sizeof *s->entity);
    if (s->entity == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k < s->N && s->joint; k++)
        s->entity[k] = ll_panel_find_entity(s->p, s->m->frame.entity[k]);
    return LLAP_OK;
}

bool ll_reference_joint(const ll_network_config *c)
{
    return c->options.latent == LL_LATENT_IDENTITY || c->vae.n_entities > 0;
}

llap_status ll_reference_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                    const ll_backend *backend, ll_forecaster *out)
{
    *out = (ll_forecaster){ 0 };
    const ll_network_config *c = &m->network->config;
    const bool               vae = c->options.latent == LL_LATENT_SET_VAE;
    const bool               summarised = c->options.conditioning;
    const bool               joint = ll_reference_joint(c);
    const int64_t            N = joint ? c->n_entities : 1;
    if (summarised && c->summarizer.n_entities != N)
        return ll_fail(LLAP_EUNSUPPORTED, "the summary is of %lld entities, the latent of %lld",
                       (long long)c->summarizer.n_entities, (long long)N);
    reference_self *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (reference_self){ .m = m,
                           .p = p,
                           .c = c,
                           .backend = backend,
                           .most = REFERENCE_ROWS,
                           .joint = joint,
                           .vae = vae,
                           .summarised = summarised,
                           .N = N,
                           .l = summarised ? c->summarizer.context : 0,
                           .D = summarised ? c->n_inputs : 0,
                           .C = c->n_targets,
                           .S = summarised ? c->summarizer.tokens : 0,
                           .H = summarised ? c->summarizer.width : 0,
                           .Z = c->denoiser.data_dim,
                           .n_threads = omp_get_max_threads() };
    *out = (ll_forecaster){ .name = "network",
                            .n_targets = m->frame.n_targets,
                            .self = s,
                            .forecast = forecast,
                            .destroy = destroy };
    llap_status st = find_entities(s);
    if (st == LLAP_OK) st = find_scaling(s, var != NULL);
    if (st == LLAP_OK) st = ll_network_points(m->network, 0, &s->points);
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}
