"""What `rewrite --explain` prints of a small sample, byte for byte.

After an intended change: python -m tests.golden.test_explanation
"""

from __future__ import annotations

from pathlib import Path

from binalloc.isa.sets.files import load
from binalloc.report.explain import explanation, render_explanation
from binalloc.transform.rewrite.rewrite import prepare, rewrite_to_budget
from tests.support.paths import sample_file

GOLDEN = Path(__file__).with_name("explanation.txt")


def shown() -> str:
    module = load(sample_file("callchain.loom"))
    parts = []
    for registers, slots in ((6, 0), (5, 4)):
        found = rewrite_to_budget(prepare(module, "callchain"), registers, slots)
        parts.append(f"{registers} registers, {slots} slots\n")
        parts.append(render_explanation(explanation(module, found.explain()), found.cost.copies))
    return "\n".join(parts)


def test_text_is_byte_for_byte_the_golden_file() -> None:
    assert shown() == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(shown(), encoding="utf-8")
