// The scalar functions alone, one element a thread: what the tests measure against exact values.
//
// Tensors: input [n], output [n] in f32. Grid: ceil(n / blockDim.x) blocks along x.
#include "common.cuh"

#define SCALAR(NAME, EXPRESSION)                                                                                \
    extern "C" __global__ void scalar_##NAME(const float* __restrict__ input, float* __restrict__ output, i64 n) { \
        const i64 i = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;                                  \
        if (i >= n) return;                                                                                     \
        const float x = input[i];                                                                               \
        output[i] = EXPRESSION;                                                                                 \
    }

SCALAR(exp, exp_f32(x))
SCALAR(one_minus_exp, one_minus_exp(x))
SCALAR(log1p, log1p_unit(x))
SCALAR(softplus, softplus(x))
SCALAR(sigmoid, sigmoid(x).value)
SCALAR(complement, sigmoid(x).complement)
