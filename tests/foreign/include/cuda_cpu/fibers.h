// A block's threads as fibers of one host thread. Blocks run one after the other, so that shared memory can be static.
//
// A fiber runs until it waits: at a barrier for all threads of the block that have not ended, or at a meeting of a warp
// for those lanes of its mask that have not. Between two waits a thread runs alone: code that relies on a warp's lanes
// being in step without saying so is not run as its author meant it (see volatile.h for what helps there).
#pragma once
#include "types.h"
#include <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace cuda_cpu {

constexpr int WARP = 32, MOST_THREADS = 1024;
constexpr size_t STACK = 1 << 20, MOST_SHARED = 1 << 20;

inline bool in_kernel = false;
inline const bool backwards = std::getenv("CUDA_CPU_BACKWARDS") != nullptr;  // the last thread first
alignas(256) inline unsigned char dynamic_shared[MOST_SHARED];

enum class Waits { NO, BARRIER, WARP, ENDED };

struct Fiber {
    jmp_buf here;
    bool begun = false;
    Waits waits = Waits::NO;
    int told = 0;  // what it brought to a barrier that counts
    uint3 index{};
};

/// Lanes that meet: what each brought, and, once all are there, what all of them get.
struct Meeting {
    unsigned mask, arrived = 0, came = 0;
    uint64_t brought[WARP]{}, got[WARP]{};
};

struct Block {
    Fiber fibers[MOST_THREADS];
    std::vector<Meeting> meetings[MOST_THREADS / WARP];
    int threads = 0, current = 0;
    int total = 0, holding = 0;  // of the last barrier: the sum of what was told, and how many told anything but 0
    int passed = 0;
    jmp_buf scheduler;
    ucontext_t home;
    const std::function<void()> *body = nullptr;
};

inline Block &block() {
    static Block *it = new Block;
    return *it;
}

[[noreturn]] inline void fail(const char *what) {
    std::fprintf(stderr, "cuda_cpu: %s (block %u %u %u, thread %u %u %u)\n", what, blockIdx.x, blockIdx.y, blockIdx.z,
                 threadIdx.x, threadIdx.y, threadIdx.z);
    std::abort();
}

/// Back to the scheduler, until it comes here again.
__attribute__((noinline)) inline void yield() {
    Block &b = block();
    if (!_setjmp(b.fibers[b.current].here)) _longjmp(b.scheduler, 1);
    threadIdx = block().fibers[block().current].index;
}

inline unsigned living(int warp) {
    Block &b = block();
    unsigned mask = 0;
    for (int lane = 0; lane < WARP && warp * WARP + lane < b.threads; lane++)
        if (b.fibers[warp * WARP + lane].waits != Waits::ENDED) mask |= 1u << lane;
    return mask;
}

/// Ends the meeting if all are there that can come.
inline bool settle(int warp, Meeting &m) {
    if (!m.arrived || (m.mask & living(warp) & ~m.arrived)) return false;
    std::copy(m.brought, m.brought + WARP, m.got);
    m.came = m.arrived;
    m.arrived = 0;
    for (int lane = 0; lane < WARP; lane++)
        if (m.came >> lane & 1) block().fibers[warp * WARP + lane].waits = Waits::NO;
    return true;
}

inline int lane_id() { return block().current % WARP; }

/// Every lane of the mask brings a value; all get those of all, and which lanes came.
inline std::pair<const uint64_t *, unsigned> meet(unsigned mask, uint64_t value) {
    Block &b = block();
    const int warp = b.current / WARP, lane = lane_id();
    if (!(mask >> lane & 1)) fail("a lane meets others under a mask that lacks it");
    auto &all = b.meetings[warp];
    size_t i = 0;
    while (i < all.size() && all[i].mask != mask) i++;
    if (i == all.size()) all.push_back(Meeting{mask});
    all[i].brought[lane] = value;
    all[i].arrived |= 1u << lane;
    b.fibers[b.current].waits = Waits::WARP;
    if (!settle(warp, all[i])) yield();
    return {b.meetings[warp][i].got, b.meetings[warp][i].came};
}

/// A barrier of the block; `told` is summed and counted over its threads.
inline void barrier(int told) {
    Block &b = block();
    b.fibers[b.current].told = told;
    b.fibers[b.current].waits = Waits::BARRIER;
    yield();
}

inline void begin_fiber() {
    for (;;) {
        Block &b = block();
        threadIdx = b.fibers[b.current].index;
        (*b.body)();
        Block &c = block();
        const int me = c.current;
        c.fibers[me].waits = Waits::ENDED;
        for (Meeting &m : c.meetings[me / WARP]) settle(me / WARP, m);
        if (!_setjmp(c.fibers[me].here)) _longjmp(c.scheduler, 1);
    }
}

/// A fiber's stack and its first context; it runs when it is first resumed.
__attribute__((noinline)) inline void first_resume(int i) {
    void *stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) fail("no memory for a thread's stack");
    static ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK;
    context.uc_link = nullptr;
    makecontext(&context, begin_fiber, 0);
    block().fibers[i].begun = true;
    setcontext(&context);
}

__attribute__((noinline)) inline void resume(int i) {
    Block &b = block();
    b.current = i;
    if (_setjmp(b.scheduler)) return;
    if (!b.fibers[i].begun) first_resume(i);
    _longjmp(b.fibers[i].here, 1);
}

/// Opens the barrier if every thread that has not ended is there.
inline bool open_barrier() {
    Block &b = block();
    int total = 0, holding = 0, there = 0;
    for (int i = 0; i < b.threads; i++) {
        if (b.fibers[i].waits == Waits::ENDED) continue;
        if (b.fibers[i].waits != Waits::BARRIER) return false;
        there++, total += b.fibers[i].told, holding += b.fibers[i].told != 0;
    }
    b.total = total, b.holding = holding, b.passed = there;
    for (int i = 0; i < b.threads; i++)
        if (b.fibers[i].waits == Waits::BARRIER) b.fibers[i].waits = Waits::NO;
    return there > 0;
}

inline void run_block(const std::function<void()> &body) {
    Block &b = block();
    b.body = &body;
    for (int i = 0; i < b.threads; i++) {
        b.fibers[i].waits = Waits::NO;
        b.fibers[i].index = uint3{i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    }
    for (auto &all : b.meetings) all.clear();
    for (;;) {
        bool moved = false, alive = false;
        for (int k = 0; k < b.threads; k++) {
            const int i = backwards ? b.threads - 1 - k : k;
            if (b.fibers[i].waits == Waits::NO) resume(i), moved = true;
            alive |= b.fibers[i].waits != Waits::ENDED;
        }
        if (!alive) return;
        if (!moved && !open_barrier()) fail("deadlock: threads wait for others that wait elsewhere");
    }
}

inline void run_grid(dim3 grid, dim3 shape, size_t shared, const std::function<void()> &body) {
    if (in_kernel) fail("a launch within a kernel");
    const size_t threads = size_t(shape.x) * shape.y * shape.z;
    if (!threads || threads > MOST_THREADS || shared > MOST_SHARED) fail("a launch that no device takes");
    gridDim = grid, blockDim = shape, in_kernel = true;
    block().threads = int(threads);
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = uint3{x, y, z};
                run_block(body);
            }
    in_kernel = false;
}

}  // namespace cuda_cpu
