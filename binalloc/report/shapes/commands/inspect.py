"""This module has the shapes of `inspect`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import OnMachine, Versioned
from binalloc.report.shapes.parts.pressure import PressureJson
from binalloc.report.shapes.parts.sharing.shared import SharedVariable, SharedView
from binalloc.report.shapes.parts.stack import StackView
from binalloc.report.shapes.says import says


class ElfSection(TypedDict):
    """This object describes a section of the file."""

    name: Annotated[str, says("name of the ELF section")]
    type: Annotated[str, says("type of the section")]
    address: Annotated[int, says("address of the section")]
    offset: Annotated[int, says("offset of the section in the file, in bytes")]
    bytes: Annotated[int, says("size of the section in bytes")]


class ParameterJson(TypedDict):
    """This object describes a parameter of a kernel."""

    name: Annotated[str, says("name of the parameter")]
    offset: Annotated[int, says("offset of the parameter in constant bank 0, in bytes")]
    bytes: Annotated[int, says("size of the parameter in bytes")]


class OwnOccupancy(TypedDict):
    """This object says how many blocks of a kernel an SM holds."""

    machine: Annotated[str, says("machine that the occupancy is for")]
    blocks_per_sm: Annotated[int, says("resident blocks per SM, without dynamic shared memory")]
    occupancy: Annotated[float, says("resident warps as a share of the most that an SM holds")]


class FunctionRecord(TypedDict):
    """This object is a function's record in the binary."""

    function: Annotated[str, says("name of the function")]
    kind: Annotated[str, says("`kernel` or `function`")]
    address: Annotated[int, says("address of the first instruction in code space, in instructions")]
    instructions: Annotated[int, says("instructions of the function")]
    registers: Annotated[int, says("registers per thread")]
    local_frame: Annotated[int, says("local memory per thread of the function's own frame, in bytes")]
    local_bytes: Annotated[int, says("local memory per thread in bytes, callees included, without the spill area")]
    spill_local: Annotated[int, says("spill area in local memory per thread, in bytes")]
    shared_bytes: Annotated[int, says("static shared memory per block, in bytes")]
    slots: Annotated[int, says("slots per thread")]
    slot_pointer: Annotated[str | None, says("register that holds the slot pointer; null where none does")]
    local_stack: Annotated[str | None, says("register that holds the pointer of the local stack; null where none does")]
    block: Annotated[
        list[int] | None, says("required threads per block in x, y and z; null where the binary requires no size")
    ]
    max_threads: Annotated[
        int | None, says("most threads per block that the binary allows; null where it sets no limit")
    ]
    machine: Annotated[
        str | None, says("name of the machine that the function is scheduled for; null where it is for none")
    ]
    params: Annotated[list[ParameterJson], says("parameters of the kernel")]
    shared: Annotated[list[SharedVariable], says("variables in shared memory")]
    occupancy: NotRequired[
        Annotated[
            OwnOccupancy,
            says("how many blocks an SM holds; left out where the block size is not known"),
        ]
    ]


class GlobalVariable(TypedDict):
    """This object describes a variable in global memory."""

    name: Annotated[str, says("name of the variable")]
    address: Annotated[int, says("address of the variable")]
    bytes: Annotated[int, says("size of the variable in bytes")]
    align: Annotated[int, says("alignment of the variable in bytes")]
    initialised: Annotated[int, says("bytes of the variable that the file initialises")]


class ConstantVariable(TypedDict):
    """This object describes a variable in a constant bank."""

    name: Annotated[str, says("name of the variable")]
    bank: Annotated[int, says("number of the variable's constant bank")]
    offset: Annotated[int, says("offset of the variable in the bank, in bytes")]
    bytes: Annotated[int, says("size of the variable in bytes")]


class ConstantBank(TypedDict):
    """This object describes a constant bank of the file."""

    bank: Annotated[int, says("number of the constant bank")]
    bytes: Annotated[int, says("size of the constant bank in bytes")]


class SectionsView(TypedDict):
    """This object is the view of `--sections`."""

    bytes: Annotated[int, says("size of the file in bytes")]
    isa_version: Annotated[int, says("version of the instruction set")]
    sections: Annotated[list[ElfSection], says("ELF sections of the file")]
    functions: Annotated[list[FunctionRecord], says("functions of the binary")]
    globals: Annotated[list[GlobalVariable], says("variables in global memory")]
    constant_variables: Annotated[list[ConstantVariable], says("variables in constant banks")]
    constants: Annotated[list[ConstantBank], says("constant banks that the file has")]
    provenance: Annotated[
        list[dict[str, Any]],
        says("what was done to the binary, the oldest first; each tool chooses the keys of its own record"),
    ]


class CallSiteJson(TypedDict):
    """This object describes a call."""

    index: Annotated[int, says("number of the calling instruction in its function, from 0")]
    callee: Annotated[str, says("function that is called")]


class CallingFunction(TypedDict):
    """This object describes the calls of a function."""

    function: Annotated[str, says("name of the function")]
    sites: Annotated[list[CallSiteJson], says("calls of the function")]


class IndirectCall(TypedDict):
    """This object describes a call of a computed address."""

    function: Annotated[str, says("function that has the call")]
    index: Annotated[int, says("number of the calling instruction in the function, from 0")]


class CallGraphJson(TypedDict):
    """This object is the call graph of a kernel."""

    kernel: Annotated[str, says("kernel, the root of the call graph")]
    functions: Annotated[list[CallingFunction], says("functions of the call graph")]
    bottom_up: Annotated[list[str], says("names of the functions, callees before callers")]
    cycles: Annotated[list[list[str]], says("groups of functions that call each other, by name")]
    indirect: Annotated[list[IndirectCall], says("calls of computed addresses")]


class BasicBlockJson(TypedDict):
    """This object describes a basic block."""

    block: Annotated[int, says("number of the basic block")]
    start: Annotated[int, says("number of its first instruction")]
    end: Annotated[int, says("number of the instruction after its last one")]
    succs: Annotated[list[int], says("numbers of its successors")]
    preds: Annotated[list[int], says("numbers of its predecessors")]
    reachable: Annotated[bool, says("whether a path leads to it from the entry of the function")]
    idom: Annotated[
        int | None, says("number of its immediate dominator; null for a root and where no path leads to it")
    ]
    ipdom: Annotated[
        int | str | None,
        says(
            'number of its immediate post-dominator, or `"exit"` for the end of the function; null where no '
            "path leads to it"
        ),
    ]
    depth: Annotated[int, says("number of loops around it")]
    weight: Annotated[float, says("weight of its instructions in costs")]


class BranchJson(TypedDict):
    """This object describes a branch that may diverge."""

    branch: Annotated[int, says("number of the branch instruction")]
    block: Annotated[int, says("basic block in which the lanes of the branch meet again")]


class LoopJson(TypedDict):
    """This object describes a loop."""

    loop: Annotated[int, says("number of the loop; outer loops come before inner ones")]
    entries: Annotated[
        list[int], says("number of its header block, or numbers of the entry blocks of an irreducible region")
    ]
    blocks: Annotated[list[int], says("numbers of its basic blocks")]
    depth: Annotated[int, says("number of loops around it")]
    parent: Annotated[int | None, says("number of the next outer loop; null where there is none")]
    irreducible: Annotated[bool, says("whether it has several entries")]


class BlocksJson(TypedDict):
    """This object describes the basic blocks of a function."""

    function: Annotated[str, says("name of the function")]
    instructions: Annotated[int, says("instructions of the function")]
    blocks: Annotated[list[BasicBlockJson], says("basic blocks of the function")]
    rpo: Annotated[list[int], says("numbers of the reachable blocks in reverse postorder")]
    unreachable: Annotated[list[int], says("numbers of the blocks to which no path leads from the entry")]
    exits: Annotated[list[int], says("numbers of the blocks that end the function")]
    calls: Annotated[list[int], says("numbers of the calling instructions")]
    reconvergence: Annotated[list[BranchJson], says("branches that may diverge, and where their lanes meet again")]


class ControlFlow(BlocksJson):
    """This object describes the control flow of a function."""

    loops: Annotated[list[LoopJson], says("loops of the function")]


class CfgView(TypedDict):
    """This object is the view of `--cfg`."""

    callgraph: Annotated[CallGraphJson, says("call graph of the kernel")]
    functions: Annotated[list[ControlFlow], says("control flow of each function")]
    text: Annotated[str, says("the view as text")]


class UninitialisedRead(TypedDict):
    """This object describes a read that no definition precedes on some path."""

    index: Annotated[int, says("number of the reading instruction in its function, from 0")]
    place: Annotated[str, says("register, predicate or local word that it reads")]


class FunctionSummary(TypedDict):
    """This object says what a function takes from its callers and leaves them."""

    function: Annotated[str, says("name of the function")]
    args: Annotated[list[str], says("places that are live into the function")]
    results: Annotated[list[str], says("places that callers read after the function")]
    reads: Annotated[list[str], says("places that the function may read")]
    may_def: Annotated[list[str], says("places that the function may overwrite")]
    must_def: Annotated[list[str], says("places that the function overwrites on every path")]
    returns: Annotated[bool, says("whether the function ever returns")]
    uninitialised: Annotated[list[UninitialisedRead], says("reads that no definition precedes on some path")]


class WebJson(TypedDict):
    """This object describes a live range."""

    web: Annotated[int, says("number of the live range in its function")]
    place: Annotated[str, says("register, predicate or local word of the live range in the binary")]
    defs: Annotated[
        list[list[int | str]],
        says(
            "definitions, as [instruction, operand, unit]; the operand is its position, or the name of an implicit one"
        ),
    ]
    uses: Annotated[
        list[list[int | str]],
        says("uses, as [instruction, operand, unit]; the operand is its position, or the name of an implicit one"),
    ]
    first: Annotated[int, says("first instruction of the span of the live range, -1 for the entry of the function")]
    last: Annotated[int, says("last instruction of the span of the live range")]
    cost: Annotated[float, says("accesses to the live range, weighted by loops")]
    group: Annotated[int | None, says("number of its aligned group; null where it is in none")]
    offset: Annotated[int | None, says("its place in the group, in registers; null where it is in none")]
    remat: Annotated[int | None, says("instruction that can recompute the value; null where none can")]
    flags: Annotated[list[str], says("properties of the live range: `arg`, `result`, `undefined`, `pinned`")]


class AlignedGroup(TypedDict):
    """A group has live ranges that need neighbouring registers."""

    group: Annotated[int, says("number of the group in its function")]
    alignment: Annotated[int, says("alignment of the group, in registers")]
    members: Annotated[list[list[int]], says("live ranges of the group, as [live range, place in the group]")]


class WebTable(TypedDict):
    """This object has the live ranges of a function."""

    function: Annotated[str, says("name of the function")]
    webs: Annotated[list[WebJson], says("live ranges of the function")]
    groups: Annotated[list[AlignedGroup], says("groups of live ranges that need neighbouring registers")]


class FunctionWebs(WebTable):
    """This object has the live ranges of a function, and what its callers see of it."""

    summary: Annotated[FunctionSummary, says("what the function takes from its callers and leaves them")]


class WebsView(TypedDict):
    """This object is the view of `--webs`."""

    functions: Annotated[list[FunctionWebs], says("live ranges of each function")]
    not_lifted: Annotated[list[str], says("reasons why words of local memory are not treated as values")]
    text: Annotated[str, says("the view as text")]


class LiveValue(TypedDict):
    """This object describes a live range and its column in the text."""

    web: Annotated[int, says("number of the live range, as in `webs`")]
    place: Annotated[str, says("register, predicate or local word of the live range in the binary")]
    column: Annotated[int, says("number of its column in the text, from 0")]


class LiveRowJson(TypedDict):
    """This object describes an instruction and the values that are live there."""

    index: Annotated[int, says("number of the instruction in its function, -1 for the entry")]
    block: Annotated[int, says("number of its basic block")]
    file: Annotated[str | None, says("source file of the instruction; null where the binary names none")]
    line: Annotated[int | None, says("source line of the instruction; null where the binary names none")]
    registers: Annotated[int, says("registers that are live at the instruction")]
    predicates: Annotated[int, says("predicates that are live at the instruction")]
    local_words: Annotated[int, says("words of local memory that are live at the instruction")]
    used: Annotated[list[int], says("live ranges that the instruction reads")]
    defined: Annotated[list[int], says("live ranges that the instruction writes")]
    merged: Annotated[
        list[int],
        says(
            "live ranges that the instruction writes in part, under a guard or in a callee, so that the old "
            "value stays live"
        ),
    ]
    live: Annotated[list[int], says("live ranges that are live at the instruction without an access by it")]


class FunctionLife(TypedDict):
    """This object says which values are live where in a function."""

    function: Annotated[str, says("name of the function")]
    values: Annotated[list[LiveValue], says("live ranges in the view")]
    rows: Annotated[list[LiveRowJson], says("instructions in the view")]


class LiveView(TypedDict):
    """This object is the view of `--live`."""

    functions: Annotated[list[FunctionLife], says("live values of each function")]
    text: Annotated[str, says("the view as text")]


class PressureView(PressureJson):
    """This object is the view of `--pressure`."""

    text: Annotated[str, says("the view as text")]


class MinimumView(TypedDict):
    """This object is the view of `--minimum`."""

    registers: Annotated[int, says("fewest registers per thread with which a rewrite is possible")]
    reserved: Annotated[int, says("registers per thread that the binary reserves")]
    text: Annotated[str, says("the view as text")]


class InspectionJson(TypedDict):
    """These fields have the views that were asked for."""

    file: Annotated[str, says("path of the binary")]
    kernel: NotRequired[Annotated[str, says("kernel that the views are about; left out with `--sections` alone")]]
    sections: NotRequired[
        Annotated[SectionsView, says("sections, functions and variables of the file; left out without `--sections`")]
    ]
    cfg: NotRequired[Annotated[CfgView, says("control flow; left out without `--cfg`")]]
    webs: NotRequired[Annotated[WebsView, says("live ranges; left out without `--webs`")]]
    live: NotRequired[Annotated[LiveView, says("which values are live where; left out without `--live`")]]
    pressure: NotRequired[Annotated[PressureView, says("register pressure; left out without `--pressure`")]]
    stack: NotRequired[Annotated[StackView, says("the stack of slots; left out without `--stack`")]]
    shared: NotRequired[
        Annotated[SharedView, says("shared memory and barriers of the kernel; left out without `--shared`")]
    ]
    minimum: NotRequired[Annotated[MinimumView, says("fewest registers per thread; left out without `--minimum`")]]


class InspectJson(Versioned, InspectionJson, OnMachine):
    """`inspect` prints this object."""
