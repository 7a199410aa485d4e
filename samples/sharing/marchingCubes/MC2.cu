// Marching cubes with blocks of a warp and a half, for machines with more shared memory.

#include "marchingCubes.cuh"

constexpr int THREADS = 48;

extern "C" __global__ void __launch_bounds__(THREADS)
MC2(float4* positions, float4* normals, const unsigned* voxels, const unsigned* offsets, int shift_x, int shift_y,
    int count, float iso, float step)
{
    __shared__ float3 crossings[EDGES][THREADS];     // 6,912 bytes
    __shared__ float3 directions[EDGES][THREADS];    // 6,912

    march<THREADS>(positions, normals, voxels, offsets, shift_x, shift_y, count, iso, step, crossings, directions);
}
