// Temperature of a chip from the power its parts dissipate: explicit steps of the heat equation on a grid of cells.
//
// One cell per thread. A block of 16 x 16 threads takes `steps` time steps in one launch; three tiles of shared memory
// hold the temperatures, the power, and the temperatures to come. Each step is good one ring of cells less far from the
// block's middle (a ghost zone), so blocks overlap by `steps` cells on each side and write only what is fresh. Beyond the
// edge of the chip a cell's neighbour is the cell itself. Sums are of 64 bits, as a constant 2.0 in C makes them.

#define EDGE 16

extern "C" __global__ void __launch_bounds__(EDGE * EDGE)
hotspot(const float *__restrict__ power, const float *__restrict__ before, float *__restrict__ after, int rows,
        int columns, int steps, float capacity, float rx, float ry, float rz, float dt, float ambient)
{
    __shared__ float now[EDGE][EDGE];
    __shared__ float heat[EDGE][EDGE];
    __shared__ float next[EDGE][EDGE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int left = (int)blockIdx.x * (EDGE - 2 * steps) - steps, top = (int)blockIdx.y * (EDGE - 2 * steps) - steps;
    const int x = left + tx, y = top + ty;
    const bool on_chip = x >= 0 && x < columns && y >= 0 && y < rows;
    if (on_chip) {
        now[ty][tx] = before[y * columns + x];
        heat[ty][tx] = power[y * columns + x];
    }
    __syncthreads();

    // The part of the block that lies on the chip, and the neighbours within it.
    const int x_low = max(0, -left), x_high = min(EDGE - 1, columns - 1 - left);
    const int y_low = max(0, -top), y_high = min(EDGE - 1, rows - 1 - top);
    const int west = max(tx - 1, x_low), east = min(tx + 1, x_high);
    const int north = max(ty - 1, y_low), south = min(ty + 1, y_high);

    const double rate = dt / capacity;
    const double gx = 1.0f / rx, gy = 1.0f / ry, gz = 1.0f / rz;
    bool fresh = false;
    const double own = heat[ty][tx], around = ambient;
    double t = now[ty][tx];
    for (int step = 0; step < steps; step++) {
        fresh = on_chip && tx > step && tx < EDGE - 1 - step && ty > step && ty < EDGE - 1 - step;
        if (fresh) {
            const double s = now[south][tx], n = now[north][tx], e = now[ty][east], w = now[ty][west];
            double flow = fma(fma(-2.0, t, e + w), gx, fma(fma(-2.0, t, s + n), gy, own));
            flow = fma(around - t, gz, flow);
            next[ty][tx] = (float)fma(flow, rate, t);
            t = next[ty][tx];
        }
        __syncthreads();
        if (fresh)
            now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (fresh)
        after[y * columns + x] = next[ty][tx];
}
