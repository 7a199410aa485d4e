"""Kernels of our own in Triton, of the kinds that people write in it, with what they are compiled for.

Needs Triton, which needs no GPU to compile. A row of KERNELS: the kernel, types of its arguments ("*fp32" a pointer),
its constants, its warps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl


@triton.jit
def vector_scale_add(x, y, out, a, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, a * tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def row_softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, mean, rstd, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    average = tl.sum(values, axis=0) / columns
    away = tl.where(inside, values - average, 0.0)
    inverse = 1 / tl.sqrt(tl.sum(away * away, axis=0) / columns + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, inverse)
    result = away * inverse * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(out + row * columns + at, result, mask=inside)


@triton.jit
def layer_norm_backward(dout, x, weight, mean, rstd, dx, dweight, dbias, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    grad = tl.load(dout + row * columns + at, mask=inside, other=0.0)
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    w = tl.load(weight + at, mask=inside, other=0.0)
    inverse = tl.load(rstd + row)
    hat = tl.where(inside, (values - tl.load(mean + row)) * inverse, 0.0)
    part = tl.where(inside, w * grad, 0.0)
    one, other = tl.sum(hat * part, axis=0) / columns, tl.sum(part, axis=0) / columns
    tl.store(dx + row * columns + at, (part - (hat * one + other)) * inverse, mask=inside)
    tl.atomic_add(dweight + at, grad * hat, mask=inside)
    tl.atomic_add(dbias + at, grad, mask=inside)


@triton.jit
def product(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, EXACT: tl.constexpr):
    """A product of matrices; EXACT: in fp32 without tensor instructions."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inner = tl.arange(0, DEPTH)
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for first in range(0, k, DEPTH):
        t = first + inner
        left = tl.load(a + i[:, None] * k + t[None, :], mask=(i[:, None] < m) & (t[None, :] < k), other=0.0)
        right = tl.load(b + t[:, None] * n + j[None, :], mask=(t[:, None] < k) & (j[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee" if EXACT else "tf32")
    where = (i[:, None] < m) & (j[None, :] < n)
    tl.store(c + i[:, None] * n + j[None, :], total.to(c.dtype.element_ty), mask=where)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    kept = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(kept, values / (1 - p), 0.0), mask=at < n)


@triton.jit
def attention(q, k, v, out, n, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr):
    """Attention of a head in fp32, row block by row block, the softmax made as it goes."""
    head = tl.program_id(1) * n * WIDTH
    i, d = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    queries = tl.load(q + head + i[:, None] * WIDTH + d[None, :], mask=i[:, None] < n, other=0.0)
    most = tl.full((ROWS,), -float("inf"), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, WIDTH), tl.float32)
    for first in range(0, n, COLUMNS):
        j = first + tl.arange(0, COLUMNS)
        keys = tl.load(k + head + j[None, :] * WIDTH + d[:, None], mask=j[None, :] < n, other=0.0)
        score = tl.dot(queries, keys, input_precision="ieee") * scale
        score = tl.where((j[None, :] <= i[:, None]) & (j[None, :] < n), score, -float("inf"))
        now = tl.maximum(most, tl.max(score, axis=1))
        powers = tl.exp(score - now[:, None])
        shrink = tl.exp(most - now)
        values = tl.load(v + head + j[:, None] * WIDTH + d[None, :], mask=j[:, None] < n, other=0.0)
        total = total * shrink[:, None] + tl.dot(powers, values, input_precision="ieee")
        weight = weight * shrink + tl.sum(powers, axis=1)
        most = now
    tl.store(out + head + i[:, None] * WIDTH + d[None, :], total / weight[:, None], mask=i[:, None] < n)


@triton.jit
def running_sum(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out + row * columns + at, tl.cumsum(values, axis=0), mask=at < columns)


@triton.jit
def _longest(one, other):
    return tl.maximum(one, other)


@triton.jit
def running_most(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    tl.store(out + row * columns + at, tl.associative_scan(values, 0, _longest), mask=at < columns)


@triton.jit
def count_values(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), bins)


@triton.jit
def row_argmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    tl.store(out + row, tl.argmax(values, axis=0))


@triton.jit
def gather_rows(table, index, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    source = tl.load(index + row).to(tl.int64)
    values = tl.load(table + source * columns + at, mask=at < columns)
    tl.store(out + row * columns + at, values, mask=at < columns)


@triton.jit
def scatter_add(values, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.atomic_add(out + tl.load(index + at, mask=inside, other=0), tl.load(values + at, mask=inside), mask=inside)


@triton.jit
def atomics(x, most, least, bits, lock, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_max(most, tl.max(values, axis=0))
    tl.atomic_min(least, tl.min(values, axis=0))
    tl.atomic_or(bits, tl.reduce_or(values, axis=0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(lock + 1, tl.load(lock + 1) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def convolution(x, taps, out, height, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SIDE: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for r in tl.static_range(SIDE):
        for c in tl.static_range(SIDE):
            y, z = i[:, None] + r - SIDE // 2, j[None, :] + c - SIDE // 2
            there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
            total += tl.load(x + y * width + z, mask=there, other=0.0) * tl.load(taps + r * SIDE + c)
    tl.store(out + i[:, None] * width + j[None, :], total, mask=(i[:, None] < height) & (j[None, :] < width))


@triton.jit
def rotary(x, cosine, sine, out, heads, HALF: tl.constexpr):
    token, head, at = tl.program_id(0), tl.program_id(1), tl.arange(0, HALF)
    base = (token * heads + head) * 2 * HALF
    one, other = tl.load(x + base + at).to(tl.float32), tl.load(x + base + HALF + at).to(tl.float32)
    c, s = tl.load(cosine + token * HALF + at), tl.load(sine + token * HALF + at)
    tl.store(out + base + at, (one * c - other * s).to(out.dtype.element_ty))
    tl.store(out + base + HALF + at, (other * c + one * s).to(out.dtype.element_ty))


@triton.jit
def cross_entropy(logits, target, loss, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    most, total = -float("inf"), 0.0
    for first in range(0, columns, BLOCK):
        inside = first + at < columns
        values = tl.load(logits + row * columns + first + at, mask=inside, other=-float("inf")).to(tl.float32)
        now = tl.maximum(most, tl.max(values, axis=0))
        total = total * tl.exp(most - now) + tl.sum(tl.exp(values - now), axis=0)
        most = now
    wanted = tl.load(logits + row * columns + tl.load(target + row)).to(tl.float32)
    tl.store(loss + row, tl.log(total) + most - wanted)


@triton.jit
def transpose(x, out, rows, columns, SIDE: tl.constexpr):
    i = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    j = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=(i[:, None] < rows) & (j[None, :] < columns))
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile), mask=(j[:, None] < columns) & (i[None, :] < rows))


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n).to(tl.float32)
    result = 0.5 * values * (1 + tl.erf(values * 0.7071067811865476))
    tl.store(out + at, result.to(out.dtype.element_ty), mask=at < n)


@triton.jit
def gated(x, gate, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + at, mask=at < n).to(tl.float32)
    result = tl.load(x + at, mask=at < n).to(tl.float32) * g * tl.sigmoid(g)
    tl.store(out + at, result.to(out.dtype.element_ty), mask=at < n)


@triton.jit
def quantise(x, out, scales, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    scale = tl.max(tl.abs(values), axis=0) / 127.0
    tl.store(scales + row, scale)
    tl.store(out + row * columns + at, tl.floor(values / scale + 0.5).to(tl.int8), mask=at < columns)


@triton.jit
def adam(p, grad, m, v, rate, one, two, eps, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(grad + at, mask=inside)
    first = one * tl.load(m + at, mask=inside) + (1 - one) * g
    second = two * tl.load(v + at, mask=inside) + (1 - two) * g * g
    tl.store(m + at, first, mask=inside)
    tl.store(v + at, second, mask=inside)
    tl.store(p + at, tl.load(p + at, mask=inside) - rate * first / (tl.sqrt(second) + eps), mask=inside)


@triton.jit
def sort_rows(x, out, columns: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, columns)
    tl.store(out + row * columns + at, tl.sort(tl.load(x + row * columns + at)))


@triton.jit
def mean_and_variance(x, mean, variance, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    count, average, squares = tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64), tl.full((), 0.0, tl.float64)
    for first in range(0, columns, BLOCK):
        inside = first + at < columns
        values = tl.load(x + row * columns + first + at, mask=inside, other=0.0).to(tl.float64)
        more = tl.sum(inside.to(tl.float64), axis=0)
        here = tl.sum(values, axis=0) / more
        away = tl.where(inside, values - here, 0.0)
        distance = here - average
        squares += tl.sum(away * away, axis=0) + distance * distance * count * more / (count + more)
        average += distance * more / (count + more)
        count += more
    tl.store(mean + row, average)
    tl.store(variance + row, squares / count)


@triton.jit
def product_by_vector(a, x, out, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i, at = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    total = tl.zeros((ROWS,), tl.float32)
    for first in range(0, columns, BLOCK):
        j = first + at
        there = (i[:, None] < rows) & (j[None, :] < columns)
        tile = tl.load(a + i[:, None] * columns + j[None, :], mask=there, other=0.0)
        total += tl.sum(tile * tl.load(x + j, mask=j < columns, other=0.0)[None, :], axis=1)
    tl.store(out + i, total, mask=i < rows)


@triton.jit
def unpack_nibbles(packed, scales, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    byte = tl.load(packed + at, mask=at < n, other=0).to(tl.int32)
    scale = tl.load(scales + at // 16, mask=at < n, other=0.0)
    low, high = ((byte & 15) - 8).to(tl.float32) * scale, ((byte >> 4 & 15) - 8).to(tl.float32) * scale
    both = tl.interleave(low, high)
    where = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(out + where, both, mask=where < 2 * n)


@triton.jit
def smooth_image(x, out, height, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A mean of three by three of bytes, divided as integers are."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total, count = tl.zeros((ROWS, COLUMNS), tl.int32), tl.zeros((ROWS, COLUMNS), tl.int32)
    for r in tl.static_range(-1, 2):
        for c in tl.static_range(-1, 2):
            y, z = i[:, None] + r, j[None, :] + c
            there = (y >= 0) & (y < height) & (z >= 0) & (z < width)
            total += tl.load(x + y * width + z, mask=there, other=0).to(tl.int32)
            count += there.to(tl.int32)
    where = (i[:, None] < height) & (j[None, :] < width)
    tl.store(out + i[:, None] * width + j[None, :], (total // tl.maximum(count, 1)).to(tl.uint8), mask=where)


@dataclass(frozen=True)
class Kernel:
    """What a kernel is compiled for."""

    function: Callable[..., Any]
    types: str
    constants: dict[str, int | bool]
    warps: int = 4
    name: str = ""

    @property
    def called(self) -> str:
        """Its name in the census and on the command line."""
        return self.name or self.function.__name__


_F, _I = "*fp32", "*i32"
_TILE = {"ROWS": 32, "COLUMNS": 32, "DEPTH": 32}
KERNELS = (
    Kernel(vector_scale_add, f"{_F} {_F} {_F} fp32 i32", {"BLOCK": 256}),
    Kernel(row_softmax, f"{_F} {_F} i32 i32", {"BLOCK": 128}),
    Kernel(layer_norm, f"{_F} {_F} {_F} {_F} {_F} {_F} i32 fp32", {"BLOCK": 128}),
    Kernel(layer_norm_backward, f"{' '.join([_F] * 8)} i32", {"BLOCK": 128}),
    Kernel(product, f"{_F} {_F} {_F} i32 i32 i32", _TILE | {"EXACT": True}, name="product_fp32"),
    Kernel(product, f"{_F} {_F} {_F} i32 i32 i32", _TILE | {"EXACT": False}, name="product_tf32"),
    Kernel(product, "*fp16 *fp16 *fp32 i32 i32 i32", _TILE | {"EXACT": False}, name="product_fp16"),
    Kernel(dropout, f"{_F} {_F} i32 fp32 i32", {"BLOCK": 256}),
    Kernel(attention, f"{_F} {_F} {_F} {_F} i32 fp32", {"ROWS": 32, "COLUMNS": 32, "WIDTH": 32}),
    Kernel(running_sum, f"{_F} {_F} i32", {"BLOCK": 256}),
    Kernel(running_most, f"{_F} {_F} i32", {"BLOCK": 256}, 8),
    Kernel(count_values, f"{_I} {_I} i32", {"BLOCK": 512, "BINS": 64}),
    Kernel(row_argmax, f"{_F} {_I} i32", {"BLOCK": 256}),
    Kernel(gather_rows, f"{_F} {_I} {_F} i32", {"BLOCK": 128}, 2),
    Kernel(scatter_add, f"{_F} {_I} {_F} i32", {"BLOCK": 256}),
    Kernel(atomics, f"{_I} {_I} {_I} {_I} {_I} i32", {"BLOCK": 256}),
    Kernel(convolution, f"{_F} {_F} {_F} i32 i32", {"ROWS": 16, "COLUMNS": 16, "SIDE": 3}),
    Kernel(rotary, "*fp16 *fp32 *fp32 *fp16 i32", {"HALF": 32}, 1),
    Kernel(cross_entropy, f"*fp16 {_I} {_F} i32", {"BLOCK": 128}),
    Kernel(transpose, f"{_F} {_F} i32 i32", {"SIDE": 32}),
    Kernel(transpose, "*fp16 *fp16 i32 i32", {"SIDE": 64}, 8, name="transpose_fp16"),
    Kernel(gelu, "*bf16 *bf16 i32", {"BLOCK": 256}),
    Kernel(gated, "*fp16 *fp16 *fp16 i32", {"BLOCK": 256}),
    Kernel(quantise, f"{_F} *i8 {_F} i32", {"BLOCK": 128}),
    Kernel(adam, f"{_F} {_F} {_F} {_F} fp32 fp32 fp32 fp32 i32", {"BLOCK": 256}),
    Kernel(sort_rows, f"{_F} {_F}", {"columns": 64}),
    Kernel(mean_and_variance, "*fp32 *fp64 *fp64 i32", {"BLOCK": 128}),
    Kernel(product_by_vector, f"{_F} {_F} {_F} i32 i32", {"ROWS": 16, "BLOCK": 64}),
    Kernel(unpack_nibbles, "*u8 *fp32 *fp32 i32", {"BLOCK": 128}),
    Kernel(smooth_image, "*u8 *u8 i32 i32", {"ROWS": 16, "COLUMNS": 32}),
)  # fmt: skip
