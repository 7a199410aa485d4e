// One step of the lattice Boltzmann method in three dimensions: cells collide what nineteen directions bring them, and
// push the results to their neighbours; obstacles send back what comes. Each direction is an array of its own. A block
// is a row of cells; the lattice has a margin of cells around it, which receive and do not collide.

constexpr int THREADS = 120;
constexpr int MARGIN = 4;      // cells in front of a row
constexpr int PITCH = 128;     // from row to row
constexpr int DIRECTIONS = 19;

extern "C" __global__ void __launch_bounds__(THREADS)
lbm(const float* __restrict__ source, float* __restrict__ target, const int* __restrict__ obstacles, int rows, int cells,
    float omega)
{
    constexpr int X[DIRECTIONS] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    constexpr int Y[DIRECTIONS] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    constexpr int Z[DIRECTIONS] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    const int plane = rows * PITCH;
    const int cell = MARGIN + threadIdx.x + (blockIdx.x + 1) * PITCH + (blockIdx.y + 1) * plane;
    float f[DIRECTIONS];
#pragma unroll
    for (int q = 0; q < DIRECTIONS; ++q)
        f[q] = source[q * cells + cell];
    if (obstacles[cell]) {
#pragma unroll
        for (int q = 0; q < DIRECTIONS; ++q) {
            const int back = q == 0 ? 0 : (q - 1 ^ 1) + 1;
            target[back * cells + cell + X[back] + Y[back] * PITCH + Z[back] * plane] = f[q];
        }
        return;
    }
    float density = 0.0f, x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
    for (int q = 0; q < DIRECTIONS; ++q) {
        density += f[q];
        x += X[q] * f[q];
        y += Y[q] * f[q];
        z += Z[q] * f[q];
    }
    x /= density;
    y /= density;
    z /= density;
    const float square = 1.5f * (x * x + y * y + z * z);
#pragma unroll
    for (int q = 0; q < DIRECTIONS; ++q) {
        const float weight = q == 0 ? 1.0f / 3 : q < 7 ? 1.0f / 18 : 1.0f / 36;
        const float along = 3.0f * (X[q] * x + Y[q] * y + Z[q] * z);
        const float balance = weight * density * (1.0f + along + 0.5f * along * along - square);
        target[q * cells + cell + X[q] + Y[q] * PITCH + Z[q] * plane] = f[q] - omega * (f[q] - balance);
    }
}
