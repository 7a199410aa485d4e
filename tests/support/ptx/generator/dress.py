"""A generated program written as other compilers would: the same program, and so the same results.

Triton puts one element in braces, with blanks, and writes offsets of 0; a constant may be wider than its type; a local
variable may be accessed by its name alone; registers may be declared outside of functions; opcodes may have blanks in
them, and lines marks of a preprocessor.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

from tests.support.ptx.generator.options import Program

_ACCESS = re.compile(
    r"^(?P<indent>\s*)(?P<guard>@!?\S+ )?(?P<op>(?:ld|st)(?:\.[\w:]+)+) (?P<a>[^,{};\n]+), (?P<b>[^,{};\n]+);$",
    re.MULTILINE,
)
_NAMED = re.compile(r"^(\s*)(ld|st)\.local(\.\w+ (?:[^,;\[\n]+, )?\[depot)", re.MULTILINE)
_CONSTANT = re.compile(
    r"^(?P<head>\s*(?:add|sub|and|or|xor|mul\.lo|min|max)\.[usb]32 \S+, \S+, )(?P<value>\d+);$", re.MULTILINE
)
_SPACED = re.compile(r"^(\s*)((?:add|sub|xor|mul\.lo|mov))\.([usbf]\d+ )", re.MULTILINE)


def dressed(program: Program, seed: int) -> Program:
    """The program with a part of its lines written in other ways, chosen by the seed."""
    rng = random.Random(seed)

    def some(pattern: re.Pattern[str], change: object, text: str) -> str:
        assert callable(change)
        return pattern.sub(lambda m: change(m) if rng.random() < 0.6 else m.group(), text)

    text = some(_ACCESS, _in_braces, program.text)
    text = some(_NAMED, lambda m: f"{m[1]}{m[2]}{m[3]}", text)
    text = some(_CONSTANT, lambda m: f"{m['head']}{int(m['value']) + (rng.randrange(1, 1 << 31) << 32)};", text)
    text = some(_SPACED, lambda m: f"{m[1]}{m[2]} .{m[3]}", text)
    text = text.replace("\n.visible .entry", '\n# 7 "random.cu"\n.reg .b32 %unused<9>, %w;\n.visible .entry', 1)
    return replace(program, text=text)


def _in_braces(m: re.Match[str]) -> str:
    place, value = (m["b"], m["a"]) if m["op"].startswith("ld") else (m["a"], m["b"])
    if not place.startswith("[") or not value.startswith("%") or "." in value:
        return m.group()
    inside = place[1:-1]
    place = f"[ {inside} ]" if "+" in inside or "-" in inside else f"[ {inside} + 0 ]"
    value = f"{{ {value} }}"
    first, second = (value, place) if m["op"].startswith("ld") else (place, value)
    return f"{m['indent']}{m['guard'] or ''}{m['op']} {first}, {second};"
