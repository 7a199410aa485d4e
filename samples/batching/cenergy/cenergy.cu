// Coulombic potential of atoms at the points of a plane, after Fig. 5 of the batching paper: a thread has four points of
// a row, sixteen apart, so that a block's accesses coalesce. Atoms are x, y, the square of their distance from the
// plane, and their charge.

constexpr int THREADS_X = 16;
constexpr int THREADS_Y = 8;
constexpr int POINTS = 4;
constexpr int MOST_ATOMS = 64;

__constant__ float4 atominfo[MOST_ATOMS];

extern "C" __global__ void __launch_bounds__(THREADS_X * THREADS_Y)
cenergy(float* __restrict__ energygrid, int numatoms, float gridspacing)
{
    const int xindex = blockIdx.x * THREADS_X * POINTS + threadIdx.x;
    const int yindex = blockIdx.y * THREADS_Y + threadIdx.y;
    const int outaddr = gridDim.x * THREADS_X * POINTS * yindex + xindex;
    const float coorx = gridspacing * xindex;
    const float coory = gridspacing * yindex;
    const float spacing = gridspacing * THREADS_X;
    float energy[POINTS] = {};
#pragma unroll 1
    for (int atom = 0; atom < numatoms; ++atom) {
        const float4 info = atominfo[atom];
        const float dy = coory - info.y;
        const float dyz2 = dy * dy + info.z;
#pragma unroll
        for (int k = 0; k < POINTS; ++k) {
            const float dx = coorx + k * spacing - info.x;
            energy[k] += info.w * rsqrtf(dx * dx + dyz2);
        }
    }
#pragma unroll
    for (int k = 0; k < POINTS; ++k)
        energygrid[outaddr + k * THREADS_X] += energy[k];
}
