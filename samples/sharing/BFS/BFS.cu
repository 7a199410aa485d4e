// Breadth-first search, one level: nodes of this level give their neighbours that have none the next one. Threads that
// find the same neighbour store the same number. A node's edges begin at first[node]; a thread looks at five at a time,
// the last one again where there are fewer, so that the accesses overlap.

constexpr int THREADS = 512;
constexpr int BATCH = 5;

extern "C" __global__ void __launch_bounds__(THREADS)
BFS(const int* __restrict__ first, const int* __restrict__ degree, const int* __restrict__ edges, int* levels, int level,
    int nodes)
{
    const int node = blockIdx.x * THREADS + threadIdx.x;
    if (node >= nodes || levels[node] != level)
        return;
    const int begin = first[node], end = begin + degree[node];
#pragma unroll 1
    for (int i = begin; i < end; i += BATCH) {
        int neighbour[BATCH], found[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            neighbour[k] = edges[min(i + k, end - 1)];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            found[k] = levels[neighbour[k]];
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (found[k] < 0)
                levels[neighbour[k]] = level + 1;
    }
}
