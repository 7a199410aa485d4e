// LU decomposition in place, without pivots, by blocks of B x B: of each round's block on the diagonal, of the blocks
// in its row and column, of all that lie behind both.

constexpr int B = 8;

extern "C" __global__ void diagonal(float *m, int n, int at)
{
    __shared__ float tile[B][B];
    int x = threadIdx.x;
    for (int y = 0; y < B; y++)
        tile[y][x] = m[(at + y) * n + at + x];
    __syncthreads();
    for (int k = 0; k < B - 1; k++) {
        if (x > k)
            tile[x][k] = tile[x][k] / tile[k][k];
        __syncthreads();
        if (x > k)
            for (int y = k + 1; y < B; y++)
                tile[x][y] = tile[x][y] - tile[x][k] * tile[k][y];
        __syncthreads();
    }
    for (int y = 0; y < B; y++)
        m[(at + y) * n + at + x] = tile[y][x];
}

extern "C" __global__ void perimeter(float *m, int n, int at)
{
    __shared__ float diagonal[B][B];
    __shared__ float row[B][B];
    __shared__ float column[B][B];
    int x = threadIdx.x, other = at + (blockIdx.x + 1) * B;
    for (int y = 0; y < B; y++) {
        diagonal[y][x] = m[(at + y) * n + at + x];
        row[y][x] = m[(at + y) * n + other + x];
        column[y][x] = m[(other + y) * n + at + x];
    }
    __syncthreads();
    for (int y = 1; y < B; y++)
        for (int k = 0; k < y; k++)
            row[y][x] = row[y][x] - diagonal[y][k] * row[k][x];
    for (int y = 0; y < B; y++) {
        for (int k = 0; k < y; k++)
            column[x][y] = column[x][y] - column[x][k] * diagonal[k][y];
        column[x][y] = column[x][y] / diagonal[y][y];
    }
    __syncthreads();
    for (int y = 0; y < B; y++) {
        m[(at + y) * n + other + x] = row[y][x];
        m[(other + y) * n + at + x] = column[y][x];
    }
}

extern "C" __global__ void internal(float *m, int n, int at)
{
    __shared__ float row[B][B];
    __shared__ float column[B][B];
    int x = threadIdx.x, y = threadIdx.y;
    int right = at + (blockIdx.x + 1) * B, below = at + (blockIdx.y + 1) * B;
    row[y][x] = m[(at + y) * n + right + x];
    column[y][x] = m[(below + y) * n + at + x];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < B; k++)
        sum += column[y][k] * row[k][x];
    m[(below + y) * n + right + x] -= sum;
}
