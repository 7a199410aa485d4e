"""Small PTX kernels through the importer and the emulator, compared with the PTX interpreter of the tests.

The kernel's text is a body behind a fixed head: `%d0` is the address of the output buffer, `%r0` is %tid.x, `%d1` the
address of the thread's own element. Registers %p0..15, %h (16 bits), %r, %d (64), %f, %g (f64) are declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from binalloc.emulator.host.run import run
from binalloc.frontend.importer import Imported, import_ptx
from binalloc.frontend.ir import Program, dump
from binalloc.frontend.lower.program.module import lower_module
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import Module
from binalloc.launch.types import DTYPES, Argument, Field, Launch
from binalloc.launch.types import Texture as LaunchTexture
from binalloc.models.machines.reader import load_machine
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.interpreter.textures import Texture

Array = np.ndarray[Any, Any]
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
REGISTERS = """
    .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<16>; .reg .f64 %g<16>;
"""
HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def kernel(body: str, *, head: str = "", params: Sequence[str] = (), size: int = 4, bounds: str = "") -> str:
    """A module with kernel `k`. params: declarations of the parameters behind `out`. size: of an output element."""
    extra = "".join(f", {p}" for p in params)
    return f"""{HEAD}{head}
.visible .entry k(.param .u64 out{extra}) {bounds}
{{ {REGISTERS}
    ld.param.u64 %d0, [out]; cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, {size}; add.s64 %d1, %d0, %d1;
{body}
    ret;
}}
"""


def triple(size: int | Sequence[int]) -> tuple[int, int, int]:
    """1 to 3 sizes as three."""
    sizes = (size,) if isinstance(size, int) else tuple(size)
    return (*sizes, 1, 1)[:3]  # type: ignore[return-value]


def emulate(
    module: Module, args: Sequence[Any], grid: int | Sequence[int], block: int | Sequence[int], *, dynamic: int = 0,
    **options: Any,
) -> list[Array]:  # fmt: skip
    """Run kernel `k`; args as the interpreter takes them. Returns the buffers among them as they are afterwards."""
    parameters = module.function("k").info.params
    listed: list[Argument] = []
    buffers: dict[str, Array] = {}
    textures: dict[str, Array] = {}
    for parameter, arg in zip(parameters, args, strict=True):
        if isinstance(arg, bytes):
            fields = (Field(0, "u8", tuple(arg)),)
            listed.append(Argument(parameter.name, "struct", "u8", fields=fields, size=len(arg)))
        elif isinstance(arg, Texture):
            listed.append(_texture(parameter.name, arg))
            textures[parameter.name] = arg.texels
        elif arg.ndim:
            listed.append(Argument(parameter.name, "buffer", _NAMES[arg.dtype], arg.shape))
            buffers[parameter.name] = arg
        else:
            listed.append(Argument(parameter.name, "scalar", _NAMES[arg.dtype], value=arg.item()))
    launch = Launch("k", triple(grid), triple(block), dynamic, tuple(listed))
    machine = load_machine("gtx680")
    result = run(module, "k", launch, machine, engine="numba", buffers=buffers, textures=textures, **options)
    return [result.buffers[name] for name in buffers]


def _texture(name: str, texture: Texture) -> Argument:
    """A texture of the interpreter as a launch's argument."""
    how = LaunchTexture(
        texture.texels.shape[:-1], texture.texels.shape[-1], "linear" if texture.linear else "point",
        (texture.address * 3)[: texture.texels.ndim - 1], texture.normalized,
        "normalized_float" if texture.as_float else "element",
    )  # fmt: skip
    shape = texture.texels.shape if how.channels > 1 else how.sides
    return Argument(name, "texture", _NAMES[texture.texels.dtype], shape, texture=how)


def both(
    body: str, threads: int | Sequence[int] = 32, words: int | None = None, *, grid: int | Sequence[int] = 1,
    head: str = "", args: Sequence[Any] = (), params: Sequence[str] = (), dtype: Any = np.uint32, dynamic: int = 0,
    bounds: str = "", compare: bool = True, textures: dict[str, Texture] | None = None, **options: Any,
) -> Array:  # fmt: skip
    """The output buffer after a launch, on which the import as lowered, the optimised import and the interpreter agree.

    textures: of texture references by name, in the order of their declarations. compare=False: the interpreter is not
    asked (its memory, or what it supports, differs)."""
    count = int(np.prod(triple(threads))) * int(np.prod(triple(grid)))
    out = np.zeros(words or count, dtype=dtype)
    text = kernel(body, head=head, params=params, size=out.dtype.itemsize, bounds=bounds)
    given = [*args, *(textures or {}).values()]
    plain = import_ptx(text, optimised=False).module
    found = emulate(plain, [out.copy(), *given], grid, threads, dynamic=dynamic, **options)
    optimised = emulate(import_ptx(text).module, [out.copy(), *given], grid, threads, dynamic=dynamic, **options)
    for one, other in zip(found, optimised, strict=True):
        np.testing.assert_array_equal(one, other)
    if compare:
        own = [np.array(a) if isinstance(a, np.ndarray) and a.ndim else a for a in (out, *args)]
        interpret(text, "k", grid, threads, own, dynamic_shared=dynamic, textures=textures)
        buffers = [a for a in own if isinstance(a, np.ndarray) and a.ndim]
        for mine, theirs in zip(found, buffers, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    return found[0]


def lowered(text: str, kernels: Sequence[str] | None = None, **options: Any) -> Program:
    """The program of virtual Loom, not optimised."""
    return lower_module(parse(text, "x.ptx"), kernels, **options)


def code(body: str, **options: Any) -> str:
    """The dump of kernel `k` as lowered."""
    return dump(lowered(kernel(body, **options)).routines["k"])


def imported(text: str, **options: Any) -> Imported:
    """The import of a whole module."""
    return import_ptx(text, "x.ptx", **options)
