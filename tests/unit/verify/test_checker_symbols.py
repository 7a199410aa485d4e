"""A rewritten word may not be said to touch other shared variables than the original's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Function, Module
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from binalloc.verify.checker import check
from binalloc.verify.report import CheckReport
from tests.support.kits.transform.pairs_of_blocks import GPGPUSIM
from tests.support.ptx.generator.pointers import kernel


def _checked(old: Module, new: Module) -> CheckReport:
    return check(old, new, "k")


def _with(module: Module, fn: Function, touches: dict[int, tuple[str, ...]]) -> Module:
    return replace(module, functions=[replace(f, touches=touches) if f is fn else f for f in module.functions])


@pytest.mark.parametrize("inline", ["none", "all"])
@pytest.mark.parametrize("seed", range(4))
def test_symbols_are_compared_word_by_word(seed: int, inline: str) -> None:
    old = import_ptx(kernel(seed), machine=GPGPUSIM).module
    new = rewrite_to_budget(prepare(old, "k", inline=inline), 18, 2, machine=GPGPUSIM).module
    assert _checked(old, new).ok
    fn = new.function("k")
    names = sorted(v.name for v in fn.shared)
    for word in sorted(fn.touches)[:: max(len(fn.touches) // 5, 1)]:
        other = next((name,) for name in names if (name,) != fn.touches[word])
        report = _checked(old, _with(new, fn, {**fn.touches, word: other}))
        assert [(error.kind, error.index) for error in report.errors] == [("symbols", word)]
        assert _checked(old, _with(new, fn, {k: v for k, v in fn.touches.items() if k != word})).ok
    silent = replace(old, functions=[replace(f, touches={}) for f in old])
    assert {error.kind for error in _checked(silent, new).errors} == {"symbols"}
