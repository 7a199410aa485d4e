// Prices of European options by the formula of Black and Scholes. The threads of the whole grid walk side by side through the
// options, so that a block touches a part of a page in every round.

constexpr int THREADS = 128;

static __device__ __forceinline__ float cumulated(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) *
        (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void __launch_bounds__(THREADS)
blackScholes(float* __restrict__ call, float* __restrict__ put, const float* __restrict__ price,
             const float* __restrict__ strike, const float* __restrict__ years, float riskless, float volatility,
             int options)
{
#pragma unroll 1
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < options; i += gridDim.x * THREADS) {
        const float s = price[i], x = strike[i], t = years[i];
        const float root = volatility * sqrtf(t);
        const float d1 = (logf(s / x) + (riskless + 0.5f * volatility * volatility) * t) / root;
        const float n1 = cumulated(d1), n2 = cumulated(d1 - root);
        const float later = x * expf(-riskless * t);
        call[i] = s * n1 - later * n2;
        put[i] = later * (1.0f - n2) - s * (1.0f - n1);
    }
}
