// Groups of threads: the block, and tiles of a warp. For nvcc this folder is not in the path: it has its own.
#pragma once
#include "cuda_cpu/device.h"

namespace cooperative_groups {

struct thread_block {
    static void sync() { __syncthreads(); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }
template <class G> void sync(const G &group) { group.sync(); }

template <unsigned N, class P = void> struct thread_block_tile {
    static unsigned lane() { return unsigned(cuda_cpu::lane_id()); }
    static unsigned mask() { return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1) << (lane() & ~(N - 1)); }
    static void sync() { __syncwarp(mask()); }
    static constexpr unsigned size() { return N; }
    static constexpr unsigned num_threads() { return N; }
    static unsigned thread_rank() { return lane() & (N - 1); }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <class T> T shfl(T v, int from) const { return __shfl_sync(mask(), v, from, N); }
    template <class T> T shfl_up(T v, unsigned by) const { return __shfl_up_sync(mask(), v, by, N); }
    template <class T> T shfl_down(T v, unsigned by) const { return __shfl_down_sync(mask(), v, by, N); }
    template <class T> T shfl_xor(T v, unsigned with) const { return __shfl_xor_sync(mask(), v, int(with), N); }
    int any(int p) const { return __any_sync(mask(), p); }
    int all(int p) const { return __all_sync(mask(), p); }
    unsigned ballot(int p) const { return __ballot_sync(mask(), p) >> (lane() & ~(N - 1)); }
};
template <unsigned N, class P> thread_block_tile<N, P> tiled_partition(const P &) { return {}; }

}  // namespace cooperative_groups
