// A stencil of radius 4 in three dimensions, as in finite differences: 25 points a cell. Volumes have a margin of 4
// cells on all sides, along x of `margin` cells; the margin of `out` stays as it is.
//
// A block of 32 x 4 threads marches along z, a cell a thread. A thread keeps nine cells of its column in registers: its
// own, and four on each side. The tile has two planes of 12 x 40 cells: while one is read, the next one is filled, so
// that a step has one barrier.

constexpr int RADIUS = 4;
constexpr int X = 32;
constexpr int Y = 4;
constexpr int ROWS = Y + 2 * RADIUS;

__constant__ float weight[RADIUS + 1] = {0.625f, 0.046875f, -0.01953125f, 0.0078125f, -0.0026041667f};

extern "C" __global__ void __launch_bounds__(X * Y)
FDTD3d_32x4(float* __restrict__ out, const float* __restrict__ in, int width, int height, int planes, int row,
            int margin)
{
    __shared__ float tile[2 * ROWS][X + 2 * RADIUS];    // 3,840 bytes

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int x = blockIdx.x * X + tx, y = blockIdx.y * Y + ty;
    const bool inside = x < width && y < height;
    const int plane = row * (height + 2 * RADIUS);
    int at = (y + RADIUS) * row + x + margin;    // in the plane that is fetched next
    float column[2 * RADIUS + 1];
#pragma unroll
    for (int i = 1; i <= 2 * RADIUS; ++i, at += plane)
        column[i] = in[at];

    float(*now)[X + 2 * RADIUS] = tile;
#pragma unroll 1
    for (int z = 0; z < planes; ++z, at += plane) {
#pragma unroll
        for (int i = 0; i < 2 * RADIUS; ++i)
            column[i] = column[i + 1];
        column[2 * RADIUS] = in[at];

        const int here = at - RADIUS * plane;
        now[ty][tx + RADIUS] = in[here - RADIUS * row];
        now[ty + RADIUS][tx + RADIUS] = column[RADIUS];
        now[ty + 2 * RADIUS][tx + RADIUS] = in[here + RADIUS * row];
        if (tx < RADIUS) {
            now[ty + RADIUS][tx] = in[here - RADIUS];
            now[ty + RADIUS][tx + RADIUS + X] = in[here + X];
        }
        __syncthreads();

        float sum = weight[0] * column[RADIUS];
#pragma unroll
        for (int i = 1; i <= RADIUS; ++i) {
            float ring = column[RADIUS - i] + column[RADIUS + i];
            ring += now[ty + RADIUS - i][tx + RADIUS] + now[ty + RADIUS + i][tx + RADIUS];
            ring += now[ty + RADIUS][tx + RADIUS - i] + now[ty + RADIUS][tx + RADIUS + i];
            sum = fmaf(weight[i], ring, sum);
        }
        if (inside)
            out[here] = sum;
        now = now == tile ? tile + ROWS : tile;
    }
}
