"""This module has the table of kinds of control instructions with the function that executes each. The device function
that distinguishes the kinds is written from it. The table of opcodes has the kind of each opcode."""

from __future__ import annotations

from collections.abc import Sequence

from binalloc.emulator.execute.control import branch, call, call_indirect, converge, fence, finish, leave, release
from binalloc.emulator.execute.operation import Executor
from binalloc.emulator.execute.table import OPERATIONS
from binalloc.emulator.sm.barriers import allocate, barrier, free
from binalloc.emulator.state import layout as L
from binalloc.emulator.state.device import define
from binalloc.isa.kinds import Flow
from binalloc.isa.table.opcodes import BY_NAME, OpSpec

CONTROLS: dict[Flow, Executor] = {  # the most frequent first, as they are tested in this order
    Flow.BRANCH: branch,
    Flow.CALL: call,
    Flow.RETURN: leave,
    Flow.EXIT: finish,
    Flow.CALL_INDIRECT: call_indirect,
    Flow.BARRIER: barrier,
    Flow.WARPSYNC: converge,
    Flow.FENCE: fence,
    Flow.ALLOC: allocate,
    Flow.FREE: free,
    Flow.RELSSP: release,
}
_NUMBERS = {name: number for number, name in enumerate(CONTROLS, L.NO_CONTROL + 1)}
WARPSYNCS, BARRIERS = _NUMBERS[Flow.WARPSYNC], _NUMBERS[Flow.BARRIER]
ALLOCS, FREES = _NUMBERS[Flow.ALLOC], _NUMBERS[Flow.FREE]
"""Numbers of these kinds in column CONTROL."""
for _name, _row in OPERATIONS.items():
    assert _row.group != L.ExecGroup.CONTROL or BY_NAME[_name].control in CONTROLS, f"{_name} is no kind of control"


def control_number(op: OpSpec) -> int:
    """Return the value of column CONTROL for the opcode: the number of its kind, `layout.NO_CONTROL` if it has none."""
    return _NUMBERS[op.control] if op.control else L.NO_CONTROL


def control_text(kinds: Sequence[Flow]) -> str:
    """Return the text of the device function `exec_control`, which has a call for each kind."""
    lines = ["def exec_control(g, s, program, regs, w, pc, mask):", f"    kind = program[pc, {L.Column.CONTROL}]"]
    for kind in kinds:
        number = _NUMBERS[kind]
        lines.append(f"    {'if' if kind == kinds[0] else 'elif'} kind == {number}:  # {kind}")
        lines.append(f"        {CONTROLS[kind].__name__}(g, s, program, regs, w, pc, mask)")
    return "\n".join([*lines, ""])


exec_control: Executor
_CALLED = {row.__name__: row for row in CONTROLS.values()}
define(globals(), "exec_control", control_text(list(CONTROLS)), _CALLED, apart=True)
