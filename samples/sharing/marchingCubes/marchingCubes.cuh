// Marching cubes, last step, of a field that a formula gives: the triangles of the surface field = iso inside the listed
// cells. Cell `voxels[i]` writes its triangles' corners and unit normals from `offsets[i]` on. A cell's number holds x in
// its low `shift_x` bits, then y in `shift_y` bits, then z; cells are `step` wide.
//
// A thread computes the field and its gradient at a cell's eight corners, which takes long, then puts crossing and
// normal of all twelve edges into its own column of shared memory, and looks up there what the triangles of its case
// use (multiplex/marchingCubes_tables.py says what corners, edges and cases are). Threads do not meet in the arrays.

#pragma once

#include "multiplex/marchingCubes_tables.cuh"

constexpr int EDGES = 12;

// An odd wave of period 1, u (1 - 4 u^2) with u the distance to the nearest integer, and its slope.
__device__ __forceinline__ float wave(float t)
{
    const float u = t - rintf(t);
    return __fmul_rn(u, fmaf(__fmul_rn(-4.0f, u), u, 1.0f));
}

__device__ __forceinline__ float wave_slope(float t)
{
    const float u = t - rintf(t);
    return fmaf(__fmul_rn(-12.0f, u), u, 1.0f);
}

// The field wave(x) wave(y + 1/4) + wave(y) wave(z + 1/4) + wave(z) wave(x + 1/4) in w, its gradient in x, y and z. Its
// surfaces are like gyroids.
__device__ __forceinline__ float4 field_at(float x, float y, float z)
{
    const float sx = wave(x), sy = wave(y), sz = wave(z);
    const float cx = wave(x + 0.25f), cy = wave(y + 0.25f), cz = wave(z + 0.25f);
    return make_float4(fmaf(wave_slope(x), cy, __fmul_rn(sz, wave_slope(x + 0.25f))),
                       fmaf(wave_slope(y), cz, __fmul_rn(sx, wave_slope(y + 0.25f))),
                       fmaf(wave_slope(z), cx, __fmul_rn(sy, wave_slope(z + 0.25f))),
                       fmaf(sx, cy, fmaf(sy, cz, __fmul_rn(sz, cx))));
}

__device__ __forceinline__ float between(float a, float b, float part)
{
    return fmaf(part, b - a, a);
}

template <int THREADS>
__device__ __forceinline__ void march(float4* __restrict__ positions, float4* __restrict__ normals,
                                      const unsigned* __restrict__ voxels, const unsigned* __restrict__ offsets,
                                      int shift_x, int shift_y, int count, float iso, float step,
                                      float3 (*crossings)[THREADS], float3 (*directions)[THREADS])
{
    const int thread = threadIdx.x;
    const int item = blockIdx.x * THREADS + thread;
    const unsigned voxel = voxels[min(item, count - 1)], first = offsets[min(item, count - 1)];
    float3 low, high;    // the cell's first corner and its last one
    low.x = __fmul_rn((float)(voxel & ((1 << shift_x) - 1)), step);
    low.y = __fmul_rn((float)(voxel >> shift_x & ((1 << shift_y) - 1)), step);
    low.z = __fmul_rn((float)(voxel >> (shift_x + shift_y)), step);
    high = make_float3(__fadd_rn(low.x, step), __fadd_rn(low.y, step), __fadd_rn(low.z, step));

    float4 field[8];
    unsigned inside = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        field[c] = field_at(c & 1 ? high.x : low.x, c & 2 ? high.y : low.y, c & 4 ? high.z : low.z);
        inside |= (field[c].w > iso) << c;
    }

#pragma unroll
    for (int edge = 0; edge < EDGES; ++edge) {
        // Edge 4 a + k runs along axis a from the k-th corner whose bit a is zero.
        const int axis = edge / 4, k = edge % 4;
        const int from = axis == 0 ? 2 * k : axis == 1 ? (k & 1) + (k & 2) * 2 : k;
        const float4 a = field[from], b = field[from | 1 << axis];
        const float part = __fmul_rn(iso - a.w, __frcp_rn(b.w - a.w));
        const float x = axis == 0 ? fmaf(part, step, low.x) : from & 1 ? high.x : low.x;
        const float y = axis == 1 ? fmaf(part, step, low.y) : from & 2 ? high.y : low.y;
        const float z = axis == 2 ? fmaf(part, step, low.z) : from & 4 ? high.z : low.z;
        crossings[edge][thread] = make_float3(x, y, z);
        const float nx = between(a.x, b.x, part), ny = between(a.y, b.y, part), nz = between(a.z, b.z, part);
        const float inverse = rsqrtf(fmaf(nx, nx, fmaf(ny, ny, __fmul_rn(nz, nz))));
        directions[edge][thread] = make_float3(nx * inverse, ny * inverse, nz * inverse);
    }
    __syncthreads();

    const int corners = item < count ? vertex_counts[inside] : 0;
    for (int i = 0; i < corners; ++i) {
        const int edge = __ldg(&vertex_edges[inside][i]);
        const float3 at = crossings[edge][thread], normal = directions[edge][thread];
        positions[first + i] = make_float4(at.x, at.y, at.z, 1.0f);
        normals[first + i] = make_float4(normal.x, normal.y, normal.z, 0.0f);
    }
}
