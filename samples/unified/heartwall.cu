// Tracks points of the heart's wall through a film of ultrasound frames: each point's surroundings in the first frame
// are its template, and in every further frame the point goes where the frame correlates best with its template.
//
// One block of 256 threads per point. A frame's part in reach lies in shared memory with two tables of cumulative sums
// (values and squares), from which mean and deviation under the template at any place take four look-ups. The template
// then moves a little towards what was found. Steps of the work are procedures of their own, kept out of line: a
// frame, the tables, the correlation, one place's score, a sum over the block, the search for the peak.

#define THREADS 256
#define WARPS (THREADS / 32)
#define SIZE 12                 // of the template
#define WINDOW 32               // of the part of the frame in reach
#define PLACES (WINDOW - SIZE + 1)
#define STRIP 4                 // neighbouring places that a thread correlates at once
#define STRIPS ((PLACES + STRIP - 1) / STRIP)
#define CELLS (SIZE * SIZE)

// Tables have a row and a column of padding: strips may run over the window's right edge.
__shared__ float window[WINDOW][WINDOW + STRIP];
__shared__ float sums[WINDOW + 1][WINDOW + 1];
__shared__ float squares[WINDOW + 1][WINDOW + 1];
__shared__ float pattern[CELLS];
__shared__ float partial[WARPS];
__shared__ int partial_place[WARPS];

// The sum of every thread's value, in all threads.
__device__ __noinline__ float block_sum(float value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    float total = partial[0];
    for (int i = 1; i < WARPS; i++)
        total += partial[i];
    return total;
}

// The place of the highest score of all threads, the first one of equals, in all threads.
__device__ __noinline__ int block_peak(float score, int place)
{
    for (int step = 16; step > 0; step /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, score, step);
        const int there = __shfl_xor_sync(0xffffffffu, place, step);
        if (other > score || (other == score && there < place)) {
            score = other;
            place = there;
        }
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = score;
        partial_place[threadIdx.x / 32] = place;
    }
    __syncthreads();
    for (int i = 0; i < WARPS; i++) {
        if (partial[i] > score || (partial[i] == score && partial_place[i] < place)) {
            score = partial[i];
            place = partial_place[i];
        }
    }
    return place;
}

// Cumulative sums of the window, along rows and then down columns; row 0 and column 0 of the tables are zero.
__device__ __noinline__ void make_tables()
{
    const int t = threadIdx.x;
    if (t <= WINDOW) {
        sums[0][t] = sums[t][0] = 0.0f;
        squares[0][t] = squares[t][0] = 0.0f;
    }
    if (t < WINDOW) {
        float total = 0.0f;
        for (int x = 0; x < WINDOW; x++) {
            total += window[t][x];
            sums[t + 1][x + 1] = total;
        }
    } else if (t < 2 * WINDOW) {
        float total = 0.0f;
        for (int x = 0; x < WINDOW; x++) {
            total = fmaf(window[t - WINDOW][x], window[t - WINDOW][x], total);
            squares[t - WINDOW + 1][x + 1] = total;
        }
    }
    __syncthreads();
    if (t < 2 * WINDOW) {
        float *column = t < WINDOW ? &sums[1][t + 1] : &squares[1][t - WINDOW + 1];
        float total = 0.0f;
        for (int y = 0; y < WINDOW; y++) {
            total += column[y * (WINDOW + 1)];
            column[y * (WINDOW + 1)] = total;
        }
    }
    __syncthreads();
}

// The correlation coefficient at one place: `product` is the sum of window times template less its mean, `deviation`
// the sum of that template's squares.
__device__ __noinline__ float place_score(int x, int y, float product, float deviation)
{
    const float sum = (sums[y + SIZE][x + SIZE] - sums[y][x + SIZE]) - (sums[y + SIZE][x] - sums[y][x]);
    const float square = (squares[y + SIZE][x + SIZE] - squares[y][x + SIZE]) - (squares[y + SIZE][x] - squares[y][x]);
    const float spread = fmaf(-(sum * (1.0f / CELLS)), sum, square);
    return spread > 1e-6f ? product / sqrtf(spread * deviation) : 0.0f;
}

// Where in the window the template fits best, as y * PLACES + x. Places far from (from_x, from_y) count less.
__device__ __noinline__ int correlate(float mean, float deviation, int from_x, int from_y, float reluctance)
{
    const int y = threadIdx.x / STRIPS, first = threadIdx.x % STRIPS * STRIP;
    float best = -3.0e38f;
    int place = PLACES * PLACES;
    if (y < PLACES) {
        float product[STRIP] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 2
        for (int j = 0; j < SIZE; j++) {
            float under[SIZE + STRIP - 1];
#pragma unroll
            for (int i = 0; i < SIZE + STRIP - 1; i++)
                under[i] = window[y + j][first + i];
#pragma unroll
            for (int i = 0; i < SIZE; i++) {
                const float weight = pattern[j * SIZE + i] - mean;
#pragma unroll
                for (int k = 0; k < STRIP; k++)
                    product[k] = fmaf(under[i + k], weight, product[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < STRIP; k++) {
            const int x = first + k;
            if (x < PLACES) {
                const int far = (x - from_x) * (x - from_x) + (y - from_y) * (y - from_y);
                const float score = fmaf(-reluctance, (float)far, place_score(x, y, product[k], deviation));
                if (score > best) {
                    best = score;
                    place = y * PLACES + x;
                }
            }
        }
    }
    return block_peak(best, place);
}

// One frame: where the point that was at `at` (its template's first cell) is in it.
__device__ __noinline__ int2 follow(const float *frame, int pitch, int width, int height, int2 at, float reluctance,
                                    float learning)
{
    const int t = threadIdx.x;
    const int left = min(max(at.x - PLACES / 2, 0), width - WINDOW);
    const int top = min(max(at.y - PLACES / 2, 0), height - WINDOW);
    for (int i = t; i < WINDOW * (WINDOW + STRIP); i += THREADS) {
        const int x = i % (WINDOW + STRIP), y = i / (WINDOW + STRIP);
        window[y][x] = x < WINDOW ? frame[(top + y) * pitch + left + x] : 0.0f;
    }
    __syncthreads();
    make_tables();

    const float value = t < CELLS ? pattern[t] : 0.0f;
    const float mean = block_sum(value) * (1.0f / CELLS);
    const float less = t < CELLS ? value - mean : 0.0f;
    const float deviation = block_sum(less * less);
    const int place = correlate(mean, deviation, at.x - left, at.y - top, reluctance);

    const int x = place % PLACES, y = place / PLACES;
    if (t < CELLS)
        pattern[t] = fmaf(learning, window[y + t / SIZE][x + t % SIZE] - value, value);
    __syncthreads();
    return make_int2(left + x, top + y);
}

extern "C" __global__ void __launch_bounds__(THREADS)
heartwall(const float *film, int width, int height, int pitch, int frame_stride, int frames, const int2 *points,
          int2 *tracks, float *templates, float reluctance, float learning)
{
    const int t = threadIdx.x, point = blockIdx.x;
    int2 at = points[point];
    if (t < CELLS)
        pattern[t] = film[(at.y + t / SIZE) * pitch + at.x + t % SIZE];
    __syncthreads();
    for (int frame = 1; frame < frames; frame++) {
        film += frame_stride;
        at = follow(film, pitch, width, height, at, reluctance, learning);
        if (t == 0)
            tracks[point * (frames - 1) + frame - 1] = at;
    }
    if (t < CELLS)
        templates[point * CELLS + t] = pattern[t];
}
