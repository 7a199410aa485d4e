"""Foreign text is shown on one line, without control characters, bounded; whatever else it is."""

from __future__ import annotations

import sys

import pytest

from binalloc.errors import Hint, MalformedInput
from binalloc.printable import TEXT_LIMIT, WORD_LIMIT, one_line, plain, quoted, screen
from binalloc.report.table import table

HARMFUL = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u200b\u200e\u200f\u202a\u202e\u2028\u2029"]
HARMFUL += ["\u2066", "\ufeff", *"\u034f\u115f\u3164\ufe0f", "\ud800", "\udcff", "\U000e0001", "\U000e0100"]
HARMFUL += ["\ue000", "\uffff"]


@pytest.mark.parametrize("c", HARMFUL, ids=lambda c: f"{ord(c):x}")
def test_a_harmful_character_is_escaped_everywhere(c: str) -> None:
    for shown in (one_line(f"a{c}b"), quoted(f"a{c}b"), table([c], [[f"a{c}b"]]).replace("\n", "")):
        assert c not in shown
        assert "\\" in shown
        shown.encode()
    assert c not in str(MalformedInput(f"m{c}", file=f"f{c}", place=c, found=c, expected=c, remedy=f"r{c}"))
    assert (c in screen(f"a{c}b")) == (c == "\n")


def test_harmless_text_stays_as_it_is() -> None:
    for text in ("", "a b", "_Z4scaleIfEvPT_S1_S0_i", "größe 寸法 размер", "samples/a-b.loom: line 3", "\U0001f600"):
        assert one_line(text) == screen(text) == text


def test_long_words_and_long_texts_are_cut_and_say_so() -> None:
    word = one_line("see " + "a" * 70_000 + " there")
    assert len(word) < WORD_LIMIT + 20
    assert word.startswith("see aaaa")
    assert "..." in word
    assert word.endswith("a there")
    assert len(one_line("many words " * 10_000)) <= TEXT_LIMIT
    assert len(one_line("\x1b" * 70_000)) <= TEXT_LIMIT
    assert one_line("a" * WORD_LIMIT) == "a" * WORD_LIMIT


class Silent:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def deep() -> list[object]:
    nest: list[object] = []
    for _ in range(10 * sys.getrecursionlimit()):
        nest = [nest]
    return nest


@pytest.mark.parametrize(
    "value", [10**5000, -(10**5000), [10**5000], {"a": 10**5000}, Silent(), deep()], ids=lambda v: type(v).__name__
)
def test_what_has_no_text_is_named_all_the_same(value: object) -> None:
    for shown in (plain(value), one_line(value), quoted(value), str(MalformedInput("wrong", found=value))):
        assert 0 < len(shown) < 200
    assert table(["x"], [[value]])


def test_an_error_keeps_its_parts_as_they_were_for_programs() -> None:
    error = MalformedInput("m\n", file="f\x1b", found=10**5000)
    assert (error.message, error.file) == ("m\n", "f\x1b")
    assert error.details({})["file"] == "f\x1b"
    assert error.details({})["found"] == "an integer of 16610 bits"


def test_a_hint_is_spelled_for_whoever_reads_it() -> None:
    hint = Hint("Raise {max_cycles}, or {nothing}.")
    error = MalformedInput("m", place=Hint("{registers}"), remedy=hint)
    assert str(error) == "registers: m. Raise max_cycles, or nothing."
    assert error.text({"max_cycles": "--max-cycles", "registers": "-r"}) == "-r: m. Raise --max-cycles, or nothing."
    assert hint.parameters == ["max_cycles", "nothing"]
    hostile = MalformedInput("{kernel}", found="{kernel}", remedy="{kernel}")
    assert hostile.text({"kernel": "--kernel"}) == "{kernel}; found {kernel}. {kernel}", "text of a file is no template"


def test_errors_with_hints_cross_processes() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(MalformedInput("m", remedy=Hint("Give {kernel}."))))
    assert error.text({"kernel": "--kernel"}) == "m. Give --kernel."
