"""Addresses that one walk cannot bound are bounded here by cases: of what one word of the original may give.

A walk knows bounds of each value, but no relation between two of them. Where both come from one unknown word, it helps
to walk once for each of some ranges of that word: in each the others are known better. Every value of the word is in
one of a thread's cases, so whatever the cases are, together they say where accesses may go. They are chosen so that
what the following words shift to the right out of it is one number in each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from binalloc.isa.interface.formulas import Act
from binalloc.isa.interface.places import PRED_BASE
from binalloc.isa.kinds import Flow
from binalloc.verify.multiplex.graph import Graph
from binalloc.verify.multiplex.spread import LAST, Numbers, Spread
from binalloc.verify.multiplex.words import Setting, Word

AHEAD = 40  # words that are looked at behind the one with cases; chosen by hand
MOST_CASES = 64  # of a thread, on the average; bounds the time
CANDIDATES = 5  # words that are tried; likewise


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases are ranges of the result of word `n`. Each is walked as a thread of its own, in place of `thread`."""

    n: int
    thread: Numbers
    low: Numbers
    high: Numbers


class CaseSetting(Setting):
    """A setting of cases has a thread for each case."""

    def __init__(self, setting: Setting, cases: Cases) -> None:
        super().__init__((len(cases.thread), 1, 1), setting.limits)
        self.special = {
            name: Spread(x.low[cases.thread], x.high[cases.thread], x.same) for name, x in setting.special.items()
        }


def candidates(graph: Graph, words: list[Word | None]) -> list[int]:
    """Return words whose results may have cases: shifts to the right outside of loops."""
    found = []
    for b, chain in enumerate(graph.words):
        for n in chain if not graph.chains[b] else ():
            word = words[n]
            if word is None or word.view.guard is not None or len(word.defs) != 1:
                continue
            if any(f.act == Act.RIGHT for f in word.formulas.values()):
                found.append(n)
    return found[:CANDIDATES]


def choose(
    n: int, words: list[Word | None], places: dict[int, Spread], setting: Setting, single: int
) -> Cases | None:
    """Return cases for the result of word `n`; None where there are too many, or none. places: what the threads know in
    front of it. single: how many values are looked at one by one, all greater ones being one case."""
    word = words[n]
    assert word is not None
    threads = setting.threads
    at = np.repeat(np.arange(threads), single + 1)
    value = np.tile(np.arange(single + 1, dtype=np.int64), threads)
    high = np.where(value == single, LAST, value)
    wide = CaseSetting(setting, Cases(n, at, value, high))
    known = {place: Spread(x.low[at], x.high[at], x.same) for place, x in places.items()}
    known[word.defs[0]] = Spread(value, high, False)
    cuts = value == 0
    for k in range(n + 1, min(n + AHEAD, len(words))):
        other = words[k]
        if other is not None and other.view.control not in (Flow.NONE, Flow.BRANCH):
            break
        if other is not None and other.defs:
            cuts = cuts | _follow(other, known, wide)
    first = np.flatnonzero(cuts)
    if not threads < len(first) <= MOST_CASES * threads:
        return None
    return Cases(n, at[first], value[first], high[np.append(first[1:], len(value)) - 1])


def _follow(word: Word, known: dict[int, Spread], wide: Setting) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Execute a word in all cases, and return those in which it shifts out something else than in the one before."""

    def read(at: int) -> Spread:
        return known.get(at, wide.either if at >= PRED_BASE else wide.different)

    cuts = np.zeros(wide.threads, np.bool_)
    values = word.results(wide, read)
    for k, (place, x) in enumerate(zip(word.defs, values, strict=True)):
        if word.view.guard is not None or word.view.memory is not None:
            known.pop(place, None)
            continue
        known[place] = x
        if k in word.formulas and word.formulas[k].act in (Act.RIGHT, Act.RIGHT_SIGNED):
            cuts[1:] |= (x.low[1:] != x.low[:-1]) | (x.high[1:] != x.high[:-1])
    return cuts
