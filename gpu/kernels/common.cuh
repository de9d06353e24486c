// Scalar functions and storage types that every kernel shares; what a recurrence does with them is left to the kernels.
//
// No approximate instruction and no library function is used: additions, products, fused products, divisions
// and square roots are the IEEE ones, so the same inputs give the same bits on every conforming machine.
// Errors are in units in the last place of f32 against the exact function, as measured by the tests.
#pragma once

typedef long long i64;

// ---- storage ----------------------------------------------------------------------------------------------

struct bf16 {
    unsigned short bits;
};

__device__ __forceinline__ float widen(float value) { return value; }
__device__ __forceinline__ float widen(bf16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

template <typename T> __device__ __forceinline__ T narrow(float value);
template <> __device__ __forceinline__ float narrow<float>(float value) { return value; }
template <> __device__ __forceinline__ bf16 narrow<bf16>(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
}

// ---- exponentials -----------------------------------------------------------------------------------------

// x = n ln 2 + r with |r| <= ln 2 / 2. Comparisons, not min and max, so that a NaN stays a NaN.
struct Reduced {
    float n;
    float r;
};

__device__ __forceinline__ Reduced reduce(float x) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    Reduced reduced;
    reduced.n = fmaf(x, 1.44269504f, magic) - magic;
    reduced.r = fmaf(reduced.n, -0.693359375f, x);  // exact: the constant has nine bits
    reduced.r = fmaf(reduced.n, 2.12194440e-4f, reduced.r);
    return reduced;
}

// 2^n for an integer -126 <= n <= 127.
__device__ __forceinline__ float power_of_two(float n) {
    return __int_as_float((static_cast<int>(n) + 127) << 23);
}

// exp(r) - 1 for |r| <= ln 2 / 2; minimax polynomial, relative error 1.4e-8 before rounding.
__device__ __forceinline__ float expm1_reduced(float r) {
    float q = 1.394667e-3f;
    q = fmaf(q, r, 8.3667105e-3f);
    q = fmaf(q, r, 4.166628e-2f);
    q = fmaf(q, r, 1.6666542e-1f);
    q = fmaf(q, r, 0.5f);
    return fmaf(r * r, q, r);
}

// exp(x), at most 1.1 ULP, subnormal results included. The scale is applied in two steps because 2^n alone
// leaves the range of f32 where the result does not.
__device__ __forceinline__ float exp_f32(float x) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -105.0f ? -105.0f : x;
    const Reduced reduced = reduce(x);
    const float first = static_cast<float>(static_cast<int>(reduced.n) >> 1);
    const float mantissa = 1.0f + expm1_reduced(reduced.r);
    return mantissa * power_of_two(first) * power_of_two(reduced.n - first);
}

// 1 - exp(y) for y <= 0, at most 1 ULP however near 0 y is: no subtraction of nearly equal numbers.
__device__ __forceinline__ float one_minus_exp(float y) {
    y = y < -40.0f ? -40.0f : y;
    const Reduced reduced = reduce(y);
    const float scale = power_of_two(reduced.n);
    return -fmaf(scale, expm1_reduced(reduced.r), scale - 1.0f);
}

// log(1 + e) for 0 <= e <= 1, at most 1.3 ULP: e less a correction, so that only the correction's own rounding
// and not that of s = e / (2 + e) reaches a small result.
__device__ __forceinline__ float log1p_unit(float e) {
    const float s = e / (2.0f + e);
    const float s2 = s * s;
    float p = 2.43083208e-1f;
    p = fmaf(p, s2, 2.1425852e-1f);
    p = fmaf(p, s2, 2.8617036e-1f);
    p = fmaf(p, s2, 3.9998874e-1f);
    p = fmaf(p, s2, 6.6666674e-1f);
    const float half_square = 0.5f * e * e;
    return e - (half_square - s * fmaf(p, s2, half_square));
}

// ---- gates ------------------------------------------------------------------------------------------------

// log(1 + exp(x)), at most 2 ULP, as max(x, 0) + log1p(exp(-|x|)): neither overflows nor loses small values.
__device__ __forceinline__ float softplus(float x) {
    const float positive = x < 0.0f ? 0.0f : x;
    return positive + log1p_unit(exp_f32(-fabsf(x)));
}

// sigmoid(x) and 1 - sigmoid(x), each at most 2.3 ULP: the complement is its own quotient and does not cancel.
struct Gate {
    float value;
    float complement;
};

__device__ __forceinline__ Gate sigmoid(float x) {
    const float e = exp_f32(-fabsf(x));
    const float large = 1.0f / (1.0f + e);
    const float small = e / (1.0f + e);
    Gate gate;
    gate.value = x < 0.0f ? small : large;
    gate.complement = x < 0.0f ? large : small;
    return gate;
}
