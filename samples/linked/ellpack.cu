// The matrix of a flow through cells in rows and columns, each of its own permeability, stored as ELLPACK: five entries a
// row, entry k of all rows side by side. Pressures are given at the walls.
#include "parts.cuh"

__constant__ float walls[4] = {1.0f, 0.0f, 0.25f, 0.5f};

// Of a face between two cells: their harmonic mean.
static __device__ __noinline__ float between(float one, float other) { return 2.0f * one * other / (one + other); }

extern "C" __global__ void assemble(const float *permeability, int *columns, float *values, int across, int down) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, rows = across * down;
    if (row >= rows) return;
    int x = row % across, y = row / across;
    int steps[4] = {-1, 1, -across, across};
    bool inside[4] = {x > 0, x < across - 1, y > 0, y < down - 1};
    float own = permeability[row], diagonal = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int to = inside[k] ? row + steps[k] : row;
        float face = inside[k] ? between(own, permeability[to]) : 2.0f * own;
        columns[(k + 1) * rows + row] = to;
        values[(k + 1) * rows + row] = inside[k] ? -face : 0.0f;
        diagonal += face;
    }
    columns[row] = row;
    values[row] = diagonal;
}

__device__ Flow flow_of(const int *columns, const float *values, const float *p, int row, int rows) {
    Flow found = {0.0f, values[row]};
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        int at = k * rows + row;
        found.flow = fmaf(values[at], p[columns[at]], found.flow);
    }
    return found;
}
