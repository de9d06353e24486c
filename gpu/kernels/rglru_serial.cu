// RG-LRU, canonical, one thread a channel walking through time: resets anywhere, initial state, cotangent of the
// final state. The plain form that the faster kernels are held to.
//
// Tensors: x u v y dy dx du dv [B, L, W] in the storage type; segment_pos [B, L] i32; a_param da_param [W],
// h0 last dlast dh0 [B, W] in f32; h0 may be null. Row-major, contiguous. Grid: B * ceil(W / blockDim.x) blocks
// along x, batch-major; blockDim.x = BLOCK.
#include "common.cuh"

constexpr int BLOCK = 64;   // channels of a block
constexpr int CHUNK = 32;   // steps between two checkpoints of the backward pass
constexpr float C = 8.0f;   // the constant of the log-decay

struct Channel {
    i64 batch;
    i64 column;
    bool live;
};

__device__ __forceinline__ Channel channel(i64 W) {
    const i64 tiles = (W + BLOCK - 1) / BLOCK;
    Channel result;
    result.batch = blockIdx.x / tiles;
    result.column = (blockIdx.x % tiles) * BLOCK + threadIdx.x;
    result.live = result.column < W;
    return result;
}

// Everything of one step that does not depend on the state.
struct Step {
    Gate input;       // sigmoid(u) and its complement
    Gate recurrence;  // sigmoid(v) and its complement
    float x;
    float decay;      // a = exp(l)
    float z;          // 1 - exp(2 l)
    float norm;       // n
    float write;      // w = x g n
    bool reset;
};

template <typename T>
__device__ __forceinline__ Step step(const T* x, const T* u, const T* v, const int* segment_pos, i64 row, i64 at, float sp) {
    Step s;
    s.reset = segment_pos[row] == 0;
    s.x = widen(x[at]);
    s.input = sigmoid(widen(u[at]));
    s.recurrence = sigmoid(widen(v[at]));
    const float l = -C * s.recurrence.value * sp;
    s.decay = exp_f32(l);
    s.z = one_minus_exp(2.0f * l);
    s.norm = s.reset ? 1.0f : sqrtf(s.z);
    s.write = s.x * s.input.value * s.norm;
    return s;
}

// A reset selects the write alone: what stood in the state, NaN and infinity too, is gone.
__device__ __forceinline__ float advance(const Step& s, float h) {
    return s.reset ? s.write : fmaf(s.decay, h, s.write);
}

template <typename T>
__device__ __forceinline__ void forward(const T* x, const T* u, const T* v, const float* a_param, const int* segment_pos,
                                        const float* h0, T* y, float* last, i64 L, i64 W) {
    const Channel c = channel(W);
    if (!c.live) return;
    const float sp = softplus(a_param[c.column]);
    const i64 state = c.batch * W + c.column;
    float h = h0 ? h0[state] : 0.0f;
    for (i64 t = 0; t < L; ++t) {
        const i64 row = c.batch * L + t;
        const i64 at = row * W + c.column;
        h = advance(step(x, u, v, segment_pos, row, at, sp), h);
        y[at] = narrow<T>(h);
    }
    last[state] = h;
}

// The derivative of sqrt at z, clipped at 1000; a comparison keeps a NaN.
__device__ __forceinline__ float sqrt_derivative(float z) {
    const float four = 4.0f * z;
    return 1.0f / sqrtf(four < 1e-6f ? 1e-6f : four);
}

// checkpoints [ceil(L / CHUNK), B, W]: the state before each chunk. da_partial [B, W]: sum over t of r dl.
template <typename T>
__device__ __forceinline__ void backward(const T* x, const T* u, const T* v, const float* a_param, const int* segment_pos,
                                         const float* h0, const T* dy, const float* dlast, T* dx, T* du, T* dv, float* dh0,
                                         float* checkpoints, float* da_partial, i64 B, i64 L, i64 W) {
    __shared__ float before[CHUNK][BLOCK];  // the state before each step of the chunk; every thread keeps to its column
    const Channel c = channel(W);
    if (!c.live) return;
    const float sp = softplus(a_param[c.column]);
    const i64 state = c.batch * W + c.column;

    float h = h0 ? h0[state] : 0.0f;
    for (i64 t = 0; t < L; ++t) {
        if (t % CHUNK == 0) checkpoints[t / CHUNK * B * W + state] = h;
        const i64 row = c.batch * L + t;
        h = advance(step(x, u, v, segment_pos, row, row * W + c.column, sp), h);
    }

    float carry = dlast[state];  // A_{t+1} lambda_{t+1}, or the final state's cotangent
    float sum = 0.0f;
    for (i64 chunk = (L + CHUNK - 1) / CHUNK - 1; chunk >= 0; --chunk) {
        const i64 start = chunk * CHUNK;
        const i64 stop = start + CHUNK < L ? start + CHUNK : L;
        h = checkpoints[chunk * B * W + state];
        for (i64 t = start; t < stop; ++t) {
            before[t - start][threadIdx.x] = h;
            const i64 row = c.batch * L + t;
            h = advance(step(x, u, v, segment_pos, row, row * W + c.column, sp), h);
        }
        float partial = 0.0f;
        for (i64 t = stop - 1; t >= start; --t) {
            const i64 row = c.batch * L + t;
            const i64 at = row * W + c.column;
            const Step s = step(x, u, v, segment_pos, row, at, sp);
            const float lambda = widen(dy[at]) + carry;
            carry = s.reset ? 0.0f : s.decay * lambda;
            dx[at] = narrow<T>(lambda * s.input.value * s.norm);
            du[at] = narrow<T>(lambda * s.x * s.norm * (s.input.value * s.input.complement));
            const float through_state = carry * before[t - start][threadIdx.x];
            const float through_norm = 2.0f * (s.decay * s.decay) * sqrt_derivative(s.z) * (lambda * s.x * s.input.value);
            const float dl = through_state - through_norm;
            // A reset token's decay is not used: whatever its logit is, NaN too, it has no part in any gradient.
            dv[at] = narrow<T>(s.reset ? 0.0f : -C * sp * dl * (s.recurrence.value * s.recurrence.complement));
            partial = s.reset ? partial : fmaf(s.recurrence.value, dl, partial);
        }
        sum += partial;
    }
    dh0[state] = carry;
    da_partial[state] = sum;
}

#define RGLRU_SERIAL(NAME, T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(BLOCK) rglru_forward_serial_##NAME(                                       \
        const T* __restrict__ x, const T* __restrict__ u, const T* __restrict__ v, const float* __restrict__ a_param,      \
        const int* __restrict__ segment_pos, const float* __restrict__ h0, T* __restrict__ y, float* __restrict__ last,    \
        i64 L, i64 W) {                                                                                                    \
        forward<T>(x, u, v, a_param, segment_pos, h0, y, last, L, W);                                                      \
    }                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK) rglru_backward_serial_##NAME(                                      \
        const T* __restrict__ x, const T* __restrict__ u, const T* __restrict__ v, const float* __restrict__ a_param,      \
        const int* __restrict__ segment_pos, const float* __restrict__ h0, const T* __restrict__ dy,                       \
        const float* __restrict__ dlast, T* __restrict__ dx, T* __restrict__ du, T* __restrict__ dv,                       \
        float* __restrict__ dh0, float* __restrict__ checkpoints, float* __restrict__ da_partial, i64 B, i64 L, i64 W) {   \
        backward<T>(x, u, v, a_param, segment_pos, h0, dy, dlast, dx, du, dv, dh0, checkpoints, da_partial, B, L, W);      \
    }

RGLRU_SERIAL(f32, float)
RGLRU_SERIAL(bf16, bf16)

// da_param[w] = -C sigmoid(a_param) sum over b of da_partial[b, w], in order of b: the same bits in every run.
extern "C" __global__ void __launch_bounds__(BLOCK) rglru_backward_serial_reduce(const float* __restrict__ a_param,
                                                                                 const float* __restrict__ da_partial,
                                                                                 float* __restrict__ da_param, i64 B, i64 W) {
    const i64 column = static_cast<i64>(blockIdx.x) * BLOCK + threadIdx.x;
    if (column >= W) return;
    float sum = 0.0f;
    for (i64 b = 0; b < B; ++b) sum += da_partial[b * W + column];
    da_param[column] = -C * sigmoid(a_param[column]).value * sum;
}
