// A line of cells that are coupled with their neighbours west and east alone: elimination forwards and backwards, all in
// registers.
#include "parts.cuh"

// What is left of a diagonal when the cell before it is eliminated.
static __device__ __noinline__ float between(float diagonal, float coupling) { return 1.0f / (diagonal - coupling); }

__device__ Line solve_line(Line diagonal, Line east, Line right) {
    Line factor, found;
    float inverse = between(diagonal.at[0], 0.0f);
    factor.at[0] = east.at[0] * inverse;
    found.at[0] = right.at[0] * inverse;
#pragma unroll
    for (int i = 1; i < CELLS; i++) {
        float west = east.at[i - 1];
        inverse = between(diagonal.at[i], west * factor.at[i - 1]);
        factor.at[i] = east.at[i] * inverse;
        found.at[i] = (right.at[i] - west * found.at[i - 1]) * inverse;
    }
#pragma unroll
    for (int i = CELLS - 2; i >= 0; i--) found.at[i] = fmaf(-factor.at[i], found.at[i + 1], found.at[i]);
    return found;
}
