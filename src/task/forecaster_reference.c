/* A model of the `reference` profile as a forecaster: history to summary, sampler, decoder, units
 * of the data. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng.h"
#include "base/text.h"
#include "data/scaling.h"
#include "model/denoise.h"
#include "model/latent.h"
#include "model/planned.h"
#include "task/reference.h"
#include "task/spots.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { ROWS = 8 }; /* that go through the networks at once, or fewer */

typedef struct reference_self {
    const llap_model          *m;
    const llap_panel          *p;
    const llap_network_config *c;
    bool                       joint, vae, summarised; /* what the model has */
    int64_t                    N, l, h, D, C, S, H, Z; /* h of the nets below; 0: none yet */
    int64_t                    R, n;                   /* samples and rows of the nets below */
    int64_t                   *input;                  /* [D] variables of the panel */
    int64_t                   *entity;                 /* [N] of the panel, -1: not there; joint */
    const float               *x_mean, *x_std, *y_mean, *y_std;
    const int64_t             *var; /* [C] of the panel */
    task_net                  *summary, *decoder, *encoder;
    const llap_backend        *backend; /* of the reverse process; the rest: cpu */
    llap_denoise              *denoise;
    llap_planned              *planned; /* instead, on backends with memory of their own */
    int64_t                    most;    /* rows that go through at once */
    llap_points                points;
    int                        n_threads;
} reference_self;

/* Windows that go through as one row: of one origin and one list of queries; else one each. */
typedef struct work_row {
    int64_t  first, n; /* windows */
    uint64_t id;
} work_row;

/* -------- the networks -------- */

static llap_status summary_net(reference_self *s)
{
    llap_graph *g = NULL;
    if (!s->summarised) return LLAP_OK;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_output(g, "E", task_reference_summary(g, s->c, ROWS, false).context);
        st = task_net_create(g, s->m->network->params, s->n_threads, &s->summary);
    }
    llap_graph_destroy(g);
    return st;
}

/* z [R,h,Z] as the sampler gives it -> "y" [R,h,N,C] on the scale of training. */
static llap_status decoder_net(reference_self *s, int64_t R, int64_t h)
{
    const llap_vae_config vae = llap_network_vae(s->c, false);
    const llap_shape      stats = LLAP_SHAPE(s->c->options.latent_rows, s->Z);
    llap_graph           *g = NULL;
    if (!s->vae) return LLAP_OK;
    llap_status st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_tensor *z = llap_input(g, "z", LLAP_SHAPE(R, h, s->Z));
        llap_tensor *ent = llap_input(g, "ent", LLAP_SHAPE(R, s->N));
        llap_tensor *mean = llap_state(g, "latent.mean", stats, LLAP_INIT_ZERO);
        llap_tensor *std = llap_state(g, "latent.std", stats, LLAP_INIT_ZERO);
        z = llap_latent_restore(g, z, mean, std);
        llap_scope_push(g, "vae");
        llap_output(g, "y", llap_vae_decode(g, &vae, z, ent));
        llap_scope_pop(g);
        st = task_net_create(g, s->m->network->params, s->n_threads, &s->decoder);
    }
    llap_graph_destroy(g);
    return st;
}

/* Readings "y", "obs" [n,h,N,C] -> "z" [n,h,Z] as the sampler has it. */
static llap_status encoder_net(reference_self *s, int64_t n, int64_t h)
{
    const llap_vae_config vae = llap_network_vae(s->c, false);
    const llap_shape      stats = LLAP_SHAPE(s->c->options.latent_rows, s->Z);
    const llap_shape      cells = LLAP_SHAPE(n, h, s->N, s->C);
    llap_graph           *g = NULL;
    llap_status           st = llap_graph_create(&g);
    if (st == LLAP_OK) {
        llap_tensor *y = llap_input(g, "y", cells), *obs = llap_input(g, "obs", cells);
        llap_tensor *ent = llap_input(g, "ent", LLAP_SHAPE(n, s->N));
        llap_tensor *any = llap_input(g, "any", LLAP_SHAPE(n, h));
        llap_tensor *mean = llap_state(g, "latent.mean", stats, LLAP_INIT_ZERO);
        llap_tensor *std = llap_state(g, "latent.std", stats, LLAP_INIT_ZERO);
        llap_scope_push(g, "vae");
        llap_tensor *mu = llap_vae_encode(g, &vae, llap_vae_tokens(g, y, obs), ent).mu;
        llap_scope_pop(g);
        llap_output(g, "z", llap_latent_normalise(g, mu, mean, std, any));
        st = task_net_create(g, s->m->network->params, s->n_threads, &s->encoder);
    }
    llap_graph_destroy(g);
    return st;
}

static llap_sampler_opts sampler_of(const reference_self *s)
{
    llap_sampler_opts o = s->c->sampling.solver;
    o.predict = s->c->noise.prediction;
    return o;
}

static void drop_nets(reference_self *s)
{
    task_net_destroy(s->decoder);
    task_net_destroy(s->encoder);
    llap_denoise_destroy(s->denoise);
    llap_planned_destroy(s->planned);
    s->decoder = s->encoder = NULL;
    s->denoise = NULL;
    s->planned = NULL;
    s->R = s->h = 0;
}

static llap_status sampling_net(reference_self *s, llap_extent extent)
{
    const llap_sampler_opts *o = &s->c->sampling.solver;
    const llap_denoise_opts  how = {
         .extent = extent,
         .S = s->S,
         .part = llap_network_part(s->c),
         .prefix = "denoiser.",
         .backend = s->backend,
         .n_threads = s->n_threads,
         .guided = s->summarised && (o->guidance[0] != 1.0 || o->guidance[1] != 1.0),
         .folded = true,
    };
    const llap_planned_opts planned = { .extent = how.extent,
                                        .S = how.S,
                                        .part = how.part,
                                        .prefix = how.prefix,
                                        .backend = how.backend,
                                        .n_threads = how.n_threads,
                                        .folded = how.folded,
                                        .sampler = sampler_of(s) };
    return s->backend->memory == NULL
               ? llap_denoise_create(&s->c->denoiser, s->m->network->params, &how, &s->denoise)
               : llap_planned_create(&s->c->denoiser, s->m->network->params, &planned, &s->points,
                                     &s->planned);
}

/* Everything that depends on the number of rows, samples and queries. */
static llap_status nets_for(reference_self *s, int64_t n, int64_t R, int64_t h)
{
    if (s->R == R && s->h == h && s->n == n) return LLAP_OK;
    drop_nets(s);
    llap_status st = decoder_net(s, R, h);
    if (st == LLAP_OK) st = sampling_net(s, (llap_extent){ n, R, h, s->Z });
    if (st == LLAP_OK) {
        s->R = R;
        s->h = h;
        s->n = n;
    }
    return st;
}

/* -------- what they see -------- */

/* The row of the panel after the last one of entity e up to t. */
static int64_t end_of(const llap_panel *p, int64_t e, int64_t t)
{
    int64_t low = p->start[e], high = p->start[e + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (p->time[middle] <= t) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The history of entity e of the panel into slot n of row i; false: nothing is observed. */
static bool see(reference_self *s, int64_t i, int64_t n, int64_t e, int64_t origin)
{
    const llap_panel *p = s->p;
    const int64_t     known = llap_model_entity(s->m, p->entity[e]);
    const int64_t     scale = (known >= 0 ? known : s->m->frame.n_entities) * s->D;
    const int64_t     end = end_of(p, e, origin);
    int64_t           first = end;
    float            *x = task_net_real(s->summary, "x"), *dx = task_net_real(s->summary, "dx");
    float *seen = task_net_real(s->summary, "seen"), *dt = task_net_real(s->summary, "dt");
    bool   any = false;
    while (first > p->start[e] && end - first < s->l &&
           origin - p->time[first - 1] < s->m->frame.context)
        first--;
    for (int64_t row = first; row < end; row++) {
        const int64_t at = (i * s->l + (s->l - (end - row))) * s->N + n;
        dt[at] = (float)((double)(p->time[row] - p->time[first]) / (double)s->m->frame.unit);
        for (int64_t d = 0; d < s->D; d++) {
            const int64_t v = s->input[d], cell = at * s->D + d;
            x[cell] = llap_scale_value(p->value[row * p->n_vars + v], s->x_mean[scale + d],
                                       s->x_std[scale + d], LLAP_SCALING_DEFAULT.clip);
            seen[cell] = llap_panel_observed(p, row, v) ? 1 : 0;
            any = any || seen[cell] > 0;
            if (dx != NULL && row > first) dx[cell] = x[cell] - x[cell - s->N * s->D];
        }
    }
    return any;
}

/* The summaries of up to ROWS rows, [ROWS,S,H], as the denoiser wants them: E, and raw. */
static llap_status summarise(reference_self *s, const task_window *w, const work_row *row,
                             int64_t n, float *ent, float *E, float *E_raw)
{
    static const char *const inputs[] = { "x", "dx", "seen", "dt", "ent" };
    const int64_t            each = s->S * s->H;
    if (!s->summarised) {
        for (int64_t i = 0; i < n * s->N; i++)
            ent[i] = !s->joint || s->entity[i % s->N] >= 0 ? 1.0f : 0.0f;
        return LLAP_OK;
    }
    for (int k = 0; k < 5; k++) {
        const int64_t cells = (k < 3 ? s->l * s->D : k == 3 ? s->l : 1) * s->N * ROWS;
        float        *x = task_net_real(s->summary, inputs[k]);
        if (x != NULL) memset(x, 0, (size_t)cells * sizeof *x);
    }
    memset(ent, 0, (size_t)(ROWS * s->N) * sizeof *ent);
    for (int64_t i = 0; i < n; i++) {
        const task_window *first = &w[row[i].first];
        for (int64_t k = 0; k < s->N; k++) {
            const int64_t e = s->joint ? s->entity[k] : first->entity;
            if (e >= 0 && see(s, i, k, e, first->origin)) ent[i * s->N + k] = 1;
        }
    }
    memcpy(task_net_real(s->summary, "ent"), ent, (size_t)(ROWS * s->N) * sizeof *ent);
    const llap_status st = task_net_run(s->summary);
    if (st != LLAP_OK) return st;
    memcpy(E_raw, task_net_output(s->summary, "E"), (size_t)(ROWS * each) * sizeof *E);
    memcpy(E, E_raw, (size_t)(ROWS * each) * sizeof *E);
    const llap_params     *store = s->m->network->params;
    const llap_param_info *mean = llap_params_find(store, "cond.mean");
    const llap_param_info *std = llap_params_find(store, "cond.std");
    for (int64_t k = 0; k < s->H && s->c->options.cond_norm != LLAP_COND_NORM_NONE; k++) {
        double m = 0, d = 0;
        if (s->c->options.cond_norm == LLAP_COND_NORM_FIXED) {
            m = llap_param_get(store, mean, k);
            d = llap_param_get(store, std, k);
        } else { /* of the rows that are asked for together */
            for (int64_t i = 0; i < n * s->S; i++) m += (double)E_raw[i * s->H + k];
            m /= (double)(n * s->S);
            for (int64_t i = 0; i < n * s->S; i++)
                d += ((double)E_raw[i * s->H + k] - m) * ((double)E_raw[i * s->H + k] - m);
            d = sqrt(d / (double)(n * s->S));
        }
        for (int64_t i = 0; i < ROWS * s->S; i++)
            E[i * s->H + k] = (float)(((double)E_raw[i * s->H + k] - m) / (d + 1e-6));
    }
    return LLAP_OK;
}

llap_status task_reference_summarise(const task_forecaster *f, int64_t entity, int64_t origin,
                                     float *E, float *E_raw)
{
    reference_self   *s = f->self;
    const int64_t     each = s->S * s->H;
    const task_window w = { .entity = entity, .origin = origin };
    const work_row    row = { .n = 1 };
    llap_arena        a = { 0 };
    float            *all = llap_arena_new(&a, 2 * (size_t)(ROWS * each), sizeof *all);
    float            *ent = llap_arena_new(&a, (size_t)(ROWS * s->N), sizeof *ent);
    llap_status       st = all == NULL || ent == NULL
                               ? LLAP_ENOMEM
                               : summarise(s, &w, &row, 1, ent, all, all + ROWS * each);
    if (st == LLAP_OK) {
        memcpy(E, all, (size_t)each * sizeof *E);
        memcpy(E_raw, all + ROWS * each, (size_t)each * sizeof *E);
    }
    llap_arena_deinit(&a);
    return st;
}

/* Cell c of slot `slot` at time t of a window, on the scale of training; NaN: not read. */
static float reading(const reference_self *s, const task_window *v, int64_t slot, int64_t t,
                     int64_t c)
{
    const llap_panel *p = s->p;
    const int64_t     e = s->joint ? s->entity[slot] : v->entity;
    const int64_t     row = e < 0 ? -1 : task_row_at(p, e, t);
    if (row < 0 || !llap_panel_observed(p, row, s->var[c])) return NAN;
    const int64_t known = llap_model_entity(s->m, p->entity[e]);
    const int64_t at = (known >= 0 ? known : s->m->frame.n_entities) * s->C + c;
    return llap_scale_value(p->value[row * p->n_vars + s->var[c]], s->y_mean[at], s->y_std[at],
                            LLAP_SCALING_DEFAULT.clip);
}

/* What was read at the queries of n rows, as latents y_obs [n,h,Z]; keep likewise: 1 where it
 * holds. An identity latent keeps each reading by itself. */
static llap_status observe(reference_self *s, const task_window *w, const work_row *row, int64_t n,
                           float *y_obs, uint8_t *keep)
{
    const int64_t h = s->h, Z = s->Z, NC = s->N * s->C;
    llap_status   st = s->vae && s->encoder == NULL ? encoder_net(s, n, h) : LLAP_OK;
    if (st != LLAP_OK) return st;
    float *y = s->vae ? task_net_real(s->encoder, "y") : y_obs;
    float *obs = s->vae ? task_net_real(s->encoder, "obs") : NULL;
    float *ent = s->vae ? task_net_real(s->encoder, "ent") : NULL;
    float *any = s->vae ? task_net_real(s->encoder, "any") : NULL;
    for (int64_t i = 0; s->vae && i < n * s->N; i++) ent[i] = 0;
    for (int64_t i = 0; s->vae && i < n * h; i++) any[i] = 0;
    for (int64_t i = 0; i < n * h * NC; i++) {
        const int64_t      b = i / (NC * h), k = i / NC % h, slot = i % NC / s->C;
        const task_window *v = &w[row[b].first];
        const float        x = reading(s, v, slot, v->time[k], i % s->C);
        y[i] = isnan(x) ? 0 : x;
        if (!s->vae) keep[i] = (uint8_t)!isnan(x);
        else obs[i] = isnan(x) ? 0.0f : 1.0f;
        if (s->vae && !isnan(x)) any[b * h + k] = ent[b * s->N + slot] = 1;
    }
    if (!s->vae) return LLAP_OK;
    st = task_net_run(s->encoder);
    if (st != LLAP_OK) return st;
    memcpy(y_obs, task_net_output(s->encoder, "z"), (size_t)(n * h * Z) * sizeof *y_obs);
    for (int64_t k = 0; k < n * h * Z; k++) keep[k] = any[k / Z] > 0;
    return LLAP_OK;
}

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
    const llap_sampler_opts o = sampler_of(s);
    const llap_predictor    p = llap_denoise_predictor(s->denoise);
    const llap_status       st = llap_denoise_windows(s->denoise, in);
    return st == LLAP_OK ? llap_sample(&o, &s->points, extent, &p, io, z) : st;
}

static llap_status draw_rows(reference_self *s, const task_ask *ask, const task_window *w,
                             const work_row *row, int64_t n, double **path)
{
    const int64_t h = w[row[0].first].n_query, R = ask->n_samples, each = s->S * s->H;
    llap_arena    a = { 0 };
    float        *tq = llap_arena_new(&a, (size_t)(ROWS * h), sizeof *tq);
    float        *E = llap_arena_new(&a, 2 * (size_t)(ROWS * each), sizeof *E);
    float        *ent = llap_arena_new(&a, (size_t)(ROWS * s->N), sizeof *ent);
    float        *z = llap_arena_new(&a, (size_t)(n * R * h * s->Z), sizeof *z);
    float        *y_obs = llap_arena_new(&a, (size_t)(n * h * s->Z), sizeof *y_obs);
    uint8_t      *kept = llap_arena_new(&a, (size_t)(n * h * s->Z), sizeof *kept);
    const bool    keep = w[row[0].first].keep;
    uint64_t      id[ROWS] = { 0 };
    llap_status   st =
        tq == NULL || E == NULL || ent == NULL || z == NULL || y_obs == NULL || kept == NULL
              ? LLAP_ENOMEM
              : nets_for(s, n, R, h);
    if (st == LLAP_OK && keep) st = observe(s, w, row, n, y_obs, kept);
    if (st == LLAP_OK) st = summarise(s, w, row, n, ent, E, E + ROWS * each);
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
                                        .E_raw = s->summarised ? E + ROWS * each : NULL };
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
    drop_nets(s);
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
        work_row      some[ROWS];
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
    drop_nets(s);
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
                           .most = ROWS,
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
    if (st == LLAP_OK) st = summary_net(s);
    if (st != LLAP_OK) task_forecaster_deinit(out);
    return st;
}
