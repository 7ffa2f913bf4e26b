/* Every layer at random sizes: cpu against ref, gradients against differences; names; messages. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "nn/nn.h"
#include "nn/params.h"
#include "oracles/plain_layers.h"

typedef struct sizes {
    int64_t B, L, Lk, H, C;
    int     heads;
    int     kind;
} sizes;

static sizes draw_sizes(uint64_t seed, int kind)
{
    sizes s = { .B = net_pick(seed, "B", 1, 3),
                .L = net_pick(seed, "L", 1, 5),
                .Lk = net_pick(seed, "Lk", 1, 6),
                .heads = (int)net_pick(seed, "heads", 1, 3),
                .C = net_pick(seed, "C", 1, 5),
                .kind = kind };
    s.H = s.heads * net_pick(seed, "head", 1, 5);
    return s;
}

/* Weighted so that no gradient cancels. */
static ll_tensor *weigh(ll_graph *g, ll_tensor *y)
{
    return plain_mse(g, y, ll_input(g, "target", ll_shape_of(y)));
}

enum {
    MHA,
    PRE,
    POST,
    ROTARY,
    BLOCK,
    BLOCK_BIAS,
    BLOCK_NONE,
    CROSS,
    POOL,
    T2V,
    MLPS,
    CONV,
    SPECTRAL,
    KINDS
};

static ll_tensor *describe(ll_graph *g, const void *cfg)
{
    const sizes       *s = cfg;
    ll_tensor         *x = ll_input(g, "x", LL_SHAPE(s->B, s->L, s->H));
    ll_tensor         *kv = ll_input(g, "kv", LL_SHAPE(s->B, s->Lk, s->H));
    ll_tensor         *c = ll_input(g, "c", LL_SHAPE(s->B, s->C));
    ll_nn_block_opts   block = { .n_heads = s->heads, .mlp_ratio = 1.5 };
    ll_nn_encoder_opts layer = { .attn = { .n_heads = s->heads },
                                 .ff = s->C + 2,
                                 .norm_first = s->kind == PRE,
                                 .rotary_base = 100.0 };
    const ll_shape     scores = LL_SHAPE(s->B, s->heads, s->L, s->L);
    switch (s->kind) {
    case MHA:
        layer.attn.key_padding = ll_input(g, "pad", LL_SHAPE(s->B, s->Lk));
        return weigh(g, ll_nn_mha(g, "a", x, kv, kv, &layer.attn));
    case PRE:
        layer.attn.key_padding = ll_input(g, "pad", LL_SHAPE(s->B, s->L));
        break;
    case ROTARY:
        layer.times = ll_input(g, "times", LL_SHAPE(s->B, s->L));
        break;
    case BLOCK:
        return weigh(g, transformer_block(g, "b", x, c, &block));
    case BLOCK_NONE:
        return weigh(g, transformer_block(g, "b", x, NULL, &block));
    case BLOCK_BIAS:
        block.attn_bias = ll_input(g, "bias", scores);
        return weigh(g, transformer_block(g, "b", x, c, &block));
    case CROSS:
        return weigh(g, cross_block(g, "b", x, kv, c, &block));
    case POOL:
        return weigh(g, ll_nn_summary_pool(g, "p", kv, ll_nn_linear(g, "tau", c, s->H)));
    case T2V:
        return weigh(g, ll_nn_time2vec(g, "t", c, s->L + 1));
    case MLPS: {
        const ll_nn_mlp_opts a = { .hidden = 4, .width = 3, .norm = true, .drops = true };
        const ll_nn_mlp_opts b = { .hidden = 5, .width = 2, .last_std = 0.01 };
        return weigh(g, ll_nn_mlp(g, "b", ll_nn_mlp(g, "a", x, &a), &b));
    }
    case CONV:
        return weigh(g, ll_nn_conv1d(g, "c", x, 3, 5));
    case SPECTRAL: {
        const ll_init w = LL_INIT_NORMAL(1.0);
        return weigh(g, ll_nn_spectral_linear(g, "s", x, 4, w, w, false));
    }
    default:
        break;
    }
    return weigh(g, ll_nn_encoder_layer(g, "layers.0", x, &layer));
}

static double fill(const net *n, const char *name, int64_t k)
{
    const sizes *s = n->cfg;
    if (strcmp(name, "times") == 0) return 0.4 * (double)k;
    if (strcmp(name, "pad") == 0) /* the first key of each row stays */
        return k % (s->kind == PRE ? s->L : s->Lk) != 0 && net_uniform(n->seed, name, k) < 0.4;
    return NAN;
}

static void layers_on_cpu_and_ref_and_their_gradients(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const sizes s = draw_sizes(100 * (uint64_t)kind + seed, kind);
            net_check(&(net){ describe, &s, seed, fill, "pad times", false, 0, 0 });
        }
}

/* The samples axis: cond [B,C] for tokens [B,R,L,H] acts as if repeated. */
static ll_tensor *describe_samples(ll_graph *g, const void *cfg)
{
    (void)cfg;
    ll_tensor       *x = ll_input(g, "x", LL_SHAPE(2, 3, 4, 6));
    ll_tensor       *kv = ll_input(g, "kv", LL_SHAPE(2, 1, 5, 6));
    ll_tensor       *c = ll_input(g, "c", LL_SHAPE(2, 3));
    ll_nn_block_opts block = { .n_heads = 2, .mlp_ratio = 2 };
    ll_tensor       *y = cross_block(g, "cross", x, kv, c, &block);
    return weigh(g, transformer_block(g, "self", y, c, &block));
}

static void blocks_broadcast_over_samples(void **state)
{
    (void)state;
    net_check(&(net){ describe_samples, NULL, 5, NULL, "", false, 0, 0 });
}

static void parameters_have_the_names_of_the_specification(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "layers.1.norm1.weight",
        "layers.1.norm1.bias",
        "layers.1.self_attn.in_proj_weight",
        "layers.1.self_attn.in_proj_bias",
        "layers.1.self_attn.out_proj.weight",
        "layers.1.self_attn.out_proj.bias",
        "layers.1.norm2.weight",
        "layers.1.norm2.bias",
        "layers.1.linear1.weight",
        "layers.1.linear1.bias",
        "layers.1.linear2.weight",
        "layers.1.linear2.bias",
    };
    const int n = (int)(sizeof expected / sizeof *expected);
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    ll_nn_encoder_layer(
        g, "layers.1", ll_input(g, "x", LL_SHAPE(2, 3, 8)),
        &(ll_nn_encoder_opts){ .attn = { .n_heads = 2 }, .ff = 16, .norm_first = true });
    CHECK_OK(ll_graph_status(g));
    assert_int_equal(ll_graph_n_params(g), n);
    for (int i = 0; i < n; i++)
        assert_string_equal(ll_tensor_name(ll_graph_param(g, i)), expected[i]);
    ll_graph_destroy(g);
}

static void a_wrong_width_is_named(void **state)
{
    (void)state;
    ll_graph *g;
    CHECK_OK(ll_graph_create(&g));
    ll_scope_push(g, "model");
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(2, 3, 8));
    ll_nn_mha(g, "attention", x, ll_input(g, "k", LL_SHAPE(2, 3, 6)), x,
              &(ll_nn_attn_opts){ .n_heads = 2 });
    ll_scope_pop(g);
    CHECK_FAIL(ll_graph_status(g), LLAP_EINVAL,
               "linear 'model.attention': weight expected [8,6], found [8,8]");
    ll_graph_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_on_cpu_and_ref_and_their_gradients),
        cmocka_unit_test(blocks_broadcast_over_samples),
        cmocka_unit_test(parameters_have_the_names_of_the_specification),
        cmocka_unit_test(a_wrong_width_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
