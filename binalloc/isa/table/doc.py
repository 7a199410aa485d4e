"""This module writes the tables of ISA.md from the one table: `python -m binalloc.isa.table.doc [--check]`.

Each lies in ISA.md between `<!-- table:NAME:begin -->` and `<!-- table:NAME:end -->`; everything else there is prose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from binalloc.isa.table.faults import ELSEWHERE, STOPS, Faults, stops_by
from binalloc.isa.table.fields import COMMON_FIELDS, CONTROL_FIELDS, FIELDS
from binalloc.isa.table.mnemonics import DEFAULTS
from binalloc.isa.table.opcodes import FORM_NAMES, MODIFIERS, OPCODES, SPECIAL_REGISTERS, UNITS, Operand, OpSpec

PATH = Path(__file__).parents[1] / "ISA.md"

# The value of each special register, in words; a test compares the names with the table's.
SPECIAL_TEXT = {
    "SR_TID.X": "thread index in the block, x",
    "SR_TID.Y": "y",
    "SR_TID.Z": "z",
    "SR_NTID.X": "block size, x",
    "SR_NTID.Y": "y",
    "SR_NTID.Z": "z",
    "SR_CTAID.X": "block index in the grid, x",
    "SR_CTAID.Y": "y",
    "SR_CTAID.Z": "z",
    "SR_NCTAID.X": "grid size in blocks, x",
    "SR_NCTAID.Y": "y",
    "SR_NCTAID.Z": "z",
    "SR_LANEID": "lane, 0..31",
    "SR_WARPID": "warp in the block: (tid.x + ntid.x * (tid.y + ntid.y * tid.z)) / 32",
    "SR_NWARPID": "warps of the block",
    "SR_SMID": "number of the multiprocessor",
    "SR_NSMID": "multiprocessors that run",
    "SR_EQMASK": "1 << lane",
    "SR_LTMASK": "mask of the lanes below",
    "SR_LEMASK": "mask of the lanes below, and the own",
    "SR_GTMASK": "mask of the lanes above",
    "SR_GEMASK": "mask of the lanes above, and the own",
    "SR_CLOCKLO": "cycle counter of the multiprocessor, low word",
    "SR_CLOCKHI": "high word (CS2R.64 of SR_CLOCKLO reads both at once)",
    "SR_DYNAMIC_SMEM": "dynamic shared memory of the launch, bytes",
    "SR_TOTAL_SMEM": "all shared memory allocated to the block, slots included, bytes",
    "SR_SLOTBASE": "address of the thread's own slot 0, see Shared memory",
    "SRZ": "zero",
    "SR_SHARED_WINDOW": "generic address of shared byte 0, low word (the high word is 0)",
    "SR_LOCAL_WINDOW": "generic address of local byte 0, low word (the high word is 0)",
    "SR_TIMERLO": "nanoseconds since the launch began, low word: cycles by the machine's core clock, rounded down",
    "SR_TIMERHI": "high word (CS2R.64 of SR_TIMERLO reads both at once)",
}


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "---|" * lines[0].count(" | ") + "---|")
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def _users() -> dict[str, list[str]]:
    """Return the names of the operations that use each field, by field, in the order of opcodes."""
    users: dict[str, list[str]] = {}
    for code in sorted(OPCODES):
        op = OPCODES[code]
        names = {n for form in op.forms for i in range(4) for n in op.fields_for(form, {"limm": i & 1, "cimm": i >> 1})}
        for name in sorted(names - set(COMMON_FIELDS)):
            users.setdefault(name, []).append(op.name)
    return users


def fields_table() -> str:
    """Return the table of all fields: bits, width, sign, and the operations that use them."""
    users = _users()
    rows = []
    for name, f in FIELDS.items():
        who = users.get(name, [])
        if name in (*COMMON_FIELDS, *CONTROL_FIELDS):
            text = "every word"
        elif len(who) > 8:
            text = f"{len(who)} operations"
        else:
            text = ", ".join(who)
        rows.append((f"`{name}`", f.lo, f.lo + f.width - 1, f.width, "signed" if f.signed else "", text))
    return _table(("field", "from bit", "to bit", "width", "", "used by"), rows)


def modifiers_table() -> str:
    """Return the table of all modifier fields with the text of their values."""
    rows = []
    for name, m in MODIFIERS.items():
        values = ", ".join(f"{i} = {'`.' + v + '`' if v else '(none)'}" for i, v in enumerate(m.values))
        default = DEFAULTS.get(name)
        text = "must be given" if default is None else f"`.{m.values[default]}`" if m.values[default] else "(none)"
        rows.append((f"`{name}`", values, text))
    return _table(("field", "values", "when left out in assembly"), rows)


def widths_table() -> str:
    """Return the table of operand widths that depend on a modifier."""
    rows = []
    for letter, (field, widths) in UNITS.items():
        texts = [v or "(none)" for v in MODIFIERS[field].values]
        rows.append((f"`:{letter}`", f"`{field}`", ", ".join(f"{t} {w}" for t, w in zip(texts, widths, strict=True))))
    return _table(("mark", "modifier", "registers"), rows)


def forms_table() -> str:
    """Return the table of operand forms."""
    places = (
        ("`rb`", "`rc`"),
        ("`imm`", "`rc`"),
        ("`cbank`, `coff`", "`rc`"),
        ("`rc`", "`imm`"),
        ("`rc`", "`cbank`, `coff`"),
    )
    return _table(
        ("form", "name", "operand B in", "operand C, if any, in"),
        [(i, name, *places[i]) for i, name in enumerate(FORM_NAMES)],
    )


def special_table() -> str:
    """Return the table of special registers."""
    return _table(
        ("number", "name", "value"), [(i, f"`{n}`", SPECIAL_TEXT[n]) for i, n in enumerate(SPECIAL_REGISTERS)]
    )


def _operand(o: Operand) -> str:
    """Return an operand in the notation of ISA.md, Operations."""
    if o.kind in ("rd", "reg", "pd", "ps"):
        text = o.name.capitalize()
    else:
        text = {"b": "B", "c": "C", "mem64": "[Ra:2+moff]", "mem32": "[Ra+moff]", "cmem": "c[cbank][Ra+coff]"}.get(
            o.kind, o.name
        )
    if o.units != 1:
        text += f":{o.units}"
    if o.abs:
        text = f"\\|{text}\\|"
    if o.neg:
        text = "±" + text
    if not o.optional:
        return text
    return f"[{text}=!PT]" if o.default_false else f"[{text}]"


def _row(op: OpSpec) -> tuple[object, ...]:
    """Return an operation's row of the table."""
    operands = ", ".join(_operand(o) for o in op.operands)
    forms = " ".join(str(f) for f in op.forms) if op.has_form else ""
    return (
        f"{op.code:#05x}",
        f"`{op.name}`",
        operands,
        " ".join(f"`{m}`" for m in op.modifiers),
        forms,
        op.unit + ("*" if op.variable else ""),
        op.doc,
    )


def opcodes_table() -> str:
    """Return a table of the operations for each group."""
    head = ("opcode", "name", "operands", "modifiers", "forms", "unit", "what it does")
    out = []
    for group in dict.fromkeys(op.group for op in OPCODES.values()):
        rows = [_row(op) for op in OPCODES.values() if op.group == group]
        out.append(f"**{group}**\n\n{_table(head, rows)}")
    return "\n\n".join(out)


def faults_table() -> str:
    """Return the table of all ways in which a run is stopped, each with its kind of `Faults`. The operations that never
    stop one follow."""
    rows: list[tuple[object, ...]] = [(stop.when, f"`{stop.answer}`", stop.why) for stop in STOPS]
    harmless = [f"`{op.name}`" for op in OPCODES.values() if not any(stop.of(op) for stop in STOPS)]
    constants = [f"`{op.name}`" for op in OPCODES.values() if stops_by(op) == {Faults.BANK} and op.name != "LDC"]
    elsewhere = dict.fromkeys(ELSEWHERE.values())
    rows += [(f"not an operation by itself: {text}", f"`{Faults.STATE}`", "the path to it") for text in elsewhere]
    rows += [
        (f"nothing: {' '.join(harmless)}", f"`{Faults.NEVER}`", "defined for all operands"),
        (f"nothing but a constant operand: {' '.join(constants)}", f"`{Faults.NEVER}`", "defined for all operands"),
    ]
    return _table(("what stops the run", "depends on", "because"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "fields": fields_table,
    "modifiers": modifiers_table,
    "widths": widths_table,
    "forms": forms_table,
    "special": special_table,
    "opcodes": opcodes_table,
    "faults": faults_table,
}
"""By name of a table's markers: makes the table."""


def render(text: str) -> str:
    """Return `text` with every generated table replaced by its current form. Raises ValueError where a marker is
    missing."""
    for name, make in TABLES.items():
        begin, end = f"<!-- table:{name}:begin -->", f"<!-- table:{name}:end -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"ISA.md needs the markers of table {name} exactly once")
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        text = f"{before}{begin}\n{make()}\n{end}{after}"
    return text


def main(arguments: list[str]) -> int:
    """Write ISA.md's tables. With --check only print whether they are current (exit code 1 if not)."""
    text = PATH.read_text(encoding="utf-8")
    fresh = render(text)
    if "--check" in arguments:
        print("ISA.md is current" if fresh == text else "ISA.md is stale: run python -m binalloc.isa.table.doc")
        return int(fresh != text)
    PATH.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
