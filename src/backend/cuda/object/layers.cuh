// A run of layers over the same rows, as its kernel sees it:
//
//     x = a W + bias + residual, of WIDTH columns
//     store:     norm(x) W -> y
//     residues:  theta = x W + residual [+ gelu(norm(x) W) W], of up to 32 columns
//     next:      behind residues, a run again: x = theta W + bias + residual, norm(x) W -> y
//
// A store, or residues with or without next. Rows of a are floats or bf16, weights bf16.
#ifndef LL_BACKEND_CUDA_OBJECT_LAYERS_CUH
#define LL_BACKEND_CUDA_OBJECT_LAYERS_CUH

#include "backend/cuda/object/product.cuh"

#include <cuda.h>

enum { LAYER_WIDTH = 256, LAYER_CHUNK = 64, LAYER_THETA = 32 };

// Weights, the rows of a where they are bf16, and results that are.
enum {
    MAP_A,
    MAP_FIRST,
    MAP_STORE,
    MAP_UP,
    MAP_SMALL,
    MAP_DOWN,
    MAP_ENTRY,
    MAP_NEXT,
    MAP_Y,
    MAP_NEXT_Y,
    N_MAPS
};

struct layers_start {                       // x = .. + bias + residual, and its norm
    const float *bias, *residual;           // NULL: none
    int64_t      repeat, group, group_step; // see product
    float       *x;                         // [m,WIDTH]; NULL: not wanted
    const float *gain, *shift;              // row r uses their row r / run; NULL: none
    int64_t      gain_step, shift_step;     // from row to row of them
    int64_t      run;
    float        offset, eps;
};

struct layers_store {
    const float *bias;
    void        *y; // [m,n]
    bool         half;
    int          n; // 0: not there
};

struct layers_arg {
    CUtensorMap  map[N_MAPS];
    int64_t      m;
    const float *a; // [m,k]
    int          k; // WIDTH, or at most 32
    bool         a_half;
    layers_start first;
    layers_store store;
    int          z, up; // columns of the residues, of their inner layer; 0: not there
    const float *up_bias, *small_bias, *down_bias, *theta_before; // NULL: none
    float       *theta;                                           // NULL: not wanted
    layers_start entry;
    layers_store next;
    int          split; // blocks that share the columns of a row tile
};

void ll_cuda_layers_launch(const ll_call *c, const layers_arg &p);

#endif
