// Clusters of points: every point finds the nearest of K centres, which lie in constant memory; the host makes new
// centres of the points.

constexpr int K = 5;

__constant__ float centres[K * 2];
__device__ int moved;

extern "C" __global__ void nearest(const float *points, int *cluster, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = points[2 * i], y = points[2 * i + 1], least = 1e30f;
    int best = 0;
    for (int k = 0; k < K; k++) {
        float dx = x - centres[2 * k], dy = y - centres[2 * k + 1];
        float distance = dx * dx + dy * dy;
        if (distance < least) {
            least = distance;
            best = k;
        }
    }
    if (cluster[i] != best) {
        cluster[i] = best;
        atomicAdd(&moved, 1);
    }
}
