// A neural network for handwritten digits, second layer: from 6 maps of 13 x 13 neurons to maps of 5 x 5, by windows of
// 5 x 5 that lie two neurons apart. A block has a map of an image, a thread a neuron of it; a map's weights are a bias,
// then 25 for each of the six maps.

constexpr int MAPS = 6;
constexpr int IN = 13;
constexpr int OUT = 5;
constexpr int WINDOW = 5;

extern "C" __global__ void __launch_bounds__(OUT * OUT)
NN(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ weights)
{
    const int map = blockIdx.x, image = blockIdx.y;
    const float* weight = weights + map * (1 + MAPS * WINDOW * WINDOW);
    const float* corner = in + image * (MAPS * IN * IN) + 2 * threadIdx.y * IN + 2 * threadIdx.x;

    float sum = *weight++;
#pragma unroll 1
    for (int k = 0; k < MAPS; ++k, corner += IN * IN)
#pragma unroll
        for (int y = 0; y < WINDOW; ++y)
#pragma unroll
            for (int x = 0; x < WINDOW; ++x)
                sum = fmaf(*weight++, corner[y * IN + x], sum);
    const int neuron = threadIdx.y * OUT + threadIdx.x;
    const float power = __expf(1.3333333f * sum);    // 1.7159 tanh(2 sum / 3)
    out[(image * gridDim.x + map) * (OUT * OUT) + neuron] = 1.7159f - 3.4318f / (power + 1.0f);
}
