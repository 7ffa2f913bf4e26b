/* A model of the `reference` profile as a forecaster: history to summary, sampler, decoder, units
 * of the data. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/scaling.h"
#include "task/reference_nets.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* -------- paths -------- */

/* Samples of one row, z [R,h,Z], as paths of its windows. */
static llap_status decode(reference_self *s, const task_window *w, const work_row *row,
                          const float *ent, const float *z, double **path)
{
    const int64_t R = s->R, h = s->h;
    const float  *y = z; /* an identity latent: [R,h,N,C] */
    if (s->vae) {
        float *present = task_net_real(s->decoder, "ent");
        memcpy(task_net_real(s->decoder, "z"), z, (size_t)(R * h * s->Z) * sizeof *z);
        for (int64_t r = 0; r < R; r++) {
            memcpy(present + r * s->N, ent, (size_t)s->N * sizeof *ent);
            for (int64_t i = 0; i < row->n; i++) { /* what is asked for is there */
                const int64_t e = llap_model_entity(s->m, s->p->entity[w[row->first + i].entity]);
                present[r * s->N + (s->joint ? e : 0)] = 1;
            }
        }
        const llap_status st = task_net_run(s->decoder);
        if (st != LLAP_OK) return st;
        y = task_net_output(s->decoder, "y");
    }
    for (int64_t i = 0; i < row->n; i++) {
        const int64_t known = llap_model_entity(s->m, s->p->entity[w[row->first + i].entity]);
        const int64_t slot = s->joint ? known : 0;
        const int64_t scale = (known >= 0 ? known : s->m->frame.n_entities) * s->C;
        for (int64_t c = 0; c < s->C; c++)
            for (int64_t k = 0; k < R * h; k++)
                path[(row->first + i) * s->C + c][k] = (double)llap_unscale_value(
                    y[(k * s->N + slot) * s->C + c], s->y_mean[scale + c], s->y_std[scale + c]);
    }
    return LLAP_OK;
}

static llap_status sample(reference_self *s, llap_extent extent, const llap_denoise_batch *in,
                          const llap_sample_io *io, float *z)
{
    if (s->planned != NULL) return llap_planned_sample(s->planned, in, io, z);
    const llap_sampler_opts o = reference_sampler(s);
    const llap_predictor    p = llap_denoise_predictor(s->denoise);
    const llap_status       st = llap_denoise_windows(s->denoise, in);
    return st == LLAP_OK ? llap_sample(&o, &s->points, extent, &p, io, z) : st;
}

static llap_status draw_rows(reference_self *s, const task_ask *ask, const task_window *w,
                             const work_row *row, int64_t n, double **path)
{
    const int64_t h = w[row[0].first].n_query, R = ask->n_samples, each = s->S * s->H;
    llap_arena    a = { 0 };
    float        *tq = llap_arena_new(&a, (size_t)(REFERENCE_ROWS * h), sizeof *tq);
    float        *E = llap_arena_new(&a, 2 * (size_t)(REFERENCE_ROWS * each), sizeof *E);
    float        *ent = llap_arena_new(&a, (size_t)(REFERENCE_ROWS * s->N), sizeof *ent);
    float        *z = llap_arena_new(&a, (size_t)(n * R * h * s->Z), sizeof *z);
    float        *y_obs = llap_arena_new(&a, (size_t)(n * h * s->Z), sizeof *y_obs);
    uint8_t      *kept = llap_arena_new(&a, (size_t)(n * h * s->Z), sizeof *kept);
    const bool    keep = w[row[0].first].keep;
    uint64_t      id[REFERENCE_ROWS] = { 0 };
    llap_status   st =
        tq == NULL || E == NULL || ent == NULL || z == NULL || y_obs == NULL || kept == NULL
              ? LLAP_ENOMEM
              : reference_nets_for(s, n, R, h, keep);
    if (st == LLAP_OK && keep) st = reference_observe(s, w, row, n, y_obs, kept);
    if (st == LLAP_OK) st = reference_summarise(s, w, row, n, ent, E, E + REFERENCE_ROWS * each);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const task_window *v = &w[row[i].first];
        id[i] = row[i].id;
        for (int64_t k = 0; k < h; k++)
            tq[i * h + k] = (float)((double)(v->time[k] - v->origin) / (double)s->m->frame.unit);
    }
    if (st == LLAP_OK) {
        const llap_extent        extent = { n, R, h, s->Z };
        const llap_denoise_batch in = { .tq = tq,
                                        .E = s->summarised ? E : NULL,
                                        .E_raw = s->summarised ? E + REFERENCE_ROWS * each : NULL };
        const llap_sample_io     io = { .seed = ask->seed,
                                        .window = id,
                                        .y_obs = keep ? y_obs : NULL,
                                        .keep = keep ? kept : NULL };
        llap_network_origin(s->c, tq, n, h);
        st = sample(s, extent, &in, &io, z);
    }
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        st = decode(s, w, &row[i], ent + i * s->N, z + i * R * h * s->Z, path);
    llap_arena_deinit(&a);
    return st;
}

/* Half as many at once, where the backend's own memory does not suffice. */
static llap_status draw_rows_or_fewer(reference_self *s, const task_ask *ask, const task_window *w,
                                      const work_row *row, int64_t n, double **path)
{
    llap_status st = draw_rows(s, ask, w, row, n, path);
    if (st != LLAP_ENOMEM || n == 1 || s->backend->memory == NULL) return st;
    reference_drop_nets(s);
    s->most = (n + 1) / 2;
    llap_logf(ask->log, LLAP_LOG_WARNING,
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

static bool same_row(const reference_self *s, const task_window *a, const task_window *b)
{
    return s->joint && a->origin == b->origin && a->n_query == b->n_query &&
           memcmp(a->time, b->time, (size_t)a->n_query * sizeof *a->time) == 0;
}

static llap_status make_rows(const reference_self *s, const task_window *w, int64_t n,
                             work_row *row, int64_t *n_rows)
{
    *n_rows = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *name = s->p->entity[w[i].entity];
        if (s->joint && llap_model_entity(s->m, name) < 0)
            return llap_fail(LLAP_EINVAL,
                             "entity '%s': the model tells its %lld entities apart and does not "
                             "know this one",
                             llap_text_show(name).text, (long long)s->N);
        if (*n_rows > 0 && same_row(s, &w[row[*n_rows - 1].first], &w[i])) {
            row[*n_rows - 1].n++;
            continue;
        }
        /* Whoever else is asked for does not change what is drawn. */
        row[(*n_rows)++] =
            (work_row){ .first = i,
                        .n = 1,
                        .id = s->joint ? llap_hash(1, &w[i].origin, sizeof w[i].origin) : w[i].id };
    }
    return LLAP_OK;
}

static llap_status forecast(const task_forecaster *f, const task_ask *ask, const task_window *w,
                            int64_t n, llap_arena *arena, task_forecast *out)
{
    reference_self *s = f->self;
    work_row       *row = llap_arena_new(arena, (size_t)n, sizeof *row);
    double        **path = llap_arena_new(arena, (size_t)(n * s->C), sizeof *path);
    int64_t         n_rows = 0;
    llap_status     st = row == NULL || path == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n * s->C && st == LLAP_OK; i++) {
        const size_t values = (size_t)(ask->n_samples * w[i / s->C].n_query);
        path[i] = llap_arena_new(arena, values, sizeof **path);
        if (path[i] == NULL) st = LLAP_ENOMEM;
    }
    if (st == LLAP_OK) st = make_rows(s, w, n, row, &n_rows);
    for (int64_t i = 0; i < n_rows && st == LLAP_OK; i++) { /* rows of as many queries together */
        work_row      some[REFERENCE_ROWS];
        const int64_t h = row[i].n > 0 ? w[row[i].first].n_query : 0;
        int64_t       k = 0;
        for (int64_t j = i; j < n_rows && k < s->most && h > 0; j++) {
            if (row[j].n == 0 || w[row[j].first].n_query != h) continue;
            some[k++] = row[j];
            row[j].n = 0; /* taken */
        }
        if (k > 0) st = llap_report(ask->progress, &ask->at);
        if (k > 0 && st == LLAP_OK) st = draw_rows_or_fewer(s, ask, w, some, k, path);
    }
    for (int64_t i = 0; i < n * s->C && st == LLAP_OK; i++)
        out[i] =
            (task_forecast){ .n = ask->n_samples, .value = path[i], .drawn = true, .joint = true };
    return st;
}

/* -------- create, destroy -------- */

static void destroy(void *self)
{
    reference_self *s = self;
    reference_drop_nets(s);
    task_net_destroy(s->summary);
    llap_points_deinit(&s->points);
    llap_free(s->input);
    llap_free(s->entity);
    llap_free(s);
}

static const float *tensor(const llap_model *m, const char *name)
{
    return llap_params_find(m->network->params, name)->data;
}

static llap_status find_columns(reference_self *s)
{
    const llap_network *net = s->m->network;
    s->input = llap_new((size_t)s->D, sizeof *s->input);
    s->entity = llap_new((size_t)s->N, sizeof *s->entity);
    if (s->input == NULL || s->entity == NULL) return LLAP_ENOMEM;
    for (int64_t d = 0; d < s->D; d++) {
        s->input[d] = llap_panel_find_var(s->p, net->input[d]);
        if (s->input[d] < 0)
            return llap_fail(LLAP_EINVAL, "the model looks at '%s', which the data does not have",
                             llap_text_show(net->input[d]).text);
    }
    for (int64_t k = 0; k < s->N && s->joint; k++)
        s->entity[k] = llap_panel_find_entity(s->p, s->m->frame.entity[k]);
    return LLAP_OK;
}

bool task_reference_joint(const llap_network_config *c)
{
    return c->options.latent == LLAP_LATENT_IDENTITY || c->vae.n_entities > 0;
}

llap_status task_reference_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                      const llap_backend *backend, task_forecaster *out)
{
    *out = (task_forecaster){ 0 };
    const llap_network_config *c = &m->network->config;
    const bool                 vae = c->options.latent == LLAP_LATENT_SET_VAE;
    const bool                 summarised = c->options.conditioning;
    const bool                 joint = task_reference_joint(c);
    const int64_t              N = joint ? c->n_entities : 1;
    if (summarised && c->summarizer.n_entities != N)
        return llap_fail(LLAP_EUNSUPPORTED, "the summary is of %lld entities, the latent of %lld",
                         (long long)c->summarizer.n_entities, (long long)N);
    reference_self *s = llap_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (reference_self){ .m = m,
                           .p = p,
                           .c = c,
                           .var = var,
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
                           .x_mean = summarised ? tensor(m, "scale.x.mean") : NULL,
                           .x_std = summarised ? tensor(m, "scale.x.std") : NULL,
                           .y_mean = tensor(m, "scale.y.mean"),
                           .y_std = tensor(m, "scale.y.std"),
                           .n_threads = omp_get_max_threads() };
    *out = (task_forecaster){ .name = "network",
                              .n_targets = m->frame.n_targets,
                              .self = s,
                              .forecast = forecast,
                              .destroy = destroy };
    llap_status st = find_columns(s);
    if (st == LLAP_OK) st = llap_network_points(m->network, 0, &s->points);
    if (st == LLAP_OK) st = reference_summary_net(s);
    if (st != LLAP_OK) task_forecaster_deinit(out);
    return st;
}
