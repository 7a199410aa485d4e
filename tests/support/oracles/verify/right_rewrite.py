"""Is a rewrite right? An answer by symbolic runs in every case, that knows nothing of the checker.

Whatever the predicates are, and whatever the rewritten program finds in places that nobody wrote, there must be one
choice of what the original finds there by which it does what the rewritten program does: the same effects with the same
operands, those of one kind and place in the same order.

"Wrong" is certain, but for what operations mean: nothing is known of their results but that they are the same of the
same operands. "Right" is not: loops are followed for few rounds, of many cases some, in one thread, and accesses to
different places may have changed their order.
"""

from __future__ import annotations

from tests.support.oracles.verify.symbolic_thread import Choices, Effects, Endless, Fault, Program, Thread
from tests.support.oracles.verify.terms import Terms, Undecided

MOST_CASES = 400


def is_right(original: Program, rewritten: Program) -> bool:
    terms = Terms()
    cases: list[dict[int, bool]] = [{}]
    for _ in range(MOST_CASES):
        if not cases:
            break
        truths = cases.pop()
        try:
            if not _same(original, rewritten, terms, truths):
                return False
        except Undecided as open_:
            cases += [{**truths, open_.value: way} for way in (True, False)]
    return True


def _same(original: Program, rewritten: Program, terms: Terms, truths: dict[int, bool]) -> bool:
    """In this case."""
    found: Effects | None = None
    try:
        found = Thread(rewritten, terms, truths, None).run()
    except Fault:
        return False
    except Endless:
        pass
    choices = Choices()
    while True:
        try:
            wanted = Thread(original, terms, truths, choices).run()
        except Endless:
            return True
        if found is not None and _agree(wanted, found, terms, truths):
            return True
        if not choices.next():
            return False


def _agree(wanted: Effects, found: Effects, terms: Terms, truths: dict[int, bool]) -> bool:
    """Whether the original may leave what the rewritten program left."""
    if wanted.keys() != found.keys() or any(len(found[k]) != len(seen) for k, seen in wanted.items()):
        return False
    for kind, seen in wanted.items():
        for inputs, values in zip(seen, found[kind], strict=True):
            for x, value in zip(inputs, values, strict=True):
                assert isinstance(value, int)
                if not terms.unify(x, value, truths):
                    return False
    return True
