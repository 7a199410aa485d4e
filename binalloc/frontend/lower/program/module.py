"""This module lowers a PTX module to a program: the wanted kernels, their functions, and the library's functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from binalloc.errors import MalformedInput
from binalloc.frontend.ignored import IgnoredText
from binalloc.frontend.ir import STACK_BYTES, Routine, VirtualProgram
from binalloc.frontend.lower.arithmetic.library import library_modules
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.context.frames import Place
from binalloc.frontend.lower.context.variable_places import (
    CONST_BANK,
    DOUBLE_BANK,
    Doubles,
    KernelPlaces,
    VariablePlaces,
)
from binalloc.frontend.lower.program.routine import Locations, lower_routine
from binalloc.frontend.ptx import ast
from binalloc.frontend.refused import NotImportable, NotImported, Refusal
from binalloc.frontend.runtime.runtime import with_runtime
from binalloc.names.kernels import choose_kernel

Block = tuple[int, int, int]


@dataclass
class _State:
    """The state of a lowering is shared by all routines of the program."""

    program: VirtualProgram
    doubles: Doubles
    locations: Locations
    library: set[str]  #: library functions that are called
    refused: dict[str, list[Refusal]] = field(default_factory=dict)  #: function -> why it cannot be lowered


def lower_module(
    module: ast.PtxModule,
    kernels: Sequence[str] | None = None,
    block_dim: Block | None = None,
    stack_bytes: int = STACK_BYTES,
) -> VirtualProgram:
    """Lower the wanted kernels (all by default) with every function in their call graphs, callees before callers.

    block_dim: the block size that all launches will have; it must agree with `.reqntid` and `.maxntid`. stack_bytes:
    stack per thread for recursive functions.

    Raises UsageError for a missing kernel and for a stack that is too large. Raises NotImportable for kernels with
    contradictory bounds, and for anything that cannot be lowered exactly.
    """
    ignored = module.ignored
    module = with_runtime(module)
    wanted = _wanted(module, kernels)
    layout, left_out = _laid_out(module, wanted, stack_bytes)
    state = _State(VirtualProgram(path=module.path), Doubles(), Locations(module.files), set())
    names: dict[tuple[str, tuple[tuple[str, Place], ...]], str] = {}
    for kernel in layout.kernels.values():
        _lower_kernel(layout, kernel, block_dim, names, state)
        reasons = tuple(r for function in kernel.reached for r in state.refused.get(function, ()))
        if reasons:
            left_out[kernel.name] = NotImported(kernel.name, reasons)
    if left_out:
        rest = [kernel for kernel in wanted if kernel not in left_out]
        raise NotImportable([left_out[kernel] for kernel in wanted if kernel in left_out], rest)
    program = state.program
    program.stack = layout.stack
    program.ignored = [*ignored, *_unbounded(module, wanted, block_dim)]
    _add_library(state)
    program.locations = state.locations.list
    program.globals = layout.globals
    program.constant_vars = layout.constant_vars
    if layout.constants:
        program.constants[CONST_BANK] = layout.constants
    if doubles := state.doubles.data():
        program.constants[DOUBLE_BANK] = doubles
    return program


def _wanted(module: ast.PtxModule, kernels: Sequence[str] | None) -> list[str]:
    """Return the names of the kernels to lower, in the order of the text.

    A file without kernels is a library if none are asked for. Then these are the functions that other files may call,
    or all functions where there are none.
    """
    defined = {name: function for name, function in module.functions.items() if function.body is not None}
    there = [name for name, function in defined.items() if function.is_entry]
    if not there and defined and kernels is None:
        return [name for name, function in defined.items() if function.linkage] or list(defined)
    if not there:
        text = f"no kernel in {module.files_in_words}"
        remedy = "Give the file that has the kernels, too: import-ptx links several."
        raise MalformedInput(text, file=module.path or None, expected="an .entry with a body", remedy=remedy)
    wanted = there if kernels is None else {choose_kernel(name, there, module.path or None) for name in kernels}
    return [name for name in there if name in wanted]


def _unbounded(module: ast.PtxModule, wanted: list[str], block_dim: Block | None) -> list[IgnoredText]:
    """Return an entry for each `.minnctapersm` of a wanted kernel whose block size is not bounded."""
    kernels = [module.functions[name] for name in wanted] if block_dim is None else []
    return [
        IgnoredText(k.path, f".minnctapersm {k.min_blocks} of {k.name} without a block size", k.place.line, 1)
        for k in kernels
        if k.min_blocks and k.maxntid is None and k.reqntid is None
    ]


def _laid_out(
    module: ast.PtxModule, wanted: list[str], stack_bytes: int
) -> tuple[VariablePlaces, dict[str, NotImported]]:
    """Place the variables of all wanted kernels.

    Where they do not all fit, the variables of as many kernels as fit are placed, in the text's order. The others are
    left out.
    """
    try:
        return VariablePlaces(module, wanted, stack_bytes), {}
    except MalformedInput:
        pass
    layout = VariablePlaces(module, [])
    left_out: dict[str, NotImported] = {}
    for kernel in wanted:
        try:
            layout = VariablePlaces(module, [*layout.kernels, kernel], stack_bytes)
        except MalformedInput as error:
            left_out[kernel] = NotImported(kernel, (Refusal(kernel, error),))
    return layout, left_out


def _lower_kernel(
    layout: VariablePlaces,
    kernel: KernelPlaces,
    block_dim: Block | None,
    names: dict[tuple[str, tuple[tuple[str, Place], ...]], str],
    state: _State,
) -> None:
    """Lower a kernel and the functions in its call graph. A function already lowered with the same placement is
    shared."""
    known: dict[str, str] = {}
    fresh: list[str] = []
    reached = set(kernel.reached)
    for function in layout.order:
        if function in reached:
            key = (function, layout.variant(function, kernel))
            if key not in names:
                names[key] = _fresh(function.replace("%", "_"), kernel.name, set(names.values()))
                fresh.append(function)
            known[function] = names[key]
    for function in fresh:  # only now, since the functions of a cycle name one another
        node = layout.module.functions[function]
        ctx = Context(layout, node, kernel, state.doubles, None, known)
        try:
            ctx.block = _block(node, block_dim) if node.is_entry else None
            state.program.routines[known[function]] = lower_routine(ctx, known[function], state.locations)
        except MalformedInput as error:
            ctx.refused.append(error)
        state.library |= ctx.library
        if ctx.refused:
            state.refused.setdefault(function, [Refusal(function, error) for error in ctx.refused])


def _fresh(name: str, kernel: str, taken: set[str]) -> str:
    """Return `name`, with the kernel's name as a suffix where a routine has it already."""
    candidate = name
    number = 1
    while candidate in taken:
        candidate = f"{name}.{kernel}" if number == 1 else f"{name}.{kernel}.{number}"
        number += 1
    return candidate


def _block(function: ast.PtxFunction, block_dim: Block | None) -> Block | None:
    """Return the block size where it is known: from `.reqntid`, or as the user says. Raises MalformedInput if they
    differ."""
    if function.reqntid is None or block_dim is None or function.reqntid == block_dim:
        return function.reqntid or block_dim
    raise MalformedInput(
        f"contradictory bounds of {function.name}",
        file=function.path or None,
        place=f"line {function.place.line}, column {function.place.column}",
        found="block size " + ", ".join(map(str, block_dim)),
        expected="as .reqntid says: " + ", ".join(map(str, function.reqntid)),
    )


def _add_library(state: _State) -> None:
    """Put the library functions that are called, and their callees, in front of all other routines."""
    if not state.library:
        return
    found: dict[str, Routine] = {}
    for module, roots in library_modules(state.library):
        layout = VariablePlaces(module, roots)
        for function in layout.order:
            if function in found:
                continue
            kernel = layout.kernels[roots[0]]
            ctx = Context(layout, module.functions[function], kernel, state.doubles, None, {n: n for n in layout.order})
            found[function] = lower_routine(ctx, function, Locations({}))
            assert not ctx.library, "library functions call one another by `call`"
    state.program.routines = {**found, **state.program.routines}
