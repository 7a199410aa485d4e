// What a new centre would gain in the clustering of a stream: for each point the cost of going over to the candidate. If
// that is less than its cost now, the point changes; if not, its old centre would lose it at a price. Each point
// has a row of prices, one for each centre, and behind them what the candidate gains.

constexpr int THREADS = 512;
constexpr int MOST_DIMENSIONS = 64;

extern "C" __global__ void __launch_bounds__(THREADS)
pgain(const float* __restrict__ coordinates, const float* __restrict__ weight, const float* __restrict__ cost,
      const int* __restrict__ assigned, const int* __restrict__ table, float* __restrict__ prices,
      int* __restrict__ switched, int points, int dimensions, int centres, int candidate)
{
    __shared__ float middle[MOST_DIMENSIONS];
    const int point = blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x < dimensions)
        middle[threadIdx.x] = coordinates[threadIdx.x * points + candidate];
    __syncthreads();
    if (point >= points)
        return;
    float square = 0.0f;
#pragma unroll 4
    for (int d = 0; d < dimensions; ++d) {
        const float off = coordinates[d * points + point] - middle[d];
        square = __fadd_rn(square, __fmul_rn(off, off));
    }
    const float there = __fmul_rn(square, weight[point]), here = cost[point];
    float* const own = prices + point * (centres + 1);
    if (there < here) {
        switched[point] = 1;
        own[centres] = there - here;
    } else {
        own[table[assigned[point]]] += here - there;
    }
}
