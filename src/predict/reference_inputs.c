/* What the networks of the `reference` profile take of a batch, in training and later. */
#include "predict/reference_inputs.h"

#include "networks/conditioning.h"

#include <assert.h>
#include <string.h>

ll_batch_opts ll_reference_batch_opts(const ll_model_frame *f)
{
    ll_batch_opts o = LL_BATCH_DEFAULT;
    o.unit_ns = f->unit;
    o.diff = LL_DIFF_PLAIN;
    return o;
}

static void clear(float *x, int64_t n)
{
    if (x != NULL) memset(x, 0, (size_t)n * sizeof *x);
}

void ll_batch_targets(const ll_batch *b, int64_t B, int64_t h, const uint8_t *present, float *y,
                      float *obs, float *ent)
{
    const int64_t N = b->n_slots, C = b->n_targets, hb = b->n_query;
    assert(b->n_examples <= B && hb <= h);
    clear(y, B * h * N * C);
    clear(obs, B * h * N * C);
    clear(ent, B * N);
    for (int64_t i = 0; i < b->n_examples; i++)
        for (int64_t n = 0; n < N; n++) {
            if (!present[i * N + n]) continue;
            ent[i * N + n] = 1;
            for (int64_t k = 0; k < hb; k++)
                for (int64_t c = 0; c < C; c++) {
                    const int64_t from = ((i * N + n) * hb + k) * C + c;
                    const int64_t to = ((i * h + k) * N + n) * C + c;
                    if (y != NULL) y[to] = b->y[from];
                    obs[to] = b->y_obs[from];
                }
        }
}

/* Rows of l steps and `width` numbers, of which a slot of the batch has the last lb. */
static float *slot_of(float *x, const ll_batch *b, int64_t slot, int64_t l, int64_t width)
{
    assert(b->n_context <= l);
    return x + (slot * l + l - b->n_context) * width;
}

void ll_batch_seen(const ll_batch *b, int64_t B, int64_t l, float *seen, float *ent)
{
    const int64_t N = b->n_slots, D = b->n_features, cells = b->n_context * D;
    assert(b->n_examples <= B);
    clear(seen, B * N * l * D);
    clear(ent, B * N);
    for (int64_t i = 0; i < b->n_examples * N; i++) {
        if (!b->valid[i]) continue;
        ent[i] = 1;
        float *to = slot_of(seen, b, i, l, D);
        for (int64_t k = 0; k < cells; k++) to[k] = b->x_obs[i * cells + k];
    }
}

void ll_batch_history(const ll_batch *b, int64_t B, int64_t l, ll_session *net)
{
    const struct {
        float       *to;
        const float *from;
        int64_t      width; /* of a step */
    } part[] = { { ll_session_real(net, "x"), b->v, b->n_features },
                 { ll_session_real(net, "dx"), b->dv, b->n_features },
                 { ll_session_real(net, "dt"), b->delta_t, 1 } };
    ll_batch_seen(b, B, l, ll_session_real(net, "seen"), ll_session_real(net, "ent"));
    for (int k = 0; k < 3; k++) {
        const int64_t n = b->n_context * part[k].width;
        if (part[k].to == NULL) continue; /* no use for it */
        clear(part[k].to, B * b->n_slots * l * part[k].width);
        for (int64_t i = 0; i < b->n_examples * b->n_slots; i++)
            if (b->valid[i])
                memcpy(slot_of(part[k].to, b, i, l, part[k].width), part[k].from + i * n,
                       (size_t)n * sizeof(float));
    }
}

ll_history ll_batch_views(ll_graph *g, const ll_history *in)
{
    static const int cells[] = { 0, 2, 1, 3 }, times[] = { 0, 2, 1 };
    return (ll_history){ .x = in->x == NULL ? NULL : ll_permute(g, in->x, cells),
                         .dx = in->dx == NULL ? NULL : ll_permute(g, in->dx, cells),
                         .obs = in->obs == NULL ? NULL : ll_permute(g, in->obs, cells),
                         .ent = in->ent,
                         .dt = in->dt == NULL ? NULL : ll_permute(g, in->dt, times) };
}

ll_summary ll_reference_summary(ll_graph *g, const ll_network_config *c, int64_t B, bool training)
{
    const ll_summarizer_config s = ll_network_summarizer(c, training);
    const int64_t              l = s.context, N = s.n_entities, D = s.features;
    const ll_history           in = { .x = ll_input(g, "x", LL_SHAPE(B, N, l, D)),
                                      .dx = ll_input(g, "dx", LL_SHAPE(B, N, l, D)),
                                      .obs = ll_input(g, "seen", LL_SHAPE(B, N, l, D)),
                                      .ent = ll_input(g, "ent", LL_SHAPE(B, N)),
                                      .dt = ll_input(g, "dt", LL_SHAPE(B, N, l)) };
    const ll_history           views = ll_batch_views(g, &in);
    return ll_reference_summary_of(g, c, &views, training);
}

ll_summary ll_reference_summary_of(ll_graph *g, const ll_network_config *c, const ll_history *in,
                                   bool training)
{
    const ll_summarizer_config s = ll_network_summarizer(c, training);
    ll_scope_push(g, "summarizer");
    ll_summary out = ll_summarize(g, &s, in);
    ll_scope_pop(g);
    if (c->options.cond_adapter) { /* of imported models; before any normalising,
                                      docs/spec/model.md 4.9 */
        ll_scope_push(g, "denoiser");
        ll_scope_push(g, "cond_adapter");
        out.context = ll_context_adapt(g, &c->adapter, out.context, ll_stat_tokens(g, in));
        ll_scope_pop(g);
        ll_scope_pop(g);
    }
    return out;
}
