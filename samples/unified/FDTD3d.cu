// A finite-difference stencil of radius 4 in three dimensions (a star of 25 points), marching along z.
//
// A block of 32 x 16 threads (or of 32 x TILE_Y) owns a column of the volume. The plane in hand lies in shared memory with a margin of four
// cells; the four planes behind and the four in front are each thread's own, in registers, and move on by one a step.
// The volume has a margin of RADIUS cells on every side in y and z and `margin_x` cells in x, which are read and
// never written.

#define RADIUS 4
#define TILE_X 32
#ifndef TILE_Y
#define TILE_Y 16
#endif

__constant__ float weight[RADIUS + 1] = {0.625f, 0.046875f, -0.01953125f, 0.0078125f, -0.0026041667f};

extern "C" __global__ void __launch_bounds__(TILE_X * TILE_Y)
FDTD3d(const float *in, float *out, int size_x, int size_y, int size_z, int margin_x)
{
    __shared__ float tile[TILE_Y + 2 * RADIUS][TILE_X + 2 * RADIUS];

    const int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
    const int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    const bool mine = x < size_x && y < size_y;
    const int pitch = size_x + 2 * margin_x;
    const int plane = pitch * (size_y + 2 * RADIUS);

    // Which cells of the margin this thread fetches: rows above and below, columns left and right.
    const bool fetches_y = threadIdx.y < RADIUS && x < size_x;
    const bool fetches_x = threadIdx.x < RADIUS && y < size_y;
    const int below = min(TILE_Y, size_y - (int)blockIdx.y * TILE_Y);
    const int right = min(TILE_X, size_x - (int)blockIdx.x * TILE_X);

    // `ahead` is the cell four planes further than the one in hand.
    int ahead = (y + RADIUS) * pitch + x + margin_x;
    float behind[RADIUS], front[RADIUS], current = 0.0f;
    if (mine) {
#pragma unroll
        for (int k = RADIUS - 1; k >= 0; k--) {
            behind[k] = in[ahead];
            ahead += plane;
        }
        current = in[ahead];
        ahead += plane;
#pragma unroll
        for (int k = 0; k < RADIUS; k++) {
            front[k] = in[ahead];
            ahead += plane;
        }
    } else {
#pragma unroll
        for (int k = 0; k < RADIUS; k++)
            behind[k] = front[k] = 0.0f;
        ahead += 9 * plane;
    }
    ahead -= plane;

#pragma unroll 3
    for (int z = 0; z < size_z; z++) {
        const int here = ahead - RADIUS * plane;
        __syncthreads();
        if (fetches_y) {
            tile[threadIdx.y][tx] = in[here - RADIUS * pitch];
            tile[threadIdx.y + below + RADIUS][tx] = in[here + below * pitch];
        }
        if (fetches_x) {
            tile[ty][threadIdx.x] = in[here - RADIUS];
            tile[ty][threadIdx.x + right + RADIUS] = in[here + right];
        }
        if (mine)
            tile[ty][tx] = current;
        __syncthreads();

        float value = weight[0] * current;
#pragma unroll
        for (int k = 1; k <= RADIUS; k++) {
            const float ring = (front[k - 1] + behind[k - 1]) + (tile[ty - k][tx] + tile[ty + k][tx])
                             + (tile[ty][tx - k] + tile[ty][tx + k]);
            value = fmaf(weight[k], ring, value);
        }
        if (mine)
            out[here] = value;

#pragma unroll
        for (int k = RADIUS - 1; k > 0; k--)
            behind[k] = behind[k - 1];
        behind[0] = current;
        current = front[0];
#pragma unroll
        for (int k = 0; k < RADIUS - 1; k++)
            front[k] = front[k + 1];
        ahead += plane;
        if (mine && z + 1 < size_z)
            front[RADIUS - 1] = in[ahead];
    }
}
