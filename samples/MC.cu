// Marching cubes, last step: the triangles of the surface field = iso inside the listed cells. Cell `voxels[i]`
// writes its triangles' corners and unit normals (`sign` times the gradient's direction) from `offsets[i]` on, below
// `limit`.
//
// A cell's number holds x in its low `shift_x` bits, then y in `shift_y` bits, then z. `field` has nx x ny x nz points,
// rows `pitch_y` and planes `pitch_z` elements apart. A thread takes a cell: it reads its 8 corners and the 24 points
// around them, puts crossing and normal of all 12 edges into its own column of shared memory, and looks up there what
// the triangles of its case use (MC_tables.py). Threads do not meet in the array.

#include "MC_tables.cuh"
#include "staged.cuh"

constexpr int THREADS = 32;
constexpr int EDGES = 12;

struct Pointers {
    float4* positions;
    float4* normals;
    const unsigned* voxels;
    const unsigned* offsets;
    const float* field;
};

struct Numbers {
    int shift_x, shift_y, nx, ny, nz, pitch_y, pitch_z;
    unsigned count, limit;
    float iso, spacing_x, spacing_y, spacing_z, origin_x, origin_y, origin_z, sign;
};

// A slope from values one or, at the field's border, no step to either side.
__device__ __forceinline__ float slope(float low, float high, bool border, float steps)
{
    return (high - low) * (border ? steps : 0.5f * steps);
}

__device__ __forceinline__ float between(float a, float b, float part)
{
    return fmaf(part, b - a, a);
}

extern "C" __global__ void __launch_bounds__(THREADS)
MC(float4* positions, float4* normals, const unsigned* voxels, const unsigned* offsets, const float* field, int shift_x,
   int shift_y, int nx, int ny, int nz, int pitch_y, int pitch_z, unsigned count, unsigned limit, float iso,
   float spacing_x, float spacing_y, float spacing_z, float origin_x, float origin_y, float origin_z, float sign)
{
    __shared__ Pointers pointers;                      // 40 bytes
    __shared__ Numbers numbers;                        // 68
    __shared__ float3 vertices[2 * EDGES][THREADS];    // 9,216: crossings, then normals

    const int thread = threadIdx.x;
    if (thread == 0) {
        pointers = {positions, normals, voxels, offsets, field};
        numbers = {shift_x, shift_y,   nx,        ny,        nz,       pitch_y,  pitch_z,  count, limit,
                   iso,     spacing_x, spacing_y, spacing_z, origin_x, origin_y, origin_z, sign};
    }
    __syncthreads();
    const Pointers p = pointers;
    const Numbers n = numbers;

    const unsigned item = blockIdx.x * THREADS + thread;
    if (item >= n.count)
        return;
    const unsigned voxel = __ldg(in_global(p.voxels) + item);
    const int x = voxel & ((1 << n.shift_x) - 1);
    const int y = voxel >> n.shift_x & ((1 << n.shift_y) - 1);
    const int z = voxel >> (n.shift_x + n.shift_y);

    // Corner c is at (c & 1, c >> 1 & 1, c >> 2) of the cell.
    const float* const points = in_global(p.field) + (ptrdiff_t)z * n.pitch_z + y * n.pitch_y + x;
    float value[8];
    unsigned inside = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        value[c] = __ldg(points + (c & 1) + (c >> 1 & 1) * n.pitch_y + (c >> 2) * n.pitch_z);
        inside |= (value[c] > n.iso) << c;
    }
    const int vertex_count = vertex_counts[inside];
    if (vertex_count == 0)
        return;

    // Gradients at the corners: the point on the other side of a corner is outside the cell.
    const int distance[3] = {1, n.pitch_y, n.pitch_z};
    const bool border[3][2] = {{x == 0, x + 2 >= n.nx}, {y == 0, y + 2 >= n.ny}, {z == 0, z + 2 >= n.nz}};
    const float steps[3] = {n.sign / n.spacing_x, n.sign / n.spacing_y, n.sign / n.spacing_z};
    float gradient[8][3];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        const float* const corner = points + (c & 1) + (c >> 1 & 1) * n.pitch_y + (c >> 2) * n.pitch_z;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            const bool high = c >> axis & 1;
            const int outward = border[axis][high] ? 0 : high ? distance[axis] : -distance[axis];
            const float beyond = __ldg(corner + outward), across = value[c ^ 1 << axis];
            gradient[c][axis] = high ? slope(across, beyond, border[axis][1], steps[axis])
                                     : slope(beyond, across, border[axis][0], steps[axis]);
        }
    }

    // Edge 4 a + k runs along axis a from the k-th corner whose bit a is zero.
#pragma unroll
    for (int edge = 0; edge < EDGES; ++edge) {
        const int axis = edge / 4, k = edge % 4;
        const int from = axis == 0 ? 2 * k : axis == 1 ? (k & 1) + (k & 2) * 2 : k;
        const int to = from | 1 << axis;
        const float part = __fdiv_rn(n.iso - value[from], value[to] - value[from]);
        const float cell_x = axis == 0 ? __fadd_rn((float)x, part) : (float)(x + (from & 1));
        const float cell_y = axis == 1 ? __fadd_rn((float)y, part) : (float)(y + (from >> 1 & 1));
        const float cell_z = axis == 2 ? __fadd_rn((float)z, part) : (float)(z + (from >> 2));
        vertices[edge][thread] =
            make_float3(fmaf(cell_x, n.spacing_x, n.origin_x), fmaf(cell_y, n.spacing_y, n.origin_y),
                        fmaf(cell_z, n.spacing_z, n.origin_z));
        const float gx = between(gradient[from][0], gradient[to][0], part);
        const float gy = between(gradient[from][1], gradient[to][1], part);
        const float gz = between(gradient[from][2], gradient[to][2], part);
        const float inverse = rsqrtf(fmaxf(gx * gx + gy * gy + gz * gz, 1e-30f));
        vertices[EDGES + edge][thread] = make_float3(gx * inverse, gy * inverse, gz * inverse);
    }

    const unsigned first = __ldg(in_global(p.offsets) + item);
    for (int i = 0; i < vertex_count && first + i < n.limit; ++i) {
        const int edge = __ldg(&vertex_edges[inside][i]);
        const float3 at = vertices[edge][thread], normal = vertices[EDGES + edge][thread];
        in_global(p.positions)[first + i] = make_float4(at.x, at.y, at.z, 1.0f);
        in_global(p.normals)[first + i] = make_float4(normal.x, normal.y, normal.z, 0.0f);
    }
}
