"""Loom is an instruction set: everything above `isa` knows it through this one object."""

from __future__ import annotations

from binalloc.isa.instruction import Function, Instr, Module
from binalloc.isa.interface.file_section import FileSection
from binalloc.isa.interface.instruction_set import Builder, SetLimits
from binalloc.isa.interface.places import MOST_REGISTERS, WORD
from binalloc.isa.loom import build, recognise
from binalloc.isa.loom import formulas as its_formulas
from binalloc.isa.loom import roles as its_roles
from binalloc.isa.loom import sums as its_sums
from binalloc.isa.loom import view as views
from binalloc.isa.table.fields import FIELDS, RZ
from binalloc.isa.validate import highest_register


def _along_axes(*names: str) -> dict[str, int]:
    """Return the special registers of these names along x, y and z, numbered from 0."""
    return {f"SR_{name}.{axis}": k for k, (name, axis) in enumerate((name, axis) for name in names for axis in "XYZ")}


class Loom:
    """Loom implements `InstructionSet`. Its container and text are imported at their first use."""

    name = "loom"
    suffix = ".loom"
    limits = SetLimits(
        registers=MOST_REGISTERS,
        zero=RZ,
        frame_reach=FIELDS["moff"].maximum - WORD + 1,
        slot_base="SR_SLOTBASE",
        shared_size="SR_TOTAL_SMEM",
        shared_window="SR_SHARED_WINDOW",
        lane_registers=frozenset(
            (
                "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_LANEID", "SR_SLOTBASE", "SR_EQMASK", "SR_LTMASK", "SR_LEMASK",
                "SR_GTMASK", "SR_GEMASK",
            )
        ),
        warp_registers=frozenset(("SR_WARPID",)),
        block_registers=frozenset(("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_SMID")),
        places=_along_axes("TID", "CTAID"),
        sizes=_along_axes("NTID", "NCTAID"),
        lane="SR_LANEID",
        warp="SR_WARPID",
        warps="SR_NWARPID",
    )
    build: Builder = build

    view = staticmethod(views.view)
    constant_reads = staticmethod(views.constant_reads)
    roles = staticmethod(its_roles.roles)
    highest_register = staticmethod(highest_register)
    alike = staticmethod(views.alike)

    rename = staticmethod(views.rename)
    links = staticmethod(views.links)
    relink = staticmethod(views.relink)
    readdress = staticmethod(views.readdress)
    in_space = staticmethod(views.in_space)
    recall = staticmethod(views.recall)

    register_copy = staticmethod(recognise.register_copy)
    register_zero = staticmethod(recognise.register_zero)
    add_immediate = staticmethod(recognise.add_immediate)
    predicate_pack = staticmethod(recognise.predicate_pack)
    predicate_unpack = staticmethod(recognise.predicate_unpack)
    truth_of_predicate = staticmethod(recognise.truth_of_predicate)
    predicate_of_truth = staticmethod(recognise.predicate_of_truth)
    exclusive_or = staticmethod(recognise.exclusive_or)
    special_register = staticmethod(recognise.special_register)
    barrier = staticmethod(recognise.barrier)
    held_shared = staticmethod(recognise.held_shared)
    sums = staticmethod(its_sums.sums)
    formulas = staticmethod(its_formulas.formulas)
    is_nop = staticmethod(recognise.is_nop)

    def recognises(self, data: bytes) -> bool:
        """Return whether a file is a Loom binary. Loom's assembly may begin in any way: a text that no set recognises
        is read as Loom's."""
        from binalloc.isa.container.elf import BEGINNING

        return data.startswith(BEGINNING)

    def read(self, data: bytes, path: str = "") -> Module:
        from binalloc.isa.container.files import read_module

        return read_module(data, path)

    def write(self, module: Module) -> bytes:
        from binalloc.isa.container.files import write_module

        return write_module(module)

    def sections(self, data: bytes) -> list[FileSection]:
        from binalloc.isa.container.files import sections

        return sections(data)

    def text(
        self, instr: Instr, fn: Function | None = None, index: int | None = None, module: Module | None = None
    ) -> str:
        from binalloc.isa.text.disassembler import format_instr

        return format_instr(instr, fn, index, module)

    def assemble(self, text: str, path: str = "") -> Module:
        from binalloc.isa.text.assembler import assemble

        return assemble(text, path)

    def disassemble(self, module: Module) -> str:
        from binalloc.isa.text.disassembler import disassemble

        return disassemble(module)


LOOM = Loom()
