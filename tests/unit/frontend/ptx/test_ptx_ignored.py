"""Directives and pragmas that nothing comes of: named in PTX.md, and once per import; nothing else is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend import doc
from binalloc.frontend.ignored import FORMS, IgnoredText, sentence
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.ptx.parser import parse
from binalloc.isa.instruction import FunctionInfo
from binalloc.models.machines.author_bounds import directives
from binalloc.models.machines.reader import load_machine
from tests.support.kits.cli import call

HEAD = ".version 8.7\n.target sm_75{}\n.address_size 64\n"
STATE = "= {filter_mode = linear, addr_mode_0 = wrap, normalized_coords = 1}"
SMEM = '.pragma "enable_smem_spilling";'


def text_of(
    bounds: str = "", body: str = "", scope: str = "", target: str = "", parameter: str = ".param .u64 p"
) -> str:
    return HEAD.format(target) + f"{scope}\n.visible .entry k({parameter}) {bounds}\n{{ {body}\nret; }}\n"


EXAMPLES = {
    "nounroll": (text_of(body='.pragma "nounroll";'), '.pragma "nounroll"'),
    "frequency": (text_of(body='.pragma "frequency 7";'), '.pragma "frequency 7"'),
    "used_bytes_mask": (text_of(body='.pragma "used_bytes_mask 0x0f";'), '.pragma "used_bytes_mask 0x0f"'),
    "smem-place": (text_of(scope=SMEM), SMEM[:-1]),
    "pragma": (text_of(body='.pragma "something else";'), '.pragma "something else"'),
    "again": (text_of(".maxnreg 24 .maxnreg 32"), ".maxnreg 24 before .maxnreg 32"),
    "beside": (text_of(".reqntid 8, 4 .maxntid 64"), ".maxntid 64, 1, 1 beside .reqntid 8, 4, 1"),
    "min-blocks": (text_of(".minnctapersm 8"), ".minnctapersm 8 of k without a block size"),
    "max-blocks": (text_of(".maxnctapersm 8"), ".maxnctapersm 8"),
    "cluster-rank": (text_of(".maxclusterrank 8"), ".maxclusterrank 8"),
    "abi": (text_of(scope=".func f .abi_preserve 4 { ret; }"), ".abi_preserve 4"),
    "section": (text_of(scope=".section .debug_str { .b8 1 }"), ".section .debug_str"),
    "debug": (text_of(target=", debug"), ".target debug"),
    "placement": (text_of(scope=".global .attribute(.managed) .u32 v;"), ".attribute"),
    "texture-state": (text_of(scope=f".global .texref t {STATE};"), STATE),
    "pointer": (text_of(parameter=".param .u64 .ptr .global .align 4 p"), ".ptr"),
}


@pytest.mark.parametrize("key", FORMS)
def test_each_form_is_told_with_its_line(key: str) -> None:
    text, told = EXAMPLES[key]
    word = {"debug": "debug", "texture-state": "filter_mode"}.get(key, told.split()[0])
    line = next(n for n, line in enumerate(text.splitlines(), 1) if word in line)
    assert import_ptx(text, "a.ptx").ignored == [IgnoredText("a.ptx", told, line, 1)]


def test_the_table_of_the_page_is_up_to_date() -> None:
    page = doc.PATH.read_text(encoding="utf-8")
    assert doc.render(page) == page
    for form in FORMS.values():
        assert page.count(f"| {form.forms} | {form.why} |") == 1


def test_what_is_obeyed_is_not_told() -> None:
    scope = '.file 1 "a.cu"\n.weak .func f { ret; }\n.func stop .noreturn { trap; }'
    body = f".loc 1 2 3\n{SMEM} call f;"
    module = parse(text_of(".maxntid 256 .maxnreg 24 .minnctapersm 2", body, scope))
    assert module.ignored == []
    k = module.functions["k"]
    assert (k.max_registers, k.min_blocks, k.max_threads, k.smem_spilling) == (24, 2, 256, True)


def test_the_pragma_is_the_kernel_bodys_alone() -> None:
    nested = import_ptx(text_of(body=f"{{ {{ {SMEM} }} }}")).module.function("k").info
    assert nested.smem_spilling
    for text in (text_of(SMEM), text_of(scope=SMEM), text_of(scope=f".func f {{ {SMEM} ret; }}")):
        imported = import_ptx(text)
        assert not imported.module.function("k").info.smem_spilling
        assert [told.text for told in imported.ignored] == [SMEM[:-1]]


def test_linked_files_keep_their_own_words() -> None:
    one = text_of(".maxnreg 24", SMEM + '.pragma "nounroll"; .pragma "nounroll";')
    other = text_of(".maxntid 64 .minnctapersm 4 .minnctapersm 2")
    other = other.replace("entry k", "entry l").replace("sm_75", "sm_80")
    imported = import_ptx([one, other], ["a.ptx", "b.ptx"])
    k, l_ = (imported.module.function(name).info for name in "kl")
    assert facts(k) == ("sm_75", 24, 0, True)
    assert facts(l_) == ("sm_80", 0, 2, False)
    assert imported.ignored == [
        IgnoredText("a.ptx", '.pragma "nounroll"', 6, 2),
        IgnoredText("b.ptx", ".minnctapersm 4 before .minnctapersm 2", 5, 1),
    ]


def facts(info: FunctionInfo) -> tuple[str, int, int, bool]:
    return info.target, info.max_registers, info.min_blocks, info.smem_spilling


@pytest.mark.parametrize(
    ("word", "kept"), [(".maxnreg", "max_registers"), (".minnctapersm", "min_blocks"), (".maxntid", "max_threads")]
)
def test_the_last_of_several_counts_and_the_others_are_told(word: str, kept: str) -> None:
    """As in ptxas 13.0, which compiles a kernel of `.maxntid 128 .maxntid 1024` for 1,024 threads, and the other way
    round for 128."""
    for first, last in ((64, 96), (96, 64)):
        imported = import_ptx(text_of(f".maxntid 32 {word} {first} {word} {last}"))
        assert getattr(imported.module.function("k").info, kept) == last
        assert any(f"before {word} {last}" in told.text for told in imported.ignored)


def test_the_last_size_of_a_block_counts() -> None:
    imported = import_ptx(text_of(".reqntid 64 .reqntid 8, 4"))
    assert imported.module.function("k").info.block == (8, 4, 1)
    assert [told.text for told in imported.ignored] == [".reqntid 64, 1, 1 before .reqntid 8, 4, 1"]


@pytest.mark.parametrize("word", [".maxnreg", ".minnctapersm"])
def test_numbers_of_32_bits_are_kept_and_bound_nothing(word: str) -> None:
    """As in ptxas, which warns that it ignores 4294967295, and refuses what is larger."""
    info = import_ptx(text_of(f".maxntid 64 {word} 4294967295")).module.function("k").info
    assert max(info.max_registers, info.min_blocks) == 0xFFFFFFFF
    assert [d.registers for d in directives(load_machine("h100"), info) if d.text.startswith(word)] == [None]
    with pytest.raises(MalformedInput, match=r"number too large.*0 to 4294967295"):
        parse(text_of(f".maxntid 64 {word} 4294967296"))


@pytest.mark.parametrize("bounds", [".maxnreg 0", ".maxntid 64 .minnctapersm 0", ".maxntid 0", ".reqntid 2048"])
def test_a_bound_that_nothing_satisfies_is_refused(bounds: str) -> None:
    with pytest.raises(MalformedInput, match=r"a bound of none|size of a block"):
        parse(text_of(bounds))


def test_an_import_tells_them_once_on_stderr_and_in_json(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(text_of(".maxclusterrank 2", '.pragma "nounroll";\n.pragma "nounroll";'))
    answer = call("import-ptx", str(path), "-o", str(tmp_path / "k.loom"), "--json")
    line = f'binalloc: {path}: ignored: .maxclusterrank 2 (line 5), .pragma "nounroll" (line 6, 2 times)\n'
    assert line in answer.err
    assert json.loads(answer.out)["ignored"][1] == {
        "file": str(path), "text": '.pragma "nounroll"', "line": 6, "count": 2
    }  # fmt: skip
    assert call("inspect", str(path)).err.count("ignored:") == 1
    assert sentence([IgnoredText("", ".ptr", 3, 1)]) == ".ptr (line 3)"


def test_an_import_tells_which_directives_its_registers_do_not_keep_to(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(text_of(".maxnreg 300"))
    answer = call("import-ptx", str(path), "--machine", "a100")
    assert "k: .maxnreg 300: a100 has 255 registers per thread: it bounds nothing" in answer.err
