"""This module lowers one PTX function to one routine: labels become blocks, statements are lowered in order.

It needs the module's layout. The routine keeps the invariants in `ir`: its last word is an unguarded EXIT (kernel) or
RET.
"""

from __future__ import annotations

from binalloc.errors import Hint, MalformedInput
from binalloc.frontend.ir import Routine, RoutineBlock
from binalloc.frontend.lower.context import outside
from binalloc.frontend.lower.context.context import Context
from binalloc.frontend.lower.memory import parameters
from binalloc.frontend.lower.program.dispatch import lower_instruction
from binalloc.frontend.ptx import ast
from binalloc.isa.instruction import FunctionInfo
from binalloc.isa.source_facts import PTX

BLOCK_LIMIT = 1024  # most threads of a block, on every machine


class Locations:
    """`Locations` collects the rows of `Program.locations`, and gives each (file, line) its index."""

    def __init__(self, files: dict[int, str]) -> None:
        self.files = files
        self.list: list[tuple[str, int]] = []
        self._index: dict[tuple[int, int], int] = {}

    def index(self, loc: tuple[int, int] | None) -> int:
        """Return the number of a `.loc`, -1 where there is none or its file has no name."""
        if loc is None or loc[0] not in self.files:
            return -1
        found = self._index.get(loc)
        if found is None:
            found = self._index[loc] = len(self.list)
            self.list.append((self.files[loc[0]], loc[1]))
        return found


def lower_routine(ctx: Context, name: str, locations: Locations) -> Routine:
    """Lower the body of ctx.function into a routine called `name`.

    An instruction that cannot be lowered exactly is added to ctx.refused. Lowering then continues to find the others,
    but the routine must not be used. Raises MalformedInput where nothing of the function can be lowered.
    """
    function = ctx.function
    body = function.body or []
    for statement in body:
        if isinstance(statement, ast.Label):
            ctx.labels[statement.name] = ctx.b.label()
    if function.is_entry:
        ctx.ends = _ends(body)
    ctx.refused += outside.refusals(ctx)
    arguments, results = parameters.enter(ctx)
    clearing = parameters.beginnings(ctx)
    loc: tuple[int, int] | None = None
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Label):
            ctx.b.start(ctx.labels[statement.name], statement.name)
            continue
        if statement.loc is not loc:
            loc = statement.loc
            ctx.b.loc = locations.index(loc)
        for variable in clearing.get(index, ()):
            parameters.clear(ctx, variable)
        try:
            lower_instruction(ctx, statement)
        except MalformedInput as error:
            ctx.refused.append(error)
    info = FunctionInfo(kind="kernel" if function.is_entry else "function", memory_model=PTX)
    info.local_frame = ctx.layout.frames[function.name][1]
    if function.is_entry:
        _kernel_info(ctx, info)
    blocks = _tidy(ctx.b.blocks)
    _close(ctx, blocks, "EXIT" if function.is_entry else "RET")
    cycle = tuple(ctx.names[member] for member in ctx.layout.components.get(function.name, ()))
    return Routine(
        name,
        ctx.registers,
        blocks,
        info,
        [ctx.frame, *arguments] if cycle else arguments,
        results,
        list(ctx.kernel.shared) if function.is_entry else [],
        function.min_blocks,
        f"line {function.place.line}, column {function.place.column}",
        function.path,
        cycle,
        ctx.frame,
    )


def _ends(body: list[ast.Instruction | ast.Label]) -> set[str]:
    """Return the labels of a kernel behind which the thread only ends, perhaps after further jumps."""
    out: set[str] = set()
    jumps: list[tuple[str, str]] = []
    pending: list[str] = []
    for statement in body:
        if isinstance(statement, ast.Label):
            pending.append(statement.name)
        elif pending:
            if statement.guard is None and statement.op in ("ret", "exit"):
                out.update(pending)
            elif statement.guard is None and statement.op == "bra" and isinstance(statement.operands[0], ast.Symbol):
                jumps += [(label, statement.operands[0].name) for label in pending]
            pending.clear()
    out.update(pending)
    for label, target in reversed(jumps):
        if target in out:
            out.add(label)
    return out


def _tidy(blocks: list[RoutineBlock]) -> list[RoutineBlock]:
    """Leave out empty blocks. Branches to one go to the next block that is kept."""
    targets = {node.target for block in blocks for node in block.nodes[-1:] if node.target >= 0}
    kept: list[RoutineBlock] = []
    moved: dict[int, int] = {}
    waiting: list[int] = []
    for block in blocks:
        if block.nodes or block is blocks[-1]:
            moved.update(dict.fromkeys(waiting, block.number))
            waiting.clear()
            kept.append(block)
        elif block.number in targets:
            waiting.append(block.number)
    for block in kept if moved else ():
        for node in block.nodes[-1:]:
            node.target = moved.get(node.target, node.target)
    return kept


def _close(ctx: Context, blocks: list[RoutineBlock], name: str) -> None:
    """Make an unguarded `name` the last word."""
    last = blocks[-1]
    if last.nodes and not last.nodes[-1].falls_through and last.nodes[-1].instr.name != name:
        ctx.b.start(ctx.b.label())
        blocks.append(ctx.b.block)
        last = ctx.b.block
    if not last.nodes and len(blocks) > 1 and not _targeted(blocks, last.number):
        previous = blocks[-2].nodes[-1]
        if not previous.falls_through and previous.instr.name == name:
            blocks.pop()
            return
    if not last.nodes or last.nodes[-1].falls_through:
        ctx.b.block = last
        ctx.b.emit(name)


def _targeted(blocks: list[RoutineBlock], number: int) -> bool:
    return any(node.target == number for block in blocks for node in block.nodes[-1:])


def _kernel_info(ctx: Context, info: FunctionInfo) -> None:
    """Set launch bounds, parameters and memory of a kernel. Raises MalformedInput for bounds that contradict one
    another."""
    function, kernel = ctx.function, ctx.kernel
    info.params = kernel.params
    info.shared_bytes = kernel.shared_bytes
    info.local_bytes = kernel.local_bytes
    info.block = ctx.block or (0, 0, 0)
    info.max_threads = function.max_threads
    info.target, info.max_registers, info.min_blocks = function.target, function.max_registers, function.min_blocks
    info.smem_spilling = function.smem_spilling
    threads = info.block[0] * info.block[1] * info.block[2]
    if function.max_threads > BLOCK_LIMIT or threads > BLOCK_LIMIT:
        raise _bounds(
            ctx, f"{function.name} wants {max(function.max_threads, threads)} threads", f"at most {BLOCK_LIMIT}"
        )
    if function.max_threads and threads > function.max_threads:
        raise _bounds(
            ctx,
            f"{function.name} has contradictory bounds: a block of {threads}",
            f"at most {function.max_threads}, as .maxntid says",
        )


def _bounds(ctx: Context, message: str, expected: str) -> MalformedInput:
    place = ctx.function.place
    return MalformedInput(
        message,
        file=ctx.function.path or None,
        place=f"line {place.line}, column {place.column}",
        found=f".entry {ctx.function.name}",
        expected=expected,
        remedy=Hint("Make .maxntid, .reqntid and {block_dim} agree."),
    )
