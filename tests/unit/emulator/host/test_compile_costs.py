"""What compiling works out once is what Numba would work out each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any

import pytest

from binalloc.emulator.host.engines.compile_costs import save_costs
from binalloc.emulator.host.engines.compiling import strange
from binalloc.emulator.state.device import REGISTRY


@pytest.fixture
def saving() -> Iterator[ExitStack]:
    """Costs are saved until the stack that the test gets is closed, or the test ends."""
    if odd := strange():
        pytest.skip(f"this version of Numba has another {odd}")
    with ExitStack() as stack:
        save_costs(stack)
        yield stack


def statements() -> Iterator[Any]:
    """All statements of some hundred device functions, as Numba has them before types are known."""
    compiler = import_module("numba.core.compiler")
    for function in REGISTRY.values():
        for block in compiler.run_frontend(function).blocks.values():
            yield from block.body


def test_variables_of_statements(saving: ExitStack) -> None:
    bodies = list(statements())
    ours = [each.list_vars() for each in bodies]
    saving.close()
    assert ours == [each.list_vars() for each in bodies]
    assert sum(map(len, ours)) > 20_000
    strange_things = [[], (), {}, {"a": [1, ("b", {})]}, "text", None, [bodies[0], (bodies[1], {"c": bodies[2]})]]
    theirs = [bodies[0]._rec_list_vars(each) for each in strange_things]
    with ExitStack() as stack:
        save_costs(stack)
        assert [bodies[0]._rec_list_vars(each) for each in strange_things] == theirs


def test_sizes_of_types(saving: ExitStack) -> None:
    ir = import_module("llvmlite.ir")
    data = import_module("numba.core.registry").cpu_target.target_context.target_data
    word, byte = ir.IntType(64), ir.IntType(8)
    named = [ir.Context().get_identified_type("same") for _ in range(2)]
    named[0].set_body(word)
    named[1].set_body(word, byte)
    kinds = [word, byte, ir.IntType(1), ir.FloatType(), ir.DoubleType(), byte.as_pointer(), ir.ArrayType(byte, 13)]
    kinds += [ir.LiteralStructType([byte, word]), ir.LiteralStructType([byte, word], packed=True)]
    for _ in range(2):
        ours = [kind.get_abi_size(data) for kind in kinds]
        assert ours == [8, 1, 1, 4, 8, 8, 13, 16, 9]
    assert [kind.get_abi_size(data, kind.context) for kind in named] == [8, 16]


def test_functions_that_come_later_are_found(saving: ExitStack) -> None:
    """A function that somebody teaches Numba after it has looked: it looks once more."""
    context = import_module("numba.core.registry").cpu_target.target_context
    imputils, types = import_module("numba.core.imputils"), import_module("numba.core.types")
    signature = import_module("numba.core.typing.templates").signature
    context.refresh()

    def nothing(*args: Any) -> None: ...

    with pytest.raises(NotImplementedError):
        context.get_function(nothing, signature(types.int64, types.int64))
    before = list(imputils.builtin_registry.functions)
    try:
        imputils.lower_builtin(nothing, types.int64)(lambda *args: "found")
        context.refresh()
        assert context.get_function(nothing, signature(types.int64, types.int64)) is not None
    finally:
        imputils.builtin_registry.functions[:] = before
