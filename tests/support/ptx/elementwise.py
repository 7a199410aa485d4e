"""Single PTX instructions over arrays of operands, through the importer and the emulator.

`elementwise` builds a kernel around an instruction body: thread i loads element i of each input array, the body
computes, the results are stored; it is run over a whole array at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.ptx.harness import run_ptx
from tests.support.ptx.patterns import NUMPY, Array
from tests.support.ptx.texts import HEAD

BLOCK = 256
DECLARATIONS = """
    .reg .pred %q, %p<12>;
    .reg .b16 %h<12>;
    .reg .b32 %w<24>;
    .reg .b64 %d<24>;
    .reg .f32 %f<12>;
    .reg .f64 %g<12>;
"""


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
