// Clusters of points, one step, with the features of a point in a row: every point goes to the nearest centre, the first of
// equally near ones. A warp reads 32 rows side by side, once for each centre, so that it finds its own lines in L1 if
// other warps have not driven them out.

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
kmeans_rows(int* __restrict__ cluster, const float* features, const float* __restrict__ centres, int points,
            int dimensions, int clusters)
{
    const int point = blockIdx.x * THREADS + threadIdx.x;
    if (point >= points)
        return;
    const float* const row = features + point * dimensions;
    int index = 0;
    float nearest = 0.0f;
#pragma unroll 1
    for (int c = 0; c < clusters; ++c) {
        float distance = 0.0f;
#pragma unroll 2
        for (int d = 0; d < dimensions; ++d) {
            const float off = row[d] - centres[c * dimensions + d];
            distance = __fadd_rn(distance, __fmul_rn(off, off));
        }
        if (c == 0 || distance < nearest) {
            nearest = distance;
            index = c;
        }
    }
    cluster[point] = index;
}
