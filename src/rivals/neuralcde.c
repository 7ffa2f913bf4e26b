#include "rivals/neuralcde.h"

#include "nn/nn.h"

const char *const ll_cde_splines[] = { "hermite", "natural", NULL };

typedef struct path {
    const ll_neuralcde_config *cfg;
    ll_tensor                 *slopes; /* [B,places,C] */
    int64_t                    step;   /* looks at places 3 step .. 3 step + 3 */
} path;

/* f(z) dX/du, f(z) = tanh(linear_out ReLU(.. linear_in z)) as [hidden,C]; s counts thirds. */
static ll_tensor *field(ll_graph *g, void *user, double s, ll_tensor *z)
{
    const path   *p = user;
    const int64_t B = ll_dim(z, 0), C = ll_dim(p->slopes, 2), h = p->cfg->hidden;
    const int64_t place = 3 * p->step + (int64_t)(s * 3.0 * (double)p->cfg->n_sub + 0.5);
    ll_scope_push(g, "func");
    ll_tensor *y = ll_relu(g, ll_nn_linear(g, "linear_in", z, p->cfg->field));
    for (int i = 0; i + 1 < p->cfg->n_layers; i++) {
        ll_scope_pushf(g, "linears.%d", i);
        y = ll_relu(g, ll_nn_linear(g, "", y, p->cfg->field));
        ll_scope_pop(g);
    }
    y = ll_tanh(g, ll_nn_linear(g, "linear_out", y, h * C));
    ll_scope_pop(g);
    ll_tensor *dX = ll_reshape(g, ll_slice(g, p->slopes, 1, place, 1), LL_SHAPE(B, C, 1));
    return ll_reshape(g, ll_matmul(g, ll_reshape(g, y, LL_SHAPE(B, h, C)), false, dX, false),
                      LL_SHAPE(B, h));
}

ll_tensor *ll_neuralcde(ll_graph *g, const ll_neuralcde_config *cfg, const ll_neuralcde_in *in)
{
    const int64_t n_steps = (ll_dim(in->slopes, 1) - 1) / 3, B = ll_dim(in->first, 0);
    path          p = { cfg, in->slopes, 0 };
    ll_tensor    *z = ll_nn_linear(g, "initial_network", in->first, cfg->hidden);
    ll_note(g, "z0", z);
    for (; p.step < n_steps; p.step++) {
        z = ll_three_eighths(g, field, &p, 0.0, 1.0 / (double)cfg->n_sub, z);
        if (p.step + 1 == (n_steps / cfg->n_sub / 2 + 1) * cfg->n_sub) ll_note(g, "z_half", z);
    }
    ll_note(g, "z", z);
    if (!cfg->query) {
        const int64_t H = cfg->horizon, n = cfg->targets > 0 ? cfg->targets : 1;
        ll_tensor    *a = ll_nn_linear(g, "linear", z, H * n * cfg->head.p);
        a = ll_reshape(
            g, a, cfg->targets > 0 ? LL_SHAPE(B, H, n, cfg->head.p) : LL_SHAPE(B, H, cfg->head.p));
        return ll_head_answer(g, cfg->head, a);
    }
    const int64_t H = ll_dim(in->query, 1);
    ll_tensor    *spread = ll_expand(g, ll_unsqueeze(g, z, 1), LL_SHAPE(B, H, cfg->hidden));
    ll_tensor    *both = ll_concat(g, (ll_tensor *[]){ spread, in->query }, 2, 2);
    ll_scope_push(g, "readout");
    ll_tensor *a = ll_head_numbers(g, cfg->head, "2",
                                   ll_relu(g, ll_nn_linear(g, "0", both, cfg->read)), cfg->targets);
    ll_scope_pop(g);
    return ll_head_answer(g, cfg->head, a);
}
