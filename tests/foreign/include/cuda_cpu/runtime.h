// The runtime's functions, as far as programs of the suites call them. Everything is done at once and in order.
#pragma once
#include "launch.h"

enum cudaError {
    cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorInitializationError, cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice, cudaErrorNotReady = 600, cudaErrorUnknown = 999,
};
typedef cudaError cudaError_t;
enum { CUDA_SUCCESS };  // the driver's, with which some compare
enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault,
};
typedef cuda_cpu::Stream *cudaStream_t;
typedef struct cuda_cpu_event *cudaEvent_t;
enum { cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault, cudaMemAttachGlobal = 1, cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming };
enum { cudaDeviceScheduleAuto, cudaDeviceScheduleSpin, cudaDeviceBlockingSync = 4, cudaDeviceMapHost = 8 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited };
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrWarpSize = 10,
    cudaDevAttrMultiProcessorCount = 16, cudaDevAttrComputeMode = 20, cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrClockRate = 13, cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrIntegrated = 18, cudaDevAttrManagedMemory = 83, cudaDevAttrMemoryPoolsSupported = 115,
};

struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, memPitch, textureAlignment, sharedMemPerMultiprocessor;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount;
    int clockRate, deviceOverlap, computeMode, canMapHostMemory, integrated, concurrentKernels, l2CacheSize;
    int memoryClockRate, memoryBusWidth, maxThreadsPerMultiProcessor, unifiedAddressing, managedMemory, ECCEnabled;
    int kernelExecTimeoutEnabled, asyncEngineCount, cooperativeLaunch, concurrentManagedAccess, pciBusID, pciDeviceID;
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
};

// The C library's clock stands still: programs that seed random numbers with it do the same every time. Weak, as every
// source has it.
extern "C" __attribute__((weak)) time_t time(time_t *at) noexcept {
    if (at) *at = 1;
    return 1;
}

static inline const char *cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "an error"; }
static inline const char *cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }
#define CUDA_CPU_NOTHING(name) template <class... A> cudaError_t name(A...) { return cudaSuccess; }
CUDA_CPU_NOTHING(cudaGetLastError) CUDA_CPU_NOTHING(cudaPeekAtLastError) CUDA_CPU_NOTHING(cudaSetDevice)
CUDA_CPU_NOTHING(cudaDeviceSynchronize) CUDA_CPU_NOTHING(cudaThreadSynchronize) CUDA_CPU_NOTHING(cudaThreadExit)
CUDA_CPU_NOTHING(cudaDeviceReset) CUDA_CPU_NOTHING(cudaStreamSynchronize) CUDA_CPU_NOTHING(cudaEventSynchronize)
CUDA_CPU_NOTHING(cudaEventRecord) CUDA_CPU_NOTHING(cudaEventDestroy) CUDA_CPU_NOTHING(cudaStreamDestroy)
CUDA_CPU_NOTHING(cudaEventQuery) CUDA_CPU_NOTHING(cudaStreamQuery) CUDA_CPU_NOTHING(cudaStreamWaitEvent)
CUDA_CPU_NOTHING(cudaFuncSetCacheConfig) CUDA_CPU_NOTHING(cudaDeviceSetCacheConfig)
CUDA_CPU_NOTHING(cudaThreadSetCacheConfig) CUDA_CPU_NOTHING(cudaDeviceSetSharedMemConfig)
CUDA_CPU_NOTHING(cudaFuncSetAttribute) CUDA_CPU_NOTHING(cudaSetDeviceFlags) CUDA_CPU_NOTHING(cudaDeviceSetLimit)
CUDA_CPU_NOTHING(cudaHostRegister) CUDA_CPU_NOTHING(cudaHostUnregister) CUDA_CPU_NOTHING(cudaMemAdvise)
CUDA_CPU_NOTHING(cudaMemPrefetchAsync) CUDA_CPU_NOTHING(cudaProfilerStart) CUDA_CPU_NOTHING(cudaProfilerStop)
CUDA_CPU_NOTHING(cudaStreamAttachMemAsync)
#undef CUDA_CPU_NOTHING

template <class E> cudaError_t cuda_cpu_made(E **e) { return *e = (E *)new char[1], cudaSuccess; }
template <class... A> cudaError_t cudaEventCreate(cudaEvent_t *e, A...) { return cuda_cpu_made(e); }
template <class... A> cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, A...) { return cuda_cpu_made(e); }
template <class... A> cudaError_t cudaStreamCreate(cudaStream_t *s, A...) { return cuda_cpu_made(s); }
template <class... A> cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, A...) { return cuda_cpu_made(s); }
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { return *ms = 1, cudaSuccess; }
static inline cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
static inline cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
static inline cudaError_t cudaDriverGetVersion(int *v) { return *v = 13000, cudaSuccess; }
static inline cudaError_t cudaRuntimeGetVersion(int *v) { return *v = 13000, cudaSuccess; }
static inline cudaError_t cudaMemGetInfo(size_t *free, size_t *all) { return *free = *all = 1ul << 30, cudaSuccess; }

static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
    *p = cudaDeviceProp{};
    std::strcpy(p->name, "the host");
    p->totalGlobalMem = 1ul << 30, p->sharedMemPerBlock = 48 << 10, p->totalConstMem = 64 << 10, p->memPitch = 1 << 30;
    p->textureAlignment = 512, p->regsPerBlock = 65536, p->warpSize = 32, p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT_MAX, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 7, p->minor = 5, p->multiProcessorCount = 4, p->clockRate = 1000000, p->deviceOverlap = 1;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
    p->memoryClockRate = 1000000, p->memoryBusWidth = 256, p->maxThreadsPerMultiProcessor = 1024;
    p->sharedMemPerMultiprocessor = 64 << 10, p->asyncEngineCount = 1, p->l2CacheSize = 1 << 20;
    return cudaSuccess;
}
static inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return *value = p.maxThreadsPerBlock, cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock: return *value = int(p.sharedMemPerBlock), cudaSuccess;
    case cudaDevAttrWarpSize: return *value = 32, cudaSuccess;
    case cudaDevAttrMultiProcessorCount: return *value = p.multiProcessorCount, cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: return *value = p.major, cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: return *value = p.minor, cudaSuccess;
    case cudaDevAttrClockRate: return *value = p.clockRate, cudaSuccess;
    case cudaDevAttrManagedMemory: return *value = 1, cudaSuccess;
    default: return *value = 0, cudaSuccess;
    }
}

template <class T> cudaError_t cudaMalloc(T **p, size_t bytes) {
    *p = (T *)cuda_cpu::Trace::the().allocate(bytes, false);
    if (!std::is_void_v<T>) cuda_cpu::Trace::the().typed(*p, "");
    return cudaSuccess;
}
template <class T, class... A> cudaError_t cudaMallocManaged(T **p, size_t bytes, A...) {
    return *p = (T *)cuda_cpu::Trace::the().allocate(bytes, true), cudaSuccess;
}
template <class T> cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
template <class T> cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height) {
    return *pitch = (width + 511) / 512 * 512, cudaMalloc(p, *pitch * height);
}
/// Pinned memory may be mapped: kernels are given its address as that of managed memory.
template <class T, class... A> cudaError_t cudaHostAlloc(T **p, size_t bytes, A...) { return cudaMallocManaged(p, bytes); }
template <class T, class... A> cudaError_t cudaMallocHost(T **p, size_t bytes, A...) {
    return *p = (T *)std::calloc(1, bytes), cudaSuccess;
}
template <class T> cudaError_t cudaHostGetDevicePointer(T **p, void *host, unsigned) { return *p = (T *)host, cudaSuccess; }
static inline cudaError_t cudaFree(void *p) { return cuda_cpu::Trace::the().release(p), cudaSuccess; }
static inline cudaError_t cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
static inline cudaError_t cudaFreeHost(void *p) {
    if (cuda_cpu::Trace::the().find(p).known()) cuda_cpu::Trace::the().release(p);
    else std::free(p);
    return cudaSuccess;
}

/// Where both ends are the device's, the copy is written down as such; else the end that is.
static inline void cuda_cpu_copied(void *to, const void *from, size_t bytes) {
    cuda_cpu::Trace &trace = cuda_cpu::Trace::the();
    const cuda_cpu::Place target = trace.find(to), source = trace.find(from);
    trace.look("write");
    if (target.known() && source.known())
        trace.note("copy", "\"from\":{" + trace.text(source) + "},\"to\":{" + trace.text(target) +
                               "},\"bytes\":" + std::to_string(bytes));
    std::memmove(to, from, bytes);
    if (target.known() && !source.known()) trace.moved("write", to, bytes);
    if (source.known() && !target.known()) trace.moved("read", from, bytes);
    trace.refresh();
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind = cudaMemcpyDefault) {
    return cuda_cpu_copied(to, from, bytes), cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                          cudaMemcpyKind kind = cudaMemcpyDefault, cudaStream_t = nullptr) {
    return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind) {
    for (size_t y = 0; y < height; y++)
        cudaMemcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch, width, kind);
    return cudaSuccess;
}
static inline cudaError_t cudaMemset(void *p, int value, size_t bytes) {
    cuda_cpu::Trace &trace = cuda_cpu::Trace::the();
    trace.look("write");
    std::memset(p, value, bytes);
    trace.moved("write", p, bytes);
    return trace.refresh(), cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t = nullptr) {
    return cudaMemset(p, value, bytes);
}
static inline cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height) {
    for (size_t y = 0; y < height; y++) cudaMemset((char *)p + y * pitch, value, width);
    return cudaSuccess;
}

// Symbols: the macro has the variable's name, which the function would not know.
#define CUDA_CPU_SYMBOL(symbol) (::cuda_cpu::Trace::the().variable(#symbol, &(symbol), sizeof(symbol)), (void *)&(symbol))
#define cudaMemcpyToSymbol(symbol, ...) ::cuda_cpu_to_symbol(CUDA_CPU_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyToSymbolAsync(symbol, ...) ::cuda_cpu_to_symbol(CUDA_CPU_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyFromSymbol(to, symbol, ...) ::cuda_cpu_from_symbol(to, CUDA_CPU_SYMBOL(symbol), __VA_ARGS__)
#define cudaGetSymbolAddress(p, symbol) (*(p) = (std::remove_reference_t<decltype(*(p))>)CUDA_CPU_SYMBOL(symbol), cudaSuccess)
static inline cudaError_t cuda_cpu_to_symbol(void *symbol, const void *from, size_t bytes, size_t at = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDefault, cudaStream_t = nullptr) {
    return cudaMemcpy((char *)symbol + at, from, bytes, kind);
}
static inline cudaError_t cuda_cpu_from_symbol(void *to, void *symbol, size_t bytes, size_t at = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDefault, cudaStream_t = nullptr) {
    return cudaMemcpy(to, (char *)symbol + at, bytes, kind);
}
template <class F> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F) {
    *a = cudaFuncAttributes{};
    return a->maxThreadsPerBlock = 1024, a->numRegs = 32, cudaSuccess;
}
template <class F> cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F, int threads, size_t) {
    return *n = std::max(1, 1024 / threads), cudaSuccess;
}
