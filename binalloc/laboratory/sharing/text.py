"""The sharing paper's experiments are shown as text. Its input is the object that JSON prints (`facts`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binalloc.laboratory.sharing.facts import slower_choices, worse_with_sharing
from binalloc.laboratory.sharing.figures_text import figure_blocks
from binalloc.printable import count
from binalloc.report.table import table

if TYPE_CHECKING:
    from binalloc.report.shapes.parts.sharing.paired import SharedKernelJson, SharingReproductionJson

_STEPS = ("noopt", "owf", "reorder", "postdom", "opt", "kept", "auto")
_LEGEND = """\
A cell has the emulated gain over unshared blocks under lrr. noopt: a tenth of a block's bytes is private, under lrr;
owf: under owner warp first; reorder: with variables moved; postdom: with releases at a post-dominator; opt: as early as
they may be, with blocks of their own on critical edges, as in the paper; kept: with these edges kept; auto: the fastest
number of pairs, each with the most private bytes, or none. never wait: as many blocks, as if shared memory was larger.
paper: Table XIII. instructions: thread instructions added by opt, and in Table VI. No GPU does this.
"""


def render_sharing_reproduction(found: SharingReproductionJson) -> str:
    """Return the experiments as text for a terminal. The first line is the answer."""
    return "\n".join(_blocks(found))


def _blocks(found: SharingReproductionJson) -> Iterator[str]:
    yield "\n".join(_answers(found)) + "\n"
    kernels = [k for k in found["kernels"] if k["shared"]]
    if kernels:
        head = ["kernel", "set", "blocks", "with pairs", "lrr ipc", "oldest", *_STEPS]
        head += ["never wait", "pairs of auto", "paper"]
        yield table(head, [_row(k) for k in kernels], left=1)
        yield table(["kernel", "before", "with", "behind", "instructions", "paper's", "waits"],
                    [_lives(k) for k in kernels], left=1)  # fmt: skip
    others = [k for k in found["kernels"] if not k["shared"]]
    if others:
        yield table(["kernel", "set", "blocks", "lrr", "gto", "two_level", "oldest", "why nothing is shared"],
                    [_unshared(k) for k in others], left=1)  # fmt: skip
    if found["kernels"]:
        yield _LEGEND
    yield from figure_blocks(found["figures"], found["sayings"])


def _answers(found: SharingReproductionJson) -> Iterator[str]:
    for mean in found["means"]:
        if mean["step"] in ("opt", "auto"):
            paper = "" if mean["paper"] is None else f" (paper {mean['paper']:+.2f} %)"
            without = "" if mean["without"] is None else f" without {mean['without']}"
            yield (
                f"{mean['step']} over {mean['over']}, {count(mean['kernels'], 'kernel')}{without}: "
                f"{mean['gain']:+.2f} % instructions per cycle{paper}"
            )
    slower = slower_choices(found["kernels"])
    if slower:
        yield f"auto is more than 1 % slower than another step: {', '.join(slower)}"
    for machine, worse in worse_with_sharing([*found["kernels"], *found["varied"]]).items():
        yield f"opt is slower than unshared blocks on {machine}: {', '.join(worse)}"
    holds = sum(len(one["holds"]) for one in found["sayings"])
    fails = sum(len(one["fails"]) for one in found["sayings"])
    if holds or fails:
        yield f"what the paper says of its figures in words holds in {holds} of {holds + fails} cases, see below"
    if not found["means"]:
        yield "no kernel of Sets 1 and 2 was run on the machine of Table II"


def _row(kernel: SharedKernelJson) -> list[object]:
    lrr, shared, free = kernel["unshared"]["lrr"], kernel["shared"], kernel["free"]
    paper = kernel["paper_ipc"]

    def gain(cycles: int) -> str:
        return f"{lrr['cycles'] / cycles:.3f}"

    auto = shared.get("auto")
    return [
        kernel["kernel"], kernel["set"] or "", kernel["blocks"], kernel["shared_blocks"], f"{lrr['ipc']:.1f}",
        gain(kernel["unshared"]["oldest"]["cycles"]),
        *(gain(shared[step]["cycles"]) if step in shared else "-" for step in _STEPS),
        "-" if free is None else gain(free["cycles"]), "-" if auto is None else auto["sharing"],
        "-" if paper is None else f"{paper[3] / paper[0]:.3f}",
    ]  # fmt: skip


def _lives(kernel: SharedKernelJson) -> list[object]:
    step = kernel["shared"].get("opt") or next(iter(kernel["shared"].values()))
    whole, paper = sum(step["lives"]), kernel["paper_instructions"]
    added = step["instructions"] - kernel["unshared"]["lrr"]["instructions"]
    waits = ", ".join(f"{name} {slots:,}" for name, slots in step["stalls"].items())
    return [
        kernel["kernel"], *(f"{part / whole:.0%}" if whole else "-" for part in step["lives"]), f"{added:,}",
        "-" if paper is None else f"{paper[2]:,}", waits,
    ]  # fmt: skip


def _unshared(kernel: SharedKernelJson) -> list[object]:
    runs = [kernel["unshared"].get(name) for name in ("lrr", "gto", "two_level", "oldest")]
    return [kernel["kernel"], kernel["set"] or "", kernel["blocks"] or "-",
            *("-" if run is None else f"{run['cycles']:,}" for run in runs), kernel["reason"]]  # fmt: skip
