"""This task measures one point of the multiplex paper's Figures 12 and 13, in which the work of a launch grows.

A point is a kernel with so many rows of a matrix, or transforms, on a card: the original beside `vtb-pipe`, the scheme
of these figures. One SM is run with its share of the blocks, since the paper's GPU spreads them over all of its SMs.
Needs a sample with its launch; leaves figures as `task` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from binalloc.emulator.runs.options import RunOptions
from binalloc.isa.sets.files import read_module
from binalloc.laboratory.multiplex.paper import CURVES, MV_CURVE
from binalloc.launch.types import Launch
from binalloc.pipeline.multiplex.build import PIPE, Wanted
from binalloc.pipeline.multiplex.multiplexing import multiplex_kernel
from binalloc.pipeline.request import Request
from binalloc.pipeline.sweeping.cache import Outcome
from binalloc.pipeline.sweeping.configuration import Subject
from binalloc.pipeline.sweeping.keys import key_of

_COLUMNS = 1024  # of MV's matrix, as in the paper
_POINTS = 1024  # of one transform


@dataclass(frozen=True)
class CurvePoint:
    """This task builds and runs a pipe of a subject, whose launch is one SM's share."""

    subject: Subject
    extent: int  #: rows or transforms of the whole launch
    options: RunOptions = field(default_factory=RunOptions)  #: how it is run, on the subject's machine

    @cached_property
    def key(self) -> str:
        """Return a key that changes with the subject and the options."""
        return key_of(["curve", self.subject.binary_key, self.subject.launch_key, self.options.figures()])

    @property
    def name(self) -> str:
        """Return a name for people."""
        return f"{self.subject.kernel} of {self.extent:,} on {self.subject.machine.name}"

    @property
    def blocks(self) -> int:
        """Return the blocks that the SM runs."""
        return self.subject.launch.grid[0]

    def figures(self) -> Outcome:
        """Build, prove and run the pipe, with access regions as they are and shorter, and return the figures."""
        subject = self.subject
        module = read_module(subject.binary, subject.file)
        options = replace(self.options, machine=subject.machine)
        request = Request(subject.kernel, subject.machine, subject.launch, options=options)
        found = multiplex_kernel(module, request, [Wanted(PIPE, merge=2, shorter=short) for short in (False, True)])
        best, original = found.best, found.original
        speedup = None if best is None else found.speedup(best)
        return {
            "original_cycles": original.cycles,
            "original_blocks": original.blocks_per_sm,
            "speedup": None if speedup is None else round(speedup, 4),
            "blocks": None if best is None or best.version is None else best.version.blocks_per_sm * 2,
            "shorter_regions": None if best is None else best.wanted.shorter,
        }


def curve_point(subject: Subject, extent: int, options: RunOptions) -> CurvePoint:
    """Return the task for a sample as it came, at an extent of its curve."""
    (curve,) = (one for one in CURVES if one.kernel == subject.kernel)
    share = -(-extent // curve.per_block // subject.machine.chip.sms)
    return CurvePoint(replace(subject, launch=_LAUNCHES[subject.kernel](subject.launch, share)), extent, options)


def _rows(launch: Launch, blocks: int) -> Launch:
    """Return MV's launch with so many blocks."""
    rows = blocks * MV_CURVE.per_block
    shapes = {"a": (rows, _COLUMNS), "x": (_COLUMNS,), "y": (rows,)}
    return _with(launch, blocks, shapes, {"rows": rows, "columns": _COLUMNS, "pitch": _COLUMNS})


def _transforms(launch: Launch, blocks: int) -> Launch:
    """Return FFT's launch with so many blocks."""
    shape = (blocks, _POINTS, 2)
    return _with(launch, blocks, {"in": shape, "out": shape}, {"pitch_in": _POINTS, "pitch_out": _POINTS})


_LAUNCHES = {"MV": _rows, "FFT": _transforms}


def _with(launch: Launch, blocks: int, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, int]) -> Launch:
    arguments = [
        replace(a, shape=shapes[a.name]) if a.name in shapes else replace(a, value=values.get(a.name, a.value))
        for a in launch.arguments
    ]
    return replace(launch, grid=(blocks, 1, 1), arguments=tuple(arguments))
