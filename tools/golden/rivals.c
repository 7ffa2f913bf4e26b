#include "rivals.h"

#include <stdio.h>
#include <string.h>

ll_rival_head golden_head(golden *c)
{
    return (ll_rival_head){ golden_int(c, "p"), golden_int(c, "Q") };
}

ll_noise_steps golden_steps(golden *c)
{
    const bool linear = ll_tensors_metadata(c->file, "cfg.schedule") == NULL;
    const bool start = ll_tensors_metadata(c->file, "cfg.beta_start") != NULL;
    return (ll_noise_steps){
        .n = golden_int(c, "T"),
        .beta_start = start ? golden_real(c, "beta_start") : 1e-4,
        .beta_end = golden_real(c, "beta_end"),
        .kind = linear ? LL_BETA_LINEAR : (ll_beta_kind)golden_choice(c, "schedule", ll_beta_kinds),
    };
}

float *golden_floats(golden *c, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "in.%s", name);
    const ll_shape s = golden_shape(c, full);
    const double  *x = golden_values(c, full);
    const int64_t  n = ll_shape_count(&s);
    float         *y = x == NULL ? NULL : ll_arena_new(&c->arena, (size_t)n, sizeof *y);
    if (x != NULL && y == NULL) golden_fail(c, LLAP_ENOMEM, "out of memory");
    for (int64_t i = 0; y != NULL && i < n; i++) y[i] = (float)x[i];
    return y;
}

ll_tensor *golden_filled(golden *c)
{
    const ll_shape s = golden_shape(c, "in.x");
    const int64_t  n = ll_shape_count(&s), rows = s.dim[1], vars = s.dim[2];
    float         *x = golden_floats(c, "x"), *m = golden_floats(c, "obs");
    double        *filled = golden_new(c, n);
    if (x == NULL || m == NULL || filled == NULL) return NULL;
    for (int64_t b = 0; b < s.dim[0]; b++) {
        const int64_t at = b * rows * vars;
        ll_fill_forward(x + at, m + at, rows, vars, x + at);
    }
    for (int64_t i = 0; i < n; i++) filled[i] = (double)x[i];
    golden_compare(c, "mid.filled", filled, n, NULL);
    return golden_give(c, "x", s, filled);
}

void golden_answer(golden *c, ll_rival_head h, ll_tensor *answer)
{
    ll_tensor *loss =
        ll_head_loss(c->graph, h, answer, golden_input(c, "y"), golden_input(c, "y_obs"));
    loss = ll_reshape(c->graph, loss, LL_SCALAR);
    golden_output(c, h.q > 0 ? "out.quantiles" : "out.y", answer);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
    golden_after(c);
}
