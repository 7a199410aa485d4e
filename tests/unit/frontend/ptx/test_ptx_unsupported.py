"""What PTX has and the importer refuses: each by an entry of one table, which is PTX.md's."""

from __future__ import annotations

import ast
import re

import pytest

from binalloc.errors import MalformedInput
from binalloc.frontend import doc
from binalloc.frontend.importer import import_ptx
from binalloc.frontend.refused import NotImportable
from binalloc.frontend.runtime.runtime import ENVIRONMENT
from binalloc.frontend.unsupported import BY_KEY, FORMS, NotSupported
from tests.support.paths import ROOT

REGISTERS = """.reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<16>;
.reg .f64 %g<16>; .reg .b128 %q<4>;"""
VARIABLES = """.global .texref image; .global .surfref surf; .global .align 16 .b8 gv[64];
.shared .align 16 .b8 sv[1024];"""
KNOWN = [
    tuple(map(str.strip, line.split("|", 2)))
    for line in (ROOT / "tests/data/ptx/accepted_forms.txt").read_text().splitlines()
    if not line.startswith("#")
]
"""(imports or a form's key, target, instruction): all accepted by ptxas."""

PLACED = {
    "indirect": ("P: .callprototype _ (); call %d1, (), P;", "", ""),
    "device-runtime": ("call cudaStart;", ".extern .func cudaStart;", ""),
    "other-file": ("call far;", ".extern .func far;", ""),
    "function-address": ("mov.u64 %d1, f;", ".extern .func f;", ""),
    "label-address": ("mov.u64 %d1, L; L:", "", ""),
    "external": ("mov.u64 %d1, far;", ".extern .global .u32 far;", ""),
    "object-address": ("mov.u64 %d1, smp;", ".global .samplerref smp;", ""),
    "initialiser": ("mov.u64 %d1, table;", ".shared .u32 s; .global .u64 table[1] = {s};", ""),
    "old-rounding": ("mad.f32 %f1, %f2, %f3, %f4;", "", ""),
    "map-doubles": ("add.f64 %g1, %g2, %g3;", "", ""),
    "outside-register": ("call reads;", ".reg .b32 %a; .func reads { .reg .b32 x; mov.b32 x, %a; ret; }", ""),
    "predicate-parameter": ("call f, (%p1);", ".func f(.reg .pred a) { ret; }", ""),
    "variadic": ("", ".func f(.param .align 4 .b8 rest[]) { ret; }", ""),
    "attribute": ("", ".func .attribute(.unified(1, 2)) f { ret; }", ""),
    "too-large": ("ld.const.u32 %r1, [big];", ".const .align 4 .b8 big[70000];", ""),
    "other": ("frobnicate.b32 %r1;", "", ""),
    "cluster": ("", "", ".reqnctapercluster 2"),
}  # fmt: skip
"""Key -> (body, module scope, directives of the kernel): forms beyond single instructions."""
ALSO = [
    ("old-rounding", "div.f32 %f1, %f2, %f3;", ""), ("old-rounding", "sin.f32 %f1, %f2;", ""),
    ("old-rounding", "sqrt.f64 %g1, %g2;", ""), ("old-rounding", "fma.f64 %g1, %g2, %g2, %g1;", ""),
    ("too-large", "mov.u32 %r1, big;", ".shared .align 4 .b8 big[20000000];"),
    ("too-large", "mov.u64 %d1, big;", ".global .align 4 .b8 big[300000000];"),
    ("environment", "mov.u32 %r1, %envreg31;", ""),
]  # fmt: skip


def refusal(body: str, head: str = "", bounds: str = "", target: str = "sm_75") -> MalformedInput | None:
    """The reason why a kernel with `body` is refused; None where it is imported."""
    text = f""".version 9.0
.target {target}
.address_size 64
{VARIABLES}
{head}
.visible .entry k(.param .u64 out) {bounds} {{ {REGISTERS}
{body}
ret; }}
"""
    try:
        import_ptx(text, "x.ptx", machine="gtx680")
    except NotImportable as error:
        ((first, *_),) = [left.refusals for left in error.left_out]
        assert isinstance(first.error, MalformedInput)
        return first.error
    except MalformedInput as error:
        return error
    return None


def key_of(error: MalformedInput | None) -> str:
    if error is None:
        return "imports"
    assert isinstance(error, NotSupported), f"called no PTX: {error}"
    return error.form.key


@pytest.mark.rotates
@pytest.mark.parametrize(("key", "target", "text"), KNOWN, ids=[text for _, _, text in KNOWN])
def test_what_ptxas_accepts_is_imported_or_refused_by_an_entry(key: str, target: str, text: str) -> None:
    error = refusal(text, target=target)
    assert key_of(error) == key
    assert key != "other"
    if error is not None:
        assert error.place
        assert error.place.startswith("line 9, column ")
        assert error.remedy == (BY_KEY[key].instead or None)


@pytest.mark.parametrize("key", PLACED)
def test_forms_beyond_instructions_are_refused_by_their_entries(key: str) -> None:
    body, head, bounds = PLACED[key]
    target = "sm_75, map_f64_to_f32" if key == "map-doubles" else "sm_75"
    error = refusal(body, head, bounds, target)
    assert key_of(error) == key
    assert error is not None
    assert str(error.place).startswith("line ")


@pytest.mark.parametrize(("key", "body", "head"), ALSO)
def test_siblings_share_an_entry(key: str, body: str, head: str) -> None:
    assert key_of(refusal(body, head)) == key


def test_every_entry_is_met() -> None:
    assert set(BY_KEY) == {key for key, _, _ in KNOWN if key != "imports"} | set(PLACED)


def test_every_special_register_is_read_or_refused_by_an_entry() -> None:
    from binalloc.frontend.ptx.scopes import SPECIALS

    for name in sorted(SPECIALS):
        if name in (
            "%tid",
            "%ntid",
            "%ctaid",
            "%nctaid",
            "%clusterid",
            "%nclusterid",
            "%cluster_ctaid",
            "%cluster_nctaid",
        ):
            continue  # vectors
        errors = [refusal(f"mov.{t} {r}, {name};") for t, r in (("u32", "%r1"), ("b64", "%d1"), ("pred", "%p1"))]
        keys = {key_of(e) for e in errors if e is None or isinstance(e, NotSupported)}
        if name in ENVIRONMENT:  # words alone
            assert keys == {"imports", "environment"}
            continue
        assert len(keys) == 1, (name, keys)
        assert "other" not in keys, name


def test_the_code_refuses_by_known_entries_only() -> None:
    """Keys in the source are the table's, and every entry found by no rule is named somewhere."""
    named: set[str] = set()
    for path in sorted((ROOT / "binalloc/frontend").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                keys = [k.value for k in node.keywords if k.arg == "form"]
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("unsupported", "undefined"):
                    keys += node.args[:1]
                named |= {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "BY_KEY":
                named |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
    found = {form.key for form in FORMS if form.ops or form.mods or form.specials}
    assert named <= set(BY_KEY)
    assert set(BY_KEY) - found <= named


def test_the_page_lists_every_entry() -> None:
    text = doc.PATH.read_text()
    assert doc.render(text) == text, "PTX.md is stale: run make tables"
    section = text.split("## Not supported, and said so")[1]
    for form in BY_KEY.values():
        assert f"| {form.forms} | {form.reason} | {form.instead} |" in section
        assert form.forms
        assert form.reason
    for word in ("tex.level", "2dms", "mad.f32", "%envreg", "-rdc", "label"):
        assert word in section, word
    assert not re.search(r"-rdc=false", section)


def test_what_is_called_no_ptx_is_none() -> None:
    """The other direction: malformed text has no entry."""
    for body in (
        "add.s32 %r1, %f1, 3;",
        "ld.relaxed.global.u32 %r1, [%d1];",
        "bar.sync 16;",
        "shfl.sync.b32 %r1, %r2;",
    ):
        error = refusal(body)
        assert error is not None
        assert not isinstance(error, NotSupported), body
