"""Programs that apply one instruction form after another to a table of operands; no branches, no computed addresses.

Row k of the table gives the operands of every form; result k goes to the form's own part of the output.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.support.ptx.generator.forms.forms import Form
from tests.support.ptx.generator.forms.video_forms import letter_of
from tests.support.ptx.generator.options import BYTES, TYPES, Argument, Program
from tests.support.ptx.generator.values import random_bits

WORDS = {"p": "w", "P": "w"}
COUNTS = {"n": 255, "u": 31, "v": 7}
HALVES = {"x": 3, "y": 4}
"""Regions of the data that hold halves, two in the low word of eight bytes."""


def operand_lines(form: Form, row: int, rows: int) -> tuple[list[str], list[str]]:
    """Loads of the operands of one row, and the operand texts."""
    lines, names = [], []
    for k, text in enumerate(form[2]):
        sign, letter, selector = letter_of(text)
        c = letter.lower()
        at = 8 * (k * rows + row)
        name = f"%{c if c not in 'nuv' else 'w'}{k + 1}"
        if letter == "i":
            names.append(str(37 * (row + 1) % 256))
            continue
        if letter in COUNTS:
            lines += [f"ld.global.u32 {name}, [%data+{at}]", f"and.b32 {name}, {name}, {COUNTS[letter]}"]
            if letter == "v":
                lines.append(f"sub.s32 {name}, {name}, 4")
        elif letter == "p":
            lines += [f"ld.global.u32 %w9, [%data+{at}]", "and.b32 %w9, %w9, 1", f"setp.ne.u32 {name}, %w9, 0"]
        elif c in "xy":
            to = "h" if letter in "xy" else "w"
            name = f"%{to}{k + 1}"
            lines.append(f"ld.global.{TYPES[to]} {name}, [%data+{at + 24 * rows * HALVES[c]}]")
        elif c in "fg":
            # Floats lie behind the integers, f32 before f64.
            lines.append(f"ld.global.{TYPES[c]} {name}, [%data+{at + 24 * rows * (1 if c == 'f' else 2)}]")
            if letter in "FG":
                one = "0f3F800000" if c == "f" else "0d3FF0000000000000"
                lines += [f"setp.nan.{TYPES[c]} %p9, {name}, {name}", f"selp.{TYPES[c]} {name}, {one}, {name}, %p9"]
        else:
            lines.append(f"ld.global.{TYPES[c]} {name}, [%data+{at}]")
            if letter in "HWD":
                lines.append(f"or.{TYPES[c]} {name}, {name}, 1")
        names.append(sign + name + selector)
    return lines, names


def program_of(forms: list[Form], rows: int = 24, seed: int = 0) -> Program:
    """One thread that applies every form to every row."""
    rng = random.Random(seed)
    lines = []
    for number, form in enumerate(forms):
        op = form[0]
        for row in range(rows):
            loads, names = operand_lines(form, row, rows)
            lines += loads
            _, target, selector = letter_of(form[1])
            lines.append(f"{op} {', '.join(['%p0|%p8' if target == 'P' else f'%{target}0{selector}', *names])}")
            place = f"[%out{WORDS.get(target, target)}+{8 * (number * rows + row)}]"
            if target in WORDS:
                second = "selp.u32 %w8, 2, 0, %p8" if target == "P" else "mov.u32 %w8, 0"
                lines += ["selp.u32 %w0, 1, 0, %p0", second, "or.b32 %w0, %w0, %w8", f"st.global.u32 {place}, %w0"]
            else:
                lines.append(f"st.global.{TYPES[target]} {place}, %{target}0")
    outputs = [c for c in "hwdfg" if any(WORDS.get(f[1][0], f[1][0]) == c for f in forms)]
    declared = "".join(f"    .reg .{t} %{c}<10>;\n" for c, t in TYPES.items())
    head = "".join(f"    ld.param.u64 %out{c}, [out{c}];\n" for c in outputs)
    names = ["data", *(f"out{c}" for c in outputs)]
    text = (
        ".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry kernel("
        + ", ".join(f".param .u64 {n}" for n in names)
        + ")\n{\n"
        + declared
        + f"    .reg .b64 {', '.join('%' + n for n in names)};\n    ld.param.u64 %data, [data];\n"
        + head
        + "".join(f"    {line};\n" for line in lines)
        + "    ret;\n}\n"
    )
    data = [random_bits(rng, "d") for _ in range(3 * rows)]
    data += [random_bits(rng, "f") for _ in range(3 * rows)] + [random_bits(rng, "g") for _ in range(3 * rows)]
    data += [random_bits(rng, c) | random_bits(rng, c) << 16 for c in "xy" for _ in range(3 * rows)]
    arguments = [Argument("data", np.array(data, dtype=np.uint64))]
    for c in outputs:
        dtype: Any = {"f": np.float32, "g": np.float64}.get(c) or np.dtype(f"u{BYTES[c]}")
        count = 8 // BYTES[c] * len(forms) * rows
        compare = {"f": "f32", "g": "f64"}.get(c, "bits")
        arguments.append(Argument(f"out{c}", np.zeros(count, dtype=dtype), compare))
    return Program(text, "kernel", 1, (1, 1, 1), arguments, seed)
