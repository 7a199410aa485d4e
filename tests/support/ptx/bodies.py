"""Small PTX kernels through the importer and the emulator, compared with the PTX interpreter of the tests.

The kernel's text is a body behind a fixed head, see `texts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from binalloc.frontend.importer import Imported, import_ptx
from binalloc.frontend.ir import STACK_BYTES, VirtualProgram, dump
from binalloc.frontend.lower.program.module import lower_module
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import Module
from binalloc.models.machines.reader import load_machine
from tests.support.ptx.harness import launched
from tests.support.ptx.interpreter.interpreter import interpret
from tests.support.ptx.interpreter.placement import triple
from tests.support.ptx.interpreter.textures import Surface, Texture
from tests.support.ptx.patterns import Array
from tests.support.ptx.texts import kernel


def emulate(
    module: Module, args: Sequence[Any], grid: int | Sequence[int], block: int | Sequence[int], **options: Any
) -> list[Array]:
    """Run kernel `k`; args as the interpreter takes them. Returns the buffers among them as they are afterwards."""
    names = [parameter.name for parameter in module.function("k").info.params]
    machine = load_machine("gtx680")
    return list(launched(module, "k", names, args, grid=grid, block=block, machine=machine, **options).values())


def both(
    body: str, threads: int | Sequence[int] = 32, words: int | None = None, *, grid: int | Sequence[int] = 1,
    head: str = "", args: Sequence[Any] = (), params: Sequence[str] = (), dtype: Any = np.uint32, dynamic: int = 0,
    bounds: str = "", compare: bool = True, textures: Mapping[str, Texture | Surface] | None = None,
    stack: int = STACK_BYTES, **options: Any,
) -> Array:  # fmt: skip
    """The output buffer after a launch, on which the import as lowered, the optimised import and the interpreter agree.

    textures: of texture and surface references by name, in the order of their declarations. compare=False: the
    interpreter is not asked (its memory, or what it supports, differs)."""
    count = int(np.prod(triple(threads))) * int(np.prod(triple(grid)))
    out = np.zeros(words or count, dtype=dtype)
    text = kernel(body, head=head, params=params, size=out.dtype.itemsize, bounds=bounds)
    given = [*args, *(textures or {}).values()]
    plain = import_ptx(text, optimised=False, stack_bytes=stack, machine="gtx680").module
    found = emulate(plain, [out.copy(), *given], grid, threads, dynamic=dynamic, **options)
    better = import_ptx(text, stack_bytes=stack, machine="gtx680").module
    optimised = emulate(better, [out.copy(), *given], grid, threads, dynamic=dynamic, **options)
    for one, other in zip(found, optimised, strict=True):
        np.testing.assert_array_equal(one, other)
    if compare:
        own = [_copy(a) for a in (out, *args)]
        named = {name: _copy(t) for name, t in (textures or {}).items()}
        interpret(text, "k", grid, threads, own, dynamic_shared=dynamic, textures=named)
        for mine, theirs in zip(found, _changed([*own, *named.values()]), strict=True):
            np.testing.assert_array_equal(mine.reshape(theirs.shape), theirs)
    return found[0]


def _copy(value: Any) -> Any:
    """What a launch may change, for the interpreter alone."""
    if isinstance(value, Surface):
        return replace(value, texels=value.texels.copy())
    return np.array(value) if isinstance(value, np.ndarray) and value.ndim else value


def _changed(values: Sequence[Any]) -> list[Array]:
    """The contents of buffers and surfaces among arguments."""
    return [
        v.texels if isinstance(v, Surface) else v
        for v in values if isinstance(v, Surface) or (isinstance(v, np.ndarray) and v.ndim)
    ]  # fmt: skip


def lowered(text: str, kernels: Sequence[str] | None = None, **options: Any) -> VirtualProgram:
    """The program of virtual Loom, not optimised."""
    return lower_module(parse(text, "x.ptx"), kernels, **options)


def code(body: str, **options: Any) -> str:
    """The dump of kernel `k` as lowered."""
    return dump(lowered(kernel(body, **options)).routines["k"])


def imported(text: str, **options: Any) -> Imported:
    """The import of a whole module."""
    return import_ptx(text, "x.ptx", **{"machine": "gtx680", **options})
