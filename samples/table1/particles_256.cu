// Collisions of equal spheres (discrete element method): every particle meets those of the 27 cells around its own.
//
// As particles.cu of the folder beside, but all that is read comes through textures: positions and velocities in the
// order of the cells, and how many of a cell's places are taken.

#define SLOTS 4

struct Contact {
    float diameter, spring, damping, shear, attraction;
};

__constant__ Contact contact = {0.75f, 0.5f, 0.02f, 0.1f, 0.01f};

// Textures of the particles in the order of their cells.
struct Sorted {
    cudaTextureObject_t position, velocity, population;
};

static __device__ __forceinline__ float dot(float3 a, float3 b)
{
    return fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x));
}

static __device__ __forceinline__ float3 scaled_sum(float s, float3 a, float3 b)
{
    return make_float3(fmaf(s, a.x, b.x), fmaf(s, a.y, b.y), fmaf(s, a.z, b.z));
}

// Spring, dashpot and friction between two spheres, if they touch: what the first one feels from the other at `offset`
// that moves at `rate` relative to it.
static __device__ __forceinline__ float3 meet(float3 offset, float3 rate)
{
    const float square = dot(offset, offset);
    if (square >= contact.diameter * contact.diameter)
        return make_float3(0.0f, 0.0f, 0.0f);
    const float distance = sqrtf(square);
    const float3 normal = make_float3(offset.x / distance, offset.y / distance, offset.z / distance);
    const float3 slip = scaled_sum(-dot(rate, normal), normal, rate);
    const float push = -contact.spring * (contact.diameter - distance);
    const float3 elastic = make_float3(push * normal.x, push * normal.y, push * normal.z);
    const float3 force = scaled_sum(contact.shear, slip, scaled_sum(contact.damping, rate, elastic));
    return scaled_sum(contact.attraction, offset, force);
}

// What all particles of one cell but number `self` add. `from`: the particle's place as seen from that cell's corner.
static __device__ __forceinline__ float3 meet_cell(int cell, float3 from, float3 velocity, int self, const Sorted &sorted,
                                                   float3 force)
{
    const int end = cell * SLOTS + tex1Dfetch<int>(sorted.population, cell);
    for (int other = cell * SLOTS; other < end; other++) {
        if (other == self)
            continue;
        const float4 p = tex1Dfetch<float4>(sorted.position, other), v = tex1Dfetch<float4>(sorted.velocity, other);
        const float3 offset = make_float3(p.x - from.x, p.y - from.y, p.z - from.z);
        const float3 rate = make_float3(v.x - velocity.x, v.y - velocity.y, v.z - velocity.z);
        const float3 f = meet(offset, rate);
        force = make_float3(force.x + f.x, force.y + f.y, force.z + f.z);
    }
    return force;
}

extern "C" __global__ void __launch_bounds__(256)
particles(cudaTextureObject_t position, cudaTextureObject_t velocity, cudaTextureObject_t population,
          float4 *new_velocity, int log_x, int log_y, int log_z, float edge, float dt)
{
    const int self = blockIdx.x * blockDim.x + threadIdx.x;
    const int cell = self / SLOTS;
    if (cell >= 1 << (log_x + log_y + log_z))
        return;
    if (self % SLOTS >= tex1Dfetch<int>(population, cell)) {
        new_velocity[self] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        return;
    }

    const Sorted sorted = {position, velocity, population};
    const int mask_x = (1 << log_x) - 1, mask_y = (1 << log_y) - 1, mask_z = (1 << log_z) - 1;
    const int x = cell & mask_x, y = (cell >> log_x) & mask_y, z = cell >> (log_x + log_y);
    const float4 p = tex1Dfetch<float4>(position, self), v = tex1Dfetch<float4>(velocity, self);
    const float3 mine = make_float3(v.x, v.y, v.z);

    float3 force = make_float3(0.0f, 0.0f, 0.0f);
    for (int dz = -1; dz <= 1; dz++) {
        for (int dy = -1; dy <= 1; dy++) {
            const int row = ((((z + dz) & mask_z) << log_y) + ((y + dy) & mask_y)) << log_x;
#pragma unroll
            for (int dx = -1; dx <= 1; dx++) {
                const float3 from = make_float3(fmaf((float)-dx, edge, p.x), fmaf((float)-dy, edge, p.y),
                                                fmaf((float)-dz, edge, p.z));
                force = meet_cell(row + ((x + dx) & mask_x), from, mine, self, sorted, force);
            }
        }
    }
    // p.w is the particle's inverse mass.
    const float gain = dt * p.w;
    new_velocity[self] = make_float4(fmaf(force.x, gain, v.x), fmaf(force.y, gain, v.y), fmaf(force.z, gain, v.z), 0.0f);
}
