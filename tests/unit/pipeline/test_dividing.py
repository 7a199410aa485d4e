"""Which bytes of shared memory become private if the user does not say it: what fits, and serves most accesses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binalloc.errors import Refused
from binalloc.frontend.importer import import_ptx
from binalloc.isa.instruction import Module
from binalloc.launch.file import load_launch
from binalloc.launch.types import Argument, Launch
from binalloc.models.machines.reader import load_machine
from binalloc.pipeline.multiplex.build import CO_VTB, Wanted, build
from binalloc.pipeline.multiplex.dividing import divided_variables, private_of
from binalloc.pipeline.request import Request
from binalloc.transform.multiplex.merged import merge_blocks
from tests.support.paths import sample_file
from tests.support.programs.builder import program

GT200 = load_machine("gtx285")  # 16 KB of shared memory, allocated by 512 bytes


def sample(name: str, machine: str = "gtx285") -> tuple[Module, Request]:
    module = import_ptx(sample_file(f"{name}.ptx").read_text(), machine=machine).module
    launch = load_launch(sample_file(f"{name}.toml"), "test")
    return module, Request(launch.kernel, load_machine(machine), launch)


def chosen(name: str, merge: int | None = None, over: int | None = None, machine: str = "gtx285") -> dict[str, int]:
    module, request = sample(name, machine)
    private = private_of(module, request, (), merge, over)
    return {v.name: v.private for v in divided_variables(module.function(request.kernel), private)}


def test_marching_cubes_keeps_more_rows_than_in_the_paper() -> None:
    """18 rows of 384 bytes fit twice beside the other 6 and 108 bytes of parameters: 16,236 bytes. Blocks that get the
    public part as they run have whole units of 512 bytes: 17 rows."""
    assert chosen("marchingCubes", merge=2) == {"_ZZ2MCE8vertices": 18 * 384}
    assert chosen("marchingCubes") == {"_ZZ2MCE8vertices": 17 * 384}
    assert chosen("marchingCubes", merge=2, machine="t4") == {"_ZZ2MCE8vertices": 24 * 384}


def test_sto_has_80_bytes_to_give() -> None:
    """16,384 less 16,304 bytes: what becomes private is there twice."""
    assert 0 < sum(chosen("slidingMD5", merge=2).values()) <= 80
    module, request = sample("slidingMD5")
    assert request.launch is not None
    for kept, size in ((80, 16_384), (96, 16_400)):
        made = merge_blocks(module, "STO", request.launch.block, 2, private=(1 << 16 + kept) - (1 << 16))
        assert made.copies.size == size
    with pytest.raises(Refused) as error:
        chosen("slidingMD5")  # a second block has not even room for one unit
    assert error.value.message == "no part of shared memory can be private"


def accessing(*words: int, loop: int = 0) -> tuple[Module, Request]:
    """A kernel with an array of 6 KB whose 64 threads access the first words of these KBs, the `loop`-th in a loop."""
    lines = []
    for k, at in enumerate(words):
        place = f"[R1+{1024 * at:#x}]"
        use = f"    STS.32 {place}, R0\n    BAR.SYNC 0\n    LDS.32 R2, {place}\n    BAR.SYNC 0\n"
        if k == loop:
            use = "    MOV R3, RZ\nhead:\n" + use + "    IADD3 R3, R3, 0x1, RZ\n    ISETP.LT.AND P0, PT, R3, 0x8, PT\n"
            use += "    @P0 BRA head, on\non:\n"
        lines.append(use)
    text = ".kernel k\n.param out, 8\n.shared words 6144 4\n    S2R R0, SR_TID.X\n    SHF.L.U32 R1, R0, 0x2, RZ\n"
    launch = Launch("k", (4, 1, 1), (64, 1, 1), 0, (Argument("out", "buffer", "u32", (256,)),))
    return program(text + "".join(lines) + "    EXIT\n.end\n"), Request("k", GT200, launch)


def test_three_blocks_of_6_kilobytes_fit_with_4_and_2() -> None:
    """Two fit with static memory. With 5 and 1 KB three fit as well, with more private bytes."""
    module, request = accessing(0, 1, 2, 3, 4, 5)

    def kept(merge: int | None, over: int | None) -> list[int]:
        private = private_of(module, request, (), merge, over)
        return [k for k in range(6) if private >> 1024 * k & 1]

    assert kept(None, None) == [0, 1, 2, 3, 4]
    assert kept(None, 2) == [0, 1, 2]  # four blocks: 3 and 3
    assert kept(2, None) == [0, 1, 2, 3, 4, 5]
    assert kept(4, None) == [0, 1, 2, 3]  # the last copy ends with the row that is used: 6,144 + 3 * 3,328 bytes


def test_other_limits_say_how_many_blocks_are_enough() -> None:
    module, request = accessing(0, 1, 2, 3, 4, 5)
    assert request.launch is not None
    launch = replace(request.launch, block=(512, 1, 1))  # two such blocks fill an SM
    assert private_of(module, replace_launch(request, launch), (), None, None) == private_of(
        module, replace_launch(request, launch), (), None, 5
    )


def replace_launch(request: Request, launch: Launch) -> Request:
    return Request(request.kernel, request.machine, launch)


ANY = """.kernel k
.param out, 8
.shared one {} 4
.shared two {} 4
    LDG.32 R3, [R8]
    LOP3 R3, R3, {:#x}, RZ, 0xc0
    STS.32 [R3], R3
    BAR.SYNC 0
    LDG.32 R4, [R8]
    ISETP.LT.AND P0, PT, R4, 0x5, PT
    {} LDS.32 R5, [R3]
    STG.32 [R8], R5
    EXIT
.end
"""


def test_among_equals_more_bytes_are_private() -> None:
    """80 of the first variable fit twice, or all 72 of the second; all accesses may be anywhere."""
    module, request = program(ANY.format(16_384 - 80 - 72, 72, 0xFFFFFFFF, "")), accessing(0)[1]
    assert private_of(module, request, (), 2, None) == (1 << 80) - 1


def test_no_cut_is_chosen_that_would_be_refused() -> None:
    """Eight copies of 1,460 bytes fit, but an access under a guard may be to both parts then."""
    request = accessing(0)[1]
    assert private_of(program(ANY.format(6140, 4, 0x7FC, "")), request, (), 8, None) > 0
    with pytest.raises(Refused) as error:
        private_of(program(ANY.format(6140, 4, 0x7FC, "@P0")), request, (), 8, None)
    assert error.value.message == "no part of shared memory can be private"


def test_no_cut_is_looked_for_where_a_merged_block_has_too_many_threads() -> None:
    module, request = accessing(0, 1)
    assert request.launch is not None
    for block, count, found in (
        ((512, 1, 1), 2, "1,024 threads"), ((10, 10, 1), 5, "640 threads, with each block's 100 padded to 128"),
    ):  # fmt: skip
        large = replace(request, launch=replace(request.launch, block=block))
        with pytest.raises(Refused) as error:
            build(module, large, Wanted(CO_VTB, merge=count))
        assert (error.value.found, error.value.expected) == (found, "at most 512")
        assert (error.value.place, str(error.value.remedy)) == ("k", "Merge fewer blocks, with a lower merge.")
