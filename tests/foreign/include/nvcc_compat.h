// For nvcc alone: names that CUDA 13 took away, so that older programs still parse. No kernel is changed by it.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
static inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
static inline cudaError_t cudaThreadExit() { return cudaSuccess; }

struct cuda_cpu_prop : cudaDeviceProp {
    int clockRate, deviceOverlap, computeMode, kernelExecTimeoutEnabled, memoryClockRate;
};
#define cudaDeviceProp cuda_cpu_prop

// Texture references: a variable of the device that holds the handle of a texture object.
template <class T, int D = 1, int M = cudaReadModeElementType> struct cuda_cpu_texture {
    cudaTextureObject_t handle;
    int normalized, filterMode, addressMode[3];
    cudaChannelFormatDesc channelDesc;
};
#define texture __device__ cuda_cpu_texture
template <class T, int D, int M> __device__ T tex1Dfetch(const cuda_cpu_texture<T, D, M> &t, int x) {
    return tex1Dfetch<T>(t.handle, x);
}
template <class T, int D, int M> __device__ T tex1D(const cuda_cpu_texture<T, D, M> &t, float x) {
    return tex1D<T>(t.handle, x);
}
template <class T, int D, int M> __device__ T tex2D(const cuda_cpu_texture<T, D, M> &t, float x, float y) {
    return tex2D<T>(t.handle, x, y);
}
template <class... A> cudaError_t cudaBindTexture(A...) { return cudaSuccess; }
template <class... A> cudaError_t cudaBindTextureToArray(A...) { return cudaSuccess; }
template <class... A> cudaError_t cudaUnbindTexture(A...) { return cudaSuccess; }
