#include "predict/reference.h"

ll_summary ll_reference_summary(ll_graph *g, const ll_network_config *c, int64_t B, bool training)
{
    const ll_summarizer_config s = ll_network_summarizer(c, training);
    const int64_t              l = s.context, N = s.n_entities, D = s.features;
    return ll_reference_summary_of(g, c,
                                   &(ll_history){ .x = ll_input(g, "x", LL_SHAPE(B, l, N, D)),
                                                  .dx = ll_input(g, "dx", LL_SHAPE(B, l, N, D)),
                                                  .obs = ll_input(g, "seen", LL_SHAPE(B, l, N, D)),
                                                  .ent = ll_input(g, "ent", LL_SHAPE(B, N)),
                                                  .dt = ll_input(g, "dt", LL_SHAPE(B, l, N)) },
                                   training);
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
