"""Pebble behind the instruction interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from binalloc.isa.instruction import Function, FunctionInfo, Instr, Module, Origin
from binalloc.isa.interface.file_section import FileSection
from binalloc.isa.interface.formulas import Formula
from binalloc.isa.interface.instruction_set import SetLimits
from binalloc.isa.interface.places import PRED, REG, SLOT_ROW
from binalloc.isa.interface.roles import Number, ReadOperand, Roles, Way
from binalloc.isa.interface.sums import Sum
from binalloc.isa.interface.view import ALWAYS, ConstantRead, Faults, Guard, Memory, Ref, View
from binalloc.isa.sets.table import SETS
from tests.support.pebble.table import REGISTERS, SPECIAL, WORD_BYTES, ZERO, Row, decode, encode, make, shape

MAGIC = b"PEBL"
HEADER = "pebble\n"
"""How files begin: binaries and assembly."""


def _refs(names: tuple[str, ...], f: dict[str, int]) -> list[Ref]:
    split = [(name, *shape(width)) for name, _, width in (text.partition(":") for text in names)]
    return [
        Ref(REG, f[name], units, name, alignment=alignment) for name, units, alignment in split if f[name] != ZERO
    ]


def _signature(instr: Instr) -> tuple[object, ...]:
    plain = {} if instr.control in ("branch", "call") else instr.f
    registers = ("to", "one", "two", "mark")
    return (
        instr.name,
        *((k, v) for k, v in plain.items() if k not in registers),
        *((k, "place" if v else "zero") for k, v in plain.items() if k in registers),
    )


class _Build:
    def copy(self, target: int, source: int, guard: Guard = ALWAYS) -> Instr:
        return make("put", guard, to=target, one=source)

    def zero(self) -> tuple[Instr, str]:
        return make("put"), "to"

    def load_slot(self, target: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        return make("peek", guard, to=target, one=pointer, value=SLOT_ROW * slot, ours=1)

    def store_slot(self, source: int, pointer: int, slot: int, guard: Guard = ALWAYS) -> Instr:
        return make("poke", guard, two=source, one=pointer, value=SLOT_ROW * slot, ours=1)

    def load_local(self, target: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        return make("fetch", guard, to=target, value=offset, ours=1)

    def store_local(self, source: int, offset: int, guard: Guard = ALWAYS) -> Instr:
        return make("keep", guard, two=source, value=offset, ours=1)

    def slot_pointer(self, register: int) -> Instr:
        return make("ask", to=register, value=SPECIAL.index("first row"))

    def shift_pointer(self, register: int, slots: int) -> Instr:
        return make("more", to=register, one=register, value=SLOT_ROW * slots)

    def branch(self, *, guard: Guard, target: int, reconvergence: int) -> Instr:
        return make("jump", guard, value=target, join=reconvergence)

    def jump(self) -> Instr:
        return make("jump")

    def exchange(self, one: int, other: int) -> tuple[Instr, ...]:
        return tuple(make("flip", to=to, one=one, two=other) for to in (one, other, one))

    def stop(self) -> Instr:
        return make("end")

    def nothing(self) -> Instr:
        return make("idle")


class Pebble:
    name = "pebble"
    suffix = ".pebble"
    limits = SetLimits(
        registers=REGISTERS, zero=ZERO, frame_reach=(1 << 15) - 4, slot_base="first row",
        shared_size="row bytes",
    )  # fmt: skip
    build = _Build()

    def view(self, instr: Instr) -> View:
        if instr.seen is None:
            instr.seen = self._view(instr)
        found: View = instr.seen
        return found

    def _view(self, instr: Instr) -> View:
        row, f = instr.op, instr.f
        assert isinstance(row, Row)
        defs, uses = _refs(row.writes, f), _refs(row.reads, f)
        if row.to_flag and f["mark"]:
            defs.append(Ref(PRED, f["mark"] - 1, 1, "mark"))
        memory = None
        if row.access:
            base = Ref(REG, f["one"], 1, "one") if f["one"] != ZERO else None
            memory = Memory(row.space, row.access, 4, f["value"], base, bool(f["ours"]))
        guard = (instr.guard, instr.guard_neg) if instr.guarded else None
        pure = not row.control and not row.access
        return View(
            tuple(defs), tuple(uses), guard, row.control, memory, row.unit, row.variable, pure,
            Faults.STATE if row.control or row.access else Faults.NEVER,
            pure and not uses and guard is None, False, instr, _signature,
            row.name == "put" and guard is None and len(defs) == len(uses) == 1,
        )  # fmt: skip

    def constant_reads(self, instr: Instr) -> tuple[ConstantRead, ...]:
        return ()

    def roles(self, instr: Instr) -> Roles:
        way = {"put": Way.WHOLE, "more": Way.SUM}.get(instr.name, Way.PART)
        return Roles(Number.INTEGER, tuple(ReadOperand(ref, Number.INTEGER, way) for ref in self.view(instr).uses))

    def highest_register(self, instrs: Iterable[Instr]) -> int:
        views = [self.view(i) for i in instrs]
        return max((r.registers()[-1] for v in views for r in (*v.defs, *v.uses) if r.file == REG), default=-1)

    def alike(self, one: Instr, other: Instr) -> bool:
        def said(instr: Instr) -> tuple[object, ...]:
            call = instr.control == "call"
            return (instr.op, instr.guard, instr.guard_neg, {k: v for k, v in instr.f.items() if not call})

        return said(one) == said(other)

    def rename(self, instr: Instr, mapping: dict[str, int]) -> Instr:
        assert set(mapping) <= set(instr.f)
        return instr.replace(**{k: v + (k == "mark") for k, v in mapping.items()})

    def links(self, instr: Instr) -> dict[str, int]:
        if instr.control != "branch":
            return {}
        join = instr.op.reconvergence(instr.f)
        return {"value": instr.f["value"]} | ({} if join is None else {"join": join})

    def relink(self, instr: Instr, offsets: dict[str, int]) -> Instr:
        return instr.replace(**offsets)

    def recall(self, instr: Instr, distance: int) -> Instr:
        return instr.replace(value=distance)

    def register_copy(self, instr: Instr) -> tuple[int, int] | None:
        f = instr.f
        return (f["to"], f["one"]) if instr.name == "put" and ZERO not in (f["to"], f["one"]) else None

    def register_zero(self, instr: Instr) -> bool:
        return instr.name == "put" and instr.f["to"] != ZERO and instr.f["one"] == ZERO

    def sums(self, instr: Instr) -> tuple[Sum, ...]:
        return ()

    def held_shared(self, instr: Instr) -> int | None:
        return None

    def formulas(self, instr: Instr) -> tuple[Formula, ...]:
        return ()

    def add_immediate(self, instr: Instr) -> tuple[int, int, int] | None:
        f = instr.f
        return (f["to"], f["one"], f["value"]) if instr.name == "more" and ZERO not in (f["to"], f["one"]) else None

    def predicate_pack(self, instr: Instr) -> tuple[int, int, int] | None:
        return None

    def predicate_unpack(self, instr: Instr) -> tuple[int, int] | None:
        return None

    def truth_of_predicate(self, instr: Instr) -> tuple[int, int] | None:
        return None

    def predicate_of_truth(self, instr: Instr) -> tuple[int, int] | None:
        return None

    def exclusive_or(self, instr: Instr) -> tuple[int, int, int] | None:
        if instr.name != "flip":
            return None
        found = instr.f["to"], instr.f["one"], instr.f["two"]
        return found if ZERO not in found else None

    def special_register(self, instr: Instr) -> str | None:
        return SPECIAL[instr.f["value"]] if instr.name == "ask" else None

    def barrier(self, instr: Instr) -> None:
        return None

    def is_nop(self, instr: Instr) -> bool:
        return instr.name == "idle"

    # -- container: a line of JSON with all but the code, then the words

    def recognises(self, data: bytes) -> bool:
        return data.startswith((MAGIC, HEADER.encode()))

    def write(self, module: Module) -> bytes:
        head = [
            {"name": fn.name, "address": fn.address, "words": len(fn), "info": asdict(fn.info),
             "origin": None if fn.origin is None else asdict(fn.origin)}
            for fn in module
        ]  # fmt: skip
        words = [encode(i).to_bytes(WORD_BYTES, "little") for fn in module for i in fn.instrs]
        return MAGIC + json.dumps(head).encode() + b"\n" + b"".join(words)

    def read(self, data: bytes, path: str = "") -> Module:
        assert data[:4] == MAGIC
        head, _, code = data[4:].partition(b"\n")
        words = iter(int.from_bytes(code[k : k + WORD_BYTES], "little") for k in range(0, len(code), WORD_BYTES))
        module = Module(isa=self.name, path=path)
        for entry in json.loads(head):
            info = FunctionInfo(**entry["info"])
            info.block = (info.block[0], info.block[1], info.block[2])
            fn = Function(entry["name"], [decode(next(words)) for _ in range(entry["words"])], info)
            fn.address = entry["address"]
            fn.origin = Origin(**entry["origin"]) if entry["origin"] else None
            module.functions.append(fn)
        return module

    def sections(self, data: bytes) -> list[FileSection]:
        return [FileSection("code", "words", address=0, offset=data.index(b"\n") + 1, bytes=len(data))]

    # -- text

    def text(
        self, instr: Instr, fn: Function | None = None, index: int | None = None, module: Module | None = None
    ) -> str:
        guard = f"if {'not ' if instr.guard_neg else ''}p{instr.guard}: " if instr.guarded else ""
        return guard + " ".join([instr.name, *(f"{k}={v}" for k, v in instr.f.items() if v)])

    def disassemble(self, module: Module) -> str:
        return HEADER + "".join(f"{fn.name} {self.text(i)}\n" for fn in module for i in fn.instrs)

    def assemble(self, text: str, path: str = "") -> Module:
        module = Module(isa=self.name, path=path)
        for line in text.removeprefix(HEADER).splitlines():
            name, operation, *fields = line.split()
            if not module.functions or module.functions[-1].name != name:
                module.functions.append(Function(name, []))
            pairs: Any = (f.split("=") for f in fields)
            module.functions[-1].instrs.append(make(operation, **{k: int(v) for k, v in pairs}))
        module.layout()
        return module


@contextmanager
def pebble() -> Iterator[Pebble]:
    """Pebble in the table of instruction sets, as one more row."""
    SETS["pebble"] = found = Pebble()
    try:
        yield found
    finally:
        del SETS["pebble"]
