"""This module has the shapes of a kernel's shared memory: variables, accesses, barriers and access regions."""

from __future__ import annotations

from typing import Annotated, NotRequired

from typing_extensions import TypedDict

from binalloc.report.shapes.parts.common import WeighingProfile
from binalloc.report.shapes.says import says


class SharedVariable(TypedDict):
    """This object describes a variable in shared memory."""

    name: Annotated[str, says("name of the variable")]
    offset: Annotated[int, says("offset of the variable in shared memory, in bytes")]
    bytes: Annotated[int, says("size of the variable in bytes")]
    align: Annotated[int, says("alignment of the variable in bytes")]


class VariableInShared(SharedVariable):
    """This object describes a variable in shared memory, and says whose it is."""

    function: Annotated[str, says("function that has the variable")]
    common: Annotated[
        bool, says("whether every block keeps the same in it, such as parameters: blocks could share one copy")
    ]


class SharedAccessJson(TypedDict):
    """This object describes an access to shared memory."""

    function: Annotated[str, says("function of the access")]
    index: Annotated[int, says("number of the instruction in its function, from 0")]
    access: Annotated[str, says("`load`, `store` or `atomic`")]
    space: Annotated[str, says("`shared`, or `generic` for an access that may go to other memory")]
    bytes: Annotated[int, says("bytes that a thread accesses")]
    address: Annotated[int | None, says("address of the first byte in all threads; null where it is not one number")]
    low: Annotated[int, says("lowest address that the first byte may have")]
    high: Annotated[int, says("highest address that the first byte may have; 4,294,967,295 where nothing is known")]
    variable: Annotated[str | None, says("variable that contains all bytes that it may reach; null where none does")]
    evidence: Annotated[
        str,
        says(
            "how its variables are known: `proved` by the ranges of its addresses, by the `symbol` from which the "
            "importer saw the address come (C's rule), or `unknown`"
        ),
    ]
    variables: Annotated[
        list[str], says("variables that it may touch, by address; `*` for dynamic shared memory; empty if unknown")
    ]
    contradicted: Annotated[
        list[str], says("variables from whose symbols its address comes, where ranges prove that it never is in them")
    ]
    region: Annotated[
        int | None,
        says("number of the access region that it is in, from 0; null for common bytes, and in called functions"),
    ]


class PartingJson(TypedDict):
    """This object names an instruction at which threads of a block part."""

    function: Annotated[str, says("function of the instruction")]
    index: Annotated[int, says("number of the instruction in its function, from 0")]


class BarrierJson(TypedDict):
    """This object describes a barrier in the code."""

    function: Annotated[str, says("function of the barrier")]
    index: Annotated[int, says("number of the instruction in its function, from 0")]
    number: Annotated[int, says("which of the block's barriers it is")]
    threads: Annotated[
        int | None, says("threads that have to arrive, 0 for all of the block; null where only a run shows it")
    ]
    waits: Annotated[bool, says("whether a warp that arrives waits until the barrier opens")]
    arrival: Annotated[
        str,
        says(
            "who comes to it, whenever a thread of the block does: `all` threads of the block, all that are still "
            "`running`, or only `some`, as far as is known"
        ),
    ]
    reason: Annotated[PartingJson | None, says("what keeps threads away from it; null where all come")]


class SpanJson(TypedDict):
    """This object is a part of a function."""

    first: Annotated[int, says("number of its first instruction")]
    last: Annotated[int, says("number of its last instruction")]


class BoundJson(TypedDict):
    """This object is a place between two instructions to which all threads of a block come that run."""

    index: Annotated[int, says("number of the instruction behind it")]
    from_index: Annotated[
        int | None, says("number of the branch from which threads come; null where it is there on all ways")
    ]


class RegionJson(TypedDict):
    """This object is an access region: a part of the kernel in which shared memory is in use."""

    spans: Annotated[list[SpanJson], says("its instructions")]
    begins: Annotated[list[BoundJson], says("where it begins")]
    ends: Annotated[list[BoundJson], says("where it ends; empty if it only ends with the block")]
    bytes: Annotated[int, says("bytes of shared memory that it may touch")]
    variables: Annotated[list[str], says("variables that it may touch, by address")]
    exits: Annotated[bool, says("whether threads may end in it")]
    ended: Annotated[
        PartingJson | None,
        says("an EXIT at which threads may have ended before it begins, while others go on; null where there is none"),
    ]


class ResidentsJson(TypedDict):
    """This object has the columns of the multiplex paper's Table 1."""

    machine: Annotated[str, says("machine that the numbers are for")]
    threads: Annotated[int, says("threads of a block")]
    shared_bytes: Annotated[int, says("bytes of shared memory of a block")]
    blocks_per_sm: Annotated[int, says("blocks that an SM holds, registers left out")]
    threads_per_sm: Annotated[int, says("threads of these")]
    shared_bytes_per_sm: Annotated[int, says("bytes of shared memory of these")]
    limits: Annotated[list[str], says("what keeps an SM from holding more: `shared`, `warps`, `blocks`, `barriers`")]
    with_registers: Annotated[int, says("blocks that an SM holds, the registers of this binary counted")]


class ReleaseJson(TypedDict):
    """This object is a place between two instructions, where threads could release the shared part."""

    function: Annotated[str, says("function of the place")]
    index: Annotated[int, says("number of the instruction behind it")]
    from_index: Annotated[
        int | None, says("number of the instruction from which threads come; null where it is there on all ways")
    ]
    condition: Annotated[str | None, says("condition under which threads release there, as `!P0`; null where all do")]


class PlanJson(TypedDict):
    """This object is a way to let pairs of blocks share a part of their memory, after the sharing paper."""

    threshold: Annotated[
        str | None, says("part of a block's bytes that is private, as a fraction; null where as many are as fit")
    ]
    pairs: Annotated[int, says("pairs of blocks on an SM that share")]
    unshared: Annotated[int, says("blocks without a partner")]
    blocks_per_sm: Annotated[int, says("blocks that an SM holds then")]
    private_bytes: Annotated[int, says("bytes of a block of a pair that are its own")]
    shared: Annotated[list[str], says("variables in the shared part, and the one across its begin, by address")]
    instructions: Annotated[int, says("instructions in the access range of these")]
    weight: Annotated[
        float, says("share of a thread's instructions that are in it, as executions are estimated from loops")
    ]
    releases: Annotated[
        list[ReleaseJson], says("where a thread has made its last access to the shared part; ended threads need none")
    ]


class MovedJson(TypedDict):
    """This object says where variables of a kernel are that share memory with a partner's."""

    variables: Annotated[list[str], says("variables that keep their distance")]
    distance: Annotated[int, says("bytes by which they have moved")]


class SharedVersionJson(PlanJson):
    """This object is a version of a kernel whose blocks share memory two by two."""

    option: Annotated[str, says("what `--sharing` of `run` has to be for it")]
    private_slots: Annotated[int | None, says("slots of a thread that blocks do not share; null where that is all")]
    moved: Annotated[list[MovedJson], says("variables that have moved")]
    proven: Annotated[
        bool | None, says("whether the checker has proven it, for all launches with such blocks; null where not asked")
    ]
    unproven: Annotated[str | None, says("why it is not proven; null if it is, or if that was not asked")]
    by_symbol: Annotated[
        int | None,
        says(
            "accesses of which the proof takes that they stay in the variables that their addresses come from (C's "
            "rule); null where none was asked for"
        ),
    ]
    cycles: Annotated[int | None, says("emulated cycles; null where it was not run to its end")]
    ended: Annotated[str | None, says("why its run did not end well; null if it did, or if it was not run")]
    speedup: Annotated[float | None, says("the original's emulated cycles over these; null where there are none")]
    same_results: Annotated[bool | None, says("whether it left the same as the original; null where it was not run")]
    share_before: Annotated[
        float | None,
        says("share of the lives of blocks in pairs until they got what they share; null where there is none"),
    ]
    share_with: Annotated[float | None, says("likewise, while they had it")]
    share_behind: Annotated[float | None, says("likewise, after they had given it back")]


class UnsharedJson(TypedDict):
    """This object is the original, whose blocks share nothing."""

    blocks_per_sm: Annotated[int, says("blocks that an SM holds")]
    scheduler: Annotated[str, says("warp scheduler of its run")]
    cycles: Annotated[int | None, says("emulated cycles; null where it was not run")]
    oldest_cycles: Annotated[
        int | None, says("emulated cycles under `oldest`, which `owf` is without pairs; null where it was not run")
    ]


class SharedJson(TypedDict):
    """This object is what becomes of a kernel whose blocks share memory two by two."""

    original: Annotated[UnsharedJson, says("blocks that share nothing")]
    release: Annotated[str, says("where threads release what is shared: `opt`, `postdom` or `none`")]
    edges: Annotated[str, says("whether critical edges are `kept`, or get a block of their own (`jump`)")]
    bits: Annotated[int, says("bits of an SM that say who shares with whom, and who has what is shared")]
    versions: Annotated[list[SharedVersionJson], says("versions with pairs, fewest first")]
    chosen: Annotated[
        int | None, says("number of the version chosen, from 0; null where none is better than the original")
    ]
    output: Annotated[str | None, says("file that was written; null for none")]
    profile: Annotated[WeighingProfile | None, says("profile by which code is weighted; null: its loops")]


class OverlaidBlockJson(TypedDict):
    """This object is what a block needs, and how many of them an SM holds."""

    shared_bytes: Annotated[int, says("bytes of shared memory of a block, dynamic ones included")]
    blocks_per_sm: Annotated[int, says("blocks that an SM holds")]
    limits: Annotated[list[str], says("resources that keep an SM from holding more")]
    cycles: Annotated[int | None, says("emulated cycles; null where it was not run to its end")]


class OverlaidUnitJson(TypedDict):
    """This object says where variables lie."""

    variables: Annotated[list[str], says("variables that keep their distance")]
    bytes: Annotated[int, says("bytes from the first one's begin to the last one's end")]
    first: Annotated[int, says("address of the first byte in the original")]
    address: Annotated[int, says("address of the first byte now")]
    over: Annotated[list[str], says("variables that have some of the same bytes now")]


class OverlayFields(TypedDict):
    """This object is what becomes of a kernel whose variables lie over one another."""

    before: Annotated[OverlaidBlockJson, says("a block of the original")]
    after: Annotated[OverlaidBlockJson, says("a block whose variables lie over one another")]
    variables: Annotated[list[OverlaidUnitJson], says("variables of the block, by address in the original")]
    least: Annotated[bool, says("whether fewer bytes are known to be impossible for these variables")]
    proven: Annotated[bool, says("whether the checker has proven it, for all launches with such blocks")]
    unproven: Annotated[str | None, says("why it is not proven; null if it is")]
    by_symbol: Annotated[
        int, says("accesses of which the proof takes that they stay in the variables that their addresses come from")
    ]
    ended: Annotated[str | None, says("why its run did not end well; null if it did, or if it was not run")]
    same_results: Annotated[bool | None, says("whether it left the same as the original; null where it was not run")]
    speedup: Annotated[float | None, says("the original's emulated cycles over these; null where there are none")]
    output: Annotated[str | None, says("file that was written; null for none")]


class SharingJson(TypedDict):
    """This object says how blocks could share a part of their memory, two by two."""

    machine: Annotated[str, says("machine that the numbers are for")]
    blocks_per_sm: Annotated[int, says("blocks that an SM holds if none share")]
    bits: Annotated[int, says("bits of an SM that say who shares with whom, and who holds the shared part")]
    units: Annotated[list[list[str]], says("variables that can be moved, with those that have to keep their distance")]
    instructions: Annotated[int, says("instructions in the access range of all variables")]
    weight: Annotated[float, says("share of a thread's instructions that are in it, estimated")]
    plans: Annotated[
        list[PlanJson], says("the paper's threshold first, then one plan for each number of pairs; empty if none helps")
    ]


class SharedView(TypedDict):
    """This object is the view of `--shared`."""

    bytes: Annotated[int, says("static shared memory per block, in bytes")]
    block: Annotated[
        list[int] | None, says("threads of a block along x, y and z that the view is about; null where it is not known")
    ]
    common_bytes: Annotated[int, says("bytes in which every block keeps the same")]
    residents: NotRequired[
        Annotated[ResidentsJson, says("how many blocks an SM holds; left out where the block size is not known")]
    ]
    sharing: NotRequired[
        Annotated[SharingJson, says("blocks that share memory two by two; left out where the block size is not known")]
    ]
    variables: Annotated[list[VariableInShared], says("variables in shared memory, by function and address")]
    accesses: Annotated[list[SharedAccessJson], says("accesses to shared memory, without those to slots")]
    barriers: Annotated[list[BarrierJson], says("barriers of the kernel and its callees")]
    regions: Annotated[list[RegionJson], says("access regions of the kernel, in order of instructions")]
    text: Annotated[str, says("the view as text")]
