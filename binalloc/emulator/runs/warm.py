"""This module compiles the emulator, or loads it from its cache, before it is needed."""

from __future__ import annotations

from binalloc.emulator.runs.run import run
from binalloc.emulator.state.layout import LANES
from binalloc.isa.instruction import Function, FunctionInfo, Module, make
from binalloc.launch.types import Launch
from binalloc.models.machines.reader import load_machine


def warm_up(engine: str = "numba", *, checking: bool = False) -> None:
    """Run a kernel of one EXIT. Afterwards the engine is compiled and on disk for other processes.

    checking: the build with the modes for uninitialised values and races.
    """
    module = Module([Function("warm", [make("EXIT")], FunctionInfo(registers=1))])
    module.layout()
    run(
        module,
        "warm",
        Launch("warm", (1, 1, 1), (LANES, 1, 1)),
        load_machine("gtx680"),
        engine=engine,
        hazards=False,
        check=checking,
    )
