// A layer of a neural network with few blocks: a warp reads the row of weights of a neuron, adds up weights times inputs,
// and applies the tanh that networks for digits use. A block has the neurons in a row.

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS)
dense(const float* __restrict__ weights, const float* __restrict__ bias, const float* __restrict__ input,
      float* __restrict__ output, int inputs, int perBlock)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int n = threadIdx.x / 32; n < perBlock; n += WARPS) {
        const int neuron = blockIdx.x * perBlock + n;
        const float* const row = weights + neuron * inputs;
        float sum = 0.0f;
#pragma unroll 4
        for (int i = lane; i < inputs; i += 32)
            sum = fmaf(row[i], input[i], sum);
#pragma unroll
        for (int half = 16; half > 0; half /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, half);
        if (lane == 0)
            output[neuron] = 1.7159f * tanhf(0.66666667f * (sum + bias[neuron]));
    }
}
