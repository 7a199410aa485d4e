"""One assembly statement becomes an instruction here: guard, mnemonic, operands and control code."""

from __future__ import annotations

from binalloc.isa.instruction import DEFAULT_CONTROL, Control, Instr
from binalloc.isa.table.fields import NO_BARRIER, PT
from binalloc.isa.table.mnemonics import BadMnemonic, parse_mnemonic
from binalloc.isa.text.arguments import parse_arg, parse_args, parse_label
from binalloc.isa.text.line import PREDICATES, LineCursor
from binalloc.isa.text.operands import Fixup, OperandBuilder
from binalloc.isa.timing import LONGEST_STALL, SCOREBOARDS

_LAST = SCOREBOARDS - 1  # the last scoreboard


def parse_control(line: LineCursor) -> Control:
    """Return the control code `{stall:4 yield wr:0 rd:1 wait:03 reuse:0}` at the cursor; the default without one."""
    if not line.take("{"):
        return DEFAULT_CONTROL
    seen: dict[str, int] = {}
    while not line.take("}"):
        key = line.tok
        if key.text not in ("stall", "yield", "wr", "rd", "wait", "reuse") or key.text in seen:
            line.unexpected("stall:N, yield, wr:N, rd:N, wait:DIGITS, reuse:DIGITS (each once) or '}'")
        line.at += 1
        if key.text == "yield":
            seen["yield"] = 0
            continue
        line.need(":")
        value = line.tok
        if value.kind != "int" or not value.text.isdigit():
            line.unexpected("a number" if key.text in ("stall", "wr", "rd") else "digits")
        line.at += 1
        top = {"stall": LONGEST_STALL, "wr": _LAST, "rd": _LAST, "wait": _LAST, "reuse": 3}[key.text]
        parts = [int(value.text)] if key.text in ("stall", "wr", "rd") else [int(d) for d in value.text]
        if max(parts) > top or len(set(parts)) != len(parts):
            line.place.fail(value.column, f"{key.text} out of range", found=value.text, expected=f"0..{top}, each once")
        seen[key.text] = parts[0] if key.text in ("stall", "wr", "rd") else sum(1 << d for d in parts)
    return Control(
        seen.get("stall", 1), seen.get("yield", 1), seen.get("wr", NO_BARRIER), seen.get("rd", NO_BARRIER),
        seen.get("wait", 0), seen.get("reuse", 0),
    )  # fmt: skip


def parse_instruction(line: LineCursor) -> tuple[Instr, list[Fixup]]:
    """Return the instruction at the cursor, up to the end of the line, and its fix-ups."""
    guard = (PT, False)
    if line.take("@"):
        neg = line.take("!")
        tok = line.tok
        if tok.text not in PREDICATES:
            line.unexpected("a guard predicate P0..P6 or PT")
        line.at += 1
        guard = (PREDICATES[tok.text], neg)
    tok = line.tok
    if tok.kind != "name":
        line.unexpected("an instruction")
    line.at += 1
    try:
        op, modifiers = parse_mnemonic(tok.text)
    except BadMnemonic as bad:
        line.place.fail(tok.column, bad.message, found=bad.found, expected=bad.expected, remedy=bad.remedy or None)
    builder = OperandBuilder(op, modifiers, line)
    builder.match(parse_args(line, parse_label if "target" in op.operand else parse_arg), line.tok.column)
    ctrl = parse_control(line)
    line.finish()
    return builder.finish(guard, ctrl), builder.fixups
