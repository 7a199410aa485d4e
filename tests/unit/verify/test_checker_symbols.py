"""A rewritten word may not be said to touch other shared variables than the original's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Function, Module
from binalloc.pipeline.proving.check import prove_kernels
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


def test_a_kernel_whose_words_are_all_the_same_is_compared_too() -> None:
    """Nothing is left out of a proof as unchanged whose addresses are said to come from elsewhere."""
    old = import_ptx(kernel(0), machine=GPGPUSIM).module
    fn = old.function("k")
    word, names = next((word, names) for word, names in sorted(fn.touches.items()) if len(names) == 1)
    other = next((v.name,) for v in fn.shared if (v.name,) != names)
    said = {word: (old, {**fn.touches, word: other}), -1: (_with(old, fn, {}), fn.touches)}
    for first, (before, touches) in said.items():
        found = prove_kernels(before, _with(old, fn, touches), ["k"], GPGPUSIM, whole=True)
        assert not found.unchanged
        assert found.findings
        assert all("said to come from other variables" in text for text in found.findings), first
    assert not prove_kernels(old, _with(old, fn, {}), ["k"], GPGPUSIM, whole=True).findings
