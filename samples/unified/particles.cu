// Collisions of equal spheres (discrete element method): every particle meets those of the 27 cells around its own.
//
// Particles are sorted by cell of a uniform grid whose edge is at least a diameter; a cell has `SLOTS` places, of which
// the first `population[cell]` are taken. Positions are kept relative to the cell's corner, so that they lose no
// precision far from the origin. The grid is periodic, its sizes are powers of two. A cell, a pair and a contact are
// procedures of their own, kept out of line: the code of each is in the binary once.

#define SLOTS 4

struct Contact {
    float diameter, spring, damping, shear, attraction;
};

__constant__ Contact contact = {0.75f, 0.5f, 0.02f, 0.1f, 0.01f};

struct Store {
    const float4 *position, *velocity;
    const int *population;
};

static __device__ __forceinline__ float dot(float3 a, float3 b)
{
    return fmaf(a.z, b.z, fmaf(a.y, b.y, a.x * b.x));
}

static __device__ __forceinline__ float3 scaled_sum(float s, float3 a, float3 b)
{
    return make_float3(fmaf(s, a.x, b.x), fmaf(s, a.y, b.y), fmaf(s, a.z, b.z));
}

// Spring, dashpot and friction between two touching spheres: `normal` points at the other one.
__device__ __noinline__ float3 touch(float3 normal, float distance, float3 rate)
{
    const float3 slip = scaled_sum(-dot(rate, normal), normal, rate);
    const float push = -contact.spring * (contact.diameter - distance);
    const float3 elastic = make_float3(push * normal.x, push * normal.y, push * normal.z);
    return scaled_sum(contact.shear, slip, scaled_sum(contact.damping, rate, elastic));
}

// The force that a particle feels from another one at `offset` that moves at `rate` relative to it.
__device__ __noinline__ float3 meet(float3 offset, float3 rate)
{
    const float square = dot(offset, offset);
    if (square >= contact.diameter * contact.diameter)
        return make_float3(0.0f, 0.0f, 0.0f);
    const float distance = sqrtf(square);
    const float3 normal = make_float3(offset.x / distance, offset.y / distance, offset.z / distance);
    return scaled_sum(contact.attraction, offset, touch(normal, distance, rate));
}

// `force` and what all particles of one cell but number `self` add to it. `from`: the particle's place as seen from
// that cell's corner.
__device__ __noinline__ float3 meet_cell(int cell, float3 from, float3 velocity, int self, Store store,
                                                float3 force)
{
    const int end = cell * SLOTS + store.population[cell];
#pragma unroll 1
    for (int other = cell * SLOTS; other < end; other++) {
        if (other == self)
            continue;
        const float4 p = store.position[other], v = store.velocity[other];
        const float3 offset = make_float3(p.x - from.x, p.y - from.y, p.z - from.z);
        const float3 rate = make_float3(v.x - velocity.x, v.y - velocity.y, v.z - velocity.z);
        const float3 f = meet(offset, rate);
        force = make_float3(force.x + f.x, force.y + f.y, force.z + f.z);
    }
    return force;
}

extern "C" __global__ void __launch_bounds__(256)
particles(const float4 *position, const float4 *velocity, const int *population, float4 *new_velocity, int log_x,
          int log_y, int log_z, float edge, float dt)
{
    const int self = blockIdx.x * blockDim.x + threadIdx.x;
    const int cell = self / SLOTS;
    if (cell >= 1 << (log_x + log_y + log_z))
        return;
    if (self % SLOTS >= population[cell]) {
        new_velocity[self] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        return;
    }

    const Store store = {position, velocity, population};
    const int mask_x = (1 << log_x) - 1, mask_y = (1 << log_y) - 1, mask_z = (1 << log_z) - 1;
    const int x = cell & mask_x, y = (cell >> log_x) & mask_y, z = cell >> (log_x + log_y);
    const float4 p = position[self], v = velocity[self];
    const float3 mine = make_float3(v.x, v.y, v.z);

    float3 force = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int dz = -1; dz <= 1; dz++) {
#pragma unroll 1
        for (int dy = -1; dy <= 1; dy++) {
            const int row = ((((z + dz) & mask_z) << log_y) + ((y + dy) & mask_y)) << log_x;
#pragma unroll 1
            for (int dx = -1; dx <= 1; dx++) {
                const float3 from = make_float3(fmaf((float)-dx, edge, p.x), fmaf((float)-dy, edge, p.y),
                                                fmaf((float)-dz, edge, p.z));
                force = meet_cell(row + ((x + dx) & mask_x), from, mine, self, store, force);
            }
        }
    }
    // p.w is the particle's inverse mass.
    const float gain = dt * p.w;
    new_velocity[self] = make_float4(fmaf(force.x, gain, v.x), fmaf(force.y, gain, v.y), fmaf(force.z, gain, v.z), 0.0f);
}
