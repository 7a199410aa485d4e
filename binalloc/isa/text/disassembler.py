"""A `Module` becomes Loom assembly here. `assemble(disassemble(m))` is `m`, byte for byte in its container.

Needs a valid module. Labels are the binary's own; a target without one is called `.L<word index>`, which the assembler
does not record.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from functools import lru_cache

from binalloc.isa.instruction import (
    DEFAULT_CONTROL,
    NO_REGISTER,
    Control,
    Function,
    FunctionInfo,
    Instr,
    Module,
    Origin,
    Param,
    code_end,
)
from binalloc.isa.kinds import Flow
from binalloc.isa.source_facts import MEMORY_MODELS
from binalloc.isa.table.fields import NO_BARRIER, PT, RZ
from binalloc.isa.table.mnemonics import print_mnemonic
from binalloc.isa.table.opcodes import FORM_C_CONST, FORM_C_IMM, FORM_CONST, FORM_IMM, SPECIAL_REGISTERS, Operand
from binalloc.isa.text.assembler import auto_param_offset


class _Names(dict[int, str]):
    """A register's name follows from its number. Virtual registers (beyond RZ, PT) are counted from `V0` or `Q0`."""

    def __init__(self, names: list[str], virtual: str) -> None:
        super().__init__(enumerate(names))
        self.virtual = virtual
        self.first = len(names)

    def __missing__(self, number: int) -> str:
        return f"{self.virtual}{number - self.first}"


_R = _Names([f"R{i}" for i in range(RZ)] + ["RZ"], "V")
_P = _Names([f"P{i}" for i in range(7)] + ["PT"], "Q")
_BRANCH, _CALL = Flow.BRANCH, Flow.CALL
_BARE = re.compile(r"[A-Za-z_$][\w$.]*", re.ASCII)  # names that a directive takes without quotes


def disassemble(module: Module) -> str:
    """Return the module as assembly text, ending in a newline."""
    out: list[str] = []
    for record in module.provenance:
        out.append(".provenance " + json.dumps(record, ensure_ascii=True))
    for bank, data in sorted(module.constants.items()):
        out += [f".const {bank} {{", *_data(data), "}"]
    out += [f".constant {c.name} {c.bank} {c.offset} {c.size}" for c in module.constant_vars]
    for v in module.globals:
        out.append(f".global {v.name} {v.size} {v.align} {v.offset}" + " {" * bool(v.data))
        out += [*_data(v.data), "}"] * bool(v.data)
    if out:
        out.append("")
    names = {fn.address: fn.name for fn in module.functions}
    end = 0
    for fn in module.functions:
        out += [*_function(fn, names, end), ""]
        end = code_end(fn)
    return "\n".join(out[:-1]) + "\n" if out else ""


def _data(data: bytes) -> list[str]:
    """Return lines of data for bytes."""
    whole = len(data) // 4 * 4
    words = [f"{int.from_bytes(data[i : i + 4], 'little'):#010x}" for i in range(0, whole, 4)]
    out = ["    .word " + ", ".join(words[i : i + 8]) for i in range(0, len(words), 8)]
    if data[whole:]:
        out.append("    .byte " + ", ".join(f"{b:#04x}" for b in data[whole:]))
    return out


def _function(fn: Function, names: dict[int, str], next_address: int) -> list[str]:
    """Return the lines of a function. names: of functions by address. next_address: the address that it would have
    without `.address`."""
    out = [f"{'.kernel' if fn.info.is_kernel else '.func'} {fn.name}"]
    if fn.address != next_address:
        out.append(f"    .address {fn.address}")
    out += _header(fn)
    labels = label_names(fn)
    file = ""
    for i, ins in enumerate(fn.instrs):
        if i in labels:
            out.append(labels[i] + ":")
        if i in fn.lines:
            if fn.lines[i][0] != file:
                file = fn.lines[i][0]
                out.append(f"    .file {json.dumps(file)}")
            out.append(f"    .line {fn.lines[i][1]}")
        if i in fn.touches:
            out.append("    .touches " + ", ".join(fn.touches[i]))
        links = _links(fn, i, ins, labels, names)
        text = _text(ins, links)
        if ins.ctrl != DEFAULT_CONTROL or fn.info.machine:
            text = f"{text:<48} {control_text(ins.ctrl)}"
        out.append("    " + text)
    out.append(".end")
    return out


def _header(fn: Function) -> list[str]:
    """Return the directives at the beginning of a function."""
    info = fn.info
    out = [f"    .registers {info.registers}"]
    if info.machine:
        out.append(f"    .machine {_named(info.machine)}")
    out += _source_facts(info)
    if info.block != (0, 0, 0):
        out.append("    .block {}, {}, {}".format(*info.block))
    for key in ("max_threads", "local_frame", "local_bytes", "spill_local"):
        if getattr(info, key):
            out.append(f"    .{key} {getattr(info, key)}")
    if info.local_stack != NO_REGISTER:
        out.append(f"    .local_stack R{info.local_stack}")
    if info.slot_bytes or info.slot_pointer != NO_REGISTER:
        pointer = f" R{info.slot_pointer}" if info.slot_pointer != NO_REGISTER else ""
        out.append(f"    .slots {info.slot_bytes}{pointer}")
    last = Param("", 0, 0)
    for p in info.params:
        at = "" if p.offset == auto_param_offset(last, p.size) else f" {p.offset}"
        out.append(f"    .param {p.name} {p.size}{at}")
        last = p
    if info.shared_bytes:
        out.append(f"    .shared_bytes {info.shared_bytes}")
    out += [f"    .shared {v.name} {v.size} {v.align} {v.offset}" for v in fn.shared]
    if fn.origin is not None:
        out += _origin(fn.origin)
    return out


def _source_facts(info: FunctionInfo) -> list[str]:
    """Return the directives of the facts of the source."""
    out = [f"    .target {_named(info.target)}"] if info.target else []
    if info.memory_model != MEMORY_MODELS[0]:
        out.append(f"    .memory_model {info.memory_model}")
    for key in ("max_registers", "min_blocks"):
        if getattr(info, key):
            out.append(f"    .{key} {getattr(info, key)}")
    if info.smem_spilling:
        out.append("    .smem_spilling")
    return out


def _named(name: str) -> str:
    """Return a name as an argument of a directive, with quotes where it needs them."""
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _origin(origin: Origin) -> list[str]:
    """Return the directives of an instruction map, twelve runs to a line: FIRST..LAST for consecutive indexes, -*COUNT
    for inserted words."""
    runs: list[str] = []
    i, index = 0, origin.index
    while i < len(index):
        j = i + 1
        step = 0 if index[i] < 0 else 1
        while j < len(index) and index[j] == index[j - 1] + step:
            j += 1
        if step:
            runs.append(f"{index[i]}..{index[j - 1]}" if j - i > 1 else str(index[i]))
        else:
            runs.append(f"-*{j - i}" if j - i > 1 else "-")
        i = j
    out = [f"    .origin {origin.function} {' '.join(runs[k : k + 12])}" for k in range(0, max(len(runs), 1), 12)]
    inlined = origin.inlined
    return out + [f"    .inlined {' '.join(map(str, inlined[k : k + 12]))}" for k in range(0, len(inlined), 12)]


def label_names(fn: Function) -> dict[int, str]:
    """Return labels by word index: the function's own, and `.L<index>` for other branch targets and reconvergence
    points."""
    out = dict(fn.labels)
    for i, ins in enumerate(fn.instrs):
        if ins.op.control == _BRANCH:
            for to in (fn.target(i), fn.reconvergence(i)):
                if to is not None:
                    out.setdefault(to, f".L{to}")
    return out


def _links(
    fn: Function, index: int, ins: Instr, labels: dict[int, str], names: dict[int, str]
) -> tuple[str, str] | None:
    """Return the texts of target and reconvergence point; None where the instruction has none."""
    if ins.op.control == _BRANCH:
        reconv = fn.reconvergence(index)
        return labels[fn.target(index)], labels[reconv] if reconv is not None else "uniform" if ins.guarded else ""
    if ins.op.control == _CALL:
        return names[fn.address + index + 1 + ins.f["target"]], ""
    return None


def format_instr(
    instr: Instr, function: Function | None = None, index: int | None = None, module: Module | None = None
) -> str:
    """Return one line of text for messages, without the control code.

    With `function` and `index` branch targets are shown as labels, and with `module` called functions by name;
    otherwise as `(+offset)` in words from the next instruction.
    """
    f = instr.f
    links: tuple[str, str] | None = None
    if "target" in f:
        reconv = f"({f['reconv']:+d})" if f.get("diverges") else ""
        links = f"({f['target']:+d})", reconv
        if function is not None and index is not None:
            if instr.op.control == _BRANCH:
                links = _links(function, index, instr, label_names(function), {})
            elif module is not None:
                callee = module.callee(function, index)
                links = (callee.name, "") if callee else links
    return _text(instr, links)


def _text(ins: Instr, links: tuple[str, str] | None) -> str:
    """Return an instruction without its control code. links: texts of target and reconvergence point."""
    f, op = ins.f, ins.op
    mnemonic = print_mnemonic(op.code, tuple([f[m] for m in op.modifiers]))
    operands = op.operands
    if any(o.optional for o in operands):
        operands = tuple(_shown(ins, links))
    texts = [_operand(o, ins, links) for o in operands]
    guard = f"@{'!' if ins.guard_neg else ''}{_P[ins.guard]} " if ins.guard != PT or ins.guard_neg else ""
    return f"{guard}{mnemonic} {', '.join(texts)}" if texts else guard + mnemonic


def _shown(ins: Instr, links: tuple[str, str] | None) -> list[Operand]:
    """Return the operands to print. An optional one at its default is left out, unless another of its kind follows
    directly."""
    out: list[Operand] = []
    for o in reversed(ins.op.operands):
        follows = bool(out) and out[-1].kind == o.kind and out[-1].optional
        if not o.optional or follows or not _at_default(o, ins, links):
            out.append(o)
    return out[::-1]


def _at_default(o: Operand, ins: Instr, links: tuple[str, str] | None) -> bool:
    """Return whether an optional operand is at its default."""
    f = ins.f
    if o.kind == "reconv":
        return links is None or not links[1]
    if o.kind == "ps":
        return f[o.name] == PT and f[o.name + "n"] == int(o.default_false)
    if o.kind == "pd":
        return f[o.name] == PT
    if o.kind == "b":
        return f["form"] == 0 and f["rb"] == RZ
    return f[o.name] == RZ


def _operand(o: Operand, ins: Instr, links: tuple[str, str] | None) -> str:
    """Return the text of an operand."""
    f, kind = ins.f, o.kind
    if kind == "rd":
        return _R[f["rd"]]
    if kind == "reg":
        return _marked(_R[f[o.name]], o, f)
    if kind == "b" or kind == "c":
        return _flexible(o, f, ins.op.group)
    if kind == "pd":
        return _P[f[o.name]]
    if kind == "ps":
        return ("!" if f[o.name + "n"] else "") + _P[f[o.name]]
    if kind == "mem64" or kind == "mem32":
        return _address(f["ra"], f["moff"])
    if kind == "cmem":
        return f"c[{f['cbank']}]{_address(f['ra'], f['coff'])}"
    if kind == "target" or kind == "reconv":
        return links[kind == "reconv"] if links else "?"
    if kind == "sreg":
        return SPECIAL_REGISTERS[f["sreg"]]
    if kind == "lane":
        return str(f["laneimm"]) if f["limm"] else _R[f["rb"]]
    if kind == "clamp":
        return f"{f['clampimm']:#x}" if f["cimm"] else _R[f["rc"]]
    return str(f[o.name]) if kind in ("shift", "barid") else f"{f[o.name]:#x}"


def _marked(text: str, o: Operand, f: Mapping[str, int]) -> str:
    """Return `text` with the operand's absolute value and negation."""
    if o.abs and f["abs" + o.name[-1]]:
        text = f"|{text}|"
    return "-" + text if o.neg and f["neg" + o.name[-1]] else text


def _flexible(o: Operand, f: Mapping[str, int], group: str) -> str:
    """Return the text of operand b or c."""
    form = f["form"]
    if form == (FORM_IMM if o.kind == "b" else FORM_C_IMM):
        return _immediate(f["imm"], group)
    if form == (FORM_CONST if o.kind == "b" else FORM_C_CONST):
        return _marked(f"c[{f['cbank']}][{f['coff']:#x}]", o, f)
    return _marked(_R[f["rc" if o.kind == "c" or form in (FORM_C_IMM, FORM_C_CONST) else "rb"]], o, f)


_MOST_F32 = float.fromhex("0x1.fffffep127")
"""The greatest number of binary32; a decimal of few digits can lie beyond it."""


@lru_cache(maxsize=4096)
def _immediate(bits: int, group: str) -> str:
    """Return an immediate as text: as a float where the operation is one on floats and a short decimal is exact, else
    hex."""
    if group == "float64" and 0x00100000 <= bits & 0x7FFFFFFF < 0x7FF00000:
        text = repr(struct.unpack("<d", struct.pack("<Q", bits << 32))[0])
        return text + "d" if len(text) <= 12 else f"{bits:#x}"
    if group == "float32" and 0x00800000 <= bits & 0x7FFFFFFF < 0x7F800000:
        value = struct.unpack("<f", struct.pack("<I", bits))[0]
        for digits in range(1, 10):
            text = f"{value:.{digits}g}"
            if abs(float(text)) <= _MOST_F32 and struct.pack("<f", float(text)) == struct.pack("<I", bits):
                return text + "f"
    return f"{bits:#x}"


def _address(base: int, offset: int) -> str:
    """Return the text of an address."""
    if base == RZ:
        return f"[{offset:#x}]"
    sign = "-" if offset < 0 else "+"
    return f"[{_R[base]}{sign}{abs(offset):#x}]" if offset else f"[{_R[base]}]"


@lru_cache(maxsize=65536)
def control_text(ctrl: Control) -> str:
    """Return the control code as assembly has it."""
    parts = [f"stall:{ctrl.stall}"]
    if not ctrl.yield_:
        parts.append("yield")
    if ctrl.wbar != NO_BARRIER:
        parts.append(f"wr:{ctrl.wbar}")
    if ctrl.rbar != NO_BARRIER:
        parts.append(f"rd:{ctrl.rbar}")
    for name, mask in (("wait", ctrl.wait), ("reuse", ctrl.reuse)):
        if mask:
            parts.append(f"{name}:" + "".join(str(b) for b in range(6) if mask >> b & 1))
    return "{" + " ".join(parts) + "}"
