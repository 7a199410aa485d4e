// Texture references over linear memory. (CUDA 13 has none: nvcc_compat.h makes them objects in a variable.)
#pragma once
#include "runtime.h"

enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureAddressMode { cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder };
enum cudaChannelFormatKind { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat };
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
    return {x, y, z, w, f};
}
template <class T> cudaChannelFormatDesc cudaCreateChannelDesc() {
    return {int(sizeof(T)) * 8, 0, 0, 0, cudaChannelFormatKindUnsigned};
}

template <class T, int D = 1, int M = cudaReadModeElementType> struct texture {
    const T *data = nullptr;
    size_t count = 0;
    int normalized = 0;
    cudaTextureFilterMode filterMode = cudaFilterModePoint;
    cudaTextureAddressMode addressMode[3] = {cudaAddressModeClamp, cudaAddressModeClamp, cudaAddressModeClamp};
    cudaChannelFormatDesc channelDesc{};
};

template <class T, int D, int M> T tex1Dfetch(const texture<T, D, M> &t, int at) {
    return at >= 0 && size_t(at) < t.count ? t.data[at] : T{};
}

template <class T, int D, int M>
cudaError_t cuda_cpu_bind(const char *name, size_t *offset, texture<T, D, M> &t, const void *p, size_t bytes) {
    cuda_cpu::Trace &trace = cuda_cpu::Trace::the();
    const cuda_cpu::Place place = trace.find(p);
    if (place.id < 0) cuda_cpu::fail("a texture of what is not the device's");
    const size_t left = trace.all.find((uintptr_t)p - place.offset)->second.bytes - place.offset;
    t.data = (const T *)p, t.count = std::min(bytes, left) / sizeof(T);
    if (offset) *offset = 0;
    trace.note("bind", "\"texture\":\"" + std::string(name) + "\"," + trace.text(place) + ",\"bytes\":" +
                           std::to_string(t.count * sizeof(T)) + ",\"type\":\"" + typeid(T).name() + "\"");
    return cudaSuccess;
}
template <class T, int D, int M>
cudaError_t cuda_cpu_bind(const char *name, size_t *offset, texture<T, D, M> &t, const void *p,
                          const cudaChannelFormatDesc &, size_t bytes = ~size_t(0)) {
    return cuda_cpu_bind(name, offset, t, p, bytes);
}
template <class T, int D, int M>
cudaError_t cuda_cpu_bind(const char *name, size_t *offset, texture<T, D, M> &t, const void *p) {
    return cuda_cpu_bind(name, offset, t, p, ~size_t(0));
}
template <class T, int D, int M>
cudaError_t cuda_cpu_bind(const char *name, size_t *offset, texture<T, D, M> *t, const void *p,
                          const cudaChannelFormatDesc *, size_t bytes = ~size_t(0)) {
    return cuda_cpu_bind(name + (*name == '&'), offset, *t, p, bytes);
}
#define cudaBindTexture(offset, texture, ...) ::cuda_cpu_bind(#texture, offset, texture, __VA_ARGS__)
template <class T> cudaError_t cudaUnbindTexture(T &) { return cudaSuccess; }
