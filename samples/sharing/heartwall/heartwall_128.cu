// Tracks points of the heart's wall through a film of ultrasound frames. A point's surroundings in the first frame are
// its template; in every further frame the point goes where the frame correlates best with the template, which then
// moves towards what was found. Frames begin `frame_stride` pixels apart; a template has 2 `radius` + 1 pixels a side,
// and the search goes `reach` pixels to each side, `rise` up and down.
//
// A block of 128 threads has a point. The first frame goes from global memory to global memory: a launch of one frame
// never touches shared memory. In later frames threads have a column of the template each for its sums, then a column
// of the search, whose best row they keep, and one thread looks for the best column. Only the innermost loop is unrolled.

constexpr int THREADS = 128;
constexpr int SIDE = 51;        // most pixels of a template's side
constexpr int COLUMNS = 131;    // most columns of the search

extern "C" __global__ void __launch_bounds__(THREADS)
heartwall_128(const float* __restrict__ film, int width, int height, int frame_stride, int frames,
              const int2* __restrict__ points, int2* __restrict__ tracks, float* __restrict__ templates, int radius,
              int reach, int rise, float learning)
{
    __shared__ float pattern[SIDE * SIDE];    // 10,404 bytes
    __shared__ float score[COLUMNS];          //    524
    __shared__ int row_of[COLUMNS];           //    524
    __shared__ float sums[SIDE];              //    204
    __shared__ float squares[SIDE];           //    204
    __shared__ float mean;                    //      4
    __shared__ float scale;                   //      4: one over the template's deviation
    __shared__ int best;                      //      4

    const int thread = threadIdx.x;
    const int side = 2 * radius + 1, cells = side * side, columns = 2 * reach + 1;
    float* const own = templates + blockIdx.x * cells;
    int2 point = points[blockIdx.x];

#pragma unroll 1
    for (int i = thread; i < cells; i += THREADS)
        own[i] = film[(point.y - radius + i / side) * width + point.x - radius + i % side];

#pragma unroll 1
    for (int frame = 1; frame < frames; ++frame) {
        const float* const picture = film + frame * frame_stride;
#pragma unroll 1
        for (int i = thread; i < cells; i += THREADS)
            pattern[i] = own[i];
        __syncthreads();
        if (thread < side) {
            float sum = 0.0f, square = 0.0f;
#pragma unroll 1
            for (int i = thread; i < cells; i += side) {
                sum += pattern[i];
                square = fmaf(pattern[i], pattern[i], square);
            }
            sums[thread] = sum;
            squares[thread] = square;
        }
        __syncthreads();
        if (thread == 0) {
            float sum = 0.0f, square = 0.0f;
#pragma unroll 1
            for (int i = 0; i < side; ++i) {
                sum += sums[i];
                square += squares[i];
            }
            mean = sum / cells;
            scale = rsqrtf(square - sum * sum / cells);
        }
        __syncthreads();

#pragma unroll 1
        for (int column = thread; column < columns; column += THREADS) {
            const int left = point.x - reach + column - radius;
            float highest = -2.0f;
            int row = 0;
#pragma unroll 1
            for (int dy = -rise; dy <= rise; ++dy) {
                const int top = point.y + dy - radius;
                if (left < 0 || left + side > width || top < 0 || top + side > height)
                    continue;
                float sum = 0.0f, square = 0.0f, product = 0.0f;
#pragma unroll 1
                for (int y = 0; y < side; ++y)
                    for (int x = 0; x < side; ++x) {
                        const float pixel = picture[(top + y) * width + left + x];
                        sum += pixel;
                        square = fmaf(pixel, pixel, square);
                        product = fmaf(pixel, pattern[y * side + x], product);
                    }
                const float deviation = rsqrtf(square - sum * sum / cells);
                const float correlation = (product - mean * sum) * scale * deviation;
                if (correlation > highest) {
                    highest = correlation;
                    row = dy;
                }
            }
            score[column] = highest;
            row_of[column] = row;
        }
        __syncthreads();
        if (thread == 0) {
            int peak = 0;
#pragma unroll 1
            for (int column = 1; column < columns; ++column)
                if (score[column] > score[peak])
                    peak = column;
            best = peak;
        }
        __syncthreads();

        point.x += best - reach;
        point.y += row_of[best];
        if (thread == 0)
            tracks[blockIdx.x * (frames - 1) + frame - 1] = point;
#pragma unroll 1
        for (int i = thread; i < cells; i += THREADS) {
            const float found = picture[(point.y - radius + i / side) * width + point.x - radius + i % side];
            own[i] = fmaf(learning, found - pattern[i], pattern[i]);
        }
        __syncthreads();
    }
}
