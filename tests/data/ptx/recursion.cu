// Recursion as nvcc leaves it: every function here calls itself, directly, through another or through a virtual table.

#define NOT_INLINE __device__ __noinline__

NOT_INLINE unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

NOT_INLINE unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

NOT_INLINE void quicksort(int *v, int first, int last) {
    if (first >= last) return;
    int pivot = v[(first + last) / 2], i = first, j = last;
    while (i <= j) {
        while (v[i] < pivot) i++;
        while (v[j] > pivot) j--;
        if (i <= j) {
            int x = v[i];
            v[i++] = v[j];
            v[j--] = x;
        }
    }
    quicksort(v, first, j);
    quicksort(v, i, last);
}

// A tree of expressions, walked by virtual functions that walk on.
struct Node {
    __device__ virtual double value(double x, int depth) const = 0;
};
struct Leaf : Node {
    double factor;
    __device__ Leaf(double f) : factor(f) {}
    __device__ double value(double x, int depth) const override { return factor * x + depth; }
};
struct Sum : Node {
    const Node *left, *right;
    __device__ Sum(const Node *l, const Node *r) : left(l), right(r) {}
    __device__ double value(double x, int depth) const override {
        return left->value(x, depth + 1) + right->value(x + 0.5, depth + 1);
    }
};
struct Choice : Node {
    const Node *left, *right;
    __device__ Choice(const Node *l, const Node *r) : left(l), right(r) {}
    __device__ double value(double x, int depth) const override {
        return (x > 1.0 ? left : right)->value(x * 0.75, depth + 2);
    }
};

// Rays that are reflected: structs by value in and out, arrays in the frame.
struct Ray {
    float origin[3], direction[3];
};
struct Colour {
    float r, g, b;
    unsigned bounces;
};

NOT_INLINE Colour trace(Ray ray, unsigned depth, unsigned long long seed) {
    float at[4];
    Colour out = {0.f, 0.f, 0.f, depth};
    for (unsigned k = 0; k < 3; k++) at[(k + seed) & 3] = ray.origin[k] + 0.25f * ray.direction[k];
    at[(3 + seed) & 3] = 1.0f;
    if (depth == 0 || at[seed & 3] > 6.0f) {
        out.r = at[seed % 3];
        out.g = at[1];
        return out;
    }
    Ray next;
    for (int k = 0; k < 3; k++) {
        next.origin[k] = at[k];
        next.direction[k] = (seed >> k & 1) ? -ray.direction[k] : ray.direction[2 - k];
    }
    Colour one = trace(next, depth - 1, seed * 6364136223846793005ull + 1442695040888963407ull);
    if (seed & 4) {
        Colour two = trace(ray, depth - 1, seed >> 3);
        one.r = 0.5f * (one.r + two.r);
        one.bounces += two.bounces;
    }
    out.r = 0.5f * one.r + at[seed & 3];
    out.g = one.g - at[2];
    out.b = one.b + 0.125f * one.r;
    out.bounces += one.bounces;
    return out;
}

NOT_INLINE unsigned odd(unsigned n, unsigned salt);
NOT_INLINE unsigned even(unsigned n, unsigned salt) { return n == 0 ? salt : odd(n - 1, salt * 3 + 1) ^ n; }
NOT_INLINE unsigned odd(unsigned n, unsigned salt) { return n == 0 ? ~salt : even(n - 1, salt + 7) + n; }

extern "C" __global__ void fibonacci(unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = 1000 * fib(t % 13) + t;
}

extern "C" __global__ void ackermanns(unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = ackermann(t % 3, t % 5);
}

extern "C" __global__ void sort(int *values, int each) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    quicksort(values + t * each, 0, each - 1);
}

extern "C" __global__ void tree(double *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    Leaf one(1.5), two(t);
    Sum both(&one, &two);
    Choice either(&both, &two);
    Sum nested(&either, &both);
    Choice root(&nested, &either);
    const Node *nodes[6] = {&one, &two, &both, &either, &nested, &root};
    out[t] = nodes[t % 6]->value(0.125 * t, 0);
}

extern "C" __global__ void rays(Colour *out, unsigned depth) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    Ray ray = {{0.5f * t, 1.f, 2.f}, {1.f, -0.5f * t, 0.25f}};
    out[t] = trace(ray, depth - t % 3, 88172645463325252ull * (t + 1));
}

extern "C" __global__ void parity(unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = t & 1 ? odd(t % 29, t) : even(t % 31, t);
}

extern "C" __global__ void plain(unsigned *out) {
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = t * t;
}
