// Ranges of keys in a B+ tree of three levels: for each range its first key's number among all keys, and how many keys
// are inside, both ends included. A node has 256 keys, one for each thread of a block; the root may have fewer. Child k
// of a node holds the keys from its key k on. Levels lie one behind the other.
//
// A block has four ranges at once, so that their accesses overlap. On each level the thread whose key is the last one
// that is not above an end chooses the child where that end goes on; the block's threads learn it from global memory.

#include <climits>

constexpr int ORDER = 256;
constexpr int RANGES = 4;

// Stores, for both ends of each range, the number on its level of the last of a node's `size` keys that is not above the
// end. Where all are above, what was stored before stays.
__device__ __forceinline__ void choose(const int* __restrict__ level, int size, const int2 (&node)[RANGES],
                                       const int2 (&keys)[RANGES], int2* chosen)
{
    const int own = threadIdx.x;
    if (own < size) {
        int2 low[RANGES], high[RANGES];    // this thread's key, and the next thread's
#pragma unroll
        for (int k = 0; k < RANGES; ++k) {
            const int left = node[k].x * ORDER + own, right = node[k].y * ORDER + own;
            low[k] = make_int2(level[left], level[right]);
            const bool last = own + 1 == size;
            high[k] = make_int2(last ? INT_MAX : level[left + 1], last ? INT_MAX : level[right + 1]);
        }
#pragma unroll
        for (int k = 0; k < RANGES; ++k) {
            if (low[k].x <= keys[k].x && keys[k].x < high[k].x)
                chosen[k].x = node[k].x * ORDER + own;
            if (low[k].y <= keys[k].y && keys[k].y < high[k].y)
                chosen[k].y = node[k].y * ORDER + own;
        }
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(ORDER)
bplustree(const int* __restrict__ root, int children, const int* __restrict__ inner, const int* __restrict__ leaves,
          const int* __restrict__ starts, const int* __restrict__ lengths, int2* ends, int2* found)
{
    int2* const chosen = ends + blockIdx.x * RANGES;
    int2 keys[RANGES], node[RANGES];
#pragma unroll
    for (int k = 0; k < RANGES; ++k) {
        const int start = starts[blockIdx.x * RANGES + k];
        keys[k] = make_int2(start, start + lengths[blockIdx.x * RANGES + k]);
        node[k] = make_int2(0, 0);
    }
    choose(root, children, node, keys, chosen);
#pragma unroll
    for (int k = 0; k < RANGES; ++k)
        node[k] = chosen[k];
    __syncthreads();
    choose(inner, ORDER, node, keys, chosen);
#pragma unroll
    for (int k = 0; k < RANGES; ++k)
        node[k] = chosen[k];
    __syncthreads();
    choose(leaves, ORDER, node, keys, chosen);

    if (threadIdx.x < RANGES) {
        // From the first key that is not below the start to the last one that is not above the end.
        const int number = blockIdx.x * RANGES + threadIdx.x;
        const int2 at = chosen[threadIdx.x];
        const int first = at.x + (leaves[at.x] < starts[number]);
        found[number] = make_int2(first, at.y - first + 1);
    }
}
