// Fluxes of the three-dimensional Euler equations through the four faces of unstructured cells, with the artificial
// viscosity of a central scheme.
//
// One thread per cell. What flows through a cell's own side of a face, along each axis, is worked out once and kept for
// all four. `link` gives each face's neighbour as a distance in cells: 0 is a solid wall, and a neighbour outside the
// mesh is the far field. Arrays lie field by field.

#define FACES 4
#define GAMMA 1.4f

struct State {
    float density, energy;
    float3 momentum;
};

// Of a state: what is carried along each axis. The momentum's is symmetric: xx, yy, zz on its diagonal.
struct Flow {
    float xx, xy, xz, yy, yz, zz;
    float3 energy;
};

__constant__ State far_field = {1.4f, 3.508f, {1.68f, 0.0f, 0.0f}};

static __device__ __forceinline__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static __device__ __forceinline__ State fetch(const float *density, const float *momentum, const float *energy, int cells,
                                              int i)
{
    return {density[i], energy[i], make_float3(momentum[i], momentum[cells + i], momentum[2 * cells + i])};
}

static __device__ __forceinline__ Flow flow_of(const State &s, float3 v, float pressure)
{
    const float carried = s.energy + pressure;
    return {v.x * s.momentum.x + pressure, v.x * s.momentum.y, v.x * s.momentum.z, v.y * s.momentum.y + pressure,
            v.y * s.momentum.z, v.z * s.momentum.z + pressure, make_float3(v.x * carried, v.y * carried, v.z * carried)};
}

// Velocity and pressure of a state; the result is its fastest signal: flow and sound.
static __device__ __forceinline__ float derive(const State &s, float3 &v, float &pressure)
{
    v = make_float3(s.momentum.x / s.density, s.momentum.y / s.density, s.momentum.z / s.density);
    const float square = dot(v, v);
    pressure = (GAMMA - 1.0f) * (s.energy - 0.5f * s.density * square);
    return sqrtf(square) + sqrtf(GAMMA * pressure / s.density);
}

extern "C" __global__ void __launch_bounds__(192)
cfd(const int *__restrict__ link, const float *__restrict__ normals, const float *__restrict__ density,
    const float *__restrict__ momentum, const float *__restrict__ energy, float *__restrict__ fluxes, int cells,
    float smoothing)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells)
        return;

    const State own = fetch(density, momentum, energy, cells, i);
    float3 own_velocity;
    float own_pressure;
    const float own_signal = derive(own, own_velocity, own_pressure);
    const Flow out = flow_of(own, own_velocity, own_pressure);

    float mass = 0.0f, heat = 0.0f;
    float3 force = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int face = 0; face < FACES; face++) {
        const int distance = link[face * cells + i];
        const float3 normal = make_float3(normals[3 * face * cells + i], normals[(3 * face + 1) * cells + i],
                                          normals[(3 * face + 2) * cells + i]);
        if (distance == 0) {
            force.x += normal.x * own_pressure;
            force.y += normal.y * own_pressure;
            force.z += normal.z * own_pressure;
            continue;
        }
        const int j = i + distance;
        const State other = j >= 0 && j < cells ? fetch(density, momentum, energy, cells, j) : far_field;
        float3 velocity;
        float pressure;
        const float signal = derive(other, velocity, pressure);
        const Flow in = flow_of(other, velocity, pressure);

        const float damping = 0.5f * smoothing * sqrtf(dot(normal, normal)) * (own_signal + signal);
        mass += damping * (own.density - other.density);
        heat += damping * (own.energy - other.energy);
        force.x += damping * (own.momentum.x - other.momentum.x);
        force.y += damping * (own.momentum.y - other.momentum.y);
        force.z += damping * (own.momentum.z - other.momentum.z);

        const float3 half = make_float3(0.5f * normal.x, 0.5f * normal.y, 0.5f * normal.z);
        mass += half.x * (own.momentum.x + other.momentum.x) + half.y * (own.momentum.y + other.momentum.y)
              + half.z * (own.momentum.z + other.momentum.z);
        heat += half.x * (out.energy.x + in.energy.x) + half.y * (out.energy.y + in.energy.y)
              + half.z * (out.energy.z + in.energy.z);
        force.x += half.x * (out.xx + in.xx) + half.y * (out.xy + in.xy) + half.z * (out.xz + in.xz);
        force.y += half.x * (out.xy + in.xy) + half.y * (out.yy + in.yy) + half.z * (out.yz + in.yz);
        force.z += half.x * (out.xz + in.xz) + half.y * (out.yz + in.yz) + half.z * (out.zz + in.zz);
    }
    fluxes[i] = mass;
    fluxes[cells + i] = force.x;
    fluxes[2 * cells + i] = force.y;
    fluxes[3 * cells + i] = force.z;
    fluxes[4 * cells + i] = heat;
}
