#include "residual/features.h"

#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>

enum { TOKENS = 56, SLOTS = LL_FEATURE_SLOTS, CALENDAR = LL_FEATURE_CALENDAR };

void ll_feature_slots(double context, double step, ll_layout *c)
{
    const double most = (double)TOKENS * SLOTS;
    c->slot = step * most < context ? context / most : step;
    const int64_t rows = (int64_t)ceil(context / c->slot - 1e-6);
    c->slots = (rows + TOKENS - 1) / TOKENS;
    if (c->slots < 1) c->slots = 1;
    c->tokens = (rows + c->slots - 1) / c->slots;
}

llap_status ll_layout_check(const ll_layout *c)
{
    const struct {
        const char *name;
        int64_t     value, least, most;
    } field[] = {
        { "entities", c->entities, c->view == LL_FEATURE_JOINT ? 1 : 0, 1 << 24 },
        { "targets", c->targets, 1, 1 << 16 },
        { "covariates", c->covariates, 0, 1 << 16 },
        { "tokens", c->tokens, 1, TOKENS },
        { "slots", c->slots, 1, SLOTS },
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        if (field[i].value < field[i].least || field[i].value > field[i].most)
            return ll_fail(LLAP_EINVAL, "features: %s: expected %lld to %lld, found %lld",
                           field[i].name, (long long)field[i].least, (long long)field[i].most,
                           (long long)field[i].value);
    if (!(c->slot > 0.0) || !isfinite(c->slot) || !(c->horizon > 0.0) || !isfinite(c->horizon))
        return ll_fail(LLAP_EINVAL, "features: slot %g and horizon %g: expected lengths of time",
                       c->slot, c->horizon);
    return LLAP_OK;
}

int64_t ll_feature_channels(const ll_layout *c)
{
    return c->view == LL_FEATURE_JOINT    ? c->entities * c->targets
           : c->view == LL_FEATURE_ENTITY ? c->targets
                                          : 1;
}

int64_t ll_feature_token_dim(const ll_layout *c)
{
    const int64_t calendar = c->calendar ? CALENDAR : 0, Z = ll_feature_channels(c);
    if (c->view != LL_FEATURE_SINGLE) return Z * (c->slots + 2) + c->covariates + calendar;
    const int64_t others = c->entities > 1 ? c->slots : 0;
    return 2 * c->slots + 1 + others + 2 * (c->targets - 1 + c->covariates) + calendar;
}

int64_t ll_feature_query_dim(const ll_layout *c)
{
    const int64_t Z = ll_feature_channels(c);
    return 2 + 2 * Z + (c->calendar ? CALENDAR : 0) + (c->level ? 2 * Z : 0);
}

int64_t ll_feature_embeddings(const ll_layout *c)
{
    const int64_t each = c->view == LL_FEATURE_SINGLE ? c->targets : 1;
    if (c->view == LL_FEATURE_JOINT || (c->entities <= 1 && each == 1)) return 0;
    return (c->entities + 1) * each;
}

/* ---- sets ---- */

void ll_feature_set_destroy(ll_feature_set *s)
{
    if (s == NULL) return;
    void *const arrays[] = { s->example, s->a, s->log_b, s->r, s->m, s->s, s->tokens };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    ll_free(s);
}

void ll_feature_law(const ll_feature_set *s, size_t i, int64_t q, int64_t z, double *mean,
                    double *sd)
{
    const int64_t Z = ll_feature_channels(&s->c), at = ((int64_t)i * s->h + q) * Z + z;
    assert(i < s->n && q >= 0 && q < s->h && z >= 0 && z < Z);
    const double level = (double)s->m[(int64_t)i * Z + z], scale = (double)s->s[(int64_t)i * Z + z];
    *mean = level + scale * (double)s->a[at];
    *sd = scale * exp((double)s->log_b[at]);
}

size_t ll_feature_entity(const ll_layout *c, const ll_feature_example *r, int64_t z)
{
    assert(z >= 0 && z < ll_feature_channels(c));
    return c->view == LL_FEATURE_JOINT ? (size_t)(z / c->targets) : r->entity;
}

size_t ll_feature_target(const ll_layout *c, const ll_feature_example *r, int64_t z)
{
    assert(z >= 0 && z < ll_feature_channels(c));
    return c->view == LL_FEATURE_SINGLE ? r->target : (size_t)(z % c->targets);
}

/* u of the series at time t, NaN where there is none. */
static float at_time(const ll_record *h, size_t v, double t)
{
    const size_t i = anchor_after(h->t, h->n, t - 1e-6);
    return i < h->n && h->t[i] <= t + 1e-6 ? h->x[v][i] : NAN;
}

void ll_feature_norm(const ll_record *h, size_t v, size_t first, size_t last, double kappa,
                     double *m, double *s)
{
    const float *x = h->x[v];
    double       sum = 0.0, squares = 0.0, n = 0.0;
    assert(first <= last && last <= h->n);
    for (size_t i = first; i < last; i++) {
        if (isnan(x[i])) continue;
        sum += (double)x[i];
        n += 1.0;
    }
    *m = sum / (n + kappa);
    for (size_t i = first; i < last; i++)
        if (!isnan(x[i])) squares += ((double)x[i] - *m) * ((double)x[i] - *m);
    *s = sqrt((squares + 8.0) / (n + 8.0));
}

/* The answers of one channel of row i, from its laws. */
static void keep_channel(ll_feature_set *s, size_t i, int64_t z, const ll_law *law)
{
    const ll_feature_example *r = &s->example[i];
    const int64_t             Z = ll_feature_channels(&s->c);
    const size_t              c = ll_feature_target(&s->c, r, z);
    const ll_anchor_model    *anchor = s->source.anchor[c];
    const ll_record          *h = &s->source.history[ll_feature_entity(&s->c, r, z)];
    double                    m, scale;
    ll_feature_norm(h, c, anchor_after(h->t, h->n, r->origin - anchor->spec.context),
                    anchor_after(h->t, h->n, r->origin), anchor->kappa, &m, &scale);
    if (s->c.residual == LL_RESIDUAL_GLOBAL) m = 0.0, scale = 1.0;
    s->m[(int64_t)i * Z + z] = (float)m;
    s->s[(int64_t)i * Z + z] = (float)scale;
    for (size_t q = 0; q < r->n_query; q++) {
        const int64_t at = ((int64_t)i * s->h + (int64_t)q) * Z + z;
        const double  u = (double)at_time(h, c, r->t_query[q]);
        const bool    anchored = s->c.residual == LL_RESIDUAL_ANCHOR;
        const double  mean = anchored ? law[q].mean : m, sd = anchored ? law[q].sd : scale;
        const double  x = (u - mean) / sd;
        s->a[at] = (float)((mean - m) / scale);
        s->log_b[at] = (float)log(sd / scale);
        s->r[at] = (float)x;
    }
}

/* Rows first .. first + n - 1; requests of one target stand together, of one origin in order. */
static llap_status ask_anchors(ll_feature_set *s, size_t first, size_t n,
                               ll_anchor_request *request, ll_law *law)
{
    const int64_t Z = ll_feature_channels(&s->c);
    llap_status   st = LLAP_OK;
    for (int64_t c = 0; c < s->c.targets && st == LLAP_OK; c++) {
        size_t count = 0;
        for (size_t i = first; i < first + n; i++)
            for (int64_t z = 0; z < Z; z++) {
                const ll_feature_example *r = &s->example[i];
                if (ll_feature_target(&s->c, r, z) != (size_t)c) continue;
                const size_t e = ll_feature_entity(&s->c, r, z);
                assert(e < s->source.n && count < n * (size_t)Z);
                request[count] =
                    (ll_anchor_request){ .history = s->source.series[c][e],
                                         .series = s->source.known[e],
                                         .origin = r->origin,
                                         .n_query = r->n_query,
                                         .t_query = r->t_query,
                                         .law = law + count * (size_t)s->h,
                                         .all = s->source.all ? s->source.all[c] : NULL };
                count++;
            }
        st = ll_anchor_model_forecast(s->source.anchor[c], request, count);
        count = 0;
        for (size_t i = first; i < first + n && st == LLAP_OK; i++)
            for (int64_t z = 0; z < Z; z++)
                if (ll_feature_target(&s->c, &s->example[i], z) == (size_t)c)
                    keep_channel(s, i, z, law + count++ * (size_t)s->h);
    }
    return st;
}

static llap_status set_arrays(ll_feature_set *s, const ll_feature_example *row, size_t n)
{
    const int64_t Z = ll_feature_channels(&s->c);
    s->n = n;
    for (size_t i = 0; i < n; i++)
        if ((int64_t)row[i].n_query > s->h) s->h = (int64_t)row[i].n_query;
    const size_t values = (size_t)(s->h * Z);
    s->example = ll_new(n, sizeof *s->example);
    s->a = ll_new(n, values * sizeof *s->a);
    s->log_b = ll_new(n, values * sizeof *s->log_b);
    s->r = ll_new(n, values * sizeof *s->r);
    s->m = ll_new(n, (size_t)Z * sizeof *s->m);
    s->s = ll_new(n, (size_t)Z * sizeof *s->s);
    if (s->example == NULL || s->a == NULL || s->log_b == NULL || s->r == NULL || s->m == NULL ||
        s->s == NULL)
        return LLAP_ENOMEM;
    for (size_t i = 0; i < n; i++) s->example[i] = row[i];
    for (size_t i = 0; i < n * values; i++) s->r[i] = NAN;
    return LLAP_OK;
}

llap_status ll_feature_set_create(const ll_layout *c, const ll_feature_source *source,
                                  const ll_feature_example *row, size_t n, ll_feature_set **out)
{
    enum { AT_ONCE = 4096 }; /* requests */
    *out = NULL;
    llap_status st = ll_layout_check(c);
    if (st != LLAP_OK) return st;
    ll_feature_set *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->c = *c;
    s->source = *source;
    st = set_arrays(s, row, n);
    const size_t       Z = (size_t)ll_feature_channels(c), chunk = Z < AT_ONCE ? AT_ONCE / Z : 1;
    const size_t       most = (chunk < n ? chunk : n) * Z;
    ll_anchor_request *request = ll_new(most, sizeof *request);
    ll_law            *law = ll_new(most, (size_t)s->h * sizeof *law);
    if (st == LLAP_OK && (request == NULL || law == NULL)) st = LLAP_ENOMEM;
    for (size_t i = 0; i < n && st == LLAP_OK; i += chunk)
        st = ask_anchors(s, i, n - i < chunk ? n - i : chunk, request, law);
    ll_free(request);
    ll_free(law);
    if (st == LLAP_OK) *out = s;
    else ll_feature_set_destroy(s);
    return st;
}
