// The number of ways to place n queens on a board of n x n squares, none of which attacks another. A thread's number
// says where the queens of the first `fixed` rows are: its digits to base n are their columns. The thread counts all
// ways to place the others, and a block adds up what its threads have found.
//
// A thread keeps its search in a stack: for each row the columns that are taken, straight and along both diagonals, and
// the free ones that it has yet to try. Stacks lie level by level, so that neighbouring threads use neighbouring banks.
// Threads whose first queens attack each other have nothing to search.

constexpr int THREADS = 64;
constexpr int DEPTH = 10;

extern "C" __global__ void __launch_bounds__(THREADS)
NQU(unsigned* solutions, int n, int fixed, int prefixes)
{
    __shared__ unsigned taken[DEPTH][THREADS];    // 2,560 bytes
    __shared__ unsigned left[DEPTH][THREADS];     // 2,560: diagonals that go to lower bits from row to row
    __shared__ unsigned right[DEPTH][THREADS];    // 2,560: to higher bits
    __shared__ unsigned open[DEPTH][THREADS];     // 2,560
    __shared__ unsigned found[THREADS];           //   256

    const int thread = threadIdx.x;
    const int number = blockIdx.x * THREADS + thread;
    const unsigned board = (1u << n) - 1;

    unsigned columns = 0, lower = 0, higher = 0;
    bool valid = number < prefixes;
    int digits = number;
    for (int row = 0; row < fixed; ++row) {
        const unsigned queen = 1u << digits % n;
        digits /= n;
        valid = valid && !(queen & (columns | lower | higher));
        columns |= queen;
        lower = (lower | queen) >> 1;
        higher = (higher | queen) << 1;
    }

    unsigned count = 0;
    if (valid) {
        int level = 0;
        const int last = n - fixed - 1;
        taken[0][thread] = columns;
        left[0][thread] = lower;
        right[0][thread] = higher;
        open[0][thread] = board & ~(columns | lower | higher);
        while (level >= 0) {
            const unsigned squares = open[level][thread];
            if (squares == 0) {
                --level;
                continue;
            }
            const unsigned queen = squares & -squares;
            open[level][thread] = squares ^ queen;
            if (level == last) {
                ++count;
                continue;
            }
            const unsigned straight = taken[level][thread] | queen;
            const unsigned down = (left[level][thread] | queen) >> 1, up = (right[level][thread] | queen) << 1;
            ++level;
            taken[level][thread] = straight;
            left[level][thread] = down;
            right[level][thread] = up;
            open[level][thread] = board & ~(straight | down | up);
        }
    }

    found[thread] = count;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (thread < half)
            found[thread] += found[thread + half];
        __syncthreads();
    }
    if (thread == 0)
        solutions[blockIdx.x] = found[0];
}
