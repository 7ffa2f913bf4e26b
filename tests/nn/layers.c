/* Every layer at random sizes: cpu against ref, gradients against differences; names; messages. */
#include "check.h"
#include "net.h"

#include "backend/cpu/cpu.h"
#include "nn/nn.h"
#include "nn/params.h"

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
static llap_tensor *weigh(llap_graph *g, llap_tensor *y)
{
    return llap_nn_mse(g, y, llap_input(g, "target", llap_shape_of(y)));
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

static llap_tensor *describe(llap_graph *g, const void *cfg)
{
    const sizes         *s = cfg;
    llap_tensor         *x = llap_input(g, "x", LLAP_SHAPE(s->B, s->L, s->H));
    llap_tensor         *kv = llap_input(g, "kv", LLAP_SHAPE(s->B, s->Lk, s->H));
    llap_tensor         *c = llap_input(g, "c", LLAP_SHAPE(s->B, s->C));
    llap_nn_block_opts   block = { .n_heads = s->heads, .mlp_ratio = 1.5 };
    llap_nn_encoder_opts layer = { .attn = { .n_heads = s->heads },
                                   .ff = s->C + 2,
                                   .norm_first = s->kind == PRE,
                                   .rotary_base = 100.0 };
    const llap_shape     scores = LLAP_SHAPE(s->B, s->heads, s->L, s->L);
    switch (s->kind) {
    case MHA:
        layer.attn.key_padding = llap_input(g, "pad", LLAP_SHAPE(s->B, s->Lk));
        return weigh(g, llap_nn_mha(g, "a", x, kv, kv, &layer.attn));
    case PRE:
        layer.attn.key_padding = llap_input(g, "pad", LLAP_SHAPE(s->B, s->L));
        break;
    case ROTARY:
        layer.times = llap_input(g, "times", LLAP_SHAPE(s->B, s->L));
        break;
    case BLOCK:
        return weigh(g, llap_nn_transformer_block(g, "b", x, c, &block));
    case BLOCK_NONE:
        return weigh(g, llap_nn_transformer_block(g, "b", x, NULL, &block));
    case BLOCK_BIAS:
        block.attn_bias = llap_input(g, "bias", scores);
        return weigh(g, llap_nn_transformer_block(g, "b", x, c, &block));
    case CROSS:
        return weigh(g, llap_nn_cross_block(g, "b", x, kv, c, &block));
    case POOL:
        return weigh(g, llap_nn_summary_pool(g, "p", kv, llap_nn_linear(g, "tau", c, s->H)));
    case T2V:
        return weigh(g, llap_nn_time2vec(g, "t", c, s->L + 1));
    case MLPS: {
        const llap_nn_mlp_opts a = { .hidden = 4, .width = 3, .norm = true, .drops = true };
        const llap_nn_mlp_opts b = { .hidden = 5, .width = 2, .last_std = 0.01 };
        return weigh(g, llap_nn_mlp(g, "b", llap_nn_mlp(g, "a", x, &a), &b));
    }
    case CONV:
        return weigh(g, llap_nn_conv1d(g, "c", x, 3, 5));
    case SPECTRAL: {
        const llap_init w = LLAP_INIT_NORMAL(1.0);
        return weigh(g, llap_nn_spectral_linear(g, "s", x, 4, w, w, false));
    }
    default:
        break;
    }
    return weigh(g, llap_nn_encoder_layer(g, "layers.0", x, &layer));
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
static llap_tensor *describe_samples(llap_graph *g, const void *cfg)
{
    (void)cfg;
    llap_tensor       *x = llap_input(g, "x", LLAP_SHAPE(2, 3, 4, 6));
    llap_tensor       *kv = llap_input(g, "kv", LLAP_SHAPE(2, 1, 5, 6));
    llap_tensor       *c = llap_input(g, "c", LLAP_SHAPE(2, 3));
    llap_nn_block_opts block = { .n_heads = 2, .mlp_ratio = 2 };
    llap_tensor       *y = llap_nn_cross_block(g, "cross", x, kv, c, &block);
    return weigh(g, llap_nn_transformer_block(g, "self", y, c, &block));
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
    const int   n = (int)(sizeof expected / sizeof *expected);
    llap_graph *g;
    CHECK_OK(llap_graph_create(&g));
    llap_nn_encoder_layer(
        g, "layers.1", llap_input(g, "x", LLAP_SHAPE(2, 3, 8)),
        &(llap_nn_encoder_opts){ .attn = { .n_heads = 2 }, .ff = 16, .norm_first = true });
    CHECK_OK(llap_graph_status(g));
    assert_int_equal(llap_graph_n_params(g), n);
    for (int i = 0; i < n; i++)
        assert_string_equal(llap_tensor_name(llap_graph_param(g, i)), expected[i]);
    llap_graph_destroy(g);
}

static void a_wrong_width_is_named(void **state)
{
    (void)state;
    llap_graph *g;
    CHECK_OK(llap_graph_create(&g));
    llap_scope_push(g, "model");
    llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(2, 3, 8));
    llap_nn_mha(g, "attention", x, llap_input(g, "k", LLAP_SHAPE(2, 3, 6)), x,
                &(llap_nn_attn_opts){ .n_heads = 2 });
    llap_scope_pop(g);
    CHECK_FAIL(llap_graph_status(g), LLAP_EINVAL,
               "linear 'model.attention': weight expected [8,6], found [8,8]");
    llap_graph_destroy(g);
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
