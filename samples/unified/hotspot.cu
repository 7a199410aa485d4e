// Temperature of a chip from the power its parts dissipate: explicit steps of the heat equation on a grid of cells.
//
// A block of 16 x 16 threads takes `steps` time steps in one launch over 16 columns and 48 rows of cells, three rows a
// thread. Shared memory holds the temperatures; a thread keeps its own three and their power in registers. Cells whose
// neighbours lie in another block go stale by one ring each step (a ghost zone), so blocks overlap by `steps` cells on
// each side and write only what is fresh. Beyond the edge of the chip a cell's neighbour is the cell itself.

#define EDGE 16
#define CELLS 3
#define ROWS (EDGE * CELLS)

extern "C" __global__ void __launch_bounds__(EDGE * EDGE)
hotspot(const float *__restrict__ power, const float *__restrict__ before, float *__restrict__ after, int rows,
        int columns, int steps, float capacity, float rx, float ry, float rz, float dt, float ambient)
{
    __shared__ float now[ROWS][EDGE];

    const int tx = threadIdx.x, first = threadIdx.y * CELLS;
    const int left = (int)blockIdx.x * (EDGE - 2 * steps) - steps;
    const int top = (int)blockIdx.y * (ROWS - 2 * steps) - steps;
    const int x = left + tx;

    // Cells off the chip repeat the nearest one on it: they are worked on with the others and never looked at.
    float t[CELLS], heat[CELLS];
#pragma unroll
    for (int k = 0; k < CELLS; k++) {
        const int cell = min(max(top + first + k, 0), rows - 1) * columns + min(max(x, 0), columns - 1);
        t[k] = before[cell];
        heat[k] = power[cell];
        now[first + k][tx] = t[k];
    }

    // The part of the block that lies on the chip, and the neighbours within it.
    const int x_low = max(0, -left), x_high = min(EDGE - 1, columns - 1 - left);
    const int y_low = max(0, -top), y_high = min(ROWS - 1, rows - 1 - top);
    const int west = min(max(tx - 1, x_low), EDGE - 1), east = max(min(tx + 1, x_high), 0);
    const int north = max(first - 1, 0), south = min(first + CELLS, ROWS - 1);

    const float rate = dt / capacity;
    const float gx = 1.0f / rx, gy = 1.0f / ry, gz = 1.0f / rz;
    __syncthreads();

    for (int step = 0; step < steps; step++) {
        float next[CELLS];
#pragma unroll
        for (int k = 0; k < CELLS; k++) {
            const int y = first + k;
            float up = k > 0 ? t[k - 1] : now[north][tx];
            float down = k < CELLS - 1 ? t[k + 1] : now[south][tx];
            up = y > y_low ? up : t[k];
            down = y < y_high ? down : t[k];
            float flow = fmaf(ambient - t[k], gz, heat[k]);
            flow = fmaf(fmaf(-2.0f, t[k], now[y][east] + now[y][west]), gx, flow);
            flow = fmaf(fmaf(-2.0f, t[k], down + up), gy, flow);
            next[k] = fmaf(flow, rate, t[k]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < CELLS; k++)
            now[first + k][tx] = t[k] = next[k];
        __syncthreads();
    }

#pragma unroll
    for (int k = 0; k < CELLS; k++) {
        const int row = first + k, y = top + row;
        if (tx >= steps && tx < EDGE - steps && row >= steps && row < ROWS - steps && x < columns && y < rows)
            after[y * columns + x] = t[k];
    }
}
