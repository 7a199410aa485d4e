// Monte Carlo simulation of interest rates: each thread follows a path of forty forward rates through twenty steps in local
// memory, and prices swaptions on it. The random numbers of a step lie side by side.

constexpr int THREADS = 128;
constexpr int RATES = 40;
constexpr int STEPS = 20;
constexpr int OPTIONS = 5;

extern "C" __global__ void __launch_bounds__(THREADS)
libor(const float* __restrict__ normal, const float* __restrict__ volatility, float* __restrict__ value, int paths,
      float delta)
{
    constexpr int MATURITY[OPTIONS] = {4, 8, 12, 16, 20};
    constexpr float SWAP_RATE = 0.05f;
    const int path = blockIdx.x * THREADS + threadIdx.x;
    if (path >= paths)
        return;
    float rate[RATES], bond[STEPS], coupon[STEPS];
#pragma unroll 1
    for (int i = 0; i < RATES; ++i)
        rate[i] = 0.05f;
#pragma unroll 1
    for (int n = 0; n < STEPS; ++n) {
        const float shock = sqrtf(delta) * normal[n * paths + path];
        float drift = 0.0f;
#pragma unroll 1
        for (int i = n + 1; i < RATES; ++i) {
            const float lambda = volatility[i - n - 1], scaled = delta * lambda;
            drift += scaled * rate[i] / (1.0f + delta * rate[i]);
            rate[i] *= expf(scaled * drift + lambda * (shock - 0.5f * scaled));
        }
    }
    float price = 1.0f, sum = 0.0f;
#pragma unroll 1
    for (int n = STEPS; n < RATES; ++n) {
        price /= 1.0f + delta * rate[n];
        sum += delta * price;
        bond[n - STEPS] = price;
        coupon[n - STEPS] = sum;
    }
    float total = 0.0f;
#pragma unroll 1
    for (int k = 0; k < OPTIONS; ++k) {
        const int m = MATURITY[k] - 1;
        const float gain = bond[m] + SWAP_RATE * coupon[m] - 1.0f;
        total += gain < 0.0f ? -100.0f * gain : 0.0f;
    }
    value[path] = total;
}
