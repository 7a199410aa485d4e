// Longest matches of queries with a text, as genome aligners find them in a suffix tree: a thread walks with its query
// from node to node. Where a node has no child for the next letter, the walk goes on at its suffix link, whose match is
// a letter shorter. For each letter the length of the match that ends there.

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS)
mum(const int* __restrict__ children, const int* __restrict__ links, const unsigned char* __restrict__ queries,
    unsigned char* __restrict__ lengths, int count, int letters)
{
    const int query = blockIdx.x * THREADS + threadIdx.x;
    if (query >= count)
        return;
    int node = 0, length = 0;
#pragma unroll 1
    for (int i = query * letters; i < (query + 1) * letters; ++i) {
        const int letter = queries[i];
        int next = children[4 * node + letter];
#pragma unroll 1
        while (next < 0 && length > 0) {
            --length;
            node = length > 0 ? links[node] : 0;
            next = children[4 * node + letter];
        }
        if (next >= 0) {
            node = next;
            ++length;
        }
        lengths[i] = static_cast<unsigned char>(length);
    }
}
