// Each pixel beside the mean of its patch: a box of 17 x 17 pixels is averaged in two passes, rows first, and the mean of
// a tile of 32 x 32 averages is taken from all of them. Each phase has an array of its own, and ends with a barrier.

#define TILE 32
#define BOX 17
#define PATCH (TILE + BOX - 1)
#define THREADS 128

extern "C" __global__ void contrast(const int* image, int* out, int width) {
  __shared__ int patch[PATCH * PATCH];
  __shared__ int rows[PATCH * TILE];
  __shared__ int sums[THREADS];
  const int t = threadIdx.x;
  const int* corner = image + blockIdx.y * TILE * width + blockIdx.x * TILE;
  for (int k = 0; k < PATCH * PATCH / THREADS; k++) {
    const int at = t + THREADS * k;
    patch[at] = corner[at / PATCH * width + at % PATCH];
  }
  __syncthreads();
  int row[PATCH * TILE / THREADS];
  for (int k = 0; k < PATCH * TILE / THREADS; k++) {
    const int y = (t + THREADS * k) / TILE, x = t % TILE;
    row[k] = 0;
    for (int d = 0; d < BOX; d++) row[k] += patch[y * PATCH + x + d];
  }
  __syncthreads();
  for (int k = 0; k < PATCH * TILE / THREADS; k++) rows[t + THREADS * k] = row[k];
  __syncthreads();
  int value[TILE * TILE / THREADS], own = 0;
  for (int k = 0; k < TILE * TILE / THREADS; k++) {
    value[k] = 0;
    for (int d = 0; d < BOX; d++) value[k] += rows[t + THREADS * k + TILE * d];
    value[k] /= BOX * BOX;
    own += value[k];
  }
  __syncthreads();
  sums[t] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) sums[t] += sums[t + half];
  }
  __syncthreads();
  const int mean = sums[0] / (TILE * TILE), outs = gridDim.x * TILE;
  int* to = out + blockIdx.y * TILE * outs + blockIdx.x * TILE;
  for (int k = 0; k < TILE * TILE / THREADS; k++) to[(t + THREADS * k) / TILE * outs + t % TILE] = value[k] - mean;
}
