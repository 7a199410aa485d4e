"""Files without kernels: a library, whose functions are imported, and linked with the file that has the kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.refused import NotImportable
from binalloc.isa.container.files import read_module, write_module
from binalloc.isa.text.assembler import assemble
from binalloc.isa.text.disassembler import disassemble
from tests.support.kits.cli import call as call_binalloc
from tests.support.ptx.harness import launched
from tests.support.ptx.texts import HEAD, kernel

LIBRARY = HEAD + """.global .u32 base = 4;
.func (.param .b32 r) inner(.param .b32 a) { .reg .b32 %x<3>; .shared .u32 s[32]; ld.param.b32 %x1, [a];
    st.shared.u32 [s], %x1; ld.shared.u32 %x1, [s]; add.u32 %x1, %x1, 1; st.param.b32 [r], %x1; ret; }
.visible .func (.param .b32 r) outer(.param .b32 a) { .reg .b32 %x<3>; ld.param.b32 %x1, [a];
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %x1; call (q), inner, (p); ld.param.b32 %x2, [q]; }
    ld.global.u32 %x1, [base]; add.u32 %x2, %x2, %x1; st.param.b32 [r], %x2; ret; }
.weak .func (.reg .f32 y) root(.reg .f32 x) { div.rn.f32 y, x, x; ret; }
.func unused() { ret; }
"""
CALLER = kernel(
    "{ .param .b32 p; .param .b32 q; st.param.b32 [p], 30; call (q), outer, (p); ld.param.b32 %r1, [q]; }\n"
    "st.global.u32 [%d1], %r1;",
    head=".extern .func (.param .b32 r) outer(.param .b32 a);",
)


def test_the_functions_that_others_may_call_and_what_they_call() -> None:
    imported = import_ptx(LIBRARY, machine="gtx680")
    module = read_module(write_module(imported.module))
    names = {fn.name for fn in module if not fn.name.startswith("__binalloc")}
    assert names == {"inner", "outer", "root"}
    assert not module.kernels()
    assert imported.kernels == imported.left_out == []
    assert write_module(assemble(disassemble(module))) == write_module(module)


def test_all_functions_where_others_may_call_none() -> None:
    assert [fn.name for fn in import_ptx(f"{HEAD}.func a() {{ ret; }} .func b() {{ ret; }}").module] == ["a", "b"]


def test_a_library_is_linked_with_the_file_that_has_the_kernels() -> None:
    module = import_ptx([LIBRARY, CALLER], ["library.ptx", "caller.ptx"], machine="gtx680").module
    assert launched(module, "k", ["out"], [np.zeros(32, np.uint32)], engine="python")["out"].tolist() == [35] * 32


def test_what_cannot_be_imported_of_a_library_is_refused_with_its_function() -> None:
    with pytest.raises(NotImportable, match=r"line 13, column 1: local memory of a varying size") as found:
        import_ptx(LIBRARY + ".visible .func bad() { .reg .b64 %d;\nalloca.u64 %d, 8; ret; }")
    assert [left.kernel for left in found.value.left_out] == ["bad"]
    assert found.value.importable == ["outer", "root"]


@pytest.mark.parametrize("rest", ["", ".global .u32 g;", ".extern .func f();"])
def test_a_file_without_code_has_nothing_to_import(rest: str) -> None:
    with pytest.raises(MalformedInput, match=r"no kernel in this file.*Give the file that has the kernels, too"):
        import_ptx(HEAD + rest)


def test_the_command_line_says_that_nothing_can_be_run(tmp_path: Path) -> None:
    source, target = tmp_path / "library.ptx", tmp_path / "library.loom"
    source.write_text(LIBRARY)
    found = call_binalloc("import-ptx", str(source), "-o", str(target))
    assert found.code == 0
    assert found.out.endswith("library.loom: written\n")
    assert "no kernel, " in found.err
    assert "nothing here can be run" in found.err
    assert call_binalloc("inspect", str(target)).code == 0
    for command in ("rewrite", "recommend", "launch-skeleton"):
        answer = call_binalloc(command, str(target))
        assert answer.code == 2
        assert "the binary has no kernel" in answer.err
        assert "import the PTX of both together" in answer.err
