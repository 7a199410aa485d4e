// Alignment of two sequences: tiles of the score table, those of an anti-diagonal side by side. One kernel goes down to
// the longest diagonal, the other from there to the last corner.

constexpr int T = 16;

__device__ void tile(int *score, const int *similar, int n, int gap, int bx, int by)
{
    __shared__ int s[T + 1][T + 1];
    int t = threadIdx.x;
    int top = by * T * (n + 1) + bx * T;
    s[0][t + 1] = score[top + t + 1];
    s[t + 1][0] = score[top + (t + 1) * (n + 1)];
    if (t == 0)
        s[0][0] = score[top];
    __syncthreads();
    for (int d = 0; d < 2 * T - 1; d++) {
        int x = t + 1, y = d - t + 1;
        if (y >= 1 && y <= T) {
            int match = s[y - 1][x - 1] + similar[top + y * (n + 1) + x];
            s[y][x] = max(match, max(s[y][x - 1], s[y - 1][x]) - gap);
        }
        __syncthreads();
    }
    for (int y = 1; y <= T; y++)
        score[top + y * (n + 1) + t + 1] = s[y][t + 1];
}

extern "C" __global__ void grow(int *score, const int *similar, int n, int gap, int diagonal)
{
    tile(score, similar, n, gap, blockIdx.x, diagonal - 1 - blockIdx.x);
}

extern "C" __global__ void shrink(int *score, const int *similar, int n, int gap, int diagonal)
{
    int tiles = n / T;
    tile(score, similar, n, gap, blockIdx.x + tiles - diagonal, tiles - 1 - blockIdx.x);
}
