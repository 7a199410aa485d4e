"""Functions of two memory models in one binary: the stricter one holds for all, and inlining does not mix them."""

from __future__ import annotations

import pytest

from binalloc.isa.instruction import Module
from binalloc.transform.rewrite.rewrite import prepare, rewrite
from binalloc.verify.checker import check
from binalloc.verify.resources import check_module
from tests.support.programs.builder import program

MIXED = """
.kernel k registers=24
.memory_model {kernel}
S2R R0, SR_LANEID
MOV R2, c[0][p]
MOV R3, c[0][p+4]
IMAD.WIDE R2, R0, 4, R2
CALL f
STG [R2+4], R4
EXIT
.func f
.memory_model {callee}
LDG R4, [R2]
STG [R2], R0
RET
"""
MIXES = [("ptx", "loom"), ("loom", "ptx"), ("loom", "loom")]


def mixed(kernel: str, callee: str) -> Module:
    return program(MIXED.format(kernel=kernel, callee=callee))


@pytest.mark.parametrize(("kernel", "callee"), MIXES)
def test_the_stricter_model_holds_for_all_functions(kernel: str, callee: str) -> None:
    module = mixed(kernel, callee)
    assert module.memory_model == "loom"
    program_ = prepare(module, "k").program
    assert all(f.fn.info.memory_model in ("loom", "ptx") for f in program_.functions.values())
    assert program_.module.memory_model == "loom"
    assert mixed("ptx", "ptx").memory_model == "ptx"


@pytest.mark.parametrize(("kernel", "callee"), [*MIXES, ("ptx", "ptx")])
def test_only_functions_of_one_model_become_one(kernel: str, callee: str) -> None:
    module = mixed(kernel, callee)
    assert bool(prepare(module, "k", inline="all").inlined) is (kernel == callee)
    rewritten = rewrite(module, "k", 12, 0, inline="all")
    assert rewritten.function("k").info.memory_model == kernel
    assert check(module, rewritten, "k").ok


def test_a_rewrite_that_loses_the_stricter_function_is_refused() -> None:
    module = mixed("ptx", "loom")
    alone = Module([module.function("k")], dict(module.constants))
    found = check_module(module, alone, module.function("k"), module.function("k"))
    assert [(f.expected, f.found) for f in found] == [("loom", "ptx")]
    assert not check_module(module, module, module.function("k"), module.function("k"))
