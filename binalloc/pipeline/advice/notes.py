"""Notes say what to know of a recommendation, by weight: risks, to beware of, and facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from binalloc.pipeline.advice.caps import least_cap
from binalloc.pipeline.bound import DRAM, LINK
from binalloc.pipeline.multiplex.build import AS_THEY_RUN
from binalloc.printable import count

if TYPE_CHECKING:
    from binalloc.pipeline.bound import Bound
    from binalloc.pipeline.pipeline import Outcome
    from binalloc.pipeline.sharing.paired import Paired
    from binalloc.pipeline.steps.grid import Filling

FULL_WAVES = 8
"""Waves from which on no note is made of the last one: it takes at most an eighth of the time. Chosen by hand."""
FULL = 0.9
"""Share of the machine from which on the last wave counts as a whole one. Chosen by hand."""
HALF = 0.5
"""A last wave that fills less of the machine is a risk in a grid of fewer than `FULL_WAVES` / 2. Chosen by hand."""


@dataclass(frozen=True)
class Note:
    """A note is one thing to know of a recommendation."""

    weight: int  #: heavier notes come first; only the order of the weights counts
    beware: bool  #: whether it may make the advice wrong, or cost more than the advice gains
    text: str  #: a sentence without its end


def notes_of(outcome: Outcome, filled: Filling | None, bound: Bound | None) -> list[Note]:
    """Return the notes by weight; notes of equal weight keep the order in which they are found here.

    filled: how the grid fills the GPU with the recommended blocks. bound: of the original.
    """
    found = [*_of_grid(filled), *_of_choice(outcome), *_of_limits(outcome), *_of_runs(outcome)]
    found += [*_of_model(outcome, bound), *_of_few(outcome, filled)]
    return sorted(found, key=lambda note: -note.weight)


def _of_model(outcome: Outcome, bound: Bound | None) -> list[Note]:
    """Note what only a run shows, if none was made: sizes, addresses, and the contents of caches."""
    if bound is None or bound.measured:
        return []
    text = "nothing was run: sizes and addresses not known from code, and contents of caches, are the model's guesses"
    guessed = bound.kind in (DRAM, LINK)
    if guessed:
        text += f", so {bound.what} may bind less than it says"
    remedy = "a run of the launch shows them"
    if outcome.request.launch is None:
        remedy = "with a launch, as `binalloc launch-skeleton` writes it, the kernel runs and shows them"
    return [Note(85 if guessed else 45, guessed, f"{text}; {remedy}")]


def _of_grid(filled: Filling | None) -> list[Note]:
    """Note a grid that is smaller than a wave, or a last wave that leaves much of the machine idle."""
    if filled is None:
        return []
    waves, last = filled.waves, filled.waves % 1
    if filled.blocks < filled.sms:
        idle = count(filled.sms - filled.blocks, "SM")
        text = f"the grid is smaller than one wave ({waves:.2f}): it has {count(filled.blocks, 'block')}, {idle} of "
        return [Note(90, True, f"{text}{filled.sms} get none")]
    if waves < 1:
        text = f"the grid is smaller than one wave ({waves:.2f}): no SM gets more than {count(filled.share, 'block')}"
        return [Note(90, True, text)]
    if waves < FULL_WAVES and 0 < last < FULL:
        text = f"the last of {waves:.2f} waves fills {last:.0%} of the machine"
        risky = waves < FULL_WAVES / 2 and last < HALF
        return [Note(60 if risky else 35, risky, text)]
    return []


def _of_few(outcome: Outcome, filled: Filling | None) -> list[Note]:
    """Note that the emulated SM holds fewer blocks than fit, since an SM of the GPU gets no more of the grid."""
    if filled is None or outcome.original.cycles is None or filled.share >= outcome.original.blocks_per_sm:
        return []
    held = count(filled.share, "block")
    text = f"cycles are of one SM that goes through the grid with {held} resident, as an SM of the GPU has"
    return [Note(25, False, f"{text}; `binalloc run` takes as many as fit, and has other cycles")]


def _of_choice(outcome: Outcome) -> list[Note]:
    """Note more local memory, fewer or equally many blocks, and a register cap below the compiler's floor."""
    original, chosen, found = outcome.original, outcome.rewritten, []
    if outcome.kept_original or outcome.by_order_alone:
        return []
    if outcome.multiplexed:
        return _of_turns(outcome)
    if outcome.paired is not None:
        return _of_pairs(outcome.paired, outcome)
    more = chosen.local_bytes - original.local_bytes
    if more > 0:
        text = f"the number of blocks takes {count(more, 'byte')} more of local memory per thread: spills"
        found.append(Note(70, True, text))
    if chosen.blocks_per_sm < original.blocks_per_sm:
        held = "" if not chosen.idle_slots else ", held down by shared memory that nothing uses"
        found.append(Note(40, False, f"fewer blocks are resident than before{held}"))
    elif chosen.blocks_per_sm == original.blocks_per_sm:
        text = "no more blocks are resident than before: what is gained is gained by allocation alone"
        found.append(Note(30, False, text))
    floor = least_cap(outcome.request.machine)
    if chosen.registers < floor:
        text = f"ptxas takes no cap below {floor} registers: with {floor}, other figures than these may come out"
        found.append(Note(80, True, text))
    return found


def _of_turns(outcome: Outcome) -> list[Note]:
    """Note what a version asks for whose blocks use shared memory in turns."""
    assert outcome.turns is not None
    best, found = outcome.turns.best, list[Note]()
    if best is None:
        return found
    if best.wanted.scheme in AS_THEY_RUN:
        text = "no GPU has the instructions by which blocks get shared memory as they run: the gain is a what-if"
        found.append(Note(95, True, text))
    if best.wanted.merge is not None:
        text = f"a merged block does the work of {best.wanted.merge} of the grid, and its kernel has one more parameter"
        found.append(Note(65, False, f"{text}; binalloc runs it with the original's launch file"))
    found.append(Note(64, False, "it is proven for blocks of the launch's size alone, and requires them"))
    return found


def _of_pairs(paired: Paired, outcome: Outcome) -> list[Note]:
    """Note what a version asks for whose blocks share memory two by two."""
    found = [
        Note(95, True, "no GPU lets blocks share memory two by two: the gain is a what-if"),
        Note(64, False, "it is proven for blocks of the launch's size alone, and requires them"),
    ]
    own = outcome.request.options.scheduler
    if paired.scheduler != own:
        text = f"its cycles are under the warp scheduler {paired.scheduler}, the original's under {own}"
        found.append(Note(63, False, text))
    return found


def _of_limits(outcome: Outcome) -> list[Note]:
    """Note that something else than registers and shared memory limits the number of blocks."""
    others = [name for name in outcome.rewritten.limiters if name not in ("registers", "shared")]
    if not others:
        return []
    limits = " and ".join(others)
    text = f"what limits the recommended number of blocks is {limits}, not registers or shared memory"
    return [Note(20, False, text)]


def _of_runs(outcome: Outcome) -> list[Note]:
    """Note that cycles are estimated from parts of the grid; a risk if the error exceeds the gain."""
    original = outcome.original
    if outcome.error is None or original.sampled is None:
        return []
    parts = f"{original.sampled.blocks:,} of {original.sampled.grid:,} blocks"
    text = f"cycles are estimated from runs of {parts}; the speedup may be {outcome.error:.1%} off"
    risky = outcome.speedup is not None and abs(outcome.speedup - 1) < outcome.error and not outcome.kept_original
    return [Note(75 if risky else 50, risky, text)]
