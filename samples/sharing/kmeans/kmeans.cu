// Clusters of points, one step: every point goes to the nearest centre, the first of equally near ones. For each block
// the number of points that changed their cluster, and the sum of squared distances. Features lie one behind the other
// for all points.
//
// A thread has a point. The tree over 576 threads halves six times, to nine words that one thread adds up.

constexpr int THREADS = 576;

extern "C" __global__ void __launch_bounds__(THREADS)
kmeans(int* __restrict__ cluster, int* __restrict__ changes, float* __restrict__ sums, const float* __restrict__ features,
       const float* __restrict__ centres, int points, int dimensions, int clusters)
{
    __shared__ int changed[THREADS];        // 2,304 bytes
    __shared__ float distances[THREADS];    // 2,304

    const int thread = threadIdx.x;
    const int point = blockIdx.x * THREADS + thread;
    int moved = 0;
    float nearest = 0.0f;
    if (point < points) {
        int index = -1;
#pragma unroll 1
        for (int c = 0; c < clusters; ++c) {
            float distance = 0.0f;
#pragma unroll 1
            for (int d = 0; d < dimensions; ++d) {
                const float off = features[d * points + point] - centres[c * dimensions + d];
                distance = fmaf(off, off, distance);
            }
            if (index < 0 || distance < nearest) {
                nearest = distance;
                index = c;
            }
        }
        moved = cluster[point] != index;
        cluster[point] = index;
    }
    changed[thread] = moved;
    distances[thread] = nearest;
    __syncthreads();
#pragma unroll 1
    for (int half = THREADS / 2; half >= 9; half /= 2) {
        if (thread < half) {
            changed[thread] += changed[thread + half];
            distances[thread] += distances[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
        int count = 0;
        float sum = 0.0f;
        for (int i = 0; i < 9; ++i) {
            count += changed[i];
            sum += distances[i];
        }
        changes[blockIdx.x] = count;
        sums[blockIdx.x] = sum;
    }
}
