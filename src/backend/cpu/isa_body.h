/* The table of one instruction set; isa_*.c define its name and tile shape and include this. */
#include "backend/cpu/kern_isa.h"
#include "backend/cpu/vec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Later ones use earlier ones. */
/* clang-format off */
#include "backend/cpu/body_norm.h"
#include "backend/cpu/body_micro.h"
#include "backend/cpu/body_gemm.h"
#include "backend/cpu/body_mlp.h"
#include "backend/cpu/body_attn.h"
#include "backend/cpu/body_map.h"
#include "backend/cpu/body_sum.h"
#include "backend/cpu/body_model.h"

/* All of a table but its name, its products and attention. */
#define ISA_REST \
    .unary = { \
        [LL_UNARY_NEG] = map_neg,         [LL_UNARY_ABS] = map_abs, \
        [LL_UNARY_SQUARE] = map_square,   [LL_UNARY_SQRT] = map_sqrt, \
        [LL_UNARY_RSQRT] = map_rsqrt,     [LL_UNARY_RECIP] = map_recip, \
        [LL_UNARY_EXP] = map_exp,         [LL_UNARY_LOG] = map_log, \
        [LL_UNARY_SIN] = map_sin,         [LL_UNARY_COS] = map_cos, \
        [LL_UNARY_TANH] = map_tanh,       [LL_UNARY_SIGMOID] = map_sigmoid, \
        [LL_UNARY_SILU] = map_silu,       [LL_UNARY_SOFTPLUS] = map_softplus, \
        [LL_UNARY_GELU] = map_gelu, \
    }, \
    .unary_grad = { \
        [LL_UNARY_NEG] = grad_neg,        [LL_UNARY_ABS] = grad_abs, \
        [LL_UNARY_SQUARE] = grad_square,  [LL_UNARY_SQRT] = grad_sqrt, \
        [LL_UNARY_RSQRT] = grad_rsqrt,    [LL_UNARY_RECIP] = grad_recip, \
        [LL_UNARY_EXP] = grad_exp,        [LL_UNARY_LOG] = grad_log, \
        [LL_UNARY_SIN] = grad_sin,        [LL_UNARY_COS] = grad_cos, \
        [LL_UNARY_TANH] = grad_tanh,      [LL_UNARY_SIGMOID] = grad_sigmoid, \
        [LL_UNARY_SILU] = grad_silu,      [LL_UNARY_SOFTPLUS] = grad_softplus, \
        [LL_UNARY_GELU] = grad_gelu, \
    }, \
    .binary = { \
        [LL_BINARY_ADD] = row_add, [LL_BINARY_SUB] = row_sub, [LL_BINARY_MUL] = row_mul, \
        [LL_BINARY_DIV] = row_div, [LL_BINARY_MAX] = row_max, [LL_BINARY_MIN] = row_min, \
    }, \
    .clamp = clamp, .clamp_grad = clamp_grad, .affine = affine, \
    .sum_rows = sum_rows, .sum_pieces = sum_pieces, .sum_all = sum_all, .sum_sq = sum_sq, \
    .row_sums = row_sums, \
    .norm_rows = norm_rows, .norm_grad_rows = norm_grad_rows, \
    .softmax_rows = softmax_rows, .softmax_grad_rows = softmax_grad_rows, \
    .gru_row = gru_row, .gru_grad_row = gru_grad_row, \
    .basis_row = basis_row, .basis_grad_poles = basis_grad_poles, \
    .basis_grad_time = basis_grad_time, .angles = angles, .adamw = adamw

const kern_isa ISA_TABLE = {
    .name = ISA_NAME,
    .gemm_mr = GEMM_MR, .gemm_nr = GEMM_NR, .gemm_steps = 1, .gemm_halves = 2,
    .gemm_pack = gemm_pack, .gemm_pack_steps = gemm_pack_steps, .gemm_rows = gemm_rows,
    .pairs_pack = pairs_pack, .mlp_share = N_PARTS / 8.0, .mlp_rows = mlp_rows,
    .attn_forward = attn_forward, .attn_backward = attn_backward,
    ISA_REST
};

#ifdef ISA_TILES
#include "backend/cpu/body_tile.h"
#include "backend/cpu/body_tile_attn.h"

const kern_isa ISA_TILES = {
    .name = "amx", .narrow = &ISA_TABLE,
    .gemm_mr = TILE_MR, .gemm_nr = TILE_NR, .gemm_steps = TILE_STEPS, .gemm_halves = TILE_PARTS,
    .gemm_pack = tile_pack, .gemm_pack_steps = tile_pack_steps, .gemm_rows = tile_rows,
    .pairs_pack = tile_pairs_pack, .mlp_share = 1.0, .mlp_rows = tile_mlp_rows,
    .attn_forward = tile_attn_forward, .attn_backward = tile_attn_backward,
    ISA_REST
};
#endif
