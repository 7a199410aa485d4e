// Conjugate gradients, preconditioned by lines. Sums over all cells are made in two steps, of each block and of all
// blocks, in an order that is always the same; what the host would compute of them stays on the device.
#include "parts.cuh"

// `state`: the sums of the last round, and of the right side.
enum { RESIDUAL_STEP, OLD_RESIDUAL_STEP, CURVATURE, RESIDUAL, RIGHT };

// The sum over a block, in its thread 0.
static __device__ float over_block(float x) {
    __shared__ float of_warp[32];
    for (int distance = 16; distance; distance /= 2) x += __shfl_down_sync(0xffffffff, x, distance);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        x = threadIdx.x < (blockDim.x + 31) / 32 ? of_warp[threadIdx.x] : 0.0f;
        for (int distance = 16; distance; distance /= 2) x += __shfl_down_sync(0xffffffff, x, distance);
    }
    return x;
}

static __device__ void keep(float x, float *sums) {
    float sum = over_block(x);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// The right side: what flows in at the walls and at sources. All pressures begin at 0.
extern "C" __global__ void start(const float *permeability, const float *source, float *x, float *r, float *p,
                                 float *sums, int across, int down) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float right = 0.0f;
    if (row < across * down) {
        int i = row % across, j = row / across;
        float wall = 2.0f * permeability[row];
        right = source[row];
        if (i == 0) right += wall * walls[0];
        if (i == across - 1) right += wall * walls[1];
        if (j == 0) right += wall * walls[2];
        if (j == down - 1) right += wall * walls[3];
        x[row] = p[row] = 0.0f;
        r[row] = right;
    }
    keep(right * right, sums);
}

static __device__ Line line_of(const float *from, int line) {
    float4 low = ((const float4 *)from)[2 * line], high = ((const float4 *)from)[2 * line + 1];
    return {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
}

// z solves each line of eight cells for r; of a row's entries it takes the diagonal and the one to the east.
extern "C" __global__ void precondition(const float *values, const float *r, float *z, float *sums, int rows) {
    int line = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (line < rows / CELLS) {
        Line right = line_of(r, line);
        Line found = solve_line(line_of(values, line), line_of(values + 2 * rows, line), right);
        ((float4 *)z)[2 * line] = {found.at[0], found.at[1], found.at[2], found.at[3]};
        ((float4 *)z)[2 * line + 1] = {found.at[4], found.at[5], found.at[6], found.at[7]};
#pragma unroll
        for (int i = 0; i < CELLS; i++) sum = fmaf(found.at[i], right.at[i], sum);
    }
    keep(sum, sums);
}

// The next direction.
extern "C" __global__ void turn(const float *z, float *p, const float *state, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float old = state[OLD_RESIDUAL_STEP];
    p[row] = fmaf(old > 0.0f ? state[RESIDUAL_STEP] / old : 0.0f, p[row], z[row]);
}

extern "C" __global__ void apply(const int *columns, const float *values, const float *p, float *q, float *sums,
                                 int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (row < rows) {
        q[row] = flow_of(columns, values, p, row, rows).flow;
        sum = q[row] * p[row];
    }
    keep(sum, sums);
}

extern "C" __global__ void correct(const float *p, const float *q, float *x, float *r, const float *state, float *sums,
                                   int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (row < rows) {
        float step = state[RESIDUAL_STEP] / state[CURVATURE];
        x[row] = fmaf(step, p[row], x[row]);
        float left = fmaf(-step, q[row], r[row]);
        r[row] = left;
        sum = left * left;
    }
    keep(sum, sums);
}

// What the blocks have summed up, in one number of `state`.
extern "C" __global__ void fold(const float *sums, float *state, int blocks, int which) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < blocks; i += blockDim.x) sum += sums[i];
    sum = over_block(sum);
    if (threadIdx.x) return;
    if (which == RESIDUAL_STEP) state[OLD_RESIDUAL_STEP] = state[RESIDUAL_STEP];
    state[which] = sum;
}
