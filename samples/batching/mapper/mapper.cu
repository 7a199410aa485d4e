// The map of a MapReduce engine, after Fig. 3 of the batching paper: a block has a range of records in a row, through
// which its threads walk side by side. This map looks for a word of four letters in a record of sixteen, and emits the
// record's key and the number of places at which the word begins.

constexpr int THREADS = 128;

extern "C" __global__ void __launch_bounds__(THREADS)
mapper(const uint4* __restrict__ inputKeys, int2* __restrict__ intermediate, int recordNum, int recordsPerTask,
       unsigned int word)
{
    const int index = blockIdx.y * gridDim.x + blockIdx.x;
    const int recordBase = index * recordsPerTask * THREADS;
    const int terminate = min(recordBase + recordsPerTask * THREADS, recordNum);
#pragma unroll 1
    for (int i = recordBase + threadIdx.x; i < terminate; i += THREADS) {
        const uint4 record = inputKeys[i];
        const unsigned int letters[4] = {record.x, record.y, record.z, record.w};
        unsigned int key = 2166136261u;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            key = (key ^ letters[k]) * 16777619u;
        int places = 0;
#pragma unroll
        for (int k = 0; k < 13; ++k) {
            const unsigned int four =
                k % 4 == 0 ? letters[k / 4] : __funnelshift_r(letters[k / 4], letters[k / 4 + 1], 8 * (k % 4));
            places += four == word;
        }
        intermediate[i] = make_int2(static_cast<int>(key), places);
    }
}
