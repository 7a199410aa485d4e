"""These are the shapes of `inspect`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.says import says


class ElfSection(TypedDict):
    """A section of the file."""

    name: Annotated[str, says("an ELF section")]
    type: Annotated[str, says("its type")]
    address: Annotated[int, says("its address")]
    offset: Annotated[int, says("its offset in the file")]
    bytes: Annotated[int, says("its size")]


class ParameterJson(TypedDict):
    """A parameter of a kernel."""

    name: Annotated[str, says("a parameter")]
    offset: Annotated[int, says("its offset in constant bank 0")]
    bytes: Annotated[int, says("its size")]


class SharedVariable(TypedDict):
    """A shared variable."""

    name: Annotated[str, says("a shared variable")]
    offset: Annotated[int, says("its offset")]
    bytes: Annotated[int, says("its size")]
    align: Annotated[int, says("its alignment")]


class OwnOccupancy(TypedDict):
    """How many blocks of a kernel an SM holds."""

    machine: Annotated[str, says("machine of the next two; left out where the binary gives no block size")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM, without dynamic shared memory")]
    occupancy: Annotated[float, says("resident warps over the most an SM holds")]


class FunctionRecord(TypedDict):
    """A function's record in the binary."""

    function: Annotated[str, says("a function")]
    kind: Annotated[str, says("`kernel` or `function`")]
    address: Annotated[int, says("its first word in code space")]
    instructions: Annotated[int, says("its words")]
    registers: Annotated[int, says("registers per thread")]
    local_frame: Annotated[int, says("its own frame")]
    local_bytes: Annotated[int, says("local memory per thread, spill area not included")]
    spill_local: Annotated[int, says("spill area per thread")]
    shared_bytes: Annotated[int, says("static shared memory")]
    slots: Annotated[int, says("slots per thread")]
    slot_pointer: Annotated[str | None, says("register that holds the slot pointer")]
    local_stack: Annotated[str | None, says("register that holds the local stack pointer")]
    block: Annotated[list[int] | None, says("required block size, three numbers")]
    max_threads: Annotated[int | None, says("launch bound")]
    machine: Annotated[str | None, says("machine it was scheduled for")]
    params: Annotated[list[ParameterJson], says("parameters of a kernel")]
    shared: Annotated[list[SharedVariable], says("shared variables")]
    occupancy: NotRequired[
        Annotated[
            OwnOccupancy,
            says("how many blocks an SM holds; left out where the binary gives no block size"),
        ]
    ]


class GlobalVariable(TypedDict):
    """A global variable."""

    name: Annotated[str, says("a global variable")]
    address: Annotated[int, says("its address")]
    bytes: Annotated[int, says("its size")]
    align: Annotated[int, says("its alignment")]
    initialised: Annotated[int, says("bytes of it that the file gives")]


class ConstantVariable(TypedDict):
    """A variable in a constant bank."""

    name: Annotated[str, says("a constant variable")]
    bank: Annotated[int, says("its bank")]
    offset: Annotated[int, says("its offset in the bank")]
    bytes: Annotated[int, says("its size")]


class ConstantBank(TypedDict):
    """A constant bank of the file."""

    bank: Annotated[int, says("a constant bank of the file")]
    bytes: Annotated[int, says("its size")]


class SectionsView(TypedDict):
    """The view of `--sections`."""

    bytes: Annotated[int, says("size of the file")]
    isa_version: Annotated[int, says("version of the ISA")]
    sections: Annotated[list[ElfSection], says("ELF sections")]
    functions: Annotated[list[FunctionRecord], says("functions")]
    globals: Annotated[list[GlobalVariable], says("global variables")]
    constant_variables: Annotated[list[ConstantVariable], says("constant variables")]
    constants: Annotated[list[ConstantBank], says("constant banks of the file")]
    provenance: Annotated[
        list[dict[str, Any]], says("what was done to the binary, oldest first; keys as the tool that did it wrote them")
    ]


class CallSiteJson(TypedDict):
    """A call."""

    index: Annotated[int, says("a call")]
    callee: Annotated[str, says("whom it calls")]


class CallingFunction(TypedDict):
    """A function and whom it calls."""

    function: Annotated[str, says("a function in it")]
    sites: Annotated[list[CallSiteJson], says("calls of the function")]


class IndirectCall(TypedDict):
    """A call by address."""

    function: Annotated[str, says("a function that calls indirectly")]
    index: Annotated[int, says("where")]


class CallGraphJson(TypedDict):
    """The call graph of a kernel."""

    kernel: Annotated[str, says("root of the call graph")]
    functions: Annotated[list[CallingFunction], says("functions in it")]
    bottom_up: Annotated[list[str], says("names, callees first")]
    cycles: Annotated[list[list[str]], says("lists of names that call each other")]
    indirect: Annotated[list[IndirectCall], says("indirect calls")]


class BasicBlockJson(TypedDict):
    """A basic block."""

    block: Annotated[int, says("number of a basic block")]
    start: Annotated[int, says("first instruction")]
    end: Annotated[int, says("behind the last")]
    succs: Annotated[list[int], says("numbers of successors")]
    preds: Annotated[list[int], says("numbers of predecessors")]
    reachable: Annotated[bool, says("from the entry")]
    idom: Annotated[int | None, says("immediate dominator")]
    ipdom: Annotated[int | str | None, says('immediate post-dominator, `"exit"` for the end')]
    depth: Annotated[int, says("loops around it")]
    weight: Annotated[float, says("weight of its instructions in costs")]


class BranchJson(TypedDict):
    """A branch that may diverge."""

    branch: Annotated[int, says("a branch that may diverge")]
    block: Annotated[int, says("where its lanes meet")]


class LoopJson(TypedDict):
    """A loop."""

    loop: Annotated[int, says("number of a loop, outer ones first")]
    entries: Annotated[list[int], says("its header, or the entries of an irreducible region")]
    blocks: Annotated[list[int], says("its blocks")]
    depth: Annotated[int, says("loops around it")]
    parent: Annotated[int | None, says("the loop around it")]
    irreducible: Annotated[bool, says("whether it has several entries")]


class BlocksJson(TypedDict):
    """The basic blocks of a function."""

    function: Annotated[str, says("a function")]
    instructions: Annotated[int, says("its words")]
    blocks: Annotated[list[BasicBlockJson], says("basic blocks")]
    rpo: Annotated[list[int], says("reachable blocks in reverse postorder")]
    unreachable: Annotated[list[int], says("the others")]
    exits: Annotated[list[int], says("blocks that end the function")]
    calls: Annotated[list[int], says("indexes of calls")]
    reconvergence: Annotated[list[BranchJson], says("branches that may diverge")]


class ControlFlow(BlocksJson):
    """The control flow of a function."""

    loops: Annotated[list[LoopJson], says("loops")]


class CfgView(TypedDict):
    """The view of `--cfg`."""

    callgraph: Annotated[CallGraphJson, says("the call graph")]
    functions: Annotated[list[ControlFlow], says("control flow of each function")]
    text: Annotated[str, says("the view as text")]


class UninitialisedRead(TypedDict):
    """A read that no definition precedes on some path."""

    index: Annotated[int, says("a read that no definition reaches on some path")]
    place: Annotated[str, says("what it reads")]


class FunctionSummary(TypedDict):
    """What a function takes from its callers and leaves them."""

    function: Annotated[str, says("the same name")]
    args: Annotated[list[str], says("places live into it")]
    results: Annotated[list[str], says("places its callers read")]
    reads: Annotated[list[str], says("places it may read")]
    may_def: Annotated[list[str], says("places it may overwrite")]
    must_def: Annotated[list[str], says("places it overwrites on every path")]
    returns: Annotated[bool, says("whether it ever returns")]
    uninitialised: Annotated[list[UninitialisedRead], says("reads that no definition precedes on some path")]


class WebJson(TypedDict):
    """A live range."""

    web: Annotated[int, says("number of a life range")]
    place: Annotated[str, says("its register, predicate or local word")]
    defs: Annotated[list[list[int | str]], says("definitions as [instruction, operand or name, unit]")]
    uses: Annotated[list[list[int | str]], says("uses, likewise")]
    first: Annotated[int, says("first instruction of its span, -1 for the entry")]
    last: Annotated[int, says("last one")]
    cost: Annotated[float, says("accesses weighted by loops")]
    group: Annotated[int | None, says("its aligned group")]
    offset: Annotated[int | None, says("its place in the group")]
    remat: Annotated[int | None, says("the instruction that can make it again")]
    flags: Annotated[list[str], says("of `arg`, `result`, `undefined`, `pinned`")]


class AlignedGroup(TypedDict):
    """A group of live ranges that need neighbouring registers."""

    group: Annotated[int, says("number of an aligned group")]
    alignment: Annotated[int, says("in registers")]
    members: Annotated[list[list[int]], says("[web, offset] of each member")]


class WebTable(TypedDict):
    """The live ranges of a function."""

    function: Annotated[str, says("a function")]
    webs: Annotated[list[WebJson], says("live ranges")]
    groups: Annotated[list[AlignedGroup], says("aligned groups of registers")]


class FunctionWebs(WebTable):
    """The live ranges of a function, and what its callers see of it."""

    summary: Annotated[FunctionSummary, says("what the function takes from its callers and leaves them")]


class WebsView(TypedDict):
    """The view of `--webs`."""

    functions: Annotated[list[FunctionWebs], says("live ranges of each function")]
    not_lifted: Annotated[list[str], says("why words of local memory stay in memory")]
    text: Annotated[str, says("the view as text")]


class LiveValue(TypedDict):
    """A live range and its column in the text."""

    web: Annotated[int, says("number of a life range, as in `webs`")]
    place: Annotated[str, says("its register, predicate or local word")]
    column: Annotated[int, says("the column of the text that it has a mark in")]


class LiveRowJson(TypedDict):
    """An instruction and what lives there."""

    index: Annotated[int, says("an instruction, -1 for the entry")]
    block: Annotated[int, says("its basic block")]
    file: Annotated[str | None, says("source file it comes from")]
    line: Annotated[int | None, says("source line it comes from")]
    registers: Annotated[int, says("registers taken there")]
    predicates: Annotated[int, says("predicates taken there")]
    local_words: Annotated[int, says("local words taken there")]
    used: Annotated[list[int], says("life ranges it reads")]
    defined: Annotated[list[int], says("life ranges it writes")]
    merged: Annotated[list[int], says("those it writes in part: what they were where it does not is still wanted")]
    live: Annotated[list[int], says("those that live there without being accessed")]


class FunctionLife(TypedDict):
    """What lives where in a function."""

    function: Annotated[str, says("a function")]
    values: Annotated[list[LiveValue], says("live ranges")]
    rows: Annotated[list[LiveRowJson], says("instructions")]


class LiveView(TypedDict):
    """The view of `--live`."""

    functions: Annotated[list[FunctionLife], says("what lives where in each function")]
    text: Annotated[str, says("the view as text")]


class PressureView(PressureJson):
    """The view of `--pressure`."""

    text: Annotated[str, says("the view as text")]


class StackDepths(TypedDict):
    """How deep the stack of slots gets, by layout."""

    traditional: Annotated[int, says("slots deep, frames one on the other")]
    register_stack: Annotated[int, says("slots deep, dead ends of frames overlapped")]
    moving_stack: Annotated[int, says("slots deep, live slots moved together at calls")]


class StackCallJson(TypedDict):
    """A call in a layout."""

    caller: Annotated[str, says("a call's caller")]
    callee: Annotated[str, says("its callee")]
    live: Annotated[list[int], says("the caller's slots that live through it")]
    shift: Annotated[int, says("slots by which the pointer moves")]
    moves: Annotated[list[list[int]], says("[from, to] of each slot moved")]


class StackLayoutJson(TypedDict):
    """A layout of the stack of slots."""

    name: Annotated[str, says("one of the three")]
    depth: Annotated[int, says("slots deep")]
    start: Annotated[dict[str, int], says("first slot of each function's frame, from 0")]
    calls: Annotated[list[StackCallJson], says("calls")]


class SlotCall(TypedDict):
    """A call around which the slot pointer moves."""

    index: Annotated[int, says("a call")]
    callee: Annotated[str, says("whom it calls")]
    slots: Annotated[int, says("how far the pointer moves around it")]


class SlotFunction(TypedDict):
    """A function that touches slots."""

    function: Annotated[str, says("a function")]
    rows: Annotated[list[int], says("slots it touches, from its own pointer")]
    calls: Annotated[list[SlotCall], says("calls around which the pointer moves")]


class SlotsJson(TypedDict):
    """The slots of a rewritten binary."""

    bytes_per_warp: Annotated[int, says("slots of a rewritten binary; null in others")]
    slots: Annotated[int, says("slots per thread")]
    pointer: Annotated[str | None, says("register of the slot pointer")]
    functions: Annotated[list[SlotFunction], says("functions that touch slots")]


class SpillFunction(TypedDict):
    """A function that touches the spill area."""

    function: Annotated[str, says("a function")]
    offsets: Annotated[list[int], says("words of it that the function touches")]


class SpillArea(TypedDict):
    """The spill area of a rewritten binary."""

    start: Annotated[int, says("offset of the spill area of a rewritten binary; null in others")]
    bytes: Annotated[int, says("its size per thread")]
    functions: Annotated[list[SpillFunction], says("functions that touch it")]


class StackFacts(TypedDict):
    """The stack of slots of a kernel."""

    depths: Annotated[StackDepths, says("slots deep, by layout")]
    frames: Annotated[dict[str, list[str]], says("words of local memory by function")]
    layouts: Annotated[list[StackLayoutJson], says("the three layouts")]
    not_lifted: Annotated[list[str], says("why words of local memory have no slot")]
    slots: Annotated[SlotsJson | None, says("slots of a rewritten binary; null in others")]
    spill_area: Annotated[SpillArea | None, says("spill area of a rewritten binary; null in others")]


class StackView(StackFacts):
    """The view of `--stack`."""

    text: Annotated[str, says("the view as text")]


class MinimumView(TypedDict):
    """The view of `--minimum`."""

    registers: Annotated[int, says("fewest registers a rewrite can do with")]
    reserved: Annotated[int, says("what the binary reserves")]
    text: Annotated[str, says("the view as text")]


class InspectionJson(TypedDict):
    """The fields of what `inspect` prints."""

    file: Annotated[str, says("path of the binary")]
    kernel: NotRequired[Annotated[str, says("the kernel the views are about; left out with `--sections` alone")]]
    sections: NotRequired[Annotated[SectionsView, says("file, functions and variables, with `--sections`")]]
    cfg: NotRequired[Annotated[CfgView, says("control flow, with `--cfg`")]]
    webs: NotRequired[Annotated[WebsView, says("live ranges, with `--webs`")]]
    live: NotRequired[Annotated[LiveView, says("what lives where, with `--live`")]]
    pressure: NotRequired[Annotated[PressureView, says("a [pressure](#pressure)")]]
    stack: NotRequired[Annotated[StackView, says("the stack of slots, with `--stack`")]]
    minimum: NotRequired[Annotated[MinimumView, says("the fewest registers, with `--minimum`")]]


class InspectJson(Versioned, InspectionJson, OnMachine):
    """What `inspect` prints."""
