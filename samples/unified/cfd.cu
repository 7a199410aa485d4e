// Fluxes of the compressible Euler equations through the faces of an unstructured mesh (finite volumes).
//
// One thread per tetrahedron adds up what flows through its four faces: the mean of the two sides' fluxes along the
// face's normal, and a dissipation proportional to the jump between them (Rusanov). The momentum's components are stored one
// after the other, each for all cells, and so are the fluxes of the five conserved variables. `link` is the neighbour's number minus the
// cell's own (a mesh numbered for locality needs 16 bits): 0 stands for a solid wall, a neighbour outside the mesh
// for the undisturbed far field. Normals are scaled by the face's area.

#define GAMMA 1.4f
#define FACES 4

// Density, momentum, energy of the far field: Mach 1.2, pressure 1, density 1.4, along x.
__constant__ float far_field[5] = {1.4f, 1.68f, 0.0f, 0.0f, 3.508f};

struct Flow {
    float density, energy;
    float3 momentum;
};

struct Derived {
    float3 velocity;
    float pressure, signal;  // signal: the flow's speed plus the speed of sound
};

static __device__ __forceinline__ Derived derive(const Flow &f)
{
    Derived d;
    d.velocity.x = f.momentum.x / f.density;
    d.velocity.y = f.momentum.y / f.density;
    d.velocity.z = f.momentum.z / f.density;
    const float square = fmaf(d.velocity.z, d.velocity.z, fmaf(d.velocity.y, d.velocity.y, d.velocity.x * d.velocity.x));
    d.pressure = (GAMMA - 1.0f) * fmaf(-0.5f * f.density, square, f.energy);
    d.signal = sqrtf(square) + sqrtf(GAMMA * d.pressure / f.density);
    return d;
}

static __device__ __forceinline__ Flow load(const float *__restrict__ density, const float *__restrict__ momentum,
                                            const float *__restrict__ energy, int i, int cells)
{
    Flow f;
    f.density = density[i];
    f.momentum.x = momentum[i];
    f.momentum.y = momentum[i + cells];
    f.momentum.z = momentum[i + 2 * cells];
    f.energy = energy[i];
    return f;
}

// What one side carries along the normal.
static __device__ __forceinline__ Flow carried(const Flow &f, const Derived &d, float3 n)
{
    Flow g;
    const float through = fmaf(d.velocity.z, n.z, fmaf(d.velocity.y, n.y, d.velocity.x * n.x));
    g.density = f.density * through;
    g.momentum.x = fmaf(f.momentum.x, through, d.pressure * n.x);
    g.momentum.y = fmaf(f.momentum.y, through, d.pressure * n.y);
    g.momentum.z = fmaf(f.momentum.z, through, d.pressure * n.z);
    g.energy = (f.energy + d.pressure) * through;
    return g;
}

extern "C" __global__ void __launch_bounds__(192)
cfd(const short *__restrict__ link, const float *__restrict__ normals, const float *__restrict__ density,
    const float *__restrict__ momentum, const float *__restrict__ energy, float *__restrict__ fluxes, int cells,
    float smoothing)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cells)
        return;
    const Flow own = load(density, momentum, energy, i, cells);
    const Derived self = derive(own);
    Flow sum = {0.0f, 0.0f, {0.0f, 0.0f, 0.0f}};

#pragma unroll
    for (int face = 0; face < FACES; face++) {
        const int step = link[i + face * cells];
        float3 n;
        n.x = normals[i + (3 * face + 0) * cells];
        n.y = normals[i + (3 * face + 1) * cells];
        n.z = normals[i + (3 * face + 2) * cells];
        if (step == 0) {
            sum.momentum.x = fmaf(self.pressure, n.x, sum.momentum.x);
            sum.momentum.y = fmaf(self.pressure, n.y, sum.momentum.y);
            sum.momentum.z = fmaf(self.pressure, n.z, sum.momentum.z);
            continue;
        }
        Flow other;
        const int j = i + step;
        if (j >= 0 && j < cells) {
            other = load(density, momentum, energy, j, cells);
        } else {
            other.density = far_field[0];
            other.momentum = make_float3(far_field[1], far_field[2], far_field[3]);
            other.energy = far_field[4];
        }
        const Derived theirs = derive(other);
        const Flow a = carried(own, self, n), b = carried(other, theirs, n);
        const float area = sqrtf(fmaf(n.z, n.z, fmaf(n.y, n.y, n.x * n.x)));
        const float damping = smoothing * area * fmaxf(self.signal, theirs.signal);
        sum.density += fmaf(damping, own.density - other.density, 0.5f * (a.density + b.density));
        sum.momentum.x += fmaf(damping, own.momentum.x - other.momentum.x, 0.5f * (a.momentum.x + b.momentum.x));
        sum.momentum.y += fmaf(damping, own.momentum.y - other.momentum.y, 0.5f * (a.momentum.y + b.momentum.y));
        sum.momentum.z += fmaf(damping, own.momentum.z - other.momentum.z, 0.5f * (a.momentum.z + b.momentum.z));
        sum.energy += fmaf(damping, own.energy - other.energy, 0.5f * (a.energy + b.energy));
    }

    fluxes[i] = sum.density;
    fluxes[i + cells] = sum.momentum.x;
    fluxes[i + 2 * cells] = sum.momentum.y;
    fluxes[i + 3 * cells] = sum.momentum.z;
    fluxes[i + 4 * cells] = sum.energy;
}
