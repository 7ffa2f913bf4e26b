/* Neural CDE: splines, and the state that they drive. */
#include "rivals.h"

void golden_neuralcde(golden *c)
{
    ll_graph                 *g = c->graph;
    const ll_neuralcde_config cfg = {
        .hidden = golden_int(c, "hidden"),
        .field = golden_int(c, "hidden_hidden"),
        .n_layers = (int)golden_int(c, "layers"),
        .spline = (ll_cde_spline)golden_choice(c, "spline", ll_cde_splines),
        .n_sub = (int)golden_int(c, "n_sub"),
        .query = golden_is(c, "readout", "query"),
        .horizon = golden_int(c, "H"),
        .read = golden_int(c, "read"),
        .head = golden_head(c),
    };
    const ll_shape s = golden_shape(c, "in.x");
    const int64_t  B = s.dim[0], K = s.dim[1], C = s.dim[2], places = ll_cde_places(&cfg, K);
    const float   *x = golden_floats(c, "x"), *m = golden_floats(c, "obs");
    double        *coeffs = golden_new(c, 4 * B * (K - 1) * C);
    double        *first = golden_new(c, B * C), *slopes = golden_new(c, B * places * C);
    float         *row = ll_arena_new(&c->arena, (size_t)(places * C), sizeof *row);
    if (c->status != LLAP_OK || row == NULL) return;
    for (int64_t b = 0; b < B && c->status == LLAP_OK; b++) {
        double *part[4];
        for (int j = 0; j < 4; j++) part[j] = coeffs + (j * B + b) * (K - 1) * C;
        c->status = ll_cde_coefficients(cfg.spline, x + b * K * C, m + b * K * C, K, C, part);
        ll_cde_slopes(&cfg, (const double *const *)part, K, C, row);
        for (int64_t i = 0; i < C; i++) first[b * C + i] = part[0][i];
        for (int64_t i = 0; i < places * C; i++) slopes[b * places * C + i] = (double)row[i];
    }
    golden_compare(c, "mid.coeffs", coeffs, 4 * B * (K - 1) * C, NULL);
    const ll_neuralcde_in in = { .first = golden_give(c, "first", LL_SHAPE(B, C), first),
                                 .slopes = golden_give(c, "slopes", LL_SHAPE(B, places, C), slopes),
                                 .query = golden_input(c, "query_feat") };
    golden_answer(c, cfg.head, ll_neuralcde(g, &cfg, &in));
}
