// CUDA on the host, for `g++ -x c++ -include cuda_cpu.h`: see ../README.md. Shares nothing with binalloc.
#pragma once
#include "cuda_cpu/types.h"
#include "cuda_cpu/device.h"
#include "cuda_cpu/runtime.h"
#include "cuda_cpu/textures.h"
