"""PTX parser: whatever the text, it is read or refused with a place; a dump reads back as the tree it came from."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from binalloc.errors import MalformedInput
from binalloc.frontend.ptx.ast import PtxModule, TextPosition
from binalloc.frontend.ptx.dump import format_module
from binalloc.frontend.ptx.parser import parse
from tests.support.paths import DATA
from tests.support.ptx.generator.text import large_module

DATA = sorted((DATA / "ptx").glob("*.ptx"))
TEXTS = {p.stem: p.read_text() for p in DATA}
TOKEN = re.compile(r"[\w$%.]+|\s+|.", re.DOTALL)
ODD = [
    *("(", ")", "{", "}", "[", "]", ";", ":", ",", "<", ">", "@", "!", "|", "_", "~", "-", "+", "=", "?", '"', "\0"),
    *("/*", "*/", "//", "0x", "0f12", ".1", "1e999", "9" * 20, "9" * 5000, "\xe9", "\u2028", "WARP_SZ", "generic("),
    *(".reg", ".param", ".b8", ".func", ".entry", ".section", "%tid.x", "%r1<4>", "a.b", "0xFF(", "call", "ret"),
]


def accepted(text: str) -> PtxModule | None:
    """The module, or None where it was refused as it should be."""
    try:
        return parse(text, "x.ptx")
    except MalformedInput as e:
        assert re.fullmatch(r"line \d+, column \d+", e.place or "")  # noqa: PT017
        assert e.file == "x.ptx"  # noqa: PT017
        assert e.expected is not None  # noqa: PT017
        line = int((e.place or "").split(",")[0].split()[1])
        assert 1 <= line <= text.count("\n") + 1
        return None


def plain(node: object) -> object:
    """A tree without places, the texts of instructions, what the text around it says, and words that bind nothing."""
    if isinstance(node, TextPosition):
        return None
    if dataclasses.is_dataclass(node):
        skipped = ("text", "place", "path", "lines", "ignored")
        fields = [f.name for f in dataclasses.fields(node) if f.compare and f.name not in skipped]
        return type(node).__name__, [plain(getattr(node, name)) for name in fields]
    if isinstance(node, dict):
        return [(key, plain(value)) for key, value in sorted(node.items())]
    if isinstance(node, list | tuple):
        return [plain(item) for item in node]
    return node


def assert_reads_back(module: PtxModule) -> None:
    text = format_module(module)
    again = parse(text, flattened=True)
    assert plain(again) == plain(module)
    assert format_module(again) == text


@pytest.mark.parametrize("name", TEXTS)
def test_a_dump_reads_back(name: str) -> None:
    assert_reads_back(parse(TEXTS[name]))


def test_a_dump_of_a_generated_module_reads_back() -> None:
    assert_reads_back(parse(large_module(800, kernel_lines=200, seed=5)))


def test_a_dump_of_variables_reads_back() -> None:
    head = ".version 8.0 .target sm_75 .address_size 64 .func f; .extern .global .u64 late[2]; "
    masks = ",".join(f"{0xFF << 8 * i}(late-8)" for i in range(8))
    module = parse(
        head
        + """.global .u64 early[3] = {generic(late)+8, f, 5}; .global .u64 late[2] = {early, -1};
        .const .v4 .f32 v = {1.0, 2.0}; .const .f64 d[2][2] = {{0.1}, {-2.0}}; .shared .v2 .b16 s[4];
        .global .s8 b[3] = {-1, 2}; .global .b16 z = 0; .extern .shared .align 16 .b8 dyn[]; .global .texref t;
        .global .align 8 .b8 m[24] = {1,0,0,0,0,0,0,0,"""
        + masks
        + """};
        .entry k (.param .v2 .u32 p, .param .b8 q[2][3]) .reqntid 4, 5 .minnctapersm 2 .maxnreg 16
        { .reg .v2 .b32 v<3>; .reg .pred p1; mov.v2.u32 v1, v2; @!p1 bra L; .extern .shared .b32 e[];
          { .reg .b64 a; mov.u64 a, dyn+8; ld.u64 a, [a+-16]; L: bra L; } .loc 1 7 3 exit; L: }
        .func (.reg .f32 y) g (.reg .f32 x, .param .b32 n) .noreturn_""".replace(
            ".noreturn_", "{ pr: .callprototype _ (.param .b32 _) .noreturn; .reg .b64 a; call a, (3), pr; ret; }"
        )
    )
    assert_reads_back(module)


def _mutate(rng: random.Random, tokens: list[str]) -> list[str]:
    i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    choice = rng.randrange(8)
    if choice == 0:
        return tokens[:i] + tokens[i + 1 :]
    if choice == 1:
        return [*tokens[:i], tokens[j], *tokens[i:]]
    if choice == 2:
        tokens[i], tokens[j] = tokens[j], tokens[i]
        return tokens
    if choice == 3:
        return tokens[: i + 1]
    if choice == 4:
        return [*tokens[:i], rng.choice(ODD), *tokens[i + 1 :]]
    if choice == 5:
        return [*tokens[:i], tokens[i] * rng.choice((2, 50, 1000)), *tokens[i + 1 :]]
    if choice == 6:
        return [*tokens[:i], *tokens[j : j + rng.randrange(30)], *tokens[i:]]
    return [*tokens[:i], "".join(chr(rng.randrange(256)) for _ in range(rng.randrange(20))), *tokens[i + 1 :]]


@pytest.mark.parametrize("name", TEXTS)
def test_mutated_modules_are_read_or_refused(name: str) -> None:
    """Tokens deleted, doubled, swapped, replaced, repeated; the text cut off. What is read reads back."""
    tokens = TOKEN.findall(TEXTS[name])
    read = refused = 0
    for seed in range(150):
        rng = random.Random(f"{name} {seed}")
        changed = tokens
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            changed = _mutate(rng, list(changed))
        module = accepted("".join(changed))
        if module is None:
            refused += 1
            continue
        read += 1
        if read % 10 == 0:
            assert_reads_back(module)
    assert refused > 50
    assert read > 5


@pytest.mark.parametrize("name", TEXTS)
def test_a_module_without_one_of_its_lines_is_read_or_refused(name: str) -> None:
    lines = TEXTS[name].splitlines(keepends=True)
    step = max(1, len(lines) // 60)
    for at in range(0, len(lines), step):
        accepted("".join(lines[:at] + lines[at + 1 :]))
        accepted("".join(lines[:at]))


WORDS = sorted({t for text in TEXTS.values() for t in TOKEN.findall(text) if not t.isspace()})[::7] + ODD


@settings(max_examples=300, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.sampled_from([" ", "", "\n"]))
@example([], "")
def test_token_salad(words: list[str], between: str) -> None:
    salad = between.join(words)
    accepted(salad)
    accepted(f".version 8.0 .target sm_75 {salad}")
    accepted(f".version 8.0 .target sm_75 .entry k (.param .b32 a) {{ .reg .b32 %r<9>; {salad} }}")


@settings(max_examples=200, derandomize=True)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    accepted(text)
    accepted(f".version 8.0 .target sm_75 .entry k {{ {text}")


def _nested(open_: str, middle: str, close: str) -> Callable[[int], str]:
    return lambda n: open_ * n + middle + close * n


@pytest.mark.parametrize(
    "make",
    [
        _nested("{ .reg .b32 a; ", "", "}"),
        _nested("x: .branchtargets ", "y", ";"),
        _nested("mov.u32 %r1, {", "%r1", "};"),
        _nested("call (", "f", ")"),
        _nested("/*", "", "*/"),
    ],
    ids=["scopes", "targets", "vectors", "calls", "comments"],
)
@pytest.mark.parametrize("depth", [3, 300, 20000])
def test_nesting(make: Callable[[int], str], depth: int) -> None:
    accepted(f".version 8.0 .target sm_75 .func f; .entry k {{ .reg .b32 %r<9>; {make(depth)} ret; }}")
