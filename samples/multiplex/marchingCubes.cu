// Marching cubes, last step: the triangles of the surface field = iso inside the listed cells. Cell `voxels[i]`
// writes its triangles' corners and unit normals (`sign` times the gradient's direction) from `offsets[i]` on, below
// `limit`.
//
// There are nx x ny x nz cells; a cell's number holds x in its low `shift_x` bits, then y in `shift_y` bits, then z,
// and numbers of no cell are passed over. `field` has a point more than cells along each axis and another one on all
// sides, rows `pitch_y` and planes `pitch_z` elements apart. A thread takes a cell: it reads its 8 corners and the 24
// points around them, puts crossing and normal of all 12 edges into its own column of shared memory, and looks up
// there what the triangles of its case use (marchingCubes_tables.py). Threads do not meet in the array.

#include "marchingCubes_tables.cuh"
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

// What a thread knows of its cell: the field and its first corner there and in space, how far apart points are along
// the axes, and the factors that make gradients of differences over two points.
struct Cell {
    const float* field;
    unsigned first;
    float x, y, z;
    int distance[3];
    float factor[3];
};

// A corner's place in the field.
__device__ __forceinline__ unsigned number_of(int corner, const Cell& cell)
{
    return cell.first + (corner & 1) * cell.distance[0] + (corner >> 1 & 1) * cell.distance[1] +
           (corner >> 2) * cell.distance[2];
}

__device__ __forceinline__ float between(float a, float b, float part)
{
    return fmaf(part, b - a, a);
}

// A gradient's component along one axis; the corner's neighbour on one side is another corner of the cell.
__device__ __forceinline__ float slope(int corner, int axis, const Cell& cell, const float* value)
{
    const bool high = corner >> axis & 1;
    const unsigned next = number_of(corner, cell) + (high ? cell.distance[axis] : -cell.distance[axis]);
    const float beyond = __ldg(cell.field + next), across = value[corner ^ 1 << axis];
    return cell.factor[axis] * (high ? beyond - across : across - beyond);
}

__device__ __forceinline__ float3 gradient_at(int corner, const Cell& cell, const float* value)
{
    return make_float3(slope(corner, 0, cell, value), slope(corner, 1, cell, value), slope(corner, 2, cell, value));
}

// Crossing and normal of the i-th edge in the lower plane, between the planes, in the upper plane (PART 0, 1, 2), to
// the thread's column of `vertices`.
template <int PART>
__device__ __forceinline__ void cut(int i, const Numbers& n, const Cell& cell, const float* value,
                                    const float3* gradient, float3* vertices)
{
    // Edge 4 a + k runs along axis a from the k-th corner whose bit a is zero.
    const int axis = PART == 1 ? 2 : i / 2;
    const int k = PART == 1 ? i : PART + i % 2;
    const int from = axis == 0 ? 2 * k : axis == 1 ? (k & 1) + (k & 2) * 2 : k;
    const int to = from | 1 << axis;

    const float part = __fmul_rn(n.iso - value[from], __frcp_rn(value[to] - value[from]));
    const float x = axis == 0 ? fmaf(part, n.spacing_x, cell.x) : from & 1 ? __fadd_rn(cell.x, n.spacing_x) : cell.x;
    const float y = axis == 1 ? fmaf(part, n.spacing_y, cell.y) : from & 2 ? __fadd_rn(cell.y, n.spacing_y) : cell.y;
    const float z = axis == 2 ? fmaf(part, n.spacing_z, cell.z) : from & 4 ? __fadd_rn(cell.z, n.spacing_z) : cell.z;
    vertices[(4 * axis + k) * THREADS] = make_float3(x, y, z);
    const float gx = between(gradient[from].x, gradient[to].x, part);
    const float gy = between(gradient[from].y, gradient[to].y, part);
    const float gz = between(gradient[from].z, gradient[to].z, part);
    const float inverse = rsqrtf(fmaxf(gx * gx + gy * gy + gz * gz, 1e-30f));
    vertices[(EDGES + 4 * axis + k) * THREADS] = make_float3(gx * inverse, gy * inverse, gz * inverse);
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
    const unsigned voxel = __ldg(in_global(p.voxels) + item), first = __ldg(in_global(p.offsets) + item);
    const int x = voxel & ((1 << n.shift_x) - 1);
    const int y = voxel >> n.shift_x & ((1 << n.shift_y) - 1);
    const int z = voxel >> (n.shift_x + n.shift_y);
    if (x >= n.nx || y >= n.ny || z >= n.nz)
        return;

    // Corner c is at (c & 1, c >> 1 & 1, c >> 2) of the cell.
    const Cell cell = {in_global(p.field),
                       (unsigned)((z + 1) * n.pitch_z + (y + 1) * n.pitch_y + x + 1),
                       fmaf(x, n.spacing_x, n.origin_x),
                       fmaf(y, n.spacing_y, n.origin_y),
                       fmaf(z, n.spacing_z, n.origin_z),
                       {1, n.pitch_y, n.pitch_z},
                       {0.5f * n.sign / n.spacing_x, 0.5f * n.sign / n.spacing_y, 0.5f * n.sign / n.spacing_z}};

    float value[8];
    unsigned inside = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        value[c] = __ldg(cell.field + number_of(c, cell));
        inside |= (value[c] > n.iso) << c;
    }
    const int vertex_count = vertex_counts[inside];
    if (vertex_count == 0)
        return;

    // Corners and edges plane by plane, so that few gradients are needed at a time.
    float3 gradient[8];
#pragma unroll
    for (int c = 0; c < 4; ++c)
        gradient[c] = gradient_at(c, cell, value);
#pragma unroll
    for (int i = 0; i < 4; ++i)
        cut<0>(i, n, cell, value, gradient, &vertices[0][thread]);
#pragma unroll
    for (int c = 4; c < 8; ++c) {
        gradient[c] = gradient_at(c, cell, value);
        cut<1>(c - 4, n, cell, value, gradient, &vertices[0][thread]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
        cut<2>(i, n, cell, value, gradient, &vertices[0][thread]);

    for (int i = 0; i < vertex_count && first + i < n.limit; ++i) {
        const int edge = __ldg(&vertex_edges[inside][i]);
        const float3 at = vertices[edge][thread], normal = vertices[EDGES + edge][thread];
        in_global(p.positions)[first + i] = make_float4(at.x, at.y, at.z, 1.0f);
        in_global(p.normals)[first + i] = make_float4(normal.x, normal.y, normal.z, 0.0f);
    }
}
