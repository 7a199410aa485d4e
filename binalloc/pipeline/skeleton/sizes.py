"""This module chooses grid, block and values of scalars so that they agree with one another."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from binalloc.bitset import bits
from binalloc.isa.instruction import FunctionInfo
from binalloc.isa.interface.places import LANES
from binalloc.pipeline.block import Three
from binalloc.pipeline.skeleton.parameters.facts import KernelFacts, ParameterPiece

_THREADS = 128
"""Threads of a block with one axis if nothing says how many: a usual number, a few warps. Chosen by hand."""
_OTHER = 8
"""The most threads along an axis without a known side, if the side of another axis is known. Chosen by hand."""
_MOST = 1024
"""The most threads of a block on NVIDIA's GPUs."""
_FEWEST = 16
"""Threads of the smallest block that is tried, half a warp. Chosen by hand."""
_BLOCKS = (4, 2, 2)
"""Blocks along each axis that the code uses: several, so that blocks differ, but few, so that a run is short."""
_AXES = "xyz"
_NO_AXES = 3
"""Number of axes. In sets of axes, as bits, the axes of threads come first, then the axes of blocks."""


@dataclass(frozen=True)
class Sizes:
    """These are the sizes of a launch that is tried."""

    grid: Three
    block: Three
    rounds: int = 16  #: value of a scalar that bounds a loop: several rounds, but few, so that a run is short
    row: int = 32  #: value of a scalar that is the length of a row, if no axis gives a length: a warp's lanes

    @property
    def threads(self) -> int:
        """Return the threads of the grid."""
        return prod(self.grid) * prod(self.block)

    def along(self, axis: int) -> int:
        """Return the threads of the grid along an axis."""
        return self.grid[axis] * self.block[axis]


def axes_of(mask: int) -> list[int]:
    """Return the axes, 0 to 2, in a set of axes of threads and of blocks."""
    return sorted({axis % _NO_AXES for axis in bits(mask)})


def named(mask: int) -> str:
    """Return the names of the axes in a set."""
    return ", ".join(_AXES[axis] for axis in axes_of(mask))


def block_of(
    facts: KernelFacts, info: FunctionInfo, given: Three | None, assumed: Three = (0, 0, 0)
) -> tuple[Three, str]:
    """Return a block size, and the reason for it in words.

    given: the user's block size; None to choose one. assumed: sides that the code assumes (`blocks.block_sides`), 0 for
    unknown sides.
    """
    if given is not None:
        return given, "as asked for"
    if any(info.block):
        x, y, z = (side or 1 for side in info.block)
        return (x, y, z), "the binary requires it (.reqntid)"
    used = [axis for axis in bits(facts.axes) if axis < _NO_AXES]
    # along y a thread may have several elements, and the block fewer threads
    for sides in (assumed, (assumed[0], 0, 0)):
        x, y, z = _completed(sides, used, info.max_threads)
        if any(sides) and LANES <= x * y * z <= _MOST and info.max_threads in (0, x * y * z):
            said = ", ".join(f"blockIdx.{_AXES[a]} * {n} + threadIdx.{_AXES[a]}" for a, n in enumerate(sides) if n)
            return (x, y, z), f"the code computes {said}"
    most = info.max_threads or _THREADS * (2 if len(used) > 1 else 1)
    why = f"launch bound of {info.max_threads} threads (.maxntid)" if info.max_threads else "a guess"
    asked = f"; the code asks for the thread's {', '.join(_AXES[a] for a in used)}" if used else ""
    return shaped(most, used), why + asked


def _completed(assumed: Three, used: list[int], bound: int) -> Three:
    """Return the known sides, with a guess along the first other axis that the code uses.

    The guess is the rest of the launch bound, or of a usual block. assumed: known sides, 0 for unknown ones. bound: the
    most threads of a block, 0 for no bound.
    """
    sides = [n or 1 for n in assumed]
    others = [axis for axis in used if not assumed[axis]]
    if others:
        sides[others[0]] = max(1, bound // prod(sides) if bound else min(_OTHER, 2 * _THREADS // prod(sides)))
    return sides[0], sides[1], sides[2]


def shaped(threads: int, used: list[int]) -> Three:
    """Return a block of `threads` threads, or a few less, over the axes that are used.

    x is the longest side; sides are powers of two if there is more than one.
    """
    axes = [axis for axis in used if axis] or [0]
    if axes == [0]:
        return threads, 1, 1
    sides = [1, 1, 1]
    k = 0
    order = [0, *axes]
    while 2 * prod(sides) <= threads:
        sides[order[k % len(order)]] *= 2
        k += 1
    return sides[0], sides[1], sides[2]


def others(block: Three) -> list[Three]:
    """Return block sizes to try if shared memory is too small for this one.

    They are wider and taller ones with as many threads, then smaller ones.
    """
    x, y, z = block
    found = [(x * 2**k, y // 2**k, z) for k in (1, 2) if y % 2**k == 0 and y > 2**k]
    if y > 1:
        found += [(x // 2**k, y * 2**k, z) for k in (1, 2) if x % 2**k == 0 and x > 2**k]
    while x * y * z > _FEWEST:
        x, y, z = (x, y, z // 2) if z > 1 else (x, y // 2, z) if y >= x else (x // 2, y, z)
        found.append((x, y, z))
    return found


def grid_of(facts: KernelFacts, together: int = 0) -> tuple[Three, str]:
    """Return a grid, and the reason for it in words. together: the most blocks that it may have, 0 for no limit."""
    used = [axis - _NO_AXES for axis in bits(facts.axes) if axis >= _NO_AXES]
    if not used:
        return (1, 1, 1), "the code asks for no block's number"
    x, y, z = (n if axis in used else 1 for axis, n in enumerate(_BLOCKS))
    why = f"a few blocks along {', '.join(_AXES[a] for a in used)}, which the code asks for"
    while together and x * y * z > together and x * y * z > 1:
        x, y, z = (x, y, z // 2) if z > 1 else (x, y // 2, z) if y > 1 else (x // 2, y, z)
    return (x, y, z), why + ("; so many run at once on one SM" if together else "")


def number_for(piece: ParameterPiece, sizes: Sizes) -> tuple[int, str]:
    """Return a value for an integer by its use in the code, and the reason for it in words."""
    bounds, rows = axes_of(piece.axes), axes_of(piece.rows)
    if bounds:
        if len(bounds) > 1 and not rows and not piece.counted:
            return prod(sizes.along(a) for a in bounds), f"compared with an index over {named(piece.axes)}"
        value = min(sizes.along(a) for a in bounds)
        return value, f"compared with the thread's place along {named(piece.axes)}: threads of the grid there"
    if any(rows):
        return sizes.along(0), f"multiplied by an index along {named(piece.rows)}: a row of the grid's threads"
    if rows:
        return sizes.row if not piece.counted else sizes.rounds, "multiplied by an index along x: length of a row"
    if piece.counted:
        return sizes.rounds, "compared with what is no thread's place: rounds of a loop"
    if piece.stepped:
        return sizes.along(0), "multiplied: as far apart as the grid is wide"
    return 1, "no value is known"
