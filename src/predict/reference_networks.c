#include "predict/reference_networks.h"

#include "base/arena.h"
#include "data/windows/scaling.h"
#include "networks/latent.h"
#include "predict/forecaster.h"
#include "predict/gap_windows.h"
#include "predict/reference.h"

#include <math.h>
#include <string.h>

/* -------- the networks -------- */

llap_status reference_summary_net(reference_self *s)
{
    ll_graph *g = NULL;
    if (!s->summarised) return LLAP_OK;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_output(g, "E", ll_reference_summary(g, s->c, REFERENCE_ROWS, false).context);
        st = ll_session_create(g, s->m->network->params, s->n_threads, &s->summary);
    }
    ll_graph_destroy(g);
    return st;
}

/* z [R,h,Z] as the sampler gives it -> "y" [R,h,N,C] on the scale of training. */
static llap_status decoder_net(reference_self *s, int64_t R, int64_t h)
{
    const ll_vae_config vae = ll_network_vae(s->c, false);
    const ll_shape      stats = LL_SHAPE(s->c->options.latent_rows, s->Z);
    ll_graph           *g = NULL;
    if (!s->vae) return LLAP_OK;
    llap_status st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *z = ll_input(g, "z", LL_SHAPE(R, h, s->Z));
        ll_tensor *ent = ll_input(g, "ent", LL_SHAPE(R, s->N));
        ll_tensor *mean = ll_state(g, "latent.mean", stats, LL_INIT_ZERO);
        ll_tensor *std = ll_state(g, "latent.std", stats, LL_INIT_ZERO);
        z = ll_latent_restore(g, z, mean, std);
        ll_scope_push(g, "vae");
        ll_output(g, "y", ll_vae_decode(g, &vae, z, ent));
        ll_scope_pop(g);
        st = ll_session_create(g, s->m->network->params, s->n_threads, &s->decoder);
    }
    ll_graph_destroy(g);
    return st;
}

/* Readings "y", "obs" [n,h,N,C] -> "z" [n,h,Z] as the sampler has it. */
static llap_status encoder_net(reference_self *s, int64_t n, int64_t h)
{
    const ll_vae_config vae = ll_network_vae(s->c, false);
    const ll_shape      stats = LL_SHAPE(s->c->options.latent_rows, s->Z);
    const ll_shape      cells = LL_SHAPE(n, h, s->N, s->C);
    ll_graph           *g = NULL;
    llap_status         st = ll_graph_create(&g);
    if (st == LLAP_OK) {
        ll_tensor *y = ll_input(g, "y", cells), *obs = ll_input(g, "obs", cells);
        ll_tensor *ent = ll_input(g, "ent", LL_SHAPE(n, s->N));
        ll_tensor *any = ll_input(g, "any", LL_SHAPE(n, h));
        ll_tensor *mean = ll_state(g, "latent.mean", stats, LL_INIT_ZERO);
        ll_tensor *std = ll_state(g, "latent.std", stats, LL_INIT_ZERO);
        ll_scope_push(g, "vae");
        ll_tensor *mu = ll_vae_encode(g, &vae, ll_vae_tokens(g, y, obs), ent).mu;
        ll_scope_pop(g);
        ll_output(g, "z", ll_latent_normalise(g, mu, mean, std, any));
        st = ll_session_create(g, s->m->network->params, s->n_threads, &s->encoder);
    }
    ll_graph_destroy(g);
    return st;
}

ll_sampler_opts reference_sampler(const reference_self *s)
{
    ll_sampler_opts o = s->c->sampling.solver;
    o.predict = s->c->noise.prediction;
    return o;
}

void reference_drop_nets(reference_self *s)
{
    ll_session_destroy(s->decoder);
    ll_session_destroy(s->encoder);
    ll_denoiser_steps_destroy(s->denoise);
    ll_denoiser_loop_destroy(s->planned);
    s->decoder = s->encoder = NULL;
    s->denoise = NULL;
    s->planned = NULL;
    s->R = s->h = 0;
}

static llap_status sampling_net(reference_self *s, ll_extent extent)
{
    const ll_sampler_opts       *o = &s->c->sampling.solver;
    const ll_denoiser_steps_opts how = {
        .extent = extent,
        .S = s->S,
        .part = ll_network_part(s->c),
        .prefix = "denoiser.",
        .backend = s->backend,
        .n_threads = s->n_threads,
        .guided = s->summarised && (o->guidance[0] != 1.0 || o->guidance[1] != 1.0),
        .folded = true,
    };
    const ll_denoiser_loop_opts planned = { .extent = how.extent,
                                            .S = how.S,
                                            .part = how.part,
                                            .prefix = how.prefix,
                                            .backend = how.backend,
                                            .n_threads = how.n_threads,
                                            .folded = how.folded,
                                            .kept = s->keep,
                                            .sampler = reference_sampler(s) };
    return s->backend->memory == NULL || !ll_denoiser_loop_takes(&planned.sampler)
               ? ll_denoiser_steps_create(&s->c->denoiser, s->m->network->params, &how, &s->denoise)
               : ll_denoiser_loop_create(&s->c->denoiser, s->m->network->params, &planned,
                                         &s->points, &s->planned);
}

llap_status reference_nets_for(reference_self *s, int64_t n, int64_t R, int64_t h, bool keep)
{
    if (s->R == R && s->h == h && s->n == n && s->keep == keep) return LLAP_OK;
    reference_drop_nets(s);
    s->keep = keep;
    llap_status st = decoder_net(s, R, h);
    if (st == LLAP_OK) st = sampling_net(s, (ll_extent){ n, R, h, s->Z });
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
    const int64_t     known = ll_model_entity(s->m, p->entity[e]);
    const int64_t     scale = (known >= 0 ? known : s->m->frame.n_entities) * s->D;
    const int64_t     end = end_of(p, e, origin);
    int64_t           first = end;
    float            *x = ll_session_real(s->summary, "x"), *dx = ll_session_real(s->summary, "dx");
    float *seen = ll_session_real(s->summary, "seen"), *dt = ll_session_real(s->summary, "dt");
    bool   any = false;
    while (first > p->start[e] && end - first < s->l &&
           ll_elapsed(p->time[first - 1], origin) < (uint64_t)s->m->frame.context)
        first--;
    for (int64_t row = first; row < end; row++) {
        const int64_t at = (i * s->l + (s->l - (end - row))) * s->N + n;
        dt[at] = (float)((double)(p->time[row] - p->time[first]) / (double)s->m->frame.unit);
        for (int64_t d = 0; d < s->D; d++) {
            const int64_t v = s->input[d], cell = at * s->D + d;
            x[cell] = ll_scale_value(p->value[row * p->n_vars + v], s->x_mean[scale + d],
                                     s->x_std[scale + d], LL_SCALING_DEFAULT.clip);
            seen[cell] = ll_panel_observed(p, row, v) ? 1 : 0;
            any = any || seen[cell] > 0;
            if (dx != NULL && row > first) dx[cell] = x[cell] - x[cell - s->N * s->D];
        }
    }
    return any;
}

llap_status reference_summarise(reference_self *s, const ll_forecast_window *w, const work_row *row,
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
        const int64_t cells = (k < 3 ? s->l * s->D : k == 3 ? s->l : 1) * s->N * REFERENCE_ROWS;
        float        *x = ll_session_real(s->summary, inputs[k]);
        if (x != NULL) memset(x, 0, (size_t)cells * sizeof *x);
    }
    memset(ent, 0, (size_t)(REFERENCE_ROWS * s->N) * sizeof *ent);
    for (int64_t i = 0; i < n; i++) {
        const ll_forecast_window *first = &w[row[i].first];
        for (int64_t k = 0; k < s->N; k++) {
            const int64_t e = s->joint ? s->entity[k] : first->entity;
            if (e >= 0 && see(s, i, k, e, first->origin)) ent[i * s->N + k] = 1;
        }
    }
    memcpy(ll_session_real(s->summary, "ent"), ent, (size_t)(REFERENCE_ROWS * s->N) * sizeof *ent);
    const llap_status st = ll_session_run(s->summary);
    if (st != LLAP_OK) return st;
    memcpy(E_raw, ll_session_output(s->summary, "E"), (size_t)(REFERENCE_ROWS * each) * sizeof *E);
    memcpy(E, E_raw, (size_t)(REFERENCE_ROWS * each) * sizeof *E);
    const ll_params     *store = s->m->network->params;
    const ll_param_info *mean = ll_params_find(store, "cond.mean");
    const ll_param_info *std = ll_params_find(store, "cond.std");
    for (int64_t k = 0; k < s->H && s->c->options.cond_norm != LL_COND_NORM_NONE; k++) {
        double m = 0, d = 0;
        if (s->c->options.cond_norm == LL_COND_NORM_FIXED) {
            m = ll_param_get(store, mean, k);
            d = ll_param_get(store, std, k);
        } else { /* of the rows that are asked for together */
            for (int64_t i = 0; i < n * s->S; i++) m += (double)E_raw[i * s->H + k];
            m /= (double)(n * s->S);
            for (int64_t i = 0; i < n * s->S; i++)
                d += ((double)E_raw[i * s->H + k] - m) * ((double)E_raw[i * s->H + k] - m);
            d = sqrt(d / (double)(n * s->S));
        }
        for (int64_t i = 0; i < REFERENCE_ROWS * s->S; i++)
            E[i * s->H + k] = (float)(((double)E_raw[i * s->H + k] - m) / (d + 1e-6));
    }
    return LLAP_OK;
}

llap_status ll_reference_summarise(const ll_forecaster *f, int64_t entity, int64_t origin, float *E,
                                   float *E_raw)
{
    reference_self          *s = f->self;
    const int64_t            each = s->S * s->H;
    const ll_forecast_window w = { .entity = entity, .origin = origin };
    const work_row           row = { .n = 1 };
    ll_arena                 a = { 0 };
    float      *all = ll_arena_new(&a, 2 * (size_t)(REFERENCE_ROWS * each), sizeof *all);
    float      *ent = ll_arena_new(&a, (size_t)(REFERENCE_ROWS * s->N), sizeof *ent);
    llap_status st = all == NULL || ent == NULL ? LLAP_ENOMEM
                                                : reference_summarise(s, &w, &row, 1, ent, all,
                                                                      all + REFERENCE_ROWS * each);
    if (st == LLAP_OK) {
        memcpy(E, all, (size_t)each * sizeof *E);
        memcpy(E_raw, all + REFERENCE_ROWS * each, (size_t)each * sizeof *E);
    }
    ll_arena_deinit(&a);
    return st;
}

/* Cell c of slot `slot` at time t of a window, on the scale of training; NaN: not read. */
static float reading(const reference_self *s, const ll_forecast_window *v, int64_t slot, int64_t t,
                     int64_t c)
{
    const llap_panel *p = s->p;
    const int64_t     e = s->joint ? s->entity[slot] : v->entity;
    const int64_t     row = e < 0 ? -1 : ll_panel_row_at(p, e, t);
    if (row < 0 || !ll_panel_observed(p, row, s->var[c])) return NAN;
    const int64_t known = ll_model_entity(s->m, p->entity[e]);
    const int64_t at = (known >= 0 ? known : s->m->frame.n_entities) * s->C + c;
    return ll_scale_value(p->value[row * p->n_vars + s->var[c]], s->y_mean[at], s->y_std[at],
                          LL_SCALING_DEFAULT.clip);
}

llap_status reference_observe(reference_self *s, const ll_forecast_window *w, const work_row *row,
                              int64_t n, float *y_obs, uint8_t *keep)
{
    const int64_t h = s->h, Z = s->Z, NC = s->N * s->C;
    llap_status   st = s->vae && s->encoder == NULL ? encoder_net(s, n, h) : LLAP_OK;
    if (st != LLAP_OK) return st;
    float *y = s->vae ? ll_session_real(s->encoder, "y") : y_obs;
    float *obs = s->vae ? ll_session_real(s->encoder, "obs") : NULL;
    float *ent = s->vae ? ll_session_real(s->encoder, "ent") : NULL;
    float *any = s->vae ? ll_session_real(s->encoder, "any") : NULL;
    for (int64_t i = 0; s->vae && i < n * s->N; i++) ent[i] = 0;
    for (int64_t i = 0; s->vae && i < n * h; i++) any[i] = 0;
    for (int64_t i = 0; i < n * h * NC; i++) {
        const int64_t             b = i / (NC * h), k = i / NC % h, slot = i % NC / s->C;
        const ll_forecast_window *v = &w[row[b].first];
        const float               x = reading(s, v, slot, v->time[k], i % s->C);
        y[i] = isnan(x) ? 0 : x;
        if (!s->vae) keep[i] = (uint8_t)!isnan(x);
        else obs[i] = isnan(x) ? 0.0f : 1.0f;
        if (s->vae && !isnan(x)) any[b * h + k] = ent[b * s->N + slot] = 1;
    }
    if (!s->vae) return LLAP_OK;
    st = ll_session_run(s->encoder);
    if (st != LLAP_OK) return st;
    memcpy(y_obs, ll_session_output(s->encoder, "z"), (size_t)(n * h * Z) * sizeof *y_obs);
    for (int64_t k = 0; k < n * h * Z; k++) keep[k] = any[k / Z] > 0;
    return LLAP_OK;
}
