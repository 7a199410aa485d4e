"""Kernels of our own in Numba-CUDA, of the kinds that people write in it, with the types that they are compiled for.

Needs numba-cuda and NVVM, no GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba import cuda, float32, float64, int32, int64, uint8, uint32

BLOCK = 128
TILE = 16


def scale_add(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def block_sums(x, out):
    """Sums of blocks through shared memory."""
    part = cuda.shared.array(BLOCK, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def tiled_product(a, b, c):
    left = cuda.shared.array((TILE, TILE), float32)
    right = cuda.shared.array((TILE, TILE), float32)
    j, i = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for first in range(0, a.shape[1], TILE):
        left[ty, tx] = a[i, first + tx] if i < a.shape[0] and first + tx < a.shape[1] else 0.0
        right[ty, tx] = b[first + ty, j] if first + ty < b.shape[0] and j < b.shape[1] else 0.0
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


def escape_times(low, high, most, out):
    """The Mandelbrot set, in f64."""
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        x = low + (high - low) * j / out.shape[1]
        y = low + (high - low) * i / out.shape[0]
        c = complex(x, y)
        z = 0j
        n = 0
        while n < most and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            n += 1
        out[i, j] = n


def count_bytes(data, out):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < data.size:
        cuda.atomic.add(out, data[i], 1)
        i += step


def heat_step(now, after, rate):
    j, i = cuda.grid(2)
    if 0 < i < now.shape[0] - 1 and 0 < j < now.shape[1] - 1:
        around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
        after[i, j] = now[i, j] + rate * (around - 4 * now[i, j])


def normal_density(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.exp(-0.5 * x[i] * x[i]) / math.sqrt(2 * math.pi)


def warp_sums(x, out):
    """Sums of warps through shuffles."""
    i = cuda.grid(1)
    value = x[i] if i < x.size else int32(0)
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        step //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


def nearest_pairs(x, y, out):
    """Of each point the distance to the next one."""
    i = cuda.grid(1)
    if i < x.size:
        least = math.inf
        for k in range(x.size):
            if k != i:
                least = min(least, math.hypot(x[i] - x[k], y[i] - y[k]))
        out[i] = least


def transposed(x, out):
    tile = cuda.shared.array((32, 33), float32)
    j = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    i = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if i + k < x.shape[0] and j < x.shape[1]:
            tile[cuda.threadIdx.y + k, cuda.threadIdx.x] = x[i + k, j]
    cuda.syncthreads()
    j = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    i = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if i + k < out.shape[0] and j < out.shape[1]:
            out[i + k, j] = tile[cuda.threadIdx.x, cuda.threadIdx.y + k]


def bits_and_masks(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = cuda.popc(x[i]) + 100 * cuda.clz(x[i]) + 10000 * (cuda.brev(x[i]) & 7)


def option_prices(price, strike, years, out, rate, volatility):
    i = cuda.grid(1)
    if i < price.size:
        root = volatility * math.sqrt(years[i])
        one = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / root
        other = one - root
        n1 = 0.5 * math.erfc(-one / math.sqrt(2.0))
        n2 = 0.5 * math.erfc(-other / math.sqrt(2.0))
        out[i] = price[i] * n1 - strike[i] * math.exp(-rate * years[i]) * n2


@dataclass(frozen=True)
class Kernel:
    """What a kernel is compiled for."""

    function: Callable[..., None]
    types: tuple[Any, ...]

    @property
    def called(self) -> str:
        """Its name in the census and on the command line."""
        return self.function.__name__


_F, _FF, _D, _I, _II = float32[::1], float32[:, ::1], float64[::1], int32[::1], int32[:, ::1]
KERNELS = (
    Kernel(scale_add, (float32, _F, _F, _F)),
    Kernel(block_sums, (_F, _F)),
    Kernel(tiled_product, (_FF, _FF, _FF)),
    Kernel(escape_times, (float64, float64, int64, _II)),
    Kernel(count_bytes, (uint8[::1], _I)),
    Kernel(heat_step, (_FF, _FF, float32)),
    Kernel(normal_density, (_F, _F)),
    Kernel(warp_sums, (_I, _I)),
    Kernel(nearest_pairs, (_D, _D, _D)),
    Kernel(transposed, (_FF, _FF)),
    Kernel(bits_and_masks, (uint32[::1], uint32[::1])),
    Kernel(option_prices, (_D, _D, _D, _D, float64, float64)),
)
