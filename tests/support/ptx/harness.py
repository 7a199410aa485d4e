"""PTX kernels through the importer and the emulator: whole kernels, and single instructions over arrays of operands.

`run_ptx` runs a kernel and returns its buffers. `elementwise` builds a kernel around an instruction body: thread i
loads element i of each input array, the body computes, the results are stored; it is run over a whole array at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from binalloc.emulator.host.run import run
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.types import DTYPES, Argument, Launch
from tests.support.kits.machines import roomy_machine

Array = np.ndarray[Any, Any]

MACHINE = roomy_machine()
NAMES = {dtype: name for name, dtype in DTYPES.items()}
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
NUMPY: dict[str, Any] = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "pred": np.dtype(np.uint32),
}
"""PTX type -> dtype of its array; a predicate is a word, 0 or 1 on output, any number on input."""

BLOCK = 256
DECLARATIONS = """
    .reg .pred %q, %p<12>;
    .reg .b16 %h<12>;
    .reg .b32 %w<24>;
    .reg .b64 %d<24>;
    .reg .f32 %f<12>;
    .reg .f64 %g<12>;
"""


@cache
def imported(text: str, optimised: bool = True) -> Module:
    """The scheduled module of a PTX text."""
    return import_ptx(text, "test.ptx", optimised=optimised).module


def run_ptx(
    text: str,
    kernel: str,
    arrays: Sequence[Any],
    *,
    grid: int = 1,
    block: int = 32,
    optimised: bool = True,
    engine: str = "numba",
) -> list[Array]:
    """The buffers after a launch, in the order of the arguments.

    arrays: one per parameter: an array is a buffer, a NumPy scalar a scalar.
    """
    module = imported(text, optimised)
    listed: list[Argument] = []
    buffers: dict[str, Array] = {}
    for parameter, array in zip(module.function(kernel).info.params, arrays, strict=True):
        name = NAMES[array.dtype]
        if array.ndim:
            listed.append(Argument(parameter.name, "buffer", name, array.shape))
            buffers[parameter.name] = array
        else:
            listed.append(Argument(parameter.name, "scalar", name, value=array.item()))
    launch = Launch(kernel, (grid, 1, 1), (block, 1, 1), 0, tuple(listed))
    result = run(module, kernel, launch, MACHINE, engine=engine, buffers=buffers)
    return [result.buffers[name] for name in buffers]


def element_kernel(body: str, inputs: Sequence[str], outputs: Sequence[str], *, declarations: str = "") -> str:
    """Text of kernel `k`: inputs in %a0, %a1 ..., results in %r0, %r1 ...; registers of the operands' types, and those
    of DECLARATIONS as temporaries. Predicates too are %a0, %r0. %x0 is the number of the element."""
    names = [f"in{k}" for k in range(len(inputs))] + [f"out{k}" for k in range(len(outputs))]
    lines = [DECLARATIONS, declarations, "    .reg .b32 %x<6>; .reg .b64 %y<6>;"]
    for letter, types in (("a", inputs), ("r", outputs)):
        for k, type_ in enumerate(types):
            own = type_ if type_ in ("pred", "f32", "f64") else f"b{max(16, int(type_[1:]))}"
            lines.append(f"    .reg .{own} %{letter}{k};")
    lines.append("    mov.u32 %x1, %ctaid.x; mov.u32 %x2, %ntid.x; mov.u32 %x3, %tid.x;")
    lines.append("    mad.lo.s32 %x0, %x1, %x2, %x3;")
    for k, type_ in enumerate(inputs):
        lines += _address(f"in{k}", type_)
        if type_ == "pred":
            lines.append(f"    ld.global.u32 %x4, [%y2]; setp.ne.u32 %a{k}, %x4, 0;")
        else:
            lines.append(f"    ld.global.{type_} %a{k}, [%y2];")
    lines.append(body)
    for k, type_ in enumerate(outputs):
        lines += _address(f"out{k}", type_)
        if type_ == "pred":
            lines.append(f"    selp.u32 %x4, 1, 0, %r{k}; st.global.u32 [%y2], %x4;")
        else:
            lines.append(f"    st.global.{type_} [%y2], %r{k};")
    parameters = ", ".join(f".param .u64 {name}" for name in names)
    return f"{HEAD}.visible .entry k({parameters})\n{{\n" + "\n".join(lines) + "\n    ret;\n}\n"


def _address(name: str, type_: str) -> list[str]:
    size = NUMPY[type_].itemsize
    return [
        f"    ld.param.u64 %y0, [{name}]; cvta.to.global.u64 %y0, %y0;",
        f"    mul.wide.u32 %y1, %x0, {size}; add.s64 %y2, %y0, %y1;",
    ]


def elementwise(
    body: str,
    in_types: Sequence[str],
    out_types: Sequence[str],
    inputs: Sequence[Any],
    *,
    declarations: str = "",
    optimised: bool = True,
    before: Sequence[Any] | None = None,
) -> list[Array]:
    """Results of an instruction body over arrays of operands (see `element_kernel`), all of one length.

    before: contents of the outputs before the launch (zeros).
    """
    count = len(inputs[0])
    padded = -(-count // BLOCK) * BLOCK if count > BLOCK else count
    arrays = [_padded(np.asarray(x), NUMPY[t], padded) for x, t in zip(inputs, in_types, strict=True)]
    outputs = [np.zeros(padded, NUMPY[t]) for t in out_types]
    if before is not None:
        outputs = [_padded(np.asarray(x), NUMPY[t], padded) for x, t in zip(before, out_types, strict=True)]
    text = element_kernel(body, in_types, out_types, declarations=declarations)
    block = min(padded, BLOCK)
    found = run_ptx(text, "k", [*arrays, *outputs], grid=padded // block, block=block, optimised=optimised)
    return [x[:count] for x in found[len(arrays) :]]


def _padded(x: Array, dtype: Any, count: int) -> Array:
    """x as `dtype` (bits of same-sized types kept), lengthened by repeating its last element."""
    same = x.view(dtype) if x.dtype.itemsize == dtype.itemsize and x.dtype != dtype else x.astype(dtype)
    return np.concatenate([same, np.repeat(same[-1:], count - len(same))])


# ---------------------------------------------------------------------------------------------------------------------
# Operands.


def specials(type_: str) -> list[int]:
    """Bit patterns of a type that break things: zeros, ones, extremes, powers of two and their neighbours; of floats
    infinities, NaN, subnormals, halves, limits of the integer types."""
    if type_ in ("f32", "f64"):
        return _float_specials(type_)
    bits = 8 * NUMPY[type_].itemsize
    mask = (1 << bits) - 1
    out = {0, 1, 2, 3, 7, 10, 31, 32, 33, 63, 64, 100, 255, mask, mask - 1, 1 << bits - 1, (1 << bits - 1) - 1}
    out |= {(1 << k) & mask for k in range(0, bits, max(1, bits // 16))}
    out |= {((1 << k) - 1) & mask for k in range(0, bits + 1, max(1, bits // 8))}
    out |= {(-(1 << k)) & mask for k in range(0, bits, max(1, bits // 8))} | {-3 & mask, -7 & mask}
    out |= {0x5555555555555555 & mask, 0xDEADBEEFCAFEF00D & mask, 0x8000000000000001 & mask}
    return sorted(out)


def _float_specials(type_: str) -> list[int]:
    limits = [2.0**k for k in (0, 7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, -1, -2, -24, -25)]
    values = [0.0, 0.5, 1.5, 2.5, 3.5, 0.49999997, 0.1, 1 / 3, 3.0, 100.25, 1e10, 1e30]
    values += [x * s for x in limits for s in (1.0, 1 + 2.0**-23, 1 - 2.0**-24)] + [x - 0.5 for x in limits[1:]]
    dtype, word = (np.float32, np.uint32) if type_ == "f32" else (np.float64, np.uint64)
    patterns = [int(x) for x in np.array(values, dtype).view(word)]
    if type_ == "f32":
        patterns += [0x7F800000, 0x7FC00000, 0x7F800001, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF]
        sign = 1 << 31
    else:
        patterns += [0x7FF << 52, 0x7FF8 << 48, (0x7FF << 52) + 1, 1, (1 << 52) - 1, 1 << 52, (0x7FF << 52) - 1]
        patterns += [0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x3690000000000000, 0x3690000000000001, 0x380FFFFFE0000000]
        sign = 1 << 63
    return sorted({*patterns, *(p | sign for p in patterns)})


def pairs_of(a: Sequence[int], b: Sequence[int]) -> tuple[list[int], list[int]]:
    """All combinations, as two lists."""
    return [x for x in a for _ in b], [y for _ in a for y in b]


def patterns(values: Sequence[int], type_: str) -> Array:
    """Bit patterns as an array of the type."""
    size = NUMPY[type_].itemsize
    return np.array(values, dtype=f"u{size}").view(NUMPY[type_])


def random_patterns(type_: str, count: int, seed: int) -> list[int]:
    """Random patterns of all magnitudes, some near one another."""
    import random

    rng = random.Random(f"{type_} {seed}")
    bits = 8 * NUMPY[type_].itemsize
    if type_ in ("f32", "f64"):
        return [rng.getrandbits(bits) for _ in range(count)]
    return [rng.getrandbits(rng.randint(1, bits)) ^ (rng.choice((0, (1 << bits) - 1))) for _ in range(count)]
